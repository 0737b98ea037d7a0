"""Weighted counts: what a boosting round may learn about rows, with each row's weight fixed by public values.

The statistic is sum_i v_i s_i phi(x_i). The weight v_i in [0, 1] is read from a public table by the row's own
class and its margin, and the margin is a sum of public whole numbers, one for each of its levels: so v_i
is a function of row i and of released values alone, and no row changes another row's weight. Everything is
whole numbers: margins in steps of 1/256, weights in steps of 2^-20.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.compiled import njit
from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import ONE, Norms
from hedgerow.queries.strategies.column import Column, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.curator.rows.coding import Coded
    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

STEPS = 1 << 8
"""Margin steps per unit."""
REACH = 12 * STEPS
"""Margins are clipped to [-REACH, REACH] steps before the weight is looked up."""
_LARGEST_MARGIN = 1 << 24


@statistic
@dataclass(frozen=True, eq=False)
class WeightedSums:
    """Sums over rows of weight x sign x feature map; the weight is a public function of class and margin.

    A row belongs to the side 1 (its class is the one that is learned), 0 (another class) or -1 (left out,
    weight 0). Its sign is +1 on side 1 and -1 on side 0 if `signed`, else +1 on both.

    Args:
        label: the attribute that holds the class.
        sides: the side of each of its levels.
        offset: the constant part of every margin, in steps.
        margins: whole numbers over the levels of some attributes, whose sum is a row's margin, in steps.
        weights: of side 0 and of side 1, for every margin from -REACH to REACH: whole numbers from 0 to 2^20.
        columns: the feature map; a row is in exactly one cell of each column.
        signed: whether the sides enter with opposite signs.
    """

    label: str
    sides: NDArray[np.int64]
    offset: int
    margins: tuple[tuple[str, NDArray[np.int64]], ...]
    weights: NDArray[np.int64]
    columns: tuple[Column, ...]
    signed: bool = True

    denominator: ClassVar[int] = ONE

    def __init__(
        self,
        label: str,
        sides: Sequence[int] | NDArray[np.int64],
        offset: int,
        margins: Mapping[str, NDArray[np.int64]],
        weights: NDArray[np.int64],
        columns: Sequence[Column],
        *,
        signed: bool = True,
    ) -> None:
        """Copy, check and freeze: the sensitivity rests on 0 <= weight <= 2^20 and on the largest factors."""
        if any(type(c) is not Column for c in columns) or not columns:
            raise UnsupportedQuery("weighted counts need at least one column")
        values = {
            "label": label,
            "sides": whole(sides),
            "offset": int(offset),
            "margins": tuple((str(a), whole(m)) for a, m in margins.items()),
            "weights": whole(weights),
            "columns": tuple(Column(c.attribute, c.cells, c.factors) for c in columns),
            "signed": bool(signed),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._sound()

    def _sound(self) -> None:
        if not any(c.largest for c in self.columns):
            raise UnsupportedQuery("weighted counts need a factor that is not 0")
        if self.weights.shape != (2, 2 * REACH + 1):
            raise UnsupportedQuery("weights are given for two sides and for every margin")
        if not 0 <= int(self.weights.min()) <= int(self.weights.max()) <= ONE:
            raise UnsupportedQuery("a row's weight lies between 0 and 1")
        if self.sides.ndim != 1 or not self.sides.size or int(np.abs(self.sides).max()) > 1:
            raise UnsupportedQuery("a class is on side 1, on side 0, or left out (-1)")
        if any(m.ndim != 1 or int(np.abs(m).max(initial=0)) > _LARGEST_MARGIN for _, m in self.margins):
            raise UnsupportedQuery("margins are moderate whole numbers, one for every level")
        if abs(self.offset) > _LARGEST_MARGIN:
            raise UnsupportedQuery("margins are moderate whole numbers, one for every level")

    def check(self, domain: Domain) -> None:
        """One number for every level of every attribute that is used."""
        wanted = [(self.label, self.sides), *self.margins, *((c.attribute, c.cells) for c in self.columns)]
        for attribute, numbers in wanted:
            if domain[attribute].size != len(numbers):
                raise UnsupportedQuery(f"{attribute!r} needs one number for each of its levels")

    @property
    def norms(self) -> Norms:
        """A row adds at most 2^20 x the column's largest factor to one cell of each column."""
        largest = [ONE * c.largest for c in self.columns]
        l1, l2 = sum(largest), sum(a * a for a in largest)
        if self.signed or any(int(c.factors.min()) < 0 for c in self.columns):
            return Norms.signed(l1, l2)
        return Norms.query(l1) if self.size == 1 else Norms.nonnegative(l1, l2)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(c.size for c in self.columns)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """No tables are needed: rows are summed one by one."""
        return ()

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        margins = [part for a, m in self.margins for part in (a, m.tobytes())]
        columns = [p for c in self.columns for p in (c.attribute, c.cells.tobytes(), c.factors.tobytes())]
        head = (self.label, self.sides.tobytes(), self.offset, self.signed, self.weights.tobytes())
        return fingerprint("weighted", *head, len(margins), *margins, *columns)

    def parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """A vector of all sums, cut into the columns' own."""
        return np.split(values, np.cumsum([c.size for c in self.columns])[:-1])

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The sums in lattice steps, in one pass; they fit int64 up to 2^32 rows."""
        domain = rows.domain
        self.check(domain)
        places = np.array([domain.index(a) for a, _ in self.margins], dtype=np.int64)
        tables, starts = _flat([m for _, m in self.margins])
        targets = np.array([domain.index(c.attribute) for c in self.columns], dtype=np.int64)
        cells, firsts = _flat([c.cells for c in self.columns])
        factors, _ = _flat([c.factors for c in self.columns])
        outs = np.cumsum([0, *(c.size for c in self.columns)]).astype(np.int64)
        work = _Sums(
            domain.index(self.label), self.sides, self.offset, self.weights, self.signed, self.size,
            (places, tables, starts), (targets, cells, factors, firsts, outs),
        )  # fmt: skip
        return rows.summed(work)[0]


@dataclass(frozen=True)
class _Sums:
    """The sums over some rows, as a `RowSum`."""

    label: int
    sides: Any
    offset: Any
    weights: Any
    signed: bool
    size: int
    margins: tuple[Any, ...]
    columns: tuple[Any, ...]
    numbers: tuple[str, ...] = ()

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        out = np.zeros(self.size, dtype=np.int64)
        for some in rows:
            _sum(
                some.codes, *self.margins, self.label, self.sides, self.offset, self.weights,
                *self.columns, self.signed, out,
            )  # fmt: skip
        return [out]


def _flat(arrays: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arrays one after another, and where each begins."""
    starts = np.cumsum([0, *(len(a) for a in arrays)]).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays]), starts


@njit(cache=True, nogil=True)
def _sum(  # type: ignore[no-untyped-def]
    codes,
    places,
    tables,
    starts,
    label,
    sides,
    offset,
    weights,
    targets,
    cells,
    factors,
    firsts,
    outs,
    signed,
    out,
):
    rows = codes.shape[1]
    block = np.empty(4096, dtype=np.int64)
    for lo in range(0, rows, 4096):
        n = min(4096, rows - lo)
        block[:n] = offset
        for j in range(len(places)):
            column, table = codes[places[j], lo : lo + n], tables[starts[j] : starts[j + 1]]
            for r in range(n):
                block[r] += table[column[r]]
        classes = codes[label, lo : lo + n]
        for r in range(n):
            side = sides[classes[r]]
            if side < 0:
                block[r] = 0
                continue
            margin = min(max(block[r], -REACH), REACH) + REACH
            weight = weights[side, margin]
            block[r] = -weight if signed and side == 0 else weight
        for j in range(len(targets)):
            column = codes[targets[j], lo : lo + n]
            cell, factor = cells[firsts[j] : firsts[j + 1]], factors[firsts[j] : firsts[j + 1]]
            sums = out[outs[j] : outs[j + 1]]
            for r in range(n):
                level = column[r]
                sums[cell[level]] += block[r] * factor[level]
