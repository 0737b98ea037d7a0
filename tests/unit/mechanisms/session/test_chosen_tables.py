"""A session in a large domain measures all pairs where that is best, and else chooses its tables."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive import everything, run
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.farther import Farther
from hedgerow.mechanisms.adaptive.look import NOTE as LOOK
from hedgerow.mechanisms.session import core, prime

SIZES = {"a": 20, "b": 20, "c": 20, "d": 12, "e": 12, "f": 12, "g": 2}
DOMAIN = hr.Domain(SIZES)
PLAN = hr.Session(epsilon=1, name="s")
RESIDUALS = "residuals of all tables"


def columns(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """All hang together, as numbers of one kind do: each is a part of what is common to all."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=rows)
    each = {a: 0.8 * common + 0.6 * rng.normal(size=rows) for a in SIZES}
    return {a: np.clip((x + 2.5) / 5.0 * SIZES[a], 0, SIZES[a] - 1).astype(int) for a, x in each.items()}


def curator(rows: int, ledger=":memory:", seed: int = 2) -> hr.Curator:
    budget, entropy = hr.Budget(epsilon=2, delta=1e-9), hr.testing.seeded(seed)
    return hr.Curator(hr.Table.open(columns(rows), DOMAIN), budget, ledger, entropy=entropy)


def notes(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]


def as_before(patch: pytest.MonkeyPatch) -> None:
    """A session measures all pairs, whatever is best."""
    release = AdaptiveRelease.release
    patch.setattr(prime, "best_run", prime.pairs_run)
    patch.setattr(
        AdaptiveRelease, "release", lambda s, c, w, **k: release(s, c, w, **(k | {"choose": False}))
    )


def off(session, rows: int) -> float:
    """How far counts of ranges of two attributes are from the truth, in rows."""
    made, rng, found = columns(rows), np.random.default_rng(1), []
    for pair in combinations(SIZES, 2):
        truth = np.zeros([SIZES[a] for a in pair])
        np.add.at(truth, tuple(made[a] for a in pair), 1.0)
        gap = session._core.belief.table(pair) - truth
        for _ in range(10):
            first, second = (slice(*sorted(rng.choice(k + 1, 2, replace=False))) for k in truth.shape)
            found.append(abs(float(gap[first, second].sum())))
    return float(np.mean(found))


def test_few_rows_have_chosen_tables_and_many_have_all_pairs(monkeypatch):
    """Noise is seeded."""
    for rows, chosen in ((4_000, True), (2_000_000, False)):
        guard = curator(rows)
        session = PLAN.open(guard)
        assert ("choose" in notes(guard)) == chosen
        assert (RESIDUALS in notes(guard)) != chosen
        assert (session._core.belief.learned.reconciled is None) == chosen
        with monkeypatch.context() as patch:
            as_before(patch)
            before = PLAN.open(curator(rows))
        assert before._core.belief.learned.reconciled is not None
        assert off(session, rows) < (0.9 if chosen else 1.01) * off(before, rows)


def test_a_session_of_before_goes_on_with_what_it_has_and_pays_nothing(tmp_path, monkeypatch):
    ledger = tmp_path / "l.db"
    with monkeypatch.context() as patch:
        as_before(patch)
        guard = curator(4_000, ledger)
        before = PLAN.open(guard)
        table, spent, told = before._core.belief.table(("a", "b")), guard.ledger.spent(), notes(guard)
        before.close()
    guard = curator(4_000, ledger)
    assert core.begun_sessions(guard, "s")
    session = PLAN.open(guard)
    assert np.array_equal(session._core.belief.table(("a", "b")), table)
    assert guard.ledger.spent() == spent
    assert notes(guard) == told


def test_a_session_of_before_that_was_stopped_goes_on_as_it_began(tmp_path, monkeypatch):
    ledger = tmp_path / "l.db"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        as_before(patch)
        whole = PLAN.open(curator(4_000))
        patch.setattr(Farther, "looked", killed)
        with pytest.raises(KeyboardInterrupt):
            PLAN.open(curator(4_000, ledger))
    session = PLAN.open(curator(4_000, ledger))
    assert np.array_equal(session._core.belief.table(("a", "b")), whole._core.belief.table(("a", "b")))


def test_a_session_of_before_whose_pairs_were_too_many_goes_on_with_the_look_that_it_had(
    tmp_path, monkeypatch
):
    """It had sharpened its one-way tables and looked at pairs, as a release does, before it chose."""
    ledger = tmp_path / "l.db"
    monkeypatch.setattr(everything, "NUMBERS", 1)
    with monkeypatch.context() as patch:
        as_before(patch)
        guard = curator(4_000, ledger)
        PLAN.open(guard)
        told, spent = notes(guard), guard.ledger.spent()
    assert LOOK in told
    shutil.rmtree(f"{ledger}.cache", ignore_errors=True)
    guard = curator(4_000, ledger)
    PLAN.open(guard)
    assert notes(guard) == told
    assert guard.ledger.spent() == spent
    fresh = curator(4_000)
    PLAN.open(fresh)
    assert LOOK not in notes(fresh)


def test_where_triples_are_too_many_to_choose_from_pairs_are_chosen(monkeypatch):
    monkeypatch.setattr(run, "TRIPLES", 1)
    guard = curator(4_000)
    session = PLAN.open(guard)
    assert "choose" in notes(guard)
    assert session._core.belief.learned.reconciled is None


def test_one_that_was_stopped_while_it_chose_goes_on_and_costs_no_more(tmp_path, monkeypatch):
    ledger, whole = tmp_path / "l.db", curator(4_000)
    known = PLAN.open(whole)._core.belief.table(("a", "b"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Farther, "looked", killed)
        with pytest.raises(KeyboardInterrupt):
            PLAN.open(curator(4_000, ledger))
    guard = curator(4_000, ledger)
    assert core.begun_sessions(guard, "s")
    session = PLAN.open(guard)
    assert np.allclose(session._core.belief.table(("a", "b")), known)
    assert guard.ledger.spent() == whole.ledger.spent()


def test_it_answers_learns_and_is_asked_again_in_no_time(tmp_path):
    """What was bought is fitted with the rest; asked again, it is free."""
    ledger = tmp_path / "l.db"
    guard = curator(4_000, ledger)
    session = replace(PLAN, epsilon=0.5).open(guard)
    sql = "SELECT COUNT(*) FROM t WHERE a < 10 AND c < 10"
    free = session.ask(sql)
    assert free.source == "learned"
    paid = session.ask(sql, within_count=40)
    assert paid.source == "measured"
    assert paid.error < free.error
    assert session.ask(sql, within_count=40).cached
    made = columns(4_000)
    assert abs(paid.value - float(((made["a"] < 10) & (made["c"] < 10)).sum())) <= paid.error


def test_learned_answers_say_which_attributes_were_not_measured_together():
    """A measured answer needs no such note, and neither does what was measured since."""
    session = PLAN.open(curator(4_000))
    held = {
        frozenset(p) for m in session._core.belief.learned.measurements for p in combinations(m.attributes, 2)
    }
    held |= {
        frozenset(p)
        for m in session._core.belief.learned.measurements
        for b in (m.workload.blocks if m.workload is not None else ())
        for p in combinations(b.attributes, 2)
    }
    left = [p for p in combinations(SIZES, 2) if frozenset(p) not in held]
    assert 0 < len(left) < 21
    for a, b in combinations(SIZES, 2):
        asked = f"SELECT COUNT(*) FROM t WHERE {a} = 1 AND {b} >= 1"
        for _ in range(2):  # learned, then as answered before
            said = [n for n in session.ask(asked).notes if f"{a!r} and {b!r} have to do with each" in n]
            assert len(said) == ((a, b) in left)
    a, b = left[0]
    measured = session.ask(f"SELECT COUNT(*) FROM t WHERE {a} = 2 AND {b} = 1", within_count=300)
    assert measured.source == "learned" or not any("was not measured" in n for n in measured.notes)
    assert not any(
        "was not measured" in n for n in session.ask(f"SELECT COUNT(*) FROM t WHERE {a} = 2").notes
    )
    every = session.ask(f"SELECT COUNT(*) FROM t WHERE {' AND '.join(f'{x} >= 1' for x in SIZES)}")
    assert any(f", and {len(left) - 1} other pair" in n for n in every.notes)
