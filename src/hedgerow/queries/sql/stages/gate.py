"""The gate of SQL in two stages: what the parser is given is bounded, and parameters become literals.

The parser is recursive and on some words exponential in the nesting, so words and nesting are bounded before.
What a statement means is decided by the lists of `expression`, `windows` and `split` alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hedgerow.errors import BadValue, UnsupportedSQL
from hedgerow.queries.sql.stages.date_spellings import turned
from hedgerow.queries.sql.stages.levels import literal
from hedgerow.queries.sql.stages.rewriting import rewritten
from hedgerow.queries.sql.stages.spellings import respelled
from hedgerow.queries.sql.tokens import TYPES, check_nesting, tokens_of, tree_of

NESTING = 20
_T = TokenType
_COSTLY = 12  # JOINs, and types used as functions: each may double the parser's work
_FIRST = frozenset({_T.SELECT, _T.WITH, _T.L_PAREN})
_LARGEST = 1e18


def parse_staged(text: str, params: Sequence[Any] = (), dates: Container[str] = ()) -> exp.Expr:
    """The syntax tree of one statement of the larger dialect.

    Args:
        text: the statement.
        params: values for ? in order, or for $1, $2: they become typed literals, and never text.
        dates: the columns of dates, casefolded.
    """
    tree: exp.Expr = rewritten(respelled(_bound(parse_unbound(text), params)), turned(dates))
    return tree


def parse_unbound(text: str) -> exp.Expr:
    """The same with parameters in it."""
    tokens = tokens_of(text)
    kinds = [token.token_type for token in tokens]
    if not kinds or kinds[0] not in _FIRST:
        start = tokens[0].text[:40].upper() if tokens else "a comment, or nothing,"
        raise UnsupportedSQL(
            f"a statement that starts with {start} is not supported; ask with SELECT ... FROM ..."
        )
    if _T.SEMICOLON in kinds:
        raise UnsupportedSQL("two statements in one text are not supported; ask them one by one")
    pairs = zip(kinds, [*kinds[1:], None], strict=True)
    costly = sum(kind is _T.JOIN or (kind in TYPES and after is _T.L_PAREN) for kind, after in pairs)
    if costly > _COSTLY:
        raise UnsupportedSQL(f"more than {_COSTLY} joins or types used as functions are not supported")
    check_nesting(tokens, NESTING)
    return tree_of(_numbered(tokens), text)


def _numbered(tokens: Sequence[Token]) -> list[Token]:
    """The same with ? as $1, $2, in the order in which they are written."""
    out: list[Token] = []
    found = 0
    for token in tokens:
        if token.token_type is not _T.PLACEHOLDER:
            out.append(token)
            continue
        found += 1
        place = (token.line, token.col, token.start, token.end)
        out += [Token(_T.PARAMETER, "$", *place), Token(_T.NUMBER, str(found), *place)]
    if found and len(out) != len(tokens) + found:
        raise UnsupportedSQL("parameters are ? in order, or $1, $2 by their number")
    return out


def _bound(tree: exp.Expr, params: Sequence[Any]) -> exp.Expr:
    """The tree with values in place of parameters."""
    marks = list(tree.find_all(exp.Placeholder, exp.Parameter))
    if not all(str(node.name).isdecimal() and len(str(node.name)) < 5 for node in marks):
        raise UnsupportedSQL("parameters are ? in order, or $1, $2 by their number")
    places = [int(node.name) for node in marks]
    wanted = max(places, default=0)
    if wanted != len(params) or 0 in places:
        raise BadValue(f"the statement has {wanted} parameters, and {len(params)} values were given for them")
    for node, place in zip(marks, places, strict=True):
        node.replace(literal(_value(params[place - 1], place)))
    return tree


def _value(given: Any, place: int) -> Any:
    """A parameter's value as plain Python; refuses what SQL has no literal for."""
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, Decimal):
        given = float(given)
    if isinstance(given, dt.datetime):
        given = given.date()
    if given is None or isinstance(given, (bool, str, dt.date)):
        return given
    if isinstance(given, (int, float)) and isfinite(given) and abs(given) <= _LARGEST:
        return given
    raise BadValue(
        f"parameter {place} is a number, a text, a date, true, false or None, not a {type(given).__name__}"
    )
