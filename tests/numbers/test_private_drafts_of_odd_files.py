"""Private drafts of odd files: nothing fails after a charge, and what comes out loads and is of use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from draft_files import frame
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release.schema import Schema
from hedgerow.serve.cli.commands import app


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def privately(rows: object, epsilon: object = 1, *, name: str = "odd.csv", init: tuple = ()) -> dict:
    """What is drafted of a frame; nothing fails once it was charged, and the schema loads and is of use."""
    if name.endswith(".parquet"):
        rows.to_parquet(name)
    else:
        rows.to_csv(name, index=False)
    made = run("budget", "init", name, "--epsilon", 20, *init)
    assert made.exit_code == 0, made.stderr
    told = run("schema", "infer", name, "--private", "--epsilon", epsilon, "--json", "--force")
    assert told.exit_code == 0, told.stdout + told.stderr
    domain = Schema.load(Path("schema.yaml")).domain
    found = json.loads(told.stdout)
    assert {n: a.to_schema() for n, a in domain.items()} == found["attributes"]
    return found


def fit_of(name: str = "odd.csv") -> dict:
    told = run("schema", "check", "schema.yaml", name, "--json")
    assert told.exit_code == 0, told.stdout
    return json.loads(told.stdout)["PRIVATE_for_the_owner"]


WIDE = {  # ranges that have no room for the steps of their numbers
    "cents of millions": lambda r, n: np.round(r.lognormal(13, 2, n), 2),
    "both sides": lambda r, n: np.round(r.normal(0, 3e8, n), 3),
    "whole billions": lambda r, n: r.integers(-(10**10), 10**10, n) * 5,
    "hidden by noise": lambda r, n: np.where(r.random(n) < 0.05, np.round(r.lognormal(3, 1, n), 2), np.nan),
    "far from zero": lambda r, n: 5e10 + np.round(r.normal(0, 5, n), 4),
    "beyond all grids": lambda r, n: r.normal(0, 1e30, n),
    "infinite": lambda r, n: np.where(r.random(n) < 0.3, np.inf, r.normal(0, 1, n)),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("epsilon", [0.05, 1, 10])
def test_a_private_draft_of_any_numbers_is_a_schema_that_loads(folder, epsilon, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({name: make(rng, 4000) for name, make in WIDE.items()}).assign(sex=["f", "m"] * 2000)
    with hr.testing.seeded(seed):
        found = privately(rows, epsilon, init=("--delta", "1e-6") if seed else ())
    for name, body in found["attributes"].items():
        assert "edges" not in body or body["edges"][0] < body["edges"][-1], name


@pytest.mark.parametrize("kind", ["moments", "digits of days", "truths", "times", "words for nothing", "odd"])
def test_a_private_draft_of_typed_columns_fails_at_nothing_that_was_charged(folder, kind):
    with hr.testing.seeded(2):
        privately(frame(kind, 3000), 10, name="odd.parquet")


def test_names_that_no_schema_can_have_leave_their_column_out_and_no_other(folder):
    rows = pd.DataFrame(
        {"a": ["(missing)", "x", "other", "Other"] * 1000, "b": ["yes", "on", "null ", "2"] * 1000}
    )
    with hr.testing.seeded(3):
        found = privately(rows, 8)
    assert "makes no attribute" in found["left_out"]["a"]
    assert set(found["attributes"]["b"]["levels"]) >= {"2"} or found["attributes"]["b"]["format"] == "boolean"


def test_the_catch_all_of_a_private_draft_is_told_from_a_level_that_is_called_so(folder):
    with hr.testing.seeded(3):
        found = privately(pd.DataFrame({"race": ["Other", "Black", "White"] * 2000}), 8)
    assert found["attributes"]["race"]["other"] == "(other)"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_the_step_of_a_private_draft_is_what_nearly_all_numbers_need(folder, share):
    rng = np.random.default_rng(4)
    n = 12_000
    pay = np.round(rng.lognormal(10, 0.5, n))
    pay = np.where(rng.random(n) < share, pay + 0.123, pay)
    with hr.testing.seeded(4):
        found = privately(pd.DataFrame({"pay": pay, "sex": ["f", "m"] * (n // 2)}), 10)
    assert found["attributes"]["pay"]["step"] == (0.01 if share == 0.3 else 1)
    assert fit_of()["above"]["pay"] <= 0.05 * n


@pytest.mark.parametrize("name", ["rownames", "row_number", "Unnamed: 0", "idNum", "userId", "nr"])
def test_what_numbers_the_rows_is_left_out_of_a_private_draft(folder, name):
    n = 5000
    rows = pd.DataFrame({name: np.random.default_rng(1).permutation(n) + 1, "age": 18 + np.arange(n) % 70})
    with hr.testing.seeded(6):
        found = privately(rows, 10)
    assert "identifier" in found["left_out"][name]
    assert set(found["attributes"]) == {"age"}


def test_ends_of_ranges_stay_near_the_rows_where_noise_is_large(folder):
    rng = np.random.default_rng(8)
    n, people = 6000, 5
    rows = pd.DataFrame({f"age{i}": rng.integers(18, 90, n) for i in range(10)})
    rows["seen"] = [f"{d:%d.%m.%Y}" for d in frame("days", n)["seen"]]
    rows["pid"] = np.arange(n) // people
    init = ("--unit", "pid", "--max-rows", people)
    with hr.testing.seeded(8):
        found = privately(rows, 1, init=init)["attributes"]
    ages = [body["edges"] for name, body in found.items() if name.startswith("age")]
    assert len(ages) >= 8
    assert sum(edges[0] >= -100 and 60 <= edges[-1] <= 2000 for edges in ages) >= 0.8 * len(ages)
    assert fit_of()["do_not_fit"] == []


def test_a_column_whose_range_would_be_lost_is_left_out_before_it_is_charged(folder):
    rng = np.random.default_rng(8)
    rows = pd.DataFrame({"x": np.where(rng.random(20_000) < 0.025, rng.integers(1, 90, 20_000), np.nan)})
    rows = rows.assign(**{f"k{i}": rng.choice(["a", "b"], 20_000) for i in range(20)})
    with hr.testing.seeded(1):
        found = privately(rows, 1.2)
    assert "lost in noise" in found["left_out"]["x"]
    with Ledger.open("odd.csv.hedgerow.db", readonly=True) as ledger:
        assert not any("'x' has a share" in (e.note or "") for e in ledger.replay(None, 0))


@pytest.mark.parametrize("delta", ["1e-9", "0"])
def test_whole_numbers_that_are_called_codes_are_names_where_those_can_be_found(folder, delta):
    rng = np.random.default_rng(3)
    codes = rng.choice(["01067", "10115", "20095", "50667"], 6000, p=[0.03, 0.17, 0.3, 0.5])
    rows = pd.DataFrame({"PLZ": codes, "age": rng.integers(0, 90, 6000)})
    with hr.testing.seeded(1):
        found = privately(rows, 4, init=("--delta", delta))
    plz = found["attributes"]["PLZ"]
    assert plz["levels"] == ["01067", "10115", "20095", "50667"] if delta != "0" else "edges" in plz
    assert "edges" in found["attributes"]["age"]


def test_ends_are_those_that_names_and_small_numbers_have_by_nature(folder):
    rng = np.random.default_rng(5)
    n = 12_000
    rows = pd.DataFrame({
        "visits": rng.poisson(3, n), "spent": np.round(rng.lognormal(5, 1, n) * (rng.random(n) < 0.6), 2),
        "year": rng.integers(1975, 2023, n), "month": rng.integers(1, 13, n), "hour": rng.integers(0, 24, n),
        "day": rng.integers(1, 32, n), "day_of_week": rng.integers(0, 7, n),
    })  # fmt: skip
    with hr.testing.seeded(5):
        found = {name: body["edges"] for name, body in privately(rows, 0.7)["attributes"].items()}
    ends = {name: (edges[0], edges[-1]) for name, edges in found.items()}
    assert (ends["visits"][0], ends["spent"][0]) == (0, 0)
    assert 1850 <= ends["year"][0] <= 1975
    assert 2023 <= ends["year"][1] <= 2101
    calendar = {"month": (1, 13), "hour": (0, 24), "day": (1, 32), "day_of_week": (0, 8)}
    assert {name: ends[name] for name in calendar} == calendar
    assert all(found[name] == list(range(*(a, b + 1))) for name, (a, b) in calendar.items())
    fit = fit_of()
    assert max(fit["below"][name] + fit["above"][name] for name in calendar) == 0


def test_numbers_that_contradict_their_name_and_those_below_zero_keep_their_ends(folder):
    rng = np.random.default_rng(6)
    n = 40_000
    rows = pd.DataFrame({
        "month": rng.integers(0, 600, n), "year": rng.integers(0, 40, n), "hour": rng.integers(0, 9000, n),
        "warm": np.round(rng.normal(10, 7, n), 1), "late": np.round(rng.normal(5, 12, n)),
        "agrees": rng.integers(-2, 3, n), "gain": np.round(rng.lognormal(8, 1, n) - 1500, 2),
    })  # fmt: skip
    with hr.testing.seeded(6):
        privately(rows, 1)
    fit = fit_of()
    assert max(fit["below"].values()) <= 0.02 * n
    assert max(fit["above"].values()) <= 0.02 * n
