"""Charts: Vega-Lite specifications as plain data, and the script that draws them without a network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.plot import BERRY, LEAF, PALE, THEME
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.release.report.pairs import Pairs
from hedgerow.release.report.views import View, short_labels
from hedgerow.synopsis.drawing import GREENS, THOUSANDS

__all__ = ["LEAF", "PALE", "THEME", "THOUSANDS", "associations", "attribute_title", "one_way", "vega_script"]

_MANY = 16


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from the installed `vl-convert-python`.

    Bundling takes seconds and always gives the same, so it is kept in the user's cache folder.
    """
    kept = _cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    bundle: Callable[..., str] = vl_convert.javascript_bundle  # its stub asks for a snippet, it does not
    script = bundle().replace("</script", "<\\/script")
    with suppress(OSError):  # a cache that cannot be written is no cache, and no error
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=kept.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(script)
        os.replace(draft, kept)
    return script


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "hedgerow"


def one_way(view: View, attribute: Attribute) -> dict[str, Any]:
    """Bars with whiskers for one attribute: lying for a few levels, standing for many."""
    labels = short_labels(attribute)
    rows = [
        {
            "level": label,
            "count": round(float(v), 1),
            "low": round(float(v - e), 1),
            "high": round(float(v + e), 1),
        }
        for label, v, e in zip(labels, view.values, view.errors, strict=True)
    ]
    lying = len(rows) <= _MANY
    level, count = ("y", "x") if lying else ("x", "y")
    names = {
        "field": "level",
        "type": "nominal",
        "sort": None,
        "axis": {"labelLimit": 120, "grid": False, "labelOverlap": not lying},
    }
    top = float(np.nanmax(view.values + np.where(np.isfinite(view.errors), view.errors, 0.0), initial=1.0))
    amount = {
        "type": "quantitative",
        "axis": {"labelExpr": THOUSANDS, "grid": True, "tickCount": 4},
        "scale": {"domain": [min(0.0, float(view.values.min())), top], "nice": True},
    }
    tips = [
        {"field": "level", "title": attribute_title(view.attributes[0])},
        {"field": "count", "title": "released count", "format": ",.0f"},
        {"field": "low", "title": "from", "format": ",.0f"},
        {"field": "high", "title": "to", "format": ",.0f"},
    ]
    bar = {
        "mark": {"type": "bar", "color": PALE, "clip": True},
        "encoding": {level: names, count: {**amount, "field": "count"}, "tooltip": tips},
    }
    whisker = {
        "mark": {"type": "rule", "color": LEAF, "strokeWidth": 2.5, "clip": True, "strokeCap": "round"},
        "encoding": {
            level: names,
            count: {**amount, "field": "low"},
            f"{count}2": {"field": "high"},
            "tooltip": tips,
        },
    }
    size = {"width": "container", "height": 19 * len(rows) if lying else 200}
    return {"data": {"values": rows}, "layer": [bar, whisker], **size, "config": THEME}


def attribute_title(name: str) -> str:
    """An attribute's name for people."""
    return name.replace("_", " ")


def associations(pairs: Pairs) -> dict[str, Any]:
    """The overview of pairs: the darker a square, the stronger; a click chooses a pair that is shown.

    A pair whose table is not on the page has a point, and one that was not looked at a cross: neither is
    drawn as if its attributes had nothing to do with each other.
    """
    rows = _squares(pairs)
    many = len(pairs.names) > 18
    step = max(12, 640 // max(len(pairs.names), 1)) if many else 30
    axis = {"type": "nominal", "sort": [attribute_title(n) for n in pairs.names]}
    small = {"labelFontSize": 10, "labelLimit": 110} if many else {}
    x = {
        **axis,
        "field": "a",
        "axis": {"labelAngle": -90 if many else -40, "grid": False, "orient": "top", **small},
    }
    y = {**axis, "field": "b", "axis": {"grid": False, **small}}
    unknown = {"test": "datum.strength === null", "value": "#efede5"}
    colour = {
        "field": "strength",
        "type": "quantitative",
        "scale": {"range": GREENS, "domain": [0, 0.25, 0.5, 1]},
        "legend": None,
        "condition": unknown,
    }
    tips = [
        {"field": "a", "title": "and"},
        {"field": "b", "title": "with"},
        {"field": "strength", "title": "association (0 to 1)", "format": ".2f"},
        {"field": "table", "title": "its table"},
    ]
    over = {"name": "over", "select": {"type": "point", "on": "pointerover", "clear": "pointerout"}}
    square = {
        "params": [over],
        "mark": {"type": "rect", "cursor": "pointer", "cornerRadius": 2, "strokeWidth": 1 if many else 1.5},
        "encoding": {
            "color": colour,
            "stroke": {"condition": {"param": "over", "empty": False, "value": BERRY}, "value": "#ffffff"},
            "tooltip": tips,
        },
    }
    mark = {
        "mark": {"type": "text", "color": "#7d877f", "fontSize": 10, "tooltip": None},
        "encoding": {"text": {"field": "mark"}},
    }
    return {
        "data": {"values": rows},
        "width": {"step": step},
        "height": {"step": step if many else 24},
        "encoding": {"x": x, "y": y},
        "layer": [square, mark],
        "config": THEME,
    }


def _squares(pairs: Pairs) -> list[dict[str, Any]]:
    """Each pair twice, with how strong it is and where its table is."""
    place = {v.attributes: i for i, v in enumerate(pairs.shown)}
    rows = []
    for a, b in combinations(pairs.names, 2):
        pair = (a, b) if (a, b) in pairs.strengths else (b, a)
        strength, at = pairs.strengths.get(pair), place.get(pair, -1)
        where = "shown below" if at >= 0 else "not on this page" if strength is not None else "not looked at"
        known = {"pair": at, "strength": None if strength is None else round(strength, 3), "table": where}
        known["mark"] = "" if at >= 0 else "·" if strength is not None else "×"
        rows += [{"a": attribute_title(x), "b": attribute_title(y), **known} for x, y in ((a, b), (b, a))]
    return rows
