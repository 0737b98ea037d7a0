"""SmallDB: the exponential mechanism over all small databases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.small_range import SmallRange, choose_database, log_range, rows_of, steps
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.account import Purse, check_delta
from hedgerow.mechanisms.fingerprint import fingerprint
from hedgerow.mechanisms.mechanism import Resumable, finite
from hedgerow.privacy.bounds import log_whole, range_size, small_db_size
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.queries.argument import number
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.small import SmallDatabase, SmallSynopsis
from hedgerow.synopsis.synopsis import Synopsis

TOTAL = Fraction(1, 10)  # of the price, for the number of rows where it is private
_VISITS = 100_000  # a range that alpha is chosen for may have so many databases
_STEPS = 2 * 10**7  # and take so many steps to count
_CONFIDENCE = 0.95
_MOST_PLACES = 1 << 13  # of a small database that is chosen here
LARGEST = 0.499  # alpha, when nobody says
VACUOUS = 0.5  # of the rows: whoever answers one half to everything is no further off


@dataclass(frozen=True)
class SmallDB(Resumable):
    """A small database that answers all counting queries of a class nearly as the rows do.

    Privacy: the exponential mechanism ([MT07] Thm 6, [DR14] Prop. 4.1) over all multisets of m =
    ceil(ln|Q|/alpha^2) elements ([DR14] Alg. 4), drawn exactly. The score is -max |F(rows) - total f(y)|
    in rows, of sensitivity 1 per row; `total` is public under `replace` with one row per unit, else
    measured first by the discrete Laplace or Gaussian mechanism with a tenth of the price, and then
    fixed. Accuracy: [DR14] Prop. 4.4 with ln|R| counted exactly, for all queries of the class at once.
    Charged in `small_range.choose_database` and `Curator.measure`, from an account set aside for the run.

    Args:
        alpha: how well, as a fraction of the rows, some small database should do; the smaller, the larger
            is the range. If None, one below 1/2 (above, no bound says anything): that whose bound is least
            among ranges that are quick to visit.
        rows: the number of rows where that is public knowledge; a delta too large for it is refused.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> SmallDB(alpha=0.3, epsilon=1.0).alpha
    0.3
    """

    alpha: float | None = None
    rows: int | None = None
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("DR14", "BLR08", "MT07")
    account_kind: ClassVar[str] = "small-db"

    def release(self, curator: Curator, workload: AnyQuestion) -> Synopsis:
        """Release a small database chosen for a workload of counting queries."""
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        self._check(curator, domain, queries)
        plan = fingerprint(self) + domain.fingerprint + queries.digest + curator.account
        with self._paying(curator, plan.encode()) as purse:
            small, distinct = self._release(purse, domain, queries)
        return SmallSynopsis(domain, self._signed(curator, purse.spent, _facts(small, distinct)), small)

    # -- inside -------------------------------------------------------------------------------------------

    def _check(self, curator: Curator, domain: Domain, queries: Workload) -> None:
        """Refuse, before anything is charged, what cannot be released whatever the rows are."""
        if self.alpha is not None and not 0.0 < number("alpha", self.alpha) < 1.0:
            raise UnsupportedQuery(f"alpha is a fraction of the rows between 0 and 1, not {self.alpha!r}")
        if not len(queries):
            raise UnsupportedQuery("a workload is a non-empty list of queries")
        check_delta(curator, self.rows)
        self._spend()
        known = SmallRange(queries, 1, 1).incidence(domain)
        size = small_db_size(known.queries, self.alpha or LARGEST)
        SmallRange(queries, size, 1).check(domain)

    def _release(self, purse: Purse, domain: Domain, queries: Workload) -> tuple[SmallDatabase, int]:
        """MEASURE the number of rows where it is private, then SELECT a database."""
        account, (total, left, measured) = purse.curator, purse.rows(TOTAL, "small-db: total", "auto")
        known = SmallRange(queries, 1, total).incidence(domain)
        epsilon = selection_epsilon(left, bounded_range=True)
        row = float(account.privacy.sensitivity(Norms.query(1)).l1)
        rows, alpha, _, reach = chosen(domain, queries, total, epsilon, row, self.alpha)
        candidates = SmallRange(queries, rows, total)
        drawn = choose_database(
            account, candidates, left, request=purse.request("database"), note="small-db: choose"
        )
        codes = np.stack(list(rows_of(domain, known, drawn).values()))
        small = SmallDatabase(codes, total, measured, queries, alpha, float(epsilon), reach, row)
        return small, known.queries


def _facts(small: SmallDatabase, queries: int) -> dict[str, Any]:
    """What is public about the release, with its bound and whether that says anything."""
    bound = small.bound(_CONFIDENCE) / small.total
    return {
        "alpha": small.alpha,
        "database_rows": small.codes.shape[1],
        "distinct_queries": queries,
        "bound_as_fraction": bound,
        "bound_is_vacuous": bound >= VACUOUS,
    }


def chosen(
    domain: Domain, queries: Workload, total: int, epsilon: Fraction, row: float, alpha: float | None = None
) -> tuple[int, float, float, float]:
    """The rows of a candidate, and alpha, epsilon and ln|R| of Prop. 4.4; all from public values.

    Args:
        domain, queries: what is asked of which rows.
        total: how many rows a candidate stands for.
        epsilon: of the choice.
        row: the sensitivity of a count.
        alpha: the one to use; the best if None.
    """
    known = SmallRange(queries, 1, total).incidence(domain)
    best = alpha or _best_alpha(known.queries, len(known.member), domain.size, total, epsilon, row)
    rows = small_db_size(known.queries, best)
    return rows, best, float(epsilon), log_whole(range_size(domain.size, rows))


def _best_alpha(queries: int, types: int, cells: int, total: int, epsilon: Fraction, row: float) -> float:
    """The alpha whose bound is least among those whose range is quick to visit; public values only."""
    size = small_db_size(queries, LARGEST)
    best, found = inf, LARGEST
    while size == small_db_size(queries, LARGEST) or _quick(types, size, cells):
        wanted = log(queries) if queries > 2 else log(2 * queries) / 2.0  # as in `small_db_size`
        alpha = min(sqrt(wanted / size) * (1.0 + 1e-12), LARGEST)
        bound = alpha * total + 2.0 * row * log_range(cells, size) / float(epsilon)
        if bound < best:
            best, found = bound, alpha
        size += 1
        if bound > 2.0 * best or size >= _MOST_PLACES:
            break
    return found


def _quick(types: int, size: int, cells: int) -> bool:
    """Whether a range is quick to visit."""
    return log_range(types, size) <= log(_VISITS) and steps(types, size, cells) <= _STEPS
