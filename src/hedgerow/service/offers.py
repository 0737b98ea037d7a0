"""Offers: the nearest questions that are not refused, for one that is.

A candidate is made from the refusal's own words and from the declared schema, and is offered only if it
compiles. Nothing here sees a row, and nothing depends on one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from hedgerow.errors import (
    BadSQL,
    BudgetExceeded,
    CutsBin,
    HedgerowError,
    UnknownColumn,
    UnknownLevel,
    UnsupportedQuery,
)
from hedgerow.service.clicked import literal, quoted

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.service.asking import Ask

MOST = 3
_WIDEST = 1e15  # rows: no answer is further off
_WORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "AND", "COUNT(*)", "SUM", "AVG", "AS", "LIMIT")
_CUT = re.compile(r"the comparison (.+?) cuts a bin;.*ask (.+?)(?: or (.+?))?$")
_WORD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+|[^\s\w]")
_ROWS = re.compile(
    r"SELECT\s([^()]*?)\sFROM\s+(\S+)(\s+WHERE\s.+)?", re.I | re.S
)  # in one pass, however long


@dataclass(frozen=True)
class Offer:
    """A question that would be answered: what it is, in a few words, and the question."""

    words: str
    ask: Ask


def nearest(ask: Ask, error: HedgerowError, domain: Domain, unit: str | None) -> list[Offer]:
    """What could be asked instead of a question that was refused, the nearest first.

    Args:
        ask: the question.
        error: its refusal.
        domain: what was declared.
        unit: the column that names people, which cannot be asked about.
    """
    found: list[Offer] = []
    for offer in _candidates(ask, error, domain):
        try:
            offer.ask.meant(domain, unit)
        except HedgerowError:
            continue
        if offer.ask.bound not in [known.ask.bound for known in found] and offer.ask.bound != ask.bound:
            found.append(offer)
    return found[:MOST]


def _candidates(ask: Ask, error: HedgerowError, domain: Domain) -> Iterator[Offer]:
    if isinstance(error, BudgetExceeded):
        if looser := _affordable(ask, error):
            yield Offer(f"within ±{looser.within_count:,g} rows", looser)
        yield Offer("what was learned, free", replace(ask, within=None, within_count=None, spend=False))
    elif isinstance(error, CutsBin):
        yield from _edges(ask, error)
    elif isinstance(error, UnknownColumn):
        word = _word(ask.sql, error)
        names = {name.casefold(): name for name in domain}
        for near in get_close_matches(word.strip('"').casefold(), list(names), MOST, 0.4):
            yield _instead(ask, error, quoted(names[near]))
    elif isinstance(error, UnknownLevel):
        word = _word(ask.sql, error)
        levels = [str(v) for name, a in domain.items() if repr(name) in str(error) for v in a.labels]
        close = get_close_matches(word.strip("'"), levels, MOST, 0.5)
        for near in close or levels[:MOST]:
            yield _instead(ask, error, literal(near))
    elif isinstance(error, BadSQL):
        word = _word(ask.sql, error)
        for near in get_close_matches(word.upper(), _WORDS, 1, 0.6):
            yield _instead(ask, error, near)
    elif isinstance(error, UnsupportedQuery) and (rows := _ROWS.fullmatch(ask.sql.strip("; \t\r\n"))):
        by, table, where = rows[1].strip(), rows[2], rows[3] or ""
        made = f"SELECT {by}, COUNT(*) AS n FROM {table}{where} GROUP BY {by}"
        yield Offer("how many rows there are of each", replace(ask, sql=made))


def _edges(ask: Ask, error: CutsBin) -> Iterator[Offer]:
    """The two comparisons that cut no bin, which the refusal names."""
    if not (found := _CUT.search(str(error))):
        return
    spaced = r"\s*".join(map(re.escape, found[1].split()))
    name = found[1].split()[0]
    for near in filter(None, (found[2], found[3])):
        said = f"{name} {near}"
        plain = said.replace("\\", r"\\")  # re.sub reads backslashes
        yield Offer(said, replace(ask, sql=re.sub(spaced, plain, ask.sql, count=1)))


def word_at(sql: str, position: tuple[int, int] | None) -> tuple[int, int] | None:
    """Where the word that a refusal is about begins and ends; a position may lie anywhere in it.

    >>> word_at("SELECT x FORM t", (1, 13))
    (9, 13)
    """
    if position is None:
        return None
    line, column = position
    place = sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column - 1
    spans = [found.span() for found in _WORD.finditer(sql)]
    return next((span for span in spans if span[0] <= place < span[1]), None)


def _word(sql: str, error: HedgerowError) -> str:
    """The word that a refusal is about; empty if it does not say."""
    span = word_at(sql, error.position)
    return "" if span is None else sql[slice(*span)]


def _instead(ask: Ask, error: HedgerowError, near: str) -> Offer:
    """The question with another word at the place that the refusal names."""
    span = word_at(ask.sql, error.position)
    if span is None:
        return Offer(near, ask)
    return Offer(near, replace(ask, sql=ask.sql[: span[0]] + near + ask.sql[span[1] :]))


def _affordable(ask: Ask, error: BudgetExceeded) -> Ask | None:
    """The question at an accuracy that what is left pays for: noise shrinks as epsilon grows."""
    needed, left = (getattr(cost, "epsilon", 0.0) for cost in (error.needed, error.remaining))
    if ask.within_count is None or not 0 < left < needed < float("inf"):
        return None
    width = 1.25 * ask.within_count * needed / left
    return replace(ask, within_count=_rung(width)) if width < _WIDEST else None


def _rung(width: float) -> float:
    """A width rounded up to 1, 2 or 5 times a power of ten.

    >>> _rung(1.2), _rung(33.0), _rung(700.0)
    (2.0, 50.0, 1000.0)
    """
    step = 1
    while step < width:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return float(step)
