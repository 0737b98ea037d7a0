"""Mistakes on the command line: one sentence for people, an object for programs, nothing charged or left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.nearby import ledger_path
from hedgerow.release.numerals import amount
from hedgerow.serve.cli import failure, terminal
from hedgerow.serve.cli.commands import app
from hedgerow.service import lines

SCHEMA = """\
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 20]}
"""


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def refused(result, code: int = 2) -> str:
    """The one sentence of a refusal."""
    assert result.exit_code == code, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.endswith((".", "?"))
    return line


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """A folder with 200 people and a schema, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    lines = ["id,sex,age", *(f"p{i // 2},{'FM'[i % 2]},{i % 95}" for i in range(200))]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.yaml").write_text(SCHEMA)
    return Path("people.csv")


def ledgers() -> list[Path]:
    return list(Path().rglob("*.hedgerow.db"))


# -- one sentence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("there is no file", "There is no file."),
        ("people.csv has a budget", "people.csv has a budget."),
        ("out/x is there", "out/x is there."),
        ("--epsilon is a number", "--epsilon is a number."),
        ("épsilon,  and\nmore?", "Épsilon, and more?"),
        ("'q' is no level", "'q' is no level."),
    ],
)
def test_only_a_word_gets_a_capital_letter_and_never_the_name_of_a_file(said, sentence):
    assert failure.sentence(said) == sentence


def test_files_in_the_way_are_named_as_they_are(data):
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    said = refused(run("budget", "init", data, "--epsilon", 1))
    assert "'people.csv' has a budget already" in said
    assert "nothing was spent yet" in said
    assert "'schema.yaml' is there" in refused(run("schema", "infer", data))
    Path("out").mkdir()
    Path("out/report.html").touch()
    release = ("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out")
    assert "'out/report.html' is there" in refused(run(*release))
    assert run(*release, "--force").exit_code == 0
    assert "nothing was spent" not in refused(run("budget", "init", data, "--epsilon", 1))


@pytest.mark.parametrize("option", ["epsilon", "delta"])
@pytest.mark.parametrize("given", ["nan", "inf", "text", "", "1,5", "1/0", "1e400", "1e-400", "-1"])
def test_a_budget_that_is_no_number_or_no_promise_is_refused_by_name(data, option, given):
    words = {"epsilon": "1", option: given}
    options = [part for name, value in words.items() for part in (f"--{name}", value)]
    release = ("release", data, "--schema", "schema.yaml", "--out", "out", *options)
    plan = ("plan", "--schema", "schema.yaml", "--rows", 10, "--no-simulate", *options)
    for command in (("budget", "init", data, *options), release, plan):
        assert option in refused(run(*command)).lower()
    assert not ledgers()
    assert not Path("out").exists()


def test_an_objective_that_does_not_exist_makes_no_ledger(data):
    release = ("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--objective", "median")
    assert "mean or max" in refused(run(*release, "--mechanism", "adaptive"))
    assert not ledgers()


def test_a_schema_of_one_attribute_is_told_which_workload_fits(data):
    Path("s.yaml").write_text("sex: [F, M]\n")
    release = ("release", data, "--schema", "s.yaml", "--epsilon", 1, "--out", "out")
    assert "choose marginals:1" in refused(run(*release))
    assert "attribute" in refused(run(*release, "--workload", "marginals:²"))
    assert not ledgers()
    assert run(*release, "--workload", "marginals:1").exit_code == 0


def test_a_unit_that_the_ledger_does_not_protect_is_one_plain_sentence(data):
    run("budget", "init", data, "--epsilon", 1)
    release = ("release", data, "--schema", "schema.yaml", "--all", "--unit", "id", "--max-rows", 2)
    assert "protects each row" in refused(run(*release))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "1"), "epsilon 1, delta 1e-9 is not more than epsilon 1, delta 1e-9"),
        (("--epsilon", "2", "--delta", "1e-12"), "is not more than"),
        (("--epsilon", "2", "--delta", "0"), "delta 0 stays so"),
    ],
)
def test_a_budget_that_is_not_raised_is_told_in_words(data, options, words):
    run("budget", "init", data, "--epsilon", 1)
    said = refused(run("budget", "raise", data, *options, "--reason", "why not"))
    assert words in said
    assert "Budget(" not in said


def test_a_budget_is_given_to_data_only(data):
    Path("folder").mkdir()
    assert "no Parquet files" in refused(run("budget", "init", "folder", "--epsilon", 1))
    assert not ledgers()
    assert "no file 'peopel.csv'" in refused(run("budget", "show", "peopel.csv"))


ENTRIES = {
    "infinite bins": "age: {bins: [0, .inf, 5]}",
    "no such month": "age: {dates: {start: 2020-13-01, stop: 2024-01-01}}",
    "hierarchy is a list": "sex: {levels: [F, M], hierarchy: [1]}",
    "missing is a word": "sex: {levels: [F, M], missing: maybe}",
    "nothing": "",
    "a list": "- sex",
    "no levels": "sex: []",
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_schema_that_cannot_be_understood_is_one_sentence_with_its_name(data, entry):
    Path("s.yaml").write_text(ENTRIES[entry] + "\n")
    release = ("release", data, "--schema", "s.yaml", "--epsilon", 1, "--out", "out")
    for command in (("schema", "check", "s.yaml"), ("plan", "--schema", "s.yaml", "--rows", 10), release):
        assert "'s.yaml'" in refused(run(*command))
    assert not ledgers()


def test_options_of_a_wrong_kind_are_told_in_plain_words(data):
    said = refused(run("plan", "--schema", "schema.yaml", "--rows", "many"))
    assert "a whole number is needed" in said
    said = refused(run("release", data, "--schema", "schema.yaml", "--neighbours", "x"))
    assert "Value error" not in said
    assert "at least 1" in refused(run("audit", "--all", "--time-limit", "nan"))


def test_with_nothing_left_nobody_is_told_to_spend_less(data):
    release = ("release", data, "--schema", "schema.yaml", "--workload", "marginals:1")
    assert run(*release, "--epsilon", 1, "--out", "a").exit_code == 0
    said = refused(run(*release, "--out", "b"), 3)
    assert "budget raise" in said
    assert "spend less" not in said


# -- for programs ----------------------------------------------------------------------------------------

FAILING = {
    "no file": (["query", "nowhere", "SELECT COUNT(*) FROM t"], 2),
    "usage": (["release", "--json"], 2),
    "no such command": (["relaese"], 2),
    "bad number": (["budget", "init", "people.csv", "--epsilon", "x"], 2),
    "bad ledger": (["budget", "show", "people.csv"], 2),
    "budget": (["release", "people.csv", "--schema", "schema.yaml", "--epsilon", "9", "--out", "out"], 3),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_error_is_json_too_when_json_was_asked_for(data, name):
    arguments, code = FAILING[name]
    if code == 3:
        run("budget", "init", data, "--epsilon", 1)
    result = run(*arguments, "--json")
    told = json.loads(result.stdout)
    assert list(told) == ["error", "exit_code", "code", "hint"]
    assert (told["exit_code"], told["code"]) == (code, "budget_refused" if code == 3 else "bad_input")
    hint = f"; {told['hint'][0].lower()}{told['hint'][1:]}" if told["hint"] else "."
    assert refused(result, code) == told["error"].removesuffix(".") + hint
    assert run(*[a for a in arguments if a != "--json"]).stdout == ""


def test_a_ledger_that_does_not_verify_is_said_and_is_json(data):
    Path("bad.json").write_text("{}")
    result = run("budget", "verify", "bad.json", "--json")
    assert json.loads(result.stdout)["ok"] is False
    assert "not the export" in refused(result, 1)


def test_json_has_no_infinity(capsys):
    terminal.emit({"a": float("inf"), "b": [float("nan"), (1.5,)], "c": {"d": -float("inf")}})
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (told["a"], told["b"], told["c"]) == (None, [None, [1.5]], {"d": None})


def test_an_error_of_our_own_quotes_nothing_and_shows_no_traceback(data, monkeypatch):
    def broken(*_):
        raise TypeError("the row of Alice Secret")

    monkeypatch.setattr("hedgerow.release.schema.Schema.load", broken)
    monkeypatch.delenv(failure.DEBUG, raising=False)
    result = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--json")
    assert "TypeError at test_cli_mistakes.py" in refused(result, 1)
    assert "Alice" not in result.output
    assert json.loads(result.stdout)["exit_code"] == 1
    monkeypatch.setenv(failure.DEBUG, "1")
    with pytest.raises(TypeError):
        run("release", data, "--schema", "schema.yaml", "--epsilon", 1)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = f"set -o pipefail; {line}".replace("hedgerow", f"{sys.executable} -m hedgerow", 1)
    options = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    return subprocess.run(["bash", "-c", words], check=False, **options)


def test_an_error_survives_a_reader_that_left_and_a_disk_that_is_full(data):
    for line in ("hedgerow query nowhere x --json | true", "hedgerow query nowhere x --json >&-"):
        done = shell(line)
        assert (done.returncode, done.stderr) == (2, "There is no file 'nowhere'.\n"), line
    if Path("/dev/full").exists():
        assert shell("hedgerow query nowhere x --json > /dev/full").stderr == "There is no file 'nowhere'.\n"


def test_a_terminal_without_unicode_gets_a_question_mark_and_programs_get_utf8(data):
    run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--workload", "marginals:1", "--out", "o")
    sql = '"SELECT COUNT(*) AS é FROM t"'
    text = shell(f"hedgerow query o/synopsis.hedgerow {sql}", PYTHONIOENCODING="ascii")
    assert text.returncode == 0, text.stderr
    assert "?" in text.stdout
    told = shell(f"hedgerow query o/synopsis.hedgerow {sql} --json", PYTHONIOENCODING="ascii")
    assert json.loads(told.stdout)["columns"] == ["é"]


# -- crumbs, links, columns ------------------------------------------------------------------------------


def test_crumbs_are_never_shown_as_epsilon_0():
    budget = Budget(epsilon=1, delta=1e-9)
    for cost in (Cost("rho", "1e-18"), Cost("rho", "1e-25"), Cost("rho", 0, "1e-11")):
        assert budget.part(cost).epsilon == 0
        for words in (lines._price(cost, budget), amount(budget.part(cost), budget)):
            assert "epsilon" not in words
            assert any(digit in words for digit in "123456789")
    assert amount(budget.part(Cost.zero("rho")), budget) == "nothing"


def test_a_ledger_that_counts_rho_says_why_epsilons_do_not_add_up(data):
    for delta, said in (("1e-9", True), ("0", False)):
        other = Path(f"delta{delta}.csv")
        other.write_bytes(data.read_bytes())
        run("budget", "init", other, "--epsilon", 2, "--delta", delta)
        release = ("release", other, "--schema", "schema.yaml", "--workload", "marginals:1", "--epsilon", 1)
        assert run(*release, "--mechanism", "laplace", "--out", f"o{delta}").exit_code == 0
        assert ("do not add up" in run("budget", "show", other).stdout) is said


def test_a_narrow_terminal_leaves_room_for_words(data, monkeypatch):
    from rich.console import Console

    from hedgerow.serve.cli import budget

    run("budget", "init", data, "--epsilon", 1)
    for width, shown in ((80, False), (140, True)):
        monkeypatch.setattr(budget, "screen", lambda width=width: Console(width=width))
        told = run("budget", "show", data, "--lines").stdout
        assert ("spent so far" in told) is shown
        assert "gave the dataset a" in told


def test_a_link_to_data_shares_its_budget(data):
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    Path("link.csv").symlink_to(data.resolve())
    assert ledger_path("link.csv").samefile(ledger_path(data))
    assert "already" in refused(run("budget", "init", "link.csv", "--epsilon", 1))
    assert len(ledgers()) == 1


def test_columns_that_no_schema_can_hold_are_left_out_with_the_reason(data):
    pq.write_table(pa.table({"a": ["x", "y"] * 50, "l": [[1]] * 100, "s": [{"k": 1}] * 100}), "t.parquet")
    from hedgerow.curator.drafting.inspector import Inspector

    found = Inspector("t.parquet").propose()
    assert found.domain is not None
    assert list(found.domain) == ["a"]
    assert all("neither text" in why for why in found.skipped.values())
    assert set(found.skipped) == {"l", "s"}


def test_numbers_of_any_size_are_binned_or_left_out(data):
    rows = [f"{10**30 + i * 10**28},0.{i:020d},{i}e300,{1e9 + i * 1e-9!r}" for i in range(300)]
    Path("n.csv").write_text("big,tiny,vast,close\n" + "\n".join(rows) + "\n")
    told = json.loads(run("schema", "infer", "n.csv", "--out", "n.yaml", "--json").stdout)
    assert "tiny" in told["attributes"]
    assert {"big", "vast"} <= set(told["left_out"])
    assert run("schema", "check", "n.yaml", "n.csv").exit_code == 0


def test_levels_called_other_leave_a_name_for_the_rest(data):
    Path("o.csv").write_text("k\n" + "other\n(other)\nb\n" * 50)
    told = json.loads(run("schema", "infer", "o.csv", "--out", "o.yaml", "--json").stdout)
    assert told["attributes"]["k"]["other"] == "((other))"


def test_a_file_without_usable_columns_says_what_to_do(data):
    Path("none.csv").write_text("a,b\n")
    assert "--least" in refused(run("schema", "infer", "none.csv", "--out", "n.yaml"))
