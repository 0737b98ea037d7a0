"""Drafts of schemas: what is proposed for a file fits it, whatever the file is and however it is stored."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import hedgerow as hr
from draft_files import KINDS, frame
from hedgerow.serve.cli.commands import app
from sizes import size


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def drafted(rows: object, name: str = "d.csv") -> dict:
    """What is proposed for a frame that is written to a file."""
    if name.endswith(".parquet"):
        rows.to_parquet(name)
    else:
        rows.to_csv(name, index=False)
    told = run("schema", "infer", name, "--out", f"{name}.yaml", "--force", "--json")
    assert told.exit_code == 0, told.stdout
    return json.loads(told.stdout)


def counts(name: str = "d.csv") -> dict:
    told = run("schema", "check", f"{name}.yaml", name, "--json")
    assert told.exit_code == 0, told.stdout
    return json.loads(told.stdout)["PRIVATE_for_the_owner"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_fits_its_own_file_and_is_one_for_csv_and_parquet(folder, kind):
    rows = frame(kind, size(1500, 20_000))
    drafts = [drafted(rows, name) for name in ("d.csv", "d.parquet")]
    assert drafts[0]["attributes"] == drafts[1]["attributes"]
    assert set(drafts[0]["left_out"]) == set(drafts[1]["left_out"])
    for name in ("d.csv", "d.parquet"):
        found = counts(name)
        assert set(found["unreadable"].values()) == {0}
        clamped = {k: found["below"][k] + found["above"][k] for k in found["below"]}
        assert max(clamped.values()) <= 0.003 * len(rows)
        other = {k: found["outside"][k] - clamped[k] for k in clamped}
        assert max(other.values()) <= 0.5 * len(rows)


def test_bins_follow_where_the_numbers_lie(folder):
    for kind, column in (("spending", "spent"), ("wages", "wage"), ("flights", "dep_delay")):
        rows = frame(kind, size(2000, 20_000))
        domain = hr.Domain.from_schema(drafted(rows)["attributes"])
        codes = domain[column].encode(rows[column].dropna())
        share = sorted((codes == c).mean() for c in range(domain[column].size))
        assert share[-1] + share[-2] < 0.5
        assert 8 <= domain[column].size <= 26


def test_no_edge_is_there_for_a_handful_of_rows(folder):
    def of(fastest: int, oldest: int, trips: int) -> dict:
        rng = np.random.default_rng(3)
        rows = pd.DataFrame({"speed": np.nan, "year": rng.integers(1980, 2014, 3000)})
        rows.loc[:22, "speed"] = rng.permutation([*range(90, 111), 162, fastest])
        rows["visits"] = np.where(rng.random(3000) < 0.9, rng.poisson(1, 3000), rng.integers(0, 200, 3000))
        rows["trips"] = rng.integers(0, 10, 3000)
        rows.loc[0, ["year", "trips"]] = oldest, trips
        told = drafted(rows)["attributes"]
        for a, b in pairwise(pairwise(told["visits"]["edges"])):
            assert rows["visits"].between(a[0], b[1], inclusive="left").sum() >= 20
        assert set(counts()["outside"].values()) == {0}
        return told

    told = of(432, 1956, 12)
    assert told["speed"]["edges"] == [80, 500]
    assert told["year"]["edges"] == list(range(1955, 2015))
    assert told["trips"]["edges"] == list(range(15))
    assert of(433, 1957, 13) == told  # no end is somebody's own number


def test_years_have_a_bin_each(folder):
    rows = pd.DataFrame(
        {"asked": [1974 + 2 * (i % 23) for i in range(2000)], "size": [1800 + i % 250 for i in range(2000)]}
    )
    told = drafted(rows)["attributes"]
    assert told["asked"]["edges"] == list(range(1974, 2020))
    assert told["asked"]["step"] == 1
    assert len(told["size"]["edges"]) < 40


EXPERT = {
    "year": "levels", "month": "levels", "day": "edges", "dep_time": "edges", "sched_dep_time": "edges",
    "dep_delay": "edges", "arr_time": "edges", "sched_arr_time": "edges", "arr_delay": "edges",
    "carrier": "levels", "flight": "edges", "tailnum": None, "origin": "levels", "dest": "levels",
    "air_time": "edges", "distance": "edges", "hour": "edges", "minute": "edges", "time_hour": "dates",
}  # fmt: skip


def test_flights_are_drafted_as_an_expert_would_declare_them(folder):
    rows = frame("flights", size(6000, 20_000))
    told = drafted(rows)["attributes"]

    def right(name: str, kind: str | None) -> bool:
        if kind is None or name not in told:
            return kind is None and name not in told
        body = told[name]
        good = kind in body and (kind != "edges" or body["step"] == 1)
        if kind == "levels" and rows[name].dtype == object:
            good = good and set(body["levels"]) == set(rows[name].unique())
        return good and (not rows[name].isna().any() or body["missing"] == "usual")

    as_expected = [name for name, kind in EXPERT.items() if right(name, kind)]
    assert len(as_expected) >= 14, sorted(set(EXPERT) - set(as_expected))
    assert told["hour"]["edges"] == list(range(5, 25))
    assert len(told["dest"]["levels"]) == 105


def test_reasons_and_lines_to_keep_columns_go_to_the_owner_alone(folder):
    told = drafted(frame("flights", 1000))
    assert "tailnum" in told["left_out"]
    public, mine = Path("d.csv.yaml").read_text(), Path(told["owner_file"])
    assert "tailnum" not in public
    assert mine.stat().st_mode & 0o777 == 0o600
    line = yaml.safe_load(told["to_keep"]["tailnum"])
    assert line["tailnum"]["levels"]
    hr.Domain(line)
    assert told["to_keep"]["tailnum"] in mine.read_text()
    assert "one value" in told["look_at"]["year"]
    assert "same as 'one'" in drafted(frame("odd", 300))["look_at"]["two"]


def test_the_likely_person_is_proposed_as_the_unit_and_refused_as_an_attribute(folder):
    rows = frame("people", 1500)
    told = drafted(rows)
    assert told["unit"]["column"] == "person_id"
    assert 3 <= told["unit"]["max_rows"] <= 9
    assert "person_id" not in told["attributes"]
    Path("own.yaml").write_text("attributes: {person_id: {bins: [0, 500, 10]}, sex: [F, M]}\n")
    refused = run("schema", "check", "own.yaml", "d.csv", "--unit", "person_id")
    assert refused.exit_code == 2
    assert "take it out of the schema" in " ".join(refused.stderr.split())
    named = json.loads(run("schema", "infer", "d.csv", "--unit", "sex", "--out", "u.yaml", "--json").stdout)
    assert "sex" not in named["attributes"]


def test_numbers_of_units_that_come_back_are_no_quantity_and_the_likely_unit(folder):
    rng = np.random.default_rng(5)
    units = np.sort(rng.choice(400_000, 300, replace=False)) + 100_000
    rows = pd.DataFrame({"unitid": np.repeat(units, 8), "year": np.tile(np.arange(2007, 2015), 300)})
    rows["totpaid"], rows["covid"] = rng.integers(0, 9000, (2, 2400))
    told = drafted(rows)
    assert set(told["left_out"]) == {"unitid"}
    assert "--unit unitid" in told["left_out"]["unitid"]
    assert (told["unit"]["column"], told["unit"]["max_rows"]) == ("unitid", 8)
    assert {"edges"} <= set(told["attributes"]["totpaid"]) & set(told["attributes"]["covid"])


def test_a_check_says_how_much_is_clamped_other_and_missing(folder):
    Path("d.csv").write_text("n,k\n" + "1,a\n5,b\n" * 45 + "99,a\n" * 6 + "-3,c\n" * 2 + ",a\n" * 2)
    Path("s.yaml").write_text(
        "attributes:\n  n: {edges: [0, 5, 10], step: 1}\n  k: {levels: [a, b], other: true}\n"
    )
    told = json.loads(run("schema", "check", "s.yaml", "d.csv", "--json").stdout)["PRIVATE_for_the_owner"]
    assert (told["below"]["n"], told["above"]["n"], told["missing"]["n"]) == (2, 6, 2)
    assert told["outside"] == {"n": 8, "k": 2}
    assert "8 (8%)" in run("schema", "check", "s.yaml", "d.csv").stdout


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["1,234,567", "345,678", "912"], "."),
        (["1 234 567", "345 678", "912"], "."),
        (["1'234'567.5", "912.0", "7"], "."),
        (["1.234,5", "2,75", "12"], ","),
        (["1 234,5", "2,75", "12"], ","),
        (["3,142", "2,7", "12"], ","),
    ],
)
def test_marks_between_thousands_are_told_from_those_before_decimals(folder, cells, decimal):
    rows = pd.DataFrame({"x": cells * 40, "sex": ["f", "m", "f"] * 40})
    made = drafted(rows)["attributes"]["x"]
    assert made["decimal"] == decimal
    assert counts()["unreadable"]["x"] == 0


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"${i}.50" for i in range(400)], "'$' beside them"),
        ([f"{i % 30} %" for i in range(900)], "'%' beside them"),
        ([f"{i % 30}kg" for i in range(900)], "'kg' beside them"),
        (["(5.00)", "7.00", "9.00"] * 40, "in brackets"),
        ([1.5, float("inf"), 2.5, float("-inf"), *range(20)] * 40, "clamped to the end"),
    ],
)
def test_the_owner_is_told_what_keeps_numbers_from_being_read(folder, cells, words):
    told = drafted(pd.DataFrame({"x": cells, "sex": ["f", "m"] * (len(cells) // 2)}))
    assert words in {**told["left_out"], **told["look_at"]}["x"]
    assert set(counts()["unreadable"].values()) == {0}


def test_codes_with_a_letter_before_them_are_not_taken_for_numbers_with_a_sign(folder):
    told = drafted(pd.DataFrame({"ward": [f"W{i % 9}" for i in range(900)]}))
    assert "ward" not in told["look_at"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Report of 2020\nsex,age\n" + "f,3\n" * 50, "if that is a title or a remark"),
        ("a,a\n" + "1,2\n" * 50, "its name is empty or comes twice"),
        ("sex,age\nf,12\n", "too few"),
        ("", "no line of column names"),
    ],
)
def test_what_cannot_be_drafted_is_refused_in_a_sentence_that_says_why(folder, text, words):
    Path("d.csv").write_text(text)
    told = run("schema", "infer", "d.csv")
    assert told.exit_code == 2
    assert words in told.stderr
