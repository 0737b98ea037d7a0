"""BoostQueries: synopses that are right on most questions, boosted until their median is right on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import current_entropy, uniform_below
from hedgerow.curator.statistics.boosting import BoostWeights, LowSensitivityAnswers, sample_questions
from hedgerow.curator.statistics.statistics import Answers
from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.fitting_database import evaluate
from hedgerow.learning.generators.base_generator import BaseGenerator, Generated, Generating, SampledAnswers
from hedgerow.learning.generators.enumeration import Enumeration
from hedgerow.learning.generators.linear_program import LinearProgram
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
    sampling, and lambda alone. The generator sees noisy answers and dice only: post-processing, free. One of
    one's own follows the protocol of `learning.generators.base_generator`.

    Args:
        beta: how often the accuracy may fail.
        generator: `linear_program` (counting queries, Thm 5.3), `enumeration` (any question of low
            sensitivity, Thm 5.2, tiny universes), `auto`, or a `BaseGenerator` of one's own.
        samples: k; chosen to make lambda + mu small if None; as many as there are questions measures all.
        rounds: T; what Claim 4.3 needs if None.
        gap: mu, in rows; chosen if None.
    """

    beta: float = 0.05
    generator: Literal["auto", "linear_program", "enumeration"] | BaseGenerator = "auto"
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
        price = self._priced(curator)
        task = _Task(domain, _different(queries), low, self.generator)
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
        if isinstance(self.generator, str) or not isinstance(self.generator, BaseGenerator):
            one_of("generator", self.generator, "auto", *_GENERATORS)
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
    ) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64] | None], int]:
        """Fig. 1: sample from D_t, run the base generator, reweight; count the rounds without a fit."""
        given: list[NDArray[np.int64]] = []
        tables: list[NDArray[np.float64] | None] = []
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
            found = task.generated(seen, noisy.counts, made, total, t)
            failed += found is None
            found = task.uniform(total) if found is None else found
            tables.append(found.table)
            given.append(np.rint(found.answers * task.asked.denominator).astype(np.int64))
        return given, tables, failed

    def _sign(
        self,
        curator: Curator,
        task: _Task,
        made: BoostPlan,
        price: Cost,
        size: tuple[float, float],
        tables: list[NDArray[np.float64] | None],
        given: list[NDArray[np.int64]],
        failed: int,
    ) -> BoostedSynopsis:
        signed = self._signed(curator, price)
        total, slack = size
        unit = task.asked.denominator
        proven = not failed and made.proven and unreached(made, len(task.queries)) == 0.0
        error = made.error / unit
        signed.parameters.update(
            generator=task.name,
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
        held = [table for table in tables if table is not None]
        histograms = np.stack(held) if len(held) == len(tables) else None  # not every synopsis is a database
        trivial = max(total, 1.0) + slack + 1.0  # both the truth and the answer lie between 0 and this
        bound = min(error, trivial) if proven else trivial
        sure = 1.0 - self.beta
        return BoostedSynopsis(
            task.domain, signed, task.queries, values, histograms, bound, sure, total, failed, bound >= total
        )


_GENERATORS: dict[str, BaseGenerator] = {"linear_program": LinearProgram(), "enumeration": Enumeration()}
_SOLVED = 1e-6  # of the rows: how far a solver may miss what it says it met


class _Task:
    """One workload and one generator: what is asked, what is generated, and whether that fits."""

    def __init__(
        self, domain: Domain, queries: tuple[Any, ...], low: bool, generator: str | BaseGenerator
    ) -> None:
        self.asked = LowSensitivityAnswers(queries) if low else Answers(Workload.of(list(queries)))
        for clique in self.asked.cliques if low else self.asked.workload.cliques:  # type: ignore[union-attr]
            domain.order(clique)
        if generator == "auto":
            generator = "enumeration" if low else "linear_program"
        own = not isinstance(generator, str)
        self.name: str = type(generator).__name__ if own else str(generator)
        self.domain, self.queries, self.cells = domain, queries, int(domain.size)
        self.synopses = inf
        begun = generator if isinstance(generator, BaseGenerator) else _GENERATORS[str(generator)]
        self._generating: Generating = begun.begin(domain, queries)

    def prepare(self, rows: int) -> None:
        """Among how many synopses the generator chooses; it refuses more rows than it can work with."""
        self.synopses = float(number("a generator's range", self._generating.range(rows)))

    def part(self, places: NDArray[np.int64]) -> Any:
        """The statistic of some of the questions."""
        some = tuple(self.queries[i] for i in places)
        if isinstance(self.asked, LowSensitivityAnswers):
            return LowSensitivityAnswers(some)
        return Answers(Workload.of(list(some)))

    def setting(self, privacy: Privacy, slack: float, total: float) -> Setting:
        """What is public about the task, for so many rows."""
        cells = self.cells if self._generating.draws else 0
        return setting_of(self.asked, privacy, len(self.queries), slack, total, cells, self.synopses)

    def generated(
        self,
        places: NDArray[np.int64],
        noisy: NDArray[np.float64],
        made: BoostPlan,
        total: float,
        number: int,
    ) -> Generated | None:
        """A synopsis that was looked at: it answers what was sampled within the tolerance; or none."""
        tolerance = made.tolerance / self.asked.denominator
        sample = SampledAnswers(places, noisy, tolerance, total, number, made.size, made.apart)
        found = self._generating.generate(sample)
        if found is None:
            return None
        answers = np.asarray(found.answers, dtype=np.float64)
        table = None if found.table is None else np.asarray(found.table, dtype=np.float64)
        whole = table is None or (table.shape == (self.cells,) and bool((table >= 0).all()))
        if answers.shape != (len(self.queries),) or not np.isfinite(answers).all() or not whole:
            raise UnsupportedQuery(
                "a generator returns a finite answer for every question, and a table over all cells or none"
            )
        if not isinstance(self.asked, LowSensitivityAnswers):
            answers = np.clip(answers, 0.0, total)  # where the truth is, whatever a generator says
        off = np.abs(answers[places] - noisy).max(initial=0.0)
        return Generated(answers, table) if off <= tolerance + (made.apart + _SOLVED) * total else None

    def uniform(self, total: float) -> Generated:
        """What stands in for a synopsis that does not fit: as many rows of every kind."""
        table = np.full(self.cells, total / self.cells)
        if isinstance(self.asked, LowSensitivityAnswers):
            answers = evaluate(self.domain, self.queries, np.rint(table).astype(np.int64)[None, :])[0]
            return Generated(answers.astype(np.float64), table)
        shapes = self.domain.shape_of
        even = self.asked.workload.evaluate(
            lambda names: np.full(shapes(names), total / self.domain.cells(names))
        )
        return Generated(even, table)


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
