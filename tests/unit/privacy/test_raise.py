"""A budget that is raised after answers were seen keeps a true promise, whoever raised it and why."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, LedgerError
from hedgerow.privacy.budget import Budget, Cost, epsilon_of, exact
from hedgerow.privacy.event import Approximate, Gaussian, Pure
from hedgerow.privacy.ledger.ledger import Ledger, Receipt, verify_export
from hedgerow.privacy.raising import holds, raised, restated
from sizes import size

DELTA = Fraction("1e-9")
FIRST = Budget(1, DELTA)


def says() -> tuple[bytes, None]:
    return b"42", None


def ledger_after_an_answer(budget: Budget = FIRST, path: str | Path = ":memory:") -> Ledger:
    ledger = Ledger.open(path, budget=budget)
    ledger.charge(Gaussian(1, 20), says)
    return ledger


def raise_as_earlier_versions_did(ledger: Ledger, budget: Budget) -> None:
    """The line of a raise as it was written before orders were recorded."""
    with ledger.transaction() as transaction:
        holder = transaction._book.account("owner")
        after = type(holder)(holder.name, None, budget.cost, holder.spent)
        transaction._write("raise", after, details=budget.to_json(), words="Raised.", note="more")


# -- the arithmetic -----------------------------------------------------------------------------------------

epsilons = st.sampled_from([Fraction(n, 10) for n in (1, 3, 10, 30, 100, 1000)])
deltas = st.sampled_from(["1e-3", "1e-6", "1e-9", "1e-15", "1e-30"])
few = settings(max_examples=size(20, 300))
factors = st.fractions(min_value="1.3", max_value=40, max_denominator=10)


@few
@given(epsilons, deltas, factors)
def test_a_raised_budget_is_what_was_asked_for_and_buys_less_than_a_first_one(
    epsilon: Fraction, delta: str, factor: Fraction
) -> None:
    base = Budget(epsilon, delta)
    asked = Budget(epsilon * factor, 2 * exact(delta))
    budget, index = raised(base, asked)
    assert holds(base, budget, index)
    assert budget.promises(asked)
    assert budget.cost.amount < Budget(epsilon * factor, delta).cost.amount
    assert epsilon_of(budget.cost.amount, base.conversion_delta) > float(epsilon * factor) * 0.65
    assert budget.part(budget.cost).epsilon <= float(epsilon * factor)
    shares = budget.delta_exact * 9 / 10 - base.conversion_delta  # sum of 1/(k (k + 1)) is 1
    assert base.conversion_delta + shares + budget.event_delta <= budget.delta_exact


@few
@given(epsilons, deltas, factors, factors)
def test_more_rho_promises_more_epsilon_and_more_epsilon_allows_more_rho(
    epsilon: Fraction, delta: str, one: Fraction, other: Fraction
) -> None:
    base, low, high = Budget(epsilon, delta), min(one, other), max(one, other)
    small, large = (
        raised(base, Budget(rho=base.cost.amount * x, delta=2 * exact(delta)))[0] for x in (low, high)
    )
    assert base.epsilon < small.epsilon <= large.epsilon
    small, large = (raised(base, Budget(epsilon * x, 2 * exact(delta)))[0] for x in (low, high))
    assert small.cost.amount <= large.cost.amount


@few
@given(epsilons, deltas, factors, st.integers(-3, 260))
def test_a_promise_that_is_a_little_better_does_not_hold(
    epsilon: Fraction, delta: str, factor: Fraction, index: int
) -> None:
    base = Budget(epsilon, delta)
    cap = base.cost.amount * factor
    budget, best = raised(base, Budget(rho=cap, delta=2 * exact(delta)))
    better = budget.read_at(budget.conversion_delta * Fraction(1002, 1000))
    assert not holds(base, better, best)
    if abs(index - best) > 1:
        assert not holds(base, better, index)
    assert not holds(base, budget.read_at(budget.conversion_delta, 0), 0)
    assert not holds(base, Budget(rho=cap, delta=delta), best)  # no fresh delta


def test_small_budgets_and_large_deltas_are_raised_or_refused_but_never_wrong() -> None:
    for epsilon, delta, factor in itertools.product(
        ("1e-9", "1e-3", 1, 10**5), ("1e-300", "1e-9", "0.4"), (2, 100)
    ):
        base = Budget(epsilon, delta)
        budget, index = raised(base, Budget(exact(epsilon) * factor, 2 * exact(delta)))
        assert holds(base, budget, index)


# -- the ledger ---------------------------------------------------------------------------------------------


def test_a_raise_before_the_first_answer_is_a_first_promise_and_costs_nothing() -> None:
    ledger = Ledger.open(":memory:", budget=FIRST)
    ledger.raise_budget(Budget(2, DELTA), "a typing error")
    assert ledger.remaining() == Budget(2, DELTA).cost
    assert ledger.first_budget == ledger.budget == Budget(2, DELTA)
    ledger.charge(Gaussian(1, 20), says)
    entry = ledger.raise_budget(Budget(3, 2 * DELTA), "more")
    assert ledger.first_budget == Budget(2, DELTA)
    assert entry.limit == raised(Budget(2, DELTA), Budget(3, 2 * DELTA))[0].cost
    assert ledger.verify(ledger.receipt()).ok


def test_a_raise_after_an_answer_takes_fresh_delta_and_says_so_everywhere() -> None:
    ledger = ledger_after_an_answer()
    before = ledger.receipt()
    with pytest.raises(LedgerError, match="needs a delta above 1e-09"):
        ledger.raise_budget(Budget(2, DELTA), "more")
    assert ledger.next_delta == 2 * DELTA
    entry = ledger.raise_budget(Budget(2, ledger.next_delta), "more")
    assert entry.limit.amount < Budget(2, DELTA).cost.amount
    assert entry.details["index"] >= 1
    assert (ledger.budget.epsilon, ledger.budget.delta) == (2.0, 2e-9)
    receipt = ledger.receipt()
    assert "of epsilon 2, delta 2e-9" in receipt.describe()
    assert Receipt.from_json(json.loads(json.dumps(receipt.to_json()))) == receipt
    for old in (before, receipt):
        assert ledger.verify(old).ok
        assert verify_export(ledger.export(), old).ok
    with pytest.raises(BudgetExceeded, match="at delta 2e-9"):
        ledger.check(entry.limit)


def test_raises_that_follow_each_other_take_delta_once_and_end_where_one_would() -> None:
    ledger, once = ledger_after_an_answer(), ledger_after_an_answer()
    for epsilon in (2, 3, 5, 9):
        ledger.raise_budget(Budget(epsilon, ledger.next_delta), "more")
        ledger.charge(Gaussian(1, 20), says)
    once.raise_budget(Budget(9, 2 * DELTA), "more")
    assert ledger.budget == once.budget
    assert ledger.budget.delta_exact == 2 * DELTA
    assert ledger.verify(ledger.receipt()).ok


def test_a_raise_that_would_not_enlarge_the_cap_names_the_least_that_would() -> None:
    ledger = ledger_after_an_answer()
    with pytest.raises(LedgerError, match="at least epsilon") as refused:
        ledger.raise_budget(Budget("1.01", 2 * DELTA), "a little more")
    least = str(refused.value).split("at least epsilon ")[1].split(",")[0]
    assert 1.01 < float(least) < 1.05
    limit = ledger.budget.cost
    ledger.raise_budget(Budget(least, 2 * DELTA), "enough")
    assert ledger.budget.cost.amount > limit.amount
    for lower in (
        Budget(least, Fraction("1.5") * DELTA),
        Budget("0.9", 2 * DELTA),
        Budget(rho="1/1000", delta="0.5"),
    ):
        with pytest.raises(LedgerError):
            ledger.raise_budget(lower, "less")


def test_a_cap_can_be_raised_by_a_little_in_rho_though_its_epsilon_at_twice_delta_reads_lower() -> None:
    ledger = ledger_after_an_answer(Budget(1, "0.01"))
    cap = ledger.budget.cost.amount * Fraction(101, 100)
    ledger.raise_budget(Budget(rho=cap, delta=ledger.next_delta), "a little")
    assert ledger.budget.epsilon > 1
    assert Budget(rho=cap, delta="0.02").epsilon < 1


def test_everything_can_be_spent_at_the_epsilon_that_was_promised(tmp_path: Path) -> None:
    import pandas as pd

    table = hr.Table.open(pd.DataFrame({"a": list("xyxx")}), hr.Domain({"a": ["x", "y"]}))
    curator = hr.Curator(table, hr.Budget(1, 1e-9), tmp_path / "l.db")
    curator.measure(("a",), "0.5")
    curator.ledger.raise_budget(hr.Budget(2, 2e-9), "more")
    assert curator.price("2").amount == curator.ledger.budget.cost.amount
    assert curator.price(None) == curator.ledger.remaining()
    curator.measure(("a",))
    assert curator.spent.epsilon == pytest.approx(2, rel=1e-6)
    assert curator.spent.epsilon <= 2
    assert curator.spent.delta <= curator.budget.delta == 2e-9
    again = hr.Curator(table, hr.Budget(2, 2e-9), tmp_path / "l.db")
    assert again.receipt.settings.budget == curator.budget
    assert hr.Curator(table, hr.Budget(2, 2e-9), again.ledger).budget == curator.budget
    with pytest.raises(LedgerError):
        hr.Curator(table, hr.Budget(2, 1e-9), tmp_path / "l.db")


def test_open_allotments_keep_their_limits_and_the_delta_of_events_is_part_of_what_is_promised() -> None:
    ledger = ledger_after_an_answer()
    ledger.allot("ada", Cost("rho", "1/1000", "1e-11"))
    ledger.raise_budget(Budget(2, 2 * DELTA), "more")
    assert ledger.remaining("ada") == Cost("rho", "1/1000", "1e-11")
    ledger.charge(Approximate("1/100", "1e-12"), says, account="ada")
    assert ledger.budget.cost.delta == 2 * DELTA / 10
    with pytest.raises(BudgetExceeded, match="delta"):
        ledger.charge(Approximate("1/100", "2e-10"), says)
    ledger.settle("ada")
    assert ledger.verify(ledger.receipt()).ok


def test_a_promise_in_rho_alone_stays_one() -> None:
    ledger = ledger_after_an_answer(Budget(rho="1/10"))
    ledger.raise_budget(Budget(rho="1/5"), "more")
    assert (ledger.budget.rho, ledger.budget.epsilon) == (0.2, inf)
    assert ledger.verify(ledger.receipt()).ok


def test_a_pure_promise_is_raised_as_before() -> None:
    ledger = Ledger.open(":memory:", budget=Budget(1))
    ledger.charge(Pure(1), says)
    entry = ledger.raise_budget(Budget(2), "more")
    assert "index" not in entry.details
    assert (ledger.budget, ledger.remaining()) == (Budget(2), Cost("epsilon", 1))


# -- what is written down cannot promise more ---------------------------------------------------------------


def forged(export: dict[str, Any], **details: Any) -> dict[str, Any]:
    """The export with its raise changed and a chain that fits."""
    from hedgerow.privacy.ledger.line import GENESIS, canonical, chain

    export = json.loads(json.dumps(export))
    previous = GENESIS
    for entry in export["entries"]:
        if entry["line"]["kind"] == "raise":
            entry["line"]["details"] |= details
            cost = Budget.from_json(entry["line"]["details"]).cost
            entry["line"]["limit"] = {"rho": str(cost.grains[0]), "delta": str(cost.grains[1])}
        previous = chain(previous, canonical(entry["line"]), bytes.fromhex(entry["commitment"]))
        entry["hash"] = previous.hex()
    return export


@pytest.mark.parametrize(
    "details",
    [
        {"conversion_delta": "9/10000000000"},  # all of it converts, as if fixed in advance
        {"epsilon": "3"},  # more than its order gives at that delta
        {"index": 9},
        {"index": 10**9},
        {"raise_delta": "0/1"},
        {"event_delta": "3/10000000000"},
    ],
    ids=str,
)
def test_a_raise_that_promises_more_than_its_order_gives_does_not_verify(details: dict[str, Any]) -> None:
    ledger = ledger_after_an_answer()
    ledger.raise_budget(Budget(2, 2 * DELTA), "more")
    export = ledger.export()
    assert verify_export(forged(export)).ok
    assert "promises more than" in verify_export(forged(export, **details)).describe()


# -- ledgers of earlier versions ----------------------------------------------------------------------------


def test_an_earlier_versions_raise_opens_verifies_goes_on_and_is_stated_truly(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    ledger = ledger_after_an_answer(path=path)
    old = Budget(2, DELTA)
    raise_as_earlier_versions_did(ledger, old)
    told = Receipt(
        type(ledger.settings)(**{**vars(ledger.settings), "budget": old}),
        ledger.newest,
        ledger.receipt().head,
        ledger.spent(),
    )
    assert ledger.verify(told).ok  # a receipt of that version
    assert ledger.verify(ledger.receipt()).ok
    assert ledger.remaining() == old.cost - ledger.spent()  # the cap is what it was
    assert ledger.budget == restated(FIRST, old)
    assert 2.0 < ledger.budget.epsilon < 2.3
    assert ledger.budget.delta_exact == 2 * DELTA
    again = Ledger.open(path, budget=old)  # as scripts go on saying
    assert again.recorded_budget == old
    again.charge(Gaussian(1, 20), says)
    again.raise_budget(Budget(3, again.next_delta), "and more")
    assert again.budget.promises(Budget(3, 2 * DELTA))
    assert again.verify(again.receipt()).ok


def test_an_earlier_versions_larger_delta_is_kept(tmp_path: Path) -> None:
    ledger = ledger_after_an_answer()
    raise_as_earlier_versions_did(ledger, Budget(2, "1e-6"))
    assert ledger.budget.delta_exact == Fraction("1e-6")
    assert ledger.budget.cost == Budget(2, "1e-6").cost
    assert ledger.verify(ledger.receipt()).ok


def test_an_earlier_versions_absurd_delta_is_no_reason_not_to_open(tmp_path: Path) -> None:
    ledger = ledger_after_an_answer(Budget(1, "0.7"))
    raise_as_earlier_versions_did(ledger, Budget(2, "0.7"))
    assert ledger.budget.delta_exact == ledger.next_delta == Fraction(17, 20)
    assert ledger.verify(ledger.receipt()).ok


def test_an_earlier_versions_raise_before_the_first_answer_is_stated_as_it_was() -> None:
    ledger = Ledger.open(":memory:", budget=FIRST)
    raise_as_earlier_versions_did(ledger, Budget(2, DELTA))
    ledger.charge(Gaussian(1, 20), says)
    assert ledger.budget == ledger.first_budget == Budget(2, DELTA)
    assert ledger.verify(ledger.receipt()).ok


# -- the command line ---------------------------------------------------------------------------------------


def test_the_command_line_says_in_plain_words_what_a_raise_costs(people_cli: Callable[..., Any]) -> None:
    release = ("release", "people.csv", "--schema", "schema.yaml", "--workload", "marginals:1")
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    typo = people_cli("budget", "raise", "people.csv", "--epsilon", "1.5", "--reason", "a typing error")
    assert "delta 1e-9" in typo.stdout
    assert "Answers had been given" not in typo.stdout
    assert people_cli(*release, "--epsilon", "1", "--out", "a").exit_code == 0
    little = people_cli("budget", "raise", "people.csv", "--epsilon", "1.51", "--reason", "a little")
    assert little.exit_code == 2
    assert "takes at least epsilon 1.5" in little.stderr
    more = people_cli("budget", "raise", "people.csv", "--epsilon", "3", "--reason", "a new wave")
    flat = " ".join(more.stdout.split())
    assert "delta is 2e-9 instead of 1e-9, and epsilon 3 buys what 2.8" in flat
    shown = json.loads(people_cli("budget", "show", "people.csv", "--json").stdout)
    assert shown["budget"] == {"epsilon": 3.0, "delta": 2e-9}
    assert shown["raised_after_answers"]
    assert people_cli("budget", "verify", "people.csv").exit_code == 0
    assert people_cli(*release, "--epsilon", "2", "--out", "b").exit_code == 0
    receipt = json.loads(Path("b/receipt.json").read_text())
    assert Receipt.from_json(receipt).settings.budget.promises(Budget(3, 2e-9))
    assert "2e-9" in Path("b/report.html").read_text()


def test_the_command_line_says_that_an_earlier_version_raised_it(people_cli: Callable[..., Any]) -> None:
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    with Ledger.open("people.csv.hedgerow.db") as ledger:
        ledger.charge(Gaussian(1, 20), says)
        raise_as_earlier_versions_did(ledger, Budget(2, DELTA))
    flat = " ".join(people_cli("budget", "show", "people.csv").stdout.split())
    assert "An earlier version raised it to epsilon 2, delta 1e-9, as if that had been promised" in flat
    assert "Budget: epsilon 2.1" in flat
