"""Sampling questions that synopses answer badly: the private step of boosting for queries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.curator.noise import selection
from hedgerow.curator.statistics.statistics import Answers, fingerprint, statistic
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.queries.low_sensitivity import LowSensitivity, is_low_sensitivity
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

_LARGEST = 1 << 40  # lattice steps of lambda and mu; with at most 2^16 rounds no sum passes 2^60
_ROUNDS = 1 << 16


@statistic
@dataclass(frozen=True)
class LowSensitivityAnswers:
    """The answers to questions that are no sums over rows, as one vector of whole numbers."""

    queries: tuple[LowSensitivity, ...]
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Only questions whose sensitivity is proven."""
        if not self.queries or not all(is_low_sensitivity(q) for q in self.queries):
            raise UnsupportedQuery("these questions are not on the list of those of proven low sensitivity")

    @property
    def norms(self) -> Norms:
        """Each moves on its own, so squares and sizes add up."""
        each = [q.norms for q in self.queries]
        return Norms(
            sum(n.l1 for n in each),
            sum(n.l2_squared for n in each),
            sum(n.replace_l1 for n in each),
            sum(n.replace_l2_squared for n in each),
        )

    @property
    def one(self) -> Norms:
        """How far a row moves the one that moves most."""
        return Norms(1, 1, max(q.norms.replace_l1 for q in self.queries), 4)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The tables needed."""
        return tuple(dict.fromkeys((q.attribute,) for q in self.queries))

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("low sensitivity", *(repr(q) for q in self.queries))

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Whole numbers, one per question."""
        counted = rows.tables(self.cliques)
        return np.array([int(q.values(counted[(q.attribute,)])) for q in self.queries], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BoostWeights:
    """Scores whose exponential mechanism samples from D_(t+1) of [DRV10] Fig. 1.

    With d_j the error of synopsis j on a question, mu a_j = clip(mu - 2 (d_j - lambda), -mu, mu) in lattice
    steps, and the score is -sum_j mu a_j, so that u = exp(-alpha sum_j a_j) = exp(alpha score / mu). When an
    answer moves by Delta each term moves by at most 2 Delta, and the score of t rounds by 2 t Delta (Claim
    4.4 has T where t is enough).

    Args:
        questions: what is asked.
        given: the synopses' answers, one array of lattice steps per earlier round.
        accurate: lambda, in lattice steps.
        gap: mu, in lattice steps.
    """

    questions: Answers | LowSensitivityAnswers
    given: tuple[NDArray[np.int64], ...]
    accurate: int
    gap: int

    def __post_init__(self) -> None:
        """Whole numbers within bounds; copies that nobody changes."""
        if type(self.questions) not in (Answers, LowSensitivityAnswers):
            raise UnsupportedQuery("boosting samples from a workload or from questions of low sensitivity")
        if type(self.accurate) is not int or type(self.gap) is not int:
            raise UnsupportedQuery("lambda and mu are whole numbers of lattice steps")
        if not 0 <= self.accurate < _LARGEST or not 1 <= self.gap < _LARGEST:
            raise UnsupportedQuery("lambda and mu are out of range")
        if not 1 <= len(self.given) <= _ROUNDS:
            raise UnsupportedQuery("there are no synopses to be judged yet, or too many")
        limit = 1 << 60
        frozen = tuple(np.clip(np.array(g, dtype=np.int64), -limit, limit) for g in self.given)
        for array in frozen:
            array.setflags(write=False)
        object.__setattr__(self, "given", frozen)

    def check(self, domain: Domain) -> None:
        """One answer of each synopsis for each question."""
        questions = self.questions
        number = len(questions.workload if isinstance(questions, Answers) else questions.queries)
        if any(g.shape != (number,) for g in self.given):
            raise UnsupportedQuery("each synopsis gives one answer for each question")
        cliques = questions.workload.cliques if isinstance(questions, Answers) else questions.cliques
        for clique in cliques:
            domain.order(clique)

    @property
    def norms(self) -> Norms:
        """2 t times what one answer moves."""
        asked = self.questions
        one = Norms.query(asked.denominator) if isinstance(asked, Answers) else asked.one
        f = 2 * len(self.given)
        return Norms(f * one.l1, f * f * one.l2_squared, f * one.replace_l1, f * f * one.replace_l2_squared)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        parts = (self.questions.digest, self.accurate, self.gap)
        return fingerprint("boost", *parts, *(g.tobytes() for g in self.given))

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Minus the sum over earlier synopses of how well each answers, for every question."""
        truth = self.questions.exact(rows)
        score = np.zeros(truth.shape, dtype=np.int64)
        for given in self.given:
            missed = np.minimum(np.abs(truth - given), 2 * _LARGEST)  # beyond lambda + mu nothing changes
            score -= np.clip(self.gap - 2 * (missed - self.accurate), -self.gap, self.gap)
        return score


def sampling_epsilon(curator: Curator, weights: BoostWeights, alpha: Fraction) -> Fraction:
    """What one question sampled from D_(t+1) costs: 2 alpha (2 t Delta) / mu."""
    return 2 * alpha * curator.privacy.sensitivity(weights.norms).l1 / weights.gap


def sample_questions(
    curator: Curator,
    weights: BoostWeights,
    alpha: Fraction,
    times: int,
    *,
    note: str = "",
    run: str | None = None,
) -> NDArray[np.int64]:
    """Questions drawn independently from D_(t+1), as places in the workload.

    Privacy: each draw is the exponential mechanism ([MT07] Thm 6) at epsilon = 4 alpha t Delta / mu, which is
    [DRV10] Claim 4.4; `times` of them are composed, and charged in the transaction that draws them.
    """
    weights.check(curator._domain)
    if type(times) is not int or times < 1:
        raise UnsupportedQuery("the number of sampled questions is a whole number above 0")
    sensitivity = curator.privacy.sensitivity(weights.norms).l1
    epsilon = sampling_epsilon(curator, weights, alpha)
    event = events.Repeat(events.Exponential(epsilon), times)

    def draw(scores: NDArray[np.int64]) -> list[NDArray[Any]]:
        return [selection.exponentials(scores, sensitivity, epsilon, times, curator._entropy)]

    question = f"boost:{weights.digest}:{event.to_json()!r}"
    found = curator._act(event, lambda: weights.exact(curator._rows), draw, question, note=note, run=run)
    return np.asarray(found[0], dtype=np.int64)
