"""Addresses of databases and servers where commands take files: a path holds them whole."""

from __future__ import annotations

import re
from pathlib import Path

_LOCAL = re.compile(r"(postgres(?:ql)?):///(?!/)([^?#]*)(\?[^#]*)?(#.*)?")


def is_address(text: object) -> bool:
    """Whether somebody means a database, also where a path has lost a slash of it."""
    return re.match(r"postgres(ql)?:/", str(text)) is not None


def is_remote(data: Path) -> bool:
    """Whether DATA is a dataset at a server, also where a path has lost a slash of its address."""
    return re.match(r"https?:/", str(data)) is not None


def as_path(text: str) -> Path:
    """DATA as somebody typed it; a path would lose the slashes of `postgresql:///database`.

    >>> as_path("postgresql:///stats?user=ann").as_posix()
    'postgresql:/?dbname=stats&user=ann'
    """
    found = _LOCAL.fullmatch(text)
    if found is None:
        return Path(text)
    scheme, name, rest, ledger = (part or "" for part in found.groups())
    options = "&".join(part for part in (f"dbname={name}" if name else "", rest[1:]) if part)
    return Path(f"{scheme}:/?{options}{ledger}")


def absolute(data: Path) -> str:
    """DATA for a server, which may work in another folder; an address is one everywhere."""
    return data.as_posix() if is_address(data.as_posix()) else str(data.absolute())
