"""Budgeting: what an owner does with a dataset's budget - give it, enlarge it, take back, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.curator.rows.csv_rows import unread_words
from hedgerow.curator.rows.files import is_csv
from hedgerow.errors import HedgerowError, LedgerError, of_system
from hedgerow.mechanisms.session.log import give_back
from hedgerow.privacy.budget import epsilon_of
from hedgerow.privacy.ledger.ledger import Ledger, verify_export
from hedgerow.privacy.ledger.receipt import Receipt, resting
from hedgerow.release.numerals import amount, rest, small, used_up
from hedgerow.release.schema import Schema
from hedgerow.service.dataset import make_budget
from hedgerow.service.places import Named, open_ledger, refuse_missing, schema_beside
from hedgerow.service.prospect import loose_words

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger.receipt import Verification
    from hedgerow.service.dataset import Dataset

__all__ = ["begin", "check", "enlarge", "give_back", "pairs_beside", "sentences"]


def begin(dataset: Dataset, epsilon: str) -> Ledger:
    """Give a dataset its budget, for good; the ledger is open.

    Args:
        dataset: the rows, and whom to protect.
        epsilon: what may be spent in all.
    """
    dataset.refuse_unsaid()
    refuse_missing(dataset.data, dataset.ledger)
    if (dataset.unit is None) != (dataset.max_rows is None):
        raise HedgerowError("--unit and --max-rows come together: whose rows, and how many of them")
    if dataset.has_ledger:
        raise LedgerError(
            f"the data {dataset.called!r} has a budget already, in {dataset.path}; `hedgerow budget "
            f"raise` makes it larger{_untouched(dataset)}"
        )
    budget = make_budget(epsilon, dataset.delta)
    dataset.refuse_put_back()
    _look(dataset)
    if words := loose_words(budget, None):
        dataset.tell(words)
    whom: Any = {"unit": dataset.unit, "max_rows": dataset.max_rows}
    return Ledger.open(
        dataset.path,
        budget=budget,
        neighbours=dataset.neighbours or "add_remove",
        **whom,
        data=dataset.known_as(),
        reason=dataset.new_ledger,
    )


def _untouched(dataset: Dataset) -> str:
    """What to do with a budget that was made wrongly, and of which nothing was ever spent."""
    if not Path(str(dataset.path)).is_file():
        return ""
    try:
        with Ledger.open(dataset.path, readonly=True) as ledger:
            begun = ledger.newest > 0  # beyond the line that opened it
    except HedgerowError:
        return ""
    if begun:
        return ""
    return f"; nothing was spent yet, so you can also remove {dataset.path} and make another one"


def _look(dataset: Dataset) -> None:
    """What the owner must know of a file is told before a budget is bound to it."""
    if dataset.database is not None:
        dataset.refuse_no_unit()
        return
    reading = dataset.reading
    if dataset.unit or is_csv(dataset.data) or any(reading.values()):
        look = Inspector(dataset.data, **reading)
        if dataset.unit:
            look.refuse_absent(dataset.unit)
            none, rows = look.without(dataset.unit)
            if none:
                dataset.tell(
                    f"PRIVATE, for the owner: {none:,} of {rows:,} rows name nobody in {dataset.unit!r}, and "
                    "are left out of all that is released"
                )
        if words := unread_words(look.reading):
            dataset.tell(words)


def enlarge(ledger: Ledger, epsilon: str, delta: str | None, reason: str) -> list[str]:
    """Raise a budget for a recorded reason; says what it costs that whoever raised it may have seen answers.

    Args:
        ledger: the dataset's.
        epsilon, delta: of the new budget; the least delta there can be if None.
        reason: kept in the ledger.
    """
    larger = make_budget(epsilon, ledger.next_delta if delta is None else delta)
    old = ledger.budget
    if larger.currency != old.currency:
        raise HedgerowError("a budget with delta 0 stays so, and one with a delta keeps one")
    if larger.epsilon < old.epsilon or larger.delta_exact < old.delta_exact or larger.promises(old):
        raise HedgerowError(
            f"a budget is only ever raised, and {amount(larger)} is not more than {amount(old)}"
        )
    try:
        ledger.raise_budget(larger, reason)
    except ValueError as error:
        raise HedgerowError(str(error)) from None
    return _price_of_raising(ledger, old)


def _price_of_raising(ledger: Ledger, old: Budget) -> list[str]:
    """What it costs that somebody who may have seen answers raised the budget; nothing if none were given."""
    budget, first = ledger.budget, ledger.first_budget
    if not budget.raise_delta:
        return []
    worth = epsilon_of(budget.cost.amount, first.conversion_delta)
    delta = small(budget.delta)
    became = f"stays {delta}" if budget.delta == old.delta else f"is {delta} instead of {small(old.delta)}"
    return [
        "Answers had been given before, and the promise covers that whoever raised it may have seen them: "
        f"delta {became}, and epsilon {small(budget.epsilon)} buys what {small(worth)} would have bought "
        "if promised at the start."
    ]


def check(data: Path, ledger: Named = None, receipt: Path | None = None) -> Verification:
    """Walk a ledger's chain and do its sums again.

    Args:
        data: the data, its ledger, or what `budget export` wrote.
        ledger: the ledger, if it was named.
        receipt: the file of a receipt that it must agree with.
    """
    given = None if receipt is None else _receipt(receipt)
    if data.suffix != ".json":
        with open_ledger(data, ledger, readonly=True) as opened:
            return opened.verify(given)
    try:
        return verify_export(_json_file(data), given)
    except RecursionError:
        raise HedgerowError(f"the file {str(data)!r} is nested too deeply for an export") from None


def sentences(ledger: Ledger, tables: int | None = None) -> list[str]:
    """A budget in words: what may be spent, what was, on what, what is left, and what that still buys.

    Args:
        ledger: the dataset's.
        tables: how many two-way tables there are, if a schema says so.
    """
    from hedgerow.service.forecast import Forecast
    from hedgerow.service.spendings import spendings, summary

    settings, budget = ledger.settings, ledger.budget
    spent, left = ledger.spent(), ledger.remaining()
    whom = f"each {settings.unit}, with at most {settings.max_rows} rows" if settings.unit else "each row"
    how = "one more or fewer" if settings.neighbours == "add_remove" else "one exchanged for another"
    recorded = ledger.recorded_budget
    earlier = (
        f"An earlier version raised it to {amount(recorded)}, as if that had been promised at the start; the "
        "budget above is what it keeps."
    )
    said = rest(left, budget).partition(", delta")[0]
    buys = Forecast(settings.privacy, left, tables=tables).words
    on = "" if spent.is_zero else summary(spendings(ledger), budget)
    return [
        f"Budget: {amount(budget)}. It protects {whom} ({how}).",
        *([] if recorded.promises(budget) else [earlier]),
        f"Spent: {'nothing' if spent.is_zero else amount(budget.part(spent)).partition(', delta')[0]}.",
        *([f"On: {on}."] if on else []),
        f"Left: {said}.{_why_not_the_difference(ledger)}",
        *growing_words(ledger),
        *([resting(claims)] if (claims := ledger.claims()) else []),
        *([] if said == "nothing" else [f"What is left buys {buys}."]),
    ]


def growing_words(ledger: Ledger) -> list[str]:
    """What blocks amount to, and what the newest has left; nothing where data do not grow."""
    made, budget = ledger.settings, ledger.budget
    if made.growing is None:
        return []
    blocks = ledger.blocks()
    if not blocks:
        return [ledger.lifetime(), "There is no block yet: append one with `hedgerow append`."]
    first, last = blocks[0], blocks[-1]
    told = [ledger.lifetime(), f"Blocks: {len(blocks):,}, from {first.name} to {last.name}."]
    if made.cells:
        cell = last.cell(made.growing)
        what = f"rows of the year {cell}" if made.growing == "yearly" else f"the newest block, {last.name}"
        every, newest = (
            rest(cost, budget).partition(", delta")[0]
            for cost in (ledger.remaining(), ledger.remaining(scope=(cell, cell)))
        )
        told.append(f"A question about all of them has {every}; one about {what}, has {newest}.")
    return told


def pairs_beside(data: Path) -> int | None:
    """How many two-way tables the schema beside data declares; None if there is none that can be read.

    Args:
        data: the data file, or its ledger.
    """
    try:
        names = Schema.load(schema_beside(data)).domain.names
    except (HedgerowError, OSError):
        return None
    return len(names) * (len(names) - 1) // 2 or None


def _why_not_the_difference(ledger: Ledger) -> str:
    """Why what is spent and what is left are together more than the budget, where they are."""
    budget, spent, left = ledger.budget, ledger.spent(), ledger.remaining()
    if ledger.currency != "rho" or spent.is_zero or used_up(left, budget) or not budget.part(left).epsilon:
        return ""
    whole, used, kept = (small(budget.part(part).epsilon) for part in (budget.cost, spent, left))
    return (
        f" Parts in epsilon do not add up, as what adds up is rho, about epsilon squared: of {whole} the "
        f"first {used} leaves {kept}."
    )


def _json_file(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HedgerowError(f"there is no file {str(path)!r}") from None
    except OSError as error:
        raise of_system(error, f"the file {str(path)!r} cannot be read") from None
    except (ValueError, RecursionError):
        raise HedgerowError(f"{str(path)!r} cannot be read as JSON") from None


def _receipt(path: Path) -> Receipt:
    try:
        return Receipt.from_json(_json_file(path))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise HedgerowError(f"{str(path)!r} is not a receipt") from None
