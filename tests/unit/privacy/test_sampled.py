"""What a learner on samples from nearby distributions costs, by enumeration; what the source has wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import pytest

from hedgerow.privacy.sampled import sampled_base, sampled_loss

Law = dict[Any, Fraction]
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def power(law: Law, k: int) -> dict[tuple[Any, ...], Fraction]:
    """k independent rows."""
    found: dict[tuple[Any, ...], Fraction] = {}
    for rows in product(law, repeat=k):
        chance = Fraction(1)
        for row in rows:
            chance *= law[row]
        found[rows] = found.get(rows, Fraction(0)) + chance
    return found


def run(learner: Any, rows: Law, k: int) -> Law:
    out: Law = {}
    for sample, chance in power(rows, k).items():
        for said, p in learner(sample).items():
            out[said] = out.get(said, Fraction(0)) + chance * p
    return out


def delta_at(one: Law, two: Law, factor: Fraction) -> Fraction:
    """The larger of both ways: the mass of one beyond the factor times the other."""
    said = {*one, *two}
    zero = Fraction(0)
    ways = ((one, two), (two, one))
    return max(
        sum((max(zero, p.get(o, zero) - factor * q.get(o, zero)) for o in said), zero) for p, q in ways
    )


def shame(delta: Fraction) -> Any:
    """(0, delta)-DP: says yes with chance delta for every row that is 1."""
    return lambda sample: {"yes": delta * sum(sample), "no": 1 - delta * sum(sample)}


def response(delta: Fraction) -> Any:
    """(ln 3, delta)-DP: the first row by randomised response; or, with chance delta, that row itself."""

    def say(sample: tuple[int, ...]) -> Law:
        kept = Fraction(3, 4) * (1 - delta)
        return {"one" if sample[0] else "zero": kept, "zero" if sample[0] else "one": 1 - delta - kept} | {
            ("is", sample[0]): delta
        }

    return say


def majority(sample: tuple[int, ...]) -> Law:
    """(ln 4, 0)-DP: odds of 2^count for one against 2^(k - count) for zero."""
    ones = Fraction(2) ** sum(sample)
    whole = ones + Fraction(2) ** (len(sample) - sum(sample))
    return {"one": ones / whole, "zero": 1 - ones / whole}


CASES = [  # learner, e^epsilon, delta
    (shame(Fraction(1, 100)), Fraction(1), Fraction(1, 100)),
    (response(Fraction(0)), Fraction(3), Fraction(0)),
    (response(Fraction(1, 50)), Fraction(3), Fraction(1, 50)),
    (majority, Fraction(4), Fraction(0)),
]


def neighbours(sigma: Fraction) -> Any:
    """Laws of a row over 0 and 1, or with a third kind of row, at this distance."""
    yield {0: Fraction(1)}, {0: 1 - sigma, 1: sigma}
    yield {0: HALF + sigma / 2, 1: HALF - sigma / 2}, {0: HALF - sigma / 2, 1: HALF + sigma / 2}


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("sigma", [Fraction(1, 10), HALF, Fraction(1)])
def test_by_enumeration_the_theorem_covers_learners_with_and_without_a_delta(
    case: int, k: int, sigma: Fraction
) -> None:
    learner, factor, delta = CASES[case]
    epsilon = Fraction(log(factor)) + Fraction(1, 10**12) if factor > 1 else Fraction(0)
    loss, miss = sampled_loss(epsilon, delta, k, sigma)
    for one, two in neighbours(sigma):
        true = delta_at(run(learner, one, k), run(learner, two, k), Fraction(exp(loss)))
        assert true <= miss + Fraction(1, 10**12)


def test_the_pure_part_is_tight() -> None:
    """One sample, randomised response: the likelihood ratio is 1 + sigma (e^epsilon - 1); less is refuted."""
    sigma = TENTH
    one, two = ({0: Fraction(1)}, {0: 1 - sigma, 1: sigma})
    laws = run(response(Fraction(0)), one, 1), run(response(Fraction(0)), two, 1)
    loss, _ = sampled_loss(Fraction(log(3)), Fraction(0), 1, sigma)
    assert loss == pytest.approx(log(1 + 0.1 * 2), rel=1e-12)
    assert delta_at(*laws, Fraction(exp(loss)) * (1 + Fraction(1, 10**12))) == 0
    short, _ = sampled_loss(Fraction(log(3)), Fraction(0), 1, sigma / 2)  # half the distance
    assert delta_at(*laws, Fraction(exp(short))) > 0


@pytest.mark.parametrize(("k", "sigma"), [(5, Fraction(1)), (8, HALF)])
def test_lemma_6_5_is_refuted_for_learners_with_a_delta_and_ours_is_tight_there(
    k: int, sigma: Fraction
) -> None:
    """The source: (4 eps sigma k, delta (1 + e^(2 eps sigma k))), which is 2 delta at eps = 0."""
    delta = Fraction(1, 100)
    one, two = ({0: Fraction(1)}, {0: 1 - sigma, 1: sigma})
    true = delta_at(run(shame(delta), one, k), run(shame(delta), two, k), Fraction(1))
    assert true == sigma * k * delta
    assert true > 2 * delta  # what the lemma says
    assert sampled_loss(Fraction(0), delta, k, sigma)[1] == pytest.approx(float(true), rel=1e-12)


def test_formulas_are_those_of_the_page_rounded_up() -> None:
    for eps, delta, k, cap in ((0.5, 1e-6, 100, 1000), (3.0, 1e-4, 7, 20), (1e-3, 1e-9, 10_000, 10**6)):
        loss, miss = sampled_loss(Fraction(eps), Fraction(delta), k, Fraction(1, cap))
        step = log(1 + (exp(eps) - 1) / cap)
        assert loss == pytest.approx(k * step, rel=1e-9)
        assert miss == pytest.approx(delta / cap * (exp(k * step) - 1) / (exp(step) - 1), rel=1e-6)


def test_the_base_is_the_largest_that_the_price_buys() -> None:
    for epsilon, k, cap in ((Fraction(1), 10, 8), (TENTH, 500, 10_000), (Fraction(1, 10**6), 3, 10**9)):
        base = sampled_base(epsilon, k, Fraction(1, cap))
        assert sampled_loss(base, Fraction(0), k, Fraction(1, cap))[0] <= epsilon
        more = sampled_loss(base + Fraction(2, 1 << 40), Fraction(0), k, Fraction(1, cap))[0]
        assert more > epsilon


def test_wrong_numbers_are_refused() -> None:
    for wrong in ((-1, 0, 1, 1), (1, 1, 1, 1), (1, 0, 0, 1), (1, 0, 1, 0), (1, 0, 1, 2)):
        with pytest.raises(ValueError, match="a learner has"):
            sampled_loss(*map(Fraction, wrong))  # type: ignore[arg-type]
