"""OnlineMW: private multiplicative weights over a declared domain, question by question [HR10], [DR14]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.dense.dense import CELL_LIMIT, DenseHypothesis
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.online.idc import IDC
from hedgerow.privacy.bounds import online_mw_updates

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.queries.domain.domain import Domain


@dataclass(frozen=True)
class OnlineMW(IDC):
    """The online multiplicative weights mechanism, [DR14] Alg. 6: dense MW as the construction.

    Privacy: [DR14] Thm 4.13 (the sparse vector's; see `IDC`). Accuracy: Thm 4.14 (delta = 0) and 4.15, with T
    = 2 alpha and c = ceil(4 ln|X| / alpha^2). Charged in `Curator.sparse_vector`, and in `Curator.measure`
    where the number of rows has to be counted.

    >>> import hedgerow as hr
    >>> domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})
    >>> table = hr.Table.open({"sex": ["F", "M"] * 500, "age": [31, 64] * 500}, domain)
    >>> curator = hr.Curator(table, hr.Budget(epsilon=100), ":memory:", "replace")
    >>> session = OnlineMW(updates=10).open(curator)
    >>> session.ask(hr.Query.where(domain, {"sex": "F"})).source
    'certified'
    >>> session.ask(hr.Query.where(domain, {"age": "[30, 40)"})).source, session.updates
    ('measured', 1)
    """

    citations: ClassVar[tuple[str, ...]] = ("HR10", "DR14", "BR11")

    def _hypothesis(self, curator: Curator, total: float) -> DenseHypothesis:
        """The uniform distribution over all cells."""
        return DenseHypothesis(_dense(curator), total=total)

    def _bound(self, curator: Curator, alpha: float) -> int:
        """[DR14] Thm 4.10: the most updates of a dense hypothesis."""
        return online_mw_updates(_dense(curator).size, alpha)


def _dense(curator: Curator) -> Domain:
    domain = finite(curator)
    if domain.size > CELL_LIMIT:
        raise UnsupportedQuery(
            f"the domain has {domain.size:,} cells; OnlineMW holds {CELL_LIMIT:,} at most: "
            "use Session, or fewer attributes"
        )
    return domain
