"""SparseMW: private multiplicative weights over names without end, question by question [BR11]."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.sparse.sparse import SparseHypothesis
from hedgerow.mechanisms.online.idc import IDC
from hedgerow.privacy.bounds import thm_3_5
from hedgerow.queries.domain.domain import OpenDomain

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator


@dataclass(frozen=True)
class SparseMW(IDC):
    """Interactive release of sparse queries about an unbounded universe: [BR11] Alg. 1 as the construction.

    Privacy: the sparse vector's, see `IDC`. Accuracy: [BR11] Thm 3.5 and 3.8 with c = ceil(B(alpha)), B = 4
    (ln s + 1) / alpha^2 and s / (ln s + 1) >= 4 m / alpha^2. Charged in `Curator.sparse_vector`, and in
    `Curator.measure` where the number of rows has to be counted.

    Args:
        sparsity: m, the most elements that a query may name; time and accuracy depend on it, not on the
            universe.

    >>> import hedgerow as hr
    >>> table = hr.Table.open(["oak"] * 600 + ["ash"] * 400, hr.OpenDomain())
    >>> curator = hr.Curator(table, hr.Budget(epsilon=100), ":memory:", "replace")
    >>> session = SparseMW(sparsity=2, updates=10).open(curator)
    >>> session.ask(hr.SparseQuery.of({"oak": 1, "ash": 1})).source
    'measured'
    >>> session.ask(hr.SparseQuery.of({"elm": 1})).source
    'certified'
    """

    sparsity: int = 1

    citations: ClassVar[tuple[str, ...]] = ("BR11", "HR10", "DR14")

    def _hypothesis(self, curator: Curator, total: float) -> SparseHypothesis:
        """s variables without elements; in tuned mode a query of names not yet learned is about a row."""
        if self.alpha is not None:
            return SparseHypothesis(self.sparsity, self.alpha, total=total)
        assert self.updates is not None
        size = self.sparsity * (max(self.updates, ceil(total)) + 1)
        return SparseHypothesis(self.sparsity, size=size, total=total)

    def _bound(self, curator: Curator, alpha: float) -> int:
        """[BR11] Thm 3.5: the most updates of a sparse hypothesis."""
        if type(self.sparsity) is not int or not 1 <= self.sparsity < 1 << 53:
            raise UnsupportedQuery("sparsity is a whole number, 1 or more")
        if not isinstance(curator.domain, OpenDomain):
            raise UnsupportedQuery("SparseMW answers about names: open the table with hr.OpenDomain()")
        return ceil(thm_3_5(self.sparsity, alpha))
