"""Columns that name people although many rows share their values: left out, or pointed at."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.serve.cli.commands import app

FIRST, LAST = ("Anna", "Bo", "Cem", "Dana", "Eva", "Finn"), ("Maier", "Schulz", "O'Neil", "Li-Lang", "Kaya")
PEOPLE = [f"{a} {b}" for a in FIRST for b in LAST]


def written(path: Path, columns: dict[str, list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture
def visits(tmp_path) -> Path:
    """Thirty people with a hundred rows each."""
    who = [i % 30 for i in range(3000)]
    return written(
        tmp_path / "visits.csv",
        {
            "patient_id": [1000 + w for w in who],
            "Mitarbeiter": [PEOPLE[w] for w in who],
            "email": [f"{PEOPLE[w].lower().replace(' ', '.')}@example.org" for w in who],
            "nickname": [f"n{w}" for w in who],
            "last_name": [LAST[w % 5] for w in who],
            "place": [("New York", "Boston", "San Jose")[w % 3] for w in who],
            "cost": [w * 3 % 50 for w in who],
        },
    )


def test_what_may_name_people_is_pointed_at(visits):
    found = Inspector(visits).propose()
    assert "called an identifier" in found.notes["patient_id"]
    assert "--unit patient_id" in found.notes["patient_id"]
    for name in ("Mitarbeiter", "last_name"):
        assert "may be names of people" in found.notes[name]
    for name in ("place", "cost", "nickname"):
        assert "people" not in found.notes.get(name, "")


def test_mail_addresses_are_left_out(visits):
    found = Inspector(visits).propose()
    assert found.skipped["email"] == "its values are e-mail addresses"
    assert "email" not in found.domain


@pytest.mark.parametrize(("named", "proposed"), [(3000, True), (2800, True), (600, False)])
def test_a_column_that_names_few_of_the_rows_names_nobody_who_could_be_protected(tmp_path, named, proposed):
    who = [f"u{i // 2:04d}" if i < named else "" for i in range(3000)]
    path = written(tmp_path / "d.csv", {"reply_to_id": who, "sex": ["F", "M"] * 1500})
    assert (Inspector(path).propose().unit is not None) is proposed


def test_who_makes_a_budget_is_told_of_rows_that_name_nobody(tmp_path):
    who = [f"u{i // 2:04d}" if i < 600 else "" for i in range(3000)]
    path = written(tmp_path / "d.csv", {"who": who, "sex": ["F", "M"] * 1500})
    words = ["budget", "init", str(path), "--epsilon", "1", "--unit", "who", "--max-rows", "2"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "2,400 of 3,000 rows name nobody in 'who'" in result.stderr
