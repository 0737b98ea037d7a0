"""Whatever bytes a person puts into the cells of a CSV file, the other people's rows are read as before."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.rows import csv_file, csv_rows
from hedgerow.curator.rows.table import Rows

KEY = bytes(range(32))
NAMES = ["who", "sex", "age", "note"]
DOMAIN = hr.Domain(
    {
        "sex": hr.Categorical(["F", "M"], other=True, missing=True),
        "age": hr.bins(0, 100, 20, other=True, missing=True),
    }
)
CLIQUES = [(), ("sex",), ("age",), ("sex", "age")]


def tables(path, **options):
    return Rows(hr.Table.open(path, DOMAIN, **options), KEY).tables(CLIQUES)


def moved(one, two) -> int:
    """The most that any table moved, in L1."""
    return max(int(np.abs(one[c] - two[c]).sum()) for c in CLIQUES)


def cells(path, **options) -> list[tuple[str | None, ...]]:
    """The rows of a file as the engine gives them."""
    domain = hr.Domain({"a": hr.Categorical([], other=True)})
    engine = hr.Table.open(path, domain, **options)._engine
    names = engine.schema().names
    return [tuple(row.values()) for batch in engine.batches(names) for row in batch.to_pylist()]


# -- what was found -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", ["pandas", "csv", "naive"])
@pytest.mark.parametrize("column", ["note", "sex", "who"])
def test_a_carriage_return_in_one_cell_does_not_make_rows(tmp_path, writer, column):
    """One person, one row, a cell with 500 carriage returns: the tables moved by 501."""
    person = {"who": "p", "sex": "F", "age": "30", "note": "x"}
    person[column] += "\rq,F,30,x" * 500 if writer == "naive" else "\rF" * 500
    others = [{"who": f"b{i}", "sex": "M", "age": "50", "note": "-"} for i in range(20)]
    path, found = tmp_path / "d.csv", []
    for rows in ([*others, person], others):
        text = io.StringIO()
        if writer == "pandas":
            pd.DataFrame(rows).to_csv(text, index=False)
        elif writer == "csv":
            table = csv.writer(text, lineterminator="\n")
            table.writerows([NAMES, *(row.values() for row in rows)])
        else:
            text.write("".join(",".join(row) + "\n" for row in [NAMES, *(r.values() for r in rows)]))
        path.write_bytes(text.getvalue().encode())
        found.append(tables(path, unit="who", max_rows=1))
    assert moved(*found) <= 1
    assert found[1][()] == 20


def people(tmp_path, rows: int = 4001, broken: int | None = 2000):
    """A file of people; from line `broken` on a quote is open."""
    lines = [f"p{i},{'FM'[i % 2]},{i % 90},n{i}" for i in range(rows)]
    if broken is not None:
        lines[broken - 2] = lines[broken - 2].replace(",n", ',"n')
    (tmp_path / "people.csv").write_text("\n".join([",".join(NAMES), *lines]) + "\n")
    (tmp_path / "schema.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 20]}\n")


@pytest.mark.parametrize(
    "command",
    [
        ["schema", "infer", "people.csv", "--out", "new.yaml"],
        ["schema", "check", "schema.yaml", "people.csv"],
        ["budget", "init", "people.csv", "--epsilon", "1"],
        ["release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1"],
        ["ask", "people.csv", "SELECT COUNT(*) FROM t", "--epsilon", "1"],
    ],
)
def test_an_unclosed_quote_is_refused_by_every_command_before_anything_is_written(
    tmp_path, people_cli, command
):
    people(tmp_path)
    before = {p.name for p in tmp_path.iterdir()}
    result = people_cli(*command)
    assert result.exit_code == 2, result.output
    assert "line 2000" in " ".join(result.output.split())
    assert "n1998" not in result.output
    assert {p.name for p in tmp_path.iterdir()} == before


def test_the_owner_hears_how_many_cells_could_not_be_read_and_nobody_else(tmp_path, people_cli):
    people(tmp_path, rows=200, broken=None)
    text = (tmp_path / "people.csv").read_text().splitlines()
    text[16] = 'p15,F,"15"x,n15'  # line 17
    text[30] = "p29,F,29"
    text[31] = "p30,F,29,a,b,c"
    (tmp_path / "people.csv").write_text("\n".join([*text, "", ""]) + "\n")
    words = "7 cells of the data could not be read"
    shown = people_cli("schema", "check", "schema.yaml", "people.csv")
    assert shown.exit_code == 0, shown.output
    flat = " ".join(shown.output.split())
    assert words in flat
    assert "line 17" in flat
    assert "200 rows in 202 lines" in flat
    told = people_cli("schema", "check", "schema.yaml", "people.csv", "--json")
    private = json.loads(told.stdout)["PRIVATE_for_the_owner"]
    assert (private["rows"], private["lines"], private["cells_not_read"]) == (200, 202, 7)
    assert private["first_line_not_read"] == 17
    assert words in people_cli("schema", "infer", "people.csv", "--out", "new.yaml").stderr
    init = people_cli("budget", "init", "people.csv", "--epsilon", "9")
    assert words in init.stderr
    options = ["--schema", "schema.yaml", "--epsilon", "4", "--mechanism", "gaussian", "--out", "out"]
    done = people_cli("release", "people.csv", *options)
    assert done.exit_code == 0, done.output
    assert words in done.stderr
    assert words not in done.stdout
    for file in (tmp_path / "out").iterdir():
        assert b"could not be read" not in file.read_bytes()
    asked = people_cli("ask", "people.csv", "SELECT COUNT(*) FROM t")
    assert asked.exit_code == 0, asked.output
    assert "could not be read" not in asked.output + asked.stderr


# -- one grammar --------------------------------------------------------------------------------------------

READ = {
    "a carriage return": (b"a,b\n1,x\ry\r\rz\n2,y\n", [("1", "x\ry\r\rz"), ("2", "y")]),
    "a quoted carriage return at the end": (b'a,b\n1,"x\r"\n2,y\n', [("1", "x\r"), ("2", "y")]),
    "carriage returns end lines": (b"a,b\r1,x\r2,y\r", [("1", "x"), ("2", "y")]),
    "a stray quote": (b'a,b\n1,5" pipe\n2,y\n', [("1", '5" pipe'), ("2", "y")]),
    "two stray quotes": (b'a,b\n1,x"y"z\n2,y\n', [("1", 'x"y"z'), ("2", "y")]),
    "junk after a quote": (b'a,b\n1,"x"y\n2,y\n', [("1", None), ("2", "y")]),
    "junk, and what follows": (b'a,b\n"x"y,1\n2,y\n', [(None, None), ("2", "y")]),
    "spaces around quotes": (b'a,b\n1, "x, y" \n2,y\n', [("1", "x, y"), ("2", "y")]),
    "doubled quotes": (b'a,b\n1,"say ""x"""\n2,""""\n', [("1", 'say "x"'), ("2", '"')]),
    "few": (b"a,b,c\n1\n2,y,z\n", [("1", None, None), ("2", "y", "z")]),
    "many": (b"a,b\n1,x,y\n2,y\n", [(None, None), ("2", "y")]),
    "many empty ones": (b"a,b\n1,x,,\n2,y\n", [("1", "x"), ("2", "y")]),
    "blank lines": (b"a,b\n\n1,x\n\n\n2,y\n\n", [("1", "x"), ("2", "y")]),
    "no last line end": (b"a,b\n1,x\n2,y", [("1", "x"), ("2", "y")]),
    "NUL": (b"a,b\n1,x\0y\n\0,y\n", [("1", "x\0y"), ("\0", "y")]),
    "other line ends": (
        "a,b\n1,x\v\f\x1c\x85\u2028\u2029y\n2,\x1a\n".encode(),
        [("1", "x\v\f\x1c\x85\u2028\u2029y"), ("2", "\x1a")],
    ),
    "comments": (b"a,b\n#1,x\n2,#\n", [("#1", "x"), ("2", "#")]),
    "marks": ("\ufeffa,b\n\ufeff1,x\n2,\ufeff\n".encode(), [("\ufeff1", "x"), ("2", "\ufeff")]),
    "backslashes": (b"a,b\n1,\\N\n2,C:\\x\n", [("1", "\\N"), ("2", "C:\\x")]),
    "escaped delimiters": (b"a,b\n1,x\\,y\n2,y\n", [(None, None), ("2", "y")]),
    "a quoted LF beside CRLF": (b'a,b,c\r\n1,"x\ny, z",z\r\n', [("1", "x\ny, z", "z")]),
    "single quotes": (b"a,b\n1,'x\n2,y'\n", [("1", "'x"), ("2", "y'")]),
    "nothing": (b"a,b", []),
}

REFUSED = {
    "never closed": (b'a,b\n1,x\n2,"y\n', 3, "does not close it"),
    "never closed in the last line": (b'a,b\n1,x\n2,"y', 3, "never closed"),
    "rows swallowed": (b'a,b\n1,"x\n2,y\n3,z"\n', 2, "does not close it"),
    "a row swallowed by a first cell": (b'a,b\n"1,x\n2",y\n', 2, "does not close it"),
    "a row swallowed whose cell closes": (b'a,b\n1,"x\n"2",y\n', 2, "does not close it"),
    "short rows swallowed": (b'a,b,c\n1,"x\ny\nz",2\n', 2, "does not close it"),
    "a single column": (b'a\n"x\ny"\n', 2, "does not close it"),
    "a quoted CRLF": (b'a,b\r\n1,"x\r\ny"\r\n', 2, "does not close it"),
    "a quoted LF, then a CRLF": (b'a,b\r\n"1\n","x\r\ny"\r\n', 3, "does not close it"),
    "a quoted CR beside CRLF": (b'a,b\r\n1,"x\ry"\r\n', 2, "does not close it"),
    "an escaped quote, and lines": (b'a,b\n1,"x\ny\\",z\n', 2, "does not close it"),
    "an escaped quote, then a line end": (b'a,b\n1,"x\\"\n2,y"\n', 2, "different readers"),
    "a quoted text that ends in a backslash": (b'a,b\n1,"x\\"\n2,y\n', 2, "different readers"),
    "an escaped line end": (b"a,b\n1,x\\\n2,y\n", 2, "different readers"),
    "an escaped carriage return": (b"a,b\r\n1,x\\\r\ny\r\n", 2, "different readers"),
    "junk, and a quote that is left open": (b'a,b,c\n1,"x"y,"z\nw",2\n', 2, "different readers"),
    "CRLF beside LF": (b"a,b\n1,x\r\n2,y\n", 2, "does not end as the header"),
    "CRLF beside LF, after a quote": (b'a,b\n1,"x"\r\n2,y\n', 2, "does not end as the header"),
    "a blank CRLF beside LF": (b"a,b\n1,x\n\r\n2,y\n", 3, "does not end as the header"),
    "a last carriage return beside LF": (b"a,b\n1,x\n2,y\r", 3, "does not end as the header"),
    "a carriage return beside CRLF": (b"a,b\r\n1,x\ry\r\n2,y\r\n", 2, "does not end as the header"),
    "half of a CRLF": (b"a,b\r\n1,x\r\n2,y\r", 3, "does not end as the header"),
    "a row that begins with half of a CRLF": (b"a,b\r\n1,x\r2,y\r3,z", 2, "does not end as the header"),
    "LF beside CRLF": (b"a,b\r\n1,x\r\n2,y\n3,z\r\n", 3, "does not end as the header"),
    "LF beside CR": (b"a,b\r1,x\r2,y\n3,z\r", 3, "does not end as the header"),
    "escaped CRLF": (b"a,b\r\n1,x\\\r\\\ny\r\n", 2, "does not end as the header"),
}


@pytest.mark.parametrize("piece", [1 << 22, 1, 5])
@pytest.mark.parametrize("name", READ)
def test_what_can_be_decided_is_decided_inside_the_row(tmp_path, monkeypatch, name, piece):
    monkeypatch.setattr(csv_file, "_PIECE", piece)
    content, expected = READ[name]
    (tmp_path / "d.csv").write_bytes(content)
    assert cells(tmp_path / "d.csv") == expected


@pytest.mark.parametrize("piece", [1 << 22, 1, 5])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_decided_is_refused_with_its_line_and_no_value(tmp_path, monkeypatch, name, piece):
    monkeypatch.setattr(csv_file, "_PIECE", piece)
    content, line, sentence = REFUSED[name]
    secret = content.replace(b"x", b"SECRET").replace(b"y", b"SECRET")
    (tmp_path / "d.csv").write_bytes(secret)
    with pytest.raises(hr.SourceError, match=f"line {line} .*{sentence}") as caught:
        cells(tmp_path / "d.csv")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'a,b\n1,"x\n2,y\n3,z"\n', [("1", "x\n2,y\n3,z")]),
        (b'a\n"x\ny"\n', [("x\ny",)]),
        (b'a,b,c\n1,"x\ny",z\n2,y,z\n', [("1", "x\ny", "z"), ("2", "y", "z")]),
        (b'a,b,c\r\n1,"x\r\ny\rz",z\r\n', [("1", "x\r\ny\rz", "z")]),
        (b'a,b\n1,"x\\"\n2,y\\\n', [("1", "x\\"), ("2", "y\\")]),
    ],
)
def test_the_owner_can_vouch_for_a_file_that_follows_the_standard(tmp_path, content, expected):
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(hr.SourceError, match="--multiline"):
        cells(tmp_path / "d.csv")
    assert cells(tmp_path / "d.csv", multiline=True) == expected


@pytest.mark.parametrize(
    "content",
    [
        b'a,b\n1,x"y\n', b'a,b\n1,"x"y\n', b'a,b\n1,"x\n2,"y\n', b'a,b\n1,"x\n', b'a,b,c\n1,"x\ny"z,2\n',
        b'a,b,c\n1,"x\ny"\n', b'a,b,c,d\n1,"x\ny",2",3\n', b'a,b\n1,"x\ny"z\n',
    ],
)  # fmt: skip
def test_a_file_that_does_not_follow_the_standard_is_not_vouched_for(tmp_path, content):
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(hr.SourceError, match="line 2"):
        cells(tmp_path / "d.csv", multiline=True)


@pytest.mark.parametrize(("rule", "rows"), [("drop", 1), ("row", 2)])
def test_lines_whose_name_cannot_be_read_are_no_people_of_their_own(tmp_path, rule, rows):
    """Three lines of a person with a delimiter too many are not three people."""
    odd = "p,F,30,a\\,b\n" * 3
    (tmp_path / "d.csv").write_text("who,sex,age,note\nb1,F,30,x\n" + odd + ",F,30,x\n")
    options = {"unit": "who", "max_rows": 1, "null_units": rule}
    assert tables(tmp_path / "d.csv", **options)[()] == rows
    opened = hr.Table.open(tmp_path / "d.csv", hr.OpenDomain("sex"), **options)
    assert Rows(opened, KEY).names(["F", ""]) == {"F": rows, "": 0}


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_very_long_cell_takes_no_other_row_with_it(tmp_path, monkeypatch, quote):
    assert csv_rows._LONGEST == 1 << 25
    monkeypatch.setattr(csv_rows, "_LONGEST", 1 << 16)
    monkeypatch.setattr(csv_file, "_PIECE", 1 << 13)
    path = tmp_path / "d.csv"
    for length in (60_000, 65_000, 66_000, 1_000_000):
        path.write_text("a,b\n1,x\n2," + quote + "y" * length + quote + "\n3,z\n")
        if length <= 65_000:
            assert [row[0] for row in cells(path)] == ["1", "2", "3"]
        else:
            with pytest.raises(hr.SourceError, match="line 3 begins a row that is too long"):
                cells(path)


@pytest.mark.parametrize("kind", ["gz", "gz in two parts", "zst"])
def test_compressed_files_are_read_whole_or_not_at_all(tmp_path, kind):
    body = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))
    path = tmp_path / f"d.csv.{kind[:3].strip()}"
    if kind == "gz":
        packed = gzip.compress(body)
    elif kind == "zst":
        packed = pa.compress(body, codec="zstd", asbytes=True)
    else:
        packed = gzip.compress(body[:70_000]) + gzip.compress(body[70_000:])
    path.write_bytes(packed)
    assert len(cells(path)) == 20_000
    path.write_bytes(packed[:-2000])
    with pytest.raises(hr.SourceError, match="could not be read"):
        cells(path)


@pytest.mark.parametrize("encoding", ["iso2022_jp", "utf-7", "hz", "unicode_escape", "punycode"])
def test_encodings_in_which_a_row_changes_how_others_are_read_are_refused(tmp_path, encoding):
    (tmp_path / "d.csv").write_bytes(b"a,b\n1,x\n")
    with pytest.raises(hr.SourceError, match="convert it to UTF-8"):
        cells(tmp_path / "d.csv", encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030", "shift_jis", "cp037"])
def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path, encoding):
    if encoding == "cp037":
        pytest.skip("every byte is a character")
    good = "a,b\n" + "".join(f"{i},x\n" for i in range(100_000))
    bad = b"\x00\xd8\x41\x00" if encoding == "utf-16" else b"\x81\x0a"
    (tmp_path / "d.csv").write_bytes(good.encode(encoding) + bad)
    with pytest.raises(hr.SourceError, match="line 100002"):
        cells(tmp_path / "d.csv", encoding=encoding)
