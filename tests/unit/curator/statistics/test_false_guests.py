"""Guests who mean ill, or write by mistake what an ill-meaning one would: the ledger says what was done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import extending as ext
from hedgerow.curator import guest_act
from hedgerow.curator.statistics.claimed import REGISTERED
from hedgerow.errors import RequestReused
from hedgerow.privacy.event import Event, Pure

DOMAIN = hr.Domain({"a": 3})
ROWS = {"a": [0, 1, 1, 2] * 5}
WORDS = {"author": "Mallory", "proof": "none"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is gone after it."""
    before, acts = dict(REGISTERED), dict(guest_act._CLAIMS)
    yield
    for held, kept in ((REGISTERED, before), (guest_act._CLAIMS, acts)):
        held.clear()
        held.update(kept)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows at every level, times a public weight of which only the first is looked at."""

    weights: Any = (1,)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        return (("a",),)

    @property
    def norms(self) -> ext.Norms:
        return ext.Norms(1, 1, 2, 2)

    def shape(self, domain: hr.Domain) -> tuple[int, ...]:
        return (3,)

    def numbers(self, tables: Any) -> Any:
        return tables[("a",)]

    def event(self, price: Any, privacy: Any) -> Event:
        return Pure(price.amount)

    def draw(self, tables: Any, event: Any, coins: Any) -> Any:
        return self.numbers(tables) + coins.laplace(1 / event.epsilon, 3)


def curator(epsilon: float = 100.0) -> hr.Curator:
    return hr.Curator(hr.Table.open(ROWS, DOMAIN), hr.Budget(epsilon=epsilon), ":memory:")


def entered(kind: type) -> Any:
    """A class on both lists."""
    ext.claimed_act(**WORDS)(kind)
    return ext.claimed_statistic(**WORDS)(kind)


def charged(guard: hr.Curator) -> Any:
    return next(e for e in guard.ledger.replay(None) if e.kind == "charge")


@pytest.mark.parametrize("wrapped", [lambda a: a, lambda a: (a,), lambda a: [{"w": a}]])
@pytest.mark.parametrize("door", ["measure", "act"])
def test_guests_that_differ_in_one_of_many_numbers_are_two_questions(wrapped, door):
    entered(Levels)
    one, two = (np.zeros(5000, dtype=np.int64) for _ in range(2))
    two[2500] = 1
    guard = curator()
    for weights, fits in ((one, True), (one.copy(), True), (two, False)):
        guest = Levels(wrapped(weights))

        def ask(guest=guest):
            if door == "measure":
                return guard.measure(guest, 1, request="r")
            return ext.carry_out(guard, guest, 1, request="r")

        if fits:
            ask()
        else:
            with pytest.raises(RequestReused):
                ask()


def test_the_norms_on_the_line_are_those_that_the_noise_was_made_for():
    turns = count(1)

    @dataclass(frozen=True, eq=False)
    class Shifty(Levels):
        @property
        def norms(self) -> ext.Norms:
            return ext.Norms(*[2 * next(turns)] * 4)

    entered(Shifty)
    guard = curator()
    guard.measure(Shifty(), 1)
    line = charged(guard)
    (claim,) = line.details["claims"]
    assert claim["facts"]["norms"]["l1"] == line.event.sensitivity


def test_an_event_of_ones_own_is_what_its_line_says_and_costs_no_more_than_was_allowed():
    @dataclass(frozen=True)
    class Free(Pure):
        def leaves(self) -> Iterator[tuple[Event, int]]:
            return iter(())

    @dataclass(frozen=True, eq=False)
    class Dear(Levels):
        def event(self, price: Any, privacy: Any) -> Event:
            return Free(50)

    entered(Dear)
    guard = curator()
    with pytest.raises(hr.UnsupportedQuery):
        ext.carry_out(guard, Dear(), 1)
    assert guard.spent.epsilon == 0


class Leak(BaseException):
    """Not an Exception: nobody expects it."""


@pytest.mark.parametrize("kind", [Leak, SystemExit, GeneratorExit, KeyboardInterrupt])
@pytest.mark.parametrize("door", ["measure", "act"])
def test_nothing_that_a_guest_throws_carries_rows_out(kind, door):
    @dataclass(frozen=True, eq=False)
    class Thrower(Levels):
        def numbers(self, tables: Any) -> Any:
            if tables[("a",)].tolist() == [5, 10, 5]:
                raise kind(tables[("a",)].tolist())
            return tables[("a",)]

    entered(Thrower)
    guard = curator()

    def ask() -> None:
        if door == "measure":
            guard.measure(Thrower(), 1)
        else:
            ext.carry_out(guard, Thrower(), 1)

    if kind is KeyboardInterrupt:  # somebody may be waiting for nothing: it goes on, without its words
        with pytest.raises(KeyboardInterrupt) as stopped:
            ask()
        assert stopped.value.args == ()
        assert stopped.value.__context__ is None
    else:
        ask()
        assert guard.spent.epsilon == 1


@pytest.mark.parametrize("door", ["measure", "act"])
def test_an_array_that_takes_no_noise_is_no_array(door):
    @dataclass(frozen=True, eq=False)
    class Deaf(Levels):
        kept: list[Any] = field(default_factory=list)

        def numbers(self, tables: Any) -> Any:
            class Numb(np.ndarray):
                def __add__(self, other: Any) -> Any:
                    return self

            return tables[("a",)].view(Numb)

        def draw(self, tables: Any, event: Any, coins: Any) -> Any:
            return self.numbers(tables)

    entered(Deaf)
    guard = curator()
    if door == "measure":
        with pytest.raises(hr.UnsupportedQuery, match="whole numbers"):
            guard.measure(Deaf(), 1)
    else:
        assert ext.carry_out(guard, Deaf(), 1).tolist() == [0, 0, 0]
