"""Releases that stop halfway go on for nothing, are told of, and nothing that exists is written over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli.commands import app
from hedgerow.service.publication import Publication

SCHEMA = """\
attributes:
  sex: [F, M]
  ill: ["no", "yes"]
  age: {bins: [0, 100, 10]}
  town: [north, south, east]
"""


def run(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lines = ["sex,ill,age,town"]
    for _ in range(2000):
        age = rng.integers(0, 100)
        town = ["north", "south", "east"][rng.integers(0, 3)]
        lines.append(
            f"{'FM'[rng.integers(0, 2)]},{['no', 'yes'][int(rng.random() < age / 150)]},{age},{town}"
        )
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.yaml").write_text(SCHEMA)
    return Path("people.csv")


def spent(data: Path) -> float:
    with Ledger.open(Path(f"{data}.hedgerow.db"), create=False) as ledger:
        assert ledger.verify().ok
        return ledger.budget.part(ledger.spent()).epsilon


def charges(data: Path) -> int:
    with Ledger.open(Path(f"{data}.hedgerow.db"), create=False) as ledger:
        return sum(e["line"]["kind"] == "charge" for e in ledger.export()["entries"])


def crash(self, *_):
    raise KeyboardInterrupt


CHOOSING = ("--seconds", "1")  # tables are chosen, one charge after another


def stop_after(monkeypatch, number: int) -> None:
    """Ctrl-C instead of the charge of this number."""
    real, count = Ledger.charge, [0]

    def charge(self, *args, **options):
        count[0] += 1
        if count[0] > number:
            raise KeyboardInterrupt
        return real(self, *args, **options)

    monkeypatch.setattr(Ledger, "charge", charge)


# -- going on --------------------------------------------------------------------------------------------

ONE_ACT = {
    "gaussian": ["--workload", "marginals:1", "--mechanism", "gaussian"],
    "answers": ["--workload", "ranges:age", "--mechanism", "gaussian"],
    "laplace": ["--workload", "marginals:1", "--mechanism", "laplace"],
    "histogram": ["--mechanism", "histogram"],
    "factorization": ["--mechanism", "factorization"],
    "matrix": ["--workload", "parities:2", "--mechanism", "factorization"],
    "projection": ["--mechanism", "projection"],
}


@pytest.mark.parametrize("epsilon", [["--all"], ["--epsilon", "0.5"]], ids=["all that remains", "a part"])
@pytest.mark.parametrize("name", ONE_ACT)
def test_a_release_of_one_act_that_was_charged_but_not_written_is_given_again(
    data, monkeypatch, name, epsilon
):
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    command = ["release", data, "--schema", "schema.yaml", *epsilon, "--out", "out", *ONE_ACT[name]]
    with monkeypatch.context() as patch:
        patch.setattr(Publication, "_write", crash)
        assert run(*command).exit_code == 130
    paid = spent(data)
    assert paid == pytest.approx(0.5 if "--epsilon" in epsilon else 1, rel=1e-4)
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert "went on" in done.stdout.lower()
    assert spent(data) == paid
    assert charges(data) == 1
    again = run(*command, "--force")  # finished: another one is paid for, or refused
    assert again.exit_code == (0 if "--epsilon" in epsilon else 3), again.output
    assert charges(data) == (2 if "--epsilon" in epsilon else 1)
    assert "went on" not in again.output.lower()


def test_a_release_of_one_act_does_not_go_on_with_other_rows(data, monkeypatch):
    command = ["release", data, "--schema", "schema.yaml", "--epsilon", 1, "--workload", "marginals:1"]
    with monkeypatch.context() as patch:
        patch.setattr(Publication, "_write", crash)
        assert run(*command, "--out", "out").exit_code == 130
    data.write_text(data.read_text() + "F,no,5,north\n")
    import os

    os.utime(data, (1, 1))
    assert "has changed" in run(*command, "--out", "out").stderr


def test_a_named_release_of_one_act_is_the_same_release_when_it_is_asked_for_again():
    domain = hr.Domain({"a": 3, "b": 2})
    table = hr.Table.open({"a": [0, 1, 2, 0], "b": [0, 1, 1, 0]}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=1, delta=1e-9), ":memory:")
    asked = hr.marginals(domain, 1)
    first, second = (
        hr.GaussianBaseline(epsilon=0.5, run="x").release(curator, asked).answer(asked).value for _ in "12"
    )
    assert np.array_equal(first, second)
    spent = curator.spent
    other = hr.GaussianBaseline(epsilon=0.5, run="y").release(curator, asked).answer(asked).value
    assert curator.spent.rho == pytest.approx(2 * spent.rho, rel=1e-6)
    assert not np.array_equal(first, other)


def test_a_folder_never_holds_half_a_release(data, monkeypatch):
    command = ["release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out"]
    with monkeypatch.context() as patch:
        patch.setattr(
            "hedgerow.release.report.report.Report.write", lambda self, path: crash(self, None, None)
        )
        assert run(*command, "--workload", "marginals:1").exit_code == 130
    assert not Path("out").exists()
    assert run(*command, "--workload", "marginals:1").exit_code == 0
    assert sorted(p.name for p in Path("out").iterdir()) == [
        "README.md", "datapackage.json", "receipt.json", "report.html", "schema.yaml", "synopsis.hedgerow",
        "synthetic.csv", "synthetic.parquet", "tables.csv"]  # fmt: skip


# -- beginning anew --------------------------------------------------------------------------------------


def unfinished(data: Path, monkeypatch, *options: object) -> list[object]:
    """An adaptive release that was stopped after two charges, of a budget of 1."""
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    command = ["release", data, "--schema", "schema.yaml", "--out", "out", *options, *CHOOSING]
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(*command).exit_code == 130
    return command


def test_anew_that_cannot_be_paid_leaves_the_unfinished_release_as_it_is(data, monkeypatch):
    command = unfinished(data, monkeypatch, "--epsilon", "0.9")
    before = spent(data)
    refused = run(*command, "--anew")
    assert refused.exit_code == 3, refused.output
    assert len(refused.stderr.strip().splitlines()) == 1
    assert spent(data) == before
    assert run(*command).exit_code == 0
    assert spent(data) == pytest.approx(0.9, rel=1e-3)


def test_anew_counts_what_the_unfinished_release_gives_back(data, monkeypatch):
    command = unfinished(data, monkeypatch, "--epsilon", "0.75")
    done = run(*command, "--anew", "--json")  # too much, but for what comes back
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["resumed"] is False
    assert 0.75 < spent(data) <= 1.0


# -- being told ------------------------------------------------------------------------------------------


def test_an_unfinished_release_is_told_of_wherever_its_budget_is_missed(data, monkeypatch):
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    command = ["release", data, "--schema", "schema.yaml", "--epsilon", "0.7", "--out", "out", *CHOOSING]
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        stopped = run(*command)
    held = r"unfinished release.* holds epsilon 0\.7, delta 1e-9"
    assert re.search(held, stopped.stderr)
    assert "same command" in stopped.stderr
    assert re.search(held, run("budget", "show", data).stdout)
    (known,) = json.loads(run("budget", "show", data, "--json").stdout)["unfinished"]
    assert known["epsilon"] == pytest.approx(0.7, rel=1e-3)
    other = run("release", data, "--schema", "schema.yaml", "--epsilon", "0.8", "--out", "b")
    assert other.exit_code == 3
    assert re.search(held, other.stderr)
    assert len(other.stderr.strip().splitlines()) == 1
    done = run(*command, "--json")
    assert json.loads(done.stdout)["resumed"] is True
    assert "unfinished" not in run("budget", "show", data).stdout
    assert json.loads(run("budget", "show", data, "--json").stdout)["unfinished"] == []
    other = run("release", data, "--schema", "schema.yaml", "--epsilon", "0.9", "--out", "b")
    assert "unfinished" not in other.stderr


def test_a_release_ends_with_the_error_that_it_states(data):
    options = ["--schema", "schema.yaml", "--epsilon", 1]
    done = run("release", data, *options, "--workload", "marginals:age", "--out", "a")
    said = re.search(
        r"error.* ([\d.]+) rows \(([\d.]+)% of the rows\)", done.stdout.split("Stated")[1].splitlines()[0]
    )
    assert said, done.stdout
    stated = hr.Synopsis.load("a/synopsis.hedgerow")
    error = float(np.mean(stated.answer(hr.marginals(stated.domain, [["age"]])).error))
    assert float(said[1]) == pytest.approx(error, rel=0.02)
    assert float(said[2]) == pytest.approx(100 * error / stated.total, rel=0.05)


def test_the_stated_error_is_the_one_that_sql_will_state(data):
    options = ["--schema", "schema.yaml", "--epsilon", 1, "--mechanism", "gaussian", "--out", "a", "--json"]
    told = json.loads(run("release", data, *options, "--workload", "ranges:age").stdout)
    sql = "SELECT COUNT(*) AS n FROM t WHERE age >= 30 AND age < 60"
    read = json.loads(run("query", "a/synopsis.hedgerow", sql, "--json").stdout)["rows"][0]["n"]["error"]
    assert told["mean_error"] == pytest.approx(read, rel=0.3)


# -- what can be read ------------------------------------------------------------------------------------

READ = {
    "ranges:age": ("age >= 20 AND age < 50", "age < 50"),
    "ranges:1": ("age >= 20 AND age < 50", "age < 50"),
    "prefixes:1": ("age < 50", "age >= 20 AND age < 50"),
    "prefixes:sex": ("sex = 'F'", "sex = 'M'"),
    "conjunctions:sex,ill": ("sex = 'F' AND ill = 'yes'", "sex = 'M'"),
    "conjunctions:town,sex": ("town <> 'north' AND sex = 'M'", "town = 'south'"),
    "ranges:age;sex,ill": ("age < 50", "sex = 'M'"),
}
TRUTH = {
    "1 = 1": lambda sex, ill, age, town: True,
    "age < 50": lambda sex, ill, age, town: int(age) < 50,
    "age >= 20 AND age < 50": lambda sex, ill, age, town: 20 <= int(age) < 50,
    "sex = 'F'": lambda sex, ill, age, town: sex == "F",
    "sex = 'M'": lambda sex, ill, age, town: sex == "M",
    "sex = 'F' AND ill = 'yes'": lambda sex, ill, age, town: (sex, ill) == ("F", "yes"),
    "town <> 'north' AND sex = 'M'": lambda sex, ill, age, town: town != "north" and sex == "M",
    "town = 'south'": lambda sex, ill, age, town: town == "south",
}


@pytest.mark.parametrize("mechanism", ["auto", "gaussian", "laplace"])
@pytest.mark.parametrize("workload", READ)
def test_what_was_asked_well_can_be_read_with_sql(data, workload, mechanism):
    options = ["--epsilon", 50, "--workload", workload, "--mechanism", mechanism, "--out", "out"]
    assert run("release", data, "--schema", "schema.yaml", *options).exit_code == 0
    rows = [line.split(",") for line in data.read_text().splitlines()[1:]]
    for where in (*READ[workload], "1 = 1"):
        sql = "SELECT COUNT(*) AS n FROM t" + ("" if where == "1 = 1" else f" WHERE {where}")
        done = run("query", "out/synopsis.hedgerow", sql, "--json")
        assert done.exit_code == 0, (where, done.output)
        n = json.loads(done.stdout)["rows"][0]["n"]
        truth = sum(TRUTH[where](*row) for row in rows)
        assert abs(n["value"] - truth) <= 5 * n["error"] + 3  # one number with Laplace noise: 1.3e-7
        assert n["error"] < 50


@pytest.mark.parametrize("kind", ["cells", "literals", "prefixes", "ranges"])
@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (7,), (4, 3)])
def test_answers_are_combined_by_least_squares(kind, sizes):
    from hedgerow.queries.block import Axis, ProductBlock
    from hedgerow.synopsis.measured import combination

    names = tuple("ab"[: len(sizes)])
    block = ProductBlock(names, tuple(Axis(kind, n) for n in sizes))
    matrix = np.stack([block.query(i).weights.reshape(-1) for i in range(len(block))]) / hr.queries.query.ONE
    weights = np.random.default_rng(0).integers(0, 3, sizes).astype(float)
    best = np.linalg.pinv(matrix.T) @ weights.reshape(-1)  # the least norm of all that add up to the weights
    assert np.allclose(combination(block, weights), best, atol=1e-9)


def test_listed_answers_are_combined_too_and_what_does_not_follow_is_refused():
    domain = hr.Domain({"a": 3, "b": 2})
    table = hr.Table.open({"a": [0, 1, 2, 0] * 50, "b": [0, 1, 1, 0] * 50}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=100, delta=1e-9), ":memory:")
    cells = hr.marginals(domain, [["a"]])
    synopsis = hr.GaussianBaseline().release(curator, [cells[0], cells[1]])
    both = synopsis.linear(("a",), np.array([1.0, 1.0, 0.0]), 0.95)
    assert abs(both[0] - 150) <= both[1] + 1
    for attributes, weights in ((("a",), [0.0, 0.0, 1.0]), (("b",), [1.0, 0.0])):
        with pytest.raises(hr.UnsupportedQuery, match="follow"):
            synopsis.linear(attributes, np.array(weights), 0.95)


# -- files in the way ------------------------------------------------------------------------------------


def test_no_command_writes_over_a_file_unless_told_and_over_data_never(data):
    options = ["--epsilon", 1, "--workload", "marginals:1", "--out", "out"]
    assert run("release", data, "--schema", "schema.yaml", *options).exit_code == 0
    plan = ["plan", "--schema", "schema.yaml", "--rows", 100, "--no-simulate", "--workload", "marginals:1"]
    commands = {
        "rows.csv": ["sample", "out/synopsis.hedgerow", "--rows", 3, "--out"],
        "ledger.json": ["budget", "export", data, "--out"],
        "plot.svg": [*plan, "--plot"],
    }
    for file, command in commands.items():
        assert run(*command, file).exit_code == 0
        Path(file).write_text("mine")
        refused = run(*command, file)
        assert refused.exit_code == 2
        assert f"the file '{file}' is there already" in refused.stderr.lower()
        assert "--force" in refused.stderr
        assert Path(file).read_text() == "mine"
        assert run(*command, file, "--force").exit_code == 0
        assert Path(file).read_text() != "mine"
    rows, book = data.read_bytes(), Path(f"{data}.hedgerow.db").read_bytes()
    for command in list(commands.values())[:2]:
        for file in (data, f"{data}.hedgerow.db"):
            refused = run(*command, file, "--force")
            assert refused.exit_code == 2
            assert "budget" in refused.stderr
    assert (data.read_bytes(), Path(f"{data}.hedgerow.db").read_bytes()) == (rows, book)


def test_a_release_never_replaces_the_data_it_is_made_of(data):
    Path("out").mkdir()
    data.rename("out/synthetic.csv")
    rows = Path("out/synthetic.csv").read_bytes()
    options = ["--schema", "schema.yaml", "--epsilon", 1, "--out", "out", "--force"]
    assert "data" in run("release", "out/synthetic.csv", *options).stderr
    assert Path("out/synthetic.csv").read_bytes() == rows
    assert not Path("out/synthetic.csv.hedgerow.db").exists()


# -- mistakes --------------------------------------------------------------------------------------------


def test_a_release_of_no_file_says_so(data):
    for epsilon in ([], ["--epsilon", 1]):
        refused = run("release", "nofile.csv", "--schema", "schema.yaml", *epsilon)
        assert refused.exit_code == 2
        assert "there is no file 'nofile.csv'" in refused.stderr.lower()


@pytest.mark.parametrize("workload", ["marginals:0", "marginals:", "marginals: ", "ranges:0", "parities:-1"])
def test_a_workload_of_no_attributes_is_refused_and_costs_nothing(data, workload):
    refused = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--workload", workload)
    assert refused.exit_code == 2
    assert "such as" in refused.stderr
    assert not Path(f"{data}.hedgerow.db").exists()


@pytest.mark.parametrize("kind", ["ranges", "listed"])
@pytest.mark.parametrize("turned", ["workload", "question"])
def test_answers_do_not_depend_on_the_order_in_which_attributes_are_named(kind, turned):
    from hedgerow.queries.block import ProductBlock
    from hedgerow.queries.query import ONE

    domain, rng = hr.Domain({"a": 4, "b": 3}), np.random.default_rng(1)
    columns = {"a": rng.integers(0, 4, 300), "b": rng.integers(0, 3, 300)}
    names = ("b", "a") if turned == "workload" else ("a", "b")
    shape = domain.shape_of(names)
    workload = hr.ranges(domain, [("a", "b")])
    if kind == "listed":
        cells = np.eye(12, dtype=np.int64).reshape(12, *shape) * ONE
        workload = hr.Workload.of([hr.Query(names, shape, dense=c) for c in cells])
    elif turned == "workload":
        (block,) = workload.blocks
        workload = hr.Workload([ProductBlock(names, block.axes[::-1])])
    curator = hr.Curator(hr.Table.open(columns, domain), hr.Budget(epsilon=10**4), ":memory:")
    synopsis = hr.LaplaceBaseline().release(curator, workload)
    for a, b in np.ndindex(4, 3):
        dense = np.zeros((3, 4), dtype=np.int64)
        dense[b, a] = ONE
        truth = int(((columns["a"] == a) & (columns["b"] == b)).sum())
        for query in (
            hr.Query(("b", "a"), (3, 4), dense=dense),
            hr.Query.where(domain, {"a": [a], "b": [b]}),
        ):
            assert synopsis.answer(query).value == pytest.approx(truth, abs=1e-6)


def test_an_error_that_cannot_be_stated_does_not_hold_up_what_is_paid_for(data, monkeypatch):
    from hedgerow.synopsis.synopsis import Synopsis

    def large(*_, **__):
        raise hr.RangeTooLarge("the table has too many cells")

    monkeypatch.setattr(Synopsis, "answer", large)
    monkeypatch.setattr("hedgerow.release.report.report.Report.write", lambda _, path: path.write_text(""))
    monkeypatch.setattr("hedgerow.release.report.report.Report.__init__", lambda *_, **__: None)
    done = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--workload", "marginals:1")
    assert done.exit_code == 0, done.output
    assert "Stated error" not in done.output
