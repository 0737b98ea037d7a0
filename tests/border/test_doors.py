"""The doors of the command line: nothing is paid twice, whatever ends it, and what fails is a sentence."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli import ask, release
from hedgerow.serve.cli.commands import app
from hedgerow.service import publication, wire

LEDGER = Path("people.csv.hedgerow.db")
RELEASE = ("release", "people.csv", "--schema", "schema.yaml", "--workload", "marginals:1", "--epsilon", "1")
COUNT = "SELECT COUNT(*) AS n FROM t"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 200 people, a schema and a budget, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("sex,age\n" + "".join(f"{'FM'[i % 2]},{i % 95}\n" for i in range(200)))
    Path("schema.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 20]}\n")
    assert run("budget", "init", "people.csv", "--epsilon", 6).exit_code == 0
    return tmp_path


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def program(*arguments: object, **options):
    """A command as a process of its own."""
    command = [sys.executable, "-m", "hedgerow", *map(str, arguments)]
    return subprocess.run(command, text=True, check=False, stderr=subprocess.PIPE, **options)


def charges() -> int:
    with Ledger.open(LEDGER, create=False) as ledger:
        assert ledger.verify().ok
        return sum(e["line"]["kind"] == "charge" for e in ledger.export()["entries"])


# -- a result that cannot be printed ---------------------------------------------------------------------


def test_a_release_whose_result_has_no_room_is_complete_and_not_to_be_tried_again():
    with open("/dev/full", "w") as full:
        done = program(*RELEASE, "--out", "out", "--force", "--json", stdout=full)
    assert done.returncode == 2, done.stderr
    assert "complete in 'out'" in done.stderr
    assert "paid again" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (Path("out/receipt.json").exists(), charges()) == (True, 1)


def test_an_answer_that_was_learned_anew_and_has_no_room_is_not_to_be_tried_again(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(ask, "emit", full)
        done = run("ask", "people.csv", COUNT, "--epsilon", 1, "--anew", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["code"]) == (2, "not_printed")
    assert "without --anew" in told["error"]
    paid = charges()
    assert run("ask", "people.csv", COUNT).exit_code == 0
    assert charges() == paid


def test_nobody_interrupts_a_release_that_is_complete(monkeypatch):
    heard = []
    monkeypatch.setattr(release.signals, "ignore", lambda: heard.append(charges()))
    assert run(*RELEASE, "--out", "out").exit_code == 0
    assert heard == [1]


# -- files that take their names -------------------------------------------------------------------------

STOPPED = """\
import os, sys
import hedgerow.service.publication as publication
put, count, at, number = publication.put, 0, int(sys.argv.pop(1)), int(sys.argv.pop(1))
def stop(draft, target):
    global count
    put(draft, target)
    count += 1
    if count == at:
        os.kill(os.getpid(), number)
publication.put = stop
from hedgerow.serve.cli import main; main()
"""


@pytest.mark.parametrize(("at", "number"), [(1, signal.SIGTERM), (2, signal.SIGKILL)])
def test_a_release_that_was_stopped_while_its_files_took_their_names_goes_on(at, number):
    command = [*RELEASE, "--out", "out"]
    stopped = [sys.executable, "-c", STOPPED, str(at), str(int(number)), *command]
    done = subprocess.run(stopped, capture_output=True, text=True, check=False)
    assert done.returncode == (130 if number == signal.SIGTERM else -number), done.stderr
    assert len([f for f in publication.FILES if (Path("out") / f).exists()]) == at
    again = run(*command, "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["resumed"]
    assert charges() == 1
    files = {p.name for p in Path("out").iterdir() if p.is_file()}
    assert files == {*publication.FILES, "README.md", "schema.yaml", "datapackage.json"}
    finished = run(*command)
    assert finished.exit_code == 2
    assert "is there already" in finished.stderr
    assert charges() == 1


def stop(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Ctrl-C once so many files have their names."""
    put, count = publication.put, [0]

    def stopped(draft, target):
        put(draft, target)
        count[0] += 1
        if count[0] == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(publication, "put", stopped)


def test_an_unfinished_release_replaces_only_files_that_it_wrote_itself(monkeypatch):
    command = [*RELEASE, "--out", "out"]
    for at in (2, 4, 1):  # stopped thrice: what all wrote is its own
        with monkeypatch.context() as patch:
            stop(patch, at)
            assert run(*command).exit_code == 130
    other = run(*command, "--mechanism", "laplace")  # another plan
    assert other.exit_code == 2
    assert "synopsis.hedgerow' is there already" in other.stderr
    ours = Path("out/report.html").read_bytes()
    Path("out/report.html").write_text("mine")
    refused = run(*command)
    assert refused.exit_code == 2
    assert "report.html' is there already" in refused.stderr
    assert Path("out/report.html").read_text() == "mine"
    Path("out/report.html").write_bytes(ours)
    assert run(*command).exit_code == 0
    assert charges() == 1


def test_a_release_that_is_saved_owns_its_folder_no_more(monkeypatch):
    command = [*RELEASE, "--out", "out"]
    with monkeypatch.context() as patch:
        patch.setattr(publication.runs, "forget_files", lambda folder: None)  # killed just before that
        assert run(*command).exit_code == 0
    refused = run(*command)
    assert refused.exit_code == 2
    assert charges() == 1


@pytest.mark.parametrize("where", [publication, publication.runs], ids=["files", "their note"])
def test_a_release_made_anew_that_fails_goes_on_without_that_word(monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    command = [*RELEASE, "--out", "out"]
    with monkeypatch.context() as patch:
        patch.setattr(where, "put", full)
        told = json.loads(run(*command, "--anew", "--json").stdout)
    assert (told["exit_code"], "without --anew" in told["hint"]) == (4, True)
    assert run(*command).exit_code == 0
    assert charges() == 1


# -- what the pages say ----------------------------------------------------------------------------------


def test_a_budget_lasts_as_many_nights_as_the_page_says():
    page = (Path(__file__).parents[2] / "docs" / "operate.md").read_text()
    said = re.search(r"pays for (\d+) nights of 0\.5, or\s+for (\d+) of 0\.25", page)
    made = re.search(r"budget init people\.csv --epsilon (\S+) --delta (\S+)", page)
    whole = Budget(epsilon=made[1], delta=made[2]).cost.amount
    nights = [whole // Budget(epsilon=e, delta=made[2]).cost.amount for e in ("0.5", "0.25")]
    assert nights == [int(said[1]), int(said[2])]


# -- a ledger that is refuted ----------------------------------------------------------------------------


def test_a_ledger_that_is_refuted_is_one_and_a_file_that_is_none_is_two():
    assert run("budget", "export", "people.csv", "--out", "e.json").exit_code == 0
    export = json.loads(Path("e.json").read_text())
    export["entries"][0]["hash"] = "00" * 32
    Path("e.json").write_text(json.dumps(export))
    refuted = run("budget", "verify", "e.json", "--json")
    assert (refuted.exit_code, json.loads(refuted.stdout)["ok"]) == (1, False)
    assert len(refuted.stderr.splitlines()) == 1
    Path("e.json").write_text("nothing")
    assert run("budget", "verify", "e.json").exit_code == 2


# -- files that may not be read, or are no text ----------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("budget", "verify", "people.csv", "--receipt", "shut/r.json"),
        ("schema", "check", "shut/schema.yaml"),
        ("query", "shut/synopsis.hedgerow", COUNT),
        ("sample", "shut/synopsis.hedgerow", "--rows", "1"),
    ],
    ids=["receipt", "schema", "query", "sample"],
)
def test_a_file_in_a_folder_that_may_not_be_searched_is_not_permitted(command, monkeypatch):
    opened = io.open

    def shut(file, *options, **more):
        if str(file).startswith("shut/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return opened(file, *options, **more)

    monkeypatch.setattr(io, "open", shut)  # root may search every folder
    done = run(*command, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["code"]) == (5, "not_permitted"), told
    assert "shut/" in told["error"]


@pytest.mark.parametrize("depth", [300, 900, 970, 100_000])
def test_json_that_is_nested_deeply_is_one_sentence(depth):
    deep = "[" * depth + "]" * depth
    line = '{"hedgerow_ledger": 1, "entries": [{"commitment": "", "hash": "", "line": {"seq": 1, "x": %s}}]}'
    for text in (deep, line % deep, f'{{"spent": {deep}}}'):
        Path("x.json").write_text(text)
        for command in (("x.json",), ("people.csv", "--receipt", "x.json")):
            done = run("budget", "verify", *command)
            assert done.exit_code in (1, 2)
            assert len(done.stderr.splitlines()) == 1
            assert "error of its own" not in done.stderr


def test_a_reason_that_is_no_text_is_exported_as_valid_utf8():
    reason = os.fsdecode(b"Stra\xc3\x9fe \xff")
    assert run("budget", "raise", "people.csv", "--epsilon", 7, "--reason", reason).exit_code == 0
    told = run("budget", "export", "people.csv").stdout_bytes
    Path("e.json").write_bytes(told)
    assert "Straße" in told.decode("utf-8")
    assert reason in json.dumps(json.loads(told), ensure_ascii=False)
    assert run("budget", "verify", "e.json").exit_code == 0


# -- answers for programs --------------------------------------------------------------------------------

CELL = {"value", "error", "low", "high", "source"}
ANSWER = {"sql", "columns", "rows", "confidence", "source", "cached", "simultaneous", "cost", "remaining",
          "notes", "private", "request", "receipt"}  # fmt: skip


def test_an_answer_says_between_which_numbers_and_from_where_each_number_is():
    assert run(*RELEASE, "--out", "out").exit_code == 0
    sql = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
    asked = json.loads(run("ask", "people.csv", sql, "--epsilon", 1, "--json").stdout)
    read = json.loads(run("query", "out/synopsis.hedgerow", sql, "--json").stdout)
    assert set(asked) >= ANSWER
    assert set(read) >= ANSWER - {"remaining", "request"}
    for told in (asked, read):
        assert [row["sex"] for row in told["rows"]] == ["F", "M"]
        for n in (row["n"] for row in told["rows"]):
            assert set(n) == CELL
            assert (n["low"], n["high"]) == (n["value"] - n["error"], n["value"] + n["error"])
            assert n["source"] == told["source"]
    with Ledger.open(LEDGER, create=False) as ledger:
        newest = ledger.receipt()
    assert asked["receipt"] == {"seq": newest.seq, "head": newest.head}
    receipt = json.loads(Path("out/receipt.json").read_text())
    assert read["receipt"] == {name: receipt[name] for name in ("seq", "head")}


def test_a_number_whose_error_is_not_known_has_no_limits():
    assert wire.number(49.2, math.inf, (-math.inf, math.inf), "learned") == {
        "value": 49.2,
        "error": None,
        "source": "learned",
    }
    assert wire.number(math.nan, 1.0, (0.0, 9.0), "measured") == {
        "value": None,
        "error": 1.0,
        "source": "measured",
    }


# -- Ctrl-C while Python starts --------------------------------------------------------------------------

EARLY = """\
import sys
class Now:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            del sys.argv[1]
            raise KeyboardInterrupt
for name in ("json", "signal", "contextlib", "typing"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Now())
from hedgerow.serve.cli import main; main()
"""


@pytest.mark.parametrize("name", ["signal", "typer"])
def test_ctrl_c_while_modules_are_loaded_is_one_sentence(name):
    command = [sys.executable, "-S", "-c", EARLY, name, "--version", "--json"]
    paths = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted; nothing was done.\n")
    assert json.loads(done.stdout)["code"] == "interrupted"
