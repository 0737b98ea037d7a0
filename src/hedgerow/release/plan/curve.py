"""Curves of a plan: its errors at other budgets, rows and numbers of queries, and their picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms import cards
from hedgerow.privacy.budget import Budget
from hedgerow.release.plan.plan import make
from hedgerow.release.plan.table import number
from hedgerow.release.report.charts import THEME
from hedgerow.release.writing import whole

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task
    from hedgerow.release.plan.table import Plan

_TIMES = (0.1, 0.3, 1.0, 3.0, 10.0)  # of the plan's epsilon
_DRAWN, _TRIED = 6, 2  # mechanisms in a picture, and how many of them are simulated along its axes
_POINTS = 4
_COLOURS = ["#3f7355", "#8c2f4a", "#c08a2b", "#39648c", "#7a5ba6", "#55605a", "#b5533c", "#2f8f8f"]

Point = dict[str, Any]


def over_epsilon(plan: Plan, epsilons: Sequence[float], simulate: bool) -> list[Point]:
    """Every mechanism's error at other values of epsilon, for the plan's delta."""
    if not isinstance(epsilons, Iterable):
        raise UnsupportedQuery("a curve is drawn over a list of epsilons")
    epsilons = list(epsilons)
    return [
        {"epsilon": float(e), **point}
        for e, task in zip(epsilons, [_at(plan.task, e) for e in epsilons], strict=True)
        for point in _points(plan, task, simulate, _known(plan))
    ]


def _at(task: Task, epsilon: Any) -> Task:
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 < epsilon < float("inf"):
        raise UnsupportedQuery("a curve is drawn over epsilons above 0")
    return task.with_budget(Budget(epsilon=epsilon, delta=task.budget.delta_exact))


def _known(plan: Plan) -> frozenset[str]:
    return frozenset(r.mechanism for r in plan.rows if r.low is not None)


def _points(plan: Plan, task: Task, simulate: bool, names: frozenset[str]) -> list[Point]:
    if not simulate:
        names = frozenset(name for name in names if cards.card(name).error is not None)
    made = make(task, simulate, lambda words, part: None, only=names, repeat=False)
    return [
        {
            "mechanism": r.mechanism,
            "low": r.low,
            "high": r.high,
            "share": (r.error or 0.0) / task.rows,
            "share_low": r.low / task.rows,
            "share_high": (r.high or 0.0) / task.rows,
        }
        for r in made.rows
        if r.low is not None
    ]


def _signal(task: Task, other: Task) -> float:
    """How many times the rows would bring what another budget brings: errors follow n sqrt(rho), or n eps."""
    ratio = other.amount / task.amount
    return float(ratio if task.pure else ratio**0.5)


def picture(plan: Plan, simulate: bool) -> dict[str, Any]:
    """Three panels: error against epsilon, rows and queries, as shares of the rows; bands where simulated."""
    names = _drawn(plan, simulate)
    task = plan.task
    base = task.budget.epsilon if isfinite(task.budget.epsilon) else 1.0
    by_epsilon: list[Point] = []
    by_rows: list[Point] = []
    for times in _TIMES:
        there = _at(task, base * times)
        for point in _points(plan, there, simulate, names):
            by_epsilon.append({"x": base * times, **point})
            by_rows.append({"x": task.rows * _signal(task, there), **point})
    panels = [
        _panel(by_epsilon, "epsilon", f"{number(task.rows)} rows"),
        _panel(by_rows, "rows", f"epsilon {base:g}"),
    ]
    if task.workload is not None and len(task.workload.blocks) > 1:
        panels.append(_panel(_over_queries(plan, simulate, names), "queries", "parts of the workload"))
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": f"Expected error per answer: {plan.title}", "anchor": "start", "fontSize": 13},
        "hconcat": panels,
        "config": THEME | {"background": "#ffffff"},
    }


def _drawn(plan: Plan, simulate: bool) -> frozenset[str]:
    """The best of the plan: what follows from public numbers, and a few that are tried again."""
    rows = [r for r in plan.rows if r.low is not None]
    closed = [r.mechanism for r in rows if r.how == "closed form"]
    tried = [r.mechanism for r in rows if r.how == "simulated" and r.kind == "offline"]
    return frozenset(closed[: _DRAWN - _TRIED] + (tried[:_TRIED] if simulate else []))


def _over_queries(plan: Plan, simulate: bool, names: frozenset[str]) -> list[Point]:
    blocks = len(plan.task.asked.blocks)
    steps = sorted({max(1, round(blocks ** (i / (_POINTS - 1)))) for i in range(_POINTS)})
    out: list[Point] = []
    for number_of in steps:
        task = plan.task.with_blocks(number_of)
        out += [{"x": task.queries, **p} for p in _points(plan, task, simulate, names)]
    return out


def _panel(points: list[Point], axis: str, subtitle: str) -> dict[str, Any]:
    rows = [
        {
            "x": p["x"],
            "mechanism": p["mechanism"],
            "error": 100.0 * p["share"],
            "low": 100.0 * p["share_low"],
            "high": 100.0 * p["share_high"],
        }
        for p in points
        if p["share"] > 0.0
    ]
    scale = {"type": "log", "nice": False}
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": axis, "format": "~g" if axis == "epsilon" else "~s", "tickCount": 4},
    }
    y = {"type": "quantitative", "scale": {"type": "log"}}
    title = {"axis": {"title": "error, % of rows", "format": "~g", "grid": True, "tickCount": 5}}
    colour = {
        "field": "mechanism",
        "type": "nominal",
        "scale": {"range": _COLOURS},
        "legend": {"title": None, "orient": "bottom", "columns": 3},
    }
    band = {
        "mark": {"type": "area", "opacity": 0.18},
        "encoding": {"x": x, "y": {**y, "field": "low", **title}, "y2": {"field": "high"}, "color": colour},
    }
    line = {
        "mark": {"type": "line", "point": True, "strokeWidth": 2},
        "encoding": {
            "x": x,
            "y": {**y, "field": "error", **title},
            "color": colour,
            "tooltip": [
                {"field": "mechanism"},
                {"field": "x", "title": axis},
                {"field": "error", "title": "error, % of rows", "format": ".3g"},
            ],
        },
    }
    return {
        "title": {"text": f"against {axis}", "subtitle": subtitle, "anchor": "start", "fontSize": 12},
        "data": {"values": rows},
        "layer": [band, line],
        "width": 260,
        "height": 240,
    }


def write(spec: dict[str, Any], path: Any) -> None:
    """Write a picture: `.svg`, `.html` (one file, works without a network) or `.json` (the specification)."""
    import json
    from pathlib import Path

    import vl_convert

    target = Path(path)
    kinds = {
        ".svg": lambda: vl_convert.vegalite_to_svg(spec),
        ".html": lambda: vl_convert.vegalite_to_html(spec, bundle=True),
        ".json": lambda: json.dumps(spec, indent=1),
    }
    if target.suffix not in kinds:
        raise UnsupportedQuery("a plot is written as .svg, .html or .json")
    with whole(target) as draft:
        draft.write_text(kinds[target.suffix](), encoding="utf-8")
