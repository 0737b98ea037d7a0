"""All pair tables of 10 columns from PostgreSQL, beside the same rows in a Parquet file.

Seconds are of the clock, since two processes work: the database sends while the room counts. The database
runs on this machine, with its table in its cache after a first pass.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

SIZES = (int(float(os.environ.get("HEDGEROW_POSTGRES_ROWS", "1e7"))),)
REGIONS = ("north", "south", "east", "west", "centre")


def frame(rows: int, seed: int) -> Any:
    """Rows as people have them: text, whole numbers, numbers, a date, with gaps."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    text = {"sex": ("F", "M"), "region": REGIONS, "status": ("single", "married", "widowed", "divorced")}
    columns: dict[str, Any] = {
        name: pa.array(np.array(levels)[rng.integers(0, len(levels), rows)]) for name, levels in text.items()
    }
    columns |= {
        f"k{i}": pa.array(rng.integers(0, s, rows).astype(np.int32)) for i, s in enumerate((2, 5, 9, 16))
    }
    columns["age"] = pa.array(rng.integers(0, 100, rows).astype(np.int16))
    columns["income"] = pa.array(rng.gamma(2.0, 20_000.0, rows).round(2), mask=rng.random(rows) < 0.05)
    columns["born"] = pa.array(rng.integers(0, 18_000, rows).astype(np.int32)).cast(pa.date32())
    return pa.table(columns)


def domain() -> Any:
    """What the owner declares of them."""
    import hedgerow as hr

    return hr.Domain(
        {
            "sex": ["F", "M"],
            "region": list(REGIONS),
            "status": ["single", "married", "widowed", "divorced"],
            **{f"k{i}": s for i, s in enumerate((2, 5, 9, 16))},
            "age": hr.bins(0, 100, 5),
            "income": hr.bins(0, 200_000, 20_000, missing=True),
            "born": hr.dates("1970-01-01", "2020-01-01", by="year"),
        }
    )


def counted(source: Any, **options: Any) -> tuple[float, float, Any]:
    """Seconds, CPU seconds of this process, and the tables."""
    import hedgerow as hr
    from hedgerow.curator.rows.table import Rows

    declared = domain()
    pairs = list(combinations(declared.names, 2))
    start, cpu = time.perf_counter(), time.process_time()
    found = Rows(hr.Table.open(source, declared, **options), bytes(32)).tables(pairs)
    return time.perf_counter() - start, time.process_time() - cpu, found


def fill(cluster: Any, path: Path, rows: int) -> None:
    """The same rows in a Parquet file and in a table `people`."""
    import psycopg
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    writer = None
    kinds = "sex text, region text, status text, k0 int4, k1 int4, k2 int4, k3 int4, age int2, income float8"
    kinds += ", born date"
    with psycopg.connect(cluster.url().partition("#")[0], autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS people; CREATE UNLOGGED TABLE people ({kinds})".encode())
        for seed in range(max(rows // 1_000_000, 1)):
            part = frame(min(rows, 1_000_000), seed)
            writer = writer or pq.ParquetWriter(path, part.schema)
            writer.write_table(part)
            with tempfile.TemporaryFile() as text:
                csv.write_csv(part, text, csv.WriteOptions(include_header=False))
                text.seek(0)
                with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
                    while piece := text.read(1 << 20):
                        copy.write(piece)
        connection.execute("VACUUM (ANALYZE, FREEZE) people")
    assert writer is not None
    writer.close()


def run() -> list[dict[str, Any]]:
    """Both in one run."""
    import numpy as np

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from services.postgres import Cluster, binaries

    if binaries() is None:
        return [{"name": "PostgreSQL is not installed here"}]
    results = []
    with tempfile.TemporaryDirectory(prefix="hedgerow-pg-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        cluster = Cluster(Path(folder) / "c", {"shared_buffers": "'1GB'", "fsync": "off"}).make().start()
        try:
            url = cluster.url().partition("#")[0]
            for rows in SIZES:
                path = Path(folder) / "people.parquet"
                fill(cluster, path, rows)
                counted(frame(1000, 0))  # loops are compiled
                counted(url, query="SELECT * FROM people WHERE age = 1")
                theirs, theirs_cpu, expected = counted(path)
                mine, mine_cpu, found = counted(url, table="people")
                assert all(np.array_equal(found[c], expected[c]) for c in expected), "other integers"
                name = f"45 pair tables, {rows:.0e} rows of PostgreSQL (s), beside Parquet"
                ratio = mine / theirs
                results.append(
                    {
                        "name": name,
                        "ours": mine,
                        "peer": theirs,
                        "ratio": ratio,
                        "bar": "<= 2",
                        "passed": ratio <= 2,
                    }
                )
                results.append({"name": "... CPU s of this process", "ours": mine_cpu, "peer": theirs_cpu})
        finally:
            cluster.stop()
    return results
