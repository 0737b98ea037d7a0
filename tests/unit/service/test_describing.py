"""Descriptions come from what is public; a release's folder can be read without Hedgerow."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.service import describing
from hedgerow.service.dataset import Dataset

COUNT = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"


@pytest.fixture
def released(people_cli, monkeypatch):
    monkeypatch.setattr("hedgerow.release.report.report.Report.write", lambda _, path: path.write_text(""))
    people_cli("budget", "init", "people.csv", "--epsilon", "2", "--delta", "0")
    done = people_cli(
        "release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out", "--json"
    )
    assert done.exit_code == 0, done.output
    return people_cli, json.loads(done.stdout)


def test_a_dataset_is_described_without_reading_a_row(people_cli):
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    before = people_cli("describe", "people.csv").stdout
    rows = Path("people.csv").read_text().splitlines()
    Path("people.csv").write_text("\n".join([rows[0], "F,0", "secret,9"]) + "\n")
    assert people_cli("describe", "people.csv").stdout == before
    assert "Nothing was learned" in before
    assert "2 levels" in before
    Path("schema.yaml").write_text("confirmed: false\n" + Path("schema.yaml").read_text())
    proposed = people_cli("describe", "people.csv").stdout
    assert "has not confirmed" in proposed
    assert "2 levels" not in proposed  # it was read off rows: its levels are the owner's
    Path("schema.yaml").unlink()
    assert "no schema" in people_cli("describe", "people.csv").stdout


def test_a_dataset_without_a_budget_says_so(people_cli):
    assert "no budget yet" in people_cli("describe", "people.csv").stdout
    assert people_cli("describe", "nowhere.csv").exit_code == 2


def test_how_good_a_pair_is_is_what_the_release_states(released):
    cli, _ = released
    told = json.loads(cli("describe", "out", "--json").stdout)
    synopsis = hr.Synopsis.load("out/synopsis.hedgerow")
    error = float(synopsis.answer(hr.marginals(synopsis.domain, 2)).error.mean())
    assert told["pairs"][0]["error"] == pytest.approx(error)
    assert "sex x k" in cli("describe", "out").stdout


def test_long_lists_of_levels_are_cut_and_ordered_ones_show_their_ends():
    domain = hr.Domain({"a": [f"level {i}" for i in range(50)], "b": hr.bins(0, 1000, 10, missing=True)})
    a, b = describing.columns(domain)
    assert a.words.endswith("50 in all")
    assert len(a.words) < 120
    assert b.words == "[0, 10) … [990, 1000], 100 in all, (missing)"


def test_bins_below_zero_come_first_too():
    (told,) = describing.columns(hr.Domain({"x": hr.bins(-100, 100, 10, step=1)}))
    assert told.words == "-100 to -91 … 90 to 99, 20 in all, (missing)"


def test_a_description_of_a_dataset_opens_no_table(people_cli, monkeypatch):
    monkeypatch.setattr("hedgerow.curator.rows.table.Table.open", None)
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    describing.of_dataset(Dataset(Path("people.csv")))


def test_a_release_folder_holds_schema_tables_and_words(released):
    _, told = released
    assert {"schema.yaml", "tables.csv", "README.md"} <= set(told["files"])
    synopsis = hr.Synopsis.load("out/synopsis.hedgerow")
    assert hr.Domain.load("out/schema.yaml") == synopsis.domain
    rows = list(csv.DictReader(Path("out/tables.csv").read_text().splitlines()))
    assert {row["table"] for row in rows} == {"sex", "k", "sex x k"}
    cell = next(r for r in rows if (r["table"], r["level_1"], r["level_2"]) == ("sex x k", "M", "2"))
    assert float(cell["count"]) == pytest.approx(synopsis.table(("sex", "k"))[1, 2], abs=0.06)
    assert float(cell["low"]) < float(cell["count"]) < float(cell["high"])
    page = Path("out/README.md").read_text()
    assert "epsilon 1" in page
    assert all(f"`{name}`" in page for name in told["files"] if name != "README.md")


def test_files_of_other_people_stay_as_they_are(released):
    cli, _ = released
    for name in ("README.md", "schema.yaml"):
        Path("out", name).write_text("# somebody's own\nattributes: {a: [x, y]}\n")
    again = cli(
        "release",
        "people.csv",
        "--schema",
        "schema.yaml",
        "--epsilon",
        "0.5",
        "--out",
        "out",
        "--force",
        "--json",
    )
    assert again.exit_code == 0, again.output
    assert not {"README.md", "schema.yaml"} & set(json.loads(again.stdout)["files"])
    assert "somebody's own" in Path("out/README.md").read_text()


def test_an_answer_is_written_in_five_formats_and_drawn(released):
    cli, _ = released
    query = ("query", "out/synopsis.hedgerow", COUNT)
    assert cli(*query, "--format", "csv").stdout.splitlines()[0] == "sex,n,n_low,n_high,n_source"
    assert json.loads(cli(*query, "--format", "json").stdout)["rows"][0]["sex"] == "F"
    assert cli(*query, "--format", "markdown").stdout.startswith("| sex | n | ± |")
    assert "sex" in cli(*query, "--format", "table").stdout
    done = cli(*query, "--out", "a.parquet", "--plot", "a.svg")
    assert done.exit_code == 0, done.output
    assert Path("a.parquet").read_bytes()[:4] == b"PAR1"
    assert Path("a.svg").read_text().startswith("<svg")
    told = json.loads(cli(*query, "--json", "--out", "b.csv").stdout)
    assert told["file"] == "b.csv"
    wrong = (
        ["--format", "parquet"],
        ["--out", "a.parquet"],
        ["--out", "a.xyz"],
        ["--plot", "a.pdf"],
        ["--plot", "a.svg"],
        ["--json", "--format", "csv"],
        ["--out", "people.csv.hedgerow.db", "--force", "--format", "csv"],
    )
    for options in wrong:
        refused = cli(*query, *options)
        assert refused.exit_code == 2, options
        assert refused.stderr.count("\n") == 1
