"""Describing: what can be asked of a release or a dataset, and how well, from what is public alone.

Of a dataset only the declared schema and the ledger are read, never a row: whoever may see the budget may see
this.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.privacy.ledger.receipt import resting
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.workload import marginals
from hedgerow.release.numerals import amount, bound
from hedgerow.release.schema import Schema
from hedgerow.service import budgeting
from hedgerow.service.places import open_ledger, refuse_missing
from hedgerow.service.released import refuse_address
from hedgerow.service.spendings import spendings
from hedgerow.synopsis import Synopsis

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.service.dataset import Dataset

_PAIR_CELLS, _PAIRS = 600, 300
_LEVELS = 90  # signs of levels on a line


@dataclass(frozen=True)
class ColumnTold:
    """A column that can be asked about: its name, its kind, and its levels or bins."""

    name: str
    kind: str
    levels: tuple[str, ...]
    words: str


@dataclass(frozen=True)
class PairTold:
    """How good the table of two columns is.

    Args:
        names: the two columns.
        cells: how many cells their table has.
        error: how far off a cell is on average, with 0.95 confidence, in rows.
        share: the same as a part of all rows; None where their number was not released.
    """

    names: tuple[str, str]
    cells: int
    error: float
    share: float | None

    def words(self) -> str:
        """The error in words."""
        part = "" if self.share is None else f" ({100 * self.share:.2g}% of all rows)"
        return f"±{bound(self.error)}{part}"


@dataclass(frozen=True)
class Description:
    """What can be asked, in words and as a table of columns.

    Args:
        what: `synopsis` or `dataset`.
        sentences: about the whole.
        columns: what can be asked about.
        pairs: how good each pair of columns is, the worst first; those that are too large are left out.
    """

    what: str
    sentences: tuple[str, ...]
    columns: tuple[ColumnTold, ...]
    pairs: tuple[PairTold, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "what": self.what,
            "words": list(self.sentences),
            "columns": [{**vars(c), "levels": list(c.levels)} for c in self.columns],
            "pairs": [{**vars(p), "names": list(p.names)} for p in self.pairs],
        }


def of_synopsis(path: Path) -> Description:
    """A release: what it holds and how good each pair is.

    Args:
        path: its file.
    """
    synopsis: Any = Synopsis.load(path)
    budget = synopsis.receipt.settings.budget
    total = None
    with suppress(UnsupportedQuery):  # the number of rows may not be among what was released
        total = max(float(synopsis.total), 1.0)
    rows = "" if total is None else f" of about {total:,.0f} rows"
    can = {"answer": "answers questions", "table": "gives tables", "sample": "draws synthetic rows"}
    does = ", ".join(words for name, words in can.items() if name in synopsis.can)
    cost, by = amount(synopsis.cost, budget), synopsis.provenance.mechanism
    said = [
        f"{path.name}: a release{rows} by {by} for {cost}.",
        f"{_whom(synopsis.receipt.settings)} It {does}, all free of charge: `hedgerow query`.",
    ]
    if synopsis.claims:
        said.append(resting(synopsis.claims))
    if not synopsis.private:
        said.append("NOT PRIVATE: it was made with test randomness or a simulated ledger.")
    if not isinstance(synopsis.domain, Domain):
        return Description("synopsis", (*said, "It is about names that nobody declared, one by one."), ())
    return Description("synopsis", tuple(said), columns(synopsis.domain), tuple(pairs(synopsis, total)))


def of_dataset(dataset: Dataset) -> Description:
    """Private rows: what was declared of them, whom their budget protects, and what was learned.

    Args:
        dataset: the rows, which are not read.
    """
    if dataset.ledger is None:
        refuse_address(dataset.data)
    refuse_missing(dataset.data, dataset.ledger)
    file = dataset.schema_file
    said = [f"{dataset.called}: private rows, of which this says only what is declared or was released."]
    declared: tuple[ColumnTold, ...] = ()
    if file.is_file():
        schema = Schema.load(file)
        if schema.confirmed:
            declared = columns(schema.domain)
        else:  # it was read off rows
            said.append(
                f"The schema {str(file)!r} is a proposal that its owner has not confirmed: what it says of "
                "columns is the owner's alone."
            )
    else:
        said.append(f"There is no schema {str(file)!r} yet: `hedgerow schema infer` proposes one.")
    if dataset.has_ledger:
        with open_ledger(dataset.data, dataset.ledger, readonly=True) as ledger:
            said += [*budgeting.sentences(ledger, budgeting.pairs_beside(dataset.data)), _learned(ledger)]
    else:
        said.append("It has no budget yet: `hedgerow budget init` gives it one.")
    return Description("dataset", tuple(said), declared)


def columns(domain: Domain) -> tuple[ColumnTold, ...]:
    """All that can be asked about, in the schema's order.

    Args:
        domain: what was declared.
    """
    return tuple(_column(name, attribute) for name, attribute in domain.items())


def _column(name: str, a: Attribute) -> ColumnTold:
    kind = "dates" if isinstance(a, Dates) else "bins" if isinstance(a, Bins) else "levels"
    return ColumnTold(name, kind, tuple(a.labels), some_of(list(a.labels), len(a.values), kind))


def some_of(labels: list[str], proper: int, kind: str) -> str:
    """Levels on one line: all of them, or the first and the last of what is in order.

    Args:
        labels: the levels.
        proper: how many of them are neither missing nor other.
        kind: levels, bins or dates.
    """
    if len(", ".join(labels)) <= _LEVELS:
        return ", ".join(labels)
    if kind != "levels":
        return ", ".join([f"{labels[0]} … {labels[proper - 1]}, {proper} in all", *labels[proper:]])
    shown: list[str] = []
    while len(", ".join([*shown, labels[len(shown)]])) <= _LEVELS:
        shown.append(labels[len(shown)])
    return f"{', '.join(shown)} … {len(labels)} in all"


def pairs(synopsis: Any, total: float | None) -> list[PairTold]:
    """How good the tables of pairs are, as the release itself states it; the worst first.

    Args:
        synopsis: the release.
        total: its number of rows, if it has one.
    """
    if "table" not in synopsis.can:
        return []
    domain, found = synopsis.domain, []
    small = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= _PAIR_CELLS]
    for pair in small[:_PAIRS]:
        try:
            error = float(np.mean(synopsis.answer(marginals(domain, [pair])).error))
        except (UnsupportedQuery, RangeTooLarge):  # the release does not hold this table, or only in others
            continue
        share = None if total is None else error / total
        found.append(PairTold((pair[0], pair[1]), domain.cells(pair), error, share))
    return sorted(found, key=lambda p: -p.error)


def _whom(settings: Any) -> str:
    if settings.unit:
        return f"It protects each {settings.unit}, with at most {settings.max_rows} rows."
    return "It protects each row."


def _learned(ledger: Ledger) -> str:
    """What was learned and released, from the ledger."""
    found = spendings(ledger)
    sessions = [s for s in found if s.kind == "session"]
    releases = sum(s.kind == "release" for s in found)
    many = {0: "nothing was released", 1: "one release was made"}.get(
        releases, f"{releases} releases were made"
    )
    if not sessions:
        return f"Nothing was learned for questions yet, and {many}."
    return (
        f"It was learned for questions on {sessions[0].first[:10]}: `hedgerow ask` and `hedgerow shell` "
        f"answer free of charge, unless an accuracy is asked for; {many}."
    )
