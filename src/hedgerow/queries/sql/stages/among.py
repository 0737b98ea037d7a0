"""Among: which released rows an aggregate is of, and where it lies if some of them may not be there.

A group without rows is none in SQL, and which groups have rows is private. Where released numbers do not
tell, an aggregate of groups lies between what it is for all choices of those that may be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.question import Aggregate, Result


@dataclass(frozen=True)
class Among:
    """The rows of an aggregate, as it is printed.

    Args:
        chosen: the condition of FILTER.
        over: the window.
        there: whether a row surely is one in SQL, as a condition; empty where all are.
    """

    chosen: str
    over: str
    there: str

    @property
    def all(self) -> str:
        """All that may be there."""
        return self._where(self.chosen)

    @property
    def sure(self) -> str:
        """Those that surely are."""
        return self._where(self.chosen, self.there)

    def ends(self, name: str, low: str, high: str) -> list[str]:
        """Between which two expressions an aggregate lies, if each of its numbers lies between two."""
        if not self.there:
            return [f"{name}({end}){self.all}" for end in (low, high)]
        if name == "min":
            return [f"min({low}){self.all}", f"coalesce(min({high}){self.sure}, 'inf'::DOUBLE)"]
        if name == "max":
            return [f"coalesce(max({low}){self.sure}, min({low}){self.all})", f"max({high}){self.all}"]
        if name == "sum":
            both = (("least", low), ("greatest", high))
            kept = (f"CASE WHEN {self.there} THEN {end} ELSE {pick}({end}, 0) END" for pick, end in both)
            return [f"sum({end}){self.all}" for end in kept]
        return [self._of_some(name, low, "least", ""), self._of_some(name, high, "most", ", 'DESC'")]

    def _of_some(self, name: str, end: str, which: str, order: str) -> str:
        """The least or the most that an average or a median is, with what doubtful ones make it so."""
        sure = self._where(self.chosen, self.there, f"{end} IS NOT NULL")
        maybe = self._where(self.chosen, f"NOT ({self.there})", f"{end} IS NOT NULL")
        held = f"sum({end}){sure}" if name == "avg" else f"list({end}){sure}"
        others = f"list_sort(coalesce(list({end}){maybe}, []){order})"
        return f"{name}_{which}({held}, count({end}){sure}, {others})"

    def _where(self, *conditions: str) -> str:
        said = " AND ".join(f"({c})" for c in conditions if c)
        return f" FILTER (WHERE {said}){self.over}" if said else self.over


def maybe_none(found: Iterable[tuple[Sequence[Aggregate], Result]], groups: int) -> NDArray[np.bool_]:
    """Which groups no released number tells from one without rows.

    Args:
        found: of each question its numbers, and its answer.
        groups: how many there are.
    """
    out = np.ones(groups, dtype=np.bool_)
    for numbers, result in found:
        low, high = result.ends
        for i, number in enumerate(numbers):
            least, most = number.range if number.quantile is not None else (0.0, 0.0)
            inside = (low[:, i] <= least) & (high[:, i] >= most)
            unknown = ~np.isfinite(result.errors[:, i]) | np.isnan(result.values[:, i])
            out &= unknown if number.denominator is not None else inside | unknown
    return out


def surely_none(
    numbers: Sequence[Aggregate], forms: Sequence[LinearForm], result: Result
) -> NDArray[np.bool_]:
    """Which groups have less than one row by the upper end of a count of rows."""
    counted = [i for i, n in enumerate(numbers) if n.denominator is None and forms[n.form].counts]
    return np.asarray((result.ends[1][:, counted] < 1.0).any(axis=1))
