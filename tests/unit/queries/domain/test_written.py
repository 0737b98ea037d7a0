"""How cells are written: what a schema declares is read cell by cell, and nothing else is."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import Bins, Dates

OUT, GONE = "other", "(missing)"


def said(attribute, cells):
    return [attribute.labels[c] for c in attribute.encode(cells)]


def test_numbers_among_levels_have_one_spelling():
    codes = Categorical([4, 11], other=True, missing="usual", format="number")
    assert said(codes, ["4", "4.0", "+4", "04", "1.1e1", "x", "inf"]) == ["4", "4", "4", "4", "11", OUT, OUT]
    assert said(codes, pa.array([4.0, 11.0, None])) == ["4", "11", GONE]
    assert said(codes, pa.array([4, 11, 5])) == ["4", "11", OUT]


def test_truth_values_have_one_spelling():
    truths = Categorical([False, True], other=True, missing=True, format="boolean")
    cells = ["Yes", "n", "TRUE", "F", "1", "0.0", "maybe", "", None]
    assert said(truths, cells) == ["true", "false", "true", "false", "true", "false", OUT, GONE, GONE]
    assert said(truths, pa.array([True, False, None])) == ["true", "false", GONE]


@pytest.mark.parametrize(
    ("decimal", "good", "bad"),
    [(",", ["1,5", "1.234,5", "12", "+3,", "1 234,5"], ["1.5", "1,234.5", "1,2,3", "12.34,5"]),
     (".", ["1.5", "1,234.5", "12", "3.", "1'234.5"], ["1,5", "1.234,5", "12,34.5"])],
)  # fmt: skip
def test_marks_of_decimals_and_thousands_are_those_declared(decimal, good, bad):
    numbers = Bins([0, 2000], decimal=decimal, other=True)
    assert said(numbers, good) == ["[0, 2000]"] * len(good)
    assert said(numbers, bad) == [OUT] * len(bad)
    assert said(numbers, pa.array([1.5, 1234.5])) == ["[0, 2000]"] * 2


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [("%d.%m.%Y", ["31.12.2024", "1.2.2024"], ["2024-12-31", "31.02.2024", "12.31.2024"]),
     ("%m/%d/%y", ["12/31/24", "1/2/24"], ["31/12/24", "12/31/2024"]),
     ("%d %b %Y", ["3 Mar 2024", "03 March 2024"], ["3 Foo 2024"]),
     ("%Y%m%d", ["20240229"], ["20230229", "2024229"]),
     ("%d.%m.%Y %H:%M", ["31.12.2024 09:30"], ["31.12.2024"])],
)  # fmt: skip
def test_days_are_read_in_the_declared_format_and_in_no_other(format, good, bad):
    days = Dates("2024-01-01", "2025-01-01", "year", format=format, other=True, missing=True)
    assert said(days, good) == ["2024"] * len(good)
    assert said(days, bad) == [OUT] * len(bad)
    assert said(days, ["", None]) == [GONE, GONE]
    assert said(days, pa.array(["2024-05-01"]).cast(pa.date32())) == ["2024"]  # a type of its own is no text


def test_times_of_day_are_hours():
    clock = Bins([0, 12, 24], format="%H:%M", other=True)
    assert said(clock, ["00:00", "11:59", "12:00", "24:00", "9:3"]) == ["[0, 12)"] * 2 + [
        "[12, 24]",
        OUT,
        OUT,
    ]
    assert said(Bins([0, 12, 24], format="%I:%M %p"), ["12:30 am", "12:30 PM"]) == ["[0, 12)", "[12, 24]"]


def test_declared_words_are_missing_and_no_others():
    usual = Bins([0, 10], missing="usual", other=True)
    assert said(usual, ["NA", " n/a", "-", "None", "7", "nothing"]) == [GONE] * 4 + ["[0, 10]", OUT]
    named = Bins([-99, 10], missing=[-9, "x"], other=True)
    assert said(named, ["-9", "-9.0", "x", "NA", "7"]) == [GONE] * 3 + [OUT, "[-99, 10]"]
    assert said(named, pa.array([-9.0, 7.0])) == [GONE, "[-99, 10]"]
    plain = Categorical(["NA", "a"], missing=True)
    assert said(plain, ["NA", "a", ""]) == ["NA", "a", GONE]  # as schemas of before are read


def test_one_cell_does_not_change_how_another_is_read():
    days = Dates("2024-01-01", "2025-01-01", "month", format="%d/%m/%Y", other=True)
    assert days.encode(["1/2/2024", "31/12/2024"])[0] == days.encode(["1/2/2024", "12/31/2024"])[0]


def test_what_is_declared_reads_back_and_names_another_domain():
    year = ("2024-01-01", "2025-01-01")
    codes = Categorical([1], format="number", missing=["x"])
    made = hr.Domain({"d": Dates(*year, format="%d.%m.%Y"), "n": Bins([0, 1], decimal=","), "k": codes})
    assert hr.Domain.from_schema(made.to_schema()) == made
    plain = hr.Domain({"d": Dates(*year), "n": Bins([0, 1]), "k": [1]})
    assert made.fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    "body",
    [{"levels": ["a"], "format": "%d"}, {"edges": [0, 1], "format": "%d.%m.%Y"},
     {"edges": [0, 1], "format": "%Q"}, {"edges": [0, 1], "decimal": ";"},
     {"levels": ["a"], "decimal": ","}, {"levels": ["a"], "missing": 3},
     {"dates": {"start": "2024-01-01", "stop": "2025-01-01"}, "format": "%m.%Y"}],
)  # fmt: skip
def test_what_cannot_be_read_so_is_refused_with_the_attributes_name(body):
    with pytest.raises(hr.DomainMismatch, match="attribute 'a'"):
        hr.Domain({"a": body})


def test_every_usual_word_is_in_lower_case_and_no_number():
    assert all(word == word.strip().lower() for word in written.WORDS)
    assert not any(word.isdigit() for word in written.WORDS)
