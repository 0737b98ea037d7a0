"""Statements of one text, cut at semicolons that stand in no string, name or comment."""

from __future__ import annotations

import re

_PIECES = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|;|[^'\"\-/$;]+|.", re.S
)


def statements_of(text: str) -> list[str]:
    """The statements, without empty ones.

    Args:
        text: as it was sent.

    >>> statements_of("SELECT 'a;b'; -- no;\\n SELECT 2;")
    ["SELECT 'a;b'", '-- no;\\n SELECT 2']
    """
    found, held = [], ""
    for piece in _PIECES.finditer(text):
        if piece[0] == ";":
            found.append(held)
            held = ""
        else:
            held += piece[0]
    bare = [re.sub(r"--[^\n]*|/\*.*?\*/", "", part, flags=re.S).strip() for part in [*found, held]]
    return [part.strip() for part, said in zip([*found, held], bare, strict=True) if said]
