"""`hedgerow release` by the adaptive mechanism: the default for tables, resumable, with caps and a prior."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.privacy.budget import Privacy
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release import catalogue
from hedgerow.release.plan.recommended import recommend
from hedgerow.serve.cli.commands import app
from hedgerow.service.dataset import Dataset
from hedgerow.service.publication import Publication

SCHEMA = """\
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 20]}
  town: {levels: [north, south, east], missing: true}
  k: {levels: [0, 1, 2]}
"""


def run(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    lines = ["sex,age,town,k"]
    for _ in range(3000):
        age = rng.integers(0, 100)
        town = ["north", "south", "east", ""][min(3, int(age // 30))]
        lines.append(f"{'FM'[int(rng.random() < 0.4 + 0.2 * (age > 50))]},{age},{town},{rng.integers(0, 3)}")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.yaml").write_text(SCHEMA)
    return Path("people.csv")


def spent(data: Path):
    with Ledger.open(Path(f"{data}.hedgerow.db"), create=False) as ledger:
        assert ledger.verify().ok
        return ledger.spent()


def test_tables_of_three_attributes_are_learned_answered_and_sampled(data):
    options = ["--epsilon", 1, "--workload", "marginals:3", "--out", "out", "--rows", 500, "--json"]
    done = run("release", data, "--schema", "schema.yaml", *options)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["mechanism"] == "AdaptiveRelease"
    assert set(told["files"]) == {
        *("synopsis.hedgerow", "synthetic.csv", "report.html", "receipt.json", "tables.csv", "README.md")
    } | {"schema.yaml", "synthetic.parquet", "datapackage.json"}
    assert len(Path("out/synthetic.csv").read_text().splitlines()) == 501
    assert run("budget", "verify", data, "--receipt", "out/receipt.json").exit_code == 0
    sql = "SELECT COUNT(*) AS n FROM t WHERE age < 40 AND town = 'north' AND sex = 'F'"
    answer = json.loads(run("query", "out/synopsis.hedgerow", sql, "--json").stdout)
    assert answer["source"] == "learned"
    assert 300 < answer["rows"][0]["n"]["value"] < 800
    assert "indicative" in run("query", "out/synopsis.hedgerow", sql).stdout
    assert len(run("sample", "out/synopsis.hedgerow", "--rows", 7).stdout.splitlines()) == 8
    page = Path("out/report.html").read_text()
    assert "learned model" in page
    assert "AdaptiveRelease" in page


def recommended(domain, text, budget, rows=None):
    asked = catalogue.workload(domain, text)
    return recommend(domain, asked, budget, Privacy(), rows)


@pytest.mark.parametrize(
    ("text", "budget"),
    [("marginals:2", hr.Budget(epsilon=1, delta=1e-9)), ("marginals:a,b", hr.Budget(epsilon=1))],
)
def test_auto_is_what_the_plan_recommends(text, budget):
    domain = hr.Domain({"a": 3, "b": 2, "c": 2})
    made = hr.plan(domain, 2_000, catalogue.workload(domain, text), budget)
    found = recommended(domain, text, budget, 2_000)
    assert (found.card.name, found.why) == (made.recommended, made.why)
    assert "rows off" in found.why
    assert "nobody said how many" in recommended(domain, text, budget).why


def test_a_release_by_auto_is_what_plan_says_and_says_why(data):
    options = ["--schema", "schema.yaml", "--epsilon", 1, "--workload", "marginals:2"]
    plan = json.loads(run("plan", *options, "--rows", 4_000, "--json").stdout)
    assert run("budget", "init", data, "--epsilon", 3).exit_code == 0
    said = run("release", data, *options, "--expect", 4_000, "--out", "o").output
    assert f"auto chose {plan['recommended']}: {plan['why']}" in " ".join(said.split())
    told = json.loads(run("release", data, *options, "--expect", 4_000, "--out", "p", "--json").stdout)
    assert (told["mechanism"], told["why"]) == (plan["recommended"], plan["why"])


def test_auto_asks_only_those_who_understand_what_they_are_told(data):
    options = ["--schema", "schema.yaml", "--epsilon", 1, "--workload", "marginals:1", "--seconds", 1]
    told = json.loads(run("release", data, *options, "--out", "o", "--json").stdout)
    assert (told["mechanism"], told["why"]) == ("AdaptiveRelease", "the only one that takes seconds")


def test_pure_budgets_are_learned_from_too(data):
    done = run(
        *("release", data, "--schema", "schema.yaml", "--mechanism", "adaptive"),
        *("--epsilon", 2, "--delta", 0, "--out", "o", "--json"),
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["mechanism"], told["cost"]["delta"]) == ("AdaptiveRelease", 0.0)
    assert spent(data).amount <= 2


@pytest.mark.parametrize("epsilon", [["--all"], ["--epsilon", "0.5"]], ids=["all that remains", "a part"])
def test_a_crash_between_the_last_charge_and_the_files_is_free(data, monkeypatch, epsilon):
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    write = Publication._write

    def crash(self, *_):
        raise MemoryError

    command = ["release", data, "--schema", "schema.yaml", *epsilon, "--out", "out"]
    monkeypatch.setattr(Publication, "_write", crash)
    assert run(*command).exit_code == 2
    paid = spent(data)
    assert not paid.is_zero
    monkeypatch.setattr(Publication, "_write", write)
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert spent(data) == paid
    assert Path("out/report.html").exists()
    another = run(*command, "--force")  # a new release: paid again, or refused when nothing is left
    assert another.exit_code == (0 if "--epsilon" in epsilon else 3), another.output
    times = 2 if "--epsilon" in epsilon else 1
    assert float(spent(data).amount) == pytest.approx(times * float(paid.amount), rel=1e-6)


def test_an_interrupted_release_goes_on_where_it_was(data, monkeypatch):
    real, count = Ledger.charge, [0]

    def charge(self, *args, **options):
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        return real(self, *args, **options)

    command = ["release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out"]
    command += ["--seconds", 1]  # tables are chosen, one charge after another
    monkeypatch.setattr(Ledger, "charge", charge)
    assert run(*command).exit_code == 130
    with Ledger.open(Path("people.csv.hedgerow.db"), create=False) as ledger:
        before = [e["line"] for e in ledger.export()["entries"] if e["line"]["kind"] == "charge"]
    assert len(before) == 3
    monkeypatch.setattr(Ledger, "charge", real)
    assert run(*command).exit_code == 0
    with Ledger.open(Path("people.csv.hedgerow.db"), create=False) as ledger:
        after = [e["line"] for e in ledger.export()["entries"] if e["line"]["kind"] == "charge"]
        assert ledger.verify().ok
        assert 0.999 < ledger.budget.part(ledger.spent()).epsilon <= 1.0
    assert after[:3] == before
    assert len({line["request"] for line in after}) == len(after)


def test_caps_an_objective_and_a_prior_can_be_given(data):
    base = ["release", data, "--schema", "schema.yaml", "--epsilon", "0.3"]
    assert run("budget", "init", data, "--epsilon", 2).exit_code == 0
    caps = ["--seconds", 1, "--memory", 50]
    assert run(*base, "--out", "a", *caps, "--objective", "max").exit_code == 0
    done = run(*base, "--out", "b", "--prior", "a/synopsis.hedgerow")
    assert done.exit_code == 0, done.output
    made = hr.Synopsis.load("a/synopsis.hedgerow")
    assert made.provenance.parameters["objective"] == "max"
    assert made.provenance.parameters["memory"] == 50


MISTAKES = {
    "objective": (["--objective", "median"], "median"),
    "objective of a baseline": (["--mechanism", "gaussian", "--objective", "max"], "does not learn"),
    "prior": (["--prior", "nowhere"], "no file"),
    "memory": (["--memory", "0"], "memory"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_wishes_are_one_sentence_and_cost_nothing(data, name):
    options, words = MISTAKES[name]
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    done = run("release", data, "--schema", "schema.yaml", "--epsilon", 1, "--out", "out", *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert spent(data).is_zero
    assert not Path("out").exists()


def test_progress_says_how_far_off_the_model_still_is(data):
    said = []
    Publication(
        Dataset(data),
        Path("out"),
        epsilon=1,
        step=lambda words, part: said.append((words, part)),
    ).publish()
    learning = [(w, p) for w, p in said if w.startswith("Learning")]
    assert any("% off" in w for w, _ in learning)
    assert [p for _, p in learning] == sorted(p for _, p in learning)
    assert learning[-1][1] == 1.0


def test_workloads_over_tables_too_large_to_count_are_learned_through_smaller_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    Path("wide.csv").write_text(
        "a,b,c,d,e,f\n" + "\n".join(",".join(map(str, rng.integers(0, 60, 6))) for _ in range(500)) + "\n"
    )
    Path("s.yaml").write_text("".join(f"{x}: {{bins: [0, 60, 1]}}\n" for x in "abcdef"))
    options = ["--schema", "s.yaml", "--epsilon", 1, "--workload", "marginals:6", "--out", "o"]
    done = run("release", "wide.csv", *options, "--mechanism", "adaptive")
    assert done.exit_code == 0, done.output
    assert "cells" in run("release", "wide.csv", *options, "--mechanism", "gaussian", "--force").stderr
