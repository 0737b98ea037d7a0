"""RemainderSums: what numbers are beyond the middles of their bins, summed by every attribute's levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.norms import Norms
from hedgerow.queries.number_sums import centre_of, lattice_of, numbers, ranged_numbers, scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows


@statistic
@dataclass(frozen=True, eq=False)
class RemainderSums:
    """For each number x with a step and each attribute a: the sums of c_x r over the rows of each level of a.

    r is a row's remainder, a whole number of half-steps with |r| <= h_x, and c_x a whole factor. A row is in
    one cell of each table, so it moves A coordinates (A attributes) for each x, by c_x |r| each: L1 = A sum
    c_x h_x and L2^2 = A sum (c_x h_x)^2, at bin ends. A swap moves one cell by up to 2 c_x h_x where both
    rows have one level, and two cells by c_x h_x each where they have not: 4 (c_x h_x)^2 against
    2 (c_x h_x)^2, so `Norms.signed`, and not `nonnegative`, is what bounds it.

    Args:
        domain: of the rows.
        total: also the sum over all rows, before the tables of each x: a table with one level, so that A + 1
            stands for A above. Of all cells' noise an overall sum would have the most.
        ranged: for `ranged_numbers` that sum is of c_0 (v - m_0), the distances from the centre of bins, in
            place of remainders: what a sum of all rows is, without the noise of any count. A row at a place v
            of bin b moves it by c_0 |v - m_0| and A entries by c_x |r|: both are convex in v within a bin, so
            norms are those of bin ends.
    """

    domain: Domain
    total: bool = False
    ranged: bool = False
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if type(self.domain) is not Domain or not numbers(self.domain):
            raise DomainMismatch("no number of this domain has a step and bins that are wider")
        if self.ranged and not self.total:
            raise DomainMismatch("sums of whole ranges are measured in place of totals")

    def check(self, domain: Domain) -> None:
        """The rows are those of this domain."""
        if domain != self.domain:
            raise DomainMismatch("these sums were made for another domain than this one")

    @cached_property
    def norms(self) -> Norms:
        """The largest column, at bin ends."""
        if self.ranged:
            ends = [self._ends(name) for name in numbers(self.domain)]
            return Norms.signed(sum(max(a) for a, _ in ends), sum(max(b) for _, b in ends))
        reach = []
        for name, factor in numbers(self.domain).items():
            attribute = self.domain[name]
            assert isinstance(attribute, Bins)
            reach.append(factor * int(attribute.lattice.half.max()))
        tables = len(self.domain) + bool(self.total)
        return Norms.signed(tables * sum(reach), tables * sum(w * w for w in reach))

    def _ends(self, name: str) -> tuple[list[int], list[int]]:
        """How far a row at each end of a bin moves the sums of one number: by absolutes, and by squares."""
        within, whole = scales(self.domain)[name]
        lattice = lattice_of(self.domain, name)
        middle, tables = centre_of(self.domain, name), len(self.domain)
        ranged = name in ranged_numbers(self.domain)
        moved = []
        for low, high in zip(lattice.low.tolist(), lattice.high.tolist(), strict=True):
            far = [whole * abs(2 * end - middle) for end in (low, high)]
            moved += [(within * (high - low), v if ranged else within * (high - low)) for v in far]
        return [tables * r + v for r, v in moved], [tables * r * r + v * v for r, v in moved]

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Counts of a number's bins, for sums of its range."""
        return tuple((name,) for name in ranged_numbers(self.domain)) if self.ranged else ()

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        kind = "remainders, totals and ranges" if self.ranged else "remainders and totals"
        return fingerprint(kind if self.total else "remainders", self.domain.fingerprint)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The sums, table after table."""
        self.check(rows.domain)
        found = rows.remainder_sums(tuple(numbers(self.domain)))
        factors = numbers(self.domain)
        if self.ranged:
            factors = {name: within for name, (within, _) in scales(self.domain).items()}
        first = self.domain.names[0]  # a row has one level of it
        parts = []
        for (name, attribute), table in found.items():
            if self.total and attribute == first:
                whole = table.sum(keepdims=True)
                mine = self.ranged and name in ranged_numbers(self.domain)
                parts.append(self._range(rows, name, whole) if mine else factors[name] * whole)
            parts.append(factors[name] * table)
        return np.concatenate(parts)

    def _range(self, rows: Rows, name: str, remainders: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of all rows' distances from the centre of bins, by their bins and remainders."""
        lattice, counts = lattice_of(self.domain, name), rows.tables([(name,)])[(name,)]
        off = lattice.centre - centre_of(self.domain, name)
        whole = scales(self.domain)[name][1]
        return np.asarray(whole * (remainders + (off * counts[: off.size]).sum()), dtype=np.int64)
