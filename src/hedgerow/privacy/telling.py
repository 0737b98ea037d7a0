"""Telling: how well anybody can tell, from all results together, whether one person is in the rows."""

from __future__ import annotations

from math import exp, isfinite
from typing import Any

from hedgerow.errors import BadValue
from hedgerow.plot import LEAF, PALE, PLAIN, THEME, VEGA_LITE, Plot

_STEPS = 200
_SHOWN = 0.05  # the bet that is written out


def most_right(epsilon: float, delta: float, wrong: float) -> float:
    """How often who bets "there" can at most be right, being wrong so often where the person is not there.

    Both inequalities of [KOV15] Thm 2.1, and no test does better than the lower of the two.

    Args:
        epsilon: of the promise.
        delta: of the promise.
        wrong: the probability of betting "there" where the person is not.

    >>> most_right(0.0, 0.0, 0.05), round(most_right(1.0, 0.0, 0.05), 3), most_right(1.0, 0.0, 1.0)
    (0.05, 0.136, 1.0)
    """
    if epsilon > 700.0:  # more than a float holds: nothing is promised
        return 1.0
    return min(1.0, exp(epsilon) * wrong + delta, 1.0 - exp(-epsilon) * (1.0 - delta - wrong))


def telling(epsilon: float, delta: float) -> Plot:
    """The same for every bet, as a picture.

    Args:
        epsilon: of the promise.
        delta: of the promise.
    """
    if not isfinite(epsilon):
        raise BadValue(
            "A budget of rho alone promises another epsilon at every delta: to draw it, name one, as in "
            "Budget(rho=..., delta=1e-6)."
        )
    bets = sorted({(i / _STEPS) ** 2 for i in range(_STEPS + 1)} | {_SHOWN})
    points = [{"wrong": bet, "right": most_right(epsilon, delta, bet)} for bet in bets]
    shown = most_right(epsilon, delta, _SHOWN)
    said = f"at most {100 * shown:.3g}% of people are found by who errs for {100 * _SHOWN:.0f}%"
    x = {
        "field": "wrong",
        "type": "quantitative",
        "axis": _axis("of those not there, taken to be there"),
    }
    y = {"field": "right", "type": "quantitative", "axis": _axis("of those there, found")}
    diagonal = [{"wrong": 0.0, "right": 0.0}, {"wrong": 1.0, "right": 1.0}]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": points},
            "mark": {"type": "area", "color": PALE, "opacity": 0.5},
            "encoding": {"x": x, "y": y, "y2": {"field": "wrong"}},
        },
        {
            "data": {"values": diagonal},
            "mark": {"type": "line", "color": "#55605a", "strokeDash": [4, 4], "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": points},
            "mark": {"type": "line", "color": LEAF, "strokeWidth": 2.5},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": [{"wrong": _SHOWN, "right": shown}]},
            "mark": {"type": "point", "color": LEAF, "filled": True, "size": 60},
            "encoding": {"x": x, "y": y},
        },
    ]
    more = f", delta {delta:.3g}" if delta else ""
    title = {
        "text": f"Epsilon {epsilon:.4g}{more}: can anybody tell whether one person is there?",
        "subtitle": [said, "dashed: guessing; green: the best that seeing all results can do"],
        "subtitleColor": "#55605a",
        "anchor": "start",
    }
    spec = {"$schema": VEGA_LITE, "title": title, "width": 300, "height": 300, "layer": layers}
    return Plot(spec | {"config": THEME | PLAIN}, f"who is there, at epsilon {epsilon:.4g}: {said}")


def _axis(title: str) -> dict[str, Any]:
    return {"title": title, "format": "%", "tickCount": 5, "grid": True}
