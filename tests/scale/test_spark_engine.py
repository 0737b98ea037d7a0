"""Rows in Spark: the same integers as in memory, each row once, and only sums travel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows import name_sums, sums
from hedgerow.curator.rows.spark import SparkEngine
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.weighted import REACH, WeightedSums
from hedgerow.queries.query import ONE
from hedgerow.queries.strategies.column import Column
from hedgerow.queries.strategies.sketch_matrix import SketchMatrix
from hedgerow.testing.contracts import engine as contract
from services.dying import Dying
from services.spark import connect_url, counted, imports

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.timeout(900),  # the first test waits for Java, and for loops that are compiled in workers
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KEY = bytes(range(32))
CLIQUES = contract.CLIQUES


def everything(source, domain=contract.DOMAIN, cliques=CLIQUES, **unit):
    """Tables, sums of numbers and sums row by row."""
    rows = Rows(hr.Table.open(source, domain, **unit), KEY)
    factors = [np.arange(domain[a].size, dtype=np.int64) << 20 for a in domain.names[:2]]
    return {
        **rows.tables(cliques),
        **rows.remainder_sums(tuple(sums.values.binned(domain))),
        "row by row": rows.count_where(domain.names[:2], factors),
    }


def same(one, other) -> None:
    assert one.keys() == other.keys()
    for clique in one:
        np.testing.assert_array_equal(one[clique], other[clique], err_msg=str(clique))


LAID = {
    "skewed and empty partitions": lambda frame: frame.repartition(5, (frame.site > 4).cast("int")),
    "one partition": lambda frame: frame.coalesce(1),
    "units across partitions": lambda frame: frame.repartition(4),
}


@pytest.mark.parametrize(
    ("how", "unit"),
    [
        ("skewed and empty partitions", "everybody"),
        ("skewed and empty partitions", "three rows each"),
        ("one partition", "one row each"),
        ("units across partitions", "those without a name by themselves"),
    ],
)
def test_it_gives_the_same_integers_as_the_engine_in_memory(spark, unit, how):
    rows, bound = contract.messy_rows(1200), contract.UNITS.get(unit, {})
    frame = LAID[how](spark.createDataFrame(rows))
    same(everything(frame, **bound), everything(rows, **bound))


def test_spark_connect_gives_the_same_integers(spark):
    """A client of its own process, at the same Spark."""
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect is not installed: pip install 'hedgerow[spark]'")
    rows = contract.messy_rows(300)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(rows, Path(folder) / "rows.parquet")
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parent / "connect_client.py"), connect_url(), folder],
            capture_output=True, text=True, timeout=600, env=os.environ | {"PYTHONPATH": imports()},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    expected = [found.tolist() for found in counted(rows)]
    assert json.loads(done.stdout.splitlines()[-1]) == expected


def test_no_rows_are_no_counts(spark):
    rows = contract.messy_rows(0)
    for unit in ({}, contract.UNITS["three rows each"]):
        same(everything(spark.createDataFrame(rows), **unit), everything(rows, **unit))


def brought(self, columns):
    raise AssertionError("rows were brought here")


def test_rows_do_not_come_here_to_be_counted(spark, monkeypatch):
    monkeypatch.setattr(SparkEngine, "batches", brought)
    frame = spark.createDataFrame(contract.messy_rows(200))
    everything(frame, **contract.UNITS["one row each"])


def test_the_rest_of_the_contract(spark):
    """What needs rows themselves, on few of them; tables are compared above."""
    make = lambda rows: SparkEngine(spark.createDataFrame(rows))  # noqa: E731
    for check in (contract._is_one, contract._sums, contract._refusals, contract._guarded):
        check(make)


def test_names_are_counted_and_sketched_where_they_are_as_in_memory(spark, monkeypatch):
    """The contract about names over several partitions, none of which sends its rows."""
    monkeypatch.setattr(SparkEngine, "batches", brought)
    make = lambda rows: SparkEngine(spark.createDataFrame(rows).repartition(3))  # noqa: E731
    contract._names(make)


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 2, "null_units": "row"}])
def test_a_sketch_is_the_sum_of_the_partitions_sketches(spark, monkeypatch, unit):
    """Also where one name is in every partition, some have no name, and only parts are held at a time."""
    monkeypatch.setattr(SparkEngine, "batches", brought)
    names = [None if i % 11 == 0 else "" if i % 13 == 0 else f"é{i * i % 97}" for i in range(400)]
    rows = pa.table({"name": names, "who": [None if i % 7 == 0 else i % 60 for i in range(400)]})
    frame = LAID["units across partitions"](spark.createDataFrame(rows))
    for columns in ("blocks", "signs"):
        work = name_sums.SketchSum(SketchMatrix(64, bytes(range(32)), columns=columns))
        found, expected = (
            Rows(hr.Table.open(source, hr.OpenDomain(), **unit), KEY).summed_names(work)
            for source in (frame, rows)
        )
        np.testing.assert_array_equal(found[0], expected[0])
        assert expected[0].any()


def test_a_sketch_of_names_is_released_and_asked_the_same_on_spark(spark, tmp_path, monkeypatch):
    """Length, rows and sketch are summed there; the same noise on the same integers is the same release."""
    monkeypatch.setattr(SparkEngine, "batches", brought)
    names = [f"word {i * i % 53}" for i in range(500)]
    frame = spark.createDataFrame(pa.table({"name": names})).repartition(3)
    found = []
    for name, source in (("spark", frame), ("memory", pa.table({"name": names}))):
        ledger = tmp_path / f"{name}.hedgerow.db"
        table = hr.Table.open(source, hr.OpenDomain())
        curator = hr.Curator(table, hr.Budget(epsilon=2, delta=1e-6), ledger, entropy=hr.testing.seeded(3))
        synopsis = hr.SparseProject(epsilon=1, seed=bytes(32)).release(curator)
        asked = curator.measure([hr.SparseQuery({"word 4": 1, "no word": 1})], 0.5)
        found.append((synopsis.measurements[-1].values, asked.values))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weighted_counts_of_boosting_are_summed_where_rows_are(spark, monkeypatch):
    monkeypatch.setattr(SparkEngine, "batches", brought)
    rows, bound = contract.messy_rows(300), contract.UNITS["three rows each"]
    sides, margins = np.array([0, 1]), {"site": np.arange(-300, 300, 100)}
    weights = np.tile(np.linspace(0, ONE, 2 * REACH + 1).astype(np.int64), (2, 1))
    columns = [Column("age", np.arange(contract.DOMAIN["age"].size) % 3, np.ones(21, np.int64))]
    work = WeightedSums("sex", sides, 5, margins, weights, columns)
    found, expected = (
        work.exact(Rows(hr.Table.open(source, contract.DOMAIN, **bound), KEY))
        for source in (spark.createDataFrame(rows).repartition(3), rows)
    )
    np.testing.assert_array_equal(found, expected)
    assert expected.any()


def test_text_that_is_not_utf8_reads_as_in_a_parquet_file(spark, tmp_path):
    """Spark's text holds any bytes; one row that cannot be read must not decide whether all are."""
    cells = [b"F", b"M\xff", b"\xed\xa0\x80", None, b"M", "\ufffdff".encode(), b"\xff"] * 6
    people = [b"a", b"\xff", b"\xfe", None, b"\xff", "\ufffdff".encode(), b"ok"] * 6
    held = pa.table({"sex": pa.array(cells, pa.binary()), "who": pa.array(people, pa.binary())})
    rows = pa.table({name: held[name].combine_chunks().view(pa.string()) for name in held.column_names})
    pq.write_table(rows, tmp_path / "rows.parquet")
    frame = spark.createDataFrame(held).selectExpr("cast(sex AS string) sex", "cast(who AS string) who")
    domain = hr.Domain({"sex": hr.Categorical(["F", "M"], other=True, missing=True)})
    for unit in ({}, *({"unit": "who", "max_rows": 2, "null_units": rule} for rule in ("drop", "row"))):
        found, expected = (
            Rows(hr.Table.open(source, domain, **unit), KEY).tables([("sex",)])[("sex",)].tolist()
            for source in (frame.repartition(3), tmp_path / "rows.parquet")
        )
        assert found == expected
    names = Rows(hr.Table.open(frame.selectExpr("sex name"), hr.OpenDomain()), KEY)
    work = name_sums.SketchSum(SketchMatrix(64, bytes(range(32)), columns="signs"))
    file = Rows(hr.Table.open(tmp_path / "rows.parquet", hr.OpenDomain(column="sex")), KEY)
    np.testing.assert_array_equal(names.summed_names(work)[0], file.summed_names(work)[0])


def odd_rows() -> pa.Table:
    moments = np.array(["2023-01-01T02:30", "2023-12-31T23:59:59.999999", "1500-01-01", "2023-06-30T23:30"])
    ticks = pa.array([*moments.astype("datetime64[us]").astype(np.int64).tolist(), None])
    return pa.table(
        {
            "who": pa.array([Decimal("7.00"), Decimal("7"), None, Decimal("8.50"), Decimal("7.00")],
                            pa.decimal128(20, 2)),
            "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None, Decimal("0.30"), Decimal("99.99")],
                              pa.decimal128(12, 2)),
            "seen": ticks.cast(pa.timestamp("us", "UTC")),
            "noted": ticks.cast(pa.timestamp("us")),
            "born": pa.array([0, 19_358, None, -800_000, 19_722], pa.int32()).cast(pa.date32()),
            "word": pa.array(["déjà vu", "漢字", "", None, "e\u0301"]),
            "short": pa.array([1.5, float("nan"), -0.0, None, 3.25], pa.float32()),
            "small": pa.array([1, -1, None, 127, 0], pa.int8()),
            "ok": pa.array([True, False, None, True, True]),
        }
    )  # fmt: skip


def test_every_type_reads_as_the_same_values_in_memory(spark):
    by_month = hr.dates("2023-01-01", "2024-01-01", by="month", other=True, missing=True)
    domain = hr.Domain(
        {
            "price": hr.bins(0, 100, 0.5, step=0.5, missing=True),
            "seen": by_month,
            "noted": by_month,
            "born": by_month,
            "word": hr.Categorical(["déjà vu", "漢字", "é"], other=True, missing=True),
            "short": hr.Categorical(["1.5", "0"], other=True, missing=True),
            "small": hr.Categorical(range(3), other=True, missing=True),
            "ok": hr.Categorical([True, False], missing=True),
        }
    )
    singles = [(), *((name,) for name in domain)]
    texts = odd_rows()["noted"].cast(pa.string())
    held = odd_rows().set_column(3, "noted", texts)  # else they become moments in the session's zone
    frame = spark.createDataFrame(held).selectExpr(
        "* except (noted)", "cast(noted AS timestamp_ntz) AS noted"
    )
    for unit in ({}, {"unit": "who", "max_rows": 1}):
        same(everything(frame, domain, singles, **unit), everything(odd_rows(), domain, singles, **unit))


@pytest.mark.parametrize("unit", ["three rows each"])
def test_a_worker_that_is_killed_in_the_middle_changes_no_integer(spark, tmp_path, unit):
    rows, bound = contract.messy_rows(1200), contract.UNITS.get(unit, {})
    table = hr.Table.open(spark.createDataFrame(rows).repartition(4), contract.DOMAIN, **bound)
    places = tuple(tuple(contract.DOMAIN.index(a) for a in c) for c in CLIQUES)
    work = sums.TableCounts(contract.DOMAIN.shape, places)
    found = Rows(table, KEY).summed(Dying(work, tmp_path / "died"))
    assert (tmp_path / "died").exists()
    expected = Rows(hr.Table.open(rows, contract.DOMAIN, **bound), KEY).tables(CLIQUES)
    same(dict(zip(CLIQUES, found, strict=True)), expected)


def test_counts_that_come_twice_are_refused():
    from hedgerow.curator.rows.spark_pieces import total

    zeros = sums.TableCounts((2,), ((0,),))(iter(()))
    piece = {"part": [3], "first": [0], "numbers": [np.array([1, 2], "<i8").tobytes()]}
    once = pa.table(piece)
    assert total(zeros, once)[0].tolist() == [1, 2]
    with pytest.raises(hr.SourceError, match="twice"):
        total(zeros, pa.concat_tables([once, once]))


def test_its_ledger_has_to_be_named_and_mechanisms_run_on_it(spark, tmp_path):
    table = hr.Table.open(spark.createDataFrame(contract.messy_rows(200)), contract.DOMAIN)
    with pytest.raises(hr.LedgerError, match="ledger="):
        hr.Curator(table, hr.Budget(epsilon=1))
    curator = hr.Curator(table, hr.Budget(epsilon=1, delta=1e-6), tmp_path / "people.hedgerow.db")
    synopsis = hr.GaussianBaseline(epsilon=0.5).release(curator, hr.marginals(contract.DOMAIN, 1))
    assert synopsis.table(("sex",)).shape == (2,)


def test_a_release_end_to_end_on_spark_is_the_one_in_memory(spark, tmp_path, size):
    """The same noise on the same integers: the same release, to the last digit."""
    n = size(20_000, 10_000_000)
    made = (
        "cast(id % 2 AS int) AS a",
        "cast(id % 3 + id % 2 AS int) AS b",
        "cast((id * 7919) % 101 AS int) AS c",
    )
    frame = spark.range(n, numPartitions=4).selectExpr(*made)
    ids = np.arange(n)
    rows = pa.table({"a": ids % 2, "b": ids % 3 + ids % 2, "c": ids * 7919 % 101})
    domain = hr.Domain({"a": 2, "b": 4, "c": hr.bins(0, 101, 10)})
    found = []
    for name, source in (("spark", frame), ("memory", rows)):
        table = hr.Table.open(source, domain)
        curator = hr.Curator(
            table, hr.Budget(epsilon=1), tmp_path / f"{name}.hedgerow.db", entropy=hr.testing.seeded(3)
        )
        found.append(hr.AdaptiveRelease(epsilon=0.5).release(curator, hr.marginals(domain, 2)))
        session = hr.Session(epsilon=0.4).open(curator)
        found.append(session.ask("SELECT COUNT(*) FROM t WHERE c >= 50"))
    for pair in (("a", "b"), ("b", "c")):
        np.testing.assert_array_equal(found[0].table(pair), found[2].table(pair))
    assert found[1].value == found[3].value


MECHANISMS = {
    "GaussianBaseline": lambda: hr.GaussianBaseline(epsilon=1),
    "RandomizedResponse": lambda: hr.RandomizedResponse(epsilon=1),
    "OnlineMW": lambda: hr.OnlineMW(epsilon=1, updates=4),
    "LaplaceBaseline": lambda: hr.LaplaceBaseline(epsilon=1),
    "HistogramRelease": lambda: hr.HistogramRelease(epsilon=1),
    "SmallDB": lambda: hr.SmallDB(epsilon=1),
    "OfflineMW": lambda: hr.OfflineMW(epsilon=1),
    "BoostQueries": lambda: hr.BoostQueries(epsilon=1),
    "Factorization": lambda: hr.Factorization(epsilon=1),
    "Projection": lambda: hr.Projection(epsilon=1),
}


def test_mechanisms_run_unchanged_on_spark(spark, tmp_path, size):
    """All but those of the tests around this one; a few of them in small runs."""
    ids = np.arange(300)
    rows = pa.table({"a": ids % 2, "b": ids * 7919 % 101 % 3, "who": ids % 200})
    domain = hr.Domain({"a": 2, "b": 3})
    workload = hr.marginals(domain, 2)
    query = next(iter(workload))
    sources = {
        "spark": spark.createDataFrame(rows),
        "memory": rows,
    }  # rows in one order: some noise is per row
    for name in list(MECHANISMS)[: size(3, len(MECHANISMS))]:
        found = []
        for where, source in sources.items():
            table = hr.Table.open(source, domain, unit="who", max_rows=2)  # all of them: keys differ
            ledger, entropy = tmp_path / f"{name}-{where}.hedgerow.db", hr.testing.seeded(3)
            curator = hr.Curator(table, hr.Budget(2, 1e-6), ledger, "replace", entropy=entropy)
            made = MECHANISMS[name]()
            online = isinstance(made, hr.OnlineMW)
            said = made.open(curator).ask(query) if online else made.release(curator, workload).answer(query)
            found.append(said.value)
        assert found[0] == found[1], name


def test_options_of_files_and_columns_that_spark_cannot_tell_apart_are_refused(spark):
    frame = spark.createDataFrame(pa.table({"a": [0, 1]}))
    with pytest.raises(hr.SourceError, match="Spark reads its DataFrames itself"):
        hr.Table.open(frame, hr.Domain({"a": 2}), delimiter=",")
    with pytest.raises(hr.SourceError, match="capitals"):
        hr.Table.open(spark.createDataFrame(pa.table({"a": [0], "A": [1]})), hr.Domain({"a": 2}))


def test_the_example_releases_a_frame_of_spark(spark, capsys):
    import runpy

    from pages import ROOT

    runpy.run_path(str(ROOT / "examples" / "spark_release.py"))["main"](spark)
    assert capsys.readouterr().out.startswith("women in the north: ")
