"""The shell: statements end with a semicolon, nothing is spent unless that was said, errors do not end it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hedgerow.mechanisms.session.session import Session
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli import signals
from hedgerow.serve.cli.commands import app
from hedgerow.serve.cli.completion import Completion, quoted_name
from hedgerow.serve.cli.line_editing import history_file
from hedgerow.serve.cli.shell import HELP, SURE, USUAL, Shell
from hedgerow.serve.cli.statements import cut

COUNT = "SELECT COUNT(*) AS n FROM t WHERE sex = 'F'"
COMMANDS = get_command(app)


@pytest.fixture
def shell(people_cli, monkeypatch):
    """A shell on people.csv, whose rows are learned, or on whatever is named."""
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMANDS)
    assert people_cli("budget", "init", "people.csv", "--epsilon", "4").exit_code == 0
    assert people_cli("ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", "1").exit_code == 0

    def run(text: str, *options: str, thing: str = "people.csv"):
        return CliRunner().invoke(app, ["shell", thing, *options], input=text)

    return run


def objects(result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def spent() -> float:
    with Ledger.open("people.csv.hedgerow.db", create=False) as ledger:
        assert ledger.verify().ok
        return float(ledger.spent().amount)


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("", [], ""),
        (";;", [], ""),
        ("a; b; c", ["a", "b"], " c"),
        ("a 'x;y' \"p;q\" ;", ["a 'x;y' \"p;q\""], ""),
        ("a 'it''s;' ; b", ["a 'it''s;'"], " b"),
        ("-- only; a comment\n;", [], ""),
        ("a -- b; c\n; d", ["a -- b; c"], " d"),
        ("/* ; */ a; /* not; ended", ["/* ; */ a"], " /* not; ended"),
        ("a 'not; ended", [], "a 'not; ended"),
    ],
)
def test_a_statement_ends_at_a_semicolon_outside_quotes_and_comments(text, done, rest):
    assert cut(text) == (done, rest)


def test_every_statement_gets_one_object_and_the_exit_code_is_that_of_the_last_error(shell):
    wrong = "SELECT nope, COUNT(*) FROM t GROUP BY nope"
    done = shell(f"{COUNT};\n{wrong}; SELECT sex,\nCOUNT(*) AS n FROM t GROUP BY sex", "--json")
    one, wrong, two = objects(done)
    assert one["rows"][0]["n"]["source"] == "learned"
    assert (wrong["exit_code"], wrong["code"]) == (2, "unknown_column")
    assert [row["sex"] for row in two["rows"]] == ["F", "M"]
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert shell(f"{COUNT};").exit_code == 0
    assert shell(f".within 20\n{COUNT};").exit_code == 3


def test_nothing_is_spent_unless_that_was_said(shell):
    before = spent()
    refused = shell(f".within 30\n{COUNT};\n.explain {COUNT}\n")
    assert refused.exit_code == 3
    assert "`.spend on`" in refused.stderr
    assert "may cost up to epsilon" in refused.stdout
    assert spent() == before
    paid = shell(f".within 30\n.spend on\n{COUNT};\n.spend off\n{COUNT};\n")
    assert paid.exit_code == 0, paid.output
    assert paid.stdout.index("may cost up to") < paid.stdout.index("It cost epsilon")
    assert "as answered before" in paid.stdout
    assert spent() > before


def test_an_accuracy_says_how_sure_it_is_as_answers_with_one_are_surer_than_those_without(shell):
    done = shell(f"{COUNT};\n.within 30\n.spend on\n{COUNT};\n")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert said.index(f"with {USUAL} confidence") < said.index(
        f"30 rows, with {SURE} confidence ({USUAL} without one)"
    )
    assert said.count(f"with {SURE} confidence") == 2
    assert Session.confidence == SURE


def test_dot_commands_set_draw_save_and_tell(shell):
    told = ".schema\n.budget\n.help\n.timing on\n.within 1%\n.within off\n"
    asked = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex;\n"
    done = shell(
        told + asked + ".plot out.svg\n.save out.csv\n.save 'out file.parquet';\n.quit\nSELECT nope;"
    )
    assert done.exit_code == 0, done.output
    for words in ("2 levels", "Left: epsilon", ".explain SQL", "1% of all rows", " ms", "Wrote out.csv"):
        assert words in done.stdout
    assert Path("out.svg").read_text().startswith("<svg")
    assert Path("out.csv").read_text().startswith("sex,n,n_low,n_high,n_source\nF,")
    assert Path("out file.parquet").read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (".nope", "no command"),
        (".within x", "number of rows"),
        (".within -1", "number of rows"),
        (".spend maybe", "on or off"),
        (".plot x.svg", "answered yet"),
        (".save", "name of a file"),
        (".save people.csv", "there already"),
        (".explain", "what that question"),
        (f"{COUNT};\n.plot x.pdf", "saved as"),
        (f"{COUNT};\n.save x.doc", "--format"),
        ("DROP TABLE t;", "SELECT"),
    ],
)
def test_what_is_typed_wrongly_is_one_sentence_and_the_conversation_goes_on(shell, line, words):
    done = shell(f"{line}\n{COUNT};")
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "It was free" in done.stdout


def test_a_release_is_asked_free_of_charge_and_takes_no_accuracy(shell, people_cli):
    assert (
        people_cli(
            "release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out"
        ).exit_code
        == 0
    )
    for thing in ("out", "out/synopsis.hedgerow"):
        done = shell(f"{COUNT};\n.budget\n.schema\n.explain {COUNT}\n.within 5\n{COUNT};", thing=thing)
        assert "It was free." in done.stdout
        assert "more accurate than it is" in done.stderr
        assert done.exit_code == 2
    described = json.loads(people_cli("describe", "out", "--json").stdout)
    assert [c["name"] for c in described["columns"]] == ["sex", "k"]
    assert described["pairs"][0]["names"] == ["sex", "k"]


def test_the_first_question_pays_for_learning_if_it_may(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "2").exit_code == 0
    run = lambda text: CliRunner().invoke(app, ["shell", "people.csv"], input=text)  # noqa: E731
    before = spent()
    refused = run(f"{COUNT};\n.explain {COUNT}")
    assert refused.exit_code == 2
    assert "Learning would cost" in refused.stdout
    assert spent() == before
    paid = run(f".spend on\n{COUNT};\n{COUNT};")
    assert paid.exit_code == 0, paid.output
    assert paid.stdout.count("Learning what rows look like, once, cost") == 1
    assert spent() > before


def test_an_account_pays_for_its_own_questions_and_sees_only_its_part(shell, people_cli):
    assert people_cli("budget", "allot", "people.csv", "ann", "--epsilon", "0.5").exit_code == 0
    done = shell(f".spend on\n.within 60\n{COUNT};\n.budget\n", "--as", "ann")
    assert done.exit_code == 0, done.output
    assert "ann was given epsilon 0.5" in done.stdout
    assert "spent epsilon" in done.stdout
    too_much = shell(f".spend on\n.within 2\n{COUNT};", "--as", "ann")
    assert too_much.exit_code == 3
    assert "account 'ann'" in too_much.stderr
    assert shell(f"{COUNT};", "--as", "bob").exit_code == 2


def test_a_server_that_is_not_there_and_missing_files_are_refused_in_one_sentence(people_cli):
    for thing, code in (
        ("http://127.0.0.1:9/people", 4),
        ("http://127.0.0.1:9", 2),
        ("nowhere.csv", 2),
        ("people.csv", 2),
    ):
        done = people_cli("shell", thing, "-c", COUNT)
        assert done.exit_code == code
        assert done.stderr.count("\n") == 1


def test_columns_levels_and_words_complete():
    made = Completion({"sex": ["female", "male"], "pay day": ["it's"], "k": ["0"]}, ["t"], list(HELP))
    assert made.of("SELECT ", "s")[0] == "sex"
    assert made.of("", ".sc") == [".schema"]
    assert made.of("WHERE sex = ", "'") == ["'female'", "'male'"]
    assert made.of('WHERE sex = 1 AND "pay day" = ', "'") == ["'it''s'"]
    assert made.of("SELECT ", '"pa') == ['"pay day"'] == made.of("SELECT ", "pa")
    assert "COUNT(*)" in made.of("SELECT ", "cou")
    assert made.of("SELECT ", "zz") == []
    assert (quoted_name("a"), quoted_name('a"b')) == ("a", '"a""b"')


def test_history_is_its_owners(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "hedgerow" / "shell_history"


def test_ctrl_c_is_forgiven_at_a_prompt_and_the_end_of_the_process_is_not(monkeypatch):
    monkeypatch.setattr(signals, "_heard", True)
    monkeypatch.setattr(signals, "_number", int(signals.signal.SIGTERM))
    assert not signals.forgiven()
    monkeypatch.setattr(signals, "_number", int(signals.signal.SIGINT))
    assert signals.forgiven()
    assert not signals.heard()


def test_a_person_at_a_terminal_gets_a_prompt_completion_and_history(shell, tmp_path):
    lead, follow = pty.openpty()
    command = [sys.executable, "-m", "hedgerow", "shell", "people.csv"]
    settings = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "dumb", "COLUMNS": "200"}
    with subprocess.Popen(command, stdin=follow, stdout=follow, stderr=follow, env=settings) as process:
        os.close(follow)
        seen = _until(lead, b"hedgerow> ")
        os.write(lead, b"SELECT COUNT(*) AS n FROM t\n")
        seen += _until(lead, b"...> ")
        os.write(lead, b"WHERE sex = 'F\t;\n")
        seen += _until(lead, b" ms")
        os.write(lead, b".quit\n")
        assert process.wait(60) == 0
    os.close(lead)
    assert b"learned" in seen
    kept = (tmp_path / "state/hedgerow/shell_history").read_text()
    assert "WHERE sex = 'F'" in kept
    assert (tmp_path / "state/hedgerow/shell_history").stat().st_mode & 0o077 == 0


def _until(lead: int, words: bytes, seconds: float = 40) -> bytes:
    """What a terminal shows, up to some words."""
    shown, end = b"", time.monotonic() + seconds
    while words not in shown:
        ready, _, _ = select.select([lead], [], [], max(0.0, end - time.monotonic()))
        assert ready, shown
        shown += os.read(lead, 4096)
    return shown


def test_the_help_names_every_command():
    named = {name.split()[0] for name in HELP}
    assert named | {".exit"} == set(Shell(None, Path("x")).commands)
