"""Quoted cells that hold line breaks: a draft proposes it, the owner confirms it, later commands read so."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.curator.rows import csv_file
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


@pytest.mark.parametrize("proposed", [False, True])
def test_without_the_owners_word_nothing_that_is_charged_reads_such_a_file(data, proposed):
    if proposed:
        told("schema", "infer", data)
        domain = Schema.load(Path("schema.yaml")).domain
        with pytest.raises(hr.SourceError, match="--multiline"):
            hr.Table.open(data, domain)
    assert not Dataset(data).reading["multiline"]
    refused = run("budget", "init", data, "--epsilon", "1")
    assert refused.exit_code == 2
    assert "--multiline" in refused.stderr
    told("budget", "init", data, "--epsilon", "50", "--multiline")  # of this command alone
    for command in (
        ("schema", "infer", data, "--private", "--epsilon", "1", "--out", "n.yaml"),
        ("release", data, "--epsilon", "1"),
        ("ask", data, "SELECT COUNT(*) FROM t"),
    ):
        assert run(*command).exit_code == 2
    status = json.loads(told("budget", "show", data, "--json").stdout)
    assert status["used"] == 0.0


def test_a_private_draft_goes_by_options_alone(data):
    """A schema in the working folder may be another's."""
    Path("schema.yaml").write_text("csv: {multiline: true}\nattributes: {sex: [F, M]}\n")
    told("budget", "init", data, "--epsilon", "50")  # a look for the owner, charged nothing
    refused = run("schema", "infer", data, "--private", "--epsilon", "40", "--out", "noise.yaml")
    assert refused.exit_code == 2
    assert "--multiline" in refused.stderr
    assert not Path("noise.yaml").exists()


@pytest.mark.parametrize("note", ['"x \\""\n', '"x\ny \\"'])
def test_nothing_is_proposed_where_a_backslash_stands_before_a_quote(data, note):
    """A writer that does not double quotes: one person's rows could hide all rows between them."""
    with data.open("a") as file:
        file.write(f"{note},F,30\n" if note.count('"') == 2 else f'{note}",F,30\n')
    refused = run("schema", "infer", data)
    assert refused.exit_code == 2
    assert "--multiline" in refused.stderr
    assert not Path("schema.yaml").exists()


def test_a_backslash_before_a_quote_is_seen_across_pieces(tmp_path, monkeypatch):
    path = tmp_path / "d.csv"
    path.write_bytes(b'a\n"xx\\""\n')
    monkeypatch.setattr(csv_file, "_PIECE", 1)
    assert csv_file.CsvFile.open(path, multiline=True).escapes()
    path.write_bytes(b'a\n"x\\x""y"\n')
    assert not csv_file.CsvFile.open(path, multiline=True).escapes()


def test_a_run_belongs_to_the_way_that_its_file_is_read():
    text = "Ort,Alter\n" + "".join(f"{'Köln' if i % 3 else 'Süd'},{i % 90}\n" for i in range(900))
    Path("orte.csv").write_text(text, encoding="utf-8")
    held = {"attributes": {"Ort": {"levels": ["Köln", "Süd"], "other": True}}}

    def declare(**csv: object) -> None:
        Path("schema.yaml").write_text(schema_text(held, csv, confirmed=True))

    question = ("ask", "orte.csv", "SELECT COUNT(*) FROM t WHERE Ort = 'Köln'", "--json")
    declare(encoding="latin-1")
    told("budget", "init", "orte.csv", "--epsilon", "50")
    told(*question)
    declare(encoding="iso-8859-1")  # the same by another name
    told(*question)
    declare()
    refused = run(*question)
    assert refused.exit_code == 2
    assert "read otherwise than when this run began" in refused.stderr
    (row,) = json.loads(told(*question, "--anew").stdout)["rows"]
    assert abs(row["COUNT(*)"]["value"] - 600) < 20


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
    ("csv", "words"),
    [
        ("latin-1", "`csv` in 'schema.yaml' is a mapping, such as {encoding: cp1252"),
        ("[multiline]", "is a mapping"),
        ("{multiline: 1}", "`multiline` of `csv` in 'schema.yaml' is true or false, not 1"),
        ('{multiline: "true"}', "is true or false, not 'true'"),
        ("{encoding: 8}", "`encoding` of `csv` in 'schema.yaml' is a text, not 8"),
        ("{multilin: true}", "`csv` in 'schema.yaml' has no 'multilin'; did you mean 'multiline'?"),
        ("{7: true}", "has no 7, such as"),
        ("{encoding: klingon}", "there is no text encoding 'klingon'"),
        ("{delimiter: ;;}", "is a character, or `tab`, not ';;'"),
        (f"{{delimiter: {'x' * 5000}}}", "is a character, or `tab`, not 'xxx"),
    ],
)
def test_what_cannot_be_said_of_a_file_is_refused_in_one_sentence(csv, words):
    Path("schema.yaml").write_text(f"confirmed: false\ncsv: {csv}\nattributes: {{sex: [F, M]}}\n")
    refused = run("schema", "check", "schema.yaml", "--confirm")
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert len(refused.stderr) < 250


def test_a_budget_is_given_by_the_schema_that_is_named(data):
    told("schema", "infer", data, "--out", "mine.yaml")
    told("schema", "check", "mine.yaml", data, "--confirm")
    assert run("budget", "init", data, "--epsilon", "1").exit_code == 2
    told("budget", "init", data, "--epsilon", "1", "--schema", "mine.yaml")


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


def test_a_header_of_one_name_and_cells_that_cannot_be_read_are_another_delimiters():
    rows = "".join(f'{"FM"[i % 2]}~Zeile {i} ""x""\n' for i in range(200)) + "a,b\n" * 3
    Path("tilde.csv").write_text("sex~note\n" + rows)
    said = run("schema", "infer", "tilde.csv").stderr
    assert "its header has one name: is the --delimiter another?" in said
