"""Ranges of blocks at the command line: charged to their blocks alone, and known again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.curator.growing.lasting import numbered
from hedgerow.errors import BadValue
from hedgerow.serve.cli.commands import app
from hedgerow.service.asking import Ask
from hedgerow.service.dataset import Dataset
from hedgerow.service.stay import stay_at

SCHEMA = "confirmed: true\nattributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 50]}\n"
COUNT = "SELECT COUNT(*) AS n FROM t WHERE sex = 'F'"
WHOM = "Each id is counted in the block in which it first appeared."


def said(*command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(command))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def told(*command: str) -> dict:
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """Three days; people come back, and count on their first day."""
    monkeypatch.chdir(tmp_path)
    Path("schema.yaml").write_text(SCHEMA)

    def make(*options: str) -> None:
        for day in range(3):
            lines = [f"{10 * day + i},{'FM'[i % 2]},{i}" for i in range(30)]
            Path("rows.csv").write_text("\n".join(["id,sex,age", *lines]))
            first = ("--epsilon", "8", "--delta", "0", "--unit", "id", "--max-rows", "1", *options)
            said("append", "people", "rows.csv", "--day", f"2026-01-0{2 * day + 1}", *(() if day else first))

    return make


def spent() -> list[float]:
    held = told("budget", "show", "people")
    return [round(block["spent"]["epsilon"], 9) for block in held["blocks"]]


def test_a_question_about_a_range_is_charged_to_its_blocks_alone_and_known_again(blocks):
    blocks()
    some = ("--from", "2026-01-02", "--to", "2026-01-05")
    first = told("ask", "people", COUNT, *some, "--epsilon", "2")
    assert spent() == [0, 2, 2]
    assert WHOM in first["notes"]
    again = told("ask", "people", COUNT, "--from", "2", "--to", "3")
    assert again["rows"] == first["rows"]
    assert spent() == [0, 2, 2]
    told("ask", "people", COUNT, "--to", "1", "--epsilon", "1")
    assert spent() == [1, 2, 2]
    everything = told("ask", "people", COUNT, "--epsilon", "3")
    assert WHOM in everything["notes"]
    assert spent() == [4, 5, 5]
    assert told("ask", "people", COUNT, *some)["rows"] == first["rows"]
    assert "lines of the ledger verify" in said("budget", "verify", "people")
    assert WHOM in said("ask", "people", COUNT, *some)


def test_a_shell_about_a_range_says_what_learning_cost_though_other_blocks_spent_more(blocks):
    blocks()
    told("ask", "people", COUNT, "--to", "1", "--epsilon", "6")
    with stay_at(Dataset(Path("people"), first="2", last="3")) as stay:
        found = stay.ask(Ask(COUNT, spend=True), lambda words, part: None)
    assert any("Learning what rows look like, once, cost epsilon 4" in words for words in found.sentences)
    assert spent() == [6, 4, 4]


def test_a_release_of_a_range_says_whom_it_counts_wherever_it_is_asked(blocks):
    blocks()
    said("release", "people", "--from", "2026-01-03", "--to", "2026-01-03", "--epsilon", "5", "--out", "out")
    assert spent() == [0, 5, 0]
    assert WHOM in told("query", "out/synopsis.hedgerow", COUNT)["notes"]
    assert WHOM in hr.Synopsis.load("out/synopsis.hedgerow").answer(("sex",)).notes
    refused = said("release", "people", "--from", "2", "--to", "2", "--epsilon", "5", "--out", "more", code=3)
    assert "only 3 remains" in refused
    said("release", "people", "--from", "3", "--all", "--out", "rest")
    assert spent() == [0, 5, 8]
    assert "lines of the ledger verify" in said("budget", "verify", "people")


def test_shared_blocks_have_ranges_too_and_one_budget(blocks):
    blocks("--growing", "shared")
    first = told("ask", "people", COUNT, "--from", "2", "--epsilon", "2")
    assert first["notes"] == [] or WHOM not in first["notes"]
    assert told("ask", "people", COUNT, "--from", "2")["rows"] == first["rows"]
    told("ask", "people", COUNT, "--to", "1", "--epsilon", "2")
    assert told("budget", "show", "people")["spent"]["epsilon"] == pytest.approx(4)


def test_one_block_alone_does_not_use_what_is_reserved_for_ranges(blocks):
    blocks("--reserve", "1/4")
    one = ("release", "people", "--from", "2", "--to", "2")
    assert "epsilon 6, 6 remains" in said(*one, "--epsilon", "7", "--out", "much", code=3)
    said(*one, "--epsilon", "6", "--out", "one")
    said("release", "people", "--from", "1", "--to", "2", "--epsilon", "2", "--out", "two")
    assert spent() == [2, 8, 0]


def test_what_names_no_block_is_refused_in_one_sentence(blocks):
    blocks()
    assert "no block 'june'" in said("ask", "people", COUNT, "--from", "june", code=2)
    assert "no block '2027-01-01'" in said("ask", "people", COUNT, "--from", "2027-01-01", code=2)
    assert "in that range" in said("ask", "people", COUNT, "--from", "3", "--to", "1", code=2)
    told("ask", "people", COUNT, "--to", "2", "--epsilon", "1")
    said("budget", "allot", "people", "ann", "--epsilon", "1")
    assert "not for a range" in said("ask", "people", COUNT, "--to", "2", "--as", "ann", code=2)
    Path("one.csv").write_text("id,sex,age\n1,F,3\n")
    assert "one table" in said("ask", "one.csv", COUNT, "--from", "1", "--epsilon", "1", code=2)
    assert not Path("one.csv.hedgerow.db").exists()


def test_blocks_of_files_are_named_and_never_compared_as_days():
    growing = hr.Growing.make(":memory:", hr.Domain({"sex": ["F", "M"]}), hr.Budget(epsilon=1))
    for name in ("z.csv", "a.csv"):
        growing.append({"sex": ["F"]}, name=name)
    assert [numbered(growing.blocks, n, last=False) for n in ("z.csv", "a.csv", "2", None)] == [1, 2, 2, None]
    with pytest.raises(BadValue, match="there is no block"):
        numbered(growing.blocks, "2026-01-01", last=True)
