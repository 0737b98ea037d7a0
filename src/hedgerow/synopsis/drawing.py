"""Drawing: one number over its groups as Vega-Lite data - bars, line, heat map - with its error bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.plot import BERRY, LEAF, PALE, PLAIN, RULE, THEME, VEGA_LITE, Plot

if TYPE_CHECKING:
    from hedgerow.synopsis.frame import Frame, FrameColumn, LabelColumn

    Spec = dict[str, Any]

THOUSANDS = "datum.value == 0 ? '0' : format(datum.value, '~s')"
_ROUGHLY = THOUSANDS.replace("'~s'", "'.2~s'")  # the ends of a legend are no round numbers
GREENS = ["#f2f1ea", "#9dc0a8", LEAF, "#1f4a34"]

_LYING, _BARS, _CELLS, _PANELS = 16, 200, 10_000, 6
_UNKNOWN = "error not known"  # what stands where a bar would say more than is known
_UNEQUAL = 1.5  # times the narrowest bin: then bars do not compare like with like
_WIDE = 5.0  # times the middle error: more is next to unknown
_BIN = re.compile(r"\[(-?[\d.e+]+), (-?[\d.e+]+)[)\]]")
_SPAN = re.compile(r"(-?[\d.]+)(?:-| to )(-?[\d.]+)")  # as bins of whole numbers are called
_DAY = re.compile(r"(?:week of )?(\d{4})(?:-(\d\d)(?:-(\d\d))?|-Q([1-4]))?")


def refuse_unreadable(frame: Frame) -> None:
    """Refuse what would be no picture: no numbers, or more groups than an eye can tell apart."""
    groups, numbers = frame.groups, frame.numbers
    if not numbers:
        raise UnsupportedQuery("there is no number to draw: SELECT at least one")
    if len(groups) > 2:
        raise UnsupportedQuery(
            f"a picture shows at most two groups, and this answer has {len(groups)}: leave some out of "
            "GROUP BY, or take `.to_pandas()`"
        )
    if len(numbers) > _PANELS:
        raise UnsupportedQuery(f"a picture shows at most {_PANELS} numbers for each group: SELECT fewer")
    most = _CELLS if len(groups) == 2 else _BARS
    if len(frame) > most and not (len(groups) == 1 and _ordered(groups[0].values)):
        raise UnsupportedQuery(
            f"{len(frame):,} groups are too many for a picture, {most:,} is the most: choose some with WHERE"
        )
    if not any(np.isfinite(n.values).any() for n in numbers):
        raise UnsupportedQuery("there is nothing to draw: every number is NULL, or there are no rows")


def plotted(frame: Frame, title: str | None = None) -> Plot:
    """The picture that suits the columns of an answer.

    Args:
        frame: up to two groups, and the numbers; each number is a panel of its own.
        title: what to write above it.
    """
    if title is not None and not isinstance(title, str):
        raise UnsupportedQuery(f"a title is a text, not a {type(title).__name__}")
    refuse_unreadable(frame)
    drawn = [panel(frame.groups, numbers) for numbers in frame.numbers]
    panels = [spec for spec, _ in drawn]
    body = panels[0] if len(panels) == 1 else {"vconcat": panels, "spacing": 24}
    named = {"title": {"text": title}} if title else {}
    if len(panels) > 1:
        for spec, numbers in zip(panels, frame.numbers, strict=True):
            spec["title"] = {"text": numbers.name, "fontSize": 12, "fontWeight": "normal"}
            untitled(spec)
    groups = f" by {' and '.join(g.name for g in frame.groups)}" if frame.groups else ""
    words = f"{' and '.join(n.name for n in frame.numbers)}{groups}: {drawn[0][1]}"
    return Plot({"$schema": VEGA_LITE, **named, **body, "config": THEME | PLAIN}, words)


def untitled(made: Spec) -> None:
    """A panel that is called by its number needs no title on the axis of that number."""
    for layer in made["layer"]:
        for axis in ("x", "y"):
            side = layer["encoding"][axis]
            if side["type"] == "quantitative":
                side["axis"] = side["axis"] | {"title": None}


def panel(groups: Sequence[LabelColumn], numbers: FrameColumn) -> tuple[Spec, str]:
    """One number over its groups, and what kind of picture it is."""
    rows = _rows(groups, numbers)
    if len(groups) == 2:
        return _heat_map(rows, groups, numbers), "a heat map"
    if groups and _ordered(groups[0].values):
        return _line(rows, groups[0], numbers), "a line with its band"
    return _bars(rows, groups, numbers), "bars with whiskers"


def _rows(groups: Sequence[LabelColumn], numbers: FrameColumn) -> list[Spec]:
    """Data of a panel; NULLs are left out, and a bound that is not known is not drawn."""
    out = []
    for i, (value, low, high) in enumerate(zip(numbers.values, numbers.low, numbers.high, strict=True)):
        if not np.isfinite(value):
            continue
        row: Spec = {f"g{k}": short(g.values[i]) for k, g in enumerate(groups)} or {"g0": numbers.name}
        row |= {"value": round(float(value), 6), "error": None, "low": None, "high": None}
        if np.isfinite(low) and np.isfinite(high):
            row |= {"error": (float(high) - float(low)) / 2, "low": float(low), "high": float(high)}
        row["place"] = bool(groups) and _rank(groups[0].values[i]) is not None
        out.append(row)
    return out


def short(label: str) -> str:
    """A level's name for an axis.

    >>> short("[20, 25)"), short("[-5, 0]"), short("[10000, 25000)"), short("week of 2020-01-06"), short("F")
    ('20–25', '-5 to 0', '10k–25k', '2020-01-06', 'F')
    """
    if found := _BIN.fullmatch(str(label)):
        dash = " to " if str(label).startswith("[-") else "–"  # no dash beside a minus
        return dash.join(map(_brief, found.groups()))
    return str(label).removeprefix("week of ") if _DAY.fullmatch(str(label)) else str(label)


def _brief(edge: str) -> str:
    """A bin's edge, thousands as k."""
    return f"{edge.removesuffix('000')}k" if re.fullmatch(r"-?\d{2,}000", edge) else edge


def _rank(label: str) -> tuple[float, ...] | None:
    """Where a bin or a date lies among others; None for a label that is neither."""
    if found := _BIN.fullmatch(str(label)):
        return (float(found[1]),)
    if found := _DAY.fullmatch(str(label)):
        year, month, day, quarter = (int(part or 0) for part in found.groups())
        return (float(year), float(month or 3 * quarter - 2), float(day))
    if found := _SPAN.fullmatch(str(label)):
        return (float(found[1]),)
    return None


def _ordered(labels: Sequence[str]) -> bool:
    """Whether labels are bins or dates in their order; `(missing)` and the like may follow."""
    ranks = [rank for rank in map(_rank, labels) if rank is not None]
    rising = all(a < b for a, b in pairwise(ranks))
    return len(ranks) >= 3 and rising and len(labels) - len(ranks) <= 2


def dated(labels: Sequence[str]) -> bool:
    """Whether labels are days, weeks, months or years in their order, so that a line joins them.

    >>> dated(["2020", "2021", "2022", "earlier"]), dated(["[0, 5)", "[5, 10)", "[10, 15]"])
    (True, False)
    """
    days = [label for label in labels if _DAY.fullmatch(str(label))]
    return len(days) >= 3 and len(labels) - len(days) <= 2 and _ordered(labels)


def _tips(groups: Sequence[LabelColumn], numbers: FrameColumn) -> list[Spec]:
    sizes = np.abs(numbers.values[np.isfinite(numbers.values)])
    form = ",.0f" if sizes.size and sizes.max() >= 100 else ",.4~g"
    told = [{"field": f"g{k}", "title": _in_expression(g.name)} for k, g in enumerate(groups)]
    told.append({"field": "value", "title": _in_expression(numbers.name), "format": form})
    return [*told, *({"field": f, "title": t, "format": form} for f, t in (("low", "from"), ("high", "to")))]


def _in_expression(name: str) -> str:
    """A name where Vega-Lite writes it into an expression: it minds quotes, not backslashes or line ends."""
    return "".join(c if c.isprintable() else " " for c in name).replace("\\", "\\\\")


def _amount(rows: list[Spec], name: str) -> Spec:
    """The axis of numbers: from zero, unless the numbers themselves are below.

    What is next to unknown, such as an average of hardly any rows, goes over its end and hides nothing else.
    """
    errors = [row["error"] for row in rows if row["error"] is not None]
    most = _WIDE * float(np.median(errors)) if errors else 0.0
    bounded = [row for row in rows if row["error"] is not None]
    known = [row for row in bounded if row["error"] <= most]
    rows = known if 2 * len(known) >= len(bounded) > 0 else bounded or rows
    ends = [x for row in rows for x in (row["value"], row["low"], row["high"]) if x is not None]
    low, high = min(0.0, *(row["value"] for row in rows)), max(ends)
    if high <= low:
        low, high = min(ends), max(*ends, 0.0)
    scale = {"domain": [low, high if high > low else low + 1.0], "nice": True}
    return {
        "type": "quantitative",
        "axis": {"labelExpr": THOUSANDS, "grid": True, "gridColor": RULE, "tickCount": 5, "title": name},
        "scale": scale,
    }


def _bars(rows: list[Spec], groups: Sequence[LabelColumn], numbers: FrameColumn) -> Spec:
    """Bars with whiskers: lying for a few levels, standing for many."""
    lying = len(rows) <= _LYING
    level, count = ("y", "x") if lying else ("x", "y")
    names = {
        "field": "g0",
        "type": "nominal",
        "sort": _order(rows),
        "axis": {"labelLimit": 180, "grid": False, "labelOverlap": not lying,
                 "title": _axis_name(groups[0]) if groups and not lying else None},
    }  # fmt: skip
    amount, tips = _amount(rows, numbers.name), _tips(groups, numbers)
    bar: Spec = {
        "mark": {"type": "bar", "color": PALE, "clip": True},
        "encoding": {level: names, count: {**amount, "field": "value"}, "tooltip": tips},
    }
    layer = [bar, _whisker(level, names, count, amount, tips)]
    if _open(rows):
        bar["transform"] = [{"filter": "datum.error !== null"}]
        layer.append(_unknown(level, names, count, amount, tips))
    size = {"width": 460, "height": 26 * len(rows)} if lying else {"width": {"step": 14}, "height": 240}
    return {"data": {"values": rows}, "layer": layer, **size}


def _open(rows: list[Spec]) -> bool:
    """Whether some errors are known and some are not; where none is, all numbers are alike."""
    return len({row["error"] is None for row in rows}) == 2


def _order(rows: list[Spec]) -> list[str] | None:
    """The order of groups where layers hold different ones of them; as the data have it otherwise."""
    return list(dict.fromkeys(row["g0"] for row in rows)) if _open(rows) else None


def _unknown(level: str, names: Spec, count: str, amount: Spec, tips: list[Spec]) -> Spec:
    """Words in the place of a bar whose error nobody knows: its length would say nothing."""
    lying = level == "y"
    turned = {} if lying else {"angle": 270}
    return {
        "transform": [{"filter": "datum.error === null"}],
        "mark": {"type": "text", "text": _UNKNOWN, "align": "left", "baseline": "middle", "dx": 4,
                 "fontStyle": "italic", "fontSize": 11, "color": "#7d877f", **turned},
        "encoding": {level: names, count: {**amount, "datum": 0}, "tooltip": tips},
    }  # fmt: skip


def _axis_name(group: LabelColumn) -> str:
    """What an axis is called; bins of unequal width are said to be that."""
    return f"{group.name} (bins of unequal width)" if unequal(group.values) else group.name


def unequal(labels: Sequence[str]) -> bool:
    """Whether labels are bins of numbers that are not equally wide.

    >>> unequal(["[0, 50)", "[50, 100)", "[100, 1000)"]), unequal(["0-4", "5-9", "10-14", "(missing)"])
    (True, False)
    """
    widths = [wide for wide in map(_bin_width, labels) if wide is not None]
    return len(widths) >= 3 and max(widths) > _UNEQUAL * min(widths)


def _bin_width(label: str) -> float | None:
    if found := _BIN.fullmatch(str(label)):
        return float(found[2]) - float(found[1])
    if _DAY.fullmatch(str(label)) or not (found := _SPAN.fullmatch(str(label))):
        return 1.0 if re.fullmatch(r"-?\d+", str(label)) else None
    return float(found[2]) - float(found[1]) + 1.0  # whole numbers: both ends are in


def _whisker(level: str, names: Spec, count: str, amount: Spec, tips: list[Spec]) -> Spec:
    ends = {count: {**amount, "field": "low"}, f"{count}2": {"field": "high"}}
    return {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "color": LEAF, "strokeWidth": 2.5, "clip": True, "strokeCap": "round"},
        "encoding": {level: names, **ends, "tooltip": tips},
    }


def _line(rows: list[Spec], group: LabelColumn, numbers: FrameColumn) -> Spec:
    """A line with its band along bins or dates; levels beside them are points with whiskers."""
    names = {
        "field": "g0",
        "type": "ordinal",
        "sort": _order(rows),
        "axis": {
            "grid": False,
            "labelAngle": 0,
            "labelOverlap": True,
            "labelSeparation": 8,
            "title": _axis_name(group),
        },
    }
    amount, tips = _amount(rows, numbers.name), _tips([group], numbers)
    some = any(row["error"] is not None for row in rows)
    bounded = " && datum.error !== null" if some else ""
    along, beside = [{"filter": f"datum.place{bounded}"}], [{"filter": f"!datum.place{bounded}"}]
    layer = [
        {
            "transform": along,
            "mark": {"type": "area", "color": PALE, "opacity": 0.7, "clip": True},
            "encoding": {"x": names, "y": {**amount, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "transform": along,
            "mark": {
                "type": "line",
                "color": LEAF,
                "strokeWidth": 2,
                "point": {"color": LEAF, "size": 22},
                "clip": True,
            },
            "encoding": {"x": names, "y": {**amount, "field": "value"}, "tooltip": tips},
        },
    ]
    if not all(row["place"] for row in rows):
        whisker = _whisker("x", names, "y", amount, tips)
        point = {"mark": {"type": "point", "color": BERRY, "filled": True, "size": 36}}
        layer += [
            whisker | {"transform": [*beside, *whisker["transform"]]},
            point | {"transform": beside, "encoding": layer[1]["encoding"]},
        ]
    if _open(rows):
        layer.append(_unknown("x", names, "y", amount, tips))
    longest = max(len(row["g0"]) for row in rows)
    width = min(900, max(320, (12 + 7 * longest) * len(rows)))
    return {"data": {"values": rows}, "layer": layer, "width": width, "height": 240}


def _heat_map(rows: list[Spec], groups: Sequence[LabelColumn], numbers: FrameColumn) -> Spec:
    """A darker square for a larger number; what noise alone could make of nothing is marked with a dot."""
    across, down = _sides(groups)
    axes = [
        {"field": f"g{k}", "type": "nominal", "sort": list(dict.fromkeys(map(short, groups[k].values)))}
        for k in (across, down)
    ]
    x = axes[0] | {
        "axis": {"labelAngle": -40, "grid": False, "labelOverlap": True, "title": groups[across].name}
    }
    y = axes[1] | {"axis": {"labelLimit": 180, "title": groups[down].name}}
    low, high = (f(row["value"] for row in rows) for f in (min, max))
    domain = np.linspace(min(low, 0.0), high if high > min(low, 0.0) else 1.0, len(GREENS)).tolist()
    colour = {
        "field": "value",
        "type": "quantitative",
        "scale": {"range": GREENS, "domain": domain, "interpolate": "lab"},
        "legend": {"title": numbers.name, "labelExpr": _ROUGHLY, "gradientLength": 140},
    }
    cell = {
        "mark": {"type": "rect", "cornerRadius": 1},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": _tips(groups, numbers)},
    }
    unsure = {
        "transform": [{"filter": "datum.error === null || abs(datum.value) <= datum.error"}],
        "mark": {"type": "point", "color": "#7d877f", "filled": True, "size": 6},
        "encoding": {"x": x, "y": y},
    }
    wide, tall = (len(set(groups[k].values)) for k in (across, down))
    step = {"width": {"step": 34 if wide <= 20 else 16}, "height": {"step": 22 if tall <= 30 else 14}}
    return {"data": {"values": rows}, "layer": [cell, unsure], **step}


def _sides(groups: Sequence[LabelColumn]) -> tuple[int, int]:
    """Which group goes across and which down: bins and dates across; names that are long, down."""
    first, second = (_ordered(list(dict.fromkeys(g.values))) for g in groups)
    if first != second:
        return (0, 1) if first else (1, 0)
    long = [max((len(short(v)) for v in g.values), default=0) for g in groups]
    return (0, 1) if long[0] < long[1] else (1, 0)
