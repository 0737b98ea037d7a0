"""What lies beside a release for portals and programs: a data package, and typed synthetic rows."""

from __future__ import annotations

import csv
import datetime as dt
import json
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.release import package
from hedgerow.release.rows import write_rows


@pytest.fixture(scope="module")
def synopsis():
    days = [dt.date(2026, 1, 1 + i % 28) for i in range(200)]
    domain = hr.Domain(
        {
            "sex": ["F", "M"],
            "age": hr.bins(0, 100, 10),
            "visits": 4,
            "mixed": [1, "one"],
            "day": hr.dates("2026-01-01", "2026-02-01", "week"),
        }
    )
    columns = {
        "sex": ["F", "M"] * 100,
        "age": [i % 90 for i in range(200)],
        "visits": [i % 4 for i in range(200)],
    }
    columns |= {"mixed": [1, "one"] * 100, "day": days}
    curator = hr.Curator(hr.Table.open(columns, domain), hr.Budget(epsilon=5, delta=1e-6), ":memory:")
    return hr.GaussianBaseline().release(curator, hr.marginals(domain, 1))


def test_parquet_holds_the_rows_of_the_csv_with_types(synopsis, tmp_path):
    write_rows(synopsis, 150, tmp_path / "rows.csv", seed=1, parquet=tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert kinds["sex"] == kinds["mixed"] == pa.string()
    assert pa.types.is_integer(kinds["visits"])
    assert kinds["day"] == pa.date32()
    with open(tmp_path / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == table.num_rows == 150
    for name in ("sex", "visits", "day", "mixed"):
        assert [r[name] for r in rows] == ["" if v is None else str(v) for v in table[name].to_pylist()]


def test_no_rows_are_a_file_with_columns(synopsis, tmp_path):
    write_rows(synopsis, 0, tmp_path / "rows.csv", parquet=tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").schema.names == list(synopsis.domain)


def test_a_package_describes_every_file_and_column(synopsis, tmp_path):
    write_rows(synopsis, 10, tmp_path / "synthetic.csv", parquet=tmp_path / "synthetic.parquet")
    (tmp_path / "README.md").write_text("hello")
    package.write_package(
        synopsis, "My People", tmp_path, ["synthetic.csv", "synthetic.parquet", "README.md"]
    )
    told = json.loads((tmp_path / "datapackage.json").read_text())
    assert told["name"] == "my-people"
    assert "NOT PRIVATE" in told["description"]
    for one in told["resources"]:
        held = (tmp_path / one["path"]).read_bytes()
        assert one["bytes"] == len(held)
        assert one["hash"] == f"sha256:{sha256(held).hexdigest()}"
    fields = {f["name"]: f for f in told["resources"][0]["schema"]["fields"]}
    assert list(fields) == list(synopsis.domain)
    assert fields["sex"] == {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}}
    assert fields["visits"]["type"] == "integer"
    assert fields["day"]["type"] == "date"


def test_a_package_of_somebody_else_is_left_alone(synopsis, tmp_path):
    path = tmp_path / "datapackage.json"
    assert package.is_ours(path)
    path.write_text('{\n "name": "theirs"\n}\n')
    assert not package.is_ours(path)
    package.write_package(synopsis, "x", tmp_path, [])
    assert package.is_ours(path)
