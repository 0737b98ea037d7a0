"""The section `csv` of a schema file: how CSV files are written, as far as their header does not show it."""

from __future__ import annotations

import codecs
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hedgerow.errors import DomainMismatch

_CSV = {"encoding": str, "delimiter": str, "multiline": bool}
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
"""What stands between two cells, by name."""
_SUCH = ', such as {encoding: cp1252, delimiter: ";", multiline: true}'
_LONGEST = 40  # letters of what is shown of a wrong value


def csv_section(told: Any, path: Path) -> dict[str, Any]:
    """What is said there, and nothing that cannot be.

    Args:
        told: the section.
        path: the schema file.
    """
    if not isinstance(told, dict):
        raise DomainMismatch(f"`csv` in {str(path)!r} is a mapping{_SUCH}")
    for key, value in told.items():
        if key not in _CSV:
            near = get_close_matches(str(key), _CSV, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else _SUCH
            raise DomainMismatch(f"`csv` in {str(path)!r} has no {_short(key)}{meant}")
        if not isinstance(value, _CSV[key]):
            kind = "true or false" if _CSV[key] is bool else "a text"
            raise DomainMismatch(f"`{key}` of `csv` in {str(path)!r} is {kind}, not {_short(value)}{_SUCH}")
    encoding, delimiter = told.get("encoding", "utf-8"), told.get("delimiter", ",")
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise DomainMismatch(
            f"`encoding` of `csv` in {str(path)!r}: there is no text encoding {_short(encoding)}; try cp1252"
        ) from None
    if len(delimiter) != 1 and delimiter.lower() not in DELIMITERS:
        raise DomainMismatch(
            f"`delimiter` of `csv` in {str(path)!r} is a character, or `tab`, not {_short(delimiter)}"
        )
    return told


def _short(value: Any) -> str:
    """Something that was written, as a message shows it."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
