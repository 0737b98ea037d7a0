"""Near: what may have been meant by a name or a value that is not declared."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from hedgerow.queries.domain.encoding import text_of

_LISTED = 16  # levels of numbers or dates that a refusal names one by one


def near(name: str, names: Iterable[str], limit: int = 8) -> str:
    """A hint: the name that differs in case only, the nearest name, or some of them all."""
    names = list(names)
    close = [n for n in names if n.casefold() == name.casefold()]
    if not close and len(names) <= 2000:
        close = difflib.get_close_matches(name[:60], names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(n) for n in names[:limit])
    return f"there is {shown or 'none'}" + (f" and {len(names) - limit} more" if len(names) > limit else "")


def nearest(value: Any, levels: Iterable[Any]) -> str:
    """A hint: levels that have an order, all if they are few, else their ends and those around a value."""
    levels = sorted(levels)
    if len(levels) <= _LISTED:
        return f"there are {', '.join(map(text_of, levels))}"
    ends = f"they go from {text_of(levels[0])} to {text_of(levels[-1])}"
    if value is None:
        return ends
    at = bisect_left(levels, value)
    around = " and ".join(map(text_of, levels[max(at - 1, 0) : at + 1]))
    return f"{ends}, and next to it {'are' if ' and ' in around else 'is'} {around}"
