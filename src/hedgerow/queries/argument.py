"""Arguments: what a caller gave, if it is what is needed; else one sentence that says what is."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 1 << 62


def number(name: str, given: Any) -> float:
    """A number of whatever type, as a float; it may be infinite, or NaN."""
    if isinstance(given, bool) or not isinstance(given, Real):
        raise UnsupportedQuery(f"{name} is a number, not {_told(given)}")
    try:
        return float(given)
    except OverflowError:
        return inf


def finite(name: str, given: Any) -> float:
    """A number that is neither infinite nor NaN."""
    found = number(name, given)
    if not isfinite(found):
        raise UnsupportedQuery(f"{name} is a finite number, not {_told(given)}")
    return found


def between(name: str, given: Any, low: float = 0.0, high: float = 1.0) -> float:
    """A number strictly between two others."""
    found = number(name, given)
    if not low < found < high:
        raise UnsupportedQuery(f"{name} lies strictly between {low:g} and {high:g}, not at {_told(given)}")
    return found


def whole(name: str, given: Any, least: int = 0, most: int = _MOST) -> int:
    """A whole number from `least` to `most`."""
    found = int(given) if isinstance(given, Integral) and not isinstance(given, bool) else least - 1
    if not least <= found <= most:
        limit = f" and at most {most:,}" if most < _MOST else ""
        raise UnsupportedQuery(f"{name} is a whole number, {least:,} or more{limit}, not {_told(given)}")
    return found


def one_of(name: str, given: Any, *options: str) -> None:
    """One of a few words."""
    if not isinstance(given, str) or given not in options:
        raise UnsupportedQuery(f"{name} is one of {', '.join(map(repr, options))}, not {_told(given)}")


def text(name: str, given: Any) -> None:
    """A text, or nothing."""
    if given is not None and not isinstance(given, str):
        raise UnsupportedQuery(f"{name} is a text, not {_told(given)}")


def numbers(name: str, given: Any) -> NDArray[np.float64]:
    """An array of real numbers; text and complex numbers are none, whatever NumPy makes of them."""
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UnsupportedQuery(f"{name} are numbers, not {_told(given)}")


def once(names: Sequence[str]) -> None:
    """Each name once.

    >>> once(("sex", "age"))
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UnsupportedQuery(f"the attribute {name!r} is named twice: name each once")
        seen.add(name)


def _told(given: Any) -> str:
    """What was given: a number or a short text as it is, anything else by its type."""
    plain = given is None or isinstance(given, (bool, int, float, str))
    return repr(given) if plain and len(repr(given)) <= 40 else f"a {type(given).__name__}"
