"""What is proposed for one column, and the parts of it that all kinds of columns share."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, Any

from hedgerow.queries.domain import written
from hedgerow.queries.domain.round_edges import plain, round_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.drafting.column import SeenColumn
    from hedgerow.queries.domain.attribute import Attribute

LARGEST = 1e15
"""Beyond, bins of whole numbers are no longer exact."""

KEPT = 20
"""Levels in the line that would keep a column."""

_TO_WRITE = "write its levels here"


@dataclass(frozen=True)
class Guess:
    """What is proposed for one column.

    Args:
        attribute: what to declare; None if the column is left out.
        reason: why it is left out, or what to look at; for the owner alone.
        keep: the line of a schema that would keep a column that is left out; for the owner alone.
        numbers: PRIVATE, of one that has bins, in order, all or every so many, and how many there are.
    """

    attribute: Attribute | None
    reason: str = ""
    keep: str = ""
    numbers: tuple[NDArray[np.float64], int] | None = field(default=None, repr=False, compare=False)


def missing_of(column: SeenColumn) -> dict[str, Any]:
    """Numbers and dates have a missing level always; which words mean it is said where some are there."""
    if column.unanswered or column.taken:
        return {"missing": _words(column)}
    return {"missing": written.USUAL if column.missing or column.blanks else True}


def _words(column: SeenColumn) -> list[int | str]:
    """Numbers that stand for no answer, and the words for nothing beside them."""
    coded = column.codes.spelled(column.unanswered)
    return [*column.unanswered, *sorted(word for word in column.blanks if word not in coded)]


def options_of(column: SeenColumn, taken: list[str] | None = None) -> dict[str, Any]:
    """`other`, under a name that no level has, and `missing` where something is."""
    options: dict[str, Any] = {"other": other_beside(taken or ())}
    sure = sorted(word for word in column.blanks if nothing(word) and word not in (taken or ()))
    if column.unanswered or column.taken:
        options["missing"] = _words(column)
    elif column.blanks and (taken is None or len(sure) == len(column.blanks)):
        options["missing"] = written.USUAL
    elif sure:
        options["missing"] = sure
    elif column.missing:
        options["missing"] = True
    return options


def other_beside(levels: Iterable[str]) -> bool | str:
    """The catch-all beside some levels: under a name that nobody takes for one of theirs.

    >>> other_beside(["red"]), other_beside(["Other", "red"])
    (True, '(other)')
    """
    name, taken = "other", {level.strip().lower() for level in levels}
    while name in taken:
        name = f"({name})"
    return True if name == "other" else name


def nothing(value: str) -> bool:
    """Whether a text is a word for nothing and cannot be a name."""
    word = value.strip().lower()
    return word in written.WORDS and word not in written.NAMES


def keep_line(column: SeenColumn, least: int, first: Sequence[str] = ()) -> str:
    """The line that would keep a column, with its range, or values that enough rows share, or room for them.

    A value that few rows carry may be one person's: it is written down nowhere.

    Args:
        column: what was seen of it.
        least: so many rows share a value that is written down.
        first: levels that are to be among them.
    """
    name = json.dumps(column.name) if not re.fullmatch(r"[A-Za-z_]\w*", column.name) else column.name
    span = column.high - column.low
    if not first and column.number and not column.zeros and column.decimal is None and LARGEST > span > 1:
        width = round_up(span / 20)
        low, high = (plain(width * (floor(x / width) + up)) for x, up in ((column.low, 0), (column.high, 1)))
        return (
            f"{name}: {{bins: [{low}, {high}, {plain(width)}], step: {plain(column.step or width / 1000)}}}"
        )
    often = [v for v, n in (column.values or Counter()).most_common(KEPT) if n >= least and v not in first]
    common = [*first, *often] or [_TO_WRITE]
    other = json.dumps(other_beside(common))
    return f"{name}: {{levels: {json.dumps(common, ensure_ascii=False)}, other: {other}, missing: true}}"
