"""DaySteps: what running totals along an ordered attribute of one table measure, in whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.privacy.bounds.running import running_coefficients, running_norm_squared
from hedgerow.queries.norms import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain


@statistic
@dataclass(frozen=True)
class DaySteps:
    """For every level t of an attribute the sum over s <= t of c_(t-s) x_s, x_s the rows of level s.

    A row of level s moves the answers from s on by c_0, c_1, ...: Theorem 4 of docs/privacy/growing.md with
    the horizon as the number of levels. No move is negative, so a swap is at most the sum of two.
    """

    attribute: str
    levels: int
    denominator: ClassVar[int] = 1

    def check(self, domain: Domain) -> None:
        """The attribute is one of the domain, with as many levels."""
        if self.attribute not in domain or domain[self.attribute].size != self.levels:
            from hedgerow.errors import DomainMismatch

            raise DomainMismatch(
                f"running totals go along an attribute of the domain, not {self.attribute!r}"
            )

    @property
    def norms(self) -> Norms:
        """The column of the first level, which is the largest."""
        c = running_coefficients(self.levels)
        return Norms.nonnegative(sum(c), running_norm_squared(self.levels))

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The one table needed."""
        return ((self.attribute,),)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("day steps", self.attribute, self.levels)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The steps of every level."""
        counts = rows.tables([(self.attribute,)])[(self.attribute,)]
        return np.array([step(counts[: t + 1], self.levels) for t in range(self.levels)], dtype=np.int64)


def step(counts: NDArray[np.int64], horizon: int) -> NDArray[np.int64]:
    """The newest day's step: c_0 x_t + c_1 x_(t-1) + ..., days along the first axis."""
    c = np.array(running_coefficients(horizon)[: len(counts)], dtype=np.int64)
    return np.asarray(np.tensordot(c[::-1], counts, axes=1), dtype=np.int64)
