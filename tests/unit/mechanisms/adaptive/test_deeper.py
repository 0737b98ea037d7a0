"""Triples that stand out are measured first: what it costs and wins, when it is not done, old ledgers."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.deeper import FIRST, LOOK, PAIRS, Deeper
from hedgerow.mechanisms.adaptive.farther import NOTE as FARTHER
from hedgerow.mechanisms.adaptive.shares import Outlook
from sizes import size

SIZES = {"a": 6, "b": 5, "c": 6, "d": 4, "e": 3}
TOLD = ("a", "b", "c")


def rows(number: int = 20_000) -> dict[str, np.ndarray]:
    """One attribute is a function of two others, and no pair shows it."""
    rng = np.random.default_rng(12)
    a, b, d, e = (rng.integers(0, SIZES[k], number) for k in "abde")
    return {"a": a, "b": b, "c": (a + b) % 6, "d": d, "e": e}


def curator(columns, epsilon=0.3, seed=5, ledger=":memory:") -> hr.Curator:
    table, budget = hr.Table.open(columns, hr.Domain(SIZES)), hr.Budget(epsilon=epsilon, delta=1e-9)
    return hr.Curator(table, budget=budget, ledger=ledger, entropy=hr.testing.seeded(seed))


def notes(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]


def error(made, columns) -> float:
    gaps = []
    for names in combinations(SIZES, 3):
        shape = [SIZES[n] for n in names]
        flat = np.ravel_multi_index([columns[n] for n in names], shape)
        true = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        gaps.append(np.abs(made.table(names) - true).sum() / len(flat))
    return float(np.mean(gaps))


def in_one_act(patch: pytest.MonkeyPatch) -> None:
    """As it was before triples were looked at."""
    patch.setattr(Deeper, "__bool__", lambda self: False)


@pytest.fixture(scope="module")
def released():
    columns = rows()
    guard = curator(columns)
    return AdaptiveRelease().release(guard, hr.marginals(guard.domain, 3)), guard, columns


def test_the_triple_that_holds_everything_is_measured_first_and_all_is_charged(released):
    made, guard, _ = released
    acts = ["one-way tables", PAIRS, LOOK, FIRST, LOOK, "residuals of all tables", FARTHER]
    assert notes(guard) == acts
    measured = [{r.attributes for r in m.strategy.residuals} for m in made.measurements if m.strategy]
    assert max(len(s) for s in measured[0]) == 2
    assert measured[1] == {TOLD}
    assert guard.ledger.spent() <= guard.budget.cost
    assert float(guard.ledger.spent().amount) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)


def test_it_is_nearer_to_the_rows_than_all_residuals_in_one_act(monkeypatch):
    """Means of three seeded runs."""
    columns = rows()
    asked = hr.marginals(hr.Domain(SIZES), 3)
    ours = [error(AdaptiveRelease().release(curator(columns, seed=s), asked), columns) for s in range(3)]
    in_one_act(monkeypatch)
    plain = [error(AdaptiveRelease().release(curator(columns, seed=s), asked), columns) for s in range(3)]
    assert np.mean(ours) < 0.9 * np.mean(plain)


def test_stated_errors_of_measured_and_other_triples_cover_the_rows(released):
    made, _, columns = released
    inside = total = 0
    for names in combinations(SIZES, 3):
        flat = np.ravel_multi_index([columns[n] for n in names], [SIZES[n] for n in names])
        answer = made.answer(hr.marginals(made.domain, [names]))
        true = np.bincount(flat, minlength=answer.value.size)
        inside += int((np.abs(answer.value - true) <= answer.error).sum())
        total += true.size
    assert inside >= 0.93 * total


def test_nothing_is_looked_at_where_noise_would_hide_it_or_chance_itself_is_measured():
    for number, epsilon in ((300, 0.3), (20_000, 30.0)):
        guard = curator(rows(number), epsilon)
        AdaptiveRelease().release(guard, hr.marginals(guard.domain, 3))
        assert LOOK not in notes(guard)


def test_looks_can_be_paid_for_whatever_is_measured_between_them(monkeypatch):
    """Every act takes as much as it may: what was kept for looks that are over is not asked for again."""
    plan = Outlook.plan

    def dear(self, precision):
        found = plan(self, precision)
        least = dict.fromkeys(self.tables, min(found.precisions.values()))
        return replace(found, parts=dict.fromkeys(found.parts, 1.0), precisions={**least, **found.precisions})

    monkeypatch.setattr(Outlook, "plan", dear)
    monkeypatch.setattr(Deeper, "_standing_out", lambda self, distances, plan: list(distances)[:1])
    guard = curator(rows())
    AdaptiveRelease().release(guard, hr.marginals(guard.domain, 3))
    assert notes(guard).count(FIRST) == 3
    assert notes(guard).count(LOOK) == 4
    assert guard.ledger.spent() <= guard.budget.cost


def test_pairs_are_measured_in_one_act_as_ever():
    guard = curator(rows())
    AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    assert PAIRS not in notes(guard)
    assert LOOK not in notes(guard)


def test_a_release_of_before_that_measured_all_in_one_act_is_given_again_free(tmp_path):
    guard = curator(rows(), ledger=tmp_path / "one.db")
    asked = hr.marginals(guard.domain, 3)
    with pytest.MonkeyPatch.context() as patch:
        in_one_act(patch)
        before = AdaptiveRelease(run="year").release(guard, asked)
    spent = guard.ledger.spent()
    again = AdaptiveRelease(run="year").release(guard, asked)
    assert guard.ledger.spent() == spent
    assert LOOK not in notes(guard)
    assert np.array_equal(again.table(TOLD), before.table(TOLD))


def test_one_that_stopped_between_its_acts_goes_on_and_pays_once(tmp_path, monkeypatch):
    columns = rows()
    whole = curator(columns)
    asked = hr.marginals(whole.domain, 3)
    AdaptiveRelease(run="year").release(whole, asked)
    guard, done = curator(columns, ledger=tmp_path / "one.db"), 0
    real = hr.Curator.measure_all

    def stops(self, *args, **rest):
        nonlocal done
        found = real(self, *args, **rest)
        done += 1
        if done in (2, 5, 9):  # after pairs, after what stands out, ...
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(hr.Curator, "measure_all", stops)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            AdaptiveRelease(run="year").release(guard, asked)
    AdaptiveRelease(run="year").release(guard, asked)
    acts = notes(guard)
    assert acts[:3] == ["one-way tables", PAIRS, LOOK]
    assert acts[-2:] == ["residuals of all tables", FARTHER]
    assert acts.count("residuals of all tables") == acts.count(PAIRS) == 1
    assert guard.ledger.spent() <= guard.budget.cost


WORKER = """
import os, signal, sys
from contextlib import contextmanager
sys.path[:0] = [{here!r}, {sizes!r}]
from test_deeper import AdaptiveRelease, curator, hr, notes, rows
from hedgerow.privacy.ledger.ledger import Ledger
path, stop, real, count = sys.argv[1], int(sys.argv[2]), Ledger.transaction, 0
@contextmanager
def transaction(self, **k):
    global count
    count += 1
    with real(self, **k) as inner:
        yield inner
        if count == stop:
            os.kill(os.getpid(), signal.SIGKILL)  # written, not yet committed
Ledger.transaction = transaction
guard = curator(rows(), ledger=path)
AdaptiveRelease(run="killed").release(guard, hr.marginals(guard.domain, 3))
assert guard.ledger.spent() <= guard.budget.cost
print(count, guard.ledger.spent().amount * 10**6 // guard.budget.cost.amount, *notes(guard), sep="|")
"""


@pytest.mark.slow
def test_killed_between_looks_and_measurements_it_goes_on_and_pays_once(tmp_path):
    here = Path(__file__).parent
    code = WORKER.format(here=str(here), sizes=str(here.parents[2]))

    def go(name, stop):
        command = [sys.executable, "-c", code, str(tmp_path / name), str(stop)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    whole = go("whole.db", 0)
    assert whole.returncode == 0, whole.stderr
    phases = int(whole.stdout.split("|")[0])
    for stop in size([4, 5], list(range(1, phases + 1))):
        assert go(f"{stop}.db", stop).returncode == -signal.SIGKILL
        resumed = go(f"{stop}.db", 0)
        assert resumed.returncode == 0, resumed.stderr
        _, part, *acts = resumed.stdout.strip().split("|")
        assert int(part) >= 999_980
        assert acts[:3] == ["one-way tables", PAIRS, LOOK]
        assert acts[-2:] == ["residuals of all tables", FARTHER]
        assert acts.count(PAIRS) == 1


def test_a_triple_of_which_more_is_known_to_be_there_is_measured_better():
    sizes, ones = (
        {"a": 3, "b": 4, "c": 5},
        {a: np.full(n, 1.0 / n) for a, n in zip("abc", (3, 4, 5), strict=True)},
    )
    three = ("a", "b", "c")
    parts = [
        Outlook(sizes, {three: 1.0}, 1e4, ones, signals={three: s}).plan(1e-2).parts[three]
        for s in (1.0, 1e3, 1e6)
    ]
    assert parts[0] < parts[1] < parts[2]
