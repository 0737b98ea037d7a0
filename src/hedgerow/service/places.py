"""Places: where a dataset's ledger and schema lie, and what is said when they do not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from glob import glob
from pathlib import Path
from typing import Any

from hedgerow.curator.rows.files import is_csv, refuse_other
from hedgerow.errors import HedgerowError, LedgerError, missing
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.nearby import ledger_path
from hedgerow.privacy.ledger.place import Data, knowing
from hedgerow.privacy.ledger.sqlite import is_ledger
from hedgerow.privacy.ledger.url import LedgerUrl, Where, has_ledger
from hedgerow.release.schema import Schema

Named = str | os.PathLike[str] | LedgerUrl | None
"""A ledger as somebody named it."""


def find_ledger(data: Path, named: Named = None) -> Where:
    """A dataset's ledger: the file or database that is named, or the file beside the data.

    Args:
        data: the data, or its ledger; an address without a ledger named beside it is one.
        named: the ledger, if it was named.
    """
    if (url := LedgerUrl.of(data if named is None else named)) is not None:
        return url
    is_one = data.is_file() and is_ledger(data)
    ledger = None if named is None else Path(str(named))
    if ledger is None:
        return data if is_one else ledger_path(data)
    if str(ledger) == ":memory:":
        raise HedgerowError("a ledger in memory is for simulations in Python: name a file with --ledger")
    if ledger.is_dir():
        raise HedgerowError(f"a ledger is a file, and {str(ledger)!r} is a folder: name a file with --ledger")
    if is_one and data.resolve() != ledger.resolve():
        raise HedgerowError(
            f"{str(data)!r} is a ledger, and --ledger (or HEDGEROW_LEDGER) names another one: name the data, "
            "or leave --ledger out"
        )
    return ledger


def is_there(place: Where) -> bool:
    """Whether there is a ledger; a link that leads nowhere counts, as nothing is made in its place."""
    return has_ledger(place) if isinstance(place, LedgerUrl) else os.path.lexists(place)


def shown(data: Path) -> str:
    """Data as people read of them: a file's name, or an address without its password."""
    url = LedgerUrl.of(data)
    return data.name if url is None else str(url).rpartition("#")[0]


def refuse_unnamed(data: Path, path: Where) -> None:
    """Where there is no ledger at `path`, refuse data that one near them knows, and name that one."""
    if LedgerUrl.of(data) is not None:
        return
    known = Data.named(data)
    beside = Path(os.devnull) if isinstance(path, LedgerUrl) else path.resolve()
    other = None if known is None else knowing(known, beside)
    if other is not None:
        raise LedgerError(
            f"there is no ledger {str(path)!r}, but {str(other)!r} knows the data {data.name!r}: name it "
            "with --ledger, or rename it"
        )


def refuse_missing(data: Path, ledger: Named) -> None:
    """Refuse data that are not there, and data beside which no ledger can lie when none is named."""
    if LedgerUrl.of(data) is not None:
        return
    if data.is_file():
        if not is_ledger(data):
            refuse_other(data)
    elif data.is_dir():
        if not any(data.rglob("*.parquet")):
            raise HedgerowError(
                f"the folder {str(data)!r} holds no Parquet files: name a CSV or Parquet file"
            )
    elif data.exists():
        raise HedgerowError(f"{str(data)!r} is no file that can be read again: write its rows to one")
    elif re.match(r"(?i)\s*(select|with)\s", str(data)):
        raise HedgerowError("the data comes first, and then the statement: hedgerow ask DATA SQL")
    elif not any(sign in str(data) for sign in "*?["):
        raise missing(data)
    elif ledger is None:
        raise HedgerowError(
            f"{str(data)!r} is a pattern of files: say which ledger is theirs with --ledger, or name "
            "their folder"
        )
    elif not glob(str(data), recursive=True):
        raise HedgerowError(f"no file matches {str(data)!r}")


def open_ledger(data: Path, ledger: Named = None, *, readonly: bool = False) -> Ledger:
    """The ledger of data, or the data itself if it is one; an auditor may have no right to write.

    Args:
        data, ledger: as in `find_ledger`.
        readonly: read only.
    """
    path = find_ledger(data, ledger)
    if isinstance(path, LedgerUrl):
        return Ledger.open(path, create=False, readonly=readonly)
    if not path.absolute().parent.exists():
        raise missing(path)
    if not path.exists() and ledger is None and not data.exists():
        raise LedgerError(f"there is no file {str(data)!r}, and no ledger {str(path)!r} beside it")
    if not path.exists():
        refuse_unnamed(data, path)
        raise LedgerError(
            f"the data {shown(data)!r} has no budget yet: there is no {path}; make one with `hedgerow budget "
            "init`, or name its ledger with --ledger"
        )
    return Ledger.open(path, create=False, readonly=readonly)


def protected_unit(data: Path, ledger: Named = None) -> str | None:
    """The unit that a dataset's ledger protects, if it has one."""
    path = find_ledger(data, ledger)
    if ledger is None and not is_there(path):
        return None
    with Ledger.open(path, readonly=True) as opened:
        return opened.settings.unit


def csv_reading(data: Path, said: Mapping[str, Any], schema: Path) -> dict[str, Any]:
    """How a CSV file is read: as was said, else as its schema says, if its owner confirmed that.

    Args:
        data: the data, of any kind.
        said: encoding, delimiter and multiline, or those of them that were said.
        schema: the schema file, if it is there.
    """
    if not is_csv(data) or not schema.is_file():
        return dict(said)
    found = Schema.load(schema)
    return read_by(found, data, said) if found.confirmed else dict(said)


def read_by(schema: Schema, data: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    """How data are read: as was said, else, if they are a CSV file, as a schema says, confirmed or not.

    Args:
        schema: the schema.
        data: of any kind.
        said: encoding, delimiter and multiline.
    """
    return schema.read_by(said) if is_csv(data) else dict(said)


def schema_beside(data: Path) -> Path:
    """The schema file of data for which none is named: beside them, else in the working folder."""
    if LedgerUrl.of(data) is not None:
        return Path("schema.yaml")
    beside, here = data.parent / "schema.yaml", Path("schema.yaml")
    return here if not beside.exists() and here.exists() else beside
