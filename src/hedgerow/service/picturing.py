"""Picturing: which picture an answer is, and the picture as a file; from the answer as doors give it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.figures import NULL
from hedgerow.synopsis.drawing import dated, plotted, short, unequal
from hedgerow.synopsis.frame import Frame, FrameColumn, LabelColumn

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = Literal["nothing", "number", "bars", "line", "heat", "table"]
SVG, PNG = "image/svg+xml", "image/png"
_CELLS = 2500  # of a heat map that a page shows

__all__ = ["PNG", "SVG", "Kind", "drawn", "kind_of", "short", "unequal"]


def kind_of(answer: dict[str, Any]) -> Kind:
    """Which picture suits an answer: what its columns are says it, and no schema is needed.

    >>> one = {"value": 1.0, "error": 2.0, "source": "learned"}
    >>> kind_of({"columns": ["n"], "rows": [{"n": one}]})
    'number'
    >>> kind_of({"columns": ["sex", "n"], "rows": [{"sex": "F", "n": one}]})
    'bars'
    """
    rows, columns = answer["rows"], answer["columns"]
    if not rows:
        return "nothing"
    groups = [c for c in columns if not isinstance(rows[0][c], dict)]
    numbers = len(columns) - len(groups)
    if numbers == 0 or len(groups) > 2:
        return "table"
    if not groups:
        return "number"
    if len(groups) == 2:
        both = {(row[groups[0]], row[groups[1]]) for row in rows}
        return "heat" if numbers == 1 and len(both) == len(rows) <= _CELLS else "table"
    return "line" if dated([str(row[groups[0]]) for row in rows]) else "bars"


def drawn(answer: dict[str, Any], media: str, title: str | None = None) -> bytes:
    """An answer as a picture for other documents; refused where there is none.

    Args:
        answer: as `wire.answered` gives it.
        media: `SVG` or `PNG`.
        title: what to write above it.
    """
    plot = plotted(_frame(answer), title)
    kinds: dict[str, Callable[[], bytes]] = {SVG: lambda: plot.svg().encode(), PNG: plot.png}
    return kinds[media]()


def _frame(answer: dict[str, Any]) -> Frame:
    made: list[LabelColumn | FrameColumn] = []
    for name in answer["columns"]:
        cells = [row[name] for row in answer["rows"]]
        if cells and isinstance(cells[0], dict):
            values, errors = (
                np.array([np.nan if cell[part] is None else cell[part] for cell in cells], dtype=np.float64)
                for part in ("value", "error")
            )
            made.append(FrameColumn(name, values, errors, [cell["source"] for cell in cells]))
        else:
            made.append(LabelColumn(name, [NULL if cell is None else str(cell) for cell in cells]))
    return Frame(tuple(made))
