"""Budgets that never start over, and never empty themselves, without a word."""

from __future__ import annotations

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli.commands import app
from hedgerow.service import witness

LEDGER = Path("people.csv.hedgerow.db")
COUNT = "SELECT sex, COUNT(*) FROM t GROUP BY sex"
OTHER = "attributes:\n  sex: [F, M]\n  k: {levels: [0, 1], other: true}\n"
RELEASE = ("release", "people.csv", "--schema", "schema.yaml", "--workload", "marginals:1", "--rows", "5")


COMMANDS = get_command(app)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Reports, and putting all commands together, take most of a release's time and say nothing here."""
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMANDS)
    monkeypatch.setattr("hedgerow.release.report.report.Report.write", lambda _, path: path.write_text(""))


def refused(result, code: int = 2) -> str:
    """The one sentence of a refusal."""
    assert result.exit_code == code, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].endswith(".")
    return lines[0]


def done(result):
    assert result.exit_code == 0, result.output
    return result


def spent(path: Path = LEDGER) -> float:
    with Ledger.open(path, create=False) as ledger:
        assert ledger.verify().ok
        return float(ledger.spent().amount)


def remove(path: Path = LEDGER) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def put_back(copy: bytes, path: Path = LEDGER) -> None:
    remove(path)
    path.write_bytes(copy)


def touch(path: str = "people.csv") -> None:
    """Write a file again, later."""
    before = Path(path).stat().st_mtime_ns
    while Path(path).stat().st_mtime_ns <= before:
        time.sleep(0.001)
        os.utime(path)


# -- another schema --------------------------------------------------------------------------------------


def test_asking_under_another_schema_pays_for_learning_only_when_told_to(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    first = done(people_cli("ask", "people.csv", COUNT))
    paid = spent()
    assert paid == pytest.approx(0.5)
    Path("other.yaml").write_text(OTHER)
    ask = ("ask", "people.csv", COUNT, "--schema", "other.yaml")
    for more in ((), ("--explain",), ("--epsilon", "0.1")):
        said = refused(people_cli(*ask, *more))
        assert "schema" in said
        assert "--anew" in said
        assert f"epsilon {'0.1' if '--epsilon' in more else '0.25'}" in said
    assert spent() == paid
    done(people_cli(*ask, "--anew", "--epsilon", "0.1"))
    assert spent() == pytest.approx(0.6)  # one ledger for both schemas
    assert "Asking was free" in done(people_cli(*ask)).stdout
    again = done(people_cli("ask", "people.csv", COUNT))  # what was learned first is still there
    assert "as answered before" in again.stdout
    assert first.stdout.splitlines()[:3] == again.stdout.splitlines()[:3]
    assert spent() == pytest.approx(0.6)


def test_asking_under_another_schema_with_nothing_left_says_so(people_cli):
    done(people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--delta", "0"))
    Path("schema.yaml").write_text(OTHER)
    assert "nothing is left" in refused(people_cli("ask", "people.csv", COUNT))


def test_a_schema_that_only_looks_different_is_the_same(people_cli):
    done(people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--delta", "0"))
    Path("schema.yaml").write_text(
        "# looked over\nconfirmed: true\nattributes: {sex: [F, M], k: [0, 1, 2]}\n"
    )
    assert "as answered before" in done(people_cli("ask", "people.csv", COUNT)).stdout


def test_learning_that_was_never_paid_for_binds_no_schema(people_cli, monkeypatch):
    from hedgerow.curator.curator import Curator

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "measure_all", interrupted)
        assert people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--delta", "0").exit_code == 130
    Path("schema.yaml").write_text(OTHER)
    done(people_cli("ask", "people.csv", COUNT))


def test_releases_under_any_schema_share_the_ledger_of_the_rows(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    Path("other.yaml").write_text(OTHER)
    for i, schema in enumerate(("schema.yaml", "other.yaml")):
        done(people_cli(*RELEASE, "--epsilon", "0.5", "--schema", schema, "--out", f"out{i}"))
    assert spent() == pytest.approx(1.0)
    refused(people_cli(*RELEASE, "--epsilon", "0.5", "--schema", "other.yaml", "--out", "out3"), 3)


# -- a budget that is missing ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(*RELEASE, "--out", "out"), ("ask", "people.csv", COUNT)])
def test_a_budget_that_must_be_there_is_never_made(people_cli, monkeypatch, command):
    for setting, more in (("", ("--require-budget",)), ("1", ()), ("true", ())):
        monkeypatch.setenv("HEDGEROW_REQUIRE_BUDGET", setting)
        said = refused(people_cli(*command, "--epsilon", "1", *more))
        assert "budget init" in said
        assert "--ledger" in said
        assert not LEDGER.exists()
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1"))
    done(people_cli(*command, "--epsilon", "1"))


@pytest.mark.parametrize("setting", ["", "0", "false"])
def test_the_setting_can_be_off(people_cli, monkeypatch, setting):
    monkeypatch.setenv("HEDGEROW_REQUIRE_BUDGET", setting)
    done(people_cli(*RELEASE, "--epsilon", "1"))


@pytest.mark.parametrize("command", [(*RELEASE, "--json"), ("ask", "people.csv", COUNT, "--json")])
def test_a_budget_that_is_made_is_told_of_where_people_look(people_cli, command):
    first = done(people_cli(*command, "--epsilon", "1"))
    (said,) = first.stderr.strip().splitlines()
    assert "new budget of epsilon 1, delta 1e-9 was made" in said
    assert str(LEDGER) in said
    json.loads(first.stdout)
    done(people_cli("budget", "raise", "people.csv", "--epsilon", "3", "--reason", "more"))
    again = [*command, "--out", "two", "--epsilon", "1"] if command[0] == "release" else command
    assert done(people_cli(*again)).stderr == ""


# -- lost ledgers, and old ones put back -----------------------------------------------------------------


@pytest.mark.parametrize("noted", [True, False])
def test_a_lost_ledger_is_not_made_anew_without_a_reason(people_cli, noted):
    done(people_cli(*RELEASE, "--epsilon", "1", "--out", "out"))
    LEDGER.rename("elsewhere.db")
    if not noted:
        shutil.rmtree("people.csv.hedgerow.cache")
    said = refused(people_cli(*RELEASE, "--epsilon", "1", "--out", "out", "--force"))
    assert "spent epsilon 1" in said
    assert "--new-ledger" in said
    assert not LEDGER.exists()
    if noted:
        for other in (
            (*RELEASE, "--epsilon", "1", "--out", "another"),
            ("ask", "people.csv", COUNT, "--epsilon", "1"),
            ("budget", "init", "people.csv", "--epsilon", "1"),
        ):
            assert "--new-ledger" in refused(people_cli(*other))
    again = (*RELEASE, "--epsilon", "0.5", "--out", "out", "--force", "--ledger", "elsewhere.db")
    refused(people_cli(*again), 3)  # named, it is charged as before
    assert "reason" in refused(people_cli(*RELEASE, "--epsilon", "1", "--out", "out", "--new-ledger", " "))
    assert not LEDGER.exists()


def test_an_old_ledger_put_back_is_refused_by_the_receipt_of_its_own_release(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    old = LEDGER.read_bytes()
    done(people_cli(*RELEASE, "--epsilon", "0.5", "--out", "out"))
    put_back(old)
    shutil.rmtree("people.csv.hedgerow.cache")
    for more in ((), ("--force",), ("--json", "--force")):
        said = refused(people_cli(*RELEASE, "--epsilon", "0.5", "--out", "out", *more))
        assert "'out/receipt.json'" in said
        assert "--older-than-receipt" in said
    assert spent() == 0.0


@pytest.mark.parametrize("command", [(*RELEASE, "--out", "b"), ("ask", "people.csv", COUNT)])
def test_an_old_ledger_put_back_is_refused_by_what_was_noted(people_cli, command):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    old = LEDGER.read_bytes()
    done(people_cli("ask", "people.csv", COUNT, "--epsilon", "0.25"))
    done(people_cli(*RELEASE, "--epsilon", "0.25", "--out", "a"))
    put_back(old)
    assert "--older-than-receipt" in refused(people_cli(*command, "--epsilon", "0.25"))
    assert spent() == 0.0
    shutil.rmtree("people.csv.hedgerow.cache")  # it may be deleted any time: then only --out tells
    done(people_cli(*command, "--epsilon", "0.25"))


def test_going_on_with_an_older_ledger_sets_aside_what_its_lost_lines_spent(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    done(people_cli(*RELEASE, "--epsilon", "0.125", "--out", "out"))
    old = LEDGER.read_bytes()
    done(people_cli(*RELEASE, "--epsilon", "0.5", "--out", "out", "--force"))
    put_back(old)
    again = (*RELEASE, "--epsilon", "0.125", "--out", "out", "--force")
    assert "reason" in refused(people_cli(*again, "--older-than-receipt", ""))
    refused(people_cli(*again[:-1], "--older-than-receipt", "the disk died"))  # files are in the way
    assert spent() == pytest.approx(0.125)
    done(people_cli(*again, "--older-than-receipt", "the disk died"))
    assert spent() == pytest.approx(0.75)
    assert "the disk died" in " ".join(people_cli("budget", "show", "people.csv", "--lines").stdout.split())
    done(people_cli("budget", "settle", "people.csv"))
    assert spent() == pytest.approx(0.75)  # it does not come back
    refused(people_cli(*again, "--epsilon", "0.375"), 3)
    done(people_cli(*again, "--older-than-receipt", "the disk died"))  # set aside once
    assert spent() == pytest.approx(0.875)


def test_what_an_open_account_holds_in_an_older_ledger_may_have_been_spent(people_cli):
    """Money that was set aside before the copy and spent after it would otherwise be spent a second time."""
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    with Ledger.open(LEDGER) as ledger:
        ledger.allot("ann", Cost("epsilon", "1/4"))
    old = LEDGER.read_bytes()
    with Ledger.open(LEDGER) as ledger:
        ledger.charge(Pure("1/4"), lambda: (b"", None), account="ann")
    done(people_cli(*RELEASE, "--epsilon", "0.125", "--out", "out"))
    put_back(old)
    again = (*RELEASE, "--epsilon", "0.125", "--out", "out", "--force")
    done(people_cli(*again, "--older-than-receipt", "the disk died"))
    assert spent() == pytest.approx(0.25 + (0.25 + 0.125) + 0.125)
    done(people_cli(*again, "--older-than-receipt", "the disk died"))  # set aside once
    assert spent() == pytest.approx(0.875)


def test_an_older_ledger_that_went_on_sets_aside_all_that_the_receipt_tells(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    old = LEDGER.read_bytes()
    done(people_cli(*RELEASE, "--epsilon", "0.25", "--out", "out"))
    receipt = json.loads(witness.note_path(LEDGER).read_text())
    put_back(old)
    with Ledger.open(LEDGER) as ledger:  # Python asks nobody for receipts
        while ledger.newest < receipt["seq"]:
            ledger.charge(Pure("1/64"), lambda: (b"", None))
    before, again = spent(), (*RELEASE, "--epsilon", "0.125", "--out", "out", "--force")
    refused(people_cli(*again))
    done(people_cli(*again, "--older-than-receipt", "why"))
    assert spent() == pytest.approx(before + 0.25 + 0.125)


def test_a_receipt_of_other_rows_or_none_at_all_is_nobodys_business(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    shutil.copy("people.csv", "others.csv")
    done(people_cli("budget", "init", "others.csv", "--epsilon", "1", "--delta", "0"))
    others = ("release", "others.csv", *RELEASE[2:])
    done(people_cli(*RELEASE, "--epsilon", "0.5", "--out", "out"))
    done(people_cli(*others, "--epsilon", "0.5", "--out", "out", "--force"))
    for junk in ("", "{}", "[1]", '{"seq": 1}', "\x00", '"receipt"'):
        Path("out/receipt.json").write_text(junk)
        done(people_cli(*others, "--epsilon", "0.0625", "--out", "out", "--force"))
    assert spent(Path("others.csv.hedgerow.db")) == pytest.approx(0.875)


def test_a_note_that_cannot_be_written_holds_up_nothing(people_cli):
    Path("people.csv.hedgerow.cache").write_text("in the way")
    done(people_cli(*RELEASE, "--epsilon", "1"))


def test_the_note_is_the_owners_alone_and_follows_the_ledger(people_cli):
    done(people_cli(*RELEASE, "--epsilon", "1"))
    note = witness.note_path(LEDGER)
    assert (note.parent.stat().st_mode & 0o777, note.stat().st_mode & 0o777) == (0o700, 0o600)
    with Ledger.open(LEDGER) as ledger:
        assert json.loads(note.read_text())["head"] == ledger.receipt().head


# -- the same file under another name --------------------------------------------------------------------


def renamed() -> str:
    Path("people.csv").rename("persons.csv")
    return "persons.csv"


def hard_linked() -> str:
    Path("persons.csv").hardlink_to("people.csv")
    return "persons.csv"


def linked_each_night() -> str:
    shutil.copy("people.csv", "tonight.csv")
    Path("newest.csv").unlink()
    Path("newest.csv").symlink_to("tonight.csv")
    return "newest.csv"


@pytest.mark.parametrize("again", [renamed, hard_linked, linked_each_night])
def test_data_under_another_name_goes_on_with_its_ledger_or_says_why_not(people_cli, again):
    Path("newest.csv").symlink_to("people.csv")
    command = ("newest.csv", *RELEASE[2:], "--epsilon", "0.5")
    done(people_cli("budget", "init", "newest.csv", "--epsilon", "1", "--delta", "0"))
    done(people_cli("release", *command, "--out", "a"))
    command = (again(), *command[1:], "--delta", "0")
    for more in (("release", *command, "--out", "b"), ("budget", "init", command[0], "--epsilon", "1")):
        said = refused(people_cli(*more))
        assert "--ledger" in said
        assert "--new-ledger" in said
    assert [str(file) for file in Path().glob("*.hedgerow.db")] == [str(LEDGER)]
    done(people_cli("release", *command, "--ledger", str(LEDGER), "--out", "b"))
    assert spent() == pytest.approx(1.0)
    new = ("release", *command, "--out", "c", "--new-ledger", "next year's people")
    told = done(people_cli(*new, "--ledger", "new.hedgerow.db")).stderr
    assert "new budget" in told
    shown = people_cli("budget", "show", command[0], "--lines", "--ledger", "new.hedgerow.db").stdout
    assert "next year's people" in " ".join(shown.split())
    assert "already" in refused(people_cli(*new, "--ledger", "new.hedgerow.db"))


# -- a ledger elsewhere ----------------------------------------------------------------------------------


def test_every_command_that_opens_data_finds_a_ledger_elsewhere(people_cli, monkeypatch):
    Path("books").mkdir()
    book = Path("books/people ledger#1.db")
    there = ("--ledger", str(book))
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0", *there))
    assert "budget already" in refused(people_cli("budget", "init", "people.csv", "--epsilon", "1", *there))
    done(people_cli(*RELEASE, "--epsilon", "0.25", "--out", "out", *there))
    done(people_cli("ask", "people.csv", COUNT, "--epsilon", "0.25", *there))
    done(people_cli("schema", "check", "schema.yaml", "people.csv", *there))
    for command in ("show", "settle", "verify", "export"):
        done(people_cli("budget", command, "people.csv", *there))
    done(people_cli("budget", "raise", "people.csv", "--epsilon", "2", "--reason", "more", *there))
    assert spent(book) == pytest.approx(0.5)
    assert not LEDGER.exists()
    monkeypatch.setenv("HEDGEROW_LEDGER", str(book))
    done(people_cli(*RELEASE, "--epsilon", "0.25", "--out", "b"))
    assert "Spent: epsilon 0.75" in done(people_cli("budget", "show", "people.csv")).stdout
    monkeypatch.delenv("HEDGEROW_LEDGER")
    assert "--ledger" in refused(people_cli(*RELEASE, "--epsilon", "1", "--out", "c"))  # it was forgotten
    assert "--ledger" in refused(people_cli("budget", "show", "people.csv"))
    assert not LEDGER.exists()


def test_a_ledger_that_cannot_be_meant_is_refused(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1"))
    Path("folder").mkdir()
    for ledger, words in ((":memory:", "simulation"), ("folder", "folder"), ("", "folder")):
        assert words in refused(people_cli(*RELEASE, "--epsilon", "1", "--ledger", ledger))
    assert "not a Hedgerow ledger" in refused(
        people_cli(*RELEASE, "--epsilon", "1", "--ledger", "people.csv")
    )
    said = refused(people_cli("budget", "show", str(LEDGER), "--ledger", "other.db"))
    assert "HEDGEROW_LEDGER" in said
    done(people_cli("budget", "show", str(LEDGER), "--ledger", str(LEDGER)))
    refused(people_cli("budget", "show", "people.csv", "--ledger", "none.db"))
    refused(people_cli("schema", "check", "schema.yaml", "people.csv", "--ledger", "none.db"))


def test_no_command_writes_over_a_ledger_elsewhere(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--ledger", "book"))
    kept = Path("book").read_bytes()
    refused(people_cli("budget", "export", "people.csv", "--ledger", "book", "--out", "book", "--force"))
    assert Path("book").read_bytes() == kept
    Path("out").mkdir()
    said = refused(people_cli(*RELEASE, "--epsilon", "1", "--out", "out", "--ledger", "out/receipt.json"))
    assert "written over" in said


def test_the_schema_check_knows_whom_the_ledger_protects(people_cli):
    Ledger.open("people.csv.hedgerow.db", budget=hr.Budget(epsilon=1), unit="id", max_rows=1).close()
    assert "'id'" in refused(people_cli("schema", "check", "schema.yaml", "people.csv"))


# -- spending all ----------------------------------------------------------------------------------------


def test_an_epsilon_that_was_forgotten_spends_nothing(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    for more in ((), ("--json",)):
        said = refused(people_cli(*RELEASE, *more))
        assert "--all" in said
        assert "epsilon 1" in said
    assert spent() == 0.0
    assert "leave one out" in refused(people_cli(*RELEASE, "--all", "--epsilon", "1"))
    done(people_cli(*RELEASE, "--epsilon", "0.25", "--out", "a"))
    assert "epsilon 0.75" in refused(people_cli(*RELEASE, "--out", "b"))
    done(people_cli(*RELEASE, "--all", "--out", "b"))
    assert spent() == pytest.approx(1.0)
    refused(people_cli(*RELEASE, "--out", "c"), 3)


def test_all_of_no_budget_is_nothing(people_cli):
    assert "--epsilon" in refused(people_cli(*RELEASE, "--all"))
    assert not LEDGER.exists()


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_whoever_is_there_is_asked(people_cli, monkeypatch, typed, code):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    monkeypatch.setattr("hedgerow.serve.cli.release._somebody_is_there", lambda: True)
    result = CliRunner().invoke(app, list(RELEASE), input=typed)
    assert result.exit_code == code
    assert "all that remains, epsilon 1?" in result.stderr
    assert spent() == pytest.approx(1.0 if code == 0 else 0.0)
    asked = people_cli(*RELEASE, "--out", "b", "--json")  # programs are not asked
    assert asked.exit_code == (3 if code == 0 else 2)


def test_on_a_terminal_somebody_is_there(people_cli):
    done(people_cli("budget", "init", "people.csv", "--epsilon", "1", "--delta", "0"))
    command = [sys.executable, "-c", "from hedgerow.serve.cli import main; main()", *RELEASE]
    leader, follower = pty.openpty()
    started = subprocess.Popen(command, stdin=follower, stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(leader, 1000)
    os.write(leader, b"\n")
    assert started.wait(60) == 2
    os.close(leader)
    assert spent() == 0.0


# -- the same rows ---------------------------------------------------------------------------------------


def test_that_rows_are_the_same_is_said_once_for_each_state_of_the_file(people_cli):
    done(people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--delta", "0"))
    ask = ("ask", "people.csv", COUNT)
    for _ in range(2):
        touch()
        assert "--same-rows" in refused(people_cli(*ask))
        done(people_cli(*ask, "--same-rows"))
        assert "as answered before" in done(people_cli(*ask)).stdout
        done(people_cli(*ask, "--explain"))
    with Ledger.open(LEDGER) as ledger:
        notes = [e for e in ledger.export()["entries"] if "same rows" in e["line"]["note"]]
        assert len(notes) == 2
        assert ledger.verify().ok


def test_what_was_said_of_one_run_holds_for_no_run_that_began_with_other_rows(tmp_path):
    domain, path, ledger = hr.Domain({"a": 2}), tmp_path / "x.csv", tmp_path / "l.db"

    def opened(name: str, **options):
        table = hr.Table.open(path, domain, **options)
        curator = hr.Curator(table, hr.Budget(epsilon=9, delta=1e-6), ledger)
        return hr.AdaptiveRelease(epsilon=1.0, measurements=1, run=name).release(
            curator, hr.marginals(domain, 1)
        )

    path.write_text("a\n0\n1\n")
    opened("first")
    first = path.stat().st_mtime_ns
    touch(path)
    opened("second")
    touch(path)
    opened("second", same_rows=True)
    opened("second")
    with pytest.raises(hr.LedgerError, match="data file has changed"):
        opened("first")
    opened("first", same_rows=True)
    os.utime(path, ns=(first, first))
    opened("second")  # now all three states were said to be alike


# -- what a ledger can lie beside ------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["release", "ask", "init"])
def test_files_by_a_pattern_need_a_ledger_of_their_own(people_cli, command):
    import pyarrow.csv
    import pyarrow.parquet as pq

    Path("parts").mkdir()
    for i in range(2):
        pq.write_table(pyarrow.csv.read_csv("people.csv"), f"parts/{i}.parquet")
    pattern = "parts/*.parquet"
    commands = {
        "release": ("release", pattern, *RELEASE[2:], "--epsilon", "1"),
        "ask": ("ask", pattern, COUNT, "--epsilon", "1"),
        "init": ("budget", "init", pattern, "--epsilon", "1"),
    }
    said = refused(people_cli(*commands[command]))
    assert "pattern" in said
    assert "--ledger" in said
    assert not list(Path().rglob("*.hedgerow.db"))
    done(people_cli(*commands[command], "--ledger", "parts.db"))
    nothing = [a.replace("*.parquet", "*.csv") for a in commands[command]]
    assert "file matches" in refused(people_cli(*nothing, "--ledger", "none.db"))


def test_a_folder_has_one_ledger_whatever_it_is_called(people_cli, monkeypatch):
    import pyarrow.csv
    import pyarrow.parquet as pq

    Path("parts/more").mkdir(parents=True)
    pq.write_table(pyarrow.csv.read_csv("people.csv"), "parts/0.parquet")
    done(people_cli("budget", "init", "parts/", "--epsilon", "1"))
    assert Path("parts.hedgerow.db").exists()
    monkeypatch.chdir("parts/more")
    for name in ("..", "../.", "../../parts", "../more/.."):
        done(people_cli("budget", "show", name))


def test_what_is_no_file_is_no_data(people_cli):
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("plug.csv")
        assert "no file" in refused(people_cli("release", "plug.csv", *RELEASE[2:], "--epsilon", "1"))
    assert not Path("plug.csv.hedgerow.db").exists()
