"""`hedgerow append`: from the command line to blocks that other commands read."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hedgerow.serve.cli.commands import app

SCHEMA = "confirmed: true\nattributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 10]}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    for name, start in (("one", 0), ("two", 20)):
        lines = [f"{start + i},{'FM'[i % 2]},{i}" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,sex,age", *lines]))
    return tmp_path


def said(*command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(command))
    assert done.exit_code == code, done.output
    return done.output


FIRST = ("append", "people", "one.csv", "--day", "2026-01-01", "--unit", "id", "--max-rows", "1")


def test_blocks_are_appended_and_the_budget_says_so(folder):
    assert "first appeared" in said(*FIRST, "--epsilon", "1")
    told = json.loads(said("append", "people", "two.csv", "--day", "2026-01-02", "--json"))
    assert (told["number"], told["name"], told["year"]) == (2, "2026-01-02", 2026)
    shown = said("budget", "show", "people")
    assert "Blocks: 2, from 2026-01-01 to 2026-01-02." in shown
    assert "All 3 lines of the ledger verify." in said("budget", "verify", "people")


def test_a_release_reads_all_blocks_and_is_charged_to_each(folder):
    said(*FIRST, "--epsilon", "1", "--delta", "0")
    said("append", "people", "two.csv", "--day", "2026-01-02")
    said("release", "people", "--epsilon", "0.5", "--out", "out")
    budget = json.loads(said("budget", "show", "people", "--json"))
    assert [block["spent"]["epsilon"] for block in budget["blocks"]] == pytest.approx([0.5, 0.5])
    assert "the promise for good" in budget["lifetime"]


def test_what_is_wrong_is_said_in_one_sentence(folder):
    assert "say --epsilon" in said(*FIRST, code=2)
    assert "two blocks" not in said(*FIRST, "--epsilon", "1")
    assert "leave --epsilon out" in said(*FIRST, "--epsilon", "1", code=2)
    late = said("append", "people", "two.csv", "--day", "2025-12-31", code=2)
    assert "rows that come late belong to the block of the day on which they come" in " ".join(late.split())
    assert "below 1" in said("append", "p", "two.csv", "--epsilon", "1", "--reserve", "2", code=2)
    assert len(list((folder / "people").glob("block-*"))) == 1


def test_more_years_are_declared_for_a_reason_and_the_promise_is_the_larger(folder):
    yearly = ("--growing", "yearly", "--years", "1", "--epsilon", "1", "--delta", "0")
    said(*FIRST, *yearly)
    late = ("append", "people", "two.csv", "--day", "2027-01-02")
    assert "declared for rows of 1 years" in " ".join(said(*late, code=2).split())
    assert "only raised" in said("budget", "years", "people", "1", "--reason", "less", code=2)
    assert "say --reason" in said("budget", "years", "people", "2", "--reason", " ", code=2)
    told = " ".join(said("budget", "years", "people", "2", "--reason", "the registry goes on").split())
    assert "for 2 years: the registry goes on" in told
    assert "over the 2 declared years it is epsilon 2" in told
    said(*late)
    assert json.loads(said("budget", "show", "people", "--json"))["years"] == 2
    assert "the registry goes on" in said("budget", "show", "people", "--lines")
    assert "verify" in said("budget", "verify", "people")


def test_a_ledger_that_is_older_than_an_append_is_noticed_by_the_next(folder):
    said(*FIRST, "--epsilon", "1", "--growing", "shared")
    ledger = folder / "people.hedgerow.db"
    old = ledger.read_bytes()
    said("release", "people", "--epsilon", "0.5", "--out", "out")
    for file in folder.glob("people.hedgerow.db*"):
        file.unlink()
    ledger.write_bytes(old)
    second = ("append", "people", "two.csv", "--day", "2026-01-02")
    assert "older than what was charged" in " ".join(said(*second, code=2).split())
    assert "needs a reason" in said(*second, "--older-than-receipt", " ", code=2)
    said(*second, "--older-than-receipt", "the disk was lost")
    spent = json.loads(said("budget", "show", "people", "--json"))["spent"]["epsilon"]
    assert spent == pytest.approx(0.5, rel=1e-3)


def test_a_block_is_joined_with_the_tables_of_the_schema(folder):
    (folder / "schema.yaml").write_text(
        "confirmed: true\nattributes:\n  sex: [F, M]\n  town: [north, south]\n"
        "tables:\n  people: {file: people.csv, key: id}\n"
    )
    (folder / "people.csv").write_text("id,town\n" + "".join(f"{i},north\n" for i in range(60)))
    said(*FIRST, "--epsilon", "1")
    from hedgerow import Domain, Growing

    growing = Growing.open("people", Domain.load("schema.yaml"))
    rows = growing.curator()._rows.tables([("town",)])[("town",)]
    assert rows.tolist() == [40, 0]
