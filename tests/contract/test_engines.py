"""Every engine gives the same exact integers, whatever the rows hold."""

from __future__ import annotations

import gc
import itertools
import weakref

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows.duckdb import DuckDBEngine
from hedgerow.curator.rows.files import FileEngine
from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.curator.rows.table import Rows
from hedgerow.testing import contracts

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def domain() -> hr.Domain:
    return hr.Domain(
        {
            "sex": ["F", "M"],
            "age": hr.bins(0, 100, 5, missing=True),
            "site": hr.Categorical(range(5), other=True),
            "when": hr.dates("2023-01-01", "2024-01-01", by="quarter", other=True, missing=True),
        }
    )


def messy_rows(n: int, seed: int = 0) -> pd.DataFrame:
    """Rows with out-of-domain values, empty strings, NaN and impossible dates."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 40, n).round(1)
    age[rng.random(n) < 0.1] = np.nan
    days = pd.to_datetime("2022-11-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
    when = np.array(days.strftime("%Y-%m-%d"), dtype=object)
    when[rng.random(n) < 0.1] = None
    when[rng.random(n) < 0.05] = "2023-02-30"
    when[rng.random(n) < 0.05] = "soon"
    return pd.DataFrame(
        {
            "person": rng.integers(0, max(n // 8, 1), n),
            "sex": rng.choice(np.array(["F", "M", "x", "", None], dtype=object), n),
            "age": age,
            "site": rng.integers(-1, 7, n),
            "when": when,
        }
    )


FRAMES = {
    "arrow": lambda rows: rows,
    "pandas": lambda rows: rows.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    "polars": pl.from_arrow,
    "columns": lambda rows: {name: rows[name].to_pylist() for name in rows.column_names},
}
ENDINGS = ("csv", "csv.gz", "parquet")
NUMBER = itertools.count()


def engine_of(kind: str, folder):
    """How the suite makes an engine of one of our kinds from Arrow rows."""
    how, _, held = kind.partition("/")
    if how == "file":
        return lambda rows: FileEngine(written(rows, folder / f"rows{next(NUMBER)}.{held}"))
    made = {"memory": MemoryEngine, "duckdb": DuckDBEngine}[how]
    return lambda rows: made(FRAMES[held](rows), "person", "integer" if held == "columns" else None)


def written(rows: pa.Table, path):
    if path.suffix == ".parquet":
        pq.write_table(rows, path)
    else:
        rows.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "kind", [f"{e}/{f}" for e in ("memory", "duckdb") for f in FRAMES] + [f"file/{e}" for e in ENDINGS]
)
def test_every_engine_keeps_the_contract(kind, tmp_path):
    contracts.check_engine(engine_of(kind, tmp_path))


def test_exact_tables_equal_duckdb_on_decoded_rows(domain, tmp_path):
    frame = messy_rows(4000, seed=1)
    rows = Rows(hr.Table.open(frame, domain), KEY)
    codes = pd.DataFrame(domain.encode(frame))  # noqa: F841 - read by name below
    counted = duckdb.sql("SELECT sex, age, COUNT(*) FROM codes GROUP BY ALL").fetchall()
    expected = np.zeros(domain.shape_of(("sex", "age")), dtype=np.int64)
    for sex, age, count in counted:
        expected[sex, age] = count
    np.testing.assert_array_equal(rows.tables([("sex", "age")])[("sex", "age")], expected)


def test_null_units_follow_the_declared_rule(domain):
    frame = messy_rows(400)
    frame["person"] = frame["person"].astype(object)
    frame.loc[frame.index[:50], "person"] = None
    frame.loc[frame.index[50:60], "person"] = ""
    named = frame.iloc[60:]
    expected = int(named.groupby("person").size().clip(upper=2).sum())
    for rule, extra in (("drop", 0), ("row", 60)):
        rows = Rows(hr.Table.open(frame, domain, unit="person", max_rows=2, null_units=rule), KEY)
        assert rows.tables([()])[()] == expected + extra


def test_huge_product_queries_are_summed_row_by_row(domain):
    from hedgerow.curator.statistics import statistics

    frame = messy_rows(2000)
    rows = Rows(hr.Table.open(frame, domain), KEY)
    queries = [
        hr.Query.where(domain, {"sex": "F", "age": lambda a: a is not None and a > 30, "site": [1, 2]}),
        hr.Query.where(domain, {"sex": "M"}, weights={"age": np.linspace(0, 1, 21)}),
        hr.Query.total(),
    ]
    by_table = statistics.Answers(hr.Workload.of(queries)).exact(rows)
    limit, statistics._TABLE_CELLS = statistics._TABLE_CELLS, 1
    try:
        by_row = statistics.Answers(hr.Workload.of(queries)).exact(rows)
    finally:
        statistics._TABLE_CELLS = limit
    np.testing.assert_array_equal(by_table, by_row)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.drop(columns="age"), "no column 'age'"),
        (lambda f: f.assign(age=pd.array(["a"] * len(f), dtype="string")), "column 'age' holds text"),
        (lambda f: f.assign(age=pd.to_datetime("2020-01-01")), "column 'age' holds date"),
        (lambda f: f.assign(when=1.5), "column 'when' holds float"),
    ],
)
def test_a_column_that_does_not_fit_is_one_sentence(domain, change, sentence):
    with pytest.raises(hr.DomainMismatch, match=sentence):
        hr.Table.open(change(messy_rows(10)), domain)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere.csv", "there is no file"),
        ("rows.xlsx", "neither CSV"),
        (42, "not a table"),
        ({"a": [1], "b": [1, 2]}, "same length"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_sentence(domain, tmp_path, monkeypatch, source, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.xlsx").write_text("")
    with pytest.raises(hr.SourceError, match=sentence):
        hr.Table.open(source, domain)


def test_a_broken_parquet_file_is_one_sentence_without_its_content(domain, tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"secret rows")
    with pytest.raises(hr.SourceError) as caught:
        hr.Table.open(tmp_path / "x.parquet", domain)
    assert "secret" not in str(caught.value)


def test_a_table_shows_no_rows(domain):
    import pickle

    table = hr.Table.open(messy_rows(100), domain)
    assert repr(table) == f"Table({domain!r})"
    public = {name for name in dir(table) if not name.startswith("_")}
    shown = {"domain", "unit", "location", "named", "in_memory", "same_rows", "written"}
    assert public == shown | {"open", "look"}
    assert table.look() is None
    with pytest.raises(TypeError):
        pickle.dumps(table)


def test_open_domains_count_names_and_bound_units():
    names = ["oak", "ash", "oak", "elm", "oak", None, ""]
    frame = pd.DataFrame({"name": names, "who": [1, 1, 1, 2, 3, 3, 3]})
    for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        rows = Rows(hr.Table.open(source, hr.OpenDomain()), KEY)
        assert rows.names(["oak", "ash", "yew", ""]) == {"oak": 3, "ash": 1, "yew": 0, "": 2}
    assert Rows(hr.Table.open(iter(names), hr.OpenDomain()), KEY).names(["oak"]) == {"oak": 3}
    bounded = Rows(hr.Table.open(frame, hr.OpenDomain(), unit="who", max_rows=1), KEY)
    shuffled = Rows(
        hr.Table.open(frame.sample(frac=1, random_state=1), hr.OpenDomain(), unit="who", max_rows=1), KEY
    )
    everything = ["oak", "ash", "elm", ""]
    assert sum(bounded.names(everything).values()) == 3
    assert bounded.names(everything) == shuffled.names(everything)


def test_parquet_is_read_with_a_progress_bar(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [0, 1, 1] * 1000}), tmp_path / "a.parquet")
    seen: list[float | None] = []
    table = hr.Table.open(tmp_path / "a.parquet", hr.Domain({"a": 2}), watch=seen.append)
    assert hr.Curator(table, hr.Budget(epsilon=1), ":memory:").measure(("a",), 1).values.shape == (2,)
    assert seen[-1] == 1.0


def test_a_first_line_that_is_a_row_is_never_quoted(tmp_path):
    (tmp_path / "p.csv").write_text("F,34,Alice Secret\nM,9,Bob\n")
    with pytest.raises(hr.errors.DomainMismatch) as refused:
        hr.Table.open(tmp_path / "p.csv", hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)}))
    assert "Alice" not in str(refused.value)
    assert "34" not in str(refused.value)


def test_an_empty_path_is_no_folder():
    with pytest.raises(hr.errors.SourceError, match="path of the data is empty"):
        hr.Table.open("", hr.Domain({"a": 2}))


def test_rows_are_let_go_with_whoever_holds_them():
    """A snapshot of a database is held as long as its rows are: no ring of references may keep them."""
    rows = Rows(hr.Table.open({"name": ["oak"]}, hr.OpenDomain()), bytes(32))
    assert rows.names(["oak"]) == {"oak": 1}
    gone = weakref.ref(rows)
    gc.disable()
    try:
        del rows
        assert gone() is None
    finally:
        gc.enable()
