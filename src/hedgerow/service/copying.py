"""Copying a ledger while it is in use, and putting a copy back without forgetting what was spent."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError, LedgerError, of_system
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.receipt import Receipt
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.service import witness
from hedgerow.service.places import open_ledger

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset

_LEDGER, _RECEIPT = "ledger.db", "receipt.json"


def backup(dataset: Dataset, out: Path) -> Receipt:
    """Copy the ledger into one file, with the receipt of what it says; a server may go on meanwhile.

    Args:
        dataset: whose ledger.
        out: the file to write; not written over.
    """
    if os.path.lexists(out):
        raise HedgerowError(f"the file {str(out)!r} is there already: choose another --out")
    _file(dataset)
    with open_ledger(dataset.data, dataset.ledger) as ledger:
        assert ledger.path is not None
        ledger.sync()
        try:
            handle = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise of_system(error, f"the file {str(out)!r} cannot be written") from None
        os.close(handle)
        try:
            with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".hedgerow-") as folder:
                copy = Path(folder) / _LEDGER
                _copied(ledger.path, copy)
                with Ledger.open(copy, create=False, readonly=True) as copied:
                    receipt = copied.receipt()
                with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
                    packed.write(copy, _LEDGER)
                    packed.writestr(_RECEIPT, json.dumps(receipt.to_json()))
        except BaseException:
            with suppress(OSError):
                out.unlink()
            raise
    return receipt


def restore(file: Path, dataset: Dataset, older: str | None) -> Receipt:
    """Put a ledger back; one that is older than what was charged is refused, unless there is a reason.

    Args:
        file: what `backup` wrote.
        dataset: whose ledger it is; there must be none, or an older one of the same.
        older: why an old one is used; what receipts say was spent beyond it is set aside.
    """
    path = _file(dataset)
    with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=".hedgerow-") as folder:
        copy = Path(folder) / "back.db"
        copy.write_bytes(_unpacked(file))
        copy.chmod(0o600)
        with Ledger.open(copy, create=False) as back:
            found = back.verify()
            if not found.ok:
                raise LedgerError(f"the ledger in {str(file)!r} does not verify: {found.problems[0]}")
            _refuse_newer(dataset, back)
            if older is None:
                witness.refuse_older(back, dataset.receipts())
            elif not older.strip():
                raise HedgerowError("--older-than-receipt needs a reason, which is kept in the ledger")
            else:
                witness.excuse_older(back, dataset.receipts(), older.strip())
            receipt = back.receipt()
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")
        os.replace(copy, path)
    return receipt


def _file(dataset: Dataset) -> Path:
    """The ledger's file; a database has its own ways of being copied."""
    if isinstance(path := dataset.path, LedgerUrl):
        raise HedgerowError(
            f"the ledger {path} is in a database: copy that with its own tools, such as pg_dump, keep a "
            "receipt beside the copy, and go on with `hedgerow budget moved` after it was put back"
        )
    return path


def _refuse_newer(dataset: Dataset, back: Ledger) -> None:
    """Refuse to put a ledger in the place of another one, or of one that knows more."""
    if not dataset.has_ledger:
        return
    with Ledger.open(dataset.path, create=False) as here:
        if here.settings.ledger != back.settings.ledger:
            raise LedgerError(f"there is a ledger of other data at {dataset.path}: move it away first")
        if not back.knows(here.receipt()):
            raise LedgerError(
                f"the ledger at {dataset.path} knows more than this backup: what was charged since would be "
                "forgotten; go on with the ledger that is there"
            )


def _unpacked(file: Path) -> bytes:
    try:
        with zipfile.ZipFile(file) as packed:
            return packed.read(_LEDGER)
    except OSError as error:
        raise of_system(error, f"the file {str(file)!r} cannot be read") from None
    except (zipfile.BadZipFile, KeyError):
        raise HedgerowError(f"{str(file)!r} is no backup that `hedgerow backup` wrote") from None


def _copied(path: Path, copy: Path) -> None:
    """A consistent copy by SQLite itself, which may be in use."""
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    copy.chmod(0o600)
