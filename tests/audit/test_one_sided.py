"""The one-sided sparse vector, enumerated: its loss lies in the interval that is paid for, and fills it.

Probabilities have 80 digits or more and no truncation; the losses are exact to far more than `CLOSE`.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from math import log, sqrt

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.audit import one_sided as audit
from hedgerow.audit.rehearsal import World
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.one_sided import OneSidedPlan, ask_both, plan
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.sparse_vector_event import OneSidedSparseVector
from hedgerow.queries.query import ONE
from sizes import size

STREAMS = size(2000, 20_000)
CLOSE = 1e-12
SIDES = ("over", "under")


def made_of(sensitivity, b1, b2, threshold=0, denominator=1, side="over") -> OneSidedPlan:
    event = OneSidedSparseVector(sensitivity, b1, b2)
    return OneSidedPlan("one_sided", event, threshold, denominator, side)


def ends(made: OneSidedPlan) -> tuple[float, float]:
    """The theorem's interval for ln(P/P'), P' the law of the larger values."""
    e = made.event
    return -float(e.sensitivity / e.query_scale), float(e.epsilon)


# ---- the law itself ---------------------------------------------------------------------------------------


def brute(values, made) -> list[Decimal]:
    """The same law summed over the threshold's noise term by term."""
    D, b1, b2 = exact.D, made.threshold_scale, made.query_scale
    power = lambda t, b: D.exp(D.divide(Decimal(-t * b.denominator), Decimal(b.numerator)))  # noqa: E731
    places = [Decimal(0)] * (len(values) + 1)
    for z in range(int(130 * b1) + max(0, *values) + 2):
        left = D.multiply(D.subtract(Decimal(1), power(1, b1)), power(z, b1))
        for i, v in enumerate(values):
            above = power(max(0, made.threshold + z - v), b2)
            places[i] = D.add(places[i], D.multiply(left, above))
            left = D.multiply(left, D.subtract(Decimal(1), above))
        places[-1] = D.add(places[-1], left)
    return places


@pytest.mark.parametrize("scales", [(1, 1), (Fraction(5, 2), Fraction(7, 3)), (4, Fraction(1, 2))])
def test_the_closed_form_is_the_sum_over_the_noise(scales):
    rng = np.random.default_rng(3)
    for _ in range(5):
        made = made_of(1, *scales, threshold=int(rng.integers(-3, 4)))
        values = rng.integers(-8, 9, size=4).tolist()
        for one, two in zip(audit.law(values, made).values(), brute(values, made), strict=True):
            assert abs(one - two) < Decimal("1e-50")


def test_probabilities_sum_to_one_on_the_finest_lattice_and_the_longest_stream():
    made = plan(Cost("rho", Fraction(1, 8)), Fraction(3 * ONE), 3, ONE)
    rng = np.random.default_rng(4)
    for values in (rng.integers(-9 * ONE, 9 * ONE, size=audit.LONGEST), [4 * ONE] * audit.LONGEST):
        law = audit.law(values, made)
        assert abs(sum(law.values()) - 1) < Decimal("1e-25")
        assert min(law.values()) > 0


def test_real_runs_follow_the_enumerated_law():
    """Pearson's statistic of 8000 draws against the exact law, each: a false alarm has less than 1e-6.

    This ties the sampler to what is enumerated: halved scales, threshold noise of both signs, or a side that
    is swapped are far outside.
    """
    rng = hr.testing.seeded(7)
    for side in SIDES:
        guard = World.of(audit.DOMAIN, [(0, 0)] * 4, [], "add_remove", 1).curator(hr.Budget(epsilon=1))
        run = guard.one_sided(2, 1, side=side, denominator=1)
        queries = [hr.Query.where(audit.DOMAIN, {"a": a}) for a in (0, 1, 0, 2)]
        estimates = [4.0, 1.0, 2.0, -2.0] if side == "over" else [4.0, -1.0, 6.0, 3.0]
        stream = list(zip(queries, estimates, strict=True))
        world = World.of(audit.DOMAIN, [(0, 0)] * 4, [], "add_remove", 1)
        values = np.array(audit.values_of(world, stream, run.plan))
        size = 8000
        seen = np.zeros(len(values) + 1)
        for _ in range(size):
            _, places, _, _ = advance(run.plan, begin(run.plan, rng), values, rng)
            seen[places[0] if places.size else len(values)] += 1
        wanted = size * np.array([float(p) for p in audit.law(values.tolist(), run.plan).values()])
        assert wanted.min() > 20
        assert ((seen - wanted) ** 2 / wanted).sum() < 40  # chi-square with 4 degrees: P < 1e-7


def test_a_real_pair_of_runs_follows_the_law_of_two_independent_runs():
    """The joint door: where and on which side fresh pairs trip; each cell within 5.5 standard errors."""
    world = World.of(audit.DOMAIN, [(0, 0)] * 4, [], "add_remove", 1)
    query = hr.Query.where(audit.DOMAIN, {"a": 0})
    stream = [(query, 4.0), (query, 3.0), (query, 6.0)]
    draws = size(300, 2000)
    guard = hr.Curator(world.table(), hr.Budget(epsilon=10**4), ":memory:", entropy=hr.testing.seeded(8))
    seen: dict[tuple, int] = {}
    for _ in range(draws):
        over, under = (guard.one_sided(1, 1, side=side, denominator=1) for side in SIDES)
        said = tuple(ask_both(over, under, [q for q, _ in stream], [h for _, h in stream]))
        seen[said] = seen.get(said, 0) + 1
    laws = [
        [float(p) for p in audit.law(audit.values_of(world, stream, r.plan), r.plan).values()]
        for r in (over, under)
    ]
    truth: dict[tuple, float] = {}
    for i, p in enumerate(laws[0]):
        for j, q in enumerate(laws[1]):
            first = min(i, j)
            key = (min(first + 1, 3), i == first < 3, j == first < 3)
            truth[key] = truth.get(key, 0.0) + p * q
    assert set(seen) <= set(truth)
    for key, p in truth.items():
        assert abs(seen.get(key, 0) - draws * p) < 5.5 * sqrt(draws * p * (1 - p)) + 5, key


# ---- the theorem ------------------------------------------------------------------------------------------


def test_random_streams_with_fractional_moves_keep_the_theorem_outcome_by_outcome():
    """Random integers, scales, thresholds and moves anywhere in [0, Delta]; every outcome's own bounds."""
    rng = np.random.default_rng(2026)
    scales = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(5), Fraction(12)]
    widest = 0.0
    for _ in range(STREAMS):
        delta = int(rng.integers(1, 9))
        b1, b2 = (scales[i] for i in rng.integers(0, len(scales), 2))
        made = made_of(delta, b1, b2, threshold=int(rng.integers(-5, 6)))
        length = int(rng.integers(1, 6))
        values = rng.integers(-14, 15, size=length)
        moves = rng.integers(0, delta + 1, size=length)
        if rng.random() < 0.3:  # corners are where the worst cases are
            moves = delta * rng.integers(0, 2, size=length)
        p, q = audit.law(values, made), audit.law(values + moves, made)
        found = []
        for k, one in p.items():
            loss = float(audit._D.ln(audit._D.divide(one, q[k])))
            m = int(moves[k]) if k < length else None
            low = 0.0 if m is None else -m / float(b2)
            high = delta / float(b1) + (0.0 if m is None else (delta - m) / float(b2))
            assert low - CLOSE <= loss <= high + CLOSE, (values, moves, made)
            found.append(loss)
        widest = max(widest, (max(found) - min(found)) / float(made.event.range))
    assert 0.95 < widest <= 1 + CLOSE


SMALL = hr.Domain({"a": 3})
WEIGHTS = ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 1.0, 0.25], [2**-20, 0.3, 1.0], [1.0, 1.0, 0.0])


def streams(rows: int, side: str) -> list[list[tuple[hr.Query, float]]]:
    """Questions with fractional weights around T = 3 rows, and three that use all of the loss."""
    first, last, *rest = (hr.Query.of(SMALL, ("a",), w) for w in WEIGHTS)
    sign = 1 if side == "over" else -1
    return [
        [(first, sign * 40.0 * rows), (first, -sign * 5.0 * rows), (last, sign * 40.0 * rows)],
        [(rest[0], -sign * 2.3), (rest[1], 0.7), (rest[2], -sign * 3.1), (rest[0], -sign * 4.0)],
    ]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_all_neighbours_of_a_small_domain_stay_in_the_interval_and_fill_it(rows, side):
    """Every crowd of up to 1 row (2 in full), every person of up to max_rows, on the real lattice."""
    made = None
    crowds = [c for n in range(size(2, 3)) for c in combinations_with_replacement([(0,), (1,), (2,)], n)]
    people = [p for n in range(rows + 1) for p in combinations_with_replacement([(0,), (1,), (2,)], n)]
    widest = [0.0, 0.0]
    for crowd in crowds:
        laws = {}
        for person in people:
            world = World.of(SMALL, list(crowd), list(person), "add_remove", rows)
            if made is None:
                guard = world.curator(hr.Budget(epsilon=10, delta=1e-6))
                made = guard.one_sided(3, Cost("rho", Fraction(1, 8)), side=side).plan
                assert made.event.sensitivity == rows * ONE
            values = [audit.values_of(world, s, made) for s in streams(rows, side)]
            laws[person] = [audit.law(v, made) for v in values]
        nobody = laws.pop(())
        low, high = ends(made)
        for person, with_person in laws.items():
            for i, (p, q) in enumerate(zip(nobody, with_person, strict=True)):
                below, above = audit.losses(p, q) if side == "over" else audit.losses(q, p)
                assert low - CLOSE <= below <= above <= high + CLOSE, (crowd, person)
                assert audit.width(q, p) == pytest.approx(above - below, abs=CLOSE)  # a person leaves
                widest[i] = max(widest[i], above - below)
    eta = float(made.event.range)
    assert max(widest) <= eta + CLOSE
    assert widest[0] >= 0.9999 * eta
    assert widest[1] >= 0.2 * eta


@pytest.mark.parametrize("order", [2, 3, 8, 64])
def test_the_renyi_divergence_is_within_what_bounded_range_promises(order):
    """Both ways, on random streams and on the worst one: at most order eta^2 / 8."""
    rng = np.random.default_rng(order)
    made = made_of(2, 5, 8)
    eta, most = float(made.event.range), 0.0
    pairs = [([-60, 20, -60], [-58, 22, -60])]
    for _ in range(60):
        values = rng.integers(-10, 11, size=4)
        pairs.append((values, values + 2 * rng.integers(0, 2, size=4)))
    for p, q in (tuple(audit.law(v, made) for v in pair) for pair in pairs):
        for one, two in ((p, q), (q, p)):
            found = audit.renyi(one, two, order)
            assert found <= order * eta**2 / 8 + CLOSE
            most = max(most, found)
    assert most > 0


def test_the_pure_loss_is_delta_over_both_scales_and_that_is_reached():
    made = made_of(2, 5, 8)
    p, q = (audit.law(v, made) for v in ([20, -60], [22, -60]))
    assert exact.epsilon_between(p, q) == pytest.approx(float(made.event.epsilon), abs=1e-9)
    assert made.event.epsilon < made.event.range


# ---- what must be refuted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("rows", [1, 3])
def test_the_audit_does_not_refute_the_run_as_it_is(rows, side):
    finding = audit.honest(rows, side)
    assert not finding.refuted, str(finding)
    assert finding.found > 0.999 * finding.claimed


@pytest.mark.parametrize("name", [m.name for m in audit.MISTAKES])
def test_the_audit_refutes_every_mistake(name):
    mistake = next(m for m in audit.MISTAKES if m.name == name)
    finding = mistake.run()
    assert finding.refuted, str(finding)
    assert finding.name == name
    assert finding.found > 1.3 * finding.claimed


def test_halving_either_scale_alone_is_refuted():
    made = made_of(1, 3, 3)
    for b1, b2 in ((Fraction(3, 2), 3), (3, Fraction(3, 2))):
        half = replace(made, event=OneSidedSparseVector(1, b1, b2))
        p, q = (audit.law(v, half) for v in ([-60, 20, -60], [-59, 21, -60]))
        assert audit.width(p, q) > float(made.event.range) * 1.3


def test_negative_weights_would_break_the_interval():
    """A question that a new row moves down, among others that it moves up."""
    made = made_of(1, 3, 3)
    p, q = (audit.law(v, made) for v in ([-60, 20, -60], [-59, 21, -61]))
    assert audit.width(p, q) > float(made.event.range) * 1.3


def test_a_threshold_that_noise_can_only_lower_would_tell_everything():
    """T - z instead of T + z: at v = T - 1 "below" is possible, one row more and it never is."""
    D, b = exact.D, Fraction(3)
    power = lambda t: D.exp(D.divide(Decimal(-t), Decimal(3)))  # noqa: E731

    def below(v: int) -> Decimal:
        total = Decimal(0)
        for z in range(400):
            chance = D.multiply(D.subtract(Decimal(1), power(1)), power(z))
            total += D.multiply(chance, D.subtract(Decimal(1), power(max(0, -z - v))))
        return total

    assert b == 3
    assert below(-1) > Decimal("0.01")
    assert below(0) == 0


def test_noise_of_both_signs_on_the_threshold_certifies_less_for_the_same_loss():
    """It would be as private; but its threshold is as often too low, which only adds false alarms."""
    made = made_of(1, 3, 3)
    alarm = lambda z: np.exp(-max(0.0, 6 + z) / 3)  # noqa: E731
    p = np.exp(-1 / 3)
    lap = sum((1 - p) / (1 + p) * p ** abs(z) * alarm(z) for z in range(-200, 200))
    one = replace(made, threshold=6).false_alarm(0)
    assert lap > 1.5 * one
    assert log(lap) > log(one)
