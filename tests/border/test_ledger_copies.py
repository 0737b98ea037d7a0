"""Copies, moves and backups of a ledger, at every moment: what was shown is in them, or they are refused."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger import sqlite_store as ledger_store
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore

WORKER = Path(__file__).parent.parent / "faults" / "ledger_worker.py"
BUDGET = Budget(epsilon=1)
STEP = Pure("1/1000000")
SIDES = ("-wal", "-shm", "-journal", "-lock")


def says() -> tuple[bytes, None]:
    return os.urandom(200), None


def spent(path: Path) -> int:
    """How many charges a ledger holds."""
    with Ledger.open(path, create=False) as ledger:
        return int(ledger.spent().amount * 10**6)


def copy(path: Path, to: Path, *, sides: bool = False) -> Path:
    """What `cp` does: the file, and what lies beside it."""
    to.mkdir(parents=True)
    shutil.copyfile(path, to / path.name)
    for side in SIDES if sides else ():
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{side}", to / f"{path.name}{side}")
    return to / path.name


def backup(path: Path, to: Path) -> Path:
    """What SQLite's own backup does."""
    to.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to / path.name)) as target:
        source.backup(target)
    return to / path.name


def start(*args: object) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, str(WORKER), *map(str, args)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process


class Heard:
    """What a process has shown so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._file, self._text = process.stdout, b""

    def facts(self) -> list[dict[str, Any]]:
        self._text += self._file.read() or b""
        whole = self._text.rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]


def stops(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Each time the process has stopped itself; it goes on afterwards."""
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            return
        yield
        os.kill(process.pid, signal.SIGCONT)


def test_the_file_alone_holds_what_was_shown_at_every_statement_of_a_run(
    tmp_path: Path, size: Callable[[Any, Any], Any]
) -> None:
    process = start("pace", tmp_path / "l.db", size(2, 12))
    heard, moments = Heard(process), 0
    for moments, _ in enumerate(stops(process), 1):
        shown, here = len(heard.facts()), tmp_path / str(moments)
        assert spent(copy(tmp_path / "l.db", here / "alone")) >= shown
        assert spent(copy(tmp_path / "l.db", here / "sides", sides=True)) >= shown
        shutil.rmtree(here)
    assert process.returncode == 0
    assert len(heard.facts()) == size(2, 12)
    assert moments > 10 * size(2, 12)


@pytest.mark.parametrize("where", ["inside act", "before commit", "after commit", "after return"])
def test_what_a_killed_process_had_shown_is_in_the_file_alone(tmp_path: Path, where: str) -> None:
    process = start("die", tmp_path / "l.db", where)
    process.wait(60)
    shown = len(Heard(process).facts())
    assert shown == (where == "after return")
    assert spent(copy(tmp_path / "l.db", tmp_path / "alone")) >= shown
    moved = tmp_path / "moved.db"
    os.rename(tmp_path / "l.db", moved)
    assert spent(moved) >= shown


def test_copies_and_backups_while_charges_go_on_hold_what_was_shown_or_are_refused(
    tmp_path: Path, size: Callable[[Any, Any], Any]
) -> None:
    process = start("loop", tmp_path / "l.db", 0)
    heard, whole = Heard(process), 0
    ways = [copy, lambda path, to: copy(path, to, sides=True), backup]
    try:
        while len(heard.facts()) < 2:
            time.sleep(0.01)
        for i in range(size(12, 60)):
            shown = len(heard.facts()) - 1  # the first line says that it is ready
            kept = ways[i % 3](tmp_path / "l.db", tmp_path / str(i))
            with suppress(LedgerError):
                assert spent(kept) >= shown
                whole += 1
            shutil.rmtree(tmp_path / str(i))
    finally:
        process.kill()
        process.wait()
    assert whole >= size(4, 20)  # the rest were refused: taken in the middle of a write
    end = copy(tmp_path / "l.db", tmp_path / "end")  # alone: it may have been killed while pages were written
    with suppress(LedgerError):
        assert spent(end) >= len(heard.facts()) - 1
    assert spent(tmp_path / "l.db") >= len(heard.facts()) - 1


def test_threads_forks_and_readers_change_nothing_about_it(tmp_path: Path) -> None:
    path, done = tmp_path / "l.db", threading.Event()
    ledger, short = Ledger.open(path, budget=BUDGET), []

    def read() -> None:
        while not done.is_set():
            ledger.export()

    def write(name: str) -> None:
        for i in range(5):
            entry = ledger.charge(STEP, says)
            if len(bare(path, tmp_path / f"{name}-{i}")) <= entry.seq:
                short.append(entry.seq)

    threads = [threading.Thread(target=write, args=(f"t{i}",)) for i in range(3)]
    reader = threading.Thread(target=read)
    reader.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    reader.join()
    assert not short
    child = os.fork()
    if child == 0:
        code = 1
        try:
            entry = ledger.charge(STEP, says)
            code = 0 if len(bare(path, tmp_path / "child")) > entry.seq else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert spent(copy(path, tmp_path / "end")) == 16


def bare(path: Path, to: Path) -> list[Any]:
    """The lines in the file without its log, as far as they can be read while others write.

    A copy is made by another process: closing the file in this one would drop SQLite's locks.
    """
    for _ in range(50):
        subprocess.run(["cp", str(path), str(to)], check=True)
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(to)) as database:
            rows = database.execute("SELECT seq FROM entry ORDER BY seq").fetchall()
            if [seq for (seq,) in rows] == list(range(len(rows))):
                return rows
    return []


def test_an_answer_waits_for_readers_that_keep_it_out_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, answered = tmp_path / "l.db", threading.Event()
    ledger = Ledger.open(path, budget=BUDGET)
    ledger.record(b"before", durable=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM entry").fetchall()

        def ask() -> None:
            ledger.charge(STEP, says)
            answered.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert not answered.wait(0.3)
        reader.execute("COMMIT")
        thread.join()
        assert answered.is_set()
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM entry").fetchall()
        monkeypatch.setattr(ledger_store, "_PATIENCE", 0.1)
        with pytest.raises(LedgerError, match="only in its log"):
            ledger.charge(STEP, says, request="r")
        with pytest.raises(LedgerError, match="only in its log"):
            ledger.recall("r", STEP)
        reader.execute("COMMIT")
    assert ledger.recall("r", STEP) is not None
    assert spent(copy(path, tmp_path / "copy")) == 2


def test_an_answer_of_a_process_that_died_before_moving_it_into_the_file_is_moved_before_it_is_shown(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    with Ledger.open(path, budget=BUDGET) as ledger:
        start("die", path, "after commit").wait(60)
        assert len(bare(path, tmp_path / "before")) == 1
        assert ledger.recall("r0", "q0") is not None
        assert len(bare(path, tmp_path / "after")) == 2


def test_a_ledger_that_was_left_with_a_log_is_moved_into_its_file_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    start("die", path, "after commit").wait(60)
    assert len(bare(path, tmp_path / "before")) == 1
    with Ledger.open(path, create=False):
        assert len(bare(path, tmp_path / "after")) == 2


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, bytes, int]]:
    """The file, its log and its charges at moments of a growing ledger."""
    path, found = tmp_path_factory.mktemp("moments") / "l.db", []
    ledger = Ledger.open(path, budget=BUDGET)
    for i in range(120):
        ledger.charge(STEP, says, request=f"request {i}", run="r", analyst=f"analyst {i % 7}")
        for _ in range(i % 3):
            ledger.record(b"below", run="r", durable=False)
        found.append((path.read_bytes(), Path(f"{path}-wal").read_bytes(), i + 1))
    ledger.close()
    return found


def opens(folder: Path, file: bytes, log: bytes = b"") -> int | None:
    """How many charges a ledger of these bytes holds; None if it is refused."""
    folder.mkdir()
    (folder / "l.db").write_bytes(file)
    if log:
        (folder / "l.db-wal").write_bytes(log)
    try:
        with Ledger.open(folder / "l.db", create=False) as ledger:
            assert ledger.verify().ok  # what is not whole was refused
            return int(ledger.spent().amount * 10**6)
    except LedgerError:
        return None
    finally:
        shutil.rmtree(folder)


def test_pages_of_several_moments_are_refused_or_hold_what_was_shown_at_the_first(
    moments: list[tuple[bytes, bytes, int]], tmp_path: Path, size: Callable[[Any, Any], Any]
) -> None:
    rng, page, refused = random.Random(11), 4096, 0
    for i in range(size(36, 2000)):
        a, b = sorted(rng.sample(range(len(moments)), 2)) if i % 2 else (i % 119, i % 119 + 1)
        (old, _, least), (new, _, _) = moments[a], moments[b]
        pages = max(len(old), len(new)) // page
        cut, kind = rng.randrange(pages + 1), rng.randrange(3)
        mixed = b"".join(
            ((new, old)[kind == 0] if p < cut else (new, old)[kind != 0])[p * page : (p + 1) * page]
            if kind < 2
            else rng.choice((old, new))[p * page : (p + 1) * page]
            for p in range(pages)
        )
        held = opens(tmp_path / "mixed", mixed)
        refused += held is None
        assert held is None or held >= least
    assert refused >= size(6, 400)


def test_a_file_and_a_log_of_different_moments_are_refused_or_hold_what_the_file_held(
    moments: list[tuple[bytes, bytes, int]], tmp_path: Path, size: Callable[[Any, Any], Any]
) -> None:
    """The order in which `tar` or `rsync` takes file and log is theirs."""
    rng, refused = random.Random(12), 0
    for i in range(size(24, 1000)):
        a, b = (rng.randrange(len(moments)), rng.randrange(len(moments))) if i % 2 else (i % 100, i % 100 + 1)
        file, _, shown = moments[b]
        held = opens(tmp_path / "mixed", file, moments[a][1])
        refused += held is None
        assert held is None or held >= shown
    assert refused >= size(3, 200)


def test_a_log_that_is_refused_is_left_with_its_file_as_they_are(
    moments: list[tuple[bytes, bytes, int]], tmp_path: Path
) -> None:
    path, log = tmp_path / "l.db", tmp_path / "l.db-wal"
    (_, old, _), (new, _, _) = moments[20], moments[21]
    path.write_bytes(new)
    log.write_bytes(old)
    for readonly in (False, True):
        with pytest.raises(LedgerError, match="older than the ledger"):
            Ledger.open(path, create=False, readonly=readonly)
    assert path.read_bytes() == new
    assert log.read_bytes() == old
    log.unlink()  # the file alone is whole
    assert spent(path) == 22


def test_a_ledger_of_the_earlier_kind_with_everything_in_its_log_goes_on(tmp_path: Path) -> None:
    """Before places were noted and logs moved: no table of places, an old log beside the file."""
    path = tmp_path / "l.db"
    with Ledger.open(path, budget=BUDGET) as ledger:
        for _ in range(3):
            ledger.charge(STEP, says)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE place")
    with Ledger.open(path, create=False) as ledger:
        assert ledger.spent().amount == Fraction(3, 10**6)
        assert ledger.verify().ok
        ledger.charge(STEP, says)
        assert SQLiteStore.places(ledger._store)
    assert spent(path) == 4
