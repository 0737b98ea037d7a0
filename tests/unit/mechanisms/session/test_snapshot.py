"""Snapshots: the next process need not fit again, nobody can tell by the answers, or gain by planting one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.session import calibration, log, snapshot
from hedgerow.mechanisms.session.snapshot import SealedFile

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3)), "c": 4})
KINDS = {"dense": 1 << 22, "factored": 10}
SQL = "SELECT sex, k, COUNT(*) FROM t GROUP BY sex, k"


@pytest.fixture
def people(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    rows = zip(rng.choice(["F", "M"], 2000), rng.integers(0, 80, 2000), rng.integers(0, 3, 2000), strict=True)
    path = tmp_path / "people.csv"
    path.write_text("sex,age,k,c\n" + "".join(f"{s},{a},{k},{(a + k) % 4}\n" for s, a, k in rows))
    return path


def curator(path: Path) -> hr.Curator:
    table = hr.Table.open(path, DOMAIN, later=True)
    return hr.Curator(table, hr.Budget(rho=20, delta=1e-6))


def plan(kind: str = "dense", **options) -> hr.Session:
    return hr.Session(epsilon=1, cells=KINDS[kind], **options)


def file_of(path: Path, kind: str = "dense") -> Path:
    c = curator(path)
    with c.ledger:
        found = SealedFile(c.ledger, plan(kind)._name(c), "belief").path
    assert found is not None
    return found


def said(path: Path, kind: str = "dense", seed: int = 0) -> list[object]:
    """What a process that was just started says to questions that nobody has asked before."""
    c, rng = curator(path), np.random.default_rng(seed)
    with c.ledger, plan(kind).open(c) as session:
        levels = rng.random(10) < 0.6
        found = [
            session.table(["sex", "age", "k", "c"]),
            session.ask(hr.Query.where(DOMAIN, {"age": levels, "k": [0, 1]})),
            session.ask(hr.Query.where(DOMAIN, {"age": levels, "k": [0], "c": [1, 2], "sex": "F"})),
            session.ask(f"SELECT sex, AVG(age) FROM t WHERE k < {1 + seed % 2} GROUP BY sex"),
            session.median("age"),
        ]
        return [_plain(f) for f in found]


def _plain(found: object) -> object:
    if isinstance(found, np.ndarray):
        return found.tolist()
    return np.asarray(found.value).tolist(), np.asarray(found.error).tolist()


def never(*_: object, **__: object) -> None:
    raise AssertionError("this was fitted again")


@pytest.fixture
def no_fit(monkeypatch):
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.mechanisms.session import dense_belief

    def forbid() -> None:
        monkeypatch.setattr(dense_belief, "fitted", never)
        monkeypatch.setattr(calibration, "fitted", never)
        monkeypatch.setattr(AdaptiveRelease, "release", never)

    return forbid


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_process_does_not_fit_again(people, kind, no_fit):
    said(people, kind)
    no_fit()
    said(people, kind, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_identical_with_and_without_a_snapshot(people, kind, size):
    said(people, kind)
    for seed in range(1, size(3, 40)):
        c = curator(people)
        before = c.ledger.path.read_bytes()  # the same questions twice must both be new ones
        c.ledger.close()
        kept = said(people, kind, seed)
        people.with_name("people.csv.hedgerow.db").write_bytes(before)
        file_of(people, kind).unlink()
        assert said(people, kind, seed) == kept


def _tripped(path: Path, kind: str) -> tuple[list[object], int]:
    """A session whose learned tables are wrong, so that it measures and learns one."""
    c = curator(path)
    with c.ledger, plan(kind).open(c) as session:
        price = c.price(hr.Budget(rho="1/50", delta=0))
        with session._core.turn():
            session._core.learn_table(c, ("sex", "c"), price)
        return session.table(["sex", "age", "c"]).tolist(), session._core.belief.version


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", ["newest", "older", "none"])
def test_tables_that_were_learned_later_are_in_it_or_follow_after_it(people, kind, keep):
    said(people, kind)
    older = file_of(people, kind).read_bytes()
    now, version = _tripped(people, kind)
    assert version == 1
    if keep == "older":
        file_of(people, kind).write_bytes(older)
    elif keep == "none":
        file_of(people, kind).unlink()
    c = curator(people)
    with c.ledger, plan(kind).open(c) as session:
        assert session._core.belief.version == 1
        assert session.table(["sex", "age", "c"]).tolist() == now
        assert c.ledger.verify().ok


def _with_version(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(hr, "__version__", "0.0.1")
    path.unlink()
    said(path.parent.parent / "people.csv")
    monkeypatch.undo()


def _with_format(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(snapshot, "_FORMAT", snapshot._FORMAT + 1)


def _of_another_session(path: Path, monkeypatch) -> None:
    people = path.parent.parent / "people.csv"
    c = curator(people)
    with c.ledger, hr.Session(epsilon="0.25").open(c) as session:
        session.ask(SQL)
        other = SealedFile(c.ledger, session._core.name, "belief").path
    os.replace(other, path)


def _of_another_ledger(path: Path, monkeypatch) -> None:
    people = path.parent.parent / "people.csv"
    elsewhere = people.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "people.csv").write_bytes(people.read_bytes())
    said(elsewhere / "people.csv")
    os.replace(file_of(elsewhere / "people.csv"), path)


def _of_a_line_that_is_gone(path: Path, monkeypatch) -> None:
    """Written for a ledger that went another way since."""
    people = path.parent.parent / "people.csv"
    ledger = people.with_name("people.csv.hedgerow.db")
    before = ledger.read_bytes()
    _tripped(people, "dense")
    newer = path.read_bytes()
    ledger.write_bytes(before)
    path.write_bytes(newer)


def _unsealed(path: Path, monkeypatch) -> None:
    """Somebody who may write the folder, and does not know the ledger's key."""
    held = path.read_bytes()[snapshot._SEAL :]
    import hashlib

    path.write_bytes(hashlib.blake2b(held, key=b"", digest_size=snapshot._SEAL).digest() + held)


def _pickled(path: Path, monkeypatch) -> None:
    np.savez(path, data=np.array([{"a": 1}], dtype=object))


SPOILED = {
    "empty": lambda path, _: path.write_bytes(b""),
    "cut off": lambda path, _: path.write_bytes(path.read_bytes()[:-7]),
    "one bit": lambda path, _: path.write_bytes(_flipped(path.read_bytes())),
    "no snapshot": lambda path, _: path.write_bytes(b"sex,age\n" * 100),
    "too large": lambda path, _: os.truncate(path, snapshot._MOST + 1),
    "a pickle": _pickled,
    "another seal": _unsealed,
    "another version": _with_version,
    "another fit": _with_format,
    "another session": _of_another_session,
    "another ledger": _of_another_ledger,
    "another line": _of_a_line_that_is_gone,
}


def _flipped(data: bytes) -> bytes:
    return data[:999] + bytes([data[999] ^ 1]) + data[1000:]


@pytest.mark.parametrize("how", SPOILED)
def test_what_is_no_snapshot_of_this_session_is_passed_over_and_written_again(people, how, monkeypatch):
    said(people)
    path = file_of(people)
    SPOILED[how](path, monkeypatch)
    spoiled = path.read_bytes() if path.stat().st_size < 1 << 24 else b""
    c = curator(people)
    with c.ledger:
        assert SealedFile(c.ledger, plan()._name(c), "belief").load() is None
        with plan().open(c) as session:
            session.ask(SQL)
        assert SealedFile(c.ledger, plan()._name(c), "belief").load() is not None
        assert c.ledger.verify().ok
    assert path.read_bytes() != spoiled


@pytest.mark.parametrize("place", ["folder", "pipe"])
def test_something_else_in_its_place_neither_hangs_nor_fails(people, place):
    said(people)
    path = file_of(people)
    path.unlink()
    path.mkdir() if place == "folder" else os.mkfifo(path)
    assert said(people, seed=1)


def test_a_folder_that_cannot_be_made_does_without(people):
    people.with_name("people.csv.hedgerow.cache").write_text("not a folder")
    assert said(people) == said(people)


def test_a_snapshot_is_the_owners_alone_and_is_written_whole_or_not_at_all(people, monkeypatch):
    said(people)
    path = file_of(people)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "replace", fails)
    _tripped(people, "dense")
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_a_ledger_in_memory_has_no_snapshot(people, tmp_path):
    c = hr.Curator(hr.Table.open(people, DOMAIN), hr.Budget(epsilon=1, delta=1e-6), ":memory:")
    with plan().open(c) as session:
        session.ask(SQL)
    assert not list(tmp_path.glob("*.cache"))


def test_whoever_knows_the_key_changes_learned_numbers_and_nothing_else(people):
    """Not even then is an answer free that was not, or a bound wrong that a comparison vouches for."""
    said(people)
    c = curator(people)
    with c.ledger:
        session = plan().open(c)
        belief = session._core.belief
        for names in belief._written:
            belief._tables[names] = belief.table(names)[..., ::-1] * 1.0
        session._core._saved = None
        session._core.save()
        c.ledger.sync()
    c = curator(people)
    with c.ledger, plan().open(c) as session:
        assert session._core._learned > 0  # the forged one
        before = c.spent.rho
        answer = session.ask(SQL, within_count=150, confidence=1 - 1e-9)
        assert answer.source == "measured"
        assert c.spent.rho > before
        exact = c._rows.tables([("sex", "k")])[("sex", "k")].reshape(-1)
        assert (np.abs(answer.table.values[:, 0] - exact) <= answer.error).all()
        assert c.ledger.verify().ok


# -- the log ----------------------------------------------------------------------------------------------

CLOSE = hr.Budget(rho="1/50", delta=1e-6)


def _asked(path: Path, questions: range) -> list[object]:
    """A session that certifies and measures, of two accuracies."""
    c = curator(path)
    with c.ledger, hr.Session(budget=CLOSE, within=0.05, questions=200).open(c) as session:
        found = []
        for i in questions:
            levels = np.random.default_rng(i).random(10) < 0.6
            close = 20 if i % 3 == 0 else None  # another accuracy, which is measured at first
            answer = session.ask(hr.Query.where(DOMAIN, {"age": levels, "c": [i % 4]}), within_count=close)
            found.append((_plain(answer), answer.source))
        return found


def _state(path: Path) -> tuple[object, ...]:
    c = curator(path)
    with c.ledger:
        core = hr.Session(budget=CLOSE, within=0.05, questions=200).open(c)._core
        guards = [(g.number, g.goal, g.debt, g.saved, g.share, g.runs, g.closed) for g in core.guards]
        return (
            guards,
            core.reserve._held,
            core._standings,
            core.belief.version,
            core.log._acts,
            core.log._seen,
        )


@pytest.fixture
def seeded():
    """The same noise every time: which questions are certified is known."""
    with hr.testing.seeded(1):
        yield


def test_a_session_is_the_same_whether_its_lines_are_read_or_kept(people, monkeypatch, seeded):
    monkeypatch.setattr(log, "_TAIL", 5)
    given = _asked(people, range(12))
    assert {source for _, source in given} == {"certified", "measured"}
    kept = next(people.with_name("people.csv.hedgerow.cache").glob("*.log.npz"))
    read = log.lines_of
    seen = []
    monkeypatch.setattr(
        log, "lines_of", lambda of, name, after=-1: seen.append(after) or read(of, name, after)
    )
    state, again = _state(people), _asked(people, range(12))
    assert min(seen) > 0  # nobody read from the beginning
    assert [a for a, _ in again] == [a for a, _ in given]
    kept.unlink()
    assert _state(people) == state
    assert _asked(people, range(12)) == again
    c = curator(people)
    with c.ledger:
        spent = c.spent.rho
        assert c.ledger.verify().ok
    _asked(people, range(12))  # what was answered stays free
    c = curator(people)
    with c.ledger:
        assert c.spent.rho == spent


@pytest.mark.parametrize("how", ["empty", "cut off", "one bit", "a pickle", "another seal"])
def test_a_log_that_was_spoiled_is_read_from_the_ledger(people, how, monkeypatch):
    monkeypatch.setattr(log, "_TAIL", 5)
    given = _asked(people, range(8))
    kept = next(people.with_name("people.csv.hedgerow.cache").glob("*.log.npz"))
    SPOILED[how](kept, monkeypatch)
    assert [a for a, _ in _asked(people, range(8))] == [a for a, _ in given]


# -- later questions from the command line ----------------------------------------------------------------

SCHEMA = "attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 10]}\n  k: [0, 1, 2]\n  c: [0, 1, 2, 3]\n"


def ask(people: Path, sql: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`hedgerow ask` in a process of its own, which then says what it has loaded."""
    program = (
        "import atexit, sys\n"
        "heavy = ('numba', 'duckdb', 'pyarrow', 'scipy', 'pandas')\n"
        "atexit.register(lambda: sys.stderr.write('loaded' + str([m for m in heavy if m in sys.modules])))\n"
        "from hedgerow.serve.cli import main\n"
        "sys.argv[0] = 'hedgerow'\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "ask", people.name, sql, "--json", *options]
    return subprocess.run(command, cwd=people.parent, capture_output=True, text=True, timeout=300)


def test_a_later_question_loads_no_compiler_and_does_not_look_into_the_file(people):
    (people.parent / "schema.yaml").write_text(SCHEMA)
    first = ask(people, SQL, "--epsilon", "1")
    assert first.returncode == 0, first.stderr
    time = people.stat().st_mtime_ns
    people.write_bytes(b"\xff\x00 this is no CSV file, and nobody looks")
    os.utime(people, ns=(time, time))
    later = ask(people, "SELECT k, COUNT(*) FROM t WHERE age >= 50 GROUP BY k")
    assert later.returncode == 0, later.stderr
    assert json.loads(later.stdout)["source"] == "learned"
    assert "loaded[]" in later.stderr
    people.write_bytes(b"another file")
    changed = ask(people, "SELECT c, COUNT(*) FROM t GROUP BY c")
    assert changed.returncode != 0
    assert "changed since this run began" in changed.stderr


def test_a_file_that_cannot_be_read_is_refused_before_a_line_is_written(people):
    (people.parent / "schema.yaml").write_text(SCHEMA)
    hr.Ledger.open(f"{people}.hedgerow.db", budget=hr.Budget(epsilon=1, delta=1e-9)).close()
    people.write_text("sex,age\nF,3\n")
    for options in ((), ("--explain",)):
        refused = ask(people, SQL, *options)
        assert refused.returncode != 0
        assert "no column" in refused.stderr
    with hr.Ledger.open(f"{people}.hedgerow.db") as ledger:
        assert ledger.newest == 0


def test_a_file_that_changes_before_it_is_looked_into_is_refused(people):
    c = curator(people)
    with c.ledger:
        people.write_text(people.read_text() + "F,3,1,1\n")
        with pytest.raises(hr.errors.DataChanged):
            c.measure(("sex",), 0.1)
        assert c.spent.rho == 0
