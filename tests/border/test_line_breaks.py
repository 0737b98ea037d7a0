"""Quoted cells that hold line breaks: a draft proposes it, the owner confirms it, later commands read so."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.release.schema import Schema, schema_text
from hedgerow.serve.cli.commands import app
from hedgerow.service.dataset import Dataset

ROWS = 400
NOTES = ("plain", "two\nlines", 'said, "so"\n\nand left', "back\\slash")


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def told(*arguments: object):
    """What a command that works says."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch) -> Path:
    """A file as a CSV writer writes it, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    with Path("data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["note", "sex", "age"])
        writer.writerows((NOTES[i % 4] + str(i), "FM"[i % 2], i % 90) for i in range(ROWS))
    return Path("data.csv")


def test_a_draft_proposes_the_standard_and_later_commands_read_by_it(data):
    drafted = told("schema", "infer", data)
    assert "line 3 opens a quoted cell and does not close it" in drafted.stderr
    assert "(400 rows in 700 lines)" in drafted.stderr
    assert "two" not in drafted.stderr
    text = Path("schema.yaml").read_text()
    assert yaml.safe_load(text)["csv"] == {"multiline": True}
    assert "one row could hide others" in text
    assert run("release", data, "--epsilon", "1").exit_code == 2  # not confirmed
    shown = json.loads(told("schema", "check", "schema.yaml", data, "--confirm", "--json").stdout)
    assert shown["PRIVATE_for_the_owner"]["rows"] == ROWS
    assert Schema.load(Path("schema.yaml")).csv == {"multiline": True}
    told("budget", "init", data, "--epsilon", "2000")
    told("release", data, "--epsilon", "1000", "--out", "rel")
    counted = json.loads(told("query", "rel/synopsis.hedgerow", "SELECT COUNT(*) FROM t", "--json").stdout)
    assert abs(counted["rows"][0]["COUNT(*)"]["value"] - ROWS) < 2
    assert "csv" not in Path("rel/schema.yaml").read_text()  # how a file is written is nobody else's
    asked = told("ask", data, "SELECT sex, COUNT(*) FROM t GROUP BY sex", "--json")
    assert "F" in asked.stdout


def test_nothing_is_proposed_of_a_file_that_does_not_follow_the_standard_to_its_end(data):
    with data.open("a") as file:
        file.write('x,F,"30"1\n')
    refused = run("schema", "infer", data)
    assert refused.exit_code == 2
    assert "line 3 opens a quoted cell" in refused.stderr
    assert "--multiline" in refused.stderr
    assert not Path("schema.yaml").exists()


def test_without_the_schema_such_a_file_is_refused_as_before(data):
    for command in (("budget", "init", data, "--epsilon", "1"), ("schema", "infer", data, "--private")):
        assert run(*command).exit_code == 2
    told("schema", "infer", data)
    domain = Schema.load(Path("schema.yaml")).domain
    with pytest.raises(hr.SourceError, match="--multiline"):
        hr.Table.open(data, domain)
    assert Dataset(data).reading["multiline"]
    Path("schema.yaml").unlink()
    assert not Dataset(data).reading["multiline"]


def test_a_private_draft_says_what_its_owner_said_and_nothing_it_saw(data):
    told("budget", "init", data, "--epsilon", "50", "--multiline")
    refused = run("schema", "infer", data, "--private", "--epsilon", "40", "--out", "noise.yaml")
    assert refused.exit_code == 2
    assert "--multiline" in refused.stderr
    told("schema", "infer", data, "--private", "--epsilon", "40", "--out", "noise.yaml", "--multiline")
    assert Schema.load(Path("noise.yaml")).csv == {"multiline": True}


def test_what_is_said_of_a_file_is_written_down_and_can_be_said_otherwise():
    text = "Ort;Alter\n" + "".join(f"{'Köln' if i % 2 else 'Süd'};{i % 90}\n" for i in range(200))
    Path("orte.csv").write_bytes(text.encode("latin-1"))
    drafted = told("schema", "infer", "orte.csv", "--encoding", "latin-1", "--delimiter", ";", "--json")
    assert json.loads(drafted.stdout)["csv"] == {"encoding": "latin-1", "delimiter": ";"}
    assert Schema.load(Path("schema.yaml")).csv == {"encoding": "latin-1", "delimiter": ";"}
    told("schema", "check", "schema.yaml", "orte.csv", "--confirm")
    told("budget", "init", "orte.csv", "--epsilon", "200")
    told("release", "orte.csv", "--epsilon", "100", "--out", "rel")
    assert "Köln" in Path("rel/tables.csv").read_text("utf-8")
    wrong = run("schema", "check", "schema.yaml", "orte.csv", "--encoding", "utf-8")
    assert wrong.exit_code == 2
    assert "not UTF-8 text" in wrong.stderr


@pytest.mark.parametrize(
    "csv", ["yes", "{multiline: 1}", "{multiline: maybe}", "{quote: x}", "[multiline]", "{encoding: 8}"]
)
def test_what_cannot_be_said_of_a_file_is_refused_in_one_sentence(csv):
    Path("schema.yaml").write_text(f"csv: {csv}\nattributes: {{sex: [F, M]}}\n")
    refused = run("schema", "check", "schema.yaml")
    assert refused.exit_code == 2
    assert "`csv` in 'schema.yaml' says how CSV files are written" in refused.stderr


def test_a_schema_with_an_attribute_called_csv_is_one_still():
    Path("schema.yaml").write_text("csv: [a, b]\nsex: [F, M]\n")
    found = Schema.load(Path("schema.yaml"))
    assert found.domain.names == ("csv", "sex")
    assert found.csv == {}


def test_of_rows_that_are_no_csv_file_nothing_is_said(data):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"sex": ["F", "M"] * 50, "age": list(range(100))})
    pq.write_table(table, "data.parquet")
    held = {"attributes": {"sex": ["F", "M"], "age": {"bins": [0, 100, 20], "step": 1}}}
    Path("schema.yaml").write_text(schema_text(held, {"multiline": True}, confirmed=True))
    assert not Dataset(Path("data.parquet")).reading["multiline"]
    told("schema", "check", "schema.yaml", "data.parquet")


def test_blocks_that_are_appended_are_read_as_the_schema_says(data):
    held = {"attributes": {"sex": ["F", "M"], "age": {"bins": [0, 100, 20], "step": 1}}}
    Path("grows").mkdir()
    Path("schema.yaml").write_text(schema_text(held, {"multiline": True}, confirmed=True))
    told("append", "grows", data, "--day", "2026-01-31", "--epsilon", "1", "--schema", "schema.yaml")
    Path("schema.yaml").write_text(schema_text(held, {}, confirmed=True))
    assert run("append", "grows", data, "--day", "2026-02-28", "--schema", "schema.yaml").exit_code == 2
