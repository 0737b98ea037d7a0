"""For any cells one unit may put in: refused at opening, or the tables move by no more than claimed."""

from __future__ import annotations

import csv
import datetime as dt
import warnings
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.rows.training import training_table
from hedgerow.mechanisms.boost_people.inputs import columns_of

KEY = bytes(range(32))
DAYS = hr.dates("2024-01-01", "2024-01-05", by="day", other=True, missing=True)
DOMAIN = hr.Domain(
    {
        "level": hr.Categorical(["a", "7", "2024-01-01", "true", "?", "\ufffd"], other=True, missing=True),
        "number": hr.bins(-2, 8, 2, missing=True),
        "day": DAYS,
    }
)
PLAIN = hr.Domain({"level": ["a", "b"], "number": hr.bins(0, 4, 1)})  # nothing declared for what does not fit

# -- what one unit may put into a cell --------------------------------------------------------------------

TEXT = [
    "", "a", "7", "07", "7.0", " 7", "+7", "1e999", "-1e-999", "nan", "NaN", "inf", "-Infinity", "NULL",
    "None", "true", "False", "2024-01-01", "2024-01-01T24:00", "2024-13-45", "0000-00-00", "9999-12-31",
    "2024-01-02 x", "99999-01-01", "\ud800", "\udc00a", "a\ud800", "\0", "a\0", "\0text\x007", "\ufffd", "?",
    "\ufeff", "\u2028",
    "é", "e\u0301", "\U0001f600", "'", "\\", "#", ";", "\t", "\x0b", "\x0c", "\x1a", "\x85", "x" * 5000,
    "9" * 400, "0x10", "1_000", "\u0667", "1,5", "--", "=1+1", "(unit ids)",
]  # fmt: skip
BYTES = [
    b"",
    b"a",
    b"7",
    b"\xff",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3\x28",
    b"a\0",
    b"\xf8\x88\x80",
    b"\x80" * 40,
]
WHOLE = [0, 1, -1, 7, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
HUGE = [*WHOLE, 2**63, 2**64, 2**64 + 1, 10**17 + 1, 10**17 + 2, 10**400, 10**5000, -(10**5000) - 1]
FLOAT = [
    0.0,
    -0.0,
    7.0,
    1.5,
    0.1,
    5e-324,
    1e308,
    2.0**53,
    2.0**63,
    1e16,
    float("inf"),
    float("-inf"),
    float("nan"),
]
DECIMAL = [
    *map(Decimal, ("0", "-0", "7", "7.0", "7.00", "1E+2", "100", "1.5", "1.50000000000000001", "1E+999999")),
    *map(Decimal, ("1E-999999", "NaN", "sNaN", "Infinity", "-Infinity", "100000000000000001", "-1E-7")),
]  # fmt: skip
DAY = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date.min, dt.date.max, dt.date(1969, 12, 31)]
TIME = [
    *(dt.datetime(2024, 1, d, h, 0, 0, h) for d in (1, 4, 5) for h in (0, 8, 23)),
    dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23), dt.datetime(2262, 4, 12),
]  # fmt: skip
ZONED = [t.replace(tzinfo=dt.timezone(dt.timedelta(hours=h))) for t in TIME for h in (0, -14, 5)]


class _Hostile:
    """An object that fails however it is looked at."""

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __eq__ = __hash__ = __str__


ODD = [
    None, True, False, pd.NA, pd.NaT, 1j, np.complex128(7), np.nan, np.float32(0.1), np.float16(7),
    np.int8(7), np.uint64(2**64 - 1), np.bool_(True), np.str_("7"), np.bytes_(b"7"), np.longdouble("1e4000"),
    np.datetime64("NaT"), np.datetime64(7, "D"), np.datetime64(2**62, "s"), np.datetime64(2**62, "D"),
    np.datetime64("2024-01-01T08"), np.datetime64(7, "as"), np.timedelta64(7, "s"), np.timedelta64("NaT"),
    pd.Timestamp(7), pd.Timestamp.max, pd.Timestamp("2024-01-01", tz="Europe/Berlin"), pd.Timedelta(7),
    pd.Period("2024-01"), pd.Interval(0, 1), UUID(int=7), dt.time(7), dt.timedelta(days=7), [7], [[7], None],
    (7,), {7}, {"a": 7}, frozenset(), range(3), np.array(7), np.array([7, 8]), object(), _Hostile(), _Hostile,
    bytearray(b"7"), memoryview(b"7"), Ellipsis, NotImplemented, pa.scalar(7), pl.Series([7]), pd.Series([7]),
]  # fmt: skip
ANY = [*TEXT, *BYTES, *HUGE, *FLOAT, *DECIMAL, *DAY, *TIME, *ZONED, *ODD]

FINE = [d for d in DECIMAL if d.is_finite() and -20 < d.adjusted() < 18]
STAMPS = [0, 1, -1, 1_704_067_200, 1_704_067_200_000_000, 2**62, -(2**63) + 1, 2**63 - 1]


def raw(kind: pa.DataType, values: list[bytes | None]) -> pa.Array:
    """Text of any bytes, as a careless writer leaves it."""
    view = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    made = pa.array(values, view[kind])
    return pa.Array.from_buffers(kind, len(made), made.buffers())


def coded(values: list, kind: pa.DataType) -> pa.Array:
    """A dictionary in which every level is held twice, and null is a level too."""
    levels = pa.array([*values, *values, None], kind)
    index = [i + len(values) * (i % 2) if v is not None else 2 * len(values) for i, v in enumerate(values)]
    return pa.DictionaryArray.from_arrays(pa.array(index, pa.int32()), levels)


def stamps(unit: str, zone: str | None = None):
    return lambda values: pa.array(values, pa.int64()).cast(pa.timestamp(unit, zone))


def of(kind: pa.DataType):
    return lambda values: pa.array(values, kind)


RAW = sorted({t.encode("utf-8", "surrogatepass") for t in TEXT} | set(BYTES))
CLEAN = [t for t in TEXT if not any(0xD800 <= ord(c) < 0xE000 for c in t)]
LINES = [t for t in CLEAN if not set(t) & set("\0\r\n\x1a\x85\u2028\ufeff\x0b\x0c")]
ARROW = {
    "string": (RAW, lambda v: raw(pa.string(), v)),
    "large_string": (RAW, lambda v: raw(pa.large_string(), v)),
    "string_view": (RAW, lambda v: raw(pa.string_view(), v)),
    "coded text": (CLEAN, lambda v: coded(v, pa.string())),
    "coded bytes": (RAW, lambda v: raw(pa.string(), v).dictionary_encode()),
    "binary": (BYTES, of(pa.binary())),
    "int64": (WHOLE, of(pa.int64())),
    "uint64": ([w for w in HUGE if 0 <= w < 2**64], of(pa.uint64())),
    "coded int64": (WHOLE, lambda v: coded(v, pa.int64())),
    "float64": (FLOAT, of(pa.float64())),
    "float32": (FLOAT, of(pa.float32())),
    "decimal128": (FINE, of(pa.decimal128(38, 20))),
    "decimal256": (FINE, of(pa.decimal256(76, 30))),
    "bool": ([True, False], of(pa.bool_())),
    "date32": ([0, 19_723, 19_724, -1, 2**31 - 1], lambda v: pa.array(v, pa.int32()).cast(pa.date32())),
    "date64": (STAMPS, lambda v: pa.array(v, pa.int64()).cast(pa.date64())),
    "timestamp[s]": (STAMPS, stamps("s")),
    "timestamp[ns]": (STAMPS, stamps("ns")),
    "timestamp[us, zone]": (STAMPS, stamps("us", "Europe/Berlin")),
    "time": ([dt.time(7), dt.time(8)], of(pa.time64("us"))),
    "duration": ([1, 2, 2**62], of(pa.duration("s"))),
    "list": ([[1], [2, None], []], of(pa.list_(pa.int64()))),
    "struct": ([{"x": 1}, {"x": None}], of(pa.struct([("x", pa.int64())]))),
    "null": ([None], of(pa.null())),
}  # fmt: skip
NS = [t for t in TIME if 1700 < t.year < 2200]
PANDAS = {
    "object": (ANY, lambda v: pd.Series(v, dtype=object)),
    "string[python]": (TEXT, lambda v: pd.Series(v, dtype="string[python]")),
    "string[pyarrow]": (CLEAN, lambda v: pd.Series(v, dtype="string[pyarrow]")),
    "str": (CLEAN, lambda v: pd.Series(v, dtype="str")),
    "category": (CLEAN, lambda v: pd.Series(v, dtype="str").astype("category")),
    "mixed category": (["a", 7, 1.5, b"7", dt.date(2024, 1, 1), Decimal(7), None], lambda v: pd.Series(
        pd.Categorical(pd.Series(v, dtype=object), categories=pd.Index(
            ["a", 7, 1.5, b"7", dt.date(2024, 1, 1)], dtype=object)))),
    "Int64": (WHOLE, lambda v: pd.Series(v, dtype="Int64")),
    "float64": (FLOAT, lambda v: pd.Series(v, dtype="float64")),
    "Float64": (FLOAT, lambda v: pd.Series(v, dtype="Float64")),
    "complex": ([0, 1j, 7], lambda v: pd.Series(v, dtype="complex128")),
    "boolean": ([True, False], lambda v: pd.Series(v, dtype="boolean")),
    "datetime64[ns]": (NS, lambda v: pd.Series(pd.to_datetime(v).astype("datetime64[ns]"))),
    "datetime64[us, zone]": (NS, lambda v: pd.Series(pd.to_datetime(v)).dt.tz_localize("Asia/Kolkata")),
    "timedelta": ([1, 2], lambda v: pd.Series(pd.to_timedelta(v))),
    "period": (["2024-01", "2024-02"], lambda v: pd.Series(pd.PeriodIndex(v, freq="M"))),
    "sparse": ([0, 1, 7], lambda v: pd.Series(pd.arrays.SparseArray(v, dtype=pd.SparseDtype("int64")))),
    "sparse float": (FLOAT, lambda v: pd.Series(pd.arrays.SparseArray(v, dtype=pd.SparseDtype("float64")))),
    "arrow decimal": (FINE, lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.decimal128(38, 20)))),
}  # fmt: skip
POLARS = {
    "Object": ([v for v in ANY if not isinstance(v, pl.Series)], lambda v: pl.Series(v, dtype=pl.Object)),
    "String": (CLEAN, lambda v: pl.Series(v, dtype=pl.String)),
    "Categorical": (CLEAN, lambda v: pl.Series(v, dtype=pl.String).cast(pl.Categorical)),
    "Int64": (WHOLE, lambda v: pl.Series(v, dtype=pl.Int64)),
    "Int128": ([h for h in HUGE if abs(h) < 2**100], lambda v: pl.Series(v, dtype=pl.Int128)),
    "Float64": (FLOAT, lambda v: pl.Series(v, dtype=pl.Float64)),
    "Boolean": ([True, False], lambda v: pl.Series(v, dtype=pl.Boolean)),
    "Binary": (BYTES, lambda v: pl.Series(v, dtype=pl.Binary)),
    "Date": (DAY, lambda v: pl.Series(v, dtype=pl.Date)),
    "Datetime": (TIME, lambda v: pl.Series(v, dtype=pl.Datetime("us"))),
    "Decimal": (FINE, lambda v: pl.Series(v, dtype=pl.Decimal(38, 20))),
    "Time": ([dt.time(7)], lambda v: pl.Series(v, dtype=pl.Time)),
    "List": ([[1], []], lambda v: pl.Series(v, dtype=pl.List(pl.Int64))),
}
TEXTS = {"text": (LINES, list)}
LISTS = {"list": (ANY, list)}


# -- sources ----------------------------------------------------------------------------------------------


def arrow_frame(columns, rng):
    """An Arrow table in chunks of any size."""
    table = pa.table(columns)
    cuts = sorted({0, table.num_rows, *rng.integers(0, table.num_rows + 1, 2).tolist()})
    return pa.concat_tables([table.slice(a, b - a) for a, b in pairwise(cuts)] or [table])


def parquet(columns, rng, folder):
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=int(rng.integers(1, 50)))
    return path


def csv_file(columns, rng, folder):
    path = folder / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([columns, *zip(*columns.values(), strict=True)])
    return path


HELD = (
    ARROW
    | {  # what a Parquet file can hold of it
        "string": (CLEAN, of(pa.string())),
        "large_string": (CLEAN, of(pa.large_string())),
        "coded text": (CLEAN, lambda v: pa.array(v, pa.string()).dictionary_encode()),
        "coded int64": (WHOLE, lambda v: pa.array(v, pa.int64()).dictionary_encode()),
        "timestamp[s]": (STAMPS[:4], stamps("s")),
    }
)
HELD = {name: kind for name, kind in HELD.items() if name not in ("string_view", "coded bytes")}
SOURCES = {
    "mapping": (LISTS, lambda c, rng, folder: c),
    "pandas": (PANDAS, lambda c, rng, folder: pd.DataFrame(c)),
    "polars": (POLARS, lambda c, rng, folder: pl.DataFrame(c)),
    "arrow": (ARROW, lambda c, rng, folder: arrow_frame(c, rng)),
    "parquet": (HELD, parquet),
    "csv": (TEXTS, csv_file),
}


FRAMES = ("mapping", "pandas", "polars", "arrow")
MOST = 200  # rows of the unit: opening a source takes longer than reading it


def same(one, other) -> bool:
    """Whether two ids could be one person's, or cannot be compared."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return one is other or bool(one == other)
    except Exception:
        return True


def pick(rng, pool: list, n: int) -> list:
    return [pool[i] for i in rng.integers(0, len(pool), n)]


class Case:
    """A table of bystanders and one more unit, with any cells that a source's columns can hold."""

    def __init__(self, rng, source: str, names: tuple[str, ...]) -> None:
        kinds, self._build = SOURCES[source]
        self._rng = rng
        self._kinds = {name: kinds[pick(rng, list(kinds), 1)[0]] for name in names}
        self.options = self._unit() if "who" in names else {}
        self.rows = 1 if self.options.get("null_units") != "drop" else int(rng.integers(1, MOST))
        self.bound = min(self.rows, self.options.get("max_rows", 1))
        near = whole = self._kinds["who"][0] if "who" in names else [None]
        if rng.random() < 0.7:  # mostly ids that are close to each other
            start = int(rng.integers(0, len(whole)))
            near = whole[start : start + 8]
        new = pick(rng, near, 1)[0]
        others = next(filter(None, ([i for i in p if not same(i, new)] for p in (near, whole))), [new])
        others = pick(rng, others, int(rng.integers(1, 6)))
        ids = [*(i for i in others for _ in range(3)), *[new] * self.rows]
        self.cells = {n: pick(rng, pool, len(ids)) for n, (pool, _) in self._kinds.items()} | {"who": ids}
        self.cells = {n: self.cells[n] for n in names}
        self.mine = np.arange(len(ids)) >= len(ids) - self.rows
        if source in FRAMES:
            self.options["engine"] = pick(rng, ["memory"] * 5 + ["duckdb"], 1)[0]

    def _unit(self) -> dict:
        rng = self._rng
        if rng.random() < 0.2:
            return {}
        return {
            "unit": "who",
            "max_rows": int(rng.integers(1, 4)),
            "null_units": pick(rng, ["drop", "row"], 1)[0],
        }

    def source(self, order, folder):
        """The rows of some positions, in their order."""
        held = {n: self._kinds[n][1]([cells[i] for i in order]) for n, cells in self.cells.items()}
        return self._build(held, self._rng, folder)


def refusal(sentence: str) -> str:
    """What a sentence says, whichever column it is about."""
    for name in ("level", "number", "day", "who", "name"):
        sentence = sentence.replace(repr(name), "...")
    return sentence


@pytest.mark.parametrize("seed", [15])
@pytest.mark.parametrize("source", SOURCES)
def test_one_units_cells_move_no_table_by_more_than_claimed(
    source, seed, size, movement, exact, tmp_path, record_property
):
    rng = np.random.default_rng(seed)
    refusals: Counter[str] = Counter()
    cells = 0
    for number in range(size(16 if source in FRAMES else 6, 600)):
        domain, names = [
            (DOMAIN, ("level", "number", "day", "who")),
            (PLAIN, ("level", "number", "who")),
            (hr.OpenDomain(), ("name", "who")),
            (hr.Domain({"level": DOMAIN["level"]}), ("level", "who")),
        ][number % 4]
        case = Case(rng, source, names)
        cells += case.rows * len(names)
        everybody, others = np.arange(len(case.mine)), np.flatnonzero(~case.mine)
        folders = [tmp_path / "with", tmp_path / "without"]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        sources = [case.source(o, f) for o, f in zip((everybody, others), folders, strict=True)]
        moved = movement(*sources, domain, **case.options)
        told = (source, number, case.options, case.cells)
        assert moved.l1 <= case.bound, told
        assert moved.fall == 0, told
        if moved.refused:
            refusals[refusal(moved.refused)] += 1
            if source != "csv":  # only lines of text can refuse a file; what else a column holds has no say
                assert exact(sources[1], domain, **case.options) == moved.refused, told
        else:
            mixed = exact(case.source(rng.permutation(everybody), folders[1]), domain, **case.options)
            assert mixed.keys() == moved.counts.keys()
            assert all(np.array_equal(mixed[c], moved.counts[c]) for c in mixed), told
    record_property("cells", cells)
    record_property("refusals", dict(refusals))


def codes_of(frame) -> list[np.ndarray] | str:
    try:
        table = training_table(columns_of(frame, list(DOMAIN)), DOMAIN)
    except (hr.DomainMismatch, ValueError) as refused:
        return str(refused)
    return Rows(table, KEY).records()[1]


@pytest.mark.parametrize("source", ["pandas", "polars", "arrow"])
def test_one_rows_values_change_no_other_rows_codes_in_a_classifier(source, size, tmp_path):
    rng = np.random.default_rng(3)
    read = 0
    for _ in range(size(60, 2000)):
        case = Case(rng, source, DOMAIN.names)
        everybody = np.arange(len(case.mine))
        others = everybody[:-1]
        alone, together = (codes_of(case.source(o, tmp_path)) for o in (others, everybody))
        if isinstance(alone, str):
            assert together == alone
            continue
        read += 1
        assert all(np.array_equal(t[:-1], a) for t, a in zip(together, alone, strict=True)), case.cells
    assert read
