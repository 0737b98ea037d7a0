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
from hedgerow.queries.moments import numbers
from hedgerow.queries.norms import Norms

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
    """

    domain: Domain
    total: bool = False
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if type(self.domain) is not Domain or not numbers(self.domain):
            raise DomainMismatch("no number of this domain has a step and bins that are wider")

    def check(self, domain: Domain) -> None:
        """The rows are those of this domain."""
        if domain != self.domain:
            raise DomainMismatch("these sums were made for another domain than this one")

    @cached_property
    def norms(self) -> Norms:
        """The largest column, at bin ends."""
        reach = []
        for name, factor in numbers(self.domain).items():
            attribute = self.domain[name]
            assert isinstance(attribute, Bins)
            reach.append(factor * int(attribute.lattice.half.max()))
        tables = len(self.domain) + bool(self.total)
        return Norms.signed(tables * sum(reach), tables * sum(w * w for w in reach))

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """No tables of counts are needed."""
        return ()

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("remainders and totals" if self.total else "remainders", self.domain.fingerprint)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The sums, table after table."""
        self.check(rows.domain)
        found = rows.remainder_sums(tuple(numbers(self.domain)))
        factors = numbers(self.domain)
        first = self.domain.names[0]  # a row has one level of it
        parts = []
        for (name, attribute), table in found.items():
            if self.total and attribute == first:
                parts.append(factors[name] * table.sum(keepdims=True))
            parts.append(factors[name] * table)
        return np.concatenate(parts)
