"""`hedgerow backup`, `restore` and `cache`: a dataset's ledger in a file and back, and its coded rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.serve.cli.options import Data, Json, LedgerFile, OlderLedger
from hedgerow.serve.cli.terminal import emit, screen


def backup(
    data: Data,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Copy the ledger of DATA into a file, with a receipt; a server may go on meanwhile."""
    from hedgerow.service import copying
    from hedgerow.service.dataset import Dataset

    receipt = copying.backup(Dataset(data, ledger), out)
    if json:
        emit({"file": str(out), "receipt": receipt.to_json()})
    else:
        screen().print(f"{out}: {receipt.describe()}", soft_wrap=True)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.", show_default=False)],
    data: Data,
    older: OlderLedger = None,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Put the ledger of DATA back from FILE; an old copy is refused, unless there is a reason."""
    from hedgerow.service import copying
    from hedgerow.service.dataset import Dataset

    dataset = Dataset(data, ledger)
    receipt = copying.restore(file, dataset, older)
    if json:
        emit({"ledger": str(dataset.path), "receipt": receipt.to_json()})
    else:
        screen().print(f"{dataset.path}: {receipt.describe()}", soft_wrap=True)


def cache(
    data: Data,
    clear: Annotated[bool, typer.Option("--clear", help="Remove them.")] = False,
    json: Json = False,
) -> None:
    """Show the coded rows that are kept beside DATA, PRIVATE as the rows are, or remove them."""
    from hedgerow.service import kept_rows

    found = kept_rows.clear(data) if clear else kept_rows.held(data)
    if json:
        emit(found.to_json())
    else:
        screen().print(found.words, soft_wrap=True)
