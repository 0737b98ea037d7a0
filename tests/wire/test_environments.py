"""Tools in environments of their own, in `make verify` only: connectorx, DuckDB with postgres, Superset.

HEDGEROW_ENVIRONMENTS names a folder where environments are kept from one run to the next.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sizes import FULL

pytestmark = [
    pytest.mark.xdist_group("wire"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not FULL, reason="an environment of its own: make verify GROUP=wire"),
]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def asked(place, tool, tmp_path):
    """Runs a program in an environment with some packages; what it printed on its last line."""

    def run(name, *packages):
        kept = os.environ.get("HEDGEROW_ENVIRONMENTS")
        home = (Path(kept) if kept else tmp_path) / name
        if not home.exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", *packages]
            if subprocess.run(pip, capture_output=True).returncode:
                pytest.skip(f"pip cannot install {' '.join(packages)}")
        here = {"PGHOST": place[0], "PGPORT": str(place[1]), "PGUSER": name, "PGPASSWORD": tool(name)}
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(home / "bin/python"), str(PROGRAMS / f"ask_{name}.py"), str(tmp_path)]
        done = subprocess.run(command, env=clean | here, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_connectorx(asked):
    told = asked("connectorx", "connectorx==0.4.6", "pyarrow", "pandas")
    assert told["tables"] == ["people"]
    assert all(told[way] == [["F", "M"], "int64"] for way in ("binary", "cursor", "csv"))
    assert told["columns"] == ["sex", "n"]
    assert "There is no column 'nothing'" in told["error"]


def test_duckdb(asked):
    told = asked("duckdb", "duckdb==1.5.5", "duckdb-extension-postgres-scanner==1.5.5")
    assert told["tables"] == [["people"]]
    assert [kind for _, kind in told["columns"]] == ["VARCHAR", "VARCHAR", "BIGINT", "DATE"]
    assert sorted(told["ask"]) == [["F"], ["M"]]
    assert told["group"] == [["0"], ["1"], ["2"]]
    assert len(told["rows"]) == 5
    assert "There is no column 'nothing'" in told["error"]
    assert "Rows are never shown" in told["everything"]


def test_superset(asked):
    told = asked(
        "superset", "apache-superset==6.1.0", "psycopg2-binary==2.9.13", "flask-caching==2.3.1", "cachetools"
    )
    assert told["tables"] == ["people"]
    assert told["columns"] == ["sex", "k", "age", "day"]
    assert (told["catalogs"], told["schemas"]) == (["people"], ["information_schema", "public"])
    assert told["nothing"] == []
    assert told["rows"] == 100
    assert told["values"] == ["0", "1", "2"]
    charts = told["charts"]
    assert "differs within a bin" in charts.pop("months")  # days were declared by quarters
    assert "There is no column 'nothing'" in charts.pop("wrong")
    assert charts == {
        "pie": 2, "ordered": 2, "big number": 1, "quarters": 8, "years": 2, "range": 2, "filtered": 2,
        "having": 2, "averages": 2, "raw": 50, "virtual": 6, "summed": 2,
    }  # fmt: skip
