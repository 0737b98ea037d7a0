"""All pair tables of 15 columns x 10^7 rows from Parquet, beside DuckDB with one GROUP BY per pair."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

SIZES = (2, 3, 5, 7, 8, 10, 12, 16, 4, 6, 9, 20, 10, 5, 2)
ROWS = 10_000_000


def write_rows(path: Path, rows: int = ROWS) -> None:
    """Independent uniform columns, in ten row groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = [f"c{i}" for i in range(len(SIZES))]
    with pq.ParquetWriter(path, pa.schema([(c, pa.int64()) for c in columns])) as out:
        for _ in range(10):
            part = {c: rng.integers(0, s, rows // 10) for c, s in zip(columns, SIZES, strict=True)}
            out.write_table(pa.table(part))


def ours(path: Path) -> None:
    """CPU seconds and peak memory of one counting pass, kernels already compiled."""
    import hedgerow as hr
    from hedgerow.curator.rows.table import Rows

    domain = hr.Domain({f"c{i}": s for i, s in enumerate(SIZES)})
    pairs = list(combinations(domain.names, 2))
    Rows(hr.Table.open({c: [0] for c in domain}, domain), bytes(32)).tables(pairs)
    start = time.process_time()
    Rows(hr.Table.open(path, domain), bytes(32)).tables(pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sys.stdout.write(f"{time.process_time() - start} {peak}")


def peer(path: Path) -> None:
    """CPU seconds of DuckDB."""
    import duckdb

    connection = duckdb.connect()
    start = time.process_time()
    for a, b in combinations(range(len(SIZES)), 2):
        connection.sql(f"SELECT c{a}, c{b}, COUNT(*) FROM '{path}' GROUP BY ALL").fetchall()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sys.stdout.write(f"{time.process_time() - start} {peak}")


def run() -> list[dict[str, Any]]:
    """CPU seconds of both in one run, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path)
        results = []
        for who in ("ours", "peer"):
            code = f"from pathlib import Path; from benchmarks.counting import {who}; {who}(Path('{path}'))"
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append([float(x) for x in done.stdout.split()])
    (mine, peak), (theirs, _) = results
    return [
        {
            "name": "105 pair tables, 10^7 rows (CPU s), peer DuckDB GROUP BY per pair",
            "ours": mine,
            "peer": theirs,
            "ratio": mine / theirs,
            "bar": "<= 0.4",
            "passed": mine <= 0.4 * theirs,
        },
        {"name": "... peak memory (GB)", "ours": peak, "bar": "< 1", "passed": peak < 1},
    ]
