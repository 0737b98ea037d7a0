"""Four small worlds, made by seeds: flights, stays in a hospital, visits to a site, answers to a survey."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.queries.domain.attribute import Categorical

CORPUS = Path(__file__).with_name("corpus")
ROWS = 4_000


@dataclass(frozen=True)
class World:
    """Rows that are made up, their declared schema, and the column that names people."""

    name: str
    frame: pd.DataFrame
    domain: hr.Domain
    unit: str | None

    @property
    def columns(self) -> dict[str, Any]:
        """The declared columns."""
        return {a: self.frame[a] for a in self.domain}

    @property
    def duck(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB of its own with the rows: what exact answers come from."""
        connection = duckdb.connect()
        connection.register("held", self.frame)
        connection.execute(f"CREATE TABLE {self.name} AS SELECT * FROM held")
        return connection


@dataclass(frozen=True)
class Statement:
    """A statement of the corpus."""

    world: str
    kind: str
    text: str
    params: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.world}: {self.text[:60]}"


def _levels(rng: np.random.Generator, values: list[Any], weights: list[float] | None = None) -> np.ndarray:
    p = None if weights is None else np.array(weights) / sum(weights)
    return np.array(values, dtype=object)[rng.choice(len(values), ROWS, p=p)]


def _days(rng: np.random.Generator, start: dt.date, number: int) -> list[dt.date]:
    return [start + dt.timedelta(days=int(i)) for i in rng.integers(0, number, ROWS)]


def flights() -> World:
    """Flights out of three airports."""
    rng = np.random.default_rng(11)
    day = _days(rng, dt.date(2013, 1, 1), 365)
    dep = np.clip(np.rint(rng.gamma(1.2, 18.0, ROWS) - 8), -20, 180).astype(int)
    carriers, dests = (
        ["AA", "B6", "DL", "EV", "MQ", "UA", "WN"],
        ["ATL", "BOS", "DEN", "LAX", "MIA", "ORD", "SEA", "SFO"],
    )
    frame = pd.DataFrame(
        {
            "carrier": _levels(rng, carriers, [3, 5, 5, 5, 2, 6, 1.5]),
            "origin": _levels(rng, ["EWR", "JFK", "LGA"], [5, 4, 3]),
            "dest": _levels(rng, dests, [6, 5, 3, 6, 4, 7, 2, 5]),
            "day": day,
            "month": [d.month for d in day],
            "hour": rng.integers(5, 24, ROWS),
            "dep_delay": dep,
            "arr_delay": np.clip(dep + rng.integers(-20, 21, ROWS), -40, 180),
            "distance": rng.integers(200, 2700, ROWS),
            "cancelled": _levels(rng, ["no", "yes"], [30, 1]),
        }
    )
    domain = hr.Domain(
        {
            "carrier": carriers,
            "origin": ["EWR", "JFK", "LGA"],
            "dest": dests,
            "day": hr.dates("2013-01-01", "2014-01-01", by="day"),
            "month": hr.bins(1, 13, 1, step=1, missing=False),
            "hour": hr.bins(5, 24, 1, step=1, missing=False),
            "dep_delay": hr.bins(-20, 181, 1, step=1, missing=False),
            "arr_delay": hr.bins(-40, 181, 1, step=1, missing=False),
            "distance": hr.bins(0, 3000, 100, step=1, missing=False),
            "cancelled": ["no", "yes"],
        }
    )
    return World("flights", frame, domain, None)


def stays() -> World:
    """Stays in a hospital; a patient has up to three."""
    rng = np.random.default_rng(12)
    nights = np.clip(rng.poisson(rng.choice([2, 5, 9], ROWS)), 0, 15)
    wards = ["cardiology", "geriatrics", "maternity", "oncology", "surgery"]
    outcomes, died = ["home", "transfer", "died", "left"], [70, 15, 8, 7]
    frame = pd.DataFrame(
        {
            "patient": rng.permutation(np.repeat(np.arange(ROWS // 2), 2)),
            "ward": _levels(rng, wards, [4, 4, 3, 2, 5]),
            "sex": _levels(rng, ["F", "M"]),
            "age": np.clip(np.rint(rng.normal(55, 22, ROWS)), 0, 99).astype(int),
            "admitted": _days(rng, dt.date(2021, 7, 1), 730),
            "nights": nights,
            "planned": np.clip(nights + rng.integers(-2, 3, ROWS), 0, 15),
            "outcome": _levels(rng, outcomes, died),
            "emergency": _levels(rng, ["no", "yes"], [3, 2]),
            "cost": rng.integers(500, 40_000, ROWS),
        }
    )
    domain = hr.Domain(
        {
            "ward": wards,
            "sex": ["F", "M"],
            "age": hr.bins(0, 100, 1, step=1, missing=False),
            "admitted": hr.dates("2021-07-01", "2023-07-01", by="day"),
            "nights": hr.bins(0, 16, 1, step=1, missing=False),
            "planned": hr.bins(0, 16, 1, step=1, missing=False),
            "outcome": outcomes,
            "emergency": ["no", "yes"],
            "cost": hr.bins(0, 40_000, 1_000, step=1, missing=False),
        }
    )
    return World("stays", frame, domain, "patient")


def visits() -> World:
    """Requests to a web site; a visitor sends up to five."""
    rng = np.random.default_rng(13)
    pages, countries = ["/", "/blog", "/docs", "/pricing", "/signup"], ["BR", "DE", "FR", "IN", "US"]
    frame = pd.DataFrame(
        {
            "visitor": rng.permutation(np.repeat(np.arange(ROWS // 4), 4)),
            "country": _levels(rng, countries, [2, 3, 2, 3, 5]),
            "device": _levels(rng, ["desktop", "phone", "tablet"], [5, 6, 1]),
            "browser": _levels(rng, ["chrome", "firefox", "safari", None], [6, 2, 3, 1]),
            "page": _levels(rng, pages, [8, 3, 4, 3, 2]),
            "status": _levels(rng, [200, 301, 404, 500], [40, 4, 3, 2]).astype(int),
            "hour": rng.integers(0, 24, ROWS),
            "ms": np.clip(rng.gamma(2.0, 60.0, ROWS), 0, 799).astype(int),
            "converted": _levels(rng, ["no", "yes"], [10, 1]),
        }
    )
    domain = hr.Domain(
        {
            "country": countries,
            "device": ["desktop", "phone", "tablet"],
            "browser": Categorical(["chrome", "firefox", "safari"], missing=True),
            "page": pages,
            "status": [200, 301, 404, 500],
            "hour": hr.bins(0, 24, 1, step=1, missing=False),
            "ms": hr.bins(0, 800, 1, step=1, missing=False),
            "converted": ["no", "yes"],
        }
    )
    return World("visits", frame, domain, "visitor")


def answers() -> World:
    """Answers to a survey; some left a question out."""
    rng = np.random.default_rng(14)
    educations = ["none", "school", "college", "doctorate"]
    employed = _levels(rng, ["no", "yes"], [1, 2])
    hours = np.where(employed == "yes", np.clip(np.rint(rng.normal(37, 9, ROWS)), 1, 80), 0).astype(int)
    satisfaction = pd.array(_levels(rng, [1, 2, 3, 4, 5, None], [2, 3, 5, 6, 4, 1]), dtype="Int64")
    frame = pd.DataFrame(
        {
            "region": _levels(rng, ["east", "north", "south", "west"], [3, 4, 5, 4]),
            "gender": _levels(rng, ["man", "other", "woman"], [10, 1, 10]),
            "education": _levels(rng, educations, [1, 6, 5, 1.2]),
            "age": rng.integers(18, 90, ROWS),
            "satisfaction": satisfaction,
            "income": rng.integers(5_000, 150_000, ROWS),
            "hours": hours,
            "hours_wanted": np.clip(hours + rng.integers(-8, 9, ROWS), 0, 80),
            "children": np.minimum(rng.poisson(1.3, ROWS), 6),
            "employed": employed,
        }
    )
    domain = hr.Domain(
        {
            "region": ["east", "north", "south", "west"],
            "gender": ["man", "other", "woman"],
            "education": educations,
            "age": hr.bins(18, 90, 1, step=1, missing=False),
            "satisfaction": hr.bins(1, 6, 1, step=1),
            "income": hr.bins(0, 150_000, 5_000, step=1, missing=False),
            "hours": hr.bins(0, 81, 1, step=1, missing=False),
            "hours_wanted": hr.bins(0, 81, 1, step=1, missing=False),
            "children": hr.bins(0, 7, 1, step=1, missing=False),
            "employed": ["no", "yes"],
        }
    )
    return World("answers", frame, domain, None)


@cache
def world(name: str) -> World:
    """One of the four, by the name of its table."""
    return {"flights": flights, "stays": stays, "visits": visits, "answers": answers}[name]()


def corpus() -> list[Statement]:
    """All statements, with their classes."""
    out = []
    for path in sorted(CORPUS.glob("*.sql")):
        kind, params = "", ()
        lines: list[str] = []
        for line in path.read_text().splitlines()[1:]:
            if line.startswith("-- params: "):
                params = tuple(json.loads(line.removeprefix("-- params: ")))
            elif line.startswith("-- "):
                kind = line.removeprefix("-- ")
            elif line.strip():
                lines.append(line)
                if line.rstrip().endswith(";"):
                    out.append(
                        Statement(path.stem, kind, "\n".join(lines).rstrip().removesuffix(";"), params)
                    )
                    lines, params = [], ()
    return out


def ordered(text: str) -> bool:
    """Whether a statement orders its rows."""
    tail = text.upper().rsplit(")", maxsplit=1)[-1] if text.count("(") else text.upper()
    return bool(re.search(r"\bORDER BY\b", tail))


def cell(value: Any) -> Any:
    """A cell of ours or of DuckDB's in one form: a number, a text, or None."""
    if value is None or value == "NULL" or (isinstance(value, float) and not np.isfinite(value)):
        return None
    if isinstance(value, dt.datetime):
        value = value.date()
    if isinstance(value, dt.date):
        return value.isoformat()
    try:
        return float(value)
    except (TypeError, ValueError):
        return {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0, "(missing)": None}.get(value, value)


def rows_of(result: Any) -> list[tuple[Any, ...]]:
    """Our rows in that form."""
    return [tuple(cell(v) for v in row) for row in result.rows]


def slack_of(result: Any) -> list[tuple[float, ...]]:
    """How far off the cells of our rows may be, by their own word, where that is little: rounding."""
    out = []
    for values, errors in zip(result.values, result.errors, strict=True):
        little = np.where(errors <= 1e-3 * np.maximum(np.abs(values), 1.0), errors, 0.0)
        out.append(tuple(float(little[c.index]) if c.aggregate else 0.0 for c in result.show))
    return out


def is_empty(row: tuple[Any, ...], numbers: list[int]) -> bool:
    """Whether a row is of a group without rows: shown by us, because which are empty is private."""
    return bool(numbers) and all(row[i] is None or abs(row[i]) < 1e-6 for i in numbers)


def agree(result: Any, exact: list[tuple[Any, ...]], in_order: bool) -> bool:
    """Whether our rows are DuckDB's, but for groups without rows."""
    numbers = [i for i, c in enumerate(result.show) if c.aggregate]
    theirs = [tuple(cell(v) for v in row) for row in exact]
    ours = list(zip(rows_of(result), slack_of(result), strict=True))
    if len(ours) != len(theirs):
        ours = [pair for pair in ours if not is_empty(pair[0], numbers)]
        theirs = [row for row in theirs if not is_empty(row, numbers)]
    if len(ours) != len(theirs):
        return False
    left = list(theirs)
    for row, slack in ours:
        at = _place(row, slack, left)
        if at is None:
            return False
        del left[at]
    return not in_order or _ordered([row for row, _ in ours], theirs)


def _place(row: tuple[Any, ...], slack: tuple[float, ...], rows: list[tuple[Any, ...]]) -> int | None:
    """Where a row of ours is among DuckDB's: first as it is, then within its slack, which others may need."""
    for room in ((0.0,) * len(row), slack):
        for i, other in enumerate(rows):
            if len(row) == len(other) and all(_same(*cells) for cells in zip(row, other, room, strict=True)):
                return i
    return None


def _same(a: Any, b: Any, slack: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-6, atol=1e-6 + slack))
    return bool(a == b)


def _ordered(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    """Whether some column is the same in order: rows may tie, but one of them is what they are ordered by."""
    if not ours:
        return True
    columns = zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
    return any(all(_same(a, b, 1e-2) for a, b in zip(x, y, strict=True)) for x, y in columns)
