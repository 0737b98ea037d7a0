"""Folders of Parquet files: the broken one is named, types that read alike are one, no cell is a refusal."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows

KEY = bytes(range(32))
SEX = hr.Domain({"sex": hr.Categorical(["F", "M"], other=True, missing=True)})


def folder(path, **files):
    path.mkdir()
    for name, columns in files.items():
        pq.write_table(pa.table(columns), path / f"{name}.parquet")
    return path


def counts(source, domain, name, **options):
    return Rows(hr.Table.open(source, domain, **options), KEY).tables([(name,)])[(name,)].tolist()


@pytest.mark.parametrize("how", ["cut short", "empty", "other", "pages"])
def test_the_broken_file_of_a_folder_is_named(tmp_path, how):
    path = folder(tmp_path / "parts", **{f"p{i}": {"sex": ["F", "M"] * 500} for i in range(4)})
    bad = path / "p2.parquet"
    whole = bad.read_bytes()
    if how == "pages":  # the footer is whole, what it points to is not
        bad.write_bytes(whole[:4] + bytes(40) + whole[44:])
    else:
        bad.write_bytes({"cut short": whole[: len(whole) // 2], "empty": b"", "other": b"SECRET"}[how])
    with pytest.raises(hr.SourceError, match=r"p2\.parquet") as caught:
        counts(path, SEX, "sex")
    assert "SECRET" not in str(caught.value)


NUMBERS = hr.Domain({"x": hr.bins(0, 4, 1, other=True, missing=True)})
ALIKE = {
    "integers": (NUMBERS, [pa.array([1, 2], t) for t in (pa.int8(), pa.int32(), pa.int64(), pa.uint64())]),
    "floats": (NUMBERS, [pa.array([1.5, 2.25], t) for t in (pa.float32(), pa.float64())]),
    "text": (
        hr.Domain({"x": hr.Categorical(["F", "M"], other=True, missing=True)}),
        [
            pa.array(["F", "M"], pa.string()),
            pa.array(["F", "M"], pa.large_string()),
            pa.array(["F", "M"]).dictionary_encode(),
        ],
    ),
    "nothing": (NUMBERS, [pa.array([1, 2]), pa.nulls(2)]),
    "nothing first": (NUMBERS, [pa.nulls(2), pa.array([1, 2])]),
}


@pytest.mark.parametrize("case", ALIKE)
@pytest.mark.parametrize("turned", [False, True])
def test_types_that_read_alike_are_one_column(tmp_path, case, turned):
    domain, arrays = ALIKE[case]
    parts = arrays[::-1] if turned else arrays
    path = folder(tmp_path / "parts", **{f"p{i}": {"x": a} for i, a in enumerate(parts)})
    alone = [counts({"x": a}, domain, "x") for a in arrays]
    assert counts(path, domain, "x") == np.sum(alone, axis=0).tolist()


def test_a_person_in_files_of_two_widths_is_one_person(tmp_path):
    one = {"sex": ["F"], "who": pa.array([7], pa.int32())}
    two = {"sex": ["F"], "who": pa.array([7], pa.int64())}
    path = folder(tmp_path / "parts", a=one, b=two)
    assert counts(path, SEX, "sex", unit="who", max_rows=1) == [1, 0, 0, 0]


DIFFERENT = {
    "numbers and text": ([1], ["1"]),
    "integers and floats": ([1], [1.0]),
    "moments in two zones": (
        pa.array([0], pa.timestamp("us", "UTC")),
        pa.array([0], pa.timestamp("us", "Europe/Berlin")),
    ),
    "with and without a zone": (pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "UTC"))),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_types_that_read_otherwise_are_refused_with_their_files(tmp_path, case):
    one, two = DIFFERENT[case]
    path = folder(tmp_path / "parts", a={"x": one}, b={"x": two})
    domain = hr.Domain({"x": hr.Categorical([1, 2], other=True)})
    with pytest.raises(hr.SourceError, match=r"one type in all files.*a\.parquet.*b\.parquet"):
        hr.Table.open(path, domain)


def broken(*values: bytes | None) -> pa.Array:
    """Text, whatever the bytes are."""
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize("packed", [False, True])
def test_text_in_a_parquet_cell_that_is_not_utf8_names_no_level(tmp_path, packed):
    array = broken(b"F", b"M\xff", b"\xed\xa0\x80", None, b"M")
    table = pa.table({"sex": array.dictionary_encode() if packed else array, "n": [1, 2, 3, 4, 5]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert counts(tmp_path / "x.parquet", SEX, "sex") == [1, 1, 2, 1]


@pytest.mark.parametrize("rule", ["drop", "row"])
def test_units_are_told_apart_by_their_bytes_whatever_these_are(tmp_path, rule):
    names = [b"a", b"\xff", b"\xfe", b"\xff", "\ufffdff".encode(), "\ufffd".encode(), b"\xed\xa0\x80"]
    table = pa.table({"sex": ["F"] * len(names), "who": broken(*names)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    options = {"unit": "who", "max_rows": 1, "null_units": rule}
    assert counts(tmp_path / "x.parquet", SEX, "sex", **options) == [6, 0, 0, 0]


def test_no_bytes_in_parquet_cells_move_tables_by_more_than_claimed(tmp_path, size):
    rng, path, rules = np.random.default_rng(5), tmp_path / "x.parquet", ("drop", "row")
    pieces = [b"\xff", b"\xed\xa0\x80", b"\0", b"F", b"M", b'"', b"\n", b"b1", b"", b"\xc3", b"7"]
    for turn in range(size(30, 2000)):
        cell = lambda: b"".join(rng.choice(pieces) for _ in range(rng.integers(0, 5)))  # noqa: E731
        who = cell() + b"!"
        people = [(b"b%d" % (i % 5), b"FM"[i % 2 : i % 2 + 1]) for i in range(12)]
        found = []
        for rows in ([*people, *((who, cell()) for _ in range(3))], people):
            columns = {n: broken(*(row[i] for row in rows)) for i, n in enumerate(("who", "sex"))}
            pq.write_table(pa.table(columns), path)
            options = {"unit": "who", "max_rows": 2, "null_units": rules[turn % 2]}
            found.append(np.array(counts(path, SEX, "sex", **options)))
        assert np.abs(found[0] - found[1]).sum() <= 2


def test_uuids_name_people_as_their_text_does(tmp_path):
    names = [uuid.UUID(int=i) for i in (1, 2, 2**127, 1)]
    frame = pd.DataFrame({"sex": ["F"] * 4, "who": [str(n) for n in names]})
    table = pa.table({"sex": ["F"] * 4, "who": pa.array([n.bytes for n in names], pa.uuid())})
    pq.write_table(table, tmp_path / "x.parquet")
    got = hr.Table.open(tmp_path / "x.parquet", SEX, unit="who", max_rows=1)
    texts = [v for batch in got._engine.batches(["who"]) for v in batch.column(0).to_pylist()]
    assert texts == frame["who"].tolist()
    assert counts(tmp_path / "x.parquet", SEX, "sex", unit="who", max_rows=1) == [3, 0, 0, 0]


def test_durations_of_different_units_do_not_read_alike(tmp_path):
    domain = hr.Domain({"x": hr.bins(0, 10_000, 1000)})
    seconds, thousandths = ({"x": pa.array([5], pa.duration(unit))} for unit in ("s", "ms"))
    one = folder(tmp_path / "one", a=thousandths, b=thousandths)
    assert sum(counts(one, domain, "x")) == 2
    two = folder(tmp_path / "two", a=thousandths, b={"x": pa.array([5], pa.duration("us"))})
    with pytest.raises(hr.SourceError, match=r"one type in all files: duration\[ms\].*duration\[us\]"):
        counts(two, domain, "x")
    pq.write_table(pa.table(seconds), tmp_path / "s.parquet")
    assert counts(tmp_path / "s.parquet", domain, "x")[0] == 1


def test_views_of_text_are_text(tmp_path):
    path = folder(tmp_path / "parts", a={"sex": pa.array(["F", "M", None, "x"], pa.string_view())})
    assert counts(path, SEX, "sex") == [1, 1, 1, 1]
