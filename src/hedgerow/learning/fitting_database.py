"""The public half of base synopsis generators: a database that fits noisy answers, if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise.noise import uniform_below
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.queries.low_sensitivity import LowSensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.noise.noise import Entropy
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

ENUMERATED = 2_000_000  # databases
PROGRAM = 1 << 24  # entries of a linear program's matrix
REDRAWS = 1000  # of a small database: each does with a chance that is far from 0
_FACES = 1 << 53


def need_linear_programs() -> None:
    """Refuse, before anything is charged, when the solver is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise UnsupportedQuery(
            "the linear-program generator needs scipy: pip install 'hedgerow[lp]'"
        ) from None


def query_matrix(domain: Domain, workload: Workload) -> Any:
    """One row of weights over all cells for each query, sparse; in rows, not lattice steps."""
    from scipy import sparse

    if domain.size * len(workload) > PROGRAM:
        raise RangeTooLarge(
            f"a linear program of {len(workload):,} queries over {domain.size:,} cells is more than "
            f"{PROGRAM:,} entries; use OfflineMW or AdaptiveRelease"
        )
    rows = []
    for query in workload:
        shape = [domain[a].size if a in query.attributes else 1 for a in domain]
        order = np.argsort([domain.index(a) for a in query.attributes])
        weights = np.asarray(query.weights, dtype=np.float64).transpose(order).reshape(shape) / (1 << 20)
        rows.append(sparse.csr_matrix(np.broadcast_to(weights, domain.shape).reshape(1, -1)))
    return sparse.vstack(rows, format="csr")


def fit_program(
    matrix: Any, answers: NDArray[np.float64], tolerance: float, total: float
) -> NDArray[np.float64] | None:
    """A non-negative table of `total` rows that answers within `tolerance`, or None ([DRV10] Thm 5.3).

    The program minimises the largest miss, so that what is found fits as well as any does.
    """
    from scipy import optimize, sparse

    count, cells = matrix.shape
    miss = sparse.csr_matrix(np.full((count, 1), -1.0))
    a = sparse.vstack([sparse.hstack([matrix, miss]), sparse.hstack([-matrix, miss])], format="csr")
    b = np.concatenate([answers, -answers]) / total
    whole = sparse.csr_matrix(np.r_[np.ones(cells), 0.0][None, :])
    cost = np.r_[np.zeros(cells), 1.0]
    done = optimize.linprog(cost, A_ub=a, b_ub=b, A_eq=whole, b_eq=[1.0], bounds=(0, None), method="highs")
    if done.x is None or done.x[-1] * total > tolerance:
        return None
    cells_of: NDArray[np.float64] = np.maximum(done.x[:-1], 0.0) * total
    return cells_of


def drawn_database(
    matrix: Any, table: NDArray[np.float64], rows: int, apart: float, entropy: Entropy
) -> NDArray[np.float64] | None:
    """A database of `rows` rows, as counts that stand for the table's, or None ([DRV10] Thm 5.3, [BLR08]).

    Rows are drawn from the table as a distribution, all of them again until no answer moved by more than
    `apart` of the total. Public: the table was fitted to noisy answers, and the dice know nothing of rows.

    Args:
        matrix: one row of weights over all cells for each question that must not move.
        table: a non-negative table.
        rows: n'.
        apart: a, as a fraction of the total.
        entropy: where the dice come from.
    """
    ends, total = np.cumsum(table), float(table.sum())
    answers = matrix @ table
    for _ in range(REDRAWS):
        dice = uniform_below(_FACES, rows, entropy) * (ends[-1] / _FACES)
        places = np.minimum(np.searchsorted(ends, dice, side="right"), len(table) - 1)
        drawn = np.bincount(places, minlength=len(table)) * (total / rows)
        if np.abs(matrix @ drawn - answers).max() <= apart * total:
            return np.asarray(drawn)
    return None


def databases(cells: int, rows: int) -> NDArray[np.int64]:
    """Every multiset of `rows` elements of a universe of `cells`, as tables, in lexicographic order."""
    number = comb(rows + cells - 1, cells - 1)
    if number > ENUMERATED:
        raise RangeTooLarge(
            f"there are {number:,} databases of {rows:,} rows over {cells:,} cells, above {ENUMERATED:,}; "
            "use the linear-program generator"
        )
    tables = np.zeros((1, 0), dtype=np.int64)
    for _ in range(cells - 1):
        left = rows - tables.sum(axis=1)
        repeat = np.repeat(np.arange(len(tables)), left + 1)
        first = np.cumsum(left + 1) - (left + 1)
        new = np.arange(len(repeat)) - first[repeat]
        tables = np.column_stack([tables[repeat], new])
    return np.column_stack([tables, rows - tables.sum(axis=1)])


def marginals_of(domain: Domain, tables: NDArray[np.int64], attribute: str) -> NDArray[np.int64]:
    """The counts of one attribute's levels in each table."""
    axes = tuple(i + 1 for i, a in enumerate(domain) if a != attribute)
    return np.asarray(tables.reshape(-1, *domain.shape).sum(axis=axes))


def evaluate(
    domain: Domain, queries: Sequence[LowSensitivity], tables: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What each question's answer is on each table."""
    return np.stack([q.values(marginals_of(domain, tables, q.attribute)) for q in queries], axis=-1)
