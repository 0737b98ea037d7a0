"""A session holds a bounded number of answers, and finds those that it let go in the ledger again."""

from __future__ import annotations

import threading

import numpy as np

import hedgerow as hr
from hedgerow.mechanisms.session import cache as caching
from hedgerow.mechanisms.session.cache import Cache, Promise
from hedgerow.synopsis.answer import Answer

SURE = Promise(0.95, False, 10.0)


def answer(value: float) -> Answer:
    return Answer(value, 1.0, 0.95, "certified")


class Kept:
    """A ledger that has what was written."""

    def __init__(self) -> None:
        self.lines: dict[str, list[dict]] = {}

    def __call__(self, key: str, whole: bool) -> list[dict]:
        return self.lines.get(key, [])

    def write(self, cache: Cache) -> None:
        for line in cache.unwritten():
            self.lines.setdefault(line["key"], []).append(line)
        cache.written()
        cache.settle()


def test_answers_that_were_let_go_are_found_again_as_they_were():
    ledger = Kept()
    cache = Cache(ledger, most=40)
    for i in range(200):
        cache.keep(f"q{i}", SURE, answer(float(i)), 10.0)
        ledger.write(cache)
        assert len(cache) <= 40
    for i in range(200):
        found = cache.find(f"q{i}", SURE, settled=True)
        assert found is not None
        assert found.value == float(i)
        assert cache.find(f"q{i}", Promise(0.9, False, 12.0)).value == float(i)
    for i in range(1000):
        assert cache.find(f"never {i}", SURE) is None
    assert len(cache._held) <= 40


def test_what_is_not_written_yet_is_never_let_go():
    cache = Cache(most=5)
    for i in range(50):
        cache.keep(f"q{i}", SURE, answer(float(i)), 10.0)
    for i in range(50):
        cache.find(f"never {i}", SURE)
    assert [line["value"] for line in cache.unwritten()] == [float(i) for i in range(50)]


def test_readers_beside_the_session_always_find_what_is_in_the_ledger():
    ledger, wrong = Kept(), list[int]()
    cache = Cache(ledger, most=30)
    for i in range(100):
        cache.keep(f"q{i}", SURE, answer(float(i)), 10.0)
        ledger.write(cache)

    def read(start: int) -> None:
        for i in range(600):
            number = (start + 7 * i) % 100
            found = cache.find(f"q{number}", SURE, settled=True)
            if found is None or found.value != float(number):
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(13 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for i in range(100, 300):
        cache.keep(f"q{i}", SURE, answer(float(i)), 10.0)
        ledger.write(cache)
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_session_says_again_what_it_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr(caching.Cache.__init__, "__defaults__", (lambda key, whole: (), 12))
    domain = hr.Domain({"a": 3, "b": 4})
    data = {"a": [i % 3 for i in range(600)], "b": [i % 4 for i in range(600)]}
    made = hr.Curator(hr.Table.open(data, domain), hr.Budget(epsilon=9), tmp_path / "l.db")
    session = hr.Session(epsilon=1).open(made)
    asks = [
        (f"SELECT COUNT(*) FROM t WHERE a = {i % 3} AND b = {i // 3}", rows)
        for i in range(12)
        for rows in (60, 90)
    ]
    first = [session.ask(sql, within_count=rows) for sql, rows in asks]
    spent = made.ledger.spent()
    assert len(session._core.cache) <= 12
    assert session._core.cache._forgot
    again = [session.ask(sql, within_count=rows) for sql, rows in asks]
    assert made.ledger.spent() == spent
    assert all(a.cached for a in again)
    assert all(np.array_equal(a.value, b.value) for a, b in zip(first, again, strict=True))
