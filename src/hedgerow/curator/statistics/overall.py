"""OverallSums: of every number with a long tail the sum of all rows, by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.norms import Norms
from hedgerow.queries.number_sums import far_of, lattice_of, tailed_numbers, usual_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows


@statistic
@dataclass(frozen=True, eq=False)
class OverallSums:
    """For each of `tailed_numbers` the sum of c_x (v - m_x) over all rows that have a value.

    v is a row's own number in whole half-steps, m_x the middle of a bin and c_x a whole factor; a row
    without a value adds nothing. A row moves each sum by at most c_x H_x, the farther end of the range:
    L1 = sum c_x H_x, L2^2 = sum (c_x H_x)^2. A swap moves it by at most the width of the range, or by H_x
    where one row has no value; H_x is no more than the width, as m_x lies inside.

    Args:
        domain: of the rows.
    """

    domain: Domain
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if type(self.domain) is not Domain or not tailed_numbers(self.domain):
            raise DomainMismatch("no number of this domain has a long tail of wide bins")

    def check(self, domain: Domain) -> None:
        """The rows are those of this domain."""
        if domain != self.domain:
            raise DomainMismatch("these sums were made for another domain than this one")

    @cached_property
    def norms(self) -> Norms:
        """At the ends of ranges."""
        reach, wide = [], []
        for name, factor in tailed_numbers(self.domain).items():
            lattice = lattice_of(self.domain, name)
            reach.append(factor * far_of(self.domain, name, usual_of(self.domain, name)))
            wide.append(factor * 2 * int(lattice.high[-1] - lattice.low[0]))
        return Norms(sum(reach), sum(x * x for x in reach), sum(wide), sum(x * x for x in wide))

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Counts of each number's bins."""
        return tuple((name,) for name in tailed_numbers(self.domain))

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("overall sums", self.domain.fingerprint)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The sums, by the rows' bins and remainders.

        Modulo 2^64, as noise is added: a sum that raised where it is too large would tell how large it is.
        """
        self.check(rows.domain)
        factors = tailed_numbers(self.domain)
        found, counts = rows.remainder_sums(tuple(factors)), rows.tables(list(self.cliques))
        out = np.zeros(len(factors), dtype=np.int64)
        for i, name in enumerate(factors):
            off = lattice_of(self.domain, name).centre - usual_of(self.domain, name)
            out[i] = found[name, name].sum() + (off * counts[(name,)][: off.size]).sum()
        return out * np.array(list(factors.values()), dtype=np.int64)
