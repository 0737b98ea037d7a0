"""First steps of a stranger: what is mistaken for something else is named as what it is, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.serve.cli.commands import app

SCHEMA = """\
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 20], step: 1}
"""


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    """The one sentence of a refusal."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.endswith((".", "?"))
    return line


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with 200 people and a schema, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    lines = ["id,sex,age", *(f"p{i // 2},{'FM'[i % 2]},{i % 95}" for i in range(200))]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.yaml").write_text(SCHEMA)
    Path("sub").mkdir()
    return tmp_path


def test_a_folder_or_the_data_is_no_schema():
    assert "'sub' is a folder, and a schema is a file" in refused("schema", "check", "sub")
    assert "`hedgerow schema infer` writes one" in refused("schema", "check", "people.csv", "schema.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("d: {dates: {start: 2020-13-01, stop: 2021-01-01}}", "has 2020-13-01 in line 2, which cannot be"),
        ("~: [a, b]", "needs a name"),
        ("null: [a, b]", "needs a name"),
    ],
)
def test_what_a_schema_cannot_hold_is_named(text, words):
    Path("s.yaml").write_text(f"attributes:\n  {text}\n")
    assert words in refused("schema", "check", "s.yaml")


def test_a_file_that_holds_no_rows_gets_no_budget_and_no_description():
    Path("photo.png").write_bytes(b"\x89PNG")
    for command in (("budget", "init", "photo.png", "--epsilon", 1), ("describe", "photo.png")):
        assert "neither CSV" in refused(*command)
    assert "neither CSV" in refused("describe", "schema.yaml")
    assert not list(Path().rglob("*.hedgerow.db"))


def test_a_release_is_not_asked_as_data_are():
    Path("synopsis.hedgerow").write_bytes(b"x")
    said = refused("ask", "synopsis.hedgerow", "SELECT COUNT(*) FROM t", "--epsilon", 1)
    assert "ask it with `hedgerow query`" in said


def test_a_file_is_no_folder_and_a_folder_no_file():
    release = ("release", "people.csv", "--epsilon", 1, "--out", "people.csv")
    assert "'people.csv' cannot be written, as it is a file" in refused(*release)
    infer = ("schema", "infer", "people.csv", "--out", "sub", "--force")
    assert "'sub' cannot be written, as it is a folder" in refused(*infer)
    assert not list(Path().rglob("*.hedgerow.db"))


def test_a_first_block_that_cannot_be_one_makes_no_budget():
    append = ("append", "grow", "--epsilon", 1, "--schema", "schema.yaml")
    assert "no file 'nothere.csv'" in refused(*append, "nothere.csv")
    assert "a day such as" in refused(*append, "people.csv", "--day", "monday").lower()
    Path("strange.csv").write_text("x\n1\n")
    assert "no column 'sex'" in refused(*append, "strange.csv")
    assert not list(Path().rglob("*.hedgerow.db"))
    assert run(*append, "people.csv", "--day", "2026-01-01").exit_code == 0


@pytest.mark.parametrize(("delta", "warned"), [("0.5", True), ("1e-3", True), ("1e-6", False), ("0", False)])
def test_a_delta_that_somebody_meets_is_warned_of(delta, warned):
    made = run("budget", "init", "people.csv", "--epsilon", 1, "--delta", delta)
    assert made.exit_code == 0
    assert ("is a weak promise" in made.stderr) == warned


def test_a_budget_that_promises_nothing_is_warned_of_when_it_is_made():
    assert "epsilon 50 is a weak promise" in run("budget", "init", "people.csv", "--epsilon", 50).stderr


@pytest.mark.parametrize("value", ["F", '"F"'])
def test_a_level_without_its_quotes_is_told_how_to_write_it(value):
    said = refused("ask", "people.csv", f"SELECT COUNT(*) FROM t WHERE sex = {value}", "--epsilon", 1)
    assert "no column 'F'; as a text it goes into single quotes, 'F'" in said


def test_a_server_is_checked_with_its_schema():
    Path("broken.yaml").write_text("attributes: [")
    assert "malformed" in refused("serve", "people.csv", "--check", "--schema", "broken.yaml")


def test_the_data_come_before_the_statement():
    assert "comes first" in refused("ask", "SELECT COUNT(*) FROM t", "people.csv")


def test_a_damaged_ledger_is_told_what_to_do():
    assert run("budget", "init", "people.csv", "--epsilon", 1).exit_code == 0
    ledger = Path("people.csv.hedgerow.db")
    ledger.write_bytes(ledger.read_bytes()[:3000])
    assert "`hedgerow restore`" in refused("budget", "show", "people.csv")
