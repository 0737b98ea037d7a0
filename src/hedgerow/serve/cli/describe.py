"""`hedgerow describe`: what can be asked of a release or a dataset, and how well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.options import Json, LedgerFile, SchemaFile
from hedgerow.serve.cli.terminal import emit, screen

if TYPE_CHECKING:
    from hedgerow.service.describing import Description

_PAIRS = 10

Thing = Annotated[
    Path,
    typer.Argument(
        metavar="DATA|SYNOPSIS",
        help="The data, or a file or folder that `release` wrote.",
        show_default=False,
    ),
]


def describe(
    thing: Thing,
    schema: SchemaFile = None,
    everything: Annotated[bool, typer.Option("--all", help="Every pair, not only the worst.")] = False,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Say what can be asked of a release or of DATA: columns, levels, and how good each pair is.

    Of DATA it reads the declared schema and the ledger, never a row. Nothing is charged.
    """
    from hedgerow.service import describing
    from hedgerow.service.dataset import Dataset
    from hedgerow.service.released import released_in

    file = released_in(thing)
    if file is not None:
        found = describing.of_synopsis(file)
    else:
        found = describing.of_dataset(Dataset(thing, ledger=ledger, schema=schema))
    if json:
        emit(found.to_json())
    else:
        show(found, everything=everything)


def show(found: Description, *, everything: bool = False) -> None:
    """Print a description."""
    from rich.table import Table

    to = screen()
    for sentence in found.sentences:
        to.print(sentence, soft_wrap=not to.is_terminal)
    if found.columns:
        to.print()
        to.print(columns_table(found))
    if not found.pairs:
        return
    shown = found.pairs if everything else found.pairs[:_PAIRS]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("two columns together")
    for name in ("cells", "each cell, 0.95"):
        table.add_column(name, justify="right")
    for pair in shown:
        table.add_row(" x ".join(pair.names), f"{pair.cells:,}", pair.words())
    to.print()
    to.print(table)
    if rest := len(found.pairs) - len(shown):
        to.print(
            f"The other {rest:,} pairs are better, the best {found.pairs[-1].words()}: --all lists them."
        )


def columns_table(found: Description) -> Any:
    """The columns of a description as a table for the screen."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("column", "kind", "levels or bins"):
        table.add_column(name)
    for column in found.columns:
        table.add_row(column.name, f"{len(column.levels)} {column.kind}", column.words)
    return table
