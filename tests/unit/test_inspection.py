"""The owner's look at rows: what is proposed from columns of every kind, and what is not."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.inspection import Inspector

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
    assert not domain["age"].missing
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
    path.write_text(proposal_text(proposal.domain, proposal.skipped, "s.yaml"), "utf-8")
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
