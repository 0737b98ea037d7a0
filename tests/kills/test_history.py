"""The history checker finds every planted mistake, and nothing in a good history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.history import Paid, Sent, problems

HASHES = {n: f"hash {n}" for n in range(40)}


def receipt(seq: int) -> tuple[int, str]:
    return seq, HASHES[seq]


# Ann pays for `a`, and asks again after her connection broke; Bob gets it free at another server; he pays for
# `b`, whose first reply nobody heard; both ask `a` without an accuracy.
SENT = [
    Sent("ann", "r1", "a", True, 1.0),
    Sent("ann", "r1", "a", True, 2.0, 3.0, 41.0, "measured", None, receipt(10)),
    Sent("bob", "r1", "a", True, 3.5, 4.0, 41.0, "measured", None, receipt(10)),
    Sent("bob", "r2", "b", True, 4.5, 5.0, 0.0, "measured", 0.2, receipt(14)),
    Sent("ann", "r3", "b", True, 4.6, 6.0, 0.0, "measured", None, receipt(14)),
    Sent("ann", "r1", "a", True, 8.0, 8.1, 41.0, "measured", None, receipt(10)),
    Sent("ann", None, "a", False, 2.5, 2.6, 38.0, "learned"),
    Sent("bob", None, "a", False, 6.5, 6.6, 41.0, "measured"),
]
PAID = [Paid(9, "a", "ann", 41.0, 0.2), Paid(13, "b", "bob", -3.0, 0.2)]


def test_a_good_history_has_no_problems() -> None:
    assert problems(SENT, PAID, HASHES.get) == []
    assert problems([], [], HASHES.get) == []


BAD = {
    "uncharged": (SENT, PAID[:1], "never charged"),
    "charged twice": (SENT, [*PAID, Paid(20, "a", "ann", 41.0, 0.2)], "charged 2 times"),
    "fresh noise": (SENT, [replace(PAID[0], value=40.0), PAID[1]], "another value"),
    "two answers": ([*SENT, replace(SENT[2], value=44.0)], PAID, "two answers"),
    "not clamped": ([*SENT[:3], replace(SENT[3], value=-3.0), *SENT[4:]], PAID, "another value"),
    "shown first": ([replace(SENT[1], receipt=receipt(8))], PAID[:1], "before it was charged"),
    "nobody asked": ([s for s in SENT if s.question == "a"], PAID, "nobody asked"),
    "paid by another": (SENT, [PAID[0], replace(PAID[1], who="ann")], "somebody else"),
    "another price": (SENT, [PAID[0], replace(PAID[1], epsilon=0.3)], "something else"),
    "told twice": ([*SENT, replace(SENT[3], who="bob", request="r9")], PAID, "told to cost"),
    "a lost line": ([*SENT, replace(SENT[3], cost=None, receipt=(30, "another"))], PAID, "lost or changed"),
    "a lost tail": ([*SENT, replace(SENT[3], cost=None, receipt=(50, "gone"))], PAID, "lost or changed"),
    "an older ledger": (
        [*SENT, replace(SENT[2], who="eve", sent=7.0, got=8.0, receipt=receipt(10))], PAID, "older ledger",
    ),
    "a stale reader": ([*SENT[:7], replace(SENT[7], value=38.0, source="learned")], PAID, "otherwise"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_planted_mistake_is_found(name: str) -> None:
    sent, paid, words = BAD[name]
    found = problems(sent, paid, HASHES.get)
    assert any(words in problem for problem in found), found
