"""Budgets, costs and sensitivities: exact, and rounded against the user."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import BadValue
from hedgerow.privacy.budget import GRAIN, Budget, Cost, Privacy, Sensitivity, epsilon_of, exact, rho_of
from hedgerow.privacy.telling import most_right
from hedgerow.queries.query import Norms

fractions = st.fractions(min_value=0, max_value=100, max_denominator=10**9)
nan = float("nan")


@pytest.mark.parametrize("k", [*range(1, 65), 100, 1000, 10**6])
def test_k_equal_parts_of_a_budget_sum_to_exactly_the_budget(k: int) -> None:
    parts = Budget(epsilon=1).cost.split(*[1] * min(k, 1000))
    assert sum(parts[1:], parts[0]) == Cost("epsilon", 1)
    assert Cost("epsilon", Fraction(1, k)) * k == Cost("epsilon", 1)


@pytest.mark.parametrize(("part", "k"), [(0.1, 10), (1 / 3, 3), (1 / 7, 7), (1 / 11, 11), ("0.05", 20)])
def test_written_parts_sum_to_exactly_the_budget(part: float | str, k: int) -> None:
    spent = Cost.zero("epsilon")
    for _ in range(k):
        spent += Cost("epsilon", part)
    assert spent == Budget(epsilon=1).cost
    assert (Budget(epsilon=1).cost - spent).is_zero


@settings(deadline=None)
@given(fractions, fractions)
def test_a_cost_is_rounded_up_to_the_grain_and_by_less_than_one(amount: Fraction, delta: Fraction) -> None:
    cost = Cost("rho", amount, delta)
    for stored, true in ((cost.amount, amount), (cost.delta, delta)):
        assert GRAIN % stored.denominator == 0
        assert 0 <= stored - true < Fraction(1, GRAIN)


@settings(deadline=None)
@given(st.lists(st.tuples(fractions, fractions), min_size=1, max_size=50))
def test_sums_of_costs_never_grow_in_size(pairs: list[tuple[Fraction, Fraction]]) -> None:
    costs = [Cost("rho", amount, delta) for amount, delta in pairs]
    total = sum(costs, Cost.zero("rho"))
    assert GRAIN % total.amount.denominator == 0
    assert total.amount == sum(cost.amount for cost in costs)
    assert Cost.of_grains("rho", *total.grains) == total


@settings(deadline=None)
@given(fractions, st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any))
def test_shares_together_are_never_more_than_the_whole(amount: Fraction, weights: list[int]) -> None:
    whole = Cost("rho", amount, amount / 1000)
    parts = whole.split(*weights)
    total = sum(parts, Cost.zero("rho"))
    assert total <= whole
    assert (whole - total).amount < Fraction(len(weights), GRAIN)


def test_shares_are_rounded_down() -> None:
    assert Cost("epsilon", 1).share(Fraction(1, 67)).amount < Fraction(1, 67)


def test_costs_compare_in_both_parts() -> None:
    assert Cost("rho", 1, 0.1) <= Cost("rho", 1, 0.1)
    assert not Cost("rho", 1, 0.1) <= Cost("rho", 2, 0)
    assert not Cost("rho", 2, 0) <= Cost("rho", 1, 0.1)
    assert Cost("rho", 2, 0.1) >= Cost("rho", 1, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Cost("epsilon", 1) + Cost("rho", 1),
        lambda: Cost("epsilon", 1) <= Cost("rho", 1),
        lambda: Cost("epsilon", 1) - Cost("epsilon", 2),
        lambda: Cost("epsilon", -1),
        lambda: Cost("epsilon", nan),
        lambda: Cost("epsilon", 1, 0.1),
        lambda: Cost("euro", 1),
        lambda: Cost("epsilon", 1).share(2),
        lambda: Cost("epsilon", 1).split(0, 0),
        lambda: Cost("epsilon", 1).split(),
        lambda: Cost("epsilon", 1).split(2, -1),
        lambda: Cost("epsilon", 1) * -1,
        lambda: Budget(),
        lambda: Budget(epsilon=1, rho=1),
        lambda: Budget(epsilon=0),
        lambda: Budget(epsilon=-1),
        lambda: Budget(epsilon=nan),
        lambda: Budget(epsilon=inf),
        lambda: Budget(epsilon="1e-400"),
        lambda: Budget(epsilon="1e400"),
        lambda: Budget(rho=1e-300),
        lambda: Budget(rho=0),
        lambda: Budget(rho=inf),
        lambda: Budget(epsilon=1, delta=1),
        lambda: Budget(epsilon=1, delta=-1e-9),
        lambda: Budget(epsilon=1, delta=nan),
        lambda: Budget(epsilon="lots"),
        lambda: Budget(epsilon=True),
        lambda: Budget(epsilon=1).part(Cost("rho", 1)),
        lambda: Privacy("sideways"),
        lambda: Privacy(max_rows=0),
        lambda: Privacy(max_rows=1.5),
        lambda: Privacy(max_rows=True),
    ],
)
def test_impossible_amounts_are_refused_in_one_sentence(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        wrong()  # type: ignore[operator]


def test_a_pure_budget_counts_epsilon_and_allows_no_rho() -> None:
    budget = Budget(epsilon=0.3)
    assert (budget.currency, budget.epsilon, budget.delta, budget.rho) == ("epsilon", 0.3, 0.0, 0.0)
    assert budget.cost == Cost("epsilon", Fraction(3, 10))
    assert repr(budget) == "Budget(epsilon=0.3)"


def test_an_approximate_budget_counts_rho_at_nine_tenths_of_its_delta() -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    assert budget.currency == "rho"
    assert (budget.conversion_delta, budget.event_delta) == (Fraction(9, 10**7), Fraction(1, 10**7))
    assert budget.cost == Cost("rho", rho_of(1, Fraction(9, 10**7)), Fraction(1, 10**7))
    assert exact(budget.rho) <= budget.cost.amount
    assert epsilon_of(budget.cost.amount, budget.conversion_delta) <= 1.0 + 1e-9
    assert repr(budget) == "Budget(epsilon=1.0, delta=1e-06)"


def test_a_rho_budget_reports_the_epsilon_of_its_conversion() -> None:
    assert Budget(rho=0.5).epsilon == inf
    budget = Budget(rho=0.5, delta=1e-6)
    assert budget.epsilon == epsilon_of(0.5, Fraction(9, 10**7))
    assert budget.cost == Cost("rho", 0.5, 1e-7)
    assert repr(budget) == "Budget(rho=0.5, delta=1e-06)"


def test_a_capacity_off_the_grain_is_rounded_down() -> None:
    assert Budget(epsilon=Fraction(1, 67)).cost.amount < Fraction(1, 67)
    assert Budget(rho=Fraction(1, 67), delta=Fraction(1, 67**30)).cost.amount < Fraction(1, 67)


def test_what_was_spent_and_what_remains_are_budgets_and_may_be_nothing() -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    nothing = budget.part(Cost.zero("rho"))
    assert (nothing.epsilon, nothing.rho) == (0.0, 0.0)
    assert budget.part(budget.cost).epsilon == pytest.approx(1.0, rel=1e-9)
    assert budget.part(budget.cost).delta == budget.delta
    assert Budget(epsilon=1).part(Cost.zero("epsilon")).epsilon == 0.0


@pytest.mark.parametrize(
    "budget",
    [
        Budget(epsilon=1),
        Budget(epsilon="1/3", delta="1/1000000007"),
        Budget(rho=0.1),
        Budget(rho="1/3", delta=1e-9),
        Budget(epsilon=1, delta=1e-6).part(Cost("rho", "1/97", "1/10000000000")),
        Budget(epsilon=1).part(Cost.zero("epsilon")),
    ],
)
def test_json_gives_back_the_same_budget(budget: Budget) -> None:
    again = Budget.from_json(json.loads(json.dumps(budget.to_json())))
    assert again == budget
    assert hash(again) == hash(budget)
    cost = Cost.from_json(json.loads(json.dumps(budget.cost.to_json())))
    assert cost == budget.cost


def test_equal_budgets_are_equal_however_they_were_written() -> None:
    assert Budget(epsilon=0.1) == Budget(epsilon="1/10") == Budget(epsilon=Fraction(1, 10))
    assert Budget(epsilon=1) != Budget(rho=1)


TABLE = Norms(1, 1, 2, 2)
QUERY = Norms(5, 25, 5, 25)
CONSTANT = Norms(1, 1, 0, 0)


@pytest.mark.parametrize(
    ("privacy", "norms", "l1", "l2_squared"),
    [
        (Privacy(), TABLE, 1, 1),
        (Privacy("replace"), TABLE, 2, 2),
        (Privacy(max_rows=3), TABLE, 3, 9),
        (Privacy("replace", max_rows=3), TABLE, 6, 18),
        (Privacy(), QUERY, 5, 25),
        (Privacy("replace"), QUERY, 5, 25),
        (Privacy("replace", max_rows=2), QUERY, 10, 100),
        (Privacy("replace"), CONSTANT, 0, 0),
        (Privacy("replace", max_rows=2), CONSTANT, 2, 4),
    ],
)
def test_sensitivity_follows_neighbours_and_rows_per_unit(
    privacy: Privacy, norms: Norms, l1: int, l2_squared: int
) -> None:
    assert privacy.sensitivity(norms) == Sensitivity(Fraction(l1), Fraction(l2_squared))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_swap_of_units_moves_a_small_table_further_than_the_sensitivity(neighbours: str, k: int) -> None:
    from itertools import combinations_with_replacement

    units = [rows for size in range(k + 1) for rows in combinations_with_replacement(range(3), size)]
    full = [rows for rows in units if rows] if neighbours == "replace" else units
    bound = Privacy(neighbours, k).sensitivity(TABLE)
    worst_l1 = worst_l2 = 0
    for old in full:
        for new in full if neighbours == "replace" else [()]:
            moved = [old.count(cell) - new.count(cell) for cell in range(3)]
            worst_l1 = max(worst_l1, sum(map(abs, moved)))
            worst_l2 = max(worst_l2, sum(m * m for m in moved))
    assert (worst_l1, worst_l2) == (bound.l1, bound.l2_squared)


def test_the_picture_of_a_promise_holds_for_randomised_response_and_is_met_by_it():
    for epsilon in (0.1, 1.0, 4.0):
        told = exp(epsilon) / (1 + exp(epsilon))  # one bit, true with this probability: all that may be told
        assert most_right(epsilon, 0.0, 1 - told) == pytest.approx(told)
    plot = Budget(epsilon=1, delta=1e-6).plot()
    assert "13.6% of people" in plot.words
    assert plot.svg().startswith("<svg")
    assert most_right(1e6, 0.0, 0.1) == 1.0
    with pytest.raises(BadValue, match="name one"):
        Budget(rho=1).plot()
