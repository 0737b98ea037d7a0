"""Data files as people have them: dialects, encodings, compression, odd column names."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.curator.rows.csv_file import CsvFile
from hedgerow.curator.rows.table import Rows
from hedgerow.serve.cli.commands import app

KEY = bytes(range(32))
NOTES = ['said "hi", twice', "two\nlines"]
DOMAIN = hr.Domain({"größe": ["klein", "groß"], "note": hr.Categorical(NOTES, other=True)})
ROWS = [("klein", 'said "hi", twice'), ("groß", "two\nlines"), ("groß", "two\nlines"), ("klein", "?")]
EXPECTED = [[1, 0, 1], [0, 2, 0]]


def text_of(delimiter: str = ",", newline: str = "\n") -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=newline)
    writer.writerow(["größe", "note", "more"])
    writer.writerows((*row, "x") for row in ROWS)
    return out.getvalue()


def counts(path: Path, **options):
    table = hr.Table.open(path, DOMAIN, **options)
    return Rows(table, KEY).tables([DOMAIN.names])[DOMAIN.names].tolist()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_dialects_are_read_from_the_header(tmp_path, delimiter, newline):
    path = tmp_path / "d.csv"
    path.write_bytes(text_of(delimiter, newline).encode())
    assert counts(path, multiline=True) == EXPECTED


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-8-sig", "utf-8"),
        ("utf-16", None),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", None),
        ("latin-1", "latin-1"),
        ("cp1252", "windows-1252"),
        ("cp437", "cp437"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_give_the_same_counts(tmp_path, encoding, declared, packed):
    content = text_of(";").encode(encoding)
    path = tmp_path / ("d.csv.gz" if packed else "d.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert counts(path, encoding=declared, multiline=True) == EXPECTED


def test_zstandard_files_are_read(tmp_path):
    import pyarrow as pa

    with pa.output_stream(tmp_path / "d.csv.zst", compression="zstd") as file:
        file.write(text_of().encode())
    assert counts(tmp_path / "d.csv.zst", multiline=True) == EXPECTED


def test_reading_another_encoding_leaves_no_copy_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    path = tmp_path / "d.csv"
    path.write_bytes("größe;note\nklein;😀\n".encode("utf-16"))
    for _ in hr.Table.open(path, DOMAIN)._engine.batches(["größe"]):
        assert not list((tmp_path / "tmp").iterdir())


def test_text_in_another_encoding_is_one_sentence_without_its_content(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(text_of().encode("latin-1"))
    with pytest.raises(hr.SourceError, match="declare its encoding, for example with --encoding cp1252"):
        counts(path)
    late = b"gr\xc3\xb6\xc3\x9fe,note\n" + b"klein,?\n" * 100_000 + b"secret \xff\xfe,?\n"
    path.write_bytes(late)
    with pytest.raises(hr.SourceError, match="to its end") as caught:
        counts(path)
    assert "secret" not in str(caught.value)


def test_one_odd_row_changes_no_other_row(tmp_path):
    """A dialect guessed from rows could be changed by one of them; here it cannot."""
    path = tmp_path / "d.csv"
    body = "größe,note\n" + "klein,?\n" * 50
    path.write_text(body, "utf-8")
    before = np.array(counts(path))
    for odd in ("a;b;c;d;e\n", "a\tb\tc\n", "x,y,z,too,many\n", "few\n", "'quoted',#\n", "\n"):
        path.write_text(body + odd, "utf-8")
        assert np.abs(np.array(counts(path)) - before).sum() <= 1, odd
        path.write_text(body.replace("\n", "\n" + odd, 1), "utf-8")
        assert np.abs(np.array(counts(path)) - before).sum() <= 1, odd


def test_quoted_and_empty_cells_keep_their_meaning(tmp_path):
    domain = hr.Domain({"a": hr.Categorical(["NULL", "NA", " x"], other=True, missing=True)})
    path = tmp_path / "d.csv"
    path.write_text('a,b\nNULL,1\nNA,1\n"",1\n,1\n" x",1\n"#",1\n', "utf-8")
    assert Rows(hr.Table.open(path, domain), KEY).tables([("a",)])[("a",)].tolist() == [1, 1, 1, 1, 2]


def test_excel_preambles_and_blank_lines_before_the_header_are_skipped(tmp_path):
    for start in ("sep=;\n", "\n\n", "sep=;\r\n"):
        (tmp_path / "d.csv").write_bytes((start + text_of(";")).encode())
        assert counts(tmp_path / "d.csv", multiline=True) == EXPECTED


def test_a_file_name_is_not_a_pattern(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    for name in ("data[1].csv", "what?.csv", "stars*.csv", "o'clock.csv", "ein Name.csv"):
        (folder / name).write_text(text_of(), "utf-8")
        (folder / "data1.csv").write_text("other\n1\n", "utf-8")
        assert counts(folder / name, multiline=True) == EXPECTED
        assert CsvFile.open(folder / name).columns == ("größe", "note", "more")


NAMES = [
    "select",
    "with space",
    'quo"te',
    "größe",
    "semi;colon",
    "a,b",
    "Table",
    "table",
    "😀",
    "c1",
    "--",
    "group by",
]


def test_any_column_name_works_from_file_to_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("odd.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows([[("yes" if (i + j) % 3 else "no") for j in range(len(NAMES))] for i in range(300)])
    Path("s.json").write_text(json.dumps({name: ["yes", "no"] for name in NAMES}), "utf-8")
    arguments = ["release", "odd.csv", "--schema", "s.json", "--epsilon", "400", "--workload", "marginals:1"]
    result = CliRunner().invoke(app, [*arguments, "--out", "out"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    for j, name in enumerate(NAMES):
        if name in ("Table", "table"):  # SQL names do not know case
            continue
        column = '"' + name.replace('"', '""') + '"'
        sql = f"SELECT COUNT(*) AS n FROM t WHERE {column} = 'yes'"
        told = CliRunner().invoke(
            app, ["query", "out/synopsis.hedgerow", sql, "--json"], catch_exceptions=False
        )
        assert told.exit_code == 0, told.output
        exact = sum(bool((i + j) % 3) for i in range(300))
        assert abs(json.loads(told.stdout)["rows"][0]["n"]["value"] - exact) < 20, name
    with open("out/synthetic.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == NAMES


def test_a_large_file_is_streamed(tmp_path):
    """Memory stays flat: three million cells pass through batches and are counted on the way."""
    path = tmp_path / "big.csv"
    path.write_bytes("größe,note\n".encode() + "klein,?\ngroß,?\n".encode() * 300_000)
    parts = []
    table = hr.Table.open(path, DOMAIN, watch=parts.append)
    assert Rows(table, KEY).tables([DOMAIN.names])[DOMAIN.names].sum() == 600_000
    assert len(parts) > 5
    assert parts == sorted(parts)
    assert 0.9 < parts[-1] <= 1.0


@pytest.mark.parametrize("encoding", ["klingon", "base64"])
def test_an_encoding_that_does_not_exist_is_one_sentence(tmp_path, encoding):
    (tmp_path / "d.csv").write_text("a\n1\n")
    with pytest.raises(hr.SourceError, match="no text encoding"):
        hr.Table.open(tmp_path / "d.csv", DOMAIN, encoding=encoding)


@pytest.mark.parametrize(
    "content", [b"\0" * 1000, "größe,note\nklein,?\n".encode("utf-16-le"), b"\x7fELF\x02\x01,a\n"]
)
def test_a_file_that_is_no_text_is_one_short_sentence(tmp_path, content):
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    with pytest.raises(hr.SourceError, match="encoding") as caught:
        counts(path)
    assert len(str(caught.value)) < 200
