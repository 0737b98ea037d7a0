"""Words that stand for no answer among numbers and dates, and what else owners are told of odd columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import hedgerow as hr
from hedgerow.curator.drafting.draft import Draft
from hedgerow.curator.drafting.inspector import Inspector

N = 2000
AGES = [f"{18 + i % 73}.0" for i in range(N)]
DAYS = [f"{1 + i % 28:02}.{1 + i % 12:02}.{2015 + i % 9}" for i in range(N)]


@pytest.fixture(params=["csv", "parquet"])
def drafted(request, tmp_path):
    """What is drafted of columns in a file of each kind, and how that fits it."""

    def made(**columns: list[object]) -> tuple[Draft, dict]:
        path = tmp_path / f"d.{request.param}"
        frame = pd.DataFrame(columns)
        (frame.to_csv if request.param == "csv" else frame.to_parquet)(path, index=False)
        found = Inspector(path).propose()
        assert found.domain is not None
        return found, {fit.name: fit for fit in Inspector(path).fit(found.domain).fits}

    return made


def mixed(cells: list[str], *words: str, part: int = 50) -> list[str]:
    """Cells of which each of some words takes one in `part`."""
    out = list(cells)
    for place, word in enumerate(words):
        out[place::part] = [word] * len(out[place::part])
    return out


@pytest.mark.parametrize("words", [("k.A.",), ("n/a", "unknown", "refused"), ("k.A.", "-", ".", "")])
def test_a_few_repeated_words_among_numbers_are_missing_and_the_numbers_are_numbers(drafted, words):
    found, fits = drafted(Alter=mixed(AGES, *words))
    age = found.domain["Alter"]
    assert isinstance(age, hr.Bins)
    assert (age.step, age.edges[0] <= 18, age.edges[-1] > 90) == (1, True, True)
    assert (fits["Alter"].outside, fits["Alter"].unread) == (0, 0)
    assert fits["Alter"].missing == len(words) * N / 50
    assert hr.Domain.from_schema(yaml.safe_load(yaml.safe_dump(found.domain.to_schema()))) == found.domain


def test_an_average_leaves_the_words_out(drafted):
    found, _ = drafted(Alter=mixed(AGES, "k.A."), k=["a", "b"] * (N // 2))
    held = [float(cell) for cell in mixed(AGES, "k.A.") if cell != "k.A."]
    table = hr.Table.open({"Alter": mixed(AGES, "k.A."), "k": ["a", "b"] * (N // 2)}, found.domain)
    with hr.testing.seeded(5):
        curator = hr.Curator(table, hr.Budget(epsilon=1e4), ledger=":memory:")
        mean = curator.measure('SELECT AVG("Alter") FROM t', 1e3).reply().value
    assert mean == pytest.approx(np.mean(held), abs=0.1)


def test_the_owner_is_told_which_words_and_the_line_to_write_otherwise(drafted):
    found, _ = drafted(Alter=mixed(AGES, "k.A.", "refused"))
    said = found.notes["Alter"]
    assert "'k.A.' and 'refused' are taken for missing values" in said
    line = yaml.safe_load(said.split("write instead `")[1].split("`")[0])
    assert {"k.A.", "refused"} <= set(hr.Domain.from_schema({"attributes": line})["Alter"].levels)


@pytest.mark.parametrize("cells", [DAYS, [f"{h:02}:{m:02}" for h in range(20) for m in range(10, 60)] * 2])
def test_words_among_dates_and_times_are_missing_too(drafted, cells):
    found, fits = drafted(when=mixed(cells, "unknown"))
    assert found.domain["when"].format in ("%d.%m.%Y", "%H:%M")
    assert fits["when"].missing == len(cells) / 50
    assert (fits["when"].outside, fits["when"].unread) == (0, 0)
    assert "dates or times" in found.notes["when"]


def test_words_that_too_few_rows_share_are_written_down_nowhere(drafted):
    found, fits = drafted(Alter=[*AGES, "ask Rose Miller", "late"])
    assert isinstance(found.domain["Alter"], hr.Bins)
    assert fits["Alter"].unread == 2
    assert "Rose" not in json.dumps(found.notes) + str(found.domain.to_schema())
    assert "count as missing" in found.notes["Alter"]


@pytest.mark.parametrize(
    "cells",
    [
        mixed(AGES, "75+"),  # an answer
        mixed(AGES, "a", "b", "c", "d", "e", "f"),  # too many to be no answers
        mixed(AGES, "k.A.", part=5),  # too often
        mixed([str(i % 6) for i in range(N)], "K"),  # a code beside a handful of them
        mixed([str(i % 2) for i in range(N)], "yes", "no"),
        mixed([f"0{i % 9}000" for i in range(N)], "foreign"),  # names
    ],
)
def test_other_words_stay_what_they_were(drafted, cells):
    found, _ = drafted(x=cells, y=["a", "b"] * (len(cells) // 2))
    assert "taken for" not in found.notes.get("x", "")
    if "x" in found.domain and found.domain["x"].format != "boolean":
        assert isinstance(found.domain["x"], hr.Categorical)
        assert found.domain["x"].missing is False


def test_a_handful_of_numbers_with_a_word_are_levels_that_are_worth_themselves(drafted):
    found, fits = drafted(q=mixed([str(1 + i % 5) for i in range(N)], "refused"))
    assert found.domain["q"].to_schema() == {
        "levels": [1, 2, 3, 4, 5], "other": True, "missing": ["refused"], "format": "number"
    }  # fmt: skip
    assert fits["q"].outside == 0


# -- numbers with a long tail ------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [9, 52, 400])
def test_numbers_beyond_what_levels_would_hold_are_bins_and_sums_of_them_are_right(drafted, most):
    liens = [0] * 1800 + [1] * 120 + [2] * 60 + [3] * 10 + [5] * 6 + [most] * 4
    found, fits = drafted(liens=liens, k=["a", "b"] * 1000)
    attribute = found.domain["liens"]
    assert isinstance(attribute, hr.Bins)
    assert attribute.step == 1
    assert attribute.edges[:3] == (0, 1, 2)
    assert fits["liens"].outside <= 0.003 * len(liens)


def test_a_handful_of_codes_that_are_all_named_are_levels_as_before(drafted):
    found, _ = drafted(sector=[11, 25, 101, 999] * 500)
    assert found.domain["sector"].levels == (11, 25, 101, 999)


# -- what owners are told ----------------------------------------------------------------------------------


def test_levels_that_differ_in_case_or_spaces_alone_are_pointed_at(drafted):
    found, _ = drafted(
        a=["ja", "Ja ", "JA", "no"] * 500, b=["x", " x"] * 1000, c=["x", "X"] * 1000, d=["x", "y"] * 1000
    )
    assert "in upper and lower case alone" in found.notes["a"]
    assert "in spaces around them alone" in found.notes["b"]
    assert "in upper and lower case alone" in found.notes["c"]
    assert "differ" not in found.notes.get("d", "")


@pytest.mark.parametrize("level", ["other", "Other", " OTHER"])
def test_the_catch_all_has_a_name_that_nobody_takes_for_a_level(drafted, level):
    found, _ = drafted(race=[level, "Black", "White", "Asian"] * 500)
    assert found.domain["race"].labels[-1] == "(other)"


def test_every_column_that_is_left_out_comes_with_a_line_that_keeps_it(drafted):
    rng = np.random.default_rng(1)
    found, _ = drafted(
        share=[f"{v:.1f} %".replace(".", ",") for v in rng.uniform(0, 90, N)],
        words=[f"word{v}" for v in rng.integers(0, 10**9, N)],
        id=list(range(N)),
        empty=[None] * N,
        nothing=["NA"] * N,
        few=[None] * (N - 3) + ["a", "b", "c"],
        kept=["a", "b"] * (N // 2),
    )
    assert set(found.keep) == set(found.skipped) == {"share", "words", "id", "empty", "nothing", "few"}
    for name, line in found.keep.items():
        hr.Domain.from_schema({"attributes": yaml.safe_load(line)})
        assert set(yaml.safe_load(line)) == {name}


def test_places_on_earth_have_no_edges_finer_than_a_hundred_metres_and_a_word_about_it(drafted):
    rng = np.random.default_rng(1)
    found, fits = drafted(
        lat=(44.96 + rng.normal(0, 0.003, N)).tolist(),
        pickup_long=(-93.26 + rng.normal(0, 0.003, N)).tolist(),
        ratio=(1.5 + rng.normal(0, 0.003, N)).tolist(),
    )
    for name in ("lat", "pickup_long"):
        assert all(round(e * 1000) == pytest.approx(e * 1000, abs=1e-6) for e in found.domain[name].edges)
        assert fits[name].outside == 0
        assert "where on earth" in found.notes[name]
    assert any(round(e * 1000) != pytest.approx(e * 1000, abs=1e-6) for e in found.domain["ratio"].edges)


def test_a_step_is_finer_than_what_rounding_would_do_to_an_average(drafted):
    """Numbers next to the end of a bin count as its last value: with few steps to a bin that adds up."""
    place = -93.26 + np.random.default_rng(1).normal(0, 0.03, N)
    found, _ = drafted(long=place.tolist())
    body = found.domain["long"]
    codes = (np.searchsorted(np.array(body.edges), place, side="right") - 1).astype(np.int32)
    kept = body.lattice.middles @ np.bincount(codes, minlength=body.size)[: len(body.lattice.middles)]
    moved = float(body.lattice.step) * body.lattice.values(place, codes).sum() / 2.0
    assert abs((kept + moved) / N - place.mean()) < 1e-5


def test_a_column_with_a_single_level_is_pointed_at(drafted):
    found, _ = drafted(cited=["YES"] * 600 + [None] * 1400, sex=["f", "m"] * 1000)
    assert "a single level" in found.notes["cited"]
    assert "sex" not in found.notes


def test_a_schema_with_such_words_is_read_back_from_its_file(tmp_path):
    from hedgerow.release.schema import Schema, proposal_text

    path = tmp_path / "d.csv"
    path.write_text("n\n" + "\n".join(mixed(AGES, "no answer", "k.A.")) + "\n")
    found = Inspector(path).propose()
    out = Path(tmp_path / "s.yaml")
    out.write_text(proposal_text(found.domain, "s.yaml", {}), "utf-8")
    assert Schema.load(out).domain == found.domain
