"""Failing to come in: so often a minute for each address, in constant memory."""

from __future__ import annotations

import sys

import pytest

from hedgerow.errors import NoToken, RateLimited
from hedgerow.service.attempts import Attempts


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def fail(attempts: Attempts, address: str | None) -> None:
    with pytest.raises(NoToken), attempts.of(address):
        raise NoToken("no")


def test_failures_are_counted_and_run_out_with_time():
    clock = Clock()
    attempts = Attempts(3, clock)
    for _ in range(3):
        fail(attempts, "192.0.2.7")
    with pytest.raises(RateLimited, match="too many attempts"), attempts.of("192.0.2.7"):
        raise AssertionError("nothing is tried")
    clock.now += 20
    fail(attempts, "192.0.2.7")
    with pytest.raises(RateLimited), attempts.of("192.0.2.7"):
        pass
    clock.now += 600
    for _ in range(3):
        fail(attempts, "192.0.2.7")


def test_whoever_comes_in_is_not_counted_and_other_errors_are_none():
    attempts = Attempts(1, Clock())
    for _ in range(5):
        with attempts.of("192.0.2.7"):
            pass
        with pytest.raises(ValueError, match="else"), attempts.of("192.0.2.7"):
            raise ValueError("something else")
    fail(attempts, "192.0.2.7")


def test_a_network_is_one_address_and_many_addresses_take_no_memory():
    attempts = Attempts(1, Clock())
    fail(attempts, "2001:db8:1:2:3::1")
    with pytest.raises(RateLimited), attempts.of("2001:db8:1:2:ffff::9"):
        pass
    before = sys.getsizeof(attempts._failed)
    for i in range(9000):
        try:
            fail(attempts, f"10.{i % 100}.{i // 100}.1")
        except RateLimited:
            continue  # it shares a place with another one
    assert sys.getsizeof(attempts._failed) == before
    fail(Attempts(1), None)
