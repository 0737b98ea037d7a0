"""The rounds of boosting for people: what is measured, in what order, and for what part of the price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, exp, expm1, floor, log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.smooth import MOST_ROUNDS, SmoothRound, weak_hypothesis
from hedgerow.curator.statistics.weighted import REACH, STEPS, WeightedSums
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.learning.learners.additive import Additive, sigmoid
from hedgerow.learning.learners.base_learner import BaseLearner, Evidence, Sums
from hedgerow.privacy.budget import Cost, gaussian_sigma, laplace_scale, selection_epsilon
from hedgerow.privacy.sampled import sampled_base
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE
from hedgerow.queries.strategies.column import LARGEST_FACTOR, Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST = Fraction(1, 5)  # of the price, for the counts of every class by every feature's levels
TEST = Fraction(1, 10)  # of a round's price in theorem mode, for the test whether to stop
_LARGEST = 1 << 20  # margin steps of one level
_CUTS = 256  # a stump looks at no more cuts of a feature
_SAMPLES = 1 << 15
_MOST_ROWS = 1 << 62


@dataclass(frozen=True)
class Problem:
    """What is to be learned: a declared class attribute from declared features.

    Args:
        domain: features and class.
        label: the class attribute.
    """

    domain: Domain
    label: str

    def __post_init__(self) -> None:
        """Refuse a domain without classes or without features."""
        attribute = self.domain[self.label]
        if not isinstance(attribute, Categorical) or len(attribute.values) < 2:
            raise DomainMismatch(f"the class {self.label!r} must be declared with two or more named levels")
        if len(self.domain) < 2:
            raise DomainMismatch("the domain declares no feature besides the class")

    @property
    def features(self) -> dict[str, Attribute]:
        """The declared features."""
        return {name: a for name, a in self.domain.items() if name != self.label}

    @property
    def classes(self) -> tuple[Any, ...]:
        """The declared classes."""
        return self.domain[self.label].values

    @property
    def leaves_out(self) -> bool:
        """Whether a row may have no class: `other` or missing is declared."""
        return self.domain[self.label].size > len(self.classes)

    @property
    def sides(self) -> list[NDArray[np.int64]]:
        """For each model the side of every level: one model for two classes, else one against the rest each.

        Declared `other` and missing levels of the class are no class: such rows are left out (-1).
        """
        size, proper = self.domain[self.label].size, len(self.classes)
        level = np.arange(size)
        targets = [1] if proper == 2 else range(proper)
        return [np.where(level >= proper, -1, (level == t).astype(np.int64)) for t in targets]


@dataclass(frozen=True, eq=False)
class Trained:
    """All that training released: for every class the models after each round."""

    stages: tuple[tuple[Additive, ...], ...]
    votes: bool = False  # whether margins are votes of hypotheses, not log-odds


# -- tuned --------------------------------------------------------------------------------


def tuned(curator: Curator, problem: Problem, learner: BaseLearner, price: Cost) -> Trained:
    """Boosting rounds whose weak learner sees noisy weighted counts only.

    FIRST of the price buys the (feature, class) tables; the rest is divided evenly over rounds, and a round's
    part evenly over the classes that are learned.
    """
    first, rest = price.split(FIRST, 1 - FIRST)
    sides = problem.sides
    drawable(curator, _largest(problem, learner), rest.share(Fraction(1, learner.rounds * len(sides))))
    courses = [learner.begin(e) for e in _evidence(curator, problem, first)]
    models = [course.first for course in courses]
    stages = [[model] for model in models]
    for number, part in enumerate(rest.split(*[1] * learner.rounds)):
        # REWEIGHT: v_i = |y_i - p(x_i)|, from the row itself and the released model
        asked = [
            _residuals(problem.label, side, model, course.columns(model))
            for side, model, course in zip(sides, models, courses, strict=True)
        ]
        # MEASURE
        measured = curator.measure_all(asked, part, note=f"boosting, round {number + 1}")
        # LEARN: post-processing
        for i, (sums, noisy) in enumerate(zip(asked, measured, strict=True)):
            values = [np.asarray(v) for v in sums.parts(noisy.counts)]
            seen = Sums(values, float(np.sqrt(noisy.noise.variance)), number)
            models[i] = courses[i].step(models[i], seen)
            stages[i].append(models[i])
    return Trained(tuple(tuple(s[1:]) for s in stages))


def drawable(curator: Curator, sums: WeightedSums, price: Cost, *, pure: bool = False) -> None:
    """Refuse a price for which a later act could not draw its noise, before an earlier one is charged."""
    sensitivity = curator.privacy.sensitivity(sums.norms)
    if pure or price.currency == "epsilon":
        laplace_scale(sensitivity.l1, price)
    else:
        gaussian_sigma(sensitivity.l2_squared, price)


def _largest(problem: Problem, learner: BaseLearner) -> WeightedSums:
    """What a round measures at most: every feature, and a constant, at the learner's largest factor."""
    said = getattr(learner, "largest", LARGEST_FACTOR)
    factor = said if type(said) is int and 1 <= said <= LARGEST_FACTOR else LARGEST_FACTOR
    levels = problem.domain[problem.label].size
    column = Column(problem.label, np.zeros(levels, dtype=np.int64), np.full(levels, factor))
    columns = [column] * (len(problem.features) + 1)
    return WeightedSums(problem.label, problem.sides[0], 0, {}, logistic_weights(), columns)


def _evidence(curator: Curator, problem: Problem, price: Cost) -> list[Evidence]:
    """The first act: every feature's table by class."""
    names = list(problem.features)
    tables = curator.measure_all([(f, problem.label) for f in names], price, note="boosting, first counts")
    evidence = []
    for side in problem.sides:
        counts = {}
        for name, table in zip(names, tables, strict=True):
            by_class = table.counts if table.attributes[0] == problem.label else table.counts.T
            counts[name] = np.stack([by_class[side == 0].sum(0), by_class[side == 1].sum(0)])
        extra = float(max((side == 0).sum(), 1) + 1) / 2.0  # side 0 adds up the noise of several classes
        evidence.append(Evidence(problem.features, counts, tables[0].noise.variance * extra))
    return evidence


def _residuals(label: str, side: NDArray[np.int64], model: Additive, columns: Any) -> WeightedSums:
    """sum_i (y_i - p_i) phi(x_i) as weights |y_i - p_i| and signs."""
    offset, tables = model.in_steps(STEPS, _LARGEST)
    return WeightedSums(label, side, offset, tables, logistic_weights(), tuple(columns))


@cache
def logistic_weights() -> NDArray[np.int64]:
    """|y - p| for y = 0 and y = 1 at every margin, on the lattice."""
    margins = np.arange(-REACH, REACH + 1) / STEPS
    return np.rint(np.stack([sigmoid(margins), sigmoid(-margins)]) * ONE).astype(np.int64)


# -- theorem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """The parameters of theorem mode, all public, and what its theorem then says.

    If every round's hypothesis has advantage eta on its distribution, the vote errs on at most
    max(l/m, exp(-2 eta^2 T)) of the training rows ([BCS20]; written out in docs/privacy/boosting.md).

    Args:
        gamma: the part of training rows that may be wrong.
        eta: the advantage over 1/2 that a weak hypothesis is assumed to have.
        rounds: T.
        rows: m.
        cap: l.
        samples: k.
        epsilon_base: of the weak learner.
        hypotheses: how many stumps there are.
        epsilon: of one round's choice, samples included.
        models: K, how many votes are trained.
    """

    gamma: float
    eta: float
    rounds: int
    rows: int
    cap: int
    samples: int
    epsilon_base: Fraction
    hypotheses: int
    epsilon: Fraction
    models: int = 1

    @classmethod
    def of(cls, gamma: float, eta: float, rows: int, price: Cost, hypotheses: int, models: int = 1) -> Terms:
        """T = ln(1/gamma) / (2 eta^2), l = gamma m, and as many samples as a round's price buys."""
        rounds = min(MOST_ROUNDS, max(1, ceil(log(1.0 / gamma) / (2.0 * eta * eta))))
        epsilon = selection_epsilon(price.share((1 - TEST) / rounds), bounded_range=False)
        return cls(gamma, eta, rounds, 0, 1, 1, Fraction(1, 2), hypotheses, epsilon, models)._at(rows)

    def _at(self, rows: int) -> Terms:
        """The same for another number of rows."""
        cap = max(1, min(int(self.gamma * rows), rows))
        # what the price buys at epsilon_base = 1/2, by the theorem of `privacy.sampled`
        samples = min(_SAMPLES, max(1, int(float(self.epsilon) / log1p(expm1(0.5) / cap))))
        base = min(Fraction(1, 2), sampled_base(self.epsilon, samples, Fraction(1, cap)))
        base = base or self.epsilon * cap / (4 * samples)  # a price below all lattices: e^x - 1 <= 4 x
        return replace(self, rows=rows, cap=cap, samples=samples, epsilon_base=base)

    @property
    def error(self) -> float:
        """The bound on the training error when every round has its advantage."""
        return max(self.cap / max(self.rows, 1), exp(-2.0 * self.eta**2 * self.rounds))

    @property
    def loss(self) -> float:
        """How far from the best stump on D_t every choice is at most, in 90% of fits.

        In 95% what the exponential mechanism loses on its sample [MT07], in 95% what k samples hide
        (Hoeffding, all stumps, rounds and votes at once).
        """
        many = log(self.hypotheses * self.rounds * self.models / 0.05)
        chosen = 2.0 * many / (float(self.epsilon_base) * self.samples)
        return chosen + 2.0 * sqrt(many / (2.0 * self.samples))

    @property
    def vacuous(self) -> bool:
        """Whether noise and sampling alone may eat the advantage, or half of the rows may be wrong."""
        return self.loss >= self.eta or self.error >= 0.5

    @property
    def rows_needed(self) -> int | None:
        """About how many rows the same budget needs before the theorem promises something; None: never."""
        low = high = max(self.rows, 1)
        while self._at(high).vacuous:
            if high > _MOST_ROWS:
                return None
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._at(middle).vacuous else (low, middle)
        return high


def theorem(
    curator: Curator, problem: Problem, gamma: float, eta: float, price: Cost
) -> tuple[Trained, list[Terms]]:
    """[DRV10] Fig. 2 with lazy smoothing [BCS20]: sample, choose a stump, test, reweight from scratch."""
    if problem.leaves_out:
        raise UnsupportedQuery(
            "theorem mode needs a class for every row: declare it without other and missing"
        )
    rows = curator.rows or 0
    candidates = {f: stumps(a) for f, a in problem.features.items()}
    offered = sum(len(c) for c in candidates.values())
    sides = problem.sides
    parts = price.split(*[1] * len(sides))
    terms = [Terms.of(gamma, eta, rows, part, offered, len(sides)) for part in parts]
    for side, term, part in zip(sides, terms, parts, strict=True):
        drawable(curator, _mistakes(problem.label, side, {}), part.share(TEST / term.rounds), pure=True)
    stages = [
        _vote(curator, problem.label, side, candidates, term, part)
        for side, term, part in zip(sides, terms, parts, strict=True)
    ]
    longest = max(map(len, stages))
    padded = [tuple(s) + (s[-1],) * (longest - len(s)) for s in stages]
    return Trained(tuple(padded), votes=True), terms


def _vote(
    curator: Curator,
    label: str,
    side: NDArray[np.int64],
    candidates: Mapping[str, NDArray[np.int64]],
    terms: Terms,
    price: Cost,
) -> list[Additive]:
    votes: dict[str, NDArray[np.int64]] = {}
    stages: list[Additive] = []
    alpha = 2.0 * terms.eta
    for t in range(terms.rounds):
        penalties = penalties_of(alpha, t)
        round_ = SmoothRound(
            label, side, votes, penalties, candidates, terms.cap, terms.samples, terms.epsilon_base
        )
        feature, chosen = weak_hypothesis(curator, round_, note=f"boosting for people, round {t + 1}")
        before = votes.get(feature, np.zeros(candidates[feature].shape[1], dtype=np.int64))
        votes = votes | {feature: before + candidates[feature][chosen]}
        stages.append(Additive(0.0, {f: v / (t + 1.0) for f, v in votes.items()}))
        wrong = curator.measure(
            _mistakes(label, side, votes), price.share(TEST / terms.rounds), noise="laplace", note="mistakes"
        )
        if float(wrong.counts[0]) <= terms.gamma / 2.0 * terms.rows:
            break
    return stages


def penalties_of(alpha: float, rounds: int) -> tuple[int, ...]:
    """U(c) = exp(-alpha c) for the margins -t .. t, as public whole numbers that never rise."""
    steps = [alpha * i / log(2.0) for i in range(2 * rounds + 1)]
    deep = ceil(steps[-1]) + 60  # enough bits that the smallest still has 60
    wholes = (floor(deep - s) for s in steps)
    values = (int(2.0 ** (deep - s - w + 52)) << (w - 52) for s, w in zip(steps, wholes, strict=True))
    return tuple(accumulate(values, min))  # rounding may not make them rise


def _mistakes(label: str, side: NDArray[np.int64], votes: Mapping[str, NDArray[np.int64]]) -> WeightedSums:
    """How many rows the vote gets wrong (a tie says side 0): a count, so it moves by one."""
    margin = np.arange(-REACH, REACH + 1)
    weights = np.stack([margin > 0, margin <= 0]).astype(np.int64) * ONE
    levels = len(side)
    everyone = Column(label, np.zeros(levels, dtype=np.int64), np.ones(levels, dtype=np.int64))
    return WeightedSums(label, side, 0, votes, weights, (everyone,), signed=False)


def stumps(attribute: Attribute) -> NDArray[np.int64]:
    """All stumps of an attribute, both ways round: below a cut, or one level; and the constants."""
    proper, size = len(attribute.values), attribute.size
    level = np.arange(size)
    if attribute.ordered:
        cuts = np.unique(np.linspace(1, max(proper - 1, 1), min(max(proper - 1, 1), _CUTS)).astype(np.int64))
        inside = np.stack([level < c for c in cuts] + [level == e for e in range(proper, size)])
    else:
        chosen = np.unique(np.linspace(0, size - 1, min(size, _CUTS)).astype(np.int64))
        inside = np.stack([level == c for c in chosen])
    one = np.concatenate([np.where(inside, 1, -1), np.ones((1, size), dtype=np.int64)])
    return np.concatenate([one, -one]).astype(np.int64)
