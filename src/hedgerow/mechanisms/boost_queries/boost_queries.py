"""BoostQueries: synopses that are right on most questions, boosted until their median is right on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, log
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import current_entropy, uniform_below
from hedgerow.curator.statistics.boosting import BoostWeights, LowSensitivityAnswers, sample_questions
from hedgerow.curator.statistics.statistics import Answers
from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.fitting_database import (
    databases,
    drawn_database,
    evaluate,
    fit_program,
    need_linear_programs,
    query_matrix,
)
from hedgerow.mechanisms.boost_queries.plan import BoostPlan, Setting, plan, unreached
from hedgerow.mechanisms.mechanism import Mechanism, finite
from hedgerow.privacy.budget import Cost, Privacy
from hedgerow.queries.argument import number, one_of
from hedgerow.queries.low_sensitivity import is_low_sensitivity
from hedgerow.queries.query import Norms, Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.boosted import BoostedSynopsis, key_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

TOTAL = Fraction(1, 50)  # of the price, for the number of rows
SURE = Fraction(1, 20)  # of beta, for the number of rows


@dataclass(frozen=True)
class BoostQueries(Mechanism):
    """Boosting for queries [DRV10]: T synopses, each from k sampled questions; the answer is their median.

    Privacy ([DRV10] Thm 4.1, composed in rho): T noisy vectors of sampled answers (discrete Gaussian, [CKS20]
    Thm 4), charged in `Curator.measure`; and k questions sampled from D_t in each round after the first, each
    an exponential mechanism of epsilon 4 alpha t Delta / mu (Claim 4.4), charged in
    `curator.statistics.boosting.sample_questions`. Reweighting is a release, and it is paid for.
    Accuracy (Lemma 4.2 and Claim 4.3, with 1/2 + eta): every question of the workload within lambda + mu,
    except with probability beta, if every generator found a database that fits. eta comes from [DRV10] Lemma
    5.1 over all databases of n' = ln(2 min(k, |Q|)) / (2 a^2) rows, one of which is drawn from the linear
    program's solution (Thm 5.3; lambda = noise + misfit + a), or from the mass of questions that were not
    sampled ([MO03]), whichever is better. Where k reaches |Q| every question is measured: one round, no
    sampling, and lambda alone. The generator sees noisy answers and dice only: post-processing, free.

    Args:
        beta: how often the accuracy may fail.
        generator: `linear_program` (counting queries, Thm 5.3), `enumeration` (any question of low
            sensitivity, Thm 5.2, tiny universes), or `auto`.
        samples: k; chosen to make lambda + mu small if None; as many as there are questions measures all.
        rounds: T; what Claim 4.3 needs if None.
        gap: mu, in rows; chosen if None.
    """

    beta: float = 0.05
    generator: Literal["auto", "linear_program", "enumeration"] = "auto"
    samples: int | None = None
    rounds: int | None = None
    gap: float | None = None

    citations: ClassVar[tuple[str, ...]] = ("DRV10", "MO03", "CKS20")

    def release(self, curator: Curator, workload: Any) -> BoostedSynopsis:
        """Release T databases whose median answers the workload."""
        domain = finite(curator)
        self._check(curator)
        queries, low = _questions(domain, workload)
        if self.samples is not None and self.samples > len(queries):
            raise UnsupportedQuery(
                f"{self.samples:,} sampled questions out of a workload of {len(queries):,} are too many"
            )
        price = curator.price(self._spend())
        curator.ledger.check(price, curator.account)
        task = _Task.of(domain, _different(queries), low, self.generator)
        if curator.rows is not None:
            task.prepare(curator.rows)  # refused, if it must be, before anything is charged
        total, slack, rest = self._total(curator, price)
        task.prepare(max(round(total), 1))
        made = self._plan(curator, task, rest, slack, total)
        given, tables, failed = self._boost(curator, task, made, max(total, 1.0))
        return self._sign(curator, task, made, price, (total, slack), tables, given, failed)

    def _check(self, curator: Curator) -> None:
        if curator.ledger.currency == "epsilon":
            raise UnsupportedQuery("BoostQueries needs a budget with a delta above 0")
        if not 0.0 < number("beta", self.beta) < 1.0:
            raise UnsupportedQuery("beta must lie strictly between 0 and 1")
        one_of("generator", self.generator, "auto", "linear_program", "enumeration")
        for name in ("samples", "rounds"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value < 1 << 30):
                raise UnsupportedQuery(f"{name} is a whole number above 0, and below 2^30")
        if self.gap is not None and not 0.0 < number("gap", self.gap) < float(1 << 30):
            raise UnsupportedQuery("gap is a number of rows above 0")

    def _total(self, curator: Curator, price: Cost) -> tuple[float, float, Cost]:
        """The number of rows, how far off it may be, and what is left of the price."""
        if curator.rows is not None:
            return float(curator.rows), 0.0, price
        part = price.share(TOTAL)
        found = curator.measure(Query.total(), part, noise="gaussian", note="BoostQueries: rows")
        slack = found.noise.half_width(1.0 - self.beta * float(SURE))
        return float(found.counts[0]), slack, price - part

    def _plan(self, curator: Curator, task: _Task, price: Cost, slack: float, total: float) -> BoostPlan:
        known = task.setting(curator.privacy, slack, total)
        beta = self.beta * float(1 - SURE)
        return plan(known, price, beta, samples=self.samples, rounds=self.rounds, gap=self.gap)

    def _boost(
        self, curator: Curator, task: _Task, made: BoostPlan, total: float
    ) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]], int]:
        """Fig. 1: sample from D_t, run the base generator, reweight; count the rounds without a fit."""
        given: list[NDArray[np.int64]] = []
        tables: list[NDArray[np.float64]] = []
        failed = 0
        for t in range(made.rounds):
            note = f"BoostQueries: round {t + 1} of {made.rounds}"
            if made.whole:
                places = np.arange(len(task.queries))
            elif given:
                weights = BoostWeights(task.asked, tuple(given), made.accurate, made.gap)
                places = sample_questions(curator, weights, made.alpha, made.samples, note=note)
            else:  # D_1 is uniform: free
                places = uniform_below(len(task.queries), made.samples, current_entropy())
            seen = np.unique(places)
            noisy = curator.measure(task.part(seen), made.base, noise="gaussian", note=note)
            table = task.fit(seen, noisy.counts, made, total)
            failed += table is None
            tables.append(np.full(task.cells, total / task.cells) if table is None else table)
            given.append(task.answers(tables[-1]))
        return given, tables, failed

    def _sign(
        self,
        curator: Curator,
        task: _Task,
        made: BoostPlan,
        price: Cost,
        size: tuple[float, float],
        tables: list[NDArray[np.float64]],
        given: list[NDArray[np.int64]],
        failed: int,
    ) -> BoostedSynopsis:
        signed = self._signed(curator, price)
        total, slack = size
        unit = task.asked.denominator
        proven = not failed and made.proven and unreached(made, len(task.queries)) == 0.0
        error = made.error / unit
        signed.parameters.update(
            generator=task.generator,
            samples=made.samples,
            rounds=made.rounds,
            eta=made.eta,
            database_rows=made.size or None,
            accurate=made.accurate / unit,
            gap=made.gap / unit,
            error_share=error / max(total, 1.0),
            vacuous=error >= total or not proven,
            failed_rounds=failed,
        )
        values = np.median(np.stack(given), axis=0) / unit
        histograms = np.stack(tables)
        trivial = max(total, 1.0) + slack + 1.0  # both the truth and the answer lie between 0 and this
        bound = min(error, trivial) if proven else trivial
        sure = 1.0 - self.beta
        return BoostedSynopsis(
            task.domain, signed, task.queries, values, histograms, bound, sure, total, failed, bound >= total
        )


class _Task:
    """One workload and one generator: what is asked, what fits, what a database answers."""

    def __init__(
        self,
        domain: Domain,
        queries: tuple[Any, ...],
        asked: Answers | LowSensitivityAnswers,
        generator: str,
    ) -> None:
        self.domain, self.queries, self.asked, self.generator = domain, queries, asked, generator
        self.cells = int(domain.size)
        self.synopses = float("inf")
        self._tables: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, domain: Domain, queries: tuple[Any, ...], low: bool, generator: str) -> _Task:
        if generator == "auto":
            generator = "enumeration" if low else "linear_program"
        if low and generator == "linear_program":
            raise UnsupportedQuery("the linear-program generator is for counting queries; use 'enumeration'")
        asked = LowSensitivityAnswers(queries) if low else Answers(Workload.of(list(queries)))
        for clique in asked.cliques if low else asked.workload.cliques:  # type: ignore[union-attr]
            domain.order(clique)
        task = cls(domain, queries, asked, generator)
        if generator == "linear_program":
            need_linear_programs()
        if not low:
            task._matrix = query_matrix(domain, asked.workload)  # type: ignore[union-attr]
        return task

    def prepare(self, rows: int) -> None:
        """List the databases of so many rows, when the generator goes through them all."""
        if self.generator == "enumeration" and (self._tables is None or int(self._tables[0].sum()) != rows):
            self._tables = databases(self.cells, rows)
            self.synopses = log(comb(rows + self.cells - 1, self.cells - 1))
            if isinstance(self.asked, LowSensitivityAnswers):
                self._values: NDArray[Any] = evaluate(self.domain, self.queries, self._tables)
            else:
                self._values = (self._matrix @ self._tables.T).T

    def part(self, places: NDArray[np.int64]) -> Any:
        """The statistic of some of the questions."""
        some = tuple(self.queries[i] for i in places)
        if isinstance(self.asked, LowSensitivityAnswers):
            return LowSensitivityAnswers(some)
        return Answers(Workload.of(list(some)))

    def setting(self, privacy: Privacy, slack: float, total: float) -> Setting:
        """What is public about the task, for so many rows."""
        drawn = self.generator == "linear_program"
        return setting_of(
            self.asked, privacy, len(self.queries), slack, total, self.cells if drawn else 0, self.synopses
        )

    def fit(
        self, places: NDArray[np.int64], noisy: NDArray[np.float64], made: BoostPlan, total: float
    ) -> NDArray[np.float64] | None:
        """A database that answers these questions within the tolerance: the first, or one near the best."""
        tolerance = made.tolerance / self.asked.denominator
        if self.generator == "linear_program":
            matrix = self._matrix[places]
            best = fit_program(matrix, noisy, tolerance, total)
            if best is None or not made.size:
                return best
            return drawn_database(matrix, best, made.size, made.apart, current_entropy())
        assert self._tables is not None
        fits = (np.abs(self._values[:, places] - noisy) <= tolerance).all(axis=1)
        return self._tables[int(np.argmax(fits))].astype(np.float64) if fits.any() else None

    def answers(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        """What a database answers to every question, in lattice steps."""
        if isinstance(self.asked, LowSensitivityAnswers):
            whole = np.rint(table).astype(np.int64)[None, :]
            return evaluate(self.domain, self.queries, whole)[0]
        return np.rint(self._matrix @ table * self.asked.denominator).astype(np.int64)


def setting_of(
    asked: Any, privacy: Privacy, distinct: int, slack: float, total: float, cells: int, synopses: float = inf
) -> Setting:
    """What is public about boosting for a statistic: what a plan reckons with, and what a release does.

    Args:
        asked: the answers to all questions, as a statistic (or a workload, which has the same norms).
        privacy: whom it protects.
        distinct: how many different questions there are.
        slack: by how many rows the total may be off.
        total: the number of rows.
        cells: |X| for the linear-program generator, else 0.
        synopses: the logarithm of how many databases the other one has.
    """
    d = asked.denominator
    one, each = Norms.query(d), Norms.nonnegative(d, d * d)
    if isinstance(asked, LowSensitivityAnswers):
        one = each = asked.one
    return Setting(
        distinct,
        privacy.sensitivity(one).l1,
        privacy.sensitivity(asked.norms).l2_squared,
        d,
        slack,
        synopses,
        privacy.sensitivity(each).l2_squared,
        cells,
        total,
    )


def _different(queries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The questions without repeats: D_1 is uniform over different ones, as the rounds are counted."""
    seen: dict[Any, Any] = {}
    for query in queries:
        seen.setdefault(key_of(query), query)
    return tuple(seen.values())


def _questions(domain: Domain, workload: Any) -> tuple[tuple[Any, ...], bool]:
    """The questions, and whether they are of the kind that is no sum over rows."""
    listed = isinstance(workload, Sequence) and not isinstance(workload, Workload) and len(workload)
    if listed and all(is_low_sensitivity(q) for q in workload):
        return tuple(workload), True
    return tuple(Workload.of(workload, domain)), False
