"""The command line: budgets are kept, mistakes are one sentence, nothing is charged for a mistake."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hedgerow.curator.rows.table import Rows
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli.commands import app

SCHEMA = """\
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 20]}
  town: {levels: [north, south], other: true, missing: true}
"""


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def refused(result, code: int = 2) -> str:
    """The one sentence of a refusal."""
    assert result.exit_code == code, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.output
    assert lines[0].endswith((".", "?"))
    assert lines[0][0].isupper() or not lines[0][0].isalpha()
    return lines[0]


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """A folder with 600 people and a schema, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    lines = ["id,sex,age,town"]
    for i in range(600):
        town = rng.choice(["north", "south", "east", ""])
        lines.append(f"p{i // 2},{rng.choice(['F', 'M'])},{rng.integers(0, 100)},{town}")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.yaml").write_text(SCHEMA)
    return Path("people.csv")


def ledger_of(data: Path) -> Path:
    return Path(f"{data}.hedgerow.db")


def spent(data: Path):
    with Ledger.open(ledger_of(data), create=False) as ledger:
        assert ledger.verify().ok
        return ledger.spent()


def test_a_second_release_that_would_pass_the_budget_is_refused_and_not_charged(data):
    first = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "one", "--json")
    assert first.exit_code == 0, first.output
    assert {p.name for p in Path("one").iterdir()} == set(json.loads(first.stdout)["files"])
    before = spent(data)
    for epsilon in ("1", "0.01"):
        again = run("release", data, "--schema", "schema.yaml", "--epsilon", epsilon, "--out", "two")
        assert refused(again, 3)
    assert refused(run("release", data, "--schema", "schema.yaml", "--out", "two"), 3)
    assert spent(data) == before
    assert not Path("two").exists()


def test_a_budget_is_shared_by_releases_and_can_be_raised_with_a_reason(data):
    assert run("budget", "init", data, "--epsilon", 1, "--delta", 0).exit_code == 0
    parts = [
        "release",
        data,
        "--schema",
        "schema.yaml",
        "--workload",
        "marginals:1",
        "--mechanism",
        "laplace",
    ]
    assert run(*parts, "--epsilon", "0.5", "--out", "a").exit_code == 0
    assert run(*parts, "--epsilon", "0.5", "--out", "b").exit_code == 0
    assert refused(run(*parts, "--epsilon", "0.5", "--out", "c"), 3)
    assert refused(run("budget", "raise", data, "--epsilon", "1.5", "--reason", " "))
    assert refused(run("budget", "raise", data, "--epsilon", "0.7", "--reason", "smaller"))
    assert run("budget", "raise", data, "--epsilon", "1.5", "--reason", "a new wave").exit_code == 0
    assert run(*parts, "--epsilon", "0.5", "--out", "c").exit_code == 0
    shown = run("budget", "show", data, "--lines").stdout
    flat = " ".join(shown.split())
    for words in (
        "gave the dataset a budget",
        "Discrete Laplace noise",
        "3 times",
        "a new wave",
        "Left: nothing",
    ):
        assert words in flat
    lines = json.loads(run("budget", "show", data, "--json").stdout)["lines"]
    lines = [lines[0], *(line for line in lines if line["kind"] in ("charge", "raise"))]
    assert [line["kind"] for line in lines] == ["open", "charge", "charge", "raise", "charge"]
    assert all(len(line["words"].split()) > 5 for line in lines)


def test_a_receipt_shows_a_ledger_that_was_put_back(data):
    run("budget", "init", data, "--epsilon", 1)
    old = ledger_of(data).read_bytes()
    assert run("release", data, "--schema", "schema.yaml", "--all", "--out", "out").exit_code == 0
    good = run("budget", "verify", data, "--receipt", "out/receipt.json")
    assert good.exit_code == 0
    assert "agrees" in good.stdout
    assert run("budget", "export", data, "--out", "export.json", "--json").exit_code == 0
    assert run("budget", "verify", "export.json", "--receipt", "out/receipt.json").exit_code == 0
    for file in Path().glob("people.csv.hedgerow.db*"):
        file.unlink()
    ledger_of(data).write_bytes(old)
    assert "old copy was put back" in refused(
        run("budget", "verify", data, "--receipt", "out/receipt.json"), 1
    )
    told = run("budget", "verify", data, "--receipt", "out/receipt.json", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["ok"] is False


def test_what_was_released_is_answered_and_sampled_for_free(data):
    assert run("release", data, "--schema", "schema.yaml", "--epsilon", 50, "--out", "out").exit_code == 0
    before = spent(data)
    sql = "SELECT sex, COUNT(*) AS n FROM t WHERE age >= 40 GROUP BY sex"
    answer = json.loads(run("query", "out/synopsis.hedgerow", sql, "--json").stdout)
    assert [row["sex"] for row in answer["rows"]] == ["F", "M"]
    assert 250 < sum(row["n"]["value"] for row in answer["rows"]) < 470
    assert all(row["n"]["error"] > 0 for row in answer["rows"])
    printed = run("query", "out/synopsis.hedgerow", "SELECT age, COUNT(*) FROM t GROUP BY age").stdout
    assert "[0, 20)" in printed  # a label in brackets is not markup
    rows = run("sample", "out/synopsis.hedgerow", "--rows", 25, "--seed", 1).stdout.splitlines()
    assert rows[0] == "sex,age,town"
    assert len(rows) == 26
    assert run("sample", "out/synopsis.hedgerow", "--rows", 9, "--out", "r.csv", "--json").exit_code == 0
    assert len(Path("r.csv").read_text().splitlines()) == 10
    assert spent(data) == before


def test_units_are_remembered_by_the_ledger(data):
    assert run("budget", "init", data, "--epsilon", 1, "--unit", "id", "--max-rows", 2).exit_code == 0
    with Ledger.open(ledger_of(data), create=False) as ledger:
        assert (ledger.settings.unit, ledger.settings.max_rows) == ("id", 2)
    assert run("release", data, "--schema", "schema.yaml", "--epsilon", "0.5", "--out", "a").exit_code == 0
    release = ("release", data, "--schema", "schema.yaml", "--all", "--out", "b")
    assert "max_rows" in refused(run(*release, "--unit", "id", "--max-rows", 1))


@pytest.mark.parametrize("mechanism", ["adaptive", "gaussian", "laplace", "histogram", "randomized-response"])
def test_every_mechanism_in_the_catalogue_releases(data, mechanism):
    options = ["--neighbours", "replace", "--mechanism", mechanism, "--epsilon", 2, "--out", "out", "--json"]
    result = run("release", data, "--schema", "schema.yaml", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["private"] is True


@pytest.mark.parametrize(
    "workload", ["conjunctions:1", "ranges:1", "prefixes:1", "parities:1", "marginals:sex,age;town"]
)
def test_every_workload_can_be_released(data, workload):
    result = run(
        "release", data, "--schema", "schema.yaml", "--epsilon", 1, "--workload", workload, "--out", "o"
    )
    assert result.exit_code == 0, result.output
    assert Path("o/report.html").stat().st_size > 10_000


# -- mistakes --------------------------------------------------------------------------------------------


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    return name


def parquet_of_text() -> str:
    pq.write_table(pa.table({"sex": ["F"], "age": ["old"], "town": ["north"]}), "text.parquet")
    return "text.parquet"


RELEASES = {
    "missing file": (["nowhere.csv"], "no file"),
    "folder": (["."], "no Parquet file"),
    "not csv": (lambda: [write("x.xlsx", "")], "neither CSV"),
    "empty file": (lambda: [write("x.csv", "")], "empty"),
    "wrong column": (lambda: [write("x.csv", "sex,age\nF,1\n")], "no column 'town'"),
    "column twice": (lambda: [write("x.csv", "sex,age,town,age\nF,1,north,2\n")], "more than one column"),
    "does not fit": (lambda: [parquet_of_text()], "holds text"),
    "broken parquet": (lambda: [write("x.parquet", "no")], "could not be read"),
    "missing schema": (["people.csv", "--schema", "nowhere.yaml"], "no schema file"),
    "malformed schema": (lambda: ["people.csv", "--schema", write("s.yaml", "a: [b")], "malformed"),
    "schema is a list": (lambda: ["people.csv", "--schema", write("s.yaml", "- a\n- b\n")], "mapping"),
    "bad attribute": (lambda: ["people.csv", "--schema", write("s.yaml", "age: {bins: [9, 0, 1]}")], "'age'"),
    "bad option": (lambda: ["people.csv", "--schema", write("s.yaml", "a: {levels: [1], x: 2}")], "'x'"),
    "unconfirmed": (
        lambda: ["people.csv", "--schema", write("s.yaml", "confirmed: false\nattributes: {sex: [F]}")],
        "not confirmed",
    ),
    "no epsilon": (["people.csv", "--epsilon", None], "no budget yet"),
    "negative epsilon": (["people.csv", "--epsilon", "-1"], "positive"),
    "epsilon in words": (["people.csv", "--epsilon", "lots"], "lots"),
    "endless epsilon": (["people.csv", "--epsilon", "inf"], "finite"),
    "delta": (["people.csv", "--delta", "2"], "delta"),
    "workload": (["people.csv", "--workload", "everything"], "no workload"),
    "workload size": (["people.csv", "--workload", "marginals:9"], "needs 9"),
    "workload column": (["people.csv", "--workload", "marginals:sex,hat"], "'hat'"),
    "mechanism": (["people.csv", "--mechanism", "magic"], "no mechanism"),
    "pure gaussian": (["people.csv", "--mechanism", "gaussian", "--delta", "0"], "delta"),
    "response": (["people.csv", "--mechanism", "randomized-response"], "replace"),
    "unit alone": (["people.csv", "--unit", "id"], "max_rows"),
    "unit column": (["people.csv", "--unit", "who", "--max-rows", "1"], "'who'"),
    "out under a file": (["people.csv", "--out", "schema.yaml/out"], "cannot be written"),
    "out in /proc": (["people.csv", "--out", "/proc/out"], "cannot be written"),
    "out is a file": (["people.csv", "--out", "schema.yaml"], "cannot be written"),
    "out is taken": (
        lambda: ["people.csv", "--out", str(Path(write("d/report.html", "")).parent)],
        "--force",
    ),
    "encoding": (["people.csv", "--encoding", "klingon"], "klingon"),
    "delimiter": (["people.csv", "--delimiter", "<>"], "delimiter"),
    "option": (["people.csv", "--rwos", "3"], "--rwos"),
    "max rows": (["people.csv", "--unit", "id", "--max-rows", "0"], "--max-rows"),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("budget", [False, True])
def test_a_release_that_cannot_be_made_is_one_sentence_and_costs_nothing(data, name, budget):
    given, words = RELEASES[name]
    arguments = [str(a) if a is not None else None for a in (given() if callable(given) else given)]
    defaults = {"--schema": "schema.yaml", "--epsilon": "1", "--out": "out"}
    chosen = [x for k, v in defaults.items() if k not in arguments for x in (k, v)]
    if None in arguments:
        place = arguments.index(None)
        del arguments[place - 1 : place + 1]
    target = Path(arguments[0])
    if budget and target.is_file() and "no epsilon" not in name:
        with Ledger.open(ledger_of(target), budget=budget_like(arguments)):
            pass
    sentence = refused(run("release", *arguments, *chosen))
    assert words in sentence
    for ledger in Path().glob("*.hedgerow.db"):
        assert budget
        assert spent(Path(str(ledger).removesuffix(".hedgerow.db"))).is_zero
    assert not Path("out").exists()


def budget_like(arguments):
    from hedgerow.privacy.budget import Budget

    return Budget(epsilon=1, delta=0 if "0" in arguments and "--delta" in arguments else 1e-9)


def test_a_ledger_that_cannot_be_made_or_read_stops_a_release(data):
    ledger_of(data).mkdir()
    assert (
        "ledger"
        in refused(run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "o")).lower()
    )
    ledger_of(data).rmdir()
    ledger_of(data).write_text("not a ledger")
    assert "not a Hedgerow ledger" in refused(run("release", data, "--schema", "schema.yaml", "--epsilon", 1))
    assert refused(run("budget", "show", data))
    assert refused(run("budget", "verify", data))


OTHERS = {
    "query, missing file": (["query", "nowhere", "SELECT COUNT(*) FROM t"], "no file"),
    "query, other file": (["query", "people.csv", "SELECT COUNT(*) FROM t"], "not a synopsis"),
    "sample, missing file": (["sample", "nowhere", "--rows", "5"], "no file"),
    "sample, other file": (["sample", "schema.yaml"], "not a synopsis"),
    "infer, missing file": (["schema", "infer", "nowhere.csv", "--out", "g.yaml"], "no file"),
    "infer, taken": (["schema", "infer", "people.csv"], "--force"),
    "infer, unwritable": (
        ["schema", "infer", "people.csv", "--out", "people.csv/s.yaml"],
        "cannot be written",
    ),
    "check, missing file": (["schema", "check", "nowhere.yaml"], "no schema file"),
    "check, missing data": (["schema", "check", "schema.yaml", "nowhere.csv"], "no file"),
    "check, broken": (lambda: ["schema", "check", write("s.yaml", "a: {")], "malformed"),
    "check, wrong column": (
        lambda: ["schema", "check", "schema.yaml", write("x.csv", "a\n1\n")],
        "no column",
    ),
    "check, does not fit": (lambda: ["schema", "check", "schema.yaml", parquet_of_text()], "holds text"),
    "check, unit": (["schema", "check", "schema.yaml", "people.csv", "--unit", "who"], "'who'"),
    "init, missing file": (["budget", "init", "nowhere.csv", "--epsilon", "1"], "no file"),
    "init, unit alone": (["budget", "init", "people.csv", "--epsilon", "1", "--unit", "id"], "--max-rows"),
    "init, negative": (["budget", "init", "people.csv", "--epsilon", "-1"], "positive"),
    "show, none": (["budget", "show", "people.csv"], "no budget yet"),
    "raise, none": (["budget", "raise", "people.csv", "--epsilon", "2", "--reason", "x"], "no budget yet"),
    "verify, none": (["budget", "verify", "people.csv"], "no budget yet"),
    "verify, receipt": (["budget", "verify", "x.json", "--receipt", "nowhere.json"], "no file"),
    "verify, no receipt": (["budget", "verify", "x.json", "--receipt", "schema.yaml"], "JSON"),
    "export, none": (["budget", "export", "people.csv"], "no budget yet"),
    "demo, full folder": (["demo", "--out", "."], "not empty"),
    "demo, under a file": (["demo", "--out", "people.csv/demo"], "cannot be written"),
    "demo, bad epsilon": (["demo", "--out", "d", "--epsilon", "0"], "positive"),
    "no such command": (["relaese"], "relaese"),
    "missing argument": (["query"], "SYNOPSIS"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_mistakes_are_one_sentence_with_exit_code_2(data, name):
    given, words = OTHERS[name]
    assert words in refused(run(*(given() if callable(given) else given)))
    assert not list(Path().glob("*.hedgerow.db"))


def test_sql_that_the_release_cannot_answer_is_one_sentence(data):
    run(
        "release",
        data,
        "--schema",
        "schema.yaml",
        "--epsilon",
        1,
        "--workload",
        "marginals:1",
        "--mechanism",
        "gaussian",
        "--out",
        "out",
    )
    for sql in (
        "SELECT *",
        "SELECT COUNT(*) FROM t WHERE hat = 1",
        "SELECT COUNT(*) FROM t WHERE sex='F' AND age<20",
    ):
        assert refused(run("query", "out/synopsis.hedgerow", sql))
    assert refused(run("query", "out/synopsis.hedgerow", "SELECT COUNT(*) FROM t", "--confidence", "1.5"))
    assert refused(run("sample", "out/synopsis.hedgerow", "--rows", "-3"))
    assert refused(run("sample", "out/synopsis.hedgerow", "--rows", "3", "--out", "people.csv/x"))


def test_existing_results_are_replaced_only_when_told(data):
    release = ["release", data, "--schema", "schema.yaml", "--epsilon", "0.5", "--out", "out"]
    assert run("budget", "init", data, "--epsilon", 2).exit_code == 0
    assert run(*release).exit_code == 0
    before = spent(data)
    assert "--force" in refused(run(*release))
    assert spent(data) == before
    assert run(*release, "--force").exit_code == 0


# -- schema ----------------------------------------------------------------------------------------------


def test_an_inferred_schema_is_loud_and_useless_until_confirmed(data):
    result = run("schema", "infer", data, "--out", "guess.yaml")
    assert result.exit_code == 0
    assert "PRIVATE ROWS" in result.stderr
    text = Path("guess.yaml").read_text()
    assert text.startswith("# PROPOSED FROM PRIVATE ROWS")
    assert "confirmed: false" in text
    release = ["release", data, "--schema", "guess.yaml", "--epsilon", 1, "--out", "out"]
    assert "not confirmed" in refused(run(*release))
    assert not ledger_of(data).exists()
    checked = json.loads(run("schema", "check", "guess.yaml", data, "--confirm", "--json").stdout)
    assert checked["confirmed"] is True
    assert checked["attributes"]["town"]["other"] is True
    assert checked["attributes"]["town"]["missing"] is True
    assert "id" not in checked["attributes"]
    assert Path("guess.yaml").read_text().startswith("# PROPOSED")  # the rest of the file is as it was
    assert run(*release).exit_code == 0


def test_rare_values_are_not_proposed(data):
    with data.open("a") as file:
        file.write("p999,F,30,the only house on the hill\n")
    told = json.loads(run("schema", "infer", data, "--out", "g.yaml", "--json").stdout)
    assert "the only house on the hill" not in Path("g.yaml").read_text()
    assert told["attributes"]["town"]["levels"] == ["east", "north", "south"]


def test_a_check_counts_what_does_not_fit_for_the_owner(data):
    told = json.loads(run("schema", "check", "schema.yaml", data, "--json").stdout)["PRIVATE_for_the_owner"]
    rows = [line.split(",") for line in data.read_text().splitlines()[1:]]
    assert told["rows"] == 600
    assert told["outside"]["town"] == sum(r[3] == "east" for r in rows)
    assert told["missing"]["town"] == sum(r[3] == "" for r in rows)
    assert told["unused_columns"] == ["id"]
    assert "PRIVATE" in run("schema", "check", "schema.yaml", data).stdout


# -- interruptions ---------------------------------------------------------------------------------------


def test_an_interruption_while_reading_charges_nothing(data, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Rows, "tables", interrupt)
    result = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out")
    assert result.exit_code == 130
    assert spent(data).is_zero
    assert not Path("out").exists()


def test_an_interruption_inside_the_charge_charges_nothing(data, monkeypatch):
    from hedgerow.curator.curator import Curator

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "_noise", interrupt)
    assert run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out").exit_code == 130
    assert spent(data).is_zero


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hedgerow", *map(str, arguments)]


def test_ctrl_c_leaves_a_ledger_that_verifies(data):
    Path("big.csv").write_bytes(b"sex,age,town\n" + b"F,30,north\nM,50,south\n" * 700_000)
    arguments = ("release", "big.csv", "--mechanism", "adaptive", "--epsilon", 1, "--out", "big")
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not Path("big.csv.hedgerow.db").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    made = "A new budget of epsilon 1"  # said or not, as the signal came before or after
    assert len([line for line in errors.splitlines() if not line.startswith(made)]) == 1
    with Ledger.open("big.csv.hedgerow.db", create=False) as ledger:
        assert ledger.verify().ok


# -- as people run it ------------------------------------------------------------------------------------


def test_a_real_process_keeps_the_two_streams_apart(data):
    options = {"capture_output": True, "text": True}
    bad = subprocess.run(command("release", "x.csv", "--schema", "s"), check=False, **options)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert len(bad.stderr.splitlines()) == 1
    good = subprocess.run(command("budget", "init", data, "--epsilon", 1, "--json"), check=True, **options)
    assert json.loads(good.stdout)["budget"]["epsilon"] == 1
    assert good.stderr == ""
    assert oct(ledger_of(data).stat().st_mode & 0o777) == "0o600"


def test_progress_is_shown_on_a_terminal_and_nowhere_else(data):
    arguments = command("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out")
    leader, follower = pty.openpty()
    terminal = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(arguments, stderr=follower, stdout=subprocess.DEVNULL, env=terminal)
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    assert process.wait(timeout=60) == 0
    os.close(leader)
    assert b"Reading rows" in seen
    quiet = subprocess.run(
        [*arguments[:-1], "two", "--epsilon", "1", "--json"], capture_output=True, text=True, check=False
    )
    assert quiet.returncode == 3
    assert len(quiet.stderr.splitlines()) == 1
