"""The columns of a CSV file are those its header names, whoever asks for them and whatever its rows hold."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.csv_file import CsvFile
from hedgerow.curator.csv_rows import CsvRows


def _same(one, two) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[c], two[c]) for c in one)


# -- a column that is asked for twice -----------------------------------------------------------------------


@pytest.mark.parametrize("source", ["csv", "parquet", "memory", "duckdb"])
def test_the_column_that_names_units_can_be_an_attribute_too(tmp_path, exact, source):
    """The CSV reader filled one of two arrays for it, and the other held what memory held before."""
    ids = [f"p{i % 40}" for i in range(300)]
    frame = pa.table({"note": ["-"] * 300, "id": ids, "sex": [["F", "M"][i % 2] for i in range(300)]})
    path = tmp_path / f"d.{source}"
    if source == "csv":
        path.write_text("".join(",".join(row) + "\n" for row in [frame.column_names, *_rows(frame)]))
    elif source == "parquet":
        pq.write_table(frame, path)
    given = {"source": path} if source in ("csv", "parquet") else {"source": frame, "engine": source}
    levels = hr.Categorical([f"p{i}" for i in range(30)], other=True)
    for domain in (
        hr.Domain({"id": levels, "sex": hr.Categorical(["F", "M"])}),
        hr.Domain({"sex": hr.Categorical(["F", "M"]), "id": levels}),
        hr.OpenDomain("id"),
    ):
        found = exact(domain=domain, **given, unit="id", max_rows=2)
        assert _same(found, exact(frame, domain, unit="id", max_rows=2))
        if isinstance(domain, hr.OpenDomain):
            assert found == {f"p{i}": 2 for i in range(40)}
        else:
            assert found[("id",)].tolist() == [2] * 30 + [20]


def _rows(frame: pa.Table):
    return zip(*(frame.column(name).to_pylist() for name in frame.column_names), strict=True)


def test_cells_are_handed_out_as_often_as_they_are_asked_for(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,b\n1,x,y\n2,z,w\n")
    rows = CsvRows(CsvFile.open(tmp_path / "d.csv"))
    (batch,) = rows.batches(["b", "a", "b", "a"])
    assert [column.to_pylist() for column in batch.columns] == [["x", "z"], ["1", "2"]] * 2
    with pytest.raises(AssertionError):
        list(rows._cells([1, 0, 1]))


# -- the last column ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["a line end", "no line end"])
def test_names_that_differ_in_a_carriage_return_are_never_one_person(tmp_path, movement, end, last):
    """`M,x` and a carriage return, then the end of the line: `x` lost a row when `x` with one came in."""
    rows = [["sex", "who"], ["F", "x"], ["M", "x\r"]]
    paths = [tmp_path / "with.csv", tmp_path / "without.csv"]
    for path, some in zip(paths, (rows, rows[:2]), strict=True):
        text = end.join(map(",".join, some)) + end * last
        path.write_bytes(text.encode())
    moved = movement(*paths, hr.Domain({"sex": hr.Categorical(["F", "M"])}), unit="who", max_rows=1)
    assert moved.refused is not None, (moved.fall, moved.l1)
    assert "line 3 does not end as the header's line does" in moved.refused


def test_a_carriage_return_of_a_csv_writer_stays_with_its_cell(tmp_path, movement):
    paths = [tmp_path / "with.csv", tmp_path / "without.csv"]
    rows = [["who", "sex", "note"], ["x", "F", "-"], ["x\r", "M", "-"]]
    for path, some in zip(paths, (rows, rows[:2]), strict=True):
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(some)
    moved = movement(*paths, hr.Domain({"sex": hr.Categorical(["F", "M"])}), unit="who", max_rows=1)
    assert (moved.refused, moved.fall, moved.l1) == (None, 0, 1)
