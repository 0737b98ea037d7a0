"""Accountants: k times once is once k times, theorems to the letter, and never below the exact truth."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, exp, expm1, inf, log, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import UnknownEvent
from hedgerow.privacy.accountant import (
    Accountant,
    AdvancedAccountant,
    BasicAccountant,
    RenyiAccountant,
    TightAccountant,
    ZCDPAccountant,
    cost,
)
from hedgerow.privacy.budget import Cost, epsilon_of
from hedgerow.privacy.event import (
    ZCDP,
    Approximate,
    BoundedRange,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    Nothing,
    PermuteAndFlip,
    Pure,
    RandomizedRecord,
    Repeat,
    ReportNoisyMax,
    Together,
)
from hedgerow.privacy.sparse_vector_event import GaussianSparseVector, OneSidedSparseVector, SparseVector
from sizes import size

DELTA = Fraction(1, 10**6)
PURE_KINDS = (Exponential, PermuteAndFlip, ReportNoisyMax, RandomizedRecord, Pure, BoundedRange)
MAKERS: dict[str, Callable[[], Accountant]] = {
    "basic": BasicAccountant,
    "advanced": lambda: AdvancedAccountant(DELTA / 2),
    "zcdp": ZCDPAccountant,
    "renyi": RenyiAccountant,
    "renyi_orders": lambda: RenyiAccountant([1.5, 2, 4, 8, 16, 32, 64]),
    "tight": TightAccountant,
}

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=2, max_denominator=100)
tiny = st.sampled_from([Fraction(0), Fraction(1, 10**10), Fraction(1, 3 * 10**9)])
pure = st.one_of(
    st.builds(Laplace, st.integers(1, 5), st.integers(1, 50)),
    *(st.builds(kind, epsilons) for kind in PURE_KINDS),
    st.builds(OneSidedSparseVector, st.integers(1, 5), st.integers(5, 50), st.integers(5, 50)),
)
every = st.one_of(
    pure,
    st.builds(Gaussian, st.integers(1, 3), st.integers(2, 30)),
    st.builds(Approximate, epsilons, tiny),
    st.builds(ZCDP, epsilons, tiny),
    st.just(Nothing()),
)


def nested(leaf: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(Repeat, inner, st.integers(0, 3)),
            st.builds(Together, st.lists(inner, max_size=3).map(tuple)),
        ),
        max_leaves=4,
    )


def spent(maker: Callable[[], Accountant], *events: Event, times: int = 1) -> float:
    accountant = maker()
    for event in events:
        accountant.compose(event, times)
    return accountant.epsilon(DELTA)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=size(15, 100), deadline=None)
@given(event=nested(every), k=st.integers(0, 4))
def test_one_event_k_times_is_k_events_once(name: str, event: Event, k: int) -> None:
    maker = MAKERS[name]
    if not maker().supports(event):
        with pytest.raises(UnknownEvent):
            maker().compose(event)
        return
    together = spent(maker, event, times=k)
    assert spent(maker, *[event] * k) == pytest.approx(together, rel=1e-12)
    assert spent(maker, Repeat(event, k)) == pytest.approx(together, rel=1e-12)
    assert spent(maker, Together((event,) * k)) == pytest.approx(together, rel=1e-12)
    flat = [leaf for leaf, n in event.leaves() for _ in range(n * k)]
    assert spent(maker, *flat) == pytest.approx(together, rel=1e-12)


@settings(deadline=None)
@given(nested(every), st.integers(0, 50))
def test_ledger_cost_of_k_times_is_exactly_k_costs(event: Event, k: int) -> None:
    once = cost(event, "rho")
    assert cost(Repeat(event, k), "rho") == once * k == sum([once] * k, Cost.zero("rho"))
    assert cost(Together((event,) * k), "rho") == once * k


def test_ledger_costs_are_the_theorems() -> None:
    e, d = Fraction(1, 5), Fraction(1, 10**9)
    for event in (Laplace(1, 5), PermuteAndFlip(e), ReportNoisyMax(e), RandomizedRecord(e), Pure(e)):
        assert cost(event, "epsilon") == Cost("epsilon", e)
        assert cost(event, "rho") == Cost("rho", e**2 / 2)
    for event in (Exponential(e), BoundedRange(e)):
        assert cost(event, "epsilon") == Cost("epsilon", e)
        assert cost(event, "rho") == Cost("rho", e**2 / 8)
    assert cost(Gaussian(2, 10), "rho") == Cost("rho", Fraction(2, 200))
    assert cost(ZCDP(e, d), "rho") == Cost("rho", e, d)
    assert cost(Approximate(e, d), "rho") == Cost("rho", e**2 / 2, d)
    assert cost(Nothing(), "epsilon").is_zero


@settings(deadline=None)
@given(epsilons)
def test_ledger_costs_are_never_below_the_theorem(e: Fraction) -> None:
    odd = e * Fraction(1009, 1013)  # off the grain
    assert cost(Pure(odd), "epsilon").amount >= odd
    assert cost(Pure(odd), "rho").amount >= odd**2 / 2
    assert cost(Gaussian(odd, 7), "rho").amount >= odd / 98


@pytest.mark.parametrize(
    "event", [Gaussian(1, 1), ZCDP(1), Approximate(1, 1e-9), Repeat(Together((Gaussian(1, 1),)), 2)]
)
def test_a_pure_ledger_refuses_what_is_not_pure(event: Event) -> None:
    with pytest.raises(UnknownEvent, match=r"^A pure epsilon budget .*\.$"):
        cost(event, "epsilon")


class Teleport(Event):
    """An act nobody has a theorem for."""


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("stranger", [Teleport(), Together((Pure(1), Teleport())), "pure", None])
def test_unknown_acts_are_refused_and_nothing_is_added(name: str, stranger: Event) -> None:
    accountant = MAKERS[name]()
    with pytest.raises(UnknownEvent, match=r"^[A-Z].*\.$"):
        accountant.compose(stranger)
    assert accountant.epsilon(DELTA) == 0.0
    with pytest.raises(UnknownEvent):
        cost(stranger, "rho")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("wrong", [-1, 1, float("nan"), inf])
def test_impossible_deltas_are_refused_in_one_sentence(name: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        MAKERS[name]().epsilon(wrong)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("times", [-1, 1.5, True])
def test_impossible_repetitions_are_refused_in_one_sentence(name: str, times: int) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        MAKERS[name]().compose(Pure(1), times)


@pytest.mark.parametrize("name", MAKERS)
def test_acts_without_loss_cost_nothing(name: str) -> None:
    accountant = MAKERS[name]()
    for event in (Nothing(), Pure(0), Laplace(0, 1), Exponential(0), Repeat(Pure(1), 0), Together(())):
        accountant.compose(event)
    assert accountant.epsilon(0) == 0.0


def test_basic_sums_are_exact() -> None:
    accountant = BasicAccountant()
    accountant.compose(Pure(0.1), times=10)
    accountant.compose(Approximate(Fraction(1, 3), Fraction(1, 3 * 10**6)), times=3)
    assert accountant.epsilon(DELTA) == 2.0
    assert accountant.epsilon(DELTA * Fraction(999, 1000)) == inf


@pytest.mark.parametrize("k", [1, 10, 1000])
@pytest.mark.parametrize("e", [0.001, 0.1, 1.0])
def test_advanced_composition_is_theorem_3_3(e: float, k: int) -> None:
    prime = 1e-7
    accountant = AdvancedAccountant(prime)
    accountant.compose(Approximate(e, 1e-12), times=k)
    theorem = sqrt(2 * k * log(1 / prime)) * e + k * e * expm1(e)
    total = Fraction(1, 10**12) * k + Fraction(1, 10**7)
    assert accountant.epsilon(total) == pytest.approx(theorem, rel=1e-13)
    assert accountant.epsilon(total) >= theorem * (1 - 1e-15)
    assert accountant.epsilon(total - Fraction(1, 10**15)) == inf


def test_advanced_composition_takes_acts_of_different_epsilons() -> None:
    accountant = AdvancedAccountant(1e-6)
    accountant.compose(Together((Pure(0.1), Repeat(Pure(0.3), 2))))
    spread = sqrt(2 * log(1e6) * (0.01 + 2 * 0.09))
    assert accountant.epsilon(1e-6) == pytest.approx(spread + 0.1 * expm1(0.1) + 0.6 * expm1(0.3), rel=1e-13)


@pytest.mark.parametrize("prime", [0, 1, -1, float("nan")])
def test_advanced_composition_needs_a_delta_prime(prime: float) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        AdvancedAccountant(prime)


def test_zcdp_reports_the_conversion_of_the_ledgers_rho() -> None:
    accountant = ZCDPAccountant()
    events = (Gaussian(1, 10), Exponential(0.3), Pure(0.1), Approximate(0.1, 1e-8))
    for event in events:
        accountant.compose(event)
    total = cost(Together(events), "rho")
    assert accountant.epsilon(DELTA) == epsilon_of(total.amount, DELTA - total.delta)


@pytest.mark.parametrize("name", ["zcdp", "renyi", "renyi_orders", "tight"])
def test_deltas_that_use_up_delta_leave_no_promise(name: str) -> None:
    accountant = MAKERS[name]()
    accountant.compose(Approximate(0.1, DELTA / 4), times=4)
    assert accountant.epsilon(DELTA) == inf
    assert accountant.epsilon(DELTA / 2) == inf
    assert accountant.epsilon(2 * DELTA) < inf


@pytest.mark.parametrize("name", ["renyi", "renyi_orders"])
def test_deltas_of_acts_are_taken_off_delta_before_the_conversion(name: str) -> None:
    with_deltas, without = MAKERS[name](), MAKERS[name]()
    with_deltas.compose(Approximate(0.1, DELTA / 200), times=100)
    without.compose(Pure(0.1), times=100)
    assert with_deltas.epsilon(DELTA) == without.epsilon(DELTA / 2) > without.epsilon(DELTA)


def test_without_delta_only_pure_acts_have_an_epsilon() -> None:
    for maker in (RenyiAccountant, TightAccountant):
        accountant = maker()
        accountant.compose(Pure(0.1), times=3)
        assert accountant.epsilon(0) == 0.3
        accountant.compose(Gaussian(1, 10))
        assert accountant.epsilon(0) == inf
    zcdp = ZCDPAccountant()
    zcdp.compose(Pure(0.1))
    assert zcdp.epsilon(0) == inf


def composed_randomised_response(e: float, k: int, epsilon: float) -> mpmath.mpf:
    """The exact delta of k randomised responses at epsilon [KOV15]."""
    e_, total = mpmath.mpf(e), mpmath.mpf(0)
    for i in range(k + 1):
        loss = (k - 2 * i) * e_
        if loss > epsilon:
            weight = comb(k, i) * mpmath.exp((k - i) * e_) / (1 + mpmath.exp(e_)) ** k
            total += weight * (1 - mpmath.exp(epsilon - loss))
    return total


def exact_epsilon(delta_at: Callable[[float], mpmath.mpf], delta: float, high: float) -> float:
    """The smallest epsilon whose exact delta is small enough, by bisection."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("e", "k"), [(0.01, 1), (0.1, 10), (0.1, 100), (1.0, 5), (0.02, 400), (3.0, 20)])
def test_tight_is_never_below_exact_composition_of_randomised_response(
    e: float, k: int, delta: float
) -> None:
    with mpmath.workdps(40):
        true = exact_epsilon(lambda x: composed_randomised_response(e, k, x), delta, k * e)
    for event in (RandomizedRecord(e), Pure(e), PermuteAndFlip(e), Laplace(1, 1 / Fraction(str(e)))):
        accountant = TightAccountant()
        accountant.compose(event, times=k)
        found = accountant.epsilon(delta)
        assert found >= true * (1 - 1e-12)
        assert found <= true * 1.001 + 1e-9


@pytest.mark.parametrize(("e", "k"), [(0.1, 1), (0.1, 100), (0.5, 12)])
def test_tight_is_never_below_exact_composition_of_approximate_acts(e: float, k: int) -> None:
    each, delta = Fraction(6, 10**7 * k), 1e-6  # together six tenths of delta
    accountant = TightAccountant()
    accountant.compose(Approximate(e, each), times=k)
    with mpmath.workdps(40):
        survives = (1 - mpmath.mpf(each.numerator) / each.denominator) ** k

        def delta_at(x: float) -> mpmath.mpf:
            return 1 - survives * (1 - composed_randomised_response(e, k, x))

        true = exact_epsilon(delta_at, delta, k * e)
        blind = exact_epsilon(lambda x: composed_randomised_response(e, k, x), delta, k * e)
    found = accountant.epsilon(delta)
    assert true * (1 - 1e-12) <= found <= true * 1.001 + 1e-9
    assert blind < true


def lattice(kind: str, parameter: int, reach: int) -> np.ndarray:
    """The noise's probabilities on -reach .. reach."""
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(x) / parameter if kind == "laplace" else -(x**2) / (2 * parameter**2))
    return np.asarray(weights / weights.sum())


def moved(noise: np.ndarray, by: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """P and Q for a vector of independent noises whose coordinates move by so many steps."""
    p = q = np.ones(1)
    for step in by:
        p = np.outer(p, np.pad(noise, (step, 0))).ravel()
        q = np.outer(q, np.pad(noise, (0, step))).ravel()
    return p, q


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(
    ("event", "kind", "parameter", "reach", "ways"),
    [
        (Laplace(1, 2), "laplace", 2, 80, [(1,)]),
        (Laplace(3, 2), "laplace", 2, 160, [(3,), (2, 1), (2,), (1, 1)]),
        (Laplace(2, 1), "laplace", 1, 40, [(2,), (1, 1)]),
        (Gaussian(1, 2), "gaussian", 2, 25, [(1,)]),
        (Gaussian(2, 2), "gaussian", 2, 25, [(1, 1), (1,)]),
        (Gaussian(3, 1), "gaussian", 1, 12, [(1, 1, 1), (1, 1)]),
        (Gaussian(1, 1), "gaussian", 1, 12, [(1,)]),
    ],
)
def test_tight_and_renyi_cover_every_way_a_vector_can_move(
    event: Event, kind: str, parameter: int, reach: int, ways: list[tuple[int, ...]]
) -> None:
    noise = lattice(kind, parameter, reach)
    for delta in (0.1, 1e-3, 1e-6):
        for maker in (TightAccountant, RenyiAccountant):
            accountant = maker()
            accountant.compose(event)
            found = accountant.epsilon(delta)
            for by in ways:
                assert hockey_stick(*moved(noise, by), found) <= delta * (1 + 1e-9)
            if maker is TightAccountant and found > 0:
                worst = max(hockey_stick(*moved(noise, by), found * (1 - 1e-3)) for by in ways)
                assert worst > delta


def test_one_coordinate_moved_by_the_sum_dominates_laplace_vectors() -> None:
    for parameter, (s, t) in product((1, 3, 10), ((1, 1), (1, 4), (3, 2))):
        noise = lattice("laplace", parameter, 40 * parameter if parameter < 10 else 250)
        one, two = moved(noise, (s + t,)), moved(noise, (s, t))
        for epsilon in np.linspace(-(s + t) / parameter, (s + t) / parameter, 41):
            assert hockey_stick(*two, epsilon) <= hockey_stick(*one, epsilon) + 1e-9


def test_the_continuous_laplace_pair_would_promise_too_much() -> None:
    # Why no continuous pair is used: noise on a lattice has more mass at the largest loss.
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    continuous = pld.from_laplace_mechanism(1.0, value_discretization_interval=1e-5).get_epsilon_for_delta(
        0.01
    )
    accountant = TightAccountant()
    accountant.compose(Laplace(1, 1))
    with mpmath.workdps(40):
        true = exact_epsilon(lambda x: composed_randomised_response(1.0, 1, x), 0.01, 1.0)
    assert continuous < true <= accountant.epsilon(0.01)


@pytest.mark.parametrize("k", [1, 10, 40])
def test_tight_agrees_with_dp_accounting_on_discrete_noise(k: int) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    peers = {
        Laplace(5, 20): pld.from_discrete_laplace_mechanism(1 / 20, 5, use_connect_dots=True),
        Gaussian(1, 4): pld.from_discrete_gaussian_mechanism(4.0, 1, use_connect_dots=True),
    }
    for event, peer in peers.items():
        accountant = TightAccountant()
        accountant.compose(event, times=k)
        theirs = peer.self_compose(k).get_epsilon_for_delta(1e-6)
        assert accountant.epsilon(1e-6) == pytest.approx(theirs, rel=1e-3)


@settings(max_examples=size(25, 200), deadline=None)
@given(
    nested(st.one_of(pure, st.builds(Gaussian, st.integers(1, 3), st.integers(2, 30)))), st.integers(1, 20)
)
def test_finer_accountants_never_report_more(event: Event, k: int) -> None:
    tight, renyi, zcdp = (spent(MAKERS[name], event, times=k) for name in ("tight", "renyi", "zcdp"))
    assert tight <= renyi * (1 + 1e-9)
    assert renyi <= zcdp * (1 + 1e-9)
    assert renyi <= spent(MAKERS["renyi_orders"], event, times=k) * (1 + 1e-9)
    if BasicAccountant().supports(event):
        assert renyi <= spent(MAKERS["basic"], event, times=k)
        assert tight <= spent(MAKERS["advanced"], event, times=k) * (1 + 1e-9)


@pytest.mark.parametrize(
    "event",
    [
        ZCDP(1),
        Gaussian(4, 10),
        Gaussian(Fraction(1, 2), 10),
        Gaussian(1, 10**6),
        Laplace(2**21, 2**21),
        Repeat(Together((ZCDP(1),)), 2),
    ],
)
def test_tight_refuses_acts_without_a_proven_pair_in_one_sentence(event: Event) -> None:
    accountant = TightAccountant()
    assert not accountant.supports(event)
    with pytest.raises(UnknownEvent, match=r"^[A-Z].*\.$"):
        accountant.compose(event)


def test_sensitivities_between_lattice_steps_are_counted_as_any_pure_act() -> None:
    odd, plain = RenyiAccountant(), RenyiAccountant()
    odd.compose(Laplace(Fraction(5, 2), 10), times=9)
    plain.compose(Pure(Fraction(1, 4)), times=9)
    assert odd.epsilon(DELTA) == plain.epsilon(DELTA)


@pytest.mark.parametrize("orders", [[1], [0.5, 2], [inf]])
def test_renyi_orders_must_be_above_one(orders: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        RenyiAccountant(orders)


@pytest.mark.parametrize(
    "event", [Pure(10**6), Pure(Fraction(1, 10**30)), Gaussian(1, Fraction(1, 1000)), ZCDP(10**9)]
)
def test_extreme_acts_still_have_numbers(event: Event) -> None:
    # An epsilon of 0 is right for a loss far below delta; what may not happen is an error or a NaN.
    for maker in MAKERS.values():
        if maker().supports(event):
            assert spent(maker, event, times=1000) >= 0


def test_a_sparse_vector_costs_its_parts_in_both_currencies() -> None:
    fresh, once = SparseVector(1, 4, 8, 2, 3), SparseVector(1, 4, 8, 2, 3, 0)
    assert cost(fresh, "epsilon").amount == 3 * (Fraction(1, 2) + Fraction(1, 2))
    assert cost(fresh, "rho").amount == 3 * (Fraction(1, 8) + Fraction(1, 8))
    assert cost(once, "epsilon").amount == Fraction(1, 4) + 3 * Fraction(1, 4) + 3 * Fraction(1, 2)
    assert cost(once, "rho").amount == Fraction(1, 2) + 3 * Fraction(1, 8)
    for maker in MAKERS.values():
        assert maker().supports(fresh)
    assert cost(Repeat(fresh, 4), "rho") == cost(fresh, "rho") * 4


def test_a_gaussian_sparse_vector_costs_the_epsilon_at_its_delta() -> None:
    event = GaussianSparseVector(1, 100, 200, 999, 2, DELTA)
    rho = Fraction(1, 2 * 100**2) + Fraction(2, 200**2)
    epsilon = epsilon_of(2 * rho, DELTA / 1000**2)
    assert float(cost(event, "rho").amount) == pytest.approx(epsilon**2 / 2)
    assert cost(event, "rho").delta == DELTA
    supports = {name: maker().supports(event) for name, maker in MAKERS.items()}
    assert {name for name, known in supports.items() if known} == {"zcdp", "renyi", "renyi_orders"}
    accountant = RenyiAccountant()
    accountant.compose(event)
    assert accountant.epsilon(DELTA) == pytest.approx(epsilon, rel=1e-6)
