"""The columns of a CSV file are those its header names, whoever asks for them and whatever its rows hold."""

from __future__ import annotations

import csv
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows import csv_file
from hedgerow.curator.rows.csv_file import CsvFile
from hedgerow.curator.rows.csv_rows import CsvRows


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


# -- the header ---------------------------------------------------------------------------------------------

HEADERS = {
    "a quote inside a name": (b'who,height 5",sex\n', ["who", 'height 5"', "sex"]),
    "two of them": (b'who,a "b" c,sex\n', ["who", 'a "b" c', "sex"]),
    "quoted names": (b'"who" , "a, ""b""",sex\n', ["who", 'a, "b"', "sex"]),
    "a quoted delimiter": (b'who;"a,b";sex\n', ["who", "a,b", "sex"]),
    "a trailing delimiter": (b"who,sex,\n", ["who", "sex", ""]),
    "tabs": (b'who\t"a"\t\tsex\n', ["who", "a", "", "sex"]),
    "blank lines before": (b"\r\n \n\nsep=;\nwho;sex,a\n", ["who", "sex,a"]),
}


@pytest.mark.parametrize("rows", [b"", b"x\n", b'1,"2",3\n', b'"\n"', b'",",",\n', b'5" x,y\n'])
@pytest.mark.parametrize("name", HEADERS)
def test_the_header_ends_with_its_line_whatever_the_rows_hold(tmp_path, name, rows):
    line, names = HEADERS[name]
    (tmp_path / "d.csv").write_bytes(line + rows)
    file = CsvFile.open(tmp_path / "d.csv")
    assert (list(file.columns), file.start, file.line) == (names, len(line), line.count(b"\n"))
    assert b"".join(file.text()) == rows


@pytest.mark.parametrize("rows", [b"", b"x\n", b'x"\n1,2\n', b'"\n', b'"x",y\n', b'"",\n'])
@pytest.mark.parametrize("line", [b'who,"sex\n', b'who, "sex\r\n', b'"who,sex\r', b'who,"sex""\n'])
def test_a_quoted_name_that_its_line_leaves_open_is_refused_whatever_the_rows_hold(tmp_path, line, rows):
    (tmp_path / "d.csv").write_bytes(line + rows)
    with pytest.raises(hr.SourceError, match=r"opens a quote and does not close it.*--multiline"):
        CsvFile.open(tmp_path / "d.csv")


def test_a_name_can_hold_line_ends_if_the_owner_vouches_for_the_standard(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b'who,"sex\nor, so"\n1,x\n')
    file = CsvFile.open(path, multiline=True)
    assert (file.columns, file.line, b"".join(file.text())) == (("who", "sex\nor, so"), 2, b"1,x\n")
    for line in (b'who,height 5",sex\n1,"2"\n', b'who,"a"b\n', b'who,"a\n1,"x"\n', b'who,"a\n1,x\n'):
        path.write_bytes(line)
        with pytest.raises(hr.SourceError, match="quote"):
            CsvFile.open(path, multiline=True)


def test_one_row_does_not_decide_where_the_header_ends(tmp_path, movement):
    """A quote in a name ran on to the next one: a person with a quote took all rows before it away."""
    paths = [tmp_path / "with.csv", tmp_path / "without.csv"]
    rows = [f"b{i},{'FM'[i % 2]},x\n" for i in range(50)]
    for path, person in zip(paths, ('p,F,5" x\n', ""), strict=True):
        path.write_text('who,sex,height 5"\n' + "".join(rows) + person)
    moved = movement(*paths, hr.Domain({"sex": hr.Categorical(["F", "M"])}), unit="who", max_rows=1)
    assert (moved.refused, moved.fall, moved.l1) == (None, 0, 1)
    assert moved.counts[()] == 51


def test_one_long_name_under_a_wrong_delimiter_is_no_reason_to_refuse(tmp_path):
    """Without its delimiter the header is one name of 200,000 bytes, too long for Python's csv module."""
    names = [f"column {i:06}" for i in range(12_000)]
    (tmp_path / "d.csv").write_text(";".join(names) + "\n")
    assert list(CsvFile.open(tmp_path / "d.csv").columns) == names


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "UTF_8_SIG"])
def test_a_byte_order_mark_is_left_out_where_there_is_one(tmp_path, mark, encoding):
    """Declared and absent, it cost the first three bytes of the first row."""
    (tmp_path / "d.csv").write_bytes(mark + b"who,sex\n12345,F\n")
    file = CsvFile.open(tmp_path / "d.csv", encoding)
    assert (file.columns, b"".join(file.text())) == (("who", "sex"), b"12345,F\n")


@pytest.mark.parametrize("before", ["", "sep=;\n", " " * 200_000])
def test_a_file_of_one_endless_line_is_refused_at_once(tmp_path, before):
    """Every start of a line was tried at every byte."""
    (tmp_path / "d.csv").write_text(before + "a" * 9_000_000)
    began = time.process_time()
    with pytest.raises(hr.SourceError, match="line of column names is longer than 8 MiB"):
        CsvFile.open(tmp_path / "d.csv")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("before", ["", "\n", "sep=,\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_long_header_is_read_to_its_end(tmp_path, before, end):
    """Up to where the first piece of the file ended, in the middle of its line end or of a name."""
    for length in (csv_file._HEAD - 1 - len(before), csv_file._HEAD - len(before), csv_file._HEAD + 9):
        names = ["a" * (length - 2), "b"]
        (tmp_path / "d.csv").write_bytes((before + ",".join(names) + end + "1,2" + end).encode())
        file = CsvFile.open(tmp_path / "d.csv")
        assert (list(file.columns), file.end) == (names, end)
        assert b"".join(file.text()) == b"1,2" + end.encode()


# -- rows that are shorter than the header ------------------------------------------------------------------


@pytest.mark.parametrize("header", ["who,sex,note,", "who,sex,note,more", "who,sex,note,more,and,more"])
def test_short_rows_are_never_taken_for_lines_of_a_quoted_cell(tmp_path, movement, header):
    """Lines with fewer delimiters than the header were nobody's rows: one person's quotes took 49 away."""
    rest = header.count(",") - 2
    rows = [f"b{i},{'FM'[i % 2]},x\n" for i in range(50)]
    paths = [tmp_path / "with.csv", tmp_path / "without.csv"]
    paths[0].write_text(header + '\np,F,"\n' + "".join(rows) + '"' + "," * rest + "\n")
    paths[1].write_text(header + "\n" + "".join(rows))
    moved = movement(*paths, hr.Domain({"sex": hr.Categorical(["F", "M"])}), unit="who", max_rows=1)
    assert moved.refused is not None, (moved.fall, moved.l1)
    assert "line 2 opens a quoted cell" in moved.refused
    assert "--multiline" in moved.refused
