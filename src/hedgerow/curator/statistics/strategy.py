"""Strategy answers: what a whole-number strategy says about rows, ready for noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.strategies.strategy import MatrixStrategy, ResidualStrategy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.query import Norms


@statistic
@dataclass(frozen=True, eq=False)
class StrategyAnswers:
    """The numbers of a strategy A on the rows: A x, in whole steps.

    Only Hedgerow's own strategies are taken: each validates its entries when it is made, freezes them, and
    bounds its columns exactly.
    """

    strategy: ResidualStrategy | MatrixStrategy
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if type(self.strategy) not in (ResidualStrategy, MatrixStrategy):
            raise UnsupportedQuery("a strategy is one of Hedgerow's own, whose norms are proven")

    def check(self, domain: Domain) -> None:
        """The strategy is one for this domain."""
        self.strategy.check(domain)

    @property
    def norms(self) -> Norms:
        """The strategy's largest column, and its largest difference of two."""
        return self.strategy.norms

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The tables needed."""
        return self.strategy.cliques

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("strategy", self.strategy.digest)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """A x: the answers of the strategy to the counts of all cells."""
        self.strategy.check(rows.domain)
        counted = rows.tables(self.cliques)
        return self.strategy.apply(lambda attributes: counted[attributes])
