"""A Spark session for tests: local, two threads, tasks that are tried again; started once for a run."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from services.postgres import _free_port

HOW = "Spark is not installed: pip install 'hedgerow[spark]', and `apt-get install openjdk-17-jre-headless`"

_PORT = _free_port()
_session: Any = None


def imports() -> str:
    """Where processes that are started find this folder's modules."""
    here = str(Path(__file__).parents[1])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])


def connect_url() -> str:
    """Where clients of Spark Connect find the same Spark."""
    return f"sc://127.0.0.1:{_PORT}"


def counted(source: Any) -> list[Any]:
    """What a client counts, with and without bounding."""
    import hedgerow as hr
    from hedgerow.curator.rows.table import Rows
    from hedgerow.testing.contracts.engine import CLIQUES, DOMAIN, UNITS

    found = []
    for unit in ({}, UNITS["three rows each"]):
        rows = Rows(hr.Table.open(source, DOMAIN, **unit), bytes(range(32)))
        found += rows.tables(CLIQUES).values()
    return found


def shared() -> Any:
    """The session that all tests of this process share; skipped, visibly, where there is no Spark."""
    global _session
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        pytest.skip(HOW)
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip(HOW)
    if _session is None:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(_PORT),
            "spark.log.level": "OFF",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = SparkSession.builder.master("local[2,4]").appName("hedgerow tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", imports())  # workers import what tests make them do
            _session = builder.getOrCreate()
    return _session


def end_shared() -> None:
    """Stop it."""
    global _session
    if _session is not None:
        _session.stop()
        _session = None
