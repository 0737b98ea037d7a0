"""What a budget buys is what the curator then charges, and follows from public numbers only."""

from __future__ import annotations

import inspect
from fractions import Fraction

import pytest

import hedgerow as hr
from hedgerow.privacy.budget import Cost, Privacy
from hedgerow.service import forecast
from hedgerow.service.forecast import Forecast

BUDGETS = [hr.Budget(epsilon=1), hr.Budget(epsilon=1, delta=1e-9), hr.Budget(epsilon=0.1, delta=1e-6)]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace"), Privacy("add_remove", 3)])
def test_so_many_counts_can_be_had_and_hardly_more(budget, privacy):
    made = Forecast(privacy, budget.cost)
    for item in made.bought:
        more = round(1.12 * item.questions) + 2  # numbers are told in two digits
        assert made._width(item.questions) <= item.within_count < made._width(more)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [None, 3])
def test_the_curator_sells_what_was_forecast(budget, neighbours, most):
    domain, rows = hr.Domain({"a": 2}), {"id": list(range(100)), "a": [0, 1] * 50}
    table = hr.Table.open(rows, domain, unit=most and "id", max_rows=most)
    curator = hr.Curator(table, budget, ":memory:", neighbours)
    bought = Forecast.of_ledger(curator.ledger).bought[0]
    part = curator.left.share(Fraction(1, bought.questions))
    query = hr.Query.where(domain, {"a": [0]})
    for _ in range(bought.questions):
        noise = curator.measure(query, part).noise
        assert noise.half_width(forecast.CONFIDENCE) <= bought.within_count


def test_more_budget_buys_more_and_larger_units_cost_more():
    counts = [Forecast(Privacy(), Cost("epsilon", e)).counts(50) for e in (1, 2, 4)]
    assert counts == sorted(counts)
    assert counts[0] > Forecast(Privacy("add_remove", 2), Cost("epsilon", 1)).counts(50) > 0


def test_nothing_left_buys_nothing():
    for currency in ("epsilon", "rho"):
        empty = Forecast(Privacy(), Cost.zero(currency))
        assert (empty.bought, empty.to_json()) == ([], [])
        assert "nothing" in empty.words


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("left", ["1e-20", "1e-24", "1e-48"])
def test_crumbs_that_rounding_left_buy_nothing_and_break_nothing(currency, left):
    assert Forecast(Privacy(), Cost(currency, left)).bought == []


def test_widths_that_say_nothing_about_so_few_rows_are_left_out():
    widths = [b.within_count for b in Forecast(Privacy(), Cost("epsilon", 1), rows=2000).bought]
    assert widths
    assert max(widths) <= 200


def test_a_forecast_is_made_of_public_numbers():
    """Two datasets with other rows and the same budget have the same forecast; no curator is ever met."""
    domain = hr.Domain({"a": 2})
    said = set()
    for rows in (3, 4000):
        table = hr.Table.open({"a": [0] * rows}, domain)
        with hr.Curator(table, hr.Budget(epsilon=1), ":memory:").ledger as ledger:
            said.add(Forecast.of_ledger(ledger).words)
    assert len(said) == 1
    assert "urator" not in inspect.getsource(forecast)


def test_plan_release_and_budget_say_what_is_bought(people_cli):
    told = people_cli("plan", "--schema", "schema.yaml", "--rows", "5000", "--no-simulate").stdout
    assert "one release" in told
    assert "counts within" in told
    assert "buys about" in people_cli("budget", "init", "people.csv", "--epsilon", "2").stdout
    release = ("release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1")
    told = people_cli(*release, "--mechanism", "gaussian", "--workload", "marginals:1")
    assert "of all rows" in told.stdout, told.output
