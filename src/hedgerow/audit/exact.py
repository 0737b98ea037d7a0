"""Exact audits: enumerate what a small integer mechanism may output, and compute its true epsilon.

Probabilities are computed to 60 digits from sums and products of positive numbers; the few differences lose
no more than ten. So every epsilon below is within 1e-40 of the truth, far inside the `SLACK` that is stated.
The parameters come from the real code: noise scales from the curator's calibration, exponents and digits
from the samplers' own arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import comb, inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise import selection
from hedgerow.curator.noise.noisy_max import NoisyMaxLaw, noisy_max_scale
from hedgerow.curator.runs.sparse_vector_plan import SparseVectorPlan

if TYPE_CHECKING:
    from hedgerow.curator.rows.table import Rows
    from hedgerow.curator.statistics.small_range import SmallRange

D = Context(prec=60, rounding=ROUND_HALF_EVEN)
SLACK = 1e-12
Law = Mapping[Hashable, Decimal]

_ONE = Decimal(1)


def epsilon_between(p: Law, q: Law) -> float:
    """The smallest epsilon for which two output laws are within e^epsilon of each other, both ways.

    >>> often, seldom = Decimal("0.75"), Decimal("0.25")
    >>> round(epsilon_between({0: often, 1: seldom}, {0: seldom, 1: often}), 6)
    1.098612
    """
    worst = Decimal(0)
    for outcome in {*p, *q}:
        one, two = p.get(outcome, Decimal(0)), q.get(outcome, Decimal(0))
        if not one and not two:
            continue
        if not one or not two:
            return inf
        worst = max(worst, abs(D.ln(D.divide(one, two))))
    return float(worst)


def delta_between(p: Law, q: Law, epsilon: float) -> float:
    """The smallest delta for an epsilon: the mass of p beyond e^epsilon q, the larger of both ways."""
    factor = D.exp(Decimal(epsilon))

    def one_way(x: Law, y: Law) -> Decimal:
        gaps = (D.subtract(v, D.multiply(factor, y.get(o, Decimal(0)))) for o, v in x.items())
        total = Decimal(0)
        for gap in gaps:
            total = D.add(total, max(gap, Decimal(0)))
        return total

    return float(max(one_way(p, q), one_way(q, p)))


@lru_cache(maxsize=1 << 17)
def _power(p: int, q: int) -> Decimal:
    """e^(-p/q)."""
    return D.exp(D.divide(Decimal(-p), Decimal(q)))


# ---- discrete Laplace ------------------------------------------------------------------------------------


def laplace(value: int, scale: Fraction, window: range) -> Law:
    """value + discrete Laplace noise on a window; the two tails beyond it are one outcome each.

    Beyond both data sets' values the likelihood ratio is constant, so a window that contains them and one
    step more on each side loses nothing.
    """
    a, b = scale.numerator, scale.denominator
    step = _power(b, a)
    norm = D.divide(D.subtract(_ONE, step), D.add(_ONE, step))
    law: dict[Hashable, Decimal] = {z: D.multiply(norm, _power(abs(z - value) * b, a)) for z in window}
    left, right = value - window.start + 1, window.stop - value
    for name, distance in (("below", left), ("beyond", right)):
        if distance < 1:
            raise ValueError("the window must contain the value")
        law[name] = D.divide(_power(distance * b, a), D.add(_ONE, step))
    return law


def laplace_epsilon(first: Sequence[int], second: Sequence[int], scale: Fraction) -> float:
    """The true epsilon of independent discrete Laplace noise on two neighbouring vectors."""
    total = 0.0
    for x, y in zip(first, second, strict=True):
        window = range(min(x, y) - 1, max(x, y) + 2)
        total += epsilon_between(laplace(x, scale, window), laplace(y, scale, window))
    return total


# ---- choices and randomised response ---------------------------------------------------------------------


def _coins(scores: Sequence[int], sensitivity: Fraction, epsilon: Fraction) -> list[Decimal]:
    """Each candidate's coin e^(-rate gap), with rate and gaps as the sampler computes them."""
    exponents, q = selection._exponents(np.array(scores, dtype=np.int64), sensitivity, epsilon)
    return [_power(int(p), q) for p in exponents]


def exponential(scores: Sequence[int], sensitivity: Fraction, epsilon: Fraction) -> Law:
    """The exponential mechanism's choice: a uniform candidate, kept by its coin, until one is kept."""
    coins = _coins(scores, sensitivity, epsilon)
    total = _sum(coins)
    return {i: D.divide(w, total) for i, w in enumerate(coins)}


def permute_and_flip(scores: Sequence[int], sensitivity: Fraction, epsilon: Fraction) -> Law:
    """Permute-and-flip's choice: uniform among the candidates whose coin is true."""
    coins = _coins(scores, sensitivity, epsilon)
    law: dict[Hashable, Decimal] = {}
    for i, own in enumerate(coins):
        others = coins[:i] + coins[i + 1 :]
        heads = _sum_of_coins(others, [D.subtract(_ONE, w) for w in others])
        law[i] = D.multiply(own, _sum([D.divide(h, Decimal(k + 1)) for k, h in enumerate(heads)]))
    # If the best candidate's coin is 1 the law is complete: some coin is always true.
    return law


def report_noisy_max(
    scores: Sequence[int], sensitivity: Fraction, epsilon: Fraction, law: NoisyMaxLaw = "exponential"
) -> Law:
    """Report-noisy-max's choice, by its definition: the largest noisy score, a uniform one of those that tie.

    Sums over the largest noisy score, up to where less than 1e-55 is left; the rest is added to no outcome.
    """
    b = noisy_max_scale(sensitivity, epsilon)
    reach = int(130 * b) + 1
    found: dict[Hashable, Decimal] = {}
    for top in range(max(scores) - (reach if law == "laplace" else 0), max(scores) + reach + 1):
        here = [_mass(top - u, b, law) for u in scores]
        below = [D.subtract(_ONE, _beyond(top - u, b, law)) for u in scores]
        for i in range(len(scores)):
            others = [j for j in range(len(scores)) if j != i]
            tied = _sum_of_coins([here[j] for j in others], [below[j] for j in others])
            shared = _sum([D.divide(p, Decimal(k + 1)) for k, p in enumerate(tied)])
            found[i] = D.add(found.get(i, Decimal(0)), D.multiply(here[i], shared))
    return found


def _beyond(t: int, scale: Fraction, law: NoisyMaxLaw) -> Decimal:
    """P(noise >= t)."""
    if law == "laplace":
        return _tail(t, scale)
    return _power(max(t, 0) * scale.denominator, scale.numerator)


def _mass(t: int, scale: Fraction, law: NoisyMaxLaw) -> Decimal:
    """P(noise = t)."""
    return D.subtract(_beyond(t, scale, law), _beyond(t + 1, scale, law))


def _sum_of_coins(yes: Sequence[Decimal], no: Sequence[Decimal]) -> list[Decimal]:
    """How likely it is that so many of independent coins say yes, the others no, and none anything else."""
    out = [_ONE]
    for p, q in zip(yes, no, strict=True):
        padded = [Decimal(0), *out, Decimal(0)]
        out = [D.add(D.multiply(padded[k + 1], q), D.multiply(padded[k], p)) for k in range(len(out) + 1)]
    return out


def randomized_response(code: int, levels: int, epsilon: Fraction) -> Law:
    """One randomised code, from the binary digits that the sampler compares with."""
    bits = 300
    keep = D.divide(Decimal(selection._keep_digits(epsilon, levels, bits)), Decimal(2**bits))
    other = D.divide(D.subtract(_ONE, keep), Decimal(levels - 1))
    return {level: keep if level == code else other for level in range(levels)}


# ---- sparse vector ---------------------------------------------------------------------------------------


def above_threshold(values: Sequence[int], plan: SparseVectorPlan) -> Law:
    """The law of the place of the first "above" (the stream's length: none), for a run that stops there.

    Sums over the threshold's noise up to where less than 1e-55 is left; the rest is added to no outcome.
    """
    return dict(enumerate(_first_above(tuple(values), plan)))


@lru_cache(maxsize=1 << 10)
def _first_above(values: tuple[int, ...], plan: SparseVectorPlan) -> tuple[Decimal, ...]:
    places = [Decimal(0)] * (len(values) + 1)
    for z, left in _thresholds(plan):
        for i, q in enumerate(values):
            above, below = _sides(plan.threshold + z - q, plan)
            places[i] = D.add(places[i], D.multiply(left, above))
            left = D.multiply(left, below)
        places[-1] = D.add(places[-1], left)
    return tuple(places)


def sparse(values: Sequence[int], plan: SparseVectorPlan) -> Law:
    """The law of all places of "above" of a run with up to `plan.count` of them, with Laplace noise."""
    if not plan.refreshed:
        return _sparse_once(tuple(values), plan)
    law: dict[Hashable, Decimal] = {}
    _restart(tuple(values), 0, plan.count, (), _ONE, plan, law)
    return law


def _restart(
    values: tuple[int, ...],
    start: int,
    left: int,
    places: tuple[int, ...],
    weight: Decimal,
    plan: SparseVectorPlan,
    law: dict[Hashable, Decimal],
) -> None:
    """Every "above" begins a new AboveThreshold on the rest of the stream."""
    if left == 0 or start == len(values):
        law[places] = D.add(law.get(places, Decimal(0)), weight)
        return
    for place, p in above_threshold(values[start:], plan).items():
        at = start + int(place)  # type: ignore[call-overload]
        found = (*places, at) if at < len(values) else places
        after = at + 1 if at < len(values) else at
        _restart(
            values, after, left - 1 if at < len(values) else left, found, D.multiply(weight, p), plan, law
        )


def _sparse_once(values: tuple[int, ...], plan: SparseVectorPlan) -> Law:
    """One threshold for all: given it, the comparisons are independent."""
    law: dict[Hashable, Decimal] = {}
    for z, mass in _thresholds(plan):
        paths: dict[tuple[int, ...], Decimal] = {(): mass}
        for i, q in enumerate(values):
            above, below = _sides(plan.threshold + z - q, plan)
            grown: dict[tuple[int, ...], Decimal] = {}
            for places, weight in paths.items():
                if len(places) == plan.count:
                    grown[places] = weight
                    continue
                grown[(*places, i)] = D.multiply(weight, above)
                grown[places] = D.multiply(weight, below)
            paths = grown
        for places, weight in paths.items():
            law[places] = D.add(law.get(places, Decimal(0)), weight)
    return law


def _thresholds(plan: SparseVectorPlan) -> Iterator[tuple[int, Decimal]]:
    """The threshold's noise and how likely it is, up to where less than 1e-55 is left."""
    b, far = plan.threshold_scale, int(130 * plan.threshold_scale) + 1
    step, never_negative = _power(b.denominator, b.numerator), plan.family == "geometric"
    rest = D.subtract(_ONE, step)
    norm = rest if never_negative else D.divide(rest, D.add(_ONE, step))
    for z in range(0 if never_negative else -far, far + 1):
        yield z, D.multiply(norm, _power(abs(z) * b.denominator, b.numerator))


def _sides(t: int, plan: SparseVectorPlan) -> tuple[Decimal, Decimal]:
    """P(nu >= t) and P(nu < t) of a question's noise."""
    if plan.question_family == "geometric":
        above = _beyond(t, plan.query_scale, "exponential")
        return above, D.subtract(_ONE, above)
    return _tail(t, plan.query_scale), _tail(1 - t, plan.query_scale)


@lru_cache(maxsize=1 << 17)
def _tail(t: int, scale: Fraction) -> Decimal:
    """P(nu >= t); by symmetry P(nu < t) is P(nu >= 1 - t)."""
    step = _power(scale.denominator, scale.numerator)
    if t >= 1:
        return D.divide(_power(t * scale.denominator, scale.numerator), D.add(_ONE, step))
    rest = D.divide(_power((1 - t) * scale.denominator, scale.numerator), D.add(_ONE, step))
    return D.subtract(_ONE, rest)


def _sum(numbers: Sequence[Decimal]) -> Decimal:
    total = Decimal(0)
    for number in numbers:
        total = D.add(total, number)
    return total


# ---- any small mechanism ---------------------------------------------------------------------------------


def law_of(run: Callable[..., Any], *draws: Law) -> Law:
    """The exact law of a function of independent draws, by running it on all combinations.

    Args:
        run: takes one value per draw, returns an outcome.
        draws: the law of each draw.

    >>> coin = {0: Decimal("0.5"), 1: Decimal("0.5")}
    >>> law_of(lambda x, y: x + y, coin, coin)[1]
    Decimal('0.50')
    """
    law: dict[Hashable, Decimal] = {}
    for values in product(*(d.items() for d in draws)):
        weight = _ONE
        for _, probability in values:
            weight = D.multiply(weight, probability)
        outcome = run(*(v for v, _ in values))
        law[outcome] = D.add(law.get(outcome, Decimal(0)), weight)
    return law


# ---- small databases -------------------------------------------------------------------------------------


def small_range(candidates: SmallRange, rows: Rows, sensitivity: Fraction, epsilon: Fraction) -> Law:
    """The law of SmallDB's choice, over multisets of kinds of cells that the queries tell apart.

    Scores are worked out here from the definition, one database at a time, not by the sampler's own passes.
    """
    known = candidates.incidence(rows.domain)
    workload = candidates.workload
    queries = [workload[i] for i in known.first]
    truth = [int(q.apply(rows.tables([q.attributes])[q.attributes])) for q in queries]
    weights: dict[Hashable, Decimal] = {}
    rate = Fraction(epsilon) / (2 * Fraction(sensitivity))
    for y in combinations_with_replacement(range(len(known.member)), candidates.size):
        held = known.member[list(y)].sum(axis=0)
        far = max(
            abs(candidates.size * f - candidates.total * int(s)) for f, s in zip(truth, held, strict=True)
        )
        number = prod(comb(known.cells[e] + y.count(e) - 1, y.count(e)) for e in set(y))
        x = rate * far
        weights[y] = D.multiply(Decimal(number), _power(x.numerator, x.denominator))
    total = _sum(list(weights.values()))
    return {y: D.divide(w, total) for y, w in weights.items()}
