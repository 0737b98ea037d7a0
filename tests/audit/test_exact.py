"""Exact enumeration gives the true epsilon of small integer mechanisms, to 1e-12."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import mpmath
import pytest

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.audit.neighbours import DOMAIN, neighbouring_answers, neighbouring_tables
from hedgerow.audit.rehearsal import Rehearsal
from hedgerow.curator.runs.sparse_vector_plan import plan
from hedgerow.curator.statistics.statistics import TableOf
from hedgerow.privacy.budget import Cost

EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(4)]
CLOSE = 1e-12
PRECISE = 50


def close(found: float, true: object) -> bool:
    return abs(mpmath.mpf(found) - true) < CLOSE * (1 + abs(true))


def whole(law: exact.Law) -> bool:
    """Whether the probabilities sum to one."""
    return abs(exact.D.subtract(exact._sum(list(law.values())), Decimal(1))) < Decimal("1e-50")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_curators_own_calibration_of_a_table_has_exactly_its_epsilon(epsilon, relation, rows):
    one, two = neighbouring_tables(relation, rows)[0]
    tables, laws = [], []
    for world in (one, two):
        curator = world.curator(hr.Budget(epsilon=epsilon), Rehearsal)
        stat = TableOf(DOMAIN.names)
        law, event = curator._law(stat, curator.price(epsilon), "laplace")
        tables.append([int(x) for x in stat.exact(curator._rows).ravel()])
        laws.append((law.scale, event.epsilon))
    assert laws[0] == laws[1]
    found = exact.laplace_epsilon(*tables, laws[0][0])
    assert close(found, mpmath.mpf(laws[0][1].numerator) / laws[0][1].denominator)
    assert found <= float(epsilon) + CLOSE


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_noise_that_is_drawn_is_the_noise_that_is_charged(noise):
    for relation in ("add_remove", "replace"):
        world = neighbouring_tables(relation, 3)[0][0]
        curator = world.curator(hr.Budget(epsilon=1, delta=1e-2), Rehearsal)
        law, event = curator._law(TableOf(DOMAIN.names), curator.price(1), noise)
        assert law.scale == (event.scale if noise == "laplace" else event.sigma)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_probabilities_sum_to_one_and_give_shift_over_scale(epsilon):
    law = exact.laplace(2, 1 / epsilon, range(-5, 6))
    assert whole(law)
    for shift in (0, 1, 2, 7):
        assert close(exact.laplace_epsilon([0], [shift], 1 / epsilon), shift * mpmath.mpf(float(epsilon)))


CASES = [([0, 0, 0], [1, -1, -1]), ([0, 3, 7], [1, 2, 6]), ([5, 5, 4, 0], [4, 6, 5, 1]), ([0, 99], [1, 98])]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_choices_have_the_true_epsilon_of_their_definition(epsilon, case):
    with mpmath.workdps(PRECISE):
        for mechanism, define in (
            (exact.exponential, _exponential),
            (exact.permute_and_flip, _permute_and_flip),
        ):
            laws = [mechanism(s, Fraction(1), epsilon) for s in CASES[case]]
            truth = [define(s, mpmath.mpf(epsilon.numerator) / epsilon.denominator) for s in CASES[case]]
            true = max(abs(mpmath.log(p / q)) for p, q in zip(*truth, strict=True))
            found = exact.epsilon_between(*laws)
            assert close(found, true)
            assert found <= float(epsilon) + CLOSE
            assert whole(laws[0])


def _weights(scores, epsilon):
    return [mpmath.exp(-epsilon * (max(scores) - u) / 2) for u in scores]


def _exponential(scores, epsilon):
    weights = _weights(scores, epsilon)
    return [w / mpmath.fsum(weights) for w in weights]


def _permute_and_flip(scores, epsilon):
    weights = _weights(scores, epsilon)
    orders = list(permutations(range(len(scores))))
    law = [mpmath.mpf(0)] * len(scores)
    for order in orders:
        left = mpmath.mpf(1) / len(orders)
        for i in order:
            law[i] += left * weights[i]
            left *= 1 - weights[i]
    return law


def test_the_worst_neighbours_of_a_choice_use_all_of_epsilon():
    for mechanism in (exact.exponential, exact.permute_and_flip):
        laws = [mechanism(s, Fraction(1), Fraction(1)) for s in ([0, 99, 99], [1, 98, 98])]
        assert 1 - 1e-12 < exact.epsilon_between(*laws) <= 1 + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_randomised_response_has_exactly_its_epsilon(epsilon, levels):
    laws = [exact.randomized_response(code, levels, epsilon) for code in (0, levels - 1)]
    assert close(exact.epsilon_between(*laws), mpmath.mpf(float(epsilon)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_above_threshold_on_five_questions_keeps_its_claim_and_uses_most_of_it(epsilon):
    made = plan("above_threshold", Cost("epsilon", epsilon), Fraction(2), 0, 2)
    found = []
    for p, q in neighbouring_answers(5, step=2, levels=(0, 12)):
        laws = [exact.above_threshold(values, made) for values in (p, q)]
        assert whole(laws[0])
        found.append(exact.epsilon_between(*laws))
    assert max(found) <= float(epsilon) + CLOSE
    assert max(found) >= 0.7 * float(epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(4)])
@pytest.mark.parametrize("method", ["sparse", "sparse_once"])
def test_sparse_on_six_questions_keeps_its_claim_and_uses_half_of_it(method, epsilon):
    made = plan(method, Cost("epsilon", epsilon), Fraction(1), 0, 1, count=2)
    found = []
    for p, q in neighbouring_answers(6, levels=(6,)):
        laws = [exact.sparse(values, made) for values in (p, q)]
        assert whole(laws[0])
        found.append(exact.epsilon_between(*laws))
    assert 0.5 * float(epsilon) < max(found) <= float(epsilon) + CLOSE


def test_above_threshold_without_the_factor_two_on_questions_would_be_caught():
    """The same enumeration, on half the question noise, exceeds the claim."""
    made = plan("above_threshold", Cost("epsilon", 1), Fraction(2), 0, 2)
    event = made.event
    halved = type(event)(event.sensitivity, event.threshold_scale, event.query_scale / 2)
    broken = type(made)(made.method, halved, made.threshold, made.denominator)
    laws = [
        exact.above_threshold(values, broken) for values in neighbouring_answers(5, step=2, levels=(12,))[1]
    ]
    assert exact.epsilon_between(*laws) > 1.2


def test_any_small_mechanism_can_be_enumerated():
    coin = {0: Decimal("0.25"), 1: Decimal("0.75")}
    law = exact.law_of(lambda x, y: x + y, coin, coin)
    assert law == {0: Decimal("0.0625"), 1: Decimal("0.3750"), 2: Decimal("0.5625")}
    assert exact.delta_between({0: Decimal(1)}, {1: Decimal(1)}, 3.0) == 1.0
    assert exact.epsilon_between({0: Decimal(1)}, {1: Decimal(1)}) == float("inf")
