"""A client of Spark Connect, in a process of its own: counts rows, and writes what it found."""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from pyspark.sql import SparkSession  # noqa: E402

from services.spark import counted  # noqa: E402

if __name__ == "__main__":
    session = SparkSession.builder.remote(sys.argv[1]).create()
    found = counted(session.read.parquet(sys.argv[2]).repartition(3))
    sys.stdout.write(json.dumps([table.tolist() for table in found]) + "\n")
