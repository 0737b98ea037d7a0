"""Signs beside numbers - currencies, percent, units - which are not read: what an owner should know."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIGNED = re.compile(
    r"\s*([^\w\s.,+()-]{0,2}|[A-Z]{3})\s*[+-]?\d[\d., \u00a0\u202f']*([^\d\s.,+()-]{0,4})\s*"
)  # letters before a number are a code, but for those of currencies
_BRACKETS = re.compile(r"\s*(\(\d[\d.,]*\)|\d[\d.,]*-)\s*")
_NEARLY = 0.9  # of all values


def signs_beside(values: Mapping[str, int]) -> str:
    """What to do about numbers that have one and the same sign beside them; nothing for other values.

    Args:
        values: how often each is there.
    """
    said, beside, below = sum(values.values()), Counter[str](), 0
    for text, times in values.items():
        if found := _SIGNED.fullmatch(text):
            beside[found[1] or found[2]] += times
        below += times * (_BRACKETS.fullmatch(text) is not None)
    sign = max((s for s in beside if s), key=lambda s: beside[s], default="")
    if sign and beside[sign] >= _NEARLY * said:
        return f"its values are numbers with {sign!r} beside them: without it they would be read as numbers"
    if below and below + beside[""] >= _NEARLY * said:
        return (
            "some numbers are in brackets or have a minus behind them: with one before them all would be read"
        )
    return ""
