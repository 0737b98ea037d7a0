"""SmallDB: the exponential mechanism over all small databases."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.small_range import SmallRange, choose_database, log_range, rows_of, steps
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.account import Resumable, RunAccount, check_delta
from hedgerow.mechanisms.mechanism import Mechanism, finite
from hedgerow.privacy.bounds import log_whole, range_size, small_db_size
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.argument import number
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms, Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.small import SmallDatabase, SmallSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

TOTAL = Fraction(1, 10)  # of the price, for the number of rows where it is private
_VISITS = 100_000  # a range that alpha is chosen for may have so many databases
_STEPS = 2 * 10**7  # and take so many steps to count
_CONFIDENCE = 0.95
_MOST_PLACES = 1 << 13  # of a small database that is chosen here
_LARGEST = 0.999  # alpha, when nobody says


@dataclass(frozen=True)
class SmallDB(Resumable, Mechanism):
    """A small database that answers all counting queries of a class nearly as the rows do.

    Privacy: the exponential mechanism ([MT07] Thm 6, [DR14] Prop. 4.1) over all multisets of m =
    ceil(ln|Q|/alpha^2) elements ([DR14] Alg. 4), drawn exactly. The score is -max |F(rows) - total f(y)|
    in rows, of sensitivity 1 per row; `total` is public under `replace` with one row per unit, else
    measured first by the discrete Laplace or Gaussian mechanism with a tenth of the price, and then
    fixed. Accuracy: [DR14] Prop. 4.4 with ln|R| counted exactly, for all queries of the class at once.
    Charged in `small_range.choose_database` and `Curator.measure`, from an account set aside for the run.

    Args:
        alpha: how well, as a fraction of the rows, some small database should do; the smaller, the larger
            is the range. If None, the one whose bound is least among ranges that are quick to visit.
        rows: the number of rows where that is public knowledge; a delta too large for it is refused.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> SmallDB(alpha=0.3, epsilon=1.0).alpha
    0.3
    """

    alpha: float | None = None
    rows: int | None = None
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("DR14", "BLR08", "MT07")

    def release(self, curator: Curator, workload: AnyQuestion) -> Synopsis:
        """Release a small database chosen for a workload of counting queries."""
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        self._check(curator, domain, queries)
        account = self._account(domain.fingerprint + queries.digest + curator.account)
        paying, price = account.open(curator, self._spend())
        try:
            small, distinct = self._release(paying, domain, queries, price)
        except BaseException:
            account.give_up(paying)
            raise
        account.close(paying)
        cost = curator.ledger.budget.part(curator.ledger.spent(paying.account))
        facts = _facts(small, distinct)
        signed = Provenance("SmallDB", facts, cost, curator.receipt, curator.private, self.citations)
        return SmallSynopsis(domain, signed, small)

    # -- inside -------------------------------------------------------------------------------------------

    def _account(self, public: str) -> RunAccount:
        plan = hashlib.sha256((repr(self) + public).encode()).hexdigest()
        return RunAccount("small-db", self.run, plan)

    def _check(self, curator: Curator, domain: Domain, queries: Workload) -> None:
        """Refuse, before anything is charged, what cannot be released whatever the rows are."""
        if self.alpha is not None and not 0.0 < number("alpha", self.alpha) < 1.0:
            raise UnsupportedQuery(f"alpha is a fraction of the rows between 0 and 1, not {self.alpha!r}")
        if not len(queries):
            raise UnsupportedQuery("a workload is a non-empty list of queries")
        check_delta(curator, self.rows)
        self._spend()
        known = SmallRange(queries, 1, 1).incidence(domain)
        size = small_db_size(known.queries, self.alpha or _LARGEST)
        SmallRange(queries, size, 1).check(domain)

    def _release(
        self, account: Curator, domain: Domain, queries: Workload, price: Cost
    ) -> tuple[SmallDatabase, int]:
        """MEASURE the number of rows where it is private, then SELECT a database."""
        measured, left, name = None, price, account.account
        total = account.rows
        if total is None:
            share = price.share(TOTAL)
            measured = account.measure(Query.total(), share, request=f"{name}: total", note="small-db: total")
            total, left = int(np.rint(measured.counts[0])), price - share
        total = max(1, total)
        known = SmallRange(queries, 1, total).incidence(domain)
        epsilon = selection_epsilon(left, bounded_range=True)
        row = float(account.privacy.sensitivity(Norms.query(1)).l1)
        rows, alpha, _, reach = chosen(domain, queries, total, epsilon, row, self.alpha)
        candidates = SmallRange(queries, rows, total)
        drawn = choose_database(
            account, candidates, left, request=f"{name}: database", note="small-db: choose"
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
        "bound_is_vacuous": bound >= 1.0,
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
    size = small_db_size(queries, _LARGEST)
    best, found = inf, _LARGEST
    while size == small_db_size(queries, _LARGEST) or _quick(types, size, cells):
        wanted = log(queries) if queries > 2 else log(2 * queries) / 2.0  # as in `small_db_size`
        alpha = min(sqrt(wanted / size) * (1.0 + 1e-12), _LARGEST)
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
