"""Plot: a picture of released numbers with their error bounds, which a notebook shows and a file holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery, of_system
from hedgerow.synopsis.drawing import PLAIN, THEME, panel, refuse_unreadable, untitled

if TYPE_CHECKING:
    from hedgerow.synopsis.frame import Frame, LabelColumn

_VEGA_LITE = "https://vega.github.io/schema/vega-lite/v5.json"


class Plot:
    """A picture of an answer; a notebook shows it, and `save` writes it.

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

    @classmethod
    def of(cls, frame: Frame, title: str | None = None) -> Plot:
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
        words = f"{' and '.join(n.name for n in frame.numbers)}{_by(frame.groups)}: {drawn[0][1]}"
        return cls({"$schema": _VEGA_LITE, **named, **body, "config": THEME | PLAIN}, words)

    def __repr__(self) -> str:
        return f"Plot({self.words or 'a Vega-Lite specification'})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

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


def _by(groups: Sequence[LabelColumn]) -> str:
    return f" by {' and '.join(g.name for g in groups)}" if groups else ""
