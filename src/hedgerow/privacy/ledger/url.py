"""LedgerUrl: a ledger that lies in a PostgreSQL database, as people name it."""

from __future__ import annotations

import os
import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError

_SCHEMES = ("postgresql", "postgres")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PASSWORD = re.compile(r"(?<=://)([^:/?@]*):.*@", re.S)  # up to the last @: one may be in the password
_SECRET = re.compile(r"([?&][^=&]*(?:pass|secret)[^=&]*=)[^&]*", re.I)
DEFAULT = "hedgerow"


@dataclass(frozen=True)
class LedgerUrl:
    """`postgresql://user@host:port/database#name`: the name tells the ledgers of one database apart.

    Args:
        text: the address, as libpq takes it.
        name: the schema of the database in which the ledger lies.

    >>> LedgerUrl.of("postgresql://ann:secret@db/stats#people")
    LedgerUrl('postgresql://ann:***@db/stats#people')
    """

    text: str
    name: str = DEFAULT

    @classmethod
    def of(cls, given: Any) -> LedgerUrl | None:
        """The address that is meant, or None if that is a file; a Path has lost one of the two slashes."""
        if isinstance(given, LedgerUrl):
            return given
        text = str(given) if isinstance(given, str | os.PathLike) else ""
        scheme, colon, rest = text.partition(":")
        if not colon or scheme not in _SCHEMES or not rest.startswith("/"):
            return None
        address, _, name = f"{scheme}://{rest.lstrip('/') if rest[:3] != '///' else rest[2:]}".partition("#")
        if name and not _NAME.fullmatch(name):
            told = "by what stands there (a # in a password is written %23)" if "@" in name else repr(name)
            raise LedgerError(
                f"A ledger in PostgreSQL is called by small letters, digits and _, not {told}: "
                "write it behind a # at the end of its address."
            )
        return cls(address, name or DEFAULT)

    @property
    def shown(self) -> str:
        """The address without its secrets, whether or not they were written as an address wants them."""
        return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1:***@", self.text))

    def __str__(self) -> str:
        return f"{self.shown}#{self.name}"

    def __repr__(self) -> str:
        return f"LedgerUrl({str(self)!r})"


Where = Path | LedgerUrl
"""Where a ledger is: a file, or a database."""


def has_ledger(url: LedgerUrl) -> bool:
    """Whether there is a ledger in a database."""
    from hedgerow.privacy.ledger.postgres import connect, has_lines

    connection, here = connect(url)
    with closing(connection):
        return bool(here[2]) and has_lines(connection, url)
