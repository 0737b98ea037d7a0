"""All pair tables of 15 columns counted in Spark, beside one GROUP BY per pair in the same Spark.

Local, two threads, each by the clock after a first pass; rows come from a folder of Parquet files. The
release of many rows makes them in Spark (`spark.range`), so that no file is written.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

ROWS = int(float(os.environ.get("HEDGEROW_SPARK_ROWS", "1e7")))
RELEASED = int(float(os.environ.get("HEDGEROW_SPARK_RELEASED", "1e8")))


def released(spark: Any) -> list[dict[str, Any]]:
    """A release from end to end: rows made in Spark, a ledger in a file, the synopsis asked and saved."""
    import hedgerow as hr

    made = (
        "cast(id % 2 AS int) AS a",
        "cast(id % 3 + id % 2 AS int) AS b",
        "cast((id * 7919) % 101 AS int) AS c",
        "cast((id * 31) % 7 AS int) AS d",
        "cast((id div 11) % 16 AS int) AS e",
    )
    frame = spark.range(RELEASED, numPartitions=16).selectExpr(*made)
    domain = hr.Domain({"a": 2, "b": 4, "c": hr.bins(0, 101, 10), "d": 7, "e": 16})
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        curator = hr.Curator(hr.Table.open(frame, domain), hr.Budget(1, 1e-9), Path(folder) / "l.hedgerow.db")
        synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
        synopsis.save(Path(folder) / "out.hedgerow")
        answer = synopsis.answer("SELECT COUNT(*) FROM t WHERE a = 1 AND c >= 50")
        seconds, own = time.perf_counter() - start, time.process_time() - cpu
    off = abs(answer.value - RELEASED // 2 * 51 / 101)
    return [
        {"name": f"a release of {RELEASED:.0e} rows of 5 attributes, end to end (s)", "ours": seconds},
        {"name": "... CPU s of the driver's Python", "ours": own},
        {
            "name": "... rows that a count of a quarter of them is off, beside its error bound",
            "ours": float(off),
            "peer": float(answer.error),
        },
    ]


def run() -> list[dict[str, Any]]:
    """Both in one session."""
    from benchmarks.counting import SIZES, write_rows

    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return [{"name": "Spark is not installed here: pip install 'hedgerow[spark]'"}]
    import hedgerow as hr
    from hedgerow.curator.rows.table import Rows

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.memory": "2g",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    domain = hr.Domain({f"c{i}": s for i, s in enumerate(SIZES)})
    pairs = list(combinations(domain.names, 2))
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder) / "rows.parquet", ROWS)
        frame = spark.read.parquet(folder)
        Rows(hr.Table.open(frame.limit(1000), domain), bytes(32)).tables(pairs[:1])
        frame.groupBy("c0", "c1").count().collect()
        start = time.perf_counter()
        found = Rows(hr.Table.open(frame, domain), bytes(32)).tables(pairs)
        mine = time.perf_counter() - start
        start = time.perf_counter()
        for a, b in pairs:
            counted = frame.groupBy(a, b).count().collect()
            assert all(found[a, b][row[a], row[b]] == row["count"] for row in counted), "other integers"
        theirs = time.perf_counter() - start
        units = frame.selectExpr("*", "monotonically_increasing_id() % 3000000 AS person")
        start = time.perf_counter()
        Rows(hr.Table.open(units, domain, unit="person", max_rows=2), bytes(32)).tables(pairs)
        bounded = time.perf_counter() - start
    many = released(spark)
    spark.stop()
    return [
        {
            "name": f"105 pair tables, {ROWS:.0e} rows in Spark (s), peer one GROUP BY per pair",
            "ours": mine,
            "peer": theirs,
            "ratio": mine / theirs,
            "bar": "<= 0.33",
            "passed": mine <= theirs / 3,
        },
        {"name": "... with people bounded to two rows each (s)", "ours": bounded},
        *many,
    ]
