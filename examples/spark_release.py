"""Release rows that stay in Spark: only tables of whole numbers come to this process.

Run it with `python examples/spark_release.py`; it needs `pip install 'hedgerow[spark]'` and Java, and says
so where there is none.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import hedgerow as hr


def main(spark: Any = None) -> None:
    """All pairs of three columns, counted by the workers."""
    if spark is None:
        if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
            sys.stdout.write("skipped: there is no Java here (a JDK 17 or newer is needed)\n")
            return
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[2]").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    rows = [("FM"[i % 2], i % 90, "NSW"[i % 7 % 3]) for i in range(3000)]
    frame = spark.createDataFrame(rows, ["sex", "age", "region"])
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "region": ["N", "S", "W"]})
    table = hr.Table.open(frame, domain)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1.0, delta=1e-6), ledger=":memory:")
    released = hr.GaussianBaseline().release(curator, hr.marginals(domain, 2))
    answer = released.answer("SELECT COUNT(*) FROM t WHERE sex = 'F' AND region = 'N'")
    sys.stdout.write(f"women in the north: {answer.value:.0f} ± {answer.error:.0f}\n")


if __name__ == "__main__":
    main()
