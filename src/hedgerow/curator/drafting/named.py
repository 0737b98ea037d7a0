"""Names: the levels that an expert would declare for a column of words or codes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hedgerow.curator.drafting.column import TRACKED, SeenColumn
from hedgerow.curator.drafting.proposed import KEPT, Guess, keep_line, nothing, options_of
from hedgerow.curator.drafting.signs import signs_beside
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical

MOST_LEVELS = 300

_COUNTRIES = re.compile(r"(?i)(^|[\W_])(countr(y|ies)|nation(ality)?|citizenship|iso\d*|cc)([\W_]|$)")
_TWO_LETTERS = re.compile(r"[A-Z]{2}")
_NAMIBIA = "NA"
_OF_LAND = (
    "NA is a level of it, the code of Namibia; if it means nothing, write `missing: usual` and take it out"
)
_OF_NOTHING = (
    "NA is taken for a missing value, though its values are codes of two letters; if it is one of them, "
    "write it among its levels and `missing: true`"
)


def as_levels(column: SeenColumn, least: int) -> Guess:
    """Levels, if those that enough rows share are not too many and hold most of them."""
    values = column.values
    if values is None:
        more = f"it has more than {TRACKED:,} different values: it looks like an identifier or free text"
        return Guess(None, more, keep_line(column, least))
    plain = column.decimal is None and not column.endless
    number = column.number and plain and not column.zeros  # codes: 4.0 is 4
    letters = not number and _letter_codes(column, least)
    land = letters and _COUNTRIES.search(column.name) is not None
    if not number and column.counts is not None:
        named = {_NAMIBIA} if land else set()
        values = Counter({v: n for v, n in column.counts.items() if v in named or not nothing(v)})
    times: dict[str, int] = {}
    for value, n in values.items():
        text = _plain_number(value) if number else value
        times[text] = times.get(text, 0) + n
    common = sorted(v for v, n in times.items() if n >= least)
    covered = sum(times[v] for v in common)
    if not common and len(times) <= MOST_LEVELS:
        return Guess(None, f"it has no value that {least} rows share", keep_line(column, least))
    if len(common) > MOST_LEVELS or 2 * covered < column.said:
        many = f"it has {len(times):,} different values, too many to be levels"
        signs = signs_beside(times)
        return Guess(None, f"{many}; {signs}" if signs else many, keep_line(column, least))
    options = options_of(column, common)
    if number:
        numbers = sorted(float(v) for v in common)
        levels: list[Any] = [int(v) if v.is_integer() else v for v in numbers]
        return Guess(Categorical(levels, format=written.NUMBER, **options))
    look = column.repeated or signs_beside(times)
    if any(v.strip().lower() in written.NAMES for v in common):
        look = look or "a word for nothing is a level of it; if it is none, write `missing: usual`"
    if letters:
        look = _OF_LAND if land else _OF_NOTHING
    return Guess(Categorical(common, **options), look)


def some_levels(column: SeenColumn, least: int) -> Attribute | None:
    """The most common values of a column that has too many, if enough rows carry them."""
    common = [v for v, n in (column.values or Counter()).most_common(KEPT) if n >= least]
    return Categorical(sorted(common), **options_of(column, common)) if common else None


def _letter_codes(column: SeenColumn, least: int) -> bool:
    """Whether `NA` may be one of a column's codes: its values are two letters each, and rows hold it."""
    values = column.values or Counter()
    alike = len(values) > 2 and all(_TWO_LETTERS.fullmatch(value) for value in values)
    return alike and column.blanks[_NAMIBIA] >= least


def _plain_number(value: str) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)
