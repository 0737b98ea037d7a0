"""Guesses: which attribute an expert would declare for a column that was seen, or why there is none."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from hedgerow.curator.drafting.calendars import seen_calendar
from hedgerow.curator.drafting.column import TRACKED, SeenColumn
from hedgerow.curator.drafting.signs import signs_beside
from hedgerow.curator.drafting.tails import Tail
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.round_edges import Mass, plain, round_down, round_edges, round_up

EMPTY = "it has no values"
MOST_LEVELS = 300
FEW = 12  # numbers so few are levels, each worth itself
SINGLE = 32  # whole numbers within so short a range have a bin each
_YEARS, _CENTURY = (1800, 2100), 100  # whole numbers there, in so short a range, are years: each has a bin
_LARGEST = 1e15  # beyond, bins of whole numbers are no longer exact
_SPAN = 100_000  # days: a column of dates over more than three centuries is not a calendar
_TAIL = 20.0  # an end that lies so many times further out than nearly everything is clamped
_FINE = 1000  # steps across the middle half of numbers that have no step of their own
_MOST_STEPS = 1 << 30
_IDS = 60  # different values of a column that is called an id
_KEPT = 20  # levels in the line that would keep a column
_TO_WRITE = "write its levels here"

_CODES = re.compile(
    r"(?i)(^|[\W_])(zip|zipcode|post(al)?_?code|plz|postcode|fips|icd\d*|sic|naics|code)([\W_]|$)"
)
_COUNTRIES = re.compile(r"(?i)(^|[\W_])(countr(y|ies)|nation(ality)?|citizenship|iso\d*|cc)([\W_]|$)")
_TWO_LETTERS = re.compile(r"[A-Z]{2}")
_NAMIBIA = "NA"
_PEOPLE = re.compile(
    r"(?i)(^|[\W_])(name|surname|(first|last|full)_?name|e?mail|phone|address|street|ssn|comment|note)s?([\W_]|$)"
)


@dataclass(frozen=True)
class Guess:
    """What is proposed for one column.

    Args:
        attribute: what to declare; None if the column is left out.
        reason: why it is left out, or what to look at; for the owner alone.
        keep: the line of a schema that would keep a column that is left out; for the owner alone.
    """

    attribute: Attribute | None
    reason: str = ""
    keep: str = ""


def guess(column: SeenColumn, least: int) -> Guess:
    """An attribute for a column, or why there is none.

    Args:
        column: what was seen of it.
        least: a value is proposed as a level only if so many rows carry it.
    """
    plain = column.answered(least)
    found = _guess(plain, least)
    words = _of_codes(plain, least) if plain.number else ""
    if found.attribute is None or not words:
        return found
    return replace(found, reason=f"{found.reason}; {words}" if found.reason else words)


def _of_codes(column: SeenColumn, least: int) -> str:
    """What the owner should know of numbers that stand for no answer, or may."""
    if column.unanswered:
        held = _listed(column.unanswered)
        return (
            f"{held} is taken for a missing value, as no other number is below zero; if it is a number, "
            "write `missing: true` and declare it"
        )
    if doubtful := column.codes.doubtful(least):
        held = _listed(doubtful)
        return (
            f"{held} lies far above all other numbers; if it stands for no answer, write `missing: "
            f"{list(doubtful)}` and let its levels or its range end below"
        )
    return ""


def _listed(codes: tuple[int, ...]) -> str:
    return " or ".join(map(str, codes))


def _guess(column: SeenColumn, least: int) -> Guess:
    if not column.present:
        return Guess(None, EMPTY)
    if not column.said:
        return Guess(None, "it holds nothing but words for a missing value")
    if column.said < least:
        return Guess(None, f"it has fewer than {least} values", _keep(column, least))
    kinds: tuple[Callable[[SeenColumn, int], Guess | None], ...] = (
        _dates, _truths, _times, _identifier, _numbers, _levels,
    )  # fmt: skip
    return next(found for kind in kinds if (found := kind(column, least)) is not None)


def readings(column: SeenColumn, least: int) -> dict[str, Attribute]:
    """What a column would be as `levels`, `edges` and `dates`, as far as its values can be read as that.

    For an owner who knows better than the guess. No level is proposed that fewer rows carry than `least`.
    """
    chosen, column = guess(column, least).attribute, column.answered(least)
    made: dict[str, Attribute | None] = {}
    if (levels := _levels(column, least).attribute or _some_levels(column, least)) is not None:
        made["levels"] = levels
    if column.sample.size and max(abs(column.low), abs(column.high)) <= _LARGEST:
        made["edges"] = _bins(column, least).attribute
    if column.dates and column.last - column.first < _SPAN:
        made["dates"] = seen_calendar(column.first, column.last, **_missing(column))
    if chosen is not None:
        made[kind_of_attribute(chosen)] = chosen
    return {kind: attribute for kind, attribute in made.items() if attribute is not None}


def kind_of_attribute(attribute: Attribute) -> str:
    """Whether an attribute has `levels`, `edges` or `dates`."""
    return "dates" if isinstance(attribute, Dates) else "edges" if isinstance(attribute, Bins) else "levels"


def _some_levels(column: SeenColumn, least: int) -> Attribute | None:
    """The most common values of a column that has too many, if enough rows carry them."""
    common = [v for v, n in (column.values or Counter()).most_common(_KEPT) if n >= least]
    return Categorical(sorted(common), **_options(column, common)) if common else None


def _missing(column: SeenColumn) -> dict[str, Any]:
    """Numbers and dates have a missing level always; which words mean it is said where some are there."""
    if column.unanswered:
        return {"missing": _words(column)}
    return {"missing": written.USUAL if column.missing or column.blanks else True}


def _words(column: SeenColumn) -> list[int | str]:
    """Numbers that stand for no answer, and the words for nothing beside them."""
    coded = column.codes.spelled(column.unanswered)
    return [*column.unanswered, *sorted(word for word in column.blanks if word not in coded)]


def _dates(column: SeenColumn, least: int) -> Guess | None:
    if column.dates == column.said and column.last - column.first < _SPAN:
        return Guess(seen_calendar(column.first, column.last, **_missing(column)))
    if column.formats.day is None or column.zeros == column.said:
        return None
    format, first, last = column.formats.day
    if last - first >= _SPAN:
        return None
    look = ""
    if column.formats.ambiguous:
        look = f"its dates are taken for {format}, and could be {column.formats.ambiguous}: say which"
    return Guess(seen_calendar(first, last, format=format, **_missing(column)), look)


def _truths(column: SeenColumn, least: int) -> Guess | None:
    """Truth values; those that are spelled in one way which is no program's are plain levels."""
    if column.values is None or column.numbers == column.said:
        return None
    words = {v.strip().lower() for v in column.values}
    if not words <= {*written.TRUE, *written.FALSE}:
        return None
    if len(column.values) <= 2 and not words <= {"true", "false"}:
        return None
    return Guess(Categorical([False, True], format=written.BOOLEAN, **_options(column)))


def _times(column: SeenColumn, least: int) -> Guess | None:
    if column.formats.time is None:
        return None
    return Guess(Bins(list(range(25)), format=column.formats.time, **_missing(column)))


def _identifier(column: SeenColumn, least: int) -> Guess | None:
    """Columns that tell rows or people apart; the value of somebody is nobody's statistic."""
    many = column.different
    if column.named_id and (many is None or many > _IDS):
        unit = f"if it names people, say --unit {shlex.quote(column.name)} with --max-rows"
        return Guess(None, f"it looks like an identifier; {unit}", _keep(column, least))
    if _PEOPLE.search(column.name) and not column.number and (many is None or many > MOST_LEVELS):
        return Guess(None, "it looks like names, contacts or free text", _keep(column, least))
    unique = many is None or many > 0.9 * column.said
    dense = column.number and column.whole and column.high - column.low < 1.1 * column.said
    if unique and dense and column.said > SINGLE:
        return Guess(
            None, "nearly every row has its own number: it looks like an identifier", _keep(column, least)
        )
    return None


def _numbers(column: SeenColumn, least: int) -> Guess | None:
    """Numbers in bins, or, where there are few of them, as levels that are worth themselves."""
    if not column.number or column.zeros or _is_code(column):
        return None
    if max(abs(column.low), abs(column.high)) > _LARGEST:
        return Guess(None, "its numbers are too large for bins", _keep(column, least))
    few = column.decimal is None and not column.endless and (column.different or 0) <= FEW
    if column.values is not None and few:
        times: dict[float, int] = {}
        for value, n in column.values.items():
            times[float(value)] = times.get(float(value), 0) + n
        if all(n >= least for n in times.values()) or column.high - column.low >= SINGLE:
            kept = sorted(v for v, n in times.items() if n >= least)
            levels = [int(v) if v.is_integer() else v for v in kept]
            if levels:
                return Guess(Categorical(levels, format=written.NUMBER, **_options(column)))
    return _bins(column, least)


def _bins(column: SeenColumn, least: int) -> Guess:
    sample, look = column.sample, ""
    low, high = _ends(sample, column.low, column.high)
    if (low, high) != (column.low, column.high):
        look = "its range ends where nearly all numbers do; those beyond are clamped to it"
    if column.endless:
        look = f"{look}; {_ENDLESS}" if look else _ENDLESS
    step = _step(column, sample, high - low)
    if step is None:
        return Guess(None, "its numbers are too close together for bins", _keep(column, least))
    mass = share_in(sample)
    if column.whole and high - low < (_CENTURY if _YEARS[0] <= low <= high <= _YEARS[1] else SINGLE):
        edges: list[int | float] = list(range(int(low), int(high) + 2))
    else:
        edges = round_edges(low, high, step, mass)
    tail = Tail.of(edges, sample, column.said)
    if tail is not None:
        look = f"{look}; {tail.words(column.name)}" if look else tail.words(column.name)
    options = _missing(column) | ({"decimal": column.decimal} if column.decimal else {})
    return Guess(stepped(edges, step, **options), look)


def stepped(edges: list[int | float], step: Fraction, **options: Any) -> Bins:
    """Bins of numbers that have a step."""
    return Bins(edges, step=plain(step), **options)


def share_in(sample: np.ndarray) -> Mass:
    """The share of sorted numbers between two ends."""
    size = max(len(sample), 1)
    return lambda a, b: float(np.searchsorted(sample, b) - np.searchsorted(sample, a)) / size


def _ends(sample: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """All numbers, but for a few that lie far beyond nearly all others: those would cost every sum."""
    q = np.quantile(sample, [0.001, 0.25, 0.5, 0.75, 0.999])
    reach = max(q[3] - q[1], (q[4] - q[0]) / 10)
    if reach > 0 and len(sample) >= 1000:
        high = high if high - q[2] <= _TAIL * max(reach, q[4] - q[2]) / 4 else float(q[4])
        low = low if q[2] - low <= _TAIL * max(reach, q[2] - q[0]) / 4 else float(q[0])
    return low, high


def _step(column: SeenColumn, sample: np.ndarray, span: float) -> Fraction | None:
    """The step that the numbers have; else one that is fine against how far they are apart."""
    step = column.step
    quarter = np.quantile(sample, [0.25, 0.75])
    if step is None or span > _MOST_STEPS * step / 4:
        wide = float(quarter[1] - quarter[0]) or span
        if not wide > 1e-12 * max(abs(column.low), abs(column.high)):
            return None
        step = round_down(wide / _FINE)
    while span > _MOST_STEPS * step / 4:
        step *= 10
    return step


def _is_code(column: SeenColumn) -> bool:
    """Whether whole numbers are names: by what the column is called, or by zeros before them."""
    return column.whole and (column.zeros > 0 or _CODES.search(column.name) is not None)


def _levels(column: SeenColumn, least: int) -> Guess:
    values = column.values
    if values is None:
        more = f"it has more than {TRACKED:,} different values: it looks like an identifier or free text"
        return Guess(None, more, _keep(column, least))
    plain = column.decimal is None and not column.endless
    number = column.number and plain and not column.zeros  # codes: 4.0 is 4
    letters = not number and _letter_codes(column, least)
    land = letters and _COUNTRIES.search(column.name) is not None
    if not number and column.counts is not None:
        named = {_NAMIBIA} if land else set()
        values = Counter({v: n for v, n in column.counts.items() if v in named or not _nothing(v)})
    times: dict[str, int] = {}
    for value, n in values.items():
        text = _plain_number(value) if number else value
        times[text] = times.get(text, 0) + n
    common = sorted(v for v, n in times.items() if n >= least)
    covered = sum(times[v] for v in common)
    if not common and len(times) <= MOST_LEVELS:
        return Guess(None, f"it has no value that {least} rows share", _keep(column, least))
    if len(common) > MOST_LEVELS or 2 * covered < column.said:
        many = f"it has {len(times):,} different values, too many to be levels"
        signs = signs_beside(times)
        return Guess(None, f"{many}; {signs}" if signs else many, "" if signs else _keep(column, least))
    options = _options(column, common)
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


_ENDLESS = "what is infinite in it is clamped to the end of its range"
_OF_LAND = (
    "NA is a level of it, the code of Namibia; if it means nothing, write `missing: usual` and take it out"
)
_OF_NOTHING = (
    "NA is taken for a missing value, though its values are codes of two letters; if it is one of them, "
    "write it among its levels and `missing: true`"
)


def _letter_codes(column: SeenColumn, least: int) -> bool:
    """Whether `NA` may be one of a column's codes: its values are two letters each, and rows hold it."""
    values = column.values or Counter()
    alike = len(values) > 2 and all(_TWO_LETTERS.fullmatch(value) for value in values)
    return alike and column.blanks[_NAMIBIA] >= least


def _nothing(value: str) -> bool:
    """Whether a text is a word for nothing and cannot be a name."""
    word = value.strip().lower()
    return word in written.WORDS and word not in written.NAMES


def _plain_number(value: str) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def _options(column: SeenColumn, taken: list[str] | None = None) -> dict[str, Any]:
    """`other`, under a name that no level has, and `missing` where something is."""
    name = "other"
    while name in (taken or ()):
        name = f"({name})"
    options: dict[str, Any] = {"other": True if name == "other" else name}
    sure = sorted(word for word in column.blanks if _nothing(word) and word not in (taken or ()))
    if column.unanswered:
        options["missing"] = _words(column)
    elif column.blanks and (taken is None or len(sure) == len(column.blanks)):
        options["missing"] = written.USUAL
    elif sure:
        options["missing"] = sure
    elif column.missing:
        options["missing"] = True
    return options


def _keep(column: SeenColumn, least: int) -> str:
    """The line that would keep a column, with its range, or values that enough rows share, or room for them.

    A value that few rows carry may be one person's: it is written down nowhere.
    """
    name = json.dumps(column.name) if not re.fullmatch(r"[A-Za-z_]\w*", column.name) else column.name
    span = column.high - column.low
    if column.number and not column.zeros and column.decimal is None and _LARGEST > span > 1:
        width = round_up(span / 20)
        low, high = (plain(width * (floor(x / width) + up)) for x, up in ((column.low, 0), (column.high, 1)))
        return (
            f"{name}: {{bins: [{low}, {high}, {plain(width)}], step: {plain(column.step or width / 1000)}}}"
        )
    common = [v for v, n in (column.values or Counter()).most_common(_KEPT) if n >= least] or [_TO_WRITE]
    return f"{name}: {{levels: {json.dumps(common, ensure_ascii=False)}, other: true, missing: true}}"
