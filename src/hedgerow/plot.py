"""Plot: a picture, which a notebook shows and a file holds, and the colours and letters of all of them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow.errors import UnsupportedQuery, of_system

VEGA_LITE = "https://vega.github.io/schema/vega-lite/v5.json"
INK, LEAF, PALE, BERRY, RULE = "#26312b", "#3f7355", "#bcd3c2", "#8c2f4a", "#e4e1d8"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

THEME: dict[str, Any] = {
    "background": None,
    "font": SANS,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "labelColor": "#55605a",
        "labelFontSize": 11,
        "labelPadding": 6,
        "grid": False,
        "title": None,
    },
    "axisX": {"grid": True, "gridColor": RULE, "gridWidth": 1, "tickCount": 4},
    "header": {"title": None, "labelFontSize": 12, "labelColor": INK, "labelFontWeight": 600},
    "legend": {"titleFontSize": 11, "labelFontSize": 11, "titleColor": "#55605a", "labelColor": "#55605a"},
}
PLAIN: dict[str, Any] = {
    "background": "white",
    "padding": 12,
    "axis": THEME["axis"] | {"titleFontWeight": "normal", "titleFontSize": 12, "titleColor": INK},
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -12},
    "title": {"anchor": "start", "fontSize": 13, "color": INK, "fontWeight": 600, "offset": 10},
}


class Plot:
    """A picture; a notebook shows it, and `save` writes it.

    Args:
        spec: a Vega-Lite specification, all data in it.
        words: what it shows, in a few words.

    >>> Plot({"mark": "bar"}, "one bar")
    Plot(one bar)
    """

    def __init__(self, spec: dict[str, Any], words: str = "") -> None:
        if not isinstance(spec, dict) or not isinstance(words, str):
            raise UnsupportedQuery("a plot is made of a Vega-Lite specification, a dict, and a few words")
        self.spec = spec
        self.words = words

    def __repr__(self) -> str:
        return f"Plot({self.words or 'a Vega-Lite specification'})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Also as PNG, as notebooks that somebody else ran show no SVG before they are trusted."""
        png = b64encode(self.png()).decode("ascii")
        return {"image/svg+xml": self.svg(), "image/png": png, "text/plain": repr(self)}

    def svg(self) -> str:
        """The picture as SVG text."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self.spec)

    def png(self) -> bytes:
        """The picture as PNG, twice as fine as a screen."""
        import vl_convert

        return vl_convert.vegalite_to_png(self.spec, scale=2)

    def html(self) -> str:
        """A page with the picture, which needs no network; numbers appear under the pointer."""
        import vl_convert

        return vl_convert.vegalite_to_html(self.spec, bundle=True)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture: `.svg`, `.png`, `.html` (works offline) or `.json` (the specification).

        Args:
            path: the file; its ending says which of them.
        """
        draw = self.drawer(path)
        try:
            Path(path).write_bytes(draw())
        except OSError as error:
            raise of_system(error, f"the file {str(path)!r} cannot be written") from None

    def drawer(self, path: str | PathLike[str]) -> Callable[[], bytes]:
        """How a file of this ending is drawn; what cannot be drawn is refused before any work.

        Args:
            path: the file.
        """
        if not isinstance(path, str | PathLike):
            raise UnsupportedQuery("a plot is saved to the path of a file")
        kinds: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.svg().encode(),
            ".png": self.png,
            ".html": lambda: self.html().encode(),
            ".json": lambda: json.dumps(self.spec, indent=1).encode(),
        }
        ending = Path(path).suffix.lower()
        if ending not in kinds:
            raise UnsupportedQuery(f"a plot is saved as {', '.join(kinds)}: {str(path)!r} ends otherwise")
        return kinds[ending]
