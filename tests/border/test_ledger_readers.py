"""Auditors read a ledger that they may not write, under any name; messages name the file at fault."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger

WORKER = Path(__file__).parent.parent / "faults" / "ledger_worker.py"
BUDGET = Budget(epsilon=1)
STEP = Pure("1/1000000")
NAMES = ["two words", "what?", "a#b", "50%25", "Größe-東京", "-dash", "[red]x", "a'b\"c;"]


def says() -> tuple[bytes, None]:
    return os.urandom(40), None


def held(path: Path) -> int:
    """How many charges a reader sees."""
    with Ledger.open(path, readonly=True) as ledger:
        assert ledger.verify().ok
        assert len(ledger.export()["entries"]) == ledger.receipt().seq + 1
        return int(ledger.spent().amount * 10**6)


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """All files of a folder, to the byte."""
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with three charges."""
    with Ledger.open(tmp_path / "l.db", budget=BUDGET) as ledger:
        for _ in range(3):
            ledger.charge(STEP, says)
    return tmp_path / "l.db"


def left_by_a_killed_process(path: Path) -> None:
    """A log with a charge in it that never reached the file."""
    process = subprocess.run([sys.executable, str(WORKER), "die", str(path), "after commit"], check=False)
    assert process.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size


class TestReading:
    def test_changes_nothing_in_the_folder(self, path: Path) -> None:
        before = state(path.parent)
        assert held(path) == 3
        assert state(path.parent) == before

    @pytest.mark.parametrize("gone", [[], ["-shm"]])
    def test_sees_a_log_that_was_left_and_leaves_it(self, path: Path, gone: list[str]) -> None:
        left_by_a_killed_process(path)
        for suffix in gone:
            Path(f"{path}{suffix}").unlink()
        before = state(path.parent)
        assert held(path) == 4
        assert state(path.parent) == before

    def test_goes_on_beside_writers_and_sees_what_they_do(self, path: Path) -> None:
        with (
            Ledger.open(path, create=False) as writer,
            Ledger.open(path, readonly=True) as reader,
        ):
            for i in range(3):
                writer.charge(STEP, says)
                assert reader.spent().amount == Fraction(4 + i, 10**6)
                assert reader.verify().ok
        assert held(path) == 6

    def test_rolls_back_a_journal_in_a_copy(self, path: Path) -> None:
        """A ledger that some tool has turned to rollback journals, left in the middle of a commit."""
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode=DELETE")
        code = (
            "import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "d.execute('PRAGMA cache_size=2'); d.execute('PRAGMA cache_spill=1'); d.execute('BEGIN');"
            "d.execute('CREATE TABLE big (x)');"
            "[d.execute('INSERT INTO big VALUES (zeroblob(9000))') for _ in range(50)]; os._exit(1)"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert Path(f"{path}-journal").stat().st_size
        before = state(path.parent)
        assert held(path) == 3
        assert state(path.parent) == before

    def test_refuses_to_write(self, path: Path) -> None:
        with Ledger.open(path, readonly=True) as ledger:
            for act in (
                lambda: ledger.charge(STEP, says),
                lambda: ledger.record(b"below", durable=False),
                lambda: ledger.raise_budget(Budget(epsilon=2), "more"),
                lambda: ledger.alone().__enter__(),
            ):
                with pytest.raises(LedgerError, match="opened to be read"):
                    act()

    def test_makes_no_ledger(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger.open(tmp_path / "l.db", budget=BUDGET, readonly=True)
        assert not list(tmp_path.iterdir())

    def test_shows_a_torn_copy_for_what_it_is(self, path: Path, tmp_path: Path) -> None:
        old = path.read_bytes()
        with Ledger.open(path, create=False) as ledger:
            for _ in range(40):
                ledger.charge(STEP, says, request=os.urandom(200).hex())
        new, torn = path.read_bytes(), tmp_path / "torn.db"
        torn.write_bytes(old[:8192] + new[8192:])
        with Ledger.open(torn, readonly=True) as ledger:
            assert not ledger.verify().ok


def by_nobody(*args: str, cwd: Path) -> tuple[int, str]:
    """Exit code and output of the command line, run by a user who owns nothing here."""
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    for warm in (list(args), ["budget", "show", "nothing"]):  # all imports: nobody may read the modules
        CliRunner().invoke(app, warm)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.chdir(cwd)
            done = CliRunner().invoke(app, list(args))
            os.write(into, json.dumps([done.exit_code, done.output]).encode())
        except BaseException as error:
            os.write(into, json.dumps([1, repr(error)]).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as told:
        code, text = json.loads(told.read())
    os.waitpid(child, 0)
    return code, text


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may look into; not below pytest's own, which is its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


class TestAuditors:
    @pytest.mark.parametrize("left", [False, True])
    def test_show_verify_and_export_without_write_access(self, shared: Path, left: bool) -> None:
        data = shared / "people.csv"
        data.write_text("sex\nF\n")
        path = shared / "people.csv.hedgerow.db"
        with Ledger.open(path, budget=BUDGET) as ledger:
            ledger.charge(STEP, says)
        if left:
            left_by_a_killed_process(path)
        for file in shared.iterdir():
            os.chmod(file, 0o444)
        os.chmod(shared, 0o555)
        for command, name in (("show", "people.csv"), ("verify", path.name), ("export", str(path))):
            code, text = by_nobody("budget", command, name, "--json", cwd=shared)
            assert code == 0, text
            told = json.loads(text)
            lines = told["entries"] if command == "export" else told["lines"]
            assert (lines if command == "verify" else len(lines)) == 2 + left
        assert {file.name for file in shared.iterdir() if file.name.endswith(".db")} == {path.name}

    def test_what_may_not_be_read_is_named(self, shared: Path) -> None:
        path = shared / "people.csv.hedgerow.db"
        Ledger.open(path, budget=BUDGET).close()
        os.chmod(path, 0o600)
        code, text = by_nobody("budget", "show", str(path), cwd=shared)
        assert code != 0
        said = text.replace("\n", "")
        assert path.name in said
        assert "not readable" in said
        with Ledger.open(path, create=False) as ledger:
            failure = ledger._store._failure(PermissionError(13, "Permission denied"))
        assert str(failure) == f"The ledger {path} cannot be used: permission denied."

    @pytest.mark.parametrize("name", NAMES)
    def test_any_name(self, name: str, people_cli: Callable[..., Any]) -> None:
        os.rename("people.csv", f"{name}.csv")
        assert people_cli("budget", "init", "--epsilon", "1", "--", f"{name}.csv").exit_code == 0
        shutil.copy(f"./{name}.csv.hedgerow.db", f"./{name}")  # a ledger may have any name
        given = {"show": f"{name}.csv", "verify": f"{name}.csv.hedgerow.db", "export": name}
        for command, file in given.items():
            done = people_cli("budget", command, "--json", "--", file)
            assert done.exit_code == 0, done.output


class TestMessages:
    def full(self, path: Path, size: int) -> str:
        """What a process hears whose files may not grow any more."""
        code = (
            "import resource, signal, sys; from hedgerow.privacy.ledger.ledger import Ledger;"
            "from hedgerow.privacy.event import Pure; from hedgerow.privacy.budget import Budget;"
            "from hedgerow.errors import LedgerError; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "try:\n"
            f"    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
            "    ledger = Ledger.open(sys.argv[1], budget=Budget(epsilon=1))\n"
            "    [ledger.charge(Pure('1/1000'), lambda: (bytes(3000), None)) for _ in range(100)]\n"
            "except LedgerError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def test_a_full_disk_is_named_with_the_file(self, tmp_path: Path) -> None:
        made, used = tmp_path / "made.db", tmp_path / "used.db"
        for said, file in ((self.full(made, 5000), made), (self.full(used, 150_000), used)):
            assert str(file) in said
            assert said.endswith(".")
            assert len(said.splitlines()) == 1
        assert not made.exists()
        assert not list(tmp_path.glob(".*"))
        with Ledger.open(used, create=False) as ledger:  # what was charged before is there, and it goes on
            assert ledger.verify().ok
            assert not ledger.spent().is_zero
            ledger.charge(STEP, says)

    def test_a_real_full_disk_is_named_with_the_file(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("no disk can be mounted here")
        try:
            ledger = Ledger.open(disk / "l.db", budget=BUDGET)
            with pytest.raises(LedgerError, match="no space") as error:
                [ledger.charge(STEP, lambda: (bytes(5000), None)) for _ in range(1000)]
            assert str(disk / "l.db") in str(error.value)
            assert ledger.verify().ok
            with pytest.raises(LedgerError, match="no space") as error:
                Ledger.open(disk / "more.db", budget=BUDGET)
            assert str(disk / "more.db") in str(error.value)
            ledger.close()
            read_only = ["mount", "-o", "remount,ro", str(disk)]
            assert subprocess.run(read_only, capture_output=True, check=False).returncode == 0
            with Ledger.open(disk / "l.db", readonly=True) as reader:
                assert reader.verify().ok
            with pytest.raises(LedgerError, match=r"may not be written|read-only") as error:
                Ledger.open(disk / "l.db").charge(STEP, says)
            assert str(disk / "l.db") in str(error.value)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)

    def test_a_folder_that_is_none_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(LedgerError, match="not a directory") as error:
            Ledger.open(tmp_path / "file" / "l.db", budget=BUDGET)
        assert str(tmp_path / "file" / "l.db") in str(error.value)
