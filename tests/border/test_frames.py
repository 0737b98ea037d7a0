"""A frame is never refused for what a cell holds: such a cell is missing, and nobody else's changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.rows.plain import readable_parts
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.rows.training import training_table
from hedgerow.mechanisms.boost_people.inputs import columns_of
from hedgerow.queries.domain import encoding

KEY = bytes(range(32))
SEX = hr.Domain({"sex": hr.Categorical(["F", "M", "?", "\ufffd"], other=True, missing=True)})
MISSING, OTHER = 5, 4


def broken(kind: pa.DataType, cells: list[bytes | None]) -> pa.Array:
    """Text of these bytes, UTF-8 or not."""
    held = pa.array(
        cells, {"string_view": pa.binary_view(), "string": pa.binary()}.get(str(kind), pa.large_binary())
    )
    return pa.Array.from_buffers(kind, len(held), held.buffers())


def table_of(source, domain=SEX, **options) -> list[int]:
    return Rows(hr.Table.open(source, domain, **options), KEY).tables([("sex",)])[("sex",)].tolist()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize(
    "cell", [b"\xff", b"F\xff", b"\xed\xa0\x80", b"\xc0\x80", b"a long one that is broken\xfe"]
)
def test_text_that_is_not_utf8_is_missing_in_its_own_cell(kind, cell, engine):
    cells = broken(kind, [b"F", cell, b"M", None, b"x"])
    expected = [1, 1, 0, 0, 1, 2]
    assert table_of(pa.table({"sex": cells}), engine=engine) == expected
    assert table_of({"sex": cells}, engine=engine) == expected
    pieces = pa.chunked_array([cells[:1], cells[1:2], cells[2:]])
    assert table_of(pa.table({"sex": pieces}), engine=engine) == expected
    if kind != pa.string_view():
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4]), cells)
        assert table_of(pa.table({"sex": coded}), engine=engine) == expected


@pytest.mark.parametrize("source", ["list", "object", "string[python]", "numpy"])
def test_a_lone_surrogate_is_missing_in_its_own_cell(source):
    cells = ["F", "\ud800", "M\udfff", "M", "?"]
    column = {
        "list": cells,
        "object": pd.Series(cells, dtype=object),
        "string[python]": pd.Series(cells, dtype="string[python]"),
        "numpy": np.array(cells),
    }[source]
    assert table_of({"sex": column}) == [1, 1, 1, 0, 0, 2]


def test_a_code_without_a_level_is_missing_in_its_own_cell():
    codes = pa.array([0, 9, -1, None, 1], pa.int8())
    coded = pa.DictionaryArray.from_arrays(codes, pa.array(["F", "M"]), safe=False)
    assert table_of(pa.table({"sex": coded})) == [1, 1, 0, 0, 0, 3]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_date_within_a_day_is_missing_in_its_own_cell(engine):
    """Arrow allows whole days only, and readers differ in what they make of the rest."""
    day = 86_400_000
    when = pa.array([0, 1, -1, day, day + 1, 2**62, None], pa.int64()).cast(pa.date64())
    days = hr.dates("1970-01-01", "1970-01-03", by="day", other=True, missing=True)
    assert table_of(pa.table({"sex": when}), hr.Domain({"sex": days}), engine=engine) == [1, 1, 0, 5]


def test_a_name_that_is_not_utf8_is_missing_too():
    names = broken(pa.string(), [b"oak", b"\xff", b"oak", b"ash"])
    rows = Rows(hr.Table.open(pa.table({"name": names}), hr.OpenDomain()), KEY)
    assert rows.names(["oak", "ash", ""]) == {"oak": 2, "ash": 1, "": 1}


def test_a_frame_whose_memory_is_broken_is_refused_as_a_whole():
    offsets = pa.py_buffer(np.array([0, 5, 1], np.int32).tobytes())
    array = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"F"))
    with pytest.raises(hr.SourceError, match="column 'sex' is broken inside"):
        hr.Table.open(pa.table({"sex": array}), SEX)


@pytest.mark.parametrize("pieces", [[1, 4], [5], [1, 1, 1, 1, 1], [0, 5, 0]])
def test_chunks_and_dictionaries_of_any_kind_give_the_same_integers(pieces):
    codes, levels = [0, 1, 2, 3, 4], ["F", "M", None, "F", "x"]
    coded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels))
    cuts = np.cumsum([0, *pieces])
    chunks = [coded.slice(a, b - a) for a, b in pairwise(cuts)]
    other = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["M"]))  # a dictionary of its own
    column = pa.chunked_array([*chunks, other], coded.type)
    for source in (
        pa.table({"sex": column}),
        {"sex": column},
        {"sex": pd.Series(column, dtype=pd.ArrowDtype(column.type))},
    ):
        assert table_of(source) == [2, 2, 0, 0, 1, 1]


TIMES = [0, 1_704_067_200, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, None]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_beyond_every_calendar_is_its_own_cells_matter_in_every_engine(unit, zone):
    column = pa.array(TIMES, pa.int64()).cast(pa.timestamp(unit, zone))
    days = hr.Domain({"sex": hr.dates("1970-01-01", "2030-01-01", by="year", other=True, missing=True)})
    held = [column, column.dictionary_encode()]
    if unit == "s" and zone == "UTC":
        held.append(pd.Series(column.to_numpy(zero_copy_only=False)).dt.tz_localize("UTC"))
    for source in held:
        for options in ({}, {"unit": "sex", "max_rows": 1}):
            one, two = (table_of({"sex": source}, days, engine=e, **options) for e in ("memory", "duckdb"))
            assert one == two
            assert sum(one) == len(TIMES) - len(options) // 2


def test_a_day_beyond_every_calendar_is_its_own_cells_matter_in_every_engine():
    when = pa.array([0, 1, 2**31 - 1, -(2**31), -(2**31) + 1, None], pa.int32()).cast(pa.date32())
    days = hr.Domain({"sex": hr.dates("1970-01-01", "1970-02-01", by="day", other=True, missing=True)})
    for options in ({}, {"unit": "sex", "max_rows": 1}):
        one, two = (table_of({"sex": when}, days, engine=e, **options) for e in ("memory", "duckdb"))
        assert one == two


class Faceless:
    """An object that does not even say what it is."""

    @property
    def __class__(self):
        raise RuntimeError("no")


def test_an_object_that_does_not_say_what_it_is_is_missing_in_its_own_cell():
    cells = ["F", Faceless(), "M"]
    for source in ({"sex": cells}, pd.DataFrame({"sex": pd.Series(cells, dtype=object)})):
        assert table_of(source) == [1, 1, 0, 0, 0, 1]
        assert table_of(source, unit="sex", max_rows=1) == [1, 1, 0, 0, 0, 0]


def test_text_of_numpy_that_is_no_unicode_is_broken_memory():
    cells = np.array(["F", "M"])
    cells.view(np.uint32)[1] = 0x110001
    for options in ({}, {"unit": "sex", "max_rows": 1}):
        with pytest.raises(hr.SourceError, match="column 'sex' is broken inside; make the frame anew"):
            table_of({"sex": cells}, **options)


# -- classifiers ------------------------------------------------------------------------------------------

X = hr.Domain({"x": hr.bins(0, 4, 1, missing=True), "y": ["a", "b"]})


def codes(column) -> list[int]:
    frame = pd.DataFrame({"x": column})
    columns = columns_of(frame, ["x"]) | {"y": ["a"] * len(frame)}
    return Rows(training_table(columns, X), KEY).records()[1][0].tolist()


def test_a_complex_number_among_objects_is_missing_and_moves_no_other_row():
    for odd in (1j, 2 + 0j, np.complex64(2), complex("nan")):
        assert codes(pd.Series([0, 1, odd, 3.5], dtype=object)) == [0, 1, 4, 3]
    assert table_of({"sex": ["F", 1j]}) == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("values", [[0, 1, 2j], [0, 1, 2], []], ids=str)
def test_columns_of_complex_numbers_are_refused_by_their_type(values):
    column = pd.Series(values, dtype="complex128")
    classifier = hr.BoostedClassifier(epsilon=1.0, delta=1e-6, domain=X)
    for x in (pd.DataFrame({"x": column}), pd.DataFrame({"x": column.astype("category")})):
        with pytest.raises(ValueError, match="Complex data not supported"):
            classifier.fit(x, ["a"] * len(values))
    with pytest.raises(ValueError, match="Complex data not supported"):
        classifier.fit(pd.DataFrame({"x": [0.5] * len(values)}), column)
    with pytest.raises(hr.DomainMismatch, match="column 'x' holds other values"):
        hr.Table.open(pd.DataFrame({"x": column}), hr.Domain({"x": X["x"]}))
    undeclared = pd.DataFrame({"sex": ["F"] * len(values), "z": column})
    assert table_of(undeclared.astype({"sex": "str"}))[0] == len(values)


def test_columns_of_objects_are_read_one_by_one_even_as_categories():
    levels = pd.Index([0, 1, "2", 3.5, 1j], dtype=object)
    column = pd.Series(pd.Categorical.from_codes([0, 1, 2, 3, 4, -1], levels))
    assert codes(column) == [0, 1, 2, 3, 4, 4]
    rows = Rows(hr.Table.open({"x": column}, hr.Domain({"x": X["x"]})), KEY)
    assert rows.tables([("x",)])[("x",)].tolist() == [1, 1, 1, 1, 2]


# -- integers of any width --------------------------------------------------------------------------------

WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FIRST = [-(2**63), -1, 0, 125, 250, 1000, 40_000, 2**31, 2**32 - 2, 2**62, 2**63 - 5, 2**63 - 2, 2**64 - 2]


@pytest.mark.parametrize("width", WIDTHS, ids=str)
@pytest.mark.parametrize("first", FIRST)
def test_a_missing_integer_is_missing_whatever_the_width_and_the_levels(width, first):
    levels = list(range(first, first + 5))
    attribute = hr.Categorical(levels, other=True, missing=True)
    bits, least = width.bit_width, -(2 ** (width.bit_width - 1)) if str(width).startswith("i") else 0
    ends = [least, least + 1, 0, 1, least + 2**bits - 2, least + 2**bits - 1, 2**62, 2**63 - 1, 2**63]
    values = sorted({v for v in [*levels, *ends] if least <= v < least + 2**bits})
    expected = [levels.index(v) if v in levels else 5 for v in values]
    column, table = pa.array([*values, None], width), np.bincount([*expected, 6], minlength=7).tolist()
    assert attribute.encode(pa.array(values, width)).tolist() == expected
    assert attribute.encode(column).tolist() == [*expected, 6]
    domain = hr.Domain({"sex": attribute})
    for held in (column, column.dictionary_encode(), pd.Series(column, dtype=pd.ArrowDtype(width))):
        assert table_of({"sex": held}, domain) == table


@pytest.mark.parametrize("width", WIDTHS, ids=str)
@pytest.mark.parametrize("levels", [1, 127, 128, 129, 255, 256, 257])
def test_a_dictionary_may_be_as_long_as_its_codes_reach(width, levels):
    used = min(levels, 127 if width == pa.int8() else 255)
    codes = pa.array([*range(used), None], width)
    coded = pa.DictionaryArray.from_arrays(codes, pa.array([str(i) for i in range(levels)]))
    domain = hr.Domain({"sex": hr.Categorical(list(range(levels)), other=True, missing=True)})
    counted = [*[1] * used, *[0] * (levels - used), 0, 1]
    assert table_of(pa.table({"sex": coded}), domain) == counted
    if levels == 2**width.bit_width // 2:
        assert table_of(pa.table({"sex": coded}), domain, engine="duckdb") == counted
    far = pa.array([0, None, 2 ** (width.bit_width - 1) - 1], width)  # a code without a level, or with one
    broken_codes = pa.DictionaryArray.from_arrays(far, coded.dictionary, safe=False)
    assert sum(table_of(pa.table({"sex": broken_codes}), domain)) == 3


def test_levels_may_be_numpys_integers():
    levels = np.arange(100, 120, dtype=np.int8)
    assert hr.Categorical(levels).encode([100, 119]).tolist() == [0, 19]
    assert hr.Categorical([*levels, *range(120, 320)]).encode(np.array([100, 319])).tolist() == [0, 219]


def test_a_code_beyond_every_integer_is_missing_in_its_own_cell():
    far = pa.array([0, 2**64 - 1, None, 2**63, 1], pa.uint64())
    coded = pa.DictionaryArray.from_arrays(far, pa.array(["F", "M"]), safe=False)
    assert table_of(pa.table({"sex": coded})) == [1, 1, 0, 0, 0, 3]


_LONG = ["x", "y" * 300, None, "x", "z" * 90, "x", "y" * 50, "x"]
_HELD = {
    "long offsets": lambda cells: pa.array(cells, pa.large_string()),
    "views": lambda cells: pa.array(cells, pa.string_view()),
    "a dictionary": lambda cells: pa.array(cells, pa.large_string()).dictionary_encode(),
}


@pytest.mark.parametrize("held", _HELD)
def test_text_that_is_longer_than_offsets_reach_is_its_own_cells_matter(monkeypatch, held):
    """Two gigabytes are what they reach: here it is a hundred bytes, and no part may have more."""
    monkeypatch.setattr(encoding, "SHORT", 100)
    batch = pa.record_batch({"a": _HELD[held](_LONG)})
    parts = list(readable_parts(batch))
    assert [cell for part in parts for cell in part.column(0).to_pylist()] == _LONG
    assert len(parts) > 2
    for part in parts:
        cells = [cell for cell in part.column(0).to_pylist() if cell is not None]
        assert part.num_rows == 1 or sum(map(len, cells)) <= 100
    rows = Rows(hr.Table.open(pa.table(batch), hr.Domain({"a": {"levels": ["x"], "other": True}})), bytes(32))
    assert rows.tables([("a",)])[("a",)].tolist() == [4, 4]


def test_a_name_that_is_longer_than_offsets_reach_is_no_text(monkeypatch):
    monkeypatch.setattr(encoding, "SHORT", 100)
    frame = pa.table({"a": pa.array(_LONG, pa.large_string())})
    names = Rows(hr.Table.open(frame, hr.OpenDomain("a")), bytes(32)).names(
        ["x", "z" * 90, "y" * 300, "\ufffd"]
    )
    assert list(names.values()) == [4, 1, 0, 1]
