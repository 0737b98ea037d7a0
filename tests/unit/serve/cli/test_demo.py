"""The demo: a believable population, all of the way to a report."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release.population import MAX_ROWS, UNIT, Population
from hedgerow.serve.cli.demo import QUESTIONS, ask_all, exact_tables


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """The demo, run small by a real process."""
    out = tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, "-m", "hedgerow", "demo", "--out", str(out), "--rows", "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (out.parent / "printed").write_text(done.stdout)
    return out


def test_the_demo_ends_with_the_path_of_its_report(demo):
    last = (demo.parent / "printed").read_text().strip().splitlines()[-1]
    assert last == f"Report: {demo / 'report.html'}"
    assert (demo / "report.html").stat().st_size > 100_000


def test_the_demo_prints_a_dozen_answers_with_error_bars_and_labels_the_truth(demo):
    printed = (demo.parent / "printed").read_text()
    assert len(QUESTIONS) == 12
    assert all(words in printed for words, _ in QUESTIONS)
    assert "± 95%" in printed
    assert "true *" in printed
    assert "made up" in printed


def test_the_demo_spends_its_whole_budget_of_epsilon_one_once(demo):
    with Ledger.open(demo / "people.csv.hedgerow.db", create=False) as ledger:
        assert ledger.verify().ok
        assert (ledger.budget.epsilon, ledger.budget.delta) == (1.0, 1e-9)
        assert (ledger.settings.unit, ledger.settings.max_rows) == (UNIT, MAX_ROWS)
        assert 0.999 < ledger.budget.part(ledger.spent()).epsilon <= 1.0
    synopsis = hr.Synopsis.load(demo / "synopsis.hedgerow")
    assert synopsis.private
    assert synopsis.provenance.mechanism == "AdaptiveRelease"
    assert {a for m in synopsis.measurements[:10] for a in m.attributes} == set(synopsis.domain)


def test_the_files_hold_what_they_should(demo):
    with open(demo / "people.csv", newline="") as file:
        people = list(csv.DictReader(file))
    assert len(people) == 2000
    with open(demo / "synthetic.csv", newline="") as file:
        synthetic = list(csv.DictReader(file))
    assert set(synthetic[0]) == set(people[0]) - {UNIT}
    assert abs(len(synthetic) - 2000) < 1000
    receipt = json.loads((demo / "receipt.json").read_text())
    assert hr.Receipt.from_json(receipt).settings.unit == UNIT
    assert hr.Domain.load(demo / "schema.yaml") == Population.domain()


def test_the_demo_can_be_run_again_in_its_own_folder(demo):
    command = [sys.executable, "-m", "hedgerow", "demo", "--out", str(demo), "--rows", "500", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert len(told["questions"]) == 12
    assert Path(told["report"]).exists()
    with Ledger.open(demo / "people.csv.hedgerow.db", create=False) as ledger:
        assert ledger.verify().ok
        assert 0.999 < ledger.budget.part(ledger.spent()).epsilon <= 1.0


def test_a_population_is_repeatable_and_of_the_asked_size():
    one, two = Population(3000, seed=5).columns, Population(3000, seed=5).columns
    assert all((one[name] == two[name]).all() for name in one)
    assert {len(column) for column in one.values()} == {3000}
    assert any((one[name] != Population(3000, seed=6).columns[name]).any() for name in one)


def test_a_population_hangs_together_as_people_do():
    """Properties that any census shows; the sample is large enough that none is a matter of luck."""
    p = Population(20_000).columns
    age, pay = p["age"], np.array([np.nan if v is None else v for v in p["income"]], dtype=float)
    assert 30 < age.mean() < 45
    assert (age.min(), age.max() < 100) == (0, True)
    assert set(p["work"][age < 16]) == {"child"}
    assert (p["work"][age >= 75] == "retired").mean() > 0.95
    assert (p["marital status"][age < 18] == "single").all()
    steps = ("school", "vocational", "bachelor", "postgraduate")
    means = [np.nanmean(pay[p["education"] == step]) for step in steps]
    assert means == sorted(means)
    city = np.isin(p["region"], ["Harbour", "Old Town"])
    drives = p["commute"] == "car"
    assert drives[~city].mean() > 2 * drives[city].mean()
    assert 0.02 < np.isnan(pay).mean() < 0.10
    assert (p["moved_in"] < "2025-01-01").all()
    widowed = p["marital status"] == "widowed"
    assert age[widowed].mean() > 65


def test_some_people_have_several_rows_and_a_few_more_than_are_used():
    ids, counts = np.unique(Population(20_000).columns[UNIT].astype(str), return_counts=True)
    assert 0.01 < (counts > 1).mean() < 0.06
    assert (counts > MAX_ROWS).any()
    assert len(ids) < 20_000


def test_every_demo_question_is_right_when_there_is_hardly_any_noise():
    """With epsilon 10^6 released counts are exact, up to rows beyond max_rows; sums as well as is said."""
    people = Population(4000)
    table = hr.Table.open(people.columns, people.domain(), unit=UNIT, max_rows=10)
    curator = hr.Curator(table, hr.Budget(epsilon=10**6, delta=1e-9), ":memory:")
    synopsis = hr.GaussianBaseline().release(curator, hr.marginals(people.domain(), 2))
    for asked in ask_all(synopsis, people):
        told = asked.answer.table
        exact = dict(zip(asked.truth.groups, asked.truth.values, strict=True))
        sums = "AVG(income)" in asked.sql or "SUM(income)" in asked.sql  # tables alone: each bin's middle
        for labels, values, errors in zip(told.groups, told.values, told.errors, strict=True):
            off = np.abs(values - exact[labels])
            assert (off <= np.maximum(0.5, 1e-3 * np.abs(exact[labels])) + sums * errors).all(), asked.sql


def test_what_is_true_of_the_made_up_rows_is_computed_from_their_own_numbers():
    people = Population(2000)
    domain = people.every_number()
    asked = hr.sql(domain, "SELECT AVG(income), AVG(age) FROM t").answer(exact_tables(people, domain))
    pay = np.array([v for v in people.columns["income"] if v is not None], dtype=float)
    expected = [np.minimum(pay, 119_900).mean(), people.columns["age"].astype(float).mean()]
    assert asked.value == pytest.approx(expected)
