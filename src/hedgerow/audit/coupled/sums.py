"""Sums of rows' own numbers, replayed on neighbours at the ends of bins; and mistakes planted in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.renormed import Renormed
from hedgerow.audit.coupled.scenes import Relation
from hedgerow.audit.coupled.tape import KEY, Replaying
from hedgerow.curator.curator import Curator
from hedgerow.curator.rows import bounding
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.overall import OverallSums
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.queries.domain.bins import Bins, bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.norms import Norms

NUMBERS = Domain(
    {
        "sex": ["F", "M"],
        "age": bins(0, 30, 3, step=1),
        "pay": Bins([-20, 0, 5, 40], step=0.5),
        "old": bins(0, 9, 3),
    }
)
ONE_BIN = Domain({"n": bins(0, 30, 30, step=1)})
"""Rows that differ in their numbers and not in their bins."""
ASKED = (
    "SELECT SUM(age) FROM t",
    "SELECT sex, AVG(pay) FROM t GROUP BY sex",
    "SELECT AVG(age - pay), COUNT(*) FROM t WHERE sex = 'F'",
    "SELECT SUM(old), SUM(CASE WHEN sex = 'M' THEN pay ELSE 1 END) FROM t WHERE age < 20",
    "SELECT MEDIAN(age) FROM t",
    "SELECT AVG(age * pay), SUM((pay - 10) * (pay - 10)) FROM t",
    "SELECT COUNT(*), SUM(pay) FROM t WHERE age >= 9 AND pay < 4.5",
    "SELECT sex, COUNT(*) FROM t WHERE age IN (9, 20) AND old > 3 GROUP BY sex",
)
"""The last ones cut bins, at values that neighbours have."""
GROUPS: tuple[tuple[int, bool], ...] = ((1, False), (2, True), (3, True), (1, True))
PEOPLE: tuple[tuple[int, bool], ...] = ((1, True), (2, True))
BOTH: tuple[Relation, ...] = ("add_remove", "replace")


def measured(curator: Curator) -> Any:
    """Sums, averages and what numbers are within their bins, each an act."""
    kinds: tuple[dict[str, bool], ...] = ({}, {"total": True}, {"total": True, "ranged": True})
    sums = (*(RemainderSums(NUMBERS, **kind) for kind in kinds), OverallSums(NUMBERS))
    return [curator.measure(q, 1) for q in (*ASKED, *sums)]


# ---- planted ---------------------------------------------------------------------------------------------


class Unclamped(Rows):
    """Numbers beyond the ends of a range count as they are."""

    def _with_values(
        self, names: Sequence[str]
    ) -> Iterator[tuple[NDArray[Any], dict[str, NDArray[np.int32]]]]:
        for codes, own in super()._with_values(names):
            yield (
                codes,
                {
                    name: np.where(values == values.max(initial=0), 9 * values, values)
                    for name, values in own.items()
                },
            )


class UnclampedValues(Replaying):
    """A curator of `Unclamped`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows = Unclamped(self.table, KEY, self.ledger.settings.spelling)


class Larger(Renormed):
    """A statistic whose norm is that of the larger of its numbers, where their squares add."""

    @cached_property
    def norms(self) -> Norms:
        each = [q.norms.l1 for q in self.inside.workload]
        return Norms.nonnegative(max(each), max(each) ** 2)


class LargerPart(Replaying):
    """A count and a sum are measured at the norm of the larger of the two."""

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        return super()._law(Larger(stat) if hasattr(stat, "workload") else stat, price, choice)


class NoRange(Renormed):
    """Remainders with sums of ranges, at the norm of remainders alone."""

    @cached_property
    def norms(self) -> Norms:
        whole = self.inside.norms
        tables = len(self.inside.domain)
        return Norms.signed(whole.l1 * tables // (tables + 1), whole.l2_squared * tables // (tables + 1))


class RangeForFree(Replaying):
    """A sum of a whole range is measured with others, and does not count in their norm."""

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        return super()._law(NoRange(stat) if isinstance(stat, RemainderSums) else stat, price, choice)


class HalfRange(Renormed):
    """Sums of long tails at half of what their ranges are wide, as if their centres lay in the middle."""

    @cached_property
    def norms(self) -> Norms:
        whole = self.inside.norms
        return Norms.signed(whole.replace_l1 // 2, whole.replace_l2_squared // 4)


class FromTheMiddle(Replaying):
    """A sum of all rows is measured at the norm of distances from the middle of its range."""

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        return super()._law(HalfRange(stat) if isinstance(stat, OverallSums) else stat, price, choice)


class PositionalTies(Rows):
    """Of rows with equal bins and other numbers the first ones of the file are kept."""

    def _bounded(self) -> NDArray[Any]:
        honest = bounding.kept_rows
        try:
            bounding.kept_rows = lambda *given: honest(*given[:5])
            return super()._bounded()
        finally:
            bounding.kept_rows = honest


class TiesByPosition(Replaying):
    """A curator of `PositionalTies`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows = PositionalTies(self.table, KEY, self.ledger.settings.spelling)


def _remainders(curator: Curator) -> Any:
    assert isinstance(curator.domain, Domain)
    return curator.measure(RemainderSums(curator.domain), 1)


def _ranges(curator: Curator) -> Any:
    assert isinstance(curator.domain, Domain)
    return curator.measure(RemainderSums(curator.domain, total=True, ranged=True), 1)


def _tails(curator: Curator) -> Any:
    assert isinstance(curator.domain, Domain)
    return curator.measure(OverallSums(curator.domain), 1)


def _together(curator: Curator) -> Any:
    return curator.measure("SELECT AVG(age), SUM(pay) FROM t", 1)


MISTAKES: Mapping[str, tuple[Any, type[Replaying], tuple[tuple[int, bool], ...], Domain]] = {
    "a value that is not clamped": (_remainders, UnclampedValues, ((1, False),), NUMBERS),
    "the norm of the larger part": (_together, LargerPart, ((1, False),), NUMBERS),
    "a sum of a range that counts in no norm": (_ranges, RangeForFree, ((1, False),), NUMBERS),
    "a sum of a long tail at half of its range": (_tails, FromTheMiddle, ((1, False),), NUMBERS),
    "ties kept by position": (_remainders, TiesByPosition, PEOPLE, ONE_BIN),
}
"""What is run, the curator with the mistake, how many rows people have, and of which table."""
