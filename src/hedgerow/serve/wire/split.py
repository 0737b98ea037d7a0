"""Statements of one text, cut at semicolons that stand in no string, name or comment."""

from __future__ import annotations

import re

from hedgerow.errors import BadSQL, RangeTooLarge

MOST, DEEPEST = 20_000, 100  # characters of a text; brackets within brackets
_COMMENT = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_PIECES = re.compile(
    r"'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;|[()]|[^'\"\-/;()]+|.", re.S
)


def statements_of(text: str) -> list[str]:
    """The statements, without empty ones.

    Args:
        text: as it was sent.

    >>> statements_of("SELECT 'a;b'; -- no;\\n SELECT 2;")
    ["SELECT 'a;b'", '-- no;\\n SELECT 2']
    """
    if len(text) > MOST:
        raise RangeTooLarge(f"a statement may have up to {MOST:,} characters")
    found: list[list[str]] = [[]]
    depth = 0
    for piece in _PIECES.finditer(text):
        if piece[0] == ";":
            found.append([])
            continue
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth > DEEPEST:
            raise BadSQL(f"more than {DEEPEST} brackets within each other are not read")
        found[-1].append(piece[0])
    parts = ["".join(pieces).strip() for pieces in found]
    return [part for part in parts if _COMMENT.sub("", part).strip()]
