"""The replay audit over engines: neighbours of tables wherever their rows are, and planted mistakes.

A mistake of an engine shows as counts that move further than one person may move them.
"""

from __future__ import annotations

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import audit
from hedgerow.curator.rows import name_sums, spark_names, spark_pieces
from hedgerow.curator.rows.duckdb import DuckDBEngine
from hedgerow.curator.rows.postgres import PostgresEngine
from hedgerow.curator.rows.spark import SparkEngine
from hedgerow.curator.rows.table import Rows
from hedgerow.queries.strategies.sketch_matrix import SketchMatrix

DOMAIN = hr.Domain(
    {
        "a": ["x", "y"],
        "n": hr.bins(0, 10, 2, step=1, missing=True),
        "d": hr.dates("2024-01-01", "2024-03-01", by="month"),
    }
)
NUMBER = itertools.count(1)
OPEN: list[PostgresEngine] = []


def asks(curator):
    """Tables and a sum, so that codes and numbers are both bounded."""
    first = curator.measure_all([("a",), ("a", "n"), ("d",)], 0.5)
    return [m.counts for m in first], curator.measure("SELECT SUM(n) FROM t", 0.4).values


# -- Spark's part without Spark: partitions in a list, one after the other ---------------------------------


class Laid:
    """A DataFrame as far as the engine uses one: batches in partitions."""

    def __init__(self, parts: list[pa.Table]) -> None:
        self.parts = parts
        self.columns = parts[0].column_names
        self.schema = SimpleNamespace(
            fields=[SimpleNamespace(name=f.name, dataType=_Type(f.type)) for f in parts[0].schema]
        )

    @classmethod
    def of(cls, rows: pa.Table, parts: int = 3):
        """Rows dealt out in turn, so that a unit's are in several partitions; one partition is empty."""
        places = np.arange(rows.num_rows) % parts
        return cls([rows.slice(0, 0), *(rows.filter(pa.array(places == i)) for i in range(parts))])

    def select(self, *names):
        return Laid([part.select([name.strip("`") for name in names]) for part in self.parts])

    def mapInArrow(self, function, schema):
        made = []
        for number, part in enumerate(self.parts):
            spark_pieces._partition = lambda number=number: number
            batches = list(function(iter(part.to_batches(max_chunksize=5))))
            made.append(pa.Table.from_batches(batches) if batches else None)
        known = next((part.schema for part in made if part is not None), pa.schema([]))
        return Laid([known.empty_table() if part is None else part for part in made])

    def repartition(self, *names):
        whole = pa.concat_tables(self.parts)
        if not whole.num_columns:
            return self
        keys = [hash(tuple(row[name] for name in names)) % 3 for row in whole.to_pylist()]
        return Laid([whole.filter(pa.array(np.array(keys, dtype=int) == i)) for i in range(3)])

    def toArrow(self):
        return pa.concat_tables(self.parts)

    def groupBy(self, name):
        return SimpleNamespace(agg=lambda how: self._summed(name, *how))

    def _summed(self, name, amount):
        moved = Laid.repartition(self, name).parts
        return Laid([part.group_by(name).aggregate([(amount, "sum")]) for part in moved if part.num_columns])

    def withColumnRenamed(self, old, new):
        assert old == "sum(times)"
        return Laid([pa.table({"name": part["name"], new: part["times_sum"]}) for part in self.parts])


class _Type:
    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_

    def typeName(self):
        return {"string": "string", "double": "double", "date32[day]": "date"}.get(str(self.type), "long")


class PartByPart(SparkEngine):
    """Planted: people are bounded in every partition by itself."""

    def _selected(self, columns):
        found = super()._selected(columns)
        found.__class__ = type(
            "NoShuffle", (Laid,), {"repartition": lambda self, *names: self, "mapInArrow": _kept}
        )
        return found


def _kept(self, function, schema):
    made = Laid.mapInArrow(self, function, schema)
    made.__class__ = self.__class__
    return made


class TriedTwice(SparkEngine):
    """Planted: what a task that was tried twice sent is counted twice."""

    def summed(self, domain, work, bound):
        return [2 * table for table in super().summed(domain, work, bound)]


class Limited(DuckDBEngine):
    """Planted: a LIMIT, under which whoever comes decides about others."""

    def batches(self, columns):
        rows = pa.Table.from_batches(
            list(super().batches(columns)), self.schema().empty_table().select(columns).schema
        )
        order = np.argsort([str(row) for row in rows.to_pylist()], kind="stable")
        yield from rows.take(order).slice(0, 5).to_batches()


class Sampled(DuckDBEngine):
    """Planted: rows are told apart, each keeps a number that depends on how many there are."""

    def batches(self, columns):
        rows = pa.Table.from_batches(
            list(super().batches(columns)), self.schema().empty_table().select(columns).schema
        )
        yield from rows.slice(rows.num_rows % 2).to_batches()


@pytest.fixture(autouse=True)
def partition(monkeypatch):
    monkeypatch.setattr(spark_pieces, "_partition", lambda: 0)


def test_replay_finds_nothing_in_the_engine_of_duckdb(size):
    found = audit.replay_neighbours(
        asks, DOMAIN, neighbours=size(60, 2000), source=lambda rows: DuckDBEngine(rows, "person")
    )
    assert found.ok, str(found)


def test_replay_finds_nothing_in_the_work_that_spark_does(size):
    source = lambda rows: SparkEngine(Laid.of(rows))  # noqa: E731
    found = audit.replay_neighbours(asks, DOMAIN, neighbours=size(60, 2000), source=source)
    assert found.ok, str(found)


@pytest.mark.parametrize("engine", [PartByPart, TriedTwice])
def test_replay_finds_a_mistake_planted_in_the_work_that_spark_does(engine):
    source = lambda rows: engine(Laid.of(rows))  # noqa: E731
    assert not audit.replay_neighbours(asks, DOMAIN, neighbours=300, source=source).ok


@pytest.mark.parametrize("engine", [Limited, Sampled])
def test_replay_finds_rows_that_decide_about_others(engine):
    source = lambda rows: engine(rows, "person")  # noqa: E731
    assert not audit.replay_neighbours(asks, DOMAIN, neighbours=300, source=source).ok


# -- the servers themselves -------------------------------------------------------------------------------


def in_postgres(cluster, rows: pa.Table, kind=PostgresEngine):
    import psycopg

    name, url = f"scene{os.getpid()}_{next(NUMBER)}", cluster.url().partition("#")[0]
    types = {"string": "text", "double": "float8", "date32[day]": "date"}
    columns = ", ".join(f'"{f.name}" {types.get(str(f.type), "int8")}' for f in rows.schema)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE UNLOGGED TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows.to_pylist():
                copy.write_row(list(row.values()))
    while OPEN:
        OPEN.pop().close()  # what was played before is over
    OPEN.append(kind(url, table=name, unit="person"))
    return OPEN[-1]


@pytest.mark.xdist_group("postgres")
def test_replay_finds_nothing_in_postgresql(postgres, size):
    found = audit.replay_neighbours(
        asks, DOMAIN, neighbours=size(24, 600), source=lambda rows: in_postgres(postgres, rows)
    )
    assert found.ok, str(found)


@pytest.mark.xdist_group("postgres")
def test_replay_finds_a_limit_planted_in_postgresql(postgres):
    class Few(PostgresEngine):
        def __init__(self, url, **options):
            super().__init__(url, **options)
            self._where = f" WHERE ctid IN (SELECT ctid FROM {self._place} ORDER BY 1 LIMIT 4)"

    source = lambda rows: in_postgres(postgres, rows, Few)  # noqa: E731
    assert not audit.replay_neighbours(asks, DOMAIN, neighbours=60, source=source).ok


def named_rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    names = [None if i % 9 == 0 else f"é{i % 7}" * (i % 3) for i in random.integers(0, 60, 40)]
    return pa.table({"name": pa.array(names, pa.string()), "person": random.integers(0, 12, 40)})


NAME_WORKS = (
    name_sums.SketchSum(SketchMatrix(32, bytes(range(32)), blocks=4)),
    name_sums.AskedNames(("é1", "", "no such name")),
    name_sums.NamedRows(),
    name_sums.SquaredCounts(),
)


def named_sums(source, **unit) -> list:
    rows = Rows(hr.Table.open(source, hr.OpenDomain(), **unit), bytes(range(32)))
    return [found.tolist() for work in NAME_WORKS for found in rows.summed_names(work)]


def test_names_are_the_same_in_the_work_that_spark_does(size, monkeypatch):
    """Sketches, counts, and lengths, with parts of partitions held at a time; bounded by units and not."""
    monkeypatch.setattr(spark_names, "_MOST", 3)
    for seed in range(size(3, 40)):
        rows = named_rows(seed)
        for unit in ({}, {"unit": "person", "max_rows": 2}):
            assert named_sums(SparkEngine(Laid.of(rows)), **unit) == named_sums(rows, **unit), (seed, unit)
    unit = {"unit": "person", "max_rows": 1}
    assert named_sums(PartByPart(Laid.of(named_rows(0))), **unit) != named_sums(named_rows(0), **unit)


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_replay_finds_nothing_in_spark(spark, monkeypatch, size):
    monkeypatch.undo()
    source = lambda rows: spark.createDataFrame(rows).repartition(2)  # noqa: E731
    found = audit.replay_neighbours(
        lambda curator: curator.measure(("a", "n"), 0.5).counts,
        DOMAIN,
        neighbours=size(3, 60),
        groups=((2, True),),
        relations=("add_remove",),
        source=source,
    )
    assert found.ok, str(found)
