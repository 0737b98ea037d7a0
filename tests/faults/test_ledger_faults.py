"""The ledger among killed processes, racing processes, long histories and an adaptive adversary."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceeded
from hedgerow.privacy.budget import GRAIN, Budget, Cost
from hedgerow.privacy.event import (
    ZCDP,
    Approximate,
    BoundedRange,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    Pure,
    Repeat,
    Together,
)
from hedgerow.privacy.ledger.ledger import Entry, Ledger
from sizes import size

WORKER = Path(__file__).with_name("ledger_worker.py")


def start(*args: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def release(workers: list[subprocess.Popen[str]]) -> None:
    """Let all of them go at once, when all are ready."""
    for worker in workers:
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline()) == {"ready": True}
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()


def facts(text: str) -> list[dict[str, Any]]:
    """The whole lines a process wrote; a line cut off by its death was not seen."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def finish(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return facts(out)


class TestKilled:
    @pytest.mark.slow
    def test_no_answer_is_seen_uncharged_or_charged_twice_however_often_the_process_is_killed(
        self, tmp_path: Path
    ) -> None:
        rng = random.SystemRandom()
        kills = size(10, 200)
        seen: dict[int, str] = {}
        path = tmp_path / "0.db"
        repeated = 0
        for kill in range(kills):
            if kill % 10 == 0:  # a new ledger, so that deaths while it is made happen too
                seen, path = {}, tmp_path / f"{kill}.db"
            process = start("loop", path, max(seen, default=0))
            assert process.stdout is not None
            assert json.loads(process.stdout.readline()) == {"ready": True}
            first = process.stdout.readline() if kill % 2 else ""  # every other one gets to answer something
            time.sleep(rng.uniform(0, 0.15))
            process.kill()
            out = first + process.communicate()[0]
            for fact in facts(out):
                repeated += fact["request"] in seen
                assert seen.setdefault(fact["request"], fact["answer"]) == fact["answer"]
            check_kept(path, seen)
        assert repeated > 0  # the loop starts again at the last request it was seen to answer

    @pytest.mark.parametrize("where", ["inside act", "before commit", "after commit", "after return"])
    def test_death_at_any_point_of_a_charge_keeps_charge_and_answer_together(
        self, tmp_path: Path, where: str
    ) -> None:
        path = tmp_path / "l.db"
        process = start("die", path, where)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        ledger = Ledger.open(path)
        assert ledger.verify().ok
        kept = ledger.recall("r0", "q0")
        assert (kept is not None) == where.startswith("after")
        assert bool(facts(out)) == (where == "after return")
        for fact in facts(out):
            assert kept is not None
            assert kept.answer == fact["answer"].encode()
        again = ledger.charge(Pure("1/1000000"), lambda: (b"new", None), request="r0", question="q0")
        assert again.replayed == where.startswith("after")
        assert ledger.spent().amount == Fraction(1, 10**6)


def check_kept(path: Path, seen: dict[int, str]) -> None:
    """Everything seen is in the ledger, once and paid for, and the ledger verifies."""
    if not path.exists():
        assert not seen
        return
    ledger = Ledger.open(path)
    verification = ledger.verify()
    assert verification.ok, verification.describe()
    charged = [entry["line"] for entry in ledger.export()["entries"] if entry["line"]["kind"] == "charge"]
    requests = [line["request"] for line in charged]
    assert len(requests) == len(set(requests))
    assert ledger.spent().amount == Fraction(len(charged), 10**6)
    for request, answer in seen.items():
        kept = ledger.recall(f"r{request}", f"q{request}")
        assert kept is not None
        assert kept.answer == answer.encode()
    ledger.close()


class TestRacing:
    @pytest.mark.parametrize("processes", [2, 4])
    def test_processes_that_share_a_ledger_use_it_up_exactly(self, tmp_path: Path, processes: int) -> None:
        path = tmp_path / "l.db"
        charges = size(300, 2000)
        Ledger.open(path, budget=Budget(epsilon=1)).close()
        workers = [start("spend", path, f"1/{charges}") for _ in range(processes)]
        release(workers)
        paid = [fact["paid"] for worker in workers for fact in finish(worker)]
        ledger = Ledger.open(path)
        assert sum(paid) == charges
        assert sum(count > 0 for count in paid) >= 2  # there was a race
        assert ledger.remaining().is_zero
        verification = ledger.verify()
        assert verification.ok, verification.describe()
        assert verification.entries == charges + 1

    def test_processes_that_make_a_ledger_at_once_make_one(self, tmp_path: Path) -> None:
        for attempt in range(size(3, 20)):
            path = tmp_path / f"{attempt}.db"
            workers = [start("meet", path) for _ in range(4)]
            release(workers)
            met = [fact for worker in workers for fact in finish(worker)]
            assert len(met) == 4
            assert len({(fact["ledger"], fact["key"]) for fact in met}) == 1
            with Ledger.open(path) as ledger:
                assert ledger.spent().amount == Fraction(4, 10**6)
                assert ledger.verify().ok
            assert {file.name for file in tmp_path.glob(".*")} == set()


class TestLongHistory:
    @pytest.mark.slow
    @pytest.mark.parametrize(("account", "crowd"), [("owner", "owner"), ("owner", "ada"), ("ada", "owner")])
    def test_the_last_of_many_charges_takes_as_many_steps_as_the_first(
        self, account: str, crowd: str
    ) -> None:
        ledger = Ledger.open(":memory:", budget=Budget(epsilon=1, delta=1e-9))
        ledger.allot("ada", ledger.remaining().share("1/2"))
        connection = ledger._store._connection()
        steps = statements = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        def statement(_: str) -> None:
            nonlocal statements
            statements += 1

        def pay(payer: str, i: int) -> Entry:
            event, request = Gaussian(1, 7000 + i % 7), f"request {i:09}"
            return ledger.charge(event, lambda: (b"42", b"s"), account=payer, request=request)

        def measured(i: int) -> tuple[int, int, int]:
            nonlocal steps, statements
            steps = statements = 0
            connection.set_progress_handler(step, 1)
            connection.set_trace_callback(statement)
            entry = pay(account, i)
            connection.set_progress_handler(None, 1)
            connection.set_trace_callback(None)
            return steps, statements, len(str(entry.spent.grains))

        measured(0)  # the first one prepares the statements
        first = measured(1)
        charges = size(1_500, 10_000)
        for i in range(2, charges):
            pay(crowd, i)
        last = measured(charges)
        assert first[0] > 50
        assert last[0] <= first[0] + 10
        assert last[1] == first[1]
        assert last[2] <= first[2] + 5


def event_and_price(rng: random.Random, currency: str, size: Fraction) -> tuple[Event, Fraction, Fraction]:
    """An act of about a size, and what it truly costs by the textbook: (epsilon, 0) or (rho, delta)."""
    e = size * rng.randint(1, 100) / 100
    simple: list[tuple[Event, Fraction, Fraction]]
    if currency == "epsilon":
        simple = [
            (Pure(e), e, Fraction(0)),
            (Laplace(1, 1 / e), e, Fraction(0)),
            (Exponential(e), e, Fraction(0)),
        ]
    else:
        sigma, d = 1 / e, Fraction(rng.randint(0, 30), 10**9)
        simple = [
            (Pure(e), e**2 / 2, Fraction(0)),
            (BoundedRange(e), e**2 / 8, Fraction(0)),
            (Gaussian(3, sigma), 3 / sigma**2 / 2, Fraction(0)),
            (ZCDP(e, d), e, d),
            (Approximate(e, d), e**2 / 2, d),
        ]
    event, price, delta = rng.choice(simple)
    other, more, deltas = rng.choice(simple)
    times = rng.randint(1, 3)
    shapes = [
        (event, price, delta),
        (Repeat(event, times), times * price, times * delta),
        (Together((event, other)), price + more, delta + deltas),
    ]
    return rng.choice(shapes)


@dataclass
class Shadow:
    """What an account may have, kept by hand in exact fractions."""

    limit: tuple[Fraction, Fraction]
    parent: str | None = None
    open: bool = True
    paid: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    children: list[str] = field(default_factory=list)


class Adversary:
    """Experiment b of [DRV10] Sec. 3.1, with allotments: each move depends on all answers so far."""

    def __init__(self, seed: int, budget: Budget) -> None:
        self.b = seed % 2
        self.noise = random.Random(seed)  # the mechanisms' coins; the adversary never sees them
        self.view = hashlib.sha256(str(seed).encode())
        self.ledger = Ledger.open(":memory:", budget=budget)
        capacity = budget.cost
        self.shadows = {"owner": Shadow((capacity.amount, capacity.delta))}
        self.capacity = capacity
        self.refused = self.paid = 0

    def play(self, rounds: int) -> None:
        for _ in range(rounds):
            rng = random.Random(self.view.digest())
            move = rng.choices((self.ask, self.allot, self.settle), weights=(8, 2, 1))[0]
            move(rng)
            self.check()

    def account(self, rng: random.Random) -> str:
        return rng.choice([name for name, shadow in self.shadows.items() if shadow.open])

    def ask(self, rng: random.Random) -> None:
        name = self.account(rng)
        size = self.capacity.amount * Fraction(rng.choice((1, 5, 40)), 100)
        event, price, delta = event_and_price(rng, self.capacity.currency, size)
        # Two adjacent databases of the adversary's choice; the experiment answers about the b-th.
        databases = [rng.randint(0, 9)] * 2
        databases[1] += 1
        acts = 0

        def act() -> tuple[bytes, bytes]:
            nonlocal acts
            acts += 1
            noisy = databases[self.b] + self.noise.randint(-5, 5)
            return str(noisy).encode(), b"state"

        fits = self.fits(name, price, delta)
        try:
            answer = self.ledger.charge(event, act, account=name).answer
        except BudgetExceeded:
            # Costs round up to the grain: only by that much may something fit and yet be refused.
            assert not self.fits(name, price + Fraction(2000, GRAIN), delta + Fraction(2000, GRAIN))
            assert acts == 0
            self.refused += 1
            self.view.update(b"refused")
            return
        assert fits
        assert acts == 1
        shadow = self.shadows[name]
        shadow.paid = (shadow.paid[0] + price, shadow.paid[1] + delta)
        self.paid += 1
        self.view.update(answer or b"")

    def allot(self, rng: random.Random) -> None:
        parent, name = self.account(rng), f"account {len(self.shadows)}"
        part = Fraction(rng.randint(1, 60), 100)
        share = Cost(self.capacity.currency, self.capacity.amount * part, self.capacity.delta * part)
        try:
            self.ledger.allot(name, share, parent)
        except BudgetExceeded:
            assert not self.fits(parent, share.amount + Fraction(2000, GRAIN), share.delta)
            self.view.update(b"refused")
            return
        assert self.fits(parent, share.amount, share.delta)
        self.shadows[name] = Shadow((share.amount, share.delta), parent)
        self.shadows[parent].children.append(name)
        self.view.update(b"allotted")

    def settle(self, rng: random.Random) -> None:
        name = self.account(rng)
        if name != "owner":
            self.ledger.settle(name)
            self.close(name)
        self.view.update(b"settled")

    def close(self, name: str) -> None:
        self.shadows[name].open = False
        for child in self.shadows[name].children:
            self.close(child)

    def used(self, name: str) -> tuple[Fraction, Fraction]:
        """Paid by the account, plus open allotments whole and closed ones as far as they were used."""
        shadow = self.shadows[name]
        amount, delta = shadow.paid
        for child in shadow.children:
            more = self.shadows[child].limit if self.shadows[child].open else self.used(child)
            amount, delta = amount + more[0], delta + more[1]
        return amount, delta

    def fits(self, name: str, price: Fraction, delta: Fraction) -> bool:
        used, limit = self.used(name), self.shadows[name].limit
        return used[0] + price <= limit[0] and used[1] + delta <= limit[1]

    def check(self) -> None:
        """The true total never passes the budget, and the ledger never understates an account."""
        totals = [sum(shadow.paid[i] for shadow in self.shadows.values()) for i in (0, 1)]
        assert totals[0] <= self.capacity.amount
        assert totals[1] <= self.capacity.delta
        for name in self.shadows:
            used, spent = self.used(name), self.ledger.spent(name)
            assert 0 <= spent.amount - used[0] <= Fraction(2000, GRAIN)
            assert 0 <= spent.delta - used[1] <= Fraction(2000, GRAIN)


class TestAdaptiveComposition:
    @pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/10", delta=1e-6)], ids=str)
    @settings(max_examples=size(15, 200), deadline=None)
    @given(seed=st.integers(0, 2**64))
    def test_no_adaptive_adversary_passes_the_budget(self, budget: Budget, seed: int) -> None:
        adversary = Adversary(seed, budget)
        adversary.play(60)
        assert adversary.paid > 0
        verification = adversary.ledger.verify(adversary.ledger.receipt())
        assert verification.ok, verification.describe()

    @pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/10", delta=1e-6)], ids=str)
    def test_the_adversary_does_reach_the_budget(self, budget: Budget) -> None:
        adversary = Adversary(7, budget)
        adversary.play(200)
        assert adversary.refused > 0
        assert adversary.paid > 10
