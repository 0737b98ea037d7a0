"""Charts: where bars, whiskers, lines and bands lie; templates draw them as SVG, in a page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor, isfinite, log10
from typing import Any

from hedgerow.release.numerals import bound, signed
from hedgerow.service.picturing import short, unequal

WIDTH = 1000  # units of a bar from end to end
SHADES = 8
_WIDE = 5.0  # times the middle error: more is next to unknown, and goes over the end


@dataclass(frozen=True)
class Mark:
    """One number with its error: as text, and where its bar and whisker lie."""

    label: str
    value: str
    error: str | None
    words: str
    bar: tuple[float, float]
    whisker: tuple[float, float] | None
    source: str
    over: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell of a heat map: its shade, and its number in short and in full."""

    value: str
    error: str | None
    words: str
    shade: int


@dataclass(frozen=True)
class HeatMap:
    """Two groups: names of rows and columns, and the cells."""

    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


@dataclass(frozen=True)
class LineChart:
    """A line with its band, for one width of a page."""

    width: int
    height: int
    left: int
    floor: float
    line: str
    band: str
    points: tuple[tuple[float, float, str, bool], ...]
    ticks: tuple[tuple[float, str], ...]
    names: tuple[tuple[float, str], ...]


def groups_of(answer: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The columns of labels, and those of numbers."""
    first = answer["rows"][0] if answer["rows"] else {}
    labels = [c for c in answer["columns"] if not isinstance(first.get(c), dict)]
    return labels, [c for c in answer["columns"] if c not in labels]


def told(cell: dict[str, Any]) -> tuple[str, str | None]:
    """A number and its error as people read them, with no more digits than the error supports."""
    value, error = cell.get("value"), cell.get("error")
    if value is None:
        return "no value", None
    if error is None:
        return f"{value:,.4g}", None
    return signed(value, error), bound(error)


def said(cell: dict[str, Any]) -> str:
    """The same on one line."""
    value, error = told(cell)
    return value if error is None else f"{value} ± {error}"


def marks(answer: dict[str, Any], column: str) -> list[Mark]:
    """One number over its groups, as bars with whiskers."""
    labels, _ = groups_of(answer)
    cells = [row[column] for row in answer["rows"]]
    low, high = _range(cells)
    some = any(c.get("error") is not None for c in cells)
    made = []
    for row, cell in zip(answer["rows"], cells, strict=True):
        value, error = told(cell)
        name = ", ".join(named(row[c]) for c in labels) or column
        at = [_place(x, low, high) for x in (min(cell["value"] or 0.0, 0.0), max(cell["value"] or 0.0, 0.0))]
        ends = None
        if cell.get("low") is not None:
            ends = (_place(cell["low"], low, high), _place(cell["high"], low, high))
        over = cell.get("high") is not None and cell["high"] > high
        unknown = some and cell["value"] is not None and cell.get("error") is None
        words = f"{name}: {said(cell)}" + (", error not known" if unknown else "")
        bar = (0.0, 0.0) if unknown else (at[0], at[1] - at[0])  # its length would say nothing
        made.append(Mark(name, value, error, words, bar, ends, cell["source"], over, unknown))
    return made


def widths(answer: dict[str, Any]) -> str | None:
    """A sentence about bins that are not equally wide; None where there is nothing to say."""
    labels, _ = groups_of(answer)
    if len(labels) != 1 or not unequal([str(row[labels[0]]) for row in answer["rows"]]):
        return None
    return f"Bins of {labels[0]} are not equally wide: a longer bar may only mean a wider bin."


def heat(answer: dict[str, Any]) -> HeatMap:
    """One number over two groups."""
    (down, across), (number, *_) = groups_of(answer)
    rows = list(dict.fromkeys(row[down] for row in answer["rows"]))
    columns = list(dict.fromkeys(row[across] for row in answer["rows"]))
    cells = {(row[down], row[across]): row[number] for row in answer["rows"]}
    most = max((c["value"] for c in cells.values() if c["value"] is not None), default=0.0)

    def cell(row: Any, column: Any) -> Cell | None:
        held = cells.get((row, column))
        if held is None:
            return None
        part = (held["value"] or 0.0) / most if most > 0 else 0.0
        words = f"{named(row)}, {named(column)}: {said(held)}"
        return Cell(shorter(held), slack(held.get("error")), words, round(SHADES * min(max(part, 0.0), 1.0)))

    table = tuple((named(r), tuple(cell(r, c) for c in columns)) for r in rows)
    return HeatMap(across, down, tuple(named(c) for c in columns), table)


def line(answer: dict[str, Any], column: str, width: int) -> LineChart:
    """One number along dates; a level that is no date (`earlier`) is in the table alone."""
    (group,), _ = groups_of(answer)
    rows = [r for r in answer["rows"] if _dated(r[group]) and r[column]["value"] is not None]
    names = [named(row[group]) for row in rows]
    cells = [row[column] for row in rows]
    return along(names, cells, width)


def beside(answer: dict[str, Any], marked: Sequence[Mark]) -> list[Mark]:
    """What is not on the line: numbers of levels that are no dates."""
    (group,), _ = groups_of(answer)
    return [mark for row, mark in zip(answer["rows"], marked, strict=False) if not _dated(row[group])]


def _dated(label: Any) -> bool:
    return label is not None and named(label)[:4].isdigit()


def along(names: Sequence[str], cells: Sequence[dict[str, Any]], width: int, height: int = 240) -> LineChart:
    """Numbers with their bounds from left to right, at equal steps."""
    left, right, top, foot = 52, 16, 14, 30
    low, high = _range(list(cells))
    steps = ticks(low, high)
    high = max(high, steps[-1])
    step = (width - left - right) / max(len(names) - 1, 1)

    def across(i: int) -> float:
        return round(left + i * step, 1)

    def up(value: float) -> float:
        return round(height - foot - (height - top - foot) * (value - low) / (high - low), 1)

    at = [(across(i), up(min(max(cell["value"], low), high))) for i, cell in enumerate(cells)]
    upper = [(across(i), up(min(c.get("high") or c["value"], high))) for i, c in enumerate(cells)]
    lower = [(across(i), up(max(_known(c, "low"), low))) for i, c in enumerate(cells)]
    points = tuple(
        (x, y, f"{n}: {said(c)}", c.get("error") is None)
        for (x, y), n, c in zip(at, names, cells, strict=True)
    )
    every = max(1, -(-len(names) // max(2, (width - left) // 64)))
    shown = tuple((across(i), name) for i, name in enumerate(names) if i % every == 0)
    marked = tuple((up(value), brief(value)) for value in steps if low <= value <= high)
    band = _path([*upper, *reversed(lower)])
    return LineChart(width, height, left, up(low), _path(at), band, points, marked, shown)


def stairs(
    points: Sequence[tuple[datetime, float]], until: datetime, end: datetime | None, width: int
) -> dict[str, Any]:
    """A budget that is used up step by step, and how it goes on at the same pace.

    Args:
        points: times, and which part was spent by then.
        until: the present.
        end: when it would be used up, if it would.
        width: of the picture.
    """
    left, right, top, foot, height = 44, 14, 12, 26, 220
    first = points[0][0] if points else until
    last = min(end, until + 2 * (until - first)) if end is not None else until
    span = max((last - first).total_seconds(), 1.0)

    def across(when: datetime) -> float:
        return round(left + (width - left - right) * (when - first).total_seconds() / span, 1)

    def up(rest: float) -> float:
        return round(height - foot - (height - top - foot) * max(rest, 0.0), 1)

    corners: list[tuple[float, float]] = []
    rest = 1.0
    for when, spent in points:
        corners += [(across(when), up(rest)), (across(when), up(1.0 - spent))]
        rest = 1.0 - spent
    corners.append((across(until), up(rest)))
    ahead = None
    if end is not None:
        part = min((last - until) / (end - until), 1.0) if end > until else 1.0
        ahead = _path([(across(until), up(rest)), (across(last), up(rest * (1 - part)))])
    area = _path([(corners[0][0], up(0.0)), *corners, (corners[-1][0], up(0.0))])
    marked = [(up(value / 4), f"{25 * value}%") for value in range(5)]
    return {"width": width, "height": height, "left": left, "line": _path(corners), "area": area,
            "ahead": ahead, "ticks": marked, "now": across(until), "first": first, "last": last,
            "floor": up(0.0), "right": width - right}  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two others.

    >>> ticks(0.0, 93.0)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    raw = (high - low) / 4
    if not isfinite(raw) or raw <= 0:
        return [0.0]
    ten = 10.0 ** int(log10(raw) - (raw < 1))
    step = next((ten * m for m in (1, 2, 5, 10) if ten * m >= raw * 0.8), ten * 10)
    first = -(-low // step)
    return [step * (first + i) for i in range(int((high - first * step) / step + 1e-9) + 1)]


def brief(value: float | None) -> str:
    """A number in four signs or so.

    >>> brief(1234.0), brief(12.3), brief(-0.02), brief(2_500_000.0)
    ('1.2k', '12.3', '-0.02', '2.5M')
    """
    if value is None:
        return "–"
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{sign}" if abs(value) >= 1e4 else f"{value / size:.2g}{sign}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def shorter(cell: dict[str, Any]) -> str:
    """A number in a few signs, and none that its error makes meaningless.

    >>> shorter({"value": 0.0002, "error": 90.3}), shorter({"value": 2310.0, "error": 90.3})
    ('0', '2.3k')
    """
    value, error = cell.get("value"), cell.get("error")
    if value is None or error is None or error < 1 or abs(value) >= 1000:
        return brief(value)
    return f"{round(value):d}"


def slack(error: float | None) -> str | None:
    """How far off a number in a few signs is, in as few, rounded up.

    >>> slack(29.2), slack(1234.0), slack(0.123), slack(None)
    ('30', '1.3k', '0.13', None)
    """
    if error is None or not isfinite(error):
        return None
    if error <= 0:
        return "0"
    ten = 10.0 ** (floor(log10(error)) - 1)
    up = ceil(error / ten - 1e-9) * ten
    return brief(up) if up < 1000 or up >= 1e4 else f"{up / 1000:.2g}k"


def named(label: Any) -> str:
    """A group's name for people."""
    return "(missing)" if label is None else short(str(label))


def _known(cell: dict[str, Any], end: str) -> float:
    found = cell.get(end)
    return float(cell["value"] if found is None else found)


def _range(cells: list[dict[str, Any]]) -> tuple[float, float]:
    """From where to where numbers are drawn: from zero, and over the end of what is next to unknown."""
    cells = [c for c in cells if c.get("error") is not None] or cells  # an unknown error sets no scale
    errors = sorted(c["error"] for c in cells if c.get("error") is not None)
    most = _WIDE * errors[len(errors) // 2] if errors else 0.0
    values = [c["value"] for c in cells if c["value"] is not None]
    ends = [c["high"] for c in cells if c.get("high") is not None and c["error"] <= most]
    low = min([0.0, *values])
    high = max([0.0, *values, *ends])
    return low, high if high > low else low + 1.0


def _place(value: float, low: float, high: float) -> float:
    return round(WIDTH * min(max((value - low) / (high - low), 0.0), 1.0), 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(points))
