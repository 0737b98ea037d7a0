"""Statements: SQL as it is typed, line by line, cut where a statement ends."""

from __future__ import annotations

import re

# A piece that hides what is in it: a quoted text or name, or a comment; the last one may not have ended yet.
_PIECE = re.compile(r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;""", re.S)


def cut(text: str) -> tuple[list[str], str]:
    """The statements of a text that have ended, and what is left of it.

    >>> cut("SELECT ';' -- a; b\\n; SELECT 2; SEL")
    (["SELECT ';' -- a; b", 'SELECT 2'], ' SEL')
    """
    done, start = [], 0
    for piece in _PIECE.finditer(text):
        if piece[0] == ";":
            done.append(text[start : piece.start()].strip())
            start = piece.end()
    return [statement for statement in done if says_something(statement)], text[start:]


def says_something(text: str) -> bool:
    """Whether there is more in a text than spaces and comments."""
    return bool(re.sub(r"--[^\n]*|/\*.*?(?:\*/|\Z)", "", text, flags=re.S).strip())
