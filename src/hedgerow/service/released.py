"""Released: which synopsis a path names. Free questions go this way, and load nothing that opens rows."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hedgerow.errors import HedgerowError
from hedgerow.privacy.ledger.url import LedgerUrl

SYNOPSIS = "synopsis.hedgerow"


def released_in(path: Path) -> Path | None:
    """The synopsis file that a path names, or the one in a release's folder; None for anything else.

    Args:
        path: a file or a folder.
    """
    if LedgerUrl.of(path) is None:
        refuse_address(path)
    if path.is_dir():
        return path / SYNOPSIS if (path / SYNOPSIS).is_file() else None
    if path.is_file() and (path.suffix == ".hedgerow" or zipfile.is_zipfile(path)):
        return path
    return None


def refuse_address(path: Path) -> None:
    """Servers are asked in another way, and not by this version.

    Args:
        path: what was named.
    """
    if LedgerUrl.of(path) is not None or str(path).startswith(("http:/", "https:/")):
        from hedgerow.service.places import shown

        given = shown(path) if LedgerUrl.of(path) is not None else str(path).replace(":/", "://", 1)
        raise HedgerowError(
            f"{given!r} is an address: name a data file here, or a synopsis that was released"
        )
