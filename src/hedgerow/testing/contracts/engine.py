"""What an engine owes: the same exact integers as the one in memory, and no value of a row in an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import PCG64, Generator

from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.coding import Bound, Coded, coded_rows, kept_values
from hedgerow.curator.rows.engine import CountingEngine, Engine, SummingEngine
from hedgerow.curator.rows.sums import NumberSums, TableCounts
from hedgerow.curator.rows.table import Rows, Table
from hedgerow.curator.rows.unit import Unit
from hedgerow.curator.rows.values import binned
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.entry import SPELLING
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import bins, dates
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.domain.hours import Hours
from hedgerow.testing.contracts.check import Check, Suite, refused, require
from hedgerow.testing.entropy import seeded

Make = Callable[[pa.Table], Engine]

DOMAIN = Domain(
    {
        "sex": ["F", "M"],
        "hour": Hours("when"),
        "age": bins(0, 100, 5, missing=True),
        "site": Categorical(range(5), other=True),
        "when": dates("2023-01-01", "2024-01-01", by="quarter", other=True, missing=True),
    }
)
CLIQUES: list[tuple[str, ...]] = [
    ("sex",),
    ("sex", "age"),
    ("age", "sex"),
    (),
    ("hour", "when"),
    ("site", "age", "when"),
    ("sex", "age", "site", "when"),
]
UNITS: dict[str, dict[str, Any]] = {
    "one row each": {"unit": "person", "max_rows": 1},
    "three rows each": {"unit": "person", "max_rows": 3},
    "those without a name by themselves": {"unit": "person", "max_rows": 2, "null_units": "row"},
}
KEY = bytes(range(32))
SIZES = (0, 1, 2, 1200)
SECRET = "Ada Secret 36"

ENGINE = Suite("an engine")


def engine_checks(make: Make) -> list[Check]:
    """The checks of an engine.

    Args:
        make: gives the engine the rows of an Arrow table, wherever it keeps them, and returns it; columns are
            text, integers and floating-point numbers, and any of them may be missing.
    """
    return ENGINE.checks(make)


def check_engine(make: Make) -> None:
    """Try an engine; see `engine_checks`."""
    ENGINE.check(make)


@cache
def messy_rows(n: int, seed: int = 0) -> pa.Table:
    """Rows with values outside the domain, impossible dates and missing values; many of each person.

    Some dates are moments, whose hours are an attribute of their own.
    """
    random = Generator(PCG64(seed))

    def column(values: Any, kind: pa.DataType, missing: float = 0.1) -> pa.Array:
        return pa.array(values, kind, mask=random.random(n) < missing)

    days = np.datetime64("2022-11-01") + random.integers(0, 500, n)
    odd = random.choice(["2023-02-30", "soon", ""], n)
    when = np.where(random.random(n) < 0.1, odd, days.astype(str))
    clock = Generator(PCG64(seed + 1))
    later = [f"T{h:02d}:{m:02d}" for h, m in clock.integers(0, (25, 60), (n, 2)).tolist()]
    when = np.char.add(when, np.where(clock.random(n) < 0.7, later, ""))
    return pa.table(
        {
            "person": column(random.integers(0, max(n // 8, 1), n), pa.int64(), 0.05),
            "sex": column(random.choice(["F", "M", "x", "F "], n), pa.string()),
            "age": column(random.normal(50, 40, n).round(1), pa.float64()),
            "site": column(random.integers(-1, 7, n), pa.int64(), 0.0),
            "when": column(when, pa.string()),
        }
    )


def _tables(source: Any, **unit: Any) -> dict[tuple[str, ...], Any]:
    return Rows(Table.open(source, DOMAIN, **unit), KEY).tables(CLIQUES)


def _same(got: dict[tuple[str, ...], Any], rows: pa.Table, what: str, **unit: Any) -> None:
    for clique, expected in _tables(rows, **unit).items():
        name = " x ".join(clique) or "total"
        require(got[clique].shape == expected.shape, f"the table {name} has another shape ({what})")
        require(np.array_equal(got[clique], expected), f"the table {name} has other counts ({what})")


@ENGINE.promises("it is an engine")
def _is_one(make: Make) -> None:
    engine = make(messy_rows(2))
    require(isinstance(engine, Engine), "it lacks something of hedgerow.extending.Engine")
    require(isinstance(engine.untyped, bool) and isinstance(engine.in_memory, bool), "its marks are no bools")
    require(isinstance(engine.written, int | None), "`written` is neither nanoseconds nor None")
    require(set(messy_rows(2).column_names) <= set(engine.schema().names), "its schema lacks columns")


@ENGINE.promises("it gives the same integers as the engine in memory, whatever the rows hold")
def _integers(make: Make) -> None:
    for n in SIZES:
        _same(_tables(make(messy_rows(n))), messy_rows(n), f"{n} rows")


@ENGINE.promises("the order of rows changes nothing")
def _shuffled(make: Make) -> None:
    rows = messy_rows(SIZES[-1])
    turned = rows.take(np.arange(rows.num_rows)[::-1])
    _same(_tables(make(turned)), rows, "rows turned round")
    bound = UNITS["three rows each"]
    _same(_tables(make(turned), **bound), rows, "rows turned round, with units", **bound)


@ENGINE.promises("of every unit the same rows stay as in memory")
def _units(make: Make) -> None:
    for n in SIZES:
        for words, unit in UNITS.items():
            _same(_tables(make(messy_rows(n)), **unit), messy_rows(n), f"{n} rows, {words}", **unit)


@ENGINE.promises("a batch has the columns that were asked for, in that order, and all batches every row once")
def _batches(make: Make) -> None:
    rows, names = messy_rows(SIZES[-1]), ["site", "person"]
    engine = make(rows)
    readers = [engine.batches(names), engine.batches(names)]  # at once, and neither disturbs the other
    first = next(iter(readers[1]), None)
    for reader, before in ((readers[0], []), (readers[1], [first] if first is not None else [])):
        read = [*before, *reader]
        require(all(batch.schema.names == names for batch in read), "a batch has other columns")
        require(sum(batch.num_rows for batch in read) == rows.num_rows, "another number of rows is read")


@ENGINE.promises("reading again gives the same integers")
def _again(make: Make) -> None:
    engine, rows = make(messy_rows(200)), messy_rows(200)
    for _ in range(2):
        _same(_tables(engine), rows, "read again")


@ENGINE.promises("rows are summed one by one as in tables")
def _one_by_one(make: Make) -> None:
    rows = messy_rows(SIZES[-1])
    factors = [np.arange(DOMAIN[a].size, dtype=np.int64) for a in ("age", "site")]
    found = Rows(Table.open(make(rows), DOMAIN), KEY).count_where(("age", "site"), factors)
    expected = Rows(Table.open(rows, DOMAIN), KEY).count_where(("age", "site"), factors)
    require(found == expected, "a weighted sum of rows is another one than in memory")


@ENGINE.promises("names of an open domain are counted as in memory")
def _names(make: Make) -> None:
    rows = messy_rows(200)
    asked = ["F", "M", "x", "", "F ", "yew"]
    for unit in ({}, UNITS["three rows each"]):
        found = Rows(Table.open(make(rows), OpenDomain("sex"), **unit), KEY).names(asked)
        expected = Rows(Table.open(rows, OpenDomain("sex"), **unit), KEY).names(asked)
        require(found == expected, "names have other counts")


@ENGINE.promises("if it counts tables itself they are those of its batches")
def _push_down(make: Make) -> None:
    rows = messy_rows(SIZES[-1])
    engine = make(rows)
    if not isinstance(engine, CountingEngine):
        return
    bounds = [None, *(Bound(Unit("person", k), KEY, SPELLING) for k in (1, 3))]
    for bound in bounds:
        found = engine.count_tables(DOMAIN, CLIQUES, bound)
        if found is not None:
            unit = {} if bound is None else {"unit": "person", "max_rows": bound.unit.max_rows}
            require(set(found) == set(CLIQUES), "it counts other tables than it was asked for")
            require(all(t.dtype == np.int64 for t in found.values()), "its counts are no int64")
            _same(dict(found), rows, "counted by the engine", **unit)


@ENGINE.promises("if it adds up rows itself the sums are those of its batches")
def _sums(make: Make) -> None:
    rows = messy_rows(SIZES[-1])
    engine = make(rows)
    if not isinstance(engine, SummingEngine):
        return
    plain = make(messy_rows(SIZES[-1]))
    works = (TableCounts(DOMAIN.shape, ((0, 1), (2,))), NumberSums(DOMAIN, tuple(binned(DOMAIN))))
    for unit in (None, Unit("person", 3)):
        bound = None if unit is None else Bound(unit, KEY, SPELLING)
        columns = [*DOMAIN.columns, *([] if unit is None else [unit.column])]
        spelling = None if unit is None else SPELLING
        for work in works:
            names = binned(DOMAIN)
            parts = [coded_rows(DOMAIN, batch, names, spelling) for batch in plain.batches(columns)]
            if bound is not None:
                codes, _, own = kept_values(DOMAIN, parts, bound)
                parts = [Coded(codes, own)]
            found, expected = engine.summed(DOMAIN, work, bound), work(iter(parts))
            require(found is None or all(map(np.array_equal, found, expected)), "its sums are other ones")


@ENGINE.promises("a column that is absent or does not fit is refused in one line that quotes no value")
def _refusals(make: Make) -> None:
    people = pa.table({"name": [SECRET] * 3, "age": [SECRET] * 3, "sex": ["F", "M", "F"]})
    engine = make(people)
    require(SECRET not in repr(engine), "its repr quotes a value")
    with refused("a column that is not there", without=SECRET):
        Table.open(engine, Domain({"sex": ["F", "M"], "height": bins(0, 9, 1)}))
    if not engine.untyped:
        with refused("a column of text where numbers are declared", without=SECRET):
            Table.open(engine, Domain({"age": bins(0, 100, 10)}))


@ENGINE.promises("a curator guards it: the same noise makes the same measurement as in memory")
def _guarded(make: Make) -> None:
    rows, found = messy_rows(200), []
    for source in (rows, make(rows)):
        table = Table.open(source, DOMAIN)
        curator = Curator(table, Budget(epsilon=1), ":memory:", entropy=seeded(7))
        found.append(curator.measure(("sex", "age"), 1).values)
    require(np.array_equal(found[0], found[1]), "the same noise made another measurement")
