"""One session in several processes and threads: turns, crashes, allotments and what was set aside."""

from __future__ import annotations

import importlib.util
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.session import log as session_log
from hedgerow.privacy.ledger.ledger import Ledger
from sizes import size

WORKER = Path(__file__).with_name("session_worker.py")
_spec = importlib.util.spec_from_file_location("session_worker", WORKER)
assert _spec is not None
assert _spec.loader is not None
worker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(worker)


class Talker:
    """A process that holds the session."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def opens(self, path: Path) -> None:
        self.send(str(path))
        assert self.hear() == "ready"

    def send(self, order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            pytest.fail(self.process.stderr.read())
        return json.loads(line)

    def say(self, do: str = "ask", i: int = 0, who: str = "owner", **options: Any) -> Any:
        self.send({"do": do, "i": i, "who": who, **options})
        return self.hear()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    worker.begin(str(tmp_path / "l.db"))
    return tmp_path / "l.db"


@pytest.fixture(scope="module")
def processes() -> Iterator[list[Talker]]:
    """Processes that wait for work: starting one takes longer than what it is asked."""
    talkers: list[Talker] = []
    yield talkers
    for talker in talkers:
        talker.kill()


@pytest.fixture
def two(ledger: Path, processes: list[Talker]) -> list[Talker]:
    processes[:] = [talker for talker in processes if talker.process.poll() is None]
    while len(processes) < 2:
        processes.append(Talker())
    for talker in processes:
        talker.send(str(ledger))
    for talker in processes:
        assert talker.hear() == "ready"
    return list(processes)


def what(fact: dict[str, Any]) -> tuple[Any, ...]:
    """What must be the same when a question is asked again."""
    return json.dumps(fact["value"]), json.dumps(fact["error"]), fact["source"]


def check_ledger(path: Path) -> None:
    """No allotment and no total is passed, at any line, and the chain holds."""
    with Ledger.open(path, create=False) as kept:
        assert kept.verify().ok
        for line in kept.export()["entries"]:
            fields = line["line"]
            assert int(fields["spent"]["rho"]) <= int(fields["limit"]["rho"])
        for name, rho in worker.ALLOTTED.items():
            assert kept.spent(name).amount <= Fraction(rho)
        assert kept.spent().amount <= kept.budget.cost.amount


def test_two_processes_continue_one_session_in_any_interleaving(ledger: Path, two: list[Talker]) -> None:
    rng, given, paid = random.Random(5), {}, 0
    orders = [(rng.randrange(140), rng.choice([0.04] * 6 + [0.02])) for _ in range(size(220, 900))]
    for order in orders:
        i, within = order
        talker, who = rng.choice(two), rng.choice(["owner", "ann", "bob"])
        if rng.random() < 0.1:
            talker.say("close", who=who)
        if rng.random() < 0.2:
            talker.say("explain", i, who)
        fact = talker.say("ask", i, who, within=within)
        if fact.get("refused"):
            continue
        if order in given:
            assert fact["cached"]
            assert fact["cost"] is None
            assert what(fact) == given[order]
        given[order] = what(fact)
        paid += fact["cost"] is not None
    sources = {source for _, _, source in given.values()}
    assert "measured" in sources  # and nearly always certified ones: that depends on noise
    assert sources <= {"certified", "measured"}
    assert paid >= 3
    check_ledger(ledger)
    curator, session, _ = worker.open_session(str(ledger))
    for (i, within), said in given.items():
        again = session.ask(worker.question(i), within)
        assert again.cached
        assert json.dumps(np.asarray(again.value).tolist()) == said[0]
    session.close()
    assert not open_reserves(curator.ledger)


def open_reserves(kept: Ledger) -> list[str]:
    return [n for n in session_log._accounts(kept) if ": reserve " in n]


def test_medians_are_the_same_in_every_process(two: list[Talker]) -> None:
    first, second = two
    before, table = first.say("median"), first.say("table")
    second.say("learn")  # the median would be another one now
    assert second.say("table") != table
    assert what(second.say("median")) == what(before)
    assert second.say("median", who="ann")["cached"]
    assert first.say("table") == second.say("table")


def test_a_process_that_is_killed_leaves_its_reserve_to_the_next_or_to_the_owner(
    ledger: Path, two: list[Talker]
) -> None:
    first, second = two
    asked = iter(range(3, 700, 7))
    while first.say("ask", next(asked))["source"] != "certified":
        pass
    with Ledger.open(ledger, create=False) as kept:
        held = open_reserves(kept)
        assert len(held) == 1
        first.kill()
        source, taken = second.say("ask", next(asked))["source"], open_reserves(kept)
        if source == "certified":
            assert taken == held  # taken over
        assert len(taken) <= 1  # a comparison that trips, by noise, uses it up
        before = kept.spent()
        assert session_log.give_back(kept) == len(taken)  # while the second process lives
        assert not open_reserves(kept)
        assert kept.spent().amount < before.amount or not taken
        assert session_log.give_back(kept) == 0
        for _ in range(3):
            assert second.say("ask", next(asked))["source"] in ("certified", "measured")
        second.kill()
        assert session_log.give_back(kept) <= 1
        assert not open_reserves(kept)
    check_ledger(ledger)


def test_an_account_that_only_looks_like_a_reserve_is_left_alone(tmp_path: Path) -> None:
    curator = hr.Curator(worker.table(), worker.BUDGET, tmp_path / "l.db")
    curator.allot(hr.Budget(rho="1/10", delta=0), "session x: reserve 0123456789ab")
    assert session_log.give_back(curator.ledger) == 0
    assert not curator.ledger.is_closed("session x: reserve 0123456789ab")


@pytest.mark.slow
def test_threads_and_processes_at_once_pass_no_allotment_and_no_total(
    ledger: Path, two: list[Talker]
) -> None:
    """Every analyst asks in both processes and several threads; the same question is paid at most once."""
    rng, each = random.Random(6), size(25, 120)
    for talker in two:
        threads = [
            [{"do": "ask", "i": rng.randrange(140), "who": who} for _ in range(each)]
            for who in ("owner", "ann", "bob", "cat")
        ]
        talker.send(threads)
    facts = [fact for talker in two for fact in talker.hear()]
    given: dict[int, Any] = {}
    paid: dict[int, int] = {}
    for order, fact in facts:
        if not fact.get("refused"):
            assert what(fact) == given.setdefault(order["i"], what(fact))
            paid[order["i"]] = paid.get(order["i"], 0) + (fact["cost"] is not None)
    assert len(given) > 30
    assert max(paid.values()) == 1
    assert any(f.get("refused") for o, f in facts if o["who"] == "cat")
    check_ledger(ledger)


@pytest.mark.slow
def test_a_session_whose_processes_are_killed_again_and_again_goes_on(
    ledger: Path, two: list[Talker]
) -> None:
    rng, given = random.Random(7), {}
    other, dying = two
    for _ in range(size(1, 8)):
        if dying.process.poll() is not None:
            dying = Talker()
            dying.opens(ledger)
        orders = [
            [{"do": "ask", "i": rng.randrange(70), "who": w} for _ in range(30)] for w in ("ann", "bob")
        ]
        dying.send(orders)
        for i in rng.sample(range(70), 12):
            fact = other.say("ask", i)
            if not fact.get("refused"):
                assert what(fact) == given.setdefault(i, what(fact))
        dying.kill()
    for i in given:
        assert what(other.say("ask", i)) == given[i]
    check_ledger(ledger)
