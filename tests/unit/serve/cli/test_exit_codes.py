"""Exit codes: a script tells what to try again (4) from what to mend (2, 5); files and signals on the way."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import pickle
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow import errors
from hedgerow.privacy.ledger import failure as ledger_failure
from hedgerow.privacy.ledger import sqlite_store as ledger_store
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release import writing
from hedgerow.release.plan import curve as plan_curve
from hedgerow.serve.cli import failure, signals
from hedgerow.serve.cli.commands import app

SCHEMA = "attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 20]}\n"
LEDGER = Path("people.csv.hedgerow.db")
RELEASE = ("release", "people.csv", "--schema", "schema.yaml", "--workload", "marginals:1", "--epsilon", "1")
DEEDS = ("error", "exit_code", "code", "hint")
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 200 people and a schema, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    lay_out()
    return tmp_path


def lay_out() -> None:
    Path("people.csv").write_text("sex,age\n" + "".join(f"{'FM'[i % 2]},{i % 95}\n" for i in range(200)))
    Path("schema.yaml").write_text(SCHEMA)


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def failed(*arguments: object) -> dict:
    """What a command that fails tells a program: exactly one object, and one sentence for people."""
    result = run(*arguments, "--json")
    told = json.loads(result.stdout)
    assert tuple(told) == DEEDS
    assert told["exit_code"] == result.exit_code
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith(told["error"].removesuffix("."))
    return told


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_error_has_a_code_and_a_hint_and_survives_a_pickle(kind):
    error = kind("it failed", hint="mend it")
    assert (str(error), error.hint, kind("it failed").hint) == ("it failed", "mend it", None)
    assert error.code.replace("_", "").isalpha()
    assert error.code.islower()
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.hint, again.code) == (kind, "it failed", "mend it", error.code)
    assert failure.CommandFailure.of(error).exit_code in (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, 4),
        (errno.EDQUOT, 4),
        (errno.EFBIG, 4),
        (errno.EIO, 4),
        (errno.ESTALE, 4),
        (errno.EMFILE, 4),
        (errno.EACCES, 5),
        (errno.EPERM, 5),
        (errno.EROFS, 5),
        (errno.ENOENT, 2),
        (errno.EISDIR, 2),
        (errno.ENOTDIR, 2),
    ],
)
def test_what_the_system_says_of_a_file_is_what_may_pass_what_is_forbidden_or_what_is_wrong(number, code):
    said = failure.CommandFailure.of(OSError(number, os.strerror(number), "out/x.csv"))
    assert said.exit_code == code
    assert "'out/x.csv'" in said.words
    inside = ledger_failure.failure(
        OSError(number, os.strerror(number)), Path("x.db").absolute(), "The ledger x"
    )
    assert isinstance(inside, errors.LedgerError)
    assert failure.CommandFailure.of(inside).exit_code == code


SQL = {
    "": "bad_sql",
    "SELEC": "unsupported_sql",
    "SELECT COUNT(*) FROM t WHERE 'a": "bad_sql",
    "SELECT COUNT(*) FROM (": "bad_sql",
    "SELECT STRING_AGG(sex, ',') FROM t": "unsupported_sql",
    "SELECT COUNT(*) FROM t JOIN s": "unsupported_sql",
    "SELECT COUNT(*) FROM t WHERE height > 3": "unknown_column",
    "SELECT COUNT(*) FROM t WHERE sex = 'X'": "unknown_level",
    "SELECT COUNT(*) FROM t WHERE age > 33": "cuts_bin",
    "SELECT COUNT(*) FROM t WHERE age = 33": "cuts_bin",
}


@pytest.mark.parametrize("sql", SQL)
def test_a_question_that_cannot_be_asked_says_why_in_one_word(sql):
    told = failed("ask", "people.csv", sql, "--epsilon", 1)
    assert (told["exit_code"], told["code"]) == (2, SQL[sql])
    assert not LEDGER.exists()


def test_usage_errors_are_one_object_too():
    for arguments in (
        ("release",),
        ("relaese",),
        ("budget", "show"),
        ("plan", "--rows", "many"),
        ("ask", "--x"),
    ):
        told = failed(*arguments)
        assert (told["exit_code"], told["code"]) == (2, "bad_input")
        assert "--help" in told["hint"]


def test_a_budget_that_refuses_says_how_to_go_on():
    run("budget", "init", "people.csv", "--epsilon", 0.5)
    told = failed(*RELEASE, "--out", "out")
    assert (told["exit_code"], told["code"]) == (3, "budget_refused")
    assert "budget raise" in told["hint"]


def test_a_data_file_that_changed_under_a_session_has_its_own_code():
    assert run("ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", 1).exit_code == 0
    os.utime("people.csv", (1, 1))
    told = failed("ask", "people.csv", "SELECT COUNT(*) FROM t")
    assert (told["exit_code"], told["code"]) == (2, "data_changed")


def test_an_error_of_our_own_is_one(monkeypatch):
    monkeypatch.setattr("hedgerow.release.schema.Schema.load", lambda path: 1 / 0)
    monkeypatch.delenv(failure.DEBUG, raising=False)
    told = failed(*RELEASE)
    assert (told["exit_code"], told["code"]) == (1, "internal")


# -- ledgers ---------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    """Nobody waits long for a ledger."""
    monkeypatch.setattr(ledger_store, "_PATIENCE", 0.2)


def test_a_ledger_that_another_process_holds_too_long_is_to_be_tried_again(impatient):
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    held = sqlite3.connect(LEDGER, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    told = failed("budget", "raise", "people.csv", "--epsilon", 2, "--reason", "more")
    assert (told["exit_code"], told["code"]) == (4, "ledger_unavailable")
    assert "another process holds it" in told["error"]
    assert str(LEDGER) in told["error"]
    held.rollback()
    assert run("budget", "raise", "people.csv", "--epsilon", 2, "--reason", "more").exit_code == 0


def test_a_session_that_another_process_holds_too_long_is_to_be_tried_again(impatient):
    assert run("ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", 1).exit_code == 0
    with open(f"{LEDGER}-lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = failed("ask", "people.csv", "SELECT COUNT(*) FROM t")
    assert (told["exit_code"], told["code"]) == (4, "ledger_unavailable")
    assert run("ask", "people.csv", "SELECT COUNT(*) FROM t").exit_code == 0


def test_a_ledger_on_a_full_disk_is_to_be_tried_again_and_charges_once(released):
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    limit = max(p.stat().st_size for p in Path().glob(f"{LEDGER}*"))
    with no_file_larger_than(limit):
        told = failed(*RELEASE, "--mechanism", "gaussian", "--out", "out")
    assert (told["exit_code"], told["code"]) == (4, "ledger_unavailable")
    assert str(LEDGER) in told["error"]
    with Ledger.open(LEDGER, create=False) as ledger:
        assert ledger.verify().ok
    assert run(*RELEASE, "--mechanism", "gaussian", "--out", "out").exit_code == 0  # 1 of 1: only once


def test_a_ledger_whose_folder_is_away_is_to_be_tried_again():
    for open_it in (
        lambda: Ledger.open("gone/x.hedgerow.db", create=False),
        lambda: Ledger.open("gone/x.hedgerow.db", budget=hedgerow.Budget(epsilon=1)),
    ):
        with pytest.raises(errors.LedgerUnavailable) as caught:
            open_it()
        assert "mounted" in caught.value.hint
        assert failure.CommandFailure.of(caught.value).exit_code == 4


@pytest.mark.parametrize(
    "command",
    [
        ("budget", "show", "gone/people.csv"),
        ("budget", "init", "gone/people.csv", "--epsilon", 1),
        ("release", "gone/people.csv", "--schema", "schema.yaml", "--epsilon", 1),
        ("budget", "show", "people.csv", "--ledger", "gone/people.csv.hedgerow.db"),
    ],
)
def test_data_or_a_ledger_in_a_folder_that_is_away_is_to_be_tried_again(command):
    told = failed(*command)
    assert (told["exit_code"], told["code"]) == (4, "storage_unavailable")
    assert "mounted" in told["hint"]


@pytest.mark.parametrize("content", [b"", b"no database at all, but quite long " * 100])
def test_a_file_that_is_no_ledger_is_to_be_mended(content):
    LEDGER.write_bytes(content)
    told = failed("budget", "show", "people.csv")
    assert (told["exit_code"], told["code"]) == (2, "bad_input")


def test_a_ledger_that_protects_something_else_is_to_be_mended():
    run("budget", "init", "people.csv", "--epsilon", 1)
    assert failed(*RELEASE, "--neighbours", "replace")["exit_code"] == 2


# -- users -----------------------------------------------------------------------------------------------


def as_somebody(*arguments: object) -> dict:
    """What a command tells a program when permissions mean something to it, even if root runs the tests."""
    command = [sys.executable, "-m", "hedgerow", *map(str, arguments), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=_ordinary)
    told = json.loads(done.stdout)
    assert told["exit_code"] == done.returncode
    return told


def _ordinary() -> None:
    if os.getuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: gone with the next exec


@contextmanager
def no_file_larger_than(limit: int) -> Iterator[None]:
    """A disk with room for files of one size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_ledger_that_the_system_keeps_closed_is_not_permitted():
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    LEDGER.chmod(0)
    told = as_somebody("budget", "show", "people.csv")
    assert (told["exit_code"], told["code"]) == (5, "not_permitted")
    assert str(LEDGER) in told["error"]


def test_data_that_the_system_keeps_closed_is_not_permitted():
    Path("people.csv").chmod(0)
    told = as_somebody(*RELEASE)
    assert (told["exit_code"], told["code"]) == (5, "not_permitted")
    assert "people.csv" in told["error"]
    assert not LEDGER.exists()


def test_a_folder_that_the_system_keeps_closed_is_not_permitted():
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    Path("shut").mkdir(mode=0o500)
    told = as_somebody("budget", "export", "people.csv", "--out", "shut/e.json")
    assert (told["exit_code"], told["code"]) == (5, "not_permitted")
    assert "'shut/e.json'" in told["error"]
    told = failed(*RELEASE, "--out", "people.csv/out")  # a path through a file
    assert (told["exit_code"], told["code"]) == (2, "bad_input")
    assert "'people.csv/out'" in told["error"]


# -- files that are written ------------------------------------------------------------------------------


def test_a_full_disk_names_the_file_leaves_no_half_of_it_and_what_was_paid_goes_on(tmp_path):
    assert run("budget", "init", "people.csv", "--epsilon", 2).exit_code == 0
    limit = 200_000  # more than a ledger needs, less than a report
    with no_file_larger_than(limit):
        told = failed(*RELEASE, "--mechanism", "gaussian", "--out", "out")
    assert (told["exit_code"], told["code"]) == (4, "storage_unavailable")
    assert "'out'" in told["error"]
    assert "nothing is paid twice" in told["hint"]
    assert not Path("out").exists() or not list(Path("out").iterdir())
    again = json.loads(run(*RELEASE, "--mechanism", "gaussian", "--out", "out", "--json").stdout)
    assert again["resumed"]
    with Ledger.open(LEDGER, create=False) as ledger:
        assert ledger.budget.part(ledger.spent()).epsilon == pytest.approx(1.0)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the people were released once."""
    home = tmp_path_factory.mktemp("released")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(home)
        lay_out()
        assert run(*RELEASE, "--mechanism", "gaussian", "--out", "out").exit_code == 0
    return home


@pytest.fixture
def synopsis(released: Path, folder: Path) -> Path:
    """The synopsis of a release that is in the folder, with the ledger that it was charged to."""
    shutil.copytree(released, folder, dirs_exist_ok=True)
    return Path("out/synopsis.hedgerow")


@pytest.mark.parametrize("before", [None, "what was there"])
def test_rows_that_do_not_fit_on_the_disk_leave_the_file_as_it_was(synopsis, before):
    if before is not None:
        Path("rows.csv").write_text(before)
    sample = ("sample", synopsis, "--rows", 20_000, "--out", "rows.csv", "--force")
    with no_file_larger_than(10_000):
        told = failed(*sample)
    assert (told["exit_code"], told["code"]) == (4, "storage_unavailable")
    assert "'rows.csv'" in told["error"]
    assert (Path("rows.csv").read_text() if Path("rows.csv").exists() else None) == before
    assert not list(Path().glob(".hedgerow-*"))


def test_a_schema_outlives_a_disk_that_fills_while_it_is_confirmed():
    draft = "confirmed: false\n" + SCHEMA + "# " + "x" * 5000 + "\n"
    Path("schema.yaml").write_text(draft)
    with no_file_larger_than(1000):
        told = failed("schema", "check", "schema.yaml", "--confirm")
    assert told["exit_code"] == 4
    assert "'schema.yaml'" in told["error"]
    assert Path("schema.yaml").read_text() == draft


def test_written_files_keep_links_and_modes_and_never_replace_a_device(synopsis):
    Path("real.csv").touch(mode=0o640)
    Path("link.csv").symlink_to("real.csv")
    assert run("sample", synopsis, "--rows", 5, "--out", "link.csv", "--force").exit_code == 0
    assert Path("link.csv").is_symlink()
    assert len(Path("real.csv").read_text().splitlines()) == 6
    assert Path("real.csv").stat().st_mode & 0o777 == 0o640
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    assert run("sample", synopsis, "--rows", 5, "--out", "pipe").exit_code == 0
    assert len(reader.communicate(timeout=30)[0].splitlines()) == 6
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("command", ["sample", "export", "infer"])
def test_whatever_is_written_appears_whole_or_not_at_all(synopsis, command, monkeypatch):
    commands = {
        "sample": ("sample", synopsis, "--rows", 5, "--out", "x.csv"),
        "export": ("budget", "export", "people.csv", "--out", "x.json"),
        "infer": ("schema", "infer", "people.csv", "--out", "x.yaml"),
    }

    def full(draft, target):
        assert draft.stat().st_size
        assert not target.exists()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(writing, "put", full)
        told = failed(*commands[command])
    assert (told["exit_code"], told["code"]) == (4, "storage_unavailable")
    assert "'x." in told["error"]
    assert not list(Path().glob("x.*"))
    assert run(*commands[command]).exit_code == 0
    assert list(Path().glob("x.*"))


def test_a_picture_appears_whole_or_not_at_all():
    with no_file_larger_than(100), pytest.raises(errors.StorageUnavailable, match=r"'x\.json'"):
        plan_curve.write({"title": "x" * 1000}, Path("x.json"))
    assert not list(Path().glob("*.json"))


# -- results ---------------------------------------------------------------------------------------------


def test_every_result_says_when_it_began_how_long_it_took_and_which_version(synopsis):
    begun = datetime.now(UTC)
    for command in (
        ("budget", "show", "people.csv"),
        ("budget", "verify", "people.csv"),
        ("budget", "settle", "people.csv"),
        ("budget", "export", "people.csv"),
        ("budget", "raise", "people.csv", "--epsilon", 3, "--reason", "more"),
        ("query", synopsis, "SELECT COUNT(*) FROM t"),
        ("sample", synopsis, "--rows", 5, "--out", "x.csv"),
        ("schema", "check", "schema.yaml", "people.csv"),
        ("plan", "--schema", "schema.yaml", "--rows", 100, "--no-simulate"),
        ("ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", 1, "--explain"),
        ("ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", 1),
        ("audit", "--ledger", LEDGER),
    ):
        result = run(*command, "--json")
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert told["version"] == hedgerow.__version__
        assert told["time"].endswith("Z")
        assert abs((datetime.fromisoformat(told["time"]) - begun).total_seconds()) < 300
        assert 0 <= told["duration"] < 300


def test_the_time_is_when_a_command_began_not_when_it_ended(monkeypatch):
    from hedgerow.release.schema import Schema

    load = Schema.load
    monkeypatch.setattr(Schema, "load", lambda path: time.sleep(0.3) or load(path))
    told = json.loads(run("schema", "check", "schema.yaml", "--json").stdout)
    assert told["duration"] >= 0.3
    assert (datetime.now(UTC) - datetime.fromisoformat(told["time"])).total_seconds() >= 0.3


def test_an_export_on_standard_output_still_verifies(synopsis):
    Path("e.json").write_text(run("budget", "export", "people.csv").stdout)
    assert run("budget", "verify", "e.json", "--receipt", "out/receipt.json").exit_code == 0


# -- signals ---------------------------------------------------------------------------------------------


def interrupted(*arguments: object, at: float, number: int = signal.SIGTERM) -> tuple[int, str, str]:
    # Under nohup SIGHUP is ignored, and what is ignored stays so: here it is not.
    heard = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from hedgerow.serve.cli import main; main()"
    )
    command = [sys.executable, "-c", heard, *map(str, arguments)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as child:
        deadline = time.monotonic() + 60
        while not catches(child.pid, number) and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(at)
        child.send_signal(number)
        out, told = child.communicate(timeout=60)
    return child.returncode, out, told


def catches(pid: int, number: int) -> bool:
    """Whether a process listens to a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_is_like_ctrl_c(number, size):
    Path("people.csv").write_text("sex,age\n" + "F,30\nM,50\n" * size(20_000, 600_000))
    ends = []
    moments = [0.0, 1.0] if number == signal.SIGTERM else [0.3]
    for at in [*moments, *[0.25 * i for i in range(size(0, 40))]]:
        for left in Path().glob(f"{LEDGER}*"):
            left.unlink()
        code, out, told = interrupted(*RELEASE, "--out", f"out{at}", "--json", at=at, number=number)
        if code == 0:
            break
        ends.append(code)
        assert code == 130, told
        assert tuple(json.loads(out)) == DEEDS
        assert json.loads(out)["code"] == "interrupted"
        assert "Traceback" not in told
        assert told.startswith("Interrupted") or "unfinished" in told
        if LEDGER.exists():
            with Ledger.open(LEDGER, create=False) as ledger:
                assert ledger.verify().ok
    assert ends


def test_a_process_that_waits_for_a_ledger_hears_that_it_must_end():
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    held = sqlite3.connect(LEDGER, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    code, _, told = interrupted("budget", "raise", "people.csv", "--epsilon", 2, "--reason", "x", at=2.0)
    assert (code, told.count("\n")) == (130, 1)
    assert time.monotonic() - began < 30
    with Ledger.open(LEDGER, create=False) as ledger:
        held.rollback()
        assert ledger.verify().ok
        assert ledger.budget.epsilon == 1


SWALLOWED = """\
import os, signal, sys, time
from hedgerow.serve.cli import signals
signals.listen()
class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
try:
    Deaf()
    time.sleep(20)
except KeyboardInterrupt:
    sys.exit(7 if signals.heard() else 8)
"""


def test_an_interruption_that_python_swallows_comes_again():
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_signal_that_was_ignored_stays_ignored():
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "from hedgerow.serve.cli import signals; signals.listen()\n"
    code += "assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_fails_after_a_signal_was_interrupted(monkeypatch):
    monkeypatch.setattr(signals, "_heard", True)
    monkeypatch.setattr("hedgerow.release.schema.Schema.load", lambda path: 1 / 0)
    assert failed(*RELEASE)["code"] == "interrupted"


# -- streams ---------------------------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess[str]:
    words = f"set -o pipefail; {line}".replace("hedgerow", f"{sys.executable} -m hedgerow", 1)
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("hedgerow sample out/synopsis.hedgerow --rows 100000 | head -n 2", 0),
        ("hedgerow budget show people.csv --json | true", 0),
        ("hedgerow budget show nowhere 2>&1 | true", 2),
        ("hedgerow budget show people.csv > /dev/full", 4),
    ],
)
def test_a_reader_that_leaves_and_a_stream_without_room_are_no_traceback(synopsis, line, code):
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if code == 4 else 0)
