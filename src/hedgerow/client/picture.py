"""Pictures of an answer: as text for a terminal, and as a table with whiskers for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from hedgerow.figures import about, bound, signed

if TYPE_CHECKING:
    from hedgerow.client.served import ServedAnswer

_MOST = 40  # rows that are shown
_WIDE, _HIGH = 160, 14  # of a bar
_CELL = "text-align:left;white-space:nowrap;padding:0.2em 1em 0.2em 0"


def text(answer: ServedAnswer) -> str:
    """Rows under their columns, each number with its error, and what the errors mean."""
    lines = [[_cell(row[name]) for name in answer.columns] for row in answer.rows[:_MOST]]
    wide = [max(map(len, column)) for column in zip(answer.columns, *lines, strict=True)]
    said = ["  ".join(f"{c:<{w}}" for c, w in zip(line, wide, strict=True)).rstrip()
            for line in ([*answer.columns], *lines)]  # fmt: skip
    if len(answer) > _MOST:
        said.append(f"... {len(answer) - _MOST} more rows")
    return "\n".join([*said, _words(answer)])


def html(answer: ServedAnswer) -> str:
    """A table; beside each number its interval, drawn on the scale of its column."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in answer.columns)
    scales = {name: _scale(answer, name) for name in answer.measures}
    body = "".join(
        "<tr>" + "".join(_td(row[name], scales.get(name)) for name in answer.columns) + "</tr>"
        for row in answer.rows[:_MOST]
    )
    more = f"<p>… and {len(answer) - _MOST:,} more rows</p>" if len(answer) > _MOST else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}{more}<p><small>{escape(_words(answer))}</small></p>"


def _words(answer: ServedAnswer) -> str:
    cost, sure = answer.cost, answer.confidence
    price = "free" if cost is None else f"cost epsilon {cost.epsilon:.4g}"
    if sure is None:
        return f"{answer.source}, {price}"
    hold = "meant to hold" if answer.source == "learned" else "hold"
    return f"{answer.source}, {price}; errors {hold} with {sure:.4g} confidence"


def _cell(cell: Any) -> str:
    if not isinstance(cell, dict):
        return "NULL" if cell is None else str(cell)
    value, error = cell["value"], cell.get("error")
    if value is None:
        return "unknown"
    return f"{about(value)} ± ?" if error is None else f"{signed(value, error)} ± {bound(error)}"


def _scale(answer: ServedAnswer, name: str) -> tuple[float, float] | None:
    ends = [cell[end] for row in answer.rows[:_MOST] for cell in [row[name]] for end in ("low", "high")
            if cell.get(end) is not None]  # fmt: skip
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return (low, high) if high > low else None


def _td(cell: Any, scale: tuple[float, float] | None) -> str:
    said = escape(_cell(cell))
    if scale is None or not isinstance(cell, dict) or cell.get("low") is None or cell["value"] is None:
        return f'<td style="{_CELL}">{said}</td>'
    zero, low, high, value = (
        (x - scale[0]) / (scale[1] - scale[0]) * _WIDE
        for x in (0.0, cell["low"], cell["high"], cell["value"])
    )
    left, wide, middle = min(zero, value), abs(value - zero), _HIGH / 2
    return (
        f'<td style="{_CELL}"><svg role="img" aria-label="{said}" '
        f'width="{_WIDE + 2}" height="{_HIGH}" '
        f'style="display:inline-block;vertical-align:middle;margin-right:.6em">'
        f'<rect x="{left:.1f}" y="2" width="{wide:.1f}" height="{_HIGH - 4}" fill="#7fa98a"/>'
        f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} 3V{_HIGH - 3}M{high:.1f} 3V{_HIGH - 3}" '
        f'stroke="currentColor" fill="none"/></svg>{said}</td>'
    )
