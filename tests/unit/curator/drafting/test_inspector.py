"""The owner's look at rows: what is proposed from columns of every kind, and what is not."""

from __future__ import annotations

import datetime as dt
import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.serve.cli.commands import app

N = 1000


@pytest.fixture(scope="module", params=["csv", "parquet"])
def proposal(request, tmp_path_factory):
    rng = np.random.default_rng(2)
    days = [dt.date(2022, 1, 5) + dt.timedelta(days=int(d)) for d in rng.integers(0, 600, N)]
    years = [dt.date(1950, 6, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 20_000, N)]
    income = [None if i % 10 == 0 else round(float(v), 2) for i, v in enumerate(rng.gamma(2, 20_000, N))]
    table = pa.table(
        {
            "id": np.arange(N),
            "uuid": [f"{i:x}-{i * i}" for i in range(N)],
            "age": rng.integers(0, 97, N),
            "children": rng.integers(0, 4, N),
            "income": income,
            "visit": days,
            "born": years,
            "member": pa.array(rng.random(N) < 0.5),
            "colour": rng.choice(["red", "other", "blue"], N),
            "constant": ["x"] * N,
            "empty": pa.array([None] * N, pa.string()),
            "small": rng.normal(0, 0.001, N),
        }
    )
    path = tmp_path_factory.mktemp("data") / f"d.{request.param}"
    (pq.write_table if request.param == "parquet" else pc.write_csv)(table, path)
    return Inspector(path).propose()


def test_identifiers_free_text_and_empty_columns_are_left_out(proposal):
    assert set(proposal.skipped) == {"id", "uuid", "empty"}
    assert all(why.startswith(("it ", "nearly")) for why in proposal.skipped.values())


def test_numbers_get_round_bins_that_hold_them_all(proposal):
    domain = proposal.domain
    assert domain["age"].edges == tuple(range(0, 101, 5))
    assert all(float(e) == int(e) and int(e) % 1000 == 0 for e in domain["income"].edges)
    assert domain["income"].missing
    assert domain["age"].step == 1
    assert domain["income"].step == 0.01
    assert 5 <= domain["small"].size <= 25


def test_a_few_whole_numbers_are_levels(proposal):
    assert proposal.domain["children"].levels == (0, 1, 2, 3)


def test_dates_go_by_month_or_year_from_whole_years(proposal):
    assert (proposal.domain["visit"].by, proposal.domain["born"].by) == ("month", "year")
    assert proposal.domain["visit"].start == dt.date(2022, 1, 1)


def test_every_categorical_column_gets_an_other_level(proposal):
    for name in ("children", "member", "colour", "constant"):
        assert proposal.domain[name].other
    assert proposal.domain["colour"].levels == ("blue", "other", "red")  # a level may be called so itself


def test_a_proposal_reads_back_as_the_same_domain(proposal, tmp_path):
    from hedgerow.release.schema import Schema, proposal_text

    path = tmp_path / "s.yaml"
    path.write_text(proposal_text(proposal.domain, "s.yaml", {}), "utf-8")
    schema = Schema.load(path)
    assert not schema.confirmed
    assert schema.domain == proposal.domain
    with pytest.raises(hr.DomainMismatch, match="not confirmed"):
        schema.confirmed_domain()
    schema.confirm()
    assert Schema.load(path).confirmed


def test_the_mark_is_no_attribute_in_either_form_of_a_schema():
    for mark in (True, False):
        assert hr.Domain.from_schema({"confirmed": mark, "a": ["x"]}).names == ("a",)
        assert hr.Domain.from_schema({"confirmed": mark, "attributes": {"a": ["x"]}}).names == ("a",)
    assert hr.Domain.from_schema({"confirmed": ["yes", "no"], "a": ["x"]}).names == ("confirmed", "a")


# -- the commands ----------------------------------------------------------------------------------------


def run(*arguments: object):
    """A command inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "becomes"),
    [
        ({}, "the nearest bin, or [5, 10] if it cannot be read"),
        ({"missing": True}, "the nearest bin, or (missing) if it cannot be read"),
        ({"other": True, "missing": True}, "other"),
    ],
)
def test_a_check_says_where_values_outside_the_bins_go(folder, options, becomes):
    Path("d.csv").write_text("n\n" + "1\n" * 9 + "99\nmany\n")
    domain = hr.Domain({"n": hr.bins(0, 10, 5, **options)})
    domain.save("s.yaml")
    told = json.loads(run("schema", "check", "s.yaml", "d.csv", "--json").stdout)["PRIVATE_for_the_owner"]
    assert (told["outside"], told["outside_becomes"]) == ({"n": 2}, {"n": becomes})
    label = domain["n"].labels[domain["n"].encode(["many"])[0]]
    assert label in becomes
    assert becomes in " ".join(run("schema", "check", "s.yaml", "d.csv").stdout.split())


@pytest.mark.parametrize("mark", ["", "confirmed: false\n"])
def test_a_schema_that_most_values_fall_outside_of_is_not_confirmed(folder, mark):
    Path("d.csv").write_text("ill,sex\n" + "Yes,F\nNo,M\n,F\n" * 10)
    Path("s.yaml").write_text(mark + "attributes: {ill: ['yes', 'no'], sex: [F]}\n")
    result = run("schema", "check", "s.yaml", "d.csv", "--confirm")
    assert result.exit_code == 1
    assert "Confirmed" not in result.stdout
    assert "DOES NOT FIT" in result.stdout
    assert "most values fall outside what the schema declares for 'ill':" in result.stderr
    assert Path("s.yaml").read_text().startswith(mark)
    told = run("schema", "check", "s.yaml", "d.csv", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["PRIVATE_for_the_owner"]["do_not_fit"] == ["ill"]


def test_a_proposal_goes_into_a_folder_that_is_there(folder):
    Path("d.csv").write_text("sex\n" + "F\nM\n" * 30)
    result = run("schema", "infer", "d.csv", "--out", "new/s.yaml")
    assert result.exit_code == 2
    assert "no folder" in result.stderr
    assert not Path("new").exists()


def test_a_misspelt_mark_is_no_confirmation(folder):
    from hedgerow.release.schema import Schema

    Path("s.yaml").write_text("confirmd: false\nattributes: {sex: [F]}\n")
    with pytest.raises(hr.DomainMismatch, match="did you mean 'confirmed'"):
        Schema.load(Path("s.yaml"))


def test_synthetic_rows_hold_whole_numbers(folder):
    domain = hr.Domain({"visits": hr.bins(0, 10, 2, whole=True), "sex": ["F", "M"]})
    table = hr.Table.open(pa.table({"visits": np.arange(200) % 10, "sex": ["F", "M"] * 100}), domain)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=10), ledger=":memory:")
    rows = hr.HistogramRelease().release(curator, hr.marginals(domain, 1)).sample(100)
    assert set(rows["visits"]) <= {*range(10), None}
    assert {type(v) for v in rows["visits"]} <= {int, type(None)}


def inferred(text: str, *options: object) -> dict:
    Path("d.csv").write_text(text)
    return json.loads(
        run("schema", "infer", "d.csv", "--out", "s.yaml", "--force", "--json", *options).stdout
    )


def test_bins_of_whole_numbers_are_proposed_as_such(folder):
    told = inferred("n,x\n" + "\n".join(f"{i},{i / 2}" for i in list(range(30)) * 9))["attributes"]
    assert (told["n"]["step"], told["x"]["step"]) == (1, 0.1)
    assert "`step`" in Path("s.yaml").read_text().split("attributes:")[0]


@pytest.mark.parametrize("word", ["NA", "N/A", " null", "nan", "None", ""])
def test_words_for_nothing_in_a_column_of_numbers_or_dates_are_missing(folder, word):
    rows = [f"{i},2024-01-{i % 28 + 1:02},x" for i in list(range(40)) * 5] + [f"{word},{word},y"] * 300
    told = inferred("n,day,t\n" + "\n".join(rows) + "\n")["attributes"]
    assert (told["n"]["missing"], "edges" in told["n"], "other" in told["n"]) == ("usual", True, False)
    assert (told["day"]["missing"], "dates" in told["day"]) == ("usual", True)
    domain = hr.Domain.from_schema(told)
    assert all(domain[n].encode([word])[0] == domain[n].missing_code for n in ("n", "day"))
    checked = run("schema", "check", "s.yaml", "d.csv", "--json")
    assert checked.exit_code == 0
    counts = json.loads(checked.stdout)["PRIVATE_for_the_owner"]
    assert [counts[k]["n"] for k in ("missing", "outside", "unreadable")] == [300, 0, 0]


def test_a_few_numbers_stay_levels_beside_words_for_nothing(folder):
    told = inferred("k,t\n" + "0,a\n1,NA\n2,b\nNA,a\n" * 30)["attributes"]
    assert (told["k"]["levels"], told["k"]["other"]) == ([0, 1, 2], True)
    assert (told["t"]["levels"], told["t"]["missing"]) == (["a", "b"], "usual")
    told = inferred("k,t\n" + "0,None\n1,NA\n2,b\nNA,a\n" * 30)
    assert told["attributes"]["t"]["levels"] == ["None", "a", "b"]  # which may be a name
    assert told["attributes"]["t"]["missing"] == ["NA"]
    assert "missing: usual" in told["look_at"]["t"]


def test_a_check_counts_text_among_numbers_apart(folder):
    hr.Domain({"n": hr.bins(0, 10, 5)}).save("s.yaml")
    Path("d.csv").write_text("n\n" + "1\n" * 9 + "99\nmany\nNA\n\n")
    told = json.loads(run("schema", "check", "s.yaml", "d.csv", "--json").stdout)["PRIVATE_for_the_owner"]
    assert [told[k]["n"] for k in ("outside", "unreadable")] == [3, 2]


def test_values_that_differ_in_spaces_alone_are_pointed_at_without_naming_them(folder):
    told = inferred("sex,n\n" + "F,1\n F,2\nM,3\n" * 30)
    assert set(told["look_at"]) == {"sex"}
    assert "look at" not in Path("s.yaml").read_text()  # which becomes public
    notes = Path("s.owner.txt")
    assert "# look at 'sex': some values differ in spaces" in notes.read_text()
    assert notes.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ["id", "person_id", "personId", "ID nr", "paid", "mrn", "PatNr", "person", "customer_no"]
)
def test_a_column_of_identifiers_over_several_rows_is_left_out_with_a_word_about_the_unit(folder, name):
    told = inferred(f"{name},sex\n" + "\n".join(f"{i // 3},F" for i in range(300)))
    assert (name in told["left_out"]) == (name != "paid")
    assert all(f"--unit {shlex.quote(name)} with" in why for why in told["left_out"].values())


def test_a_number_about_people_is_no_name_of_them(folder):
    rows = "\n".join(f"{i % 90},{i % 70}" for i in range(2000))
    (folder / "t.csv").write_text(f"person_age,customer_score\n{rows}\n")
    assert set(Inspector(folder / "t.csv").propose().domain) == {"person_age", "customer_score"}


def test_one_row_is_said_to_be_too_few(folder):
    Path("d.csv").write_text("sex,age\nF,30\n")
    result = run("schema", "infer", "d.csv", "--out", "s.yaml")
    assert result.exit_code == 2
    assert "the data has 1 row, too few" in " ".join(result.stderr.lower().split())
    assert "--least" in result.stderr


WHOLE = st.integers(-(10**17), 10**17) | st.integers(-9, 9)
BEFORE, AFTER = (
    ["", "+", "-", "0", " ", "-0"],
    ["", ".", ".0", ".50", " ", "e2", "E+02", "e-320", "e999"],
)
ODD = ["0x10", "1,5", "\uff11", "\u0667", "inf", "-Infinity", "-nan", "1e", ".", "-", "1 000", "yes"]
SPELLINGS = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(BEFORE), st.integers(0, 30), st.sampled_from(AFTER)),
    st.floats(allow_nan=False).map(repr),
    st.sampled_from(ODD),
)
DATES = st.dates().map(str) | st.sampled_from(["9999-12-31", "0001-01-01", "2024-01-01T23:59"])
COLUMNS = [WHOLE.map(str), WHOLE.map("{}.0".format), st.floats(0.9, 1.1).map(repr), SPELLINGS, DATES]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(COLUMNS).flatmap(lambda cells: st.lists(cells, min_size=1, max_size=30)))
def test_what_is_proposed_from_a_file_fits_that_file(tmp_path, cells):
    path, schema = tmp_path / "d.csv", tmp_path / "s.yaml"
    path.write_text("n,k\n" + "".join(f'"{cell}",a\n' * 3 for cell in [*cells, ""]))
    proposed = Inspector(path).propose(least=1).domain
    proposed.save(schema)
    found = Inspector(path).fit(hr.Domain.load(schema))
    assert [(fit.outside, fit.unread) for fit in found.fits] == [(0, 0)] * len(proposed)


def test_bins_hold_numbers_that_arithmetic_left_beside_a_round_one(tmp_path):
    path = tmp_path / "d.csv"
    for least, most in ((0.00032999999999999994, 0.000405), (211948.1, 211949.60000000003)):
        numbers = np.linspace(least, most, 20)
        path.write_text("n\n" + "".join(f"{float(n)!r}\n" * 3 for n in numbers))
        found = Inspector(path).fit(Inspector(path).propose(least=1).domain)
        assert found.fits[0].outside == 0


def test_dates_up_to_the_end_of_the_calendar_are_proposed(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("day\n" + "9999-12-31\n9998-01-01\n" * 30)
    proposed = Inspector(path).propose().domain
    assert Inspector(path).fit(proposed).fits[0].outside == 0


def test_numbers_that_a_gap_made_floats_are_the_same_levels(folder):
    told = inferred("k,n\n" + "0.0,0\n1.0,1\n10.0,10\n,2\n2.0,3\n" * 30)
    assert told["attributes"]["k"]["levels"] == [0, 1, 2, 10]
    assert told["attributes"]["n"]["levels"] == [0, 1, 2, 3, 10]
    checked = json.loads(run("schema", "check", "s.yaml", "d.csv", "--json").stdout)
    assert checked["PRIVATE_for_the_owner"]["outside"] == {"k": 0, "n": 0}
    assert not told["look_at"]


def test_one_number_that_is_written_differently_is_one_level(folder):
    told = inferred("k,n\n" + "1,1\n1.0,2\n 1,3\n" * 30)
    assert told["attributes"]["k"] == {"levels": [1], "other": True, "format": "number"}
