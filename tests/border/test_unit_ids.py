"""Different ids are different people, whatever holds them; only a column's type can refuse them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.rows.unit_ids import spell, spell_objects
from hedgerow.privacy.ledger.ledger import Ledger

KEY = bytes(range(32))
DOMAIN = hr.Domain({"a": 2})
BERLIN = ZoneInfo("Europe/Berlin")

CLOSE = {
    "decimals beyond a float": [Decimal(10**17 + 1), Decimal(10**17 + 2), Decimal("1E+999999")],
    "decimals of many places": [Decimal("1.5"), Decimal("1.5000000000000000001"), Decimal("1.5E-200")],
    "times of one day": [dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 1, 9), dt.datetime(2024, 1, 1)],
    "times with a zone": [
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
        dt.datetime(2024, 10, 27, 2, 30),
        dt.datetime(1, 1, 1, tzinfo=BERLIN),
    ],
    "nanoseconds": [pd.Timestamp(1), pd.Timestamp(2), np.datetime64(3, "ns"), np.datetime64(3, "s")],
    "days": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date.min, dt.date.max],
    "lone surrogates": ["\ud800", "\udc00", "?", "\ufffd", "a\ud800"],
    "huge integers": [10**5000, 10**5000 + 1, -(10**5000), 2**64, 2**64 + 1],
    "integers as large as floats": [2**53, 2**53 + 1, np.int64(2**53 + 2), np.uint64(2**64 - 1)],
    "bytes": [b"a", b"\xff", b"\xff\x00", bytearray(b"b")],
    "people named by a UUID": [UUID(int=1), UUID(int=2)],
    "types that look alike": [7, "7", Decimal(7), True, "true", b"7", dt.date(2024, 1, 1), "2024-01-01"],
    "names of types": ["\0text\x007", "7", "\0integer\x00ff", "\0", "-7", -7, "-"],
    "numbers with zeros": ["7", "07", "7.0", " 7", "+7"],
}


def total(source, max_rows=1, domain=DOMAIN, **options) -> int:
    rows = Rows(hr.Table.open(source, domain, unit="who", max_rows=max_rows, **options), KEY)
    return int(rows.tables([()])[()])


def objects(ids, copies=3):
    """Frames of objects in which everybody has some rows."""
    who = list(ids) * copies
    yield {"who": who, "a": [0] * len(who)}
    yield pd.DataFrame({"who": pd.Series(who, dtype=object), "a": np.zeros(len(who), int)})
    yield pl.DataFrame({"who": pl.Series(who, dtype=pl.Object), "a": [0] * len(who)})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("case", CLOSE)
def test_close_ids_of_objects_are_different_people(case, engine):
    for frame in objects(CLOSE[case]):
        assert total(frame, engine=engine) == len(CLOSE[case])


@pytest.mark.parametrize("case", CLOSE)
def test_adding_a_person_lowers_no_count(case, movement):
    ids = CLOSE[case]
    for new in range(len(ids)):
        who = [i for i in ids for _ in range(3)]
        rows = pd.DataFrame({"who": pd.Series(who, dtype=object), "a": [0, 1, 1] * len(ids)})
        others = np.array([i // 3 != new for i in range(len(who))])
        moved = movement(rows, rows[others], DOMAIN, unit="who", max_rows=2)
        assert (moved.l1, moved.fall) == (2, 0)


@pytest.mark.parametrize(
    "same",
    [
        [Decimal("1.0"), Decimal("1.00"), Decimal("1"), Decimal("0.1E+1")],
        [Decimal(0), Decimal("-0"), Decimal("0E+5")],
        [7, np.int8(7), np.uint64(7)],
        ["x", np.str_("x")],
        [dt.datetime(2024, 1, 1, 9, tzinfo=BERLIN), dt.datetime(2024, 1, 1, 8, tzinfo=dt.UTC)],
        [dt.datetime(2024, 1, 1), pd.Timestamp(2024, 1, 1), np.datetime64("2024-01-01T00", "h")],
    ],
    ids=str,
)
def test_equal_values_are_one_person(same):
    assert total({"who": same, "a": [0] * len(same)}) == 1


NO_ID = [
    None, "", b"", float("nan"), 1.5, 7.0, np.float64(7), np.float32(7), Decimal("NaN"), Decimal("sNaN"),
    Decimal("Infinity"), pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64(7), dt.time(7), dt.timedelta(7),
    1j, np.complex128(1), [7], (7,), {7}, {}, object(),
]  # fmt: skip


@pytest.mark.parametrize("value", NO_ID, ids=lambda v: type(v).__name__ if type(v) is object else repr(v))
def test_what_is_no_id_is_a_row_without_one(value):
    frame = {"who": [7, value, value], "a": [0, 1, 1]}
    assert total(frame) == 1
    assert total(frame, null_units="row") == 3


OF_TYPE = {
    "text": ["7", "\ud800"],
    "integer": [7, 10**5000],
    "decimal": [Decimal(7), Decimal("7.5")],
    "boolean": [True, False],
    "date": [dt.date(2024, 1, 1)],
    "datetime": [dt.datetime(2024, 1, 1), pd.Timestamp(7)],
    "binary": [b"7"],
    "uuid": [UUID(int=7)],
}


@pytest.mark.parametrize("declared", OF_TYPE)
def test_a_value_of_another_type_than_the_declared_one_is_no_id(declared):
    everything = [value for values in OF_TYPE.values() for value in values]
    for frame in objects(everything):
        assert total(frame, unit_type=declared) == len(OF_TYPE[declared])
        assert total(frame) == len(everything)


def test_a_declared_type_is_a_type_and_belongs_to_a_unit():
    frame = {"who": ["x"], "a": [0]}
    for options in ({"unit": "who", "max_rows": 1, "unit_type": "name"}, {"unit_type": "text"}):
        with pytest.raises(hr.DomainMismatch, match="`unit_type` says what a `unit` is: text, integer"):
            hr.Table.open(frame, DOMAIN, **options)
    typed = pd.DataFrame({"who": [7], "a": [0]})
    assert total(typed, unit_type="integer") == 1
    with pytest.raises(hr.DomainMismatch, match="holds ids of type integer, not text"):
        total(typed, unit_type="text")


# -- typed columns ----------------------------------------------------------------------------------------


def typed_columns() -> Iterator[pa.Array]:
    """Arrow columns of every type that can name people, each with ids that are close."""
    when = [0, 1, -1, 86_399, 86_400, 2**62, -(2**63) + 1, 2**63 - 1]
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "America/St_Johns"):
            yield pa.array(when, pa.int64()).cast(pa.timestamp(unit, zone))
    yield pa.array([0, 1, -1, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())
    yield pa.array([0, 86_400_000, -86_400_000, 86_400_000 * 2**30], pa.int64()).cast(pa.date64())
    yield pa.array([2**64 - 1, 2**64 - 2, 2**53, 2**53 + 1], pa.uint64())
    yield pa.array([-128, 127], pa.int8())
    yield pa.array([True, False])
    scaled = [Decimal("1.5E-9"), Decimal("1.5E-19"), Decimal("1.50"), Decimal("15"), Decimal("1.51")]
    yield pa.array(scaled, pa.decimal128(38, 20))
    yield pa.array(scaled, pa.decimal256(76, 40))
    yield pa.array([Decimal(10**37), Decimal(10**37 - 1)], pa.decimal128(38, 0))
    yield pa.array([Decimal(1200), Decimal(1300), Decimal(12000)], pa.decimal128(10, -2))
    yield pa.array([Decimal("1.5"), Decimal("1.51"), Decimal(15)], pa.decimal32(9, 4))
    yield pa.array([Decimal("1.5"), Decimal("1.51"), Decimal(15)], pa.decimal64(18, 9))
    yield pa.array([150, 2**31 - 1, -(2**31)], pa.int32()).view(
        pa.decimal32(5, 2)
    )  # more digits than declared
    yield pa.array([150, 2**63 - 1, -(2**63)], pa.int64()).view(pa.decimal64(10, 2))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield pa.array(["1", "1.0", "01", " 1", "é", "e\u0301", "\0", "a\0", "a"], kind)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)):
        yield pa.array([b"ab", b"\xff\xfe", b"a\0"], kind)


@pytest.mark.parametrize("column", list(typed_columns()), ids=lambda c: str(c.type))
def test_ids_of_a_typed_column_never_merge_however_it_is_held(column):
    n, doubled = len(column), pa.concat_arrays([column, column])
    frame = pa.table({"who": doubled, "a": [0] * 2 * n})
    assert total(frame) == n
    assert total(frame, max_rows=2) == 2 * n
    pieces = pa.chunked_array([doubled.slice(i, 1) for i in range(2 * n)])
    assert total(frame.set_column(0, "who", pieces)) == n
    assert total({"who": pieces, "a": [0] * 2 * n}) == n
    if "view" not in str(column.type):
        indices = pa.array([*range(2 * n), None, 2 * n], pa.int32())
        levels = pa.concat_arrays([doubled, pa.nulls(1, column.type)])  # every level twice, and null as one
        coded = pa.DictionaryArray.from_arrays(indices, levels)
        assert total(pa.table({"who": coded, "a": [0] * (2 * n + 2)})) == n


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=7), max_size=20))
def test_decimals_are_spelled_alike_in_a_column_and_as_objects(values):
    values = [v for v in values if len(v.as_tuple().digits) <= 38]
    column = pa.array(values, pa.decimal128(38, 7))
    assert spell(column).to_pylist() == spell_objects(values, "decimal").to_pylist()
    assert len(set(spell(column).to_pylist())) == len(set(values))


@settings(max_examples=40)
@given(st.lists(st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1)), max_size=10))
def test_datetimes_are_spelled_alike_in_a_column_and_as_objects(naive):
    column = pa.array(naive, pa.timestamp("us"))
    assert spell(column).to_pylist() == spell_objects(naive, "datetime").to_pylist()
    assert len(set(spell(column).to_pylist())) == len(set(naive))
    zoned = [when.replace(tzinfo=BERLIN) for when in naive]
    column = pa.array(zoned, pa.timestamp("us", "Europe/Berlin"))
    assert spell(column).to_pylist() == spell_objects(zoned, "datetime").to_pylist()


FLOATS = {
    "pandas with a gap": pd.DataFrame({"who": [1, None, 3], "a": [0, 0, 0]}),
    "whole numbers": pd.DataFrame({"who": [1.0, 2.0, 3.0], "a": [0, 0, 0]}),
    "no values": pd.DataFrame({"who": np.full(3, np.nan), "a": [0, 0, 0]}),
    "Float64": pd.DataFrame({"who": pd.array([1, None, 3], "Float64"), "a": [0, 0, 0]}),
    "long": {"who": np.arange(3, dtype=np.longdouble), "a": [0, 0, 0]},
    "half": {"who": np.arange(3, dtype=np.float16), "a": [0, 0, 0]},
    "polars": pl.DataFrame({"who": [1.0, 2.0, 3.0], "a": [0, 0, 0]}),
    "float32": pa.table({"who": pa.array([1, 2, 3], pa.float32()), "a": [0, 0, 0]}),
    "levels": pa.table({"who": pa.array([1.0, 2.0, 3.0]).dictionary_encode(), "a": [0, 0, 0]}),
    "category": pd.DataFrame({"who": pd.Categorical([1.0, 2.0, 3.0]), "a": [0, 0, 0]}),
}


@pytest.mark.parametrize("case", [*FLOATS, "parquet"])
def test_floating_point_ids_are_refused_by_their_type_with_the_way_out(case, tmp_path):
    if case == "parquet":
        source = tmp_path / "x.parquet"
        pq.write_table(pa.Table.from_pandas(FLOATS["pandas with a gap"]), source)
    else:
        source = FLOATS[case]
    with pytest.raises(hr.DomainMismatch, match=r'floating-point.*\.astype\("Int64"\).*CSV') as refused:
        total(source)
    assert str(refused.value).count("\n") == 0


def test_the_offered_way_out_works():
    frame = FLOATS["pandas with a gap"].astype({"who": "Int64"})
    assert total(frame) == 2
    assert total(frame, null_units="row") == 3


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([dt.time(1), dt.time(2)]),
        pa.array([dt.timedelta(1), dt.timedelta(2)]),
        pd.Series([1j, 2j]),
        pd.Series(pd.period_range("2020", periods=2, freq="D")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.to_timedelta([1, 2])),
    ],
    ids=lambda c: str(getattr(c, "type", getattr(c, "dtype", None))),
)
def test_columns_of_other_types_name_nobody(column):
    with pytest.raises(hr.DomainMismatch, match="cannot name units: its values are neither text nor numbers"):
        total({"who": column, "a": [0, 0]})


def test_a_column_without_any_type_has_no_ids():
    frame = pa.table({"who": pa.nulls(3), "a": [0, 0, 1]})
    assert total(frame) == 0
    assert total(frame, null_units="row") == 3


def test_a_file_and_a_frame_of_the_same_ids_keep_the_same_rows(tmp_path):
    rng = np.random.default_rng(4)
    domain = hr.Domain({"a": 50})
    people = {
        "integers": np.array([2**62 + i for i in range(20)]),
        "text": np.array([f"p{i}" for i in range(20)]),
        "days": pd.date_range("2024-01-01", periods=20).date,
        "times": pd.date_range("2024-01-01", periods=20, freq="1001s"),
        "decimals": np.array([Decimal(2 * i + 1) / 4 for i in range(20)]),
    }
    for name, ids in people.items():
        frame = pd.DataFrame({"who": pd.Series(ids)[rng.integers(0, 20, 400)].array})
        frame["a"] = rng.integers(0, 50, 400)
        frame.to_csv(tmp_path / "rows.csv", index=False)
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        pq.write_table(arrow, tmp_path / "rows.parquet")
        kept = [
            Rows(hr.Table.open(source, domain, unit="who", max_rows=3), KEY).tables([("a",)])[("a",)]
            for source in (tmp_path / "rows.csv", tmp_path / "rows.parquet", arrow, pl.from_arrow(arrow))
        ]
        for other in kept[1:]:
            np.testing.assert_array_equal(kept[0], other, err_msg=name)
        if name in ("integers", "text"):  # as objects too, whatever they are held in
            same = {"who": frame["who"].tolist(), "a": frame["a"].tolist()}
            rows = Rows(hr.Table.open(same, domain, unit="who", max_rows=3), KEY)
            np.testing.assert_array_equal(kept[0], rows.tables([("a",)])[("a",)])


BROKEN = [b"\xff", b"\xff\xfe", b"p\xff", b"\xed\xa0\x80", b"ok", "\ufffd".encode(), "\ufffdff".encode()]


def as_kind(kind: pa.DataType, cells: list[bytes]) -> pa.Array:
    """Text of these bytes, UTF-8 or not."""
    bytes_of = {"string_view": pa.binary_view(), "string": pa.binary()}
    held = pa.array(cells, bytes_of.get(str(kind), pa.large_binary()))
    return pa.Array.from_buffers(kind, len(held), held.buffers())


@pytest.mark.parametrize("rule", ["drop", "row"])
def test_text_that_is_not_utf8_names_one_person_as_in_a_parquet_file(rule, tmp_path):
    domain, values = hr.Domain({"a": 50}), np.arange(50 * len(BROKEN)) % 50

    def table(source, **engine):
        opened = hr.Table.open(source, domain, unit="who", max_rows=3, null_units=rule, **engine)
        return Rows(opened, KEY).tables([("a",)])[("a",)].tolist()

    columns = [as_kind(kind, BROKEN * 50) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    pq.write_table(pa.table({"who": columns[0], "a": values}), tmp_path / "rows.parquet")
    expected = table(tmp_path / "rows.parquet")
    assert sum(expected) == 3 * len(BROKEN)
    codes = pa.array(list(range(len(BROKEN))) * 50, pa.int8())
    columns.append(pa.DictionaryArray.from_arrays(codes, as_kind(pa.large_string(), BROKEN)))
    columns.append(pa.chunked_array([columns[0][:1], columns[0][1:7], columns[0][7:]]))
    for column in columns:
        for frame in ({"who": column, "a": values}, pa.table({"who": column, "a": values})):
            for engine in ("memory", "duckdb"):
                assert table(frame, engine=engine) == expected, (column.type, engine)


def test_a_date_within_a_day_names_one_person():
    held = [0, 1, -1, 86_400_000, 86_400_001, 2**62]
    when = pa.array(held * 50, pa.int64()).cast(pa.date64())
    codes = pa.array(list(range(len(held))) * 50)
    for column in (when, pa.DictionaryArray.from_arrays(codes, when[: len(held)])):
        frame = pa.table({"who": column, "a": [0] * len(column)})
        for engine in ("memory", "duckdb"):
            for rule in ("drop", "row"):
                assert total(frame, engine=engine, null_units=rule) == len(held)


def test_an_unreadable_id_changes_neither_the_type_nor_the_refusal_of_its_column():
    for cells in ([b"a", b"b"], [b"a", b"\xff"]):
        frame = pa.table({"who": as_kind(pa.string(), cells), "a": [0, 0]})
        with pytest.raises(hr.DomainMismatch, match="holds ids of type text, not integer"):
            total(frame, unit_type="integer")
        assert total(frame, unit_type="text") == 2
        with pytest.raises(hr.SourceError, match="give it another name"):
            total(frame.append_column("(unit ids)", pa.array([1, 2])))


# -- ledgers ----------------------------------------------------------------------------------------------

FRAME = {"who": [Decimal(10**17 + 1), Decimal(10**17 + 2)], "a": [0, 0]}
BUDGET = hr.Budget(epsilon=10**6)


def earlier(ledger: Ledger) -> Ledger:
    """The ledger as one of an earlier version, which says nothing about the spelling."""
    import dataclasses

    ledger.made = dataclasses.replace(ledger.made, spelling=1)
    return ledger


def measured(table, ledger) -> int:
    return int(hr.Curator(table, ledger=ledger).measure((), 10**5).values)


def test_a_new_ledger_records_the_spelling_and_the_declared_type(tmp_path):
    table = hr.Table.open(FRAME, DOMAIN, unit="who", max_rows=1, unit_type="decimal")
    curator = hr.Curator(table, BUDGET, tmp_path / "l.db")
    assert (curator.ledger.settings.spelling, curator.ledger.settings.unit_type) == (2, "decimal")
    assert measured(table, tmp_path / "l.db") == 2
    receipt = curator.ledger.receipt()
    assert receipt.to_json()["spelling"] == 2
    assert curator.ledger.verify(receipt).ok
    for other in (None, "text"):
        table = hr.Table.open(FRAME, DOMAIN, unit="who", max_rows=1, unit_type=other)
        with pytest.raises(hr.LedgerError, match="unit_type"):
            hr.Curator(table, ledger=tmp_path / "l.db")


def test_a_ledger_that_says_nothing_goes_on_with_the_first_spelling():
    ids = {"unit": "who", "max_rows": 1}
    ledger = earlier(Ledger.open(":memory:", budget=BUDGET, **ids))
    assert measured(hr.Table.open(FRAME, DOMAIN, **ids), ledger) == 1  # merged, as ever
    assert "spelling" not in ledger.settings.to_json()
    assert type(ledger.settings).from_json(ledger.settings.to_json()) == ledger.settings
    floats = FLOATS["pandas with a gap"]
    assert measured(hr.Table.open(floats, DOMAIN, **ids, unit_type="v1"), ledger) == 2


def test_floating_point_ids_are_for_earlier_ledgers_alone(tmp_path):
    table = hr.Table.open(FLOATS["pandas with a gap"], DOMAIN, unit="who", max_rows=1, unit_type="v1")
    for ledger in (":memory:", tmp_path / "new.db"):
        with pytest.raises(hr.LedgerError):
            hr.Curator(table, BUDGET, ledger)
    assert not (tmp_path / "new.db").exists()
    with Ledger.open(tmp_path / "new.db", budget=BUDGET, unit="who", max_rows=1):
        pass
    with pytest.raises(hr.LedgerError, match="unit_type"):
        hr.Curator(table, BUDGET, tmp_path / "new.db")


def test_a_spelling_of_the_future_is_not_guessed():
    settings = Ledger.open(":memory:", budget=BUDGET).settings
    with pytest.raises(hr.LedgerError, match="newer version"):
        type(settings).from_json(settings.to_json() | {"spelling": 3})


@pytest.mark.parametrize("file", ["people.csv", "people.parquet", "folder"])
def test_a_budget_is_bound_to_a_unit_that_the_data_has(people_cli: Callable[..., Any], file: str) -> None:
    pq.write_table(pa.table({"sex": ["F"], "k": [1]}), "people.parquet")
    Path("folder").mkdir()
    pq.write_table(pa.table({"sex": ["F"], "k": [1]}), "folder/part.parquet")
    init = ("budget", "init", file, "--epsilon", "1", "--max-rows", "1", "--unit")
    refused = people_cli(*init, "nosuch")
    assert refused.exit_code == 2
    assert "no column 'nosuch'" in refused.stderr
    assert ("'sex', 'k'" in refused.stderr) == (file != "people.csv")  # a CSV file's first line may be a row
    assert not Path(f"{file}.hedgerow.db").exists()
    assert people_cli(*init, "k").exit_code == 0
