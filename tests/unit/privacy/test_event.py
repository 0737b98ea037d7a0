"""Events: exact, frozen, readable, and the same after a trip through JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import UnknownEvent
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
    exact,
)
from hedgerow.privacy.events import from_json
from hedgerow.privacy.sparse_vector_event import GaussianSparseVector, OneSidedSparseVector, SparseVector

positive = st.fractions(min_value=Fraction(1, 1000), max_value=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 2))
simple = st.one_of(
    st.builds(Laplace, positive, positive),
    st.builds(Gaussian, positive, positive),
    *(
        st.builds(kind, positive)
        for kind in (Exponential, PermuteAndFlip, ReportNoisyMax, RandomizedRecord, Pure, BoundedRange)
    ),
    st.builds(Approximate, positive, deltas),
    st.builds(ZCDP, positive, deltas),
    st.builds(
        SparseVector,
        *[positive] * 3,
        value_scale=st.one_of(st.just(0), positive),
        count=st.integers(1, 9),
        refreshed=st.integers(0, 1),
    ),
    st.builds(
        GaussianSparseVector,
        *[positive] * 3,
        length=st.integers(1, 10**6),
        count=st.integers(1, 9),
        delta=deltas.filter(bool),
    ),
    st.builds(OneSidedSparseVector, *[positive] * 3),
    st.just(Nothing()),
)
events = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Repeat, inner, st.integers(0, 5)),
        st.builds(Together, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (1 / 3, Fraction(1, 3)),
        (1 / 7, Fraction(1, 7)),
        (2 / 11, Fraction(2, 11)),
        (0.015, Fraction(3, 200)),
        ("1/3", Fraction(1, 3)),
        (" 0.25 ", Fraction(1, 4)),
        ("1e-9", Fraction(1, 10**9)),
        (Decimal("0.3"), Fraction(3, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (7, Fraction(7)),
    ],
)
def test_a_number_means_what_a_person_wrote(given_: object, meant: Fraction) -> None:
    assert exact(given_) == meant  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_of_a_float_is_that_float_again(x: float) -> None:
    assert float(exact(x)) == x


@pytest.mark.parametrize(
    "wrong",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        "nan",
        "inf",
        "one",
        "1/0",
        "",
        "1e999999999",
        None,
        True,
        1j,
        "9" * 500,
    ],
)
def test_what_is_not_a_finite_number_is_refused_in_one_sentence(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        exact(wrong)  # type: ignore[arg-type]


@settings(deadline=None)
@given(events)
def test_json_gives_back_the_same_event(event: Event) -> None:
    again = from_json(json.loads(json.dumps(event.to_json())))
    assert again == event
    assert hash(again) == hash(event)


@settings(deadline=None)
@given(simple)
def test_every_simple_event_is_one_sentence(event: Event) -> None:
    words = event.describe()
    assert words[0].isupper()
    assert words.endswith(".")
    assert "\n" not in words


@settings(deadline=None)
@given(events)
def test_every_event_can_be_told_to_people(event: Event) -> None:
    assert event.describe().endswith(".")


@settings(deadline=None)
@given(events, st.integers(0, 4))
def test_repeat_multiplies_every_leaf(event: Event, times: int) -> None:
    once = [(leaf, n * times) for leaf, n in event.leaves() if times]
    assert list(Repeat(event, times).leaves()) == once


def test_rationals_are_written_as_fractions() -> None:
    assert Laplace(1, 0.5).to_json() == {"kind": "laplace", "sensitivity": "1/1", "scale": "1/2"}


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "teleport"},
        {},
        {"kind": ["pure"]},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": "-1/2"},
        {"kind": "pure", "epsilon": "x"},
        {"kind": "pure", "epsilon": "1", "sigma": "1"},
        {"kind": "repeat", "event": {"kind": "pure", "epsilon": "1"}, "times": -1},
        {"kind": "repeat", "event": {"kind": "pure", "epsilon": "1"}, "times": 1.5},
        {"kind": "together", "events": [{"kind": "teleport"}]},
        {"kind": "together", "events": 3},
        None,
        [],
    ],
)
def test_json_that_is_no_event_is_an_unknown_event(data: object) -> None:
    with pytest.raises(UnknownEvent):
        from_json(data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "arguments"),
    [
        (Laplace, (1, 0)),
        (Laplace, (-1, 1)),
        (Laplace, (1, float("nan"))),
        (Gaussian, (1, -1)),
        (Pure, (-0.1,)),
        (Pure, (float("inf"),)),
        (Approximate, (1, 1)),
        (Approximate, (1, -1e-9)),
        (ZCDP, (1, 2)),
        (Repeat, (Pure(1), -1)),
        (Repeat, (Pure(1), True)),
        (Repeat, (Pure(1), 2.0)),
        (Repeat, ("pure", 2)),
        (Together, (("pure",),)),
    ],
)
def test_impossible_parameters_are_refused_in_one_sentence(
    build: type[Event], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        build(*arguments)


def test_events_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Pure(1).epsilon = Fraction(0)  # type: ignore[misc]


def test_a_sparse_vector_is_made_of_its_comparisons_and_its_values() -> None:
    fresh = SparseVector(1, 4, 8, 2, 3)
    assert list(fresh.leaves()) == [(Pure("1/2"), 3), (Laplace(1, 2), 3)]
    once = SparseVector(1, 4, 8, 0, 3, 0)
    assert list(once.leaves()) == [(Pure(1), 1)]
    for wrong in ({"count": 0}, {"count": "1/2"}, {"refreshed": 2}, {"query_scale": 0}, {"value_scale": -1}):
        with pytest.raises(ValueError, match=r"needs|refreshed"):
            SparseVector(**({"sensitivity": 1, "threshold_scale": 1, "query_scale": 1} | wrong))
    with pytest.raises(ValueError, match="delta above 0"):
        GaussianSparseVector(1, 1, 1, 10, 1, 0)
