"""Glance: every attribute, and how strongly each pair hangs together, from what was learned; all of it free.

Chosen levels filter all of it. What cannot be read off what was learned without a row is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hedgerow.errors import BadValue, HedgerowError
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.release.report.pairs import two_way
from hedgerow.service import wire
from hedgerow.service.asking import Ask
from hedgerow.service.clicked import literal, quoted

if TYPE_CHECKING:
    from hedgerow.mechanisms.session.reading import SessionReading
    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.tokens import Token

MOST_FILTERS = 4
_MOST = 40  # attributes
_CONFIDENCE = 0.95
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Level:
    """A level of an attribute that was chosen."""

    attribute: str
    index: int
    label: str
    condition: str


@dataclass(frozen=True)
class Single:
    """One attribute: its answer, or why there is none; and which of its levels can be chosen."""

    name: str
    answer: dict[str, Any] | None
    choosable: tuple[bool, ...]


@dataclass(frozen=True)
class Glance:
    """What was learned, at a glance.

    Args:
        names: all attributes.
        chosen: the levels that filter it.
        singles: each attribute.
        pairs: how strongly two attributes hang together, from 0 to 1; not filtered.
    """

    names: tuple[str, ...]
    chosen: tuple[Level, ...]
    singles: tuple[Single, ...]
    pairs: dict[tuple[str, str], float]

    @classmethod
    def of(cls, hosted: Hosted, who: Token, chosen: Sequence[tuple[str, int]]) -> Glance:
        """Of a dataset, for somebody who may see it.

        Args:
            hosted: the dataset.
            who: who looks.
            chosen: attributes, and the numbers of their levels.
        """
        domain = hosted.domain
        levels = [level(domain[name], name, index) for name, index in chosen if name in domain]
        where = " AND ".join(one.condition for one in levels)
        taken, singles = {one.attribute for one in levels}, []
        for name in list(domain)[:_MOST]:
            can = tuple(condition(domain[name], name, i) is not None for i in range(domain[name].size))
            if name not in taken:
                singles.append(Single(name, _counts(hosted, who, name, where), can))
        return cls(tuple(domain)[:_MOST], tuple(levels), tuple(singles), _pairs(hosted))


_KNOWN: WeakKeyDictionary[SessionReading, dict[tuple[str, str], float]] = WeakKeyDictionary()


def _pairs(hosted: Hosted) -> dict[tuple[str, str], float]:
    """How strongly pairs hang together; found once for what was learned, which is read by many."""
    hosted.refuse_frozen()
    reading = hosted.opened.reading
    found = None if reading is None else _KNOWN.get(reading)
    if found is None:
        views = two_way(hosted.synopsis(), _CONFIDENCE)
        pairs = {(v.attributes[0], v.attributes[1]): v.association for v in views}
        found = pairs | {(b, a): strength for (a, b), strength in pairs.items()}
        if reading is not None:
            _KNOWN[reading] = found
    return found


def level(attribute: Attribute, name: str, index: int) -> Level:
    """A level that was chosen; refused if it is none, or cannot be asked for."""
    made = condition(attribute, name, index) if 0 <= index < attribute.size else None
    if made is None:
        raise BadValue(f"there is no such level of {name!r} to choose")
    return Level(name, index, attribute.labels[index], made)


def condition(attribute: Attribute, name: str, index: int) -> str | None:
    """What SQL says of a level; None where it cannot say it."""
    if attribute.missing and index == attribute.size - 1:
        return f"{quoted(name)} IS NULL"
    if not isinstance(attribute, Bins):
        return f"{quoted(name)} = {_level(attribute, index)}"
    edges = list(attribute.edges)
    if index >= len(edges) - 1:
        return None
    ends = edges[index : index + 2]
    if isinstance(attribute, Dates):
        low, high = (repr(str(_EPOCH + timedelta(days=int(edge)))) for edge in ends)
    else:
        low, high = (format(Decimal(f"{edge:.15g}"), "f") for edge in ends)
    last = "<=" if attribute.labels[index].endswith("]") else "<"
    return f"{quoted(name)} >= {low} AND {quoted(name)} {last} {high}"


def _level(attribute: Attribute, index: int) -> str:
    """A level in SQL: text in quotes, to the blank, whatever it looks like."""
    values = attribute.levels if isinstance(attribute, Categorical) else ()
    label = attribute.labels[index]
    if index < len(values) and not isinstance(values[index], str):
        return literal(label)
    inside = label.replace("'", "''")
    return f"'{inside}'"


def _counts(hosted: Hosted, who: Token, name: str, where: str) -> dict[str, Any] | None:
    column = quoted(name)
    sql = f"SELECT {column}, COUNT(*) AS n FROM t{' WHERE ' + where if where else ''} GROUP BY {column}"
    try:
        known = hosted.again(Ask(sql), who)
        given = known if known is not None else hosted.free(Ask(sql), who)
    except HedgerowError:
        return None
    return None if given is None else wire.answered(given)
