"""Data that come with another data file's ledger: one budget each, and one ledger for many if need be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.nearby import ledger_path

DOMAIN = hr.Domain({"sex": ["F", "M"]})
BUDGET = hr.Budget(epsilon=1)
ROWS = "sex\nF\nM\nF\n"


def charged(data: Path, ledger: Path | None = None) -> Fraction:
    """What a ledger has spent after one more tenth."""
    if not data.exists():
        data.write_text(ROWS)
    curator = hr.Curator(hr.Table.open(data, DOMAIN), BUDGET, ledger=ledger)
    with curator.ledger as opened:
        curator.measure(("sex",), 0.1)
        return opened.spent().amount


def test_another_files_ledger_is_no_second_budget_of_data_that_have_one(tmp_path):
    people, other = tmp_path / "people.csv", tmp_path / "other.csv"
    charged(people)
    charged(other)
    with pytest.raises(LedgerError, match="has a budget already") as error:
        charged(people, ledger_path(other))
    assert str(ledger_path(people)) in str(error.value)
    assert charged(other) == charged(people) == Fraction(2, 10)


def test_one_ledger_may_be_of_several_files_that_have_no_other(tmp_path):
    ledger = tmp_path / "all.db"
    for night in ("monday.csv", "tuesday.csv", "monday.csv"):
        charged(tmp_path / night, ledger)
    ledger.rename(tmp_path / "renamed.db")
    assert charged(tmp_path / "tuesday.csv", tmp_path / "renamed.db") == Fraction(4, 10)


def test_a_new_ledger_that_was_made_for_a_reason_goes_on_without_one(tmp_path):
    people, second = tmp_path / "people.csv", tmp_path / "second.db"
    charged(people)
    Ledger.open(second, budget=BUDGET, data=people, reason="another study").close()
    assert charged(people, second) == Fraction(1, 10)


def test_the_ledger_beside_data_is_theirs_though_another_one_knew_them(tmp_path):
    people, other = tmp_path / "people.csv", tmp_path / "other.csv"
    charged(other)
    charged(people, ledger_path(other))  # which had no budget of its own then
    Ledger.open(ledger_path(people), budget=BUDGET, reason="its own from now on").close()
    assert charged(people) == Fraction(1, 10)
