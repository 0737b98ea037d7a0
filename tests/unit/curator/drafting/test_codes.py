"""Numbers that stand for no answer, and the code of Namibia: what a draft makes of them, and says."""

from __future__ import annotations

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.drafting.draft import Draft
from hedgerow.curator.drafting.inspector import Inspector

LONG = [20 + i % 60 for i in range(600)]


@pytest.fixture(params=["csv", "parquet"])
def drafted(request, tmp_path):
    """What is drafted of columns in a file of each kind."""

    def made(**columns: list[object]) -> Draft:
        path = tmp_path / f"d.{request.param}"
        frame = pd.DataFrame(columns)
        (frame.to_csv if request.param == "csv" else frame.to_parquet)(path, index=False)
        return Inspector(path).propose()

    return made


def test_a_number_below_zero_that_alone_is_there_is_missing_and_the_range_begins_where_answers_do(drafted):
    found = drafted(
        bmi=[*(x / 2 for x in LONG), *[-9] * 30], smoke=[*(i % 3 for i in range(600)), *[-9] * 30]
    )
    bmi, smoke = found.domain["bmi"], found.domain["smoke"]
    assert bmi.edges[0] >= 0
    assert (bmi.to_schema()["missing"], smoke.to_schema()["missing"]) == ([-9], [-9])
    assert smoke.levels == (0, 1, 2)
    assert all(a.encode([-9])[0] == a.missing_code for a in (bmi, smoke))
    assert "-9 is taken for a missing value" in found.notes["bmi"]


def test_an_average_leaves_out_what_stands_for_no_answer(drafted, tmp_path):
    domain = drafted(n=[*LONG, *[-99] * 300]).domain
    table = hr.Table.open({"n": [*LONG, *[-99] * 300]}, domain)
    with hr.testing.seeded(5):
        curator = hr.Curator(table, hr.Budget(epsilon=1e4), ledger=":memory:")
        mean = curator.measure("SELECT AVG(n) FROM t", 1e3).reply().value
    assert mean == pytest.approx(sum(LONG) / len(LONG), abs=0.1)


@pytest.mark.parametrize(
    "numbers",
    [
        [*LONG, *[-9] * 19],  # too few rows hold it for it to be written down
        [*LONG, *[-9] * 30, -3],  # a number like others below zero
        [*LONG, *[-1] * 30],
    ],
)
def test_other_numbers_below_zero_are_numbers(drafted, numbers):
    found = drafted(n=numbers)
    assert found.domain["n"].to_schema()["missing"] is True
    assert found.domain["n"].edges[0] < 0
    assert "n" not in found.notes


def test_a_number_far_above_all_others_is_pointed_at_and_left_as_it_is(drafted):
    found = drafted(n=[*LONG, *[999] * 30], price=[*[9, 19, 29] * 200, *[39] * 30], near=[*LONG, *[88] * 30])
    assert "write `missing: [999]`" in found.notes["n"]
    assert found.domain["n"].edges[-1] > 999
    assert set(found.notes) == {"n"}


def test_words_for_nothing_stand_beside_numbers_that_do(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("n\n" + "\n".join(map(str, [*LONG, *[-9] * 30, *["NA"] * 30])) + "\n")
    attribute = Inspector(path).propose().domain["n"]
    assert attribute.to_schema()["missing"] == [-9, "NA"]
    assert [attribute.encode([v])[0] == attribute.missing_code for v in (-9, "NA", 30)] == [True, True, False]


def test_the_code_of_namibia_is_a_country_and_elsewhere_pointed_at(drafted):
    codes = ["DE", "FR", "NA", "ZA"] * 30
    found = drafted(country=codes, state=codes, grade=["A", "B", "NA", "C"] * 30)
    assert found.domain["country"].levels == ("DE", "FR", "NA", "ZA")
    assert not found.domain["country"].missing
    assert "Namibia" in found.notes["country"]
    assert found.domain["state"].levels == ("DE", "FR", "ZA")
    assert "codes of two letters" in found.notes["state"]
    assert (found.domain["grade"].levels, "grade" in found.notes) == (("A", "B", "C"), False)


def test_a_column_with_a_space_is_named_as_a_shell_takes_it(drafted):
    found = drafted(**{"customer id": [i // 3 for i in range(600)], "n": LONG})
    assert "--unit 'customer id'" in found.skipped["customer id"]
