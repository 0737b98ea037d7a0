"""The doors of the command line: nothing is paid twice, whatever ends it, and what fails is a sentence."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.privacy.ledger import Ledger
from hedgerow.serve import ask, release
from hedgerow.serve.commands import app

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
