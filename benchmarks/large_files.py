"""All pair tables of 10 attributes from a folder of Parquet files of 10^6 rows (one file under many names),
10^7 and 10^8 rows, and a second ask of a CSV file.

Each is a process of its own; CPU seconds, and the most memory that it held at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROWS = int(float(os.environ.get("HEDGEROW_LARGE_ROWS", "1e8")))
CSV_ROWS = int(float(os.environ.get("HEDGEROW_CSV_ROWS", "1e6")))


def write_folder(folder: Path, rows: int) -> None:
    """A folder of Parquet files of 10^6 rows each."""
    import pyarrow.parquet as pq

    from benchmarks.postgres import frame

    folder.mkdir()
    first = folder / "part0.parquet"
    pq.write_table(frame(1_000_000, 0), first)
    for i in range(1, rows // 1_000_000):  # the same rows again: what is read and counted is as much
        os.link(first, folder / f"part{i}.parquet")


def ask(path: str) -> None:
    """CPU seconds and peak memory of counting all pairs."""
    import resource

    import pyarrow as pa

    from benchmarks.postgres import counted, frame

    pa.set_memory_pool(pa.system_memory_pool())
    counted(frame(1000, 0))
    seconds, cpu, _ = counted(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sys.stdout.write(f"{cpu} {peak} {seconds}")


def asked(path: Path) -> list[float]:
    """The same in a process of its own."""
    code = f"from benchmarks.large_files import ask; ask({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]


def run() -> list[dict[str, Any]]:
    """Parquet of a tenth of the rows and of all, then CSV twice."""
    import pyarrow.csv as csv

    from benchmarks.postgres import frame

    with tempfile.TemporaryDirectory() as folder:
        small, large, text = (Path(folder) / name for name in ("small", "large", "people.csv"))
        write_folder(small, ROWS // 10)
        write_folder(large, ROWS)
        cpu, _, _ = asked(small)
        more, peak, _ = asked(large)
        ratio = more / (10 * cpu)
        csv.write_csv(frame(CSV_ROWS, 0), text)
        first, _, _ = asked(text)
        second, _, _ = asked(text)
    return [
        {
            "name": f"45 pair tables, {ROWS:.0e} rows of Parquet: CPU time a row, beside a tenth of them",
            "ours": more / ROWS * 1e6,
            "peer": cpu / ROWS * 1e7,
            "ratio": ratio,
            "bar": "<= 1.3",
            "passed": ratio <= 1.3,
        },
        {"name": "... peak memory (GB)", "ours": peak, "bar": "< 2", "passed": peak < 2},
        {
            "name": f"the second ask of {CSV_ROWS:.0e} rows of CSV, beside the first (CPU s)",
            "ours": second,
            "peer": first,
            "ratio": second / first,
            "bar": "<= 0.1",
            "passed": second <= 0.1 * first,
        },
    ]
