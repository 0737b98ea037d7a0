"""Guesses: which attribute an expert would declare for a column that was seen, or why there is none."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from hedgerow.curator.drafting.calendars import seen_calendar
from hedgerow.curator.drafting.column import SeenColumn
from hedgerow.curator.drafting.identifiers import are_mails, called_name, like_names
from hedgerow.curator.drafting.named import MOST_LEVELS, as_levels, some_levels
from hedgerow.curator.drafting.numbered import SINGLE, as_number, binned
from hedgerow.curator.drafting.proposed import LARGEST, Guess, keep_line, missing_of, options_of
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates

EMPTY = "it has no values"
_SPAN = 100_000  # days: a column of dates over more than three centuries is not a calendar
_IDS = 60  # different values of a column that is called an id


def guess(column: SeenColumn, least: int) -> Guess:
    """An attribute for a column, or why there is none.

    Args:
        column: what was seen of it.
        least: a value is proposed as a level only if so many rows carry it.
    """
    plain = column.answered(least)
    found = _guess(plain, least)
    if found.attribute is None:
        return found
    said = (
        found.reason,
        _of_words(column, plain, least),
        _of_codes(plain, least) if plain.number else "",
        _of_people(column, found.attribute),
    )
    return replace(found, reason="; ".join(words for words in said if words))


def _of_people(column: SeenColumn, found: Attribute) -> str:
    """What the owner should know of a column that may name people, though many rows share its values."""
    name, levels = column.name, found.values if isinstance(found, Categorical) else ()
    if column.named_id:
        return (
            "it is called an identifier: if it names people, take it out, and say --unit "
            f"{shlex.quote(name)} with --max-rows"
        )
    if like_names(levels) or (called_name(name) and levels and not column.number):
        return "its levels may be names of people, which would become public: take it out if they are"
    return ""


def _of_words(column: SeenColumn, plain: SeenColumn, least: int) -> str:
    """What the owner should know of words that stand among numbers or dates, and are not one of them."""
    if not plain.taken and not plain.stray:
        return ""
    said = []
    if plain.taken:
        held, many = " and ".join(map(repr, plain.taken)), len(plain.taken) > 1
        said.append(
            f"{held} {'are' if many else 'is'} taken for {'missing values' if many else 'a missing value'}, "
            f"as nearly all else are {'numbers' if plain.number else 'dates or times'}; if "
            f"{'they are answers' if many else 'it is an answer'}, write instead "
            f"`{keep_line(column, least, plain.taken)}`"
        )
    if plain.stray:
        said.append(
            "a few rows hold words that too few share to be written down here: they count as missing, which "
            "`schema check` calls unreadable"
        )
    return "; ".join(said)


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
        return Guess(None, EMPTY, keep_line(column, least))
    if not column.said:
        return Guess(None, "it holds nothing but words for a missing value", keep_line(column, least))
    if column.said < least:
        return Guess(None, f"it has fewer than {least} values", keep_line(column, least))
    kinds: tuple[Callable[[SeenColumn, int], Guess | None], ...] = (
        _dates, _truths, _times, _identifier, as_number, as_levels,
    )  # fmt: skip
    return next(found for kind in kinds if (found := kind(column, least)) is not None)


def readings(column: SeenColumn, least: int) -> dict[str, Attribute]:
    """What a column would be as `levels`, `edges` and `dates`, as far as its values can be read as that.

    For an owner who knows better than the guess. No level is proposed that fewer rows carry than `least`.
    """
    chosen, column = guess(column, least).attribute, column.answered(least)
    made: dict[str, Attribute | None] = {}
    if (levels := as_levels(column, least).attribute or some_levels(column, least)) is not None:
        made["levels"] = levels
    if column.sample.size and max(abs(column.low), abs(column.high)) <= LARGEST:
        made["edges"] = binned(column, least).attribute
    if column.dates and column.last - column.first < _SPAN:
        made["dates"] = seen_calendar(column.first, column.last, **missing_of(column))
    if chosen is not None:
        made[kind_of_attribute(chosen)] = chosen
    return {kind: attribute for kind, attribute in made.items() if attribute is not None}


def kind_of_attribute(attribute: Attribute) -> str:
    """Whether an attribute has `levels`, `edges` or `dates`."""
    return "dates" if isinstance(attribute, Dates) else "edges" if isinstance(attribute, Bins) else "levels"


def _dates(column: SeenColumn, least: int) -> Guess | None:
    if column.dates == column.said and column.last - column.first < _SPAN:
        return Guess(seen_calendar(column.first, column.last, **missing_of(column)))
    if column.day is None or column.zeros == column.said:
        return None
    format, first, last = column.day
    if last - first >= _SPAN:
        return None
    look = ""
    if column.formats.ambiguous:
        look = f"its dates are taken for {format}, and could be {column.formats.ambiguous}: say which"
    return Guess(seen_calendar(first, last, format=format, **missing_of(column)), look)


def _truths(column: SeenColumn, least: int) -> Guess | None:
    """Truth values; those that are spelled in one way which is no program's are plain levels."""
    if column.values is None or column.numbers == column.said:
        return None
    words = {v.strip().lower() for v in column.values}
    if not words <= {*written.TRUE, *written.FALSE}:
        return None
    if len(column.values) <= 2 and not words <= {"true", "false"}:
        return None
    return Guess(Categorical([False, True], format=written.BOOLEAN, **options_of(column)))


def _times(column: SeenColumn, least: int) -> Guess | None:
    if column.time is None:
        return None
    return Guess(Bins(list(range(25)), format=column.time, **missing_of(column)))


def _identifier(column: SeenColumn, least: int) -> Guess | None:
    """Columns that tell rows or people apart; the value of somebody is nobody's statistic."""
    many = column.different
    if not column.number and are_mails(column.values or {}):
        return Guess(None, "its values are e-mail addresses")
    if column.named_id and (many is None or many > _IDS):
        unit = f"if it names people, say --unit {shlex.quote(column.name)} with --max-rows"
        return Guess(None, f"it looks like an identifier; {unit}", keep_line(column, least))
    if called_name(column.name) and not column.number and (many is None or many > MOST_LEVELS):
        return Guess(None, "it looks like names, contacts or free text", keep_line(column, least))
    unique = many is None or many > 0.9 * column.said
    dense = column.number and column.whole and column.high - column.low < 1.1 * column.said
    if unique and dense and column.said > SINGLE:
        return Guess(
            None, "nearly every row has its own number: it looks like an identifier", keep_line(column, least)
        )
    return None
