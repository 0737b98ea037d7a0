"""`hedgerow append`: a block of rows for data that grow."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.serve.cli.options import CsvOptions, Json, LedgerFile, OlderLedger, SchemaFile, UnitColumn
from hedgerow.serve.cli.terminal import emit, screen


class How(Enum):
    """How blocks are charged."""

    confined = "confined"
    shared = "shared"
    yearly = "yearly"


Folder = Annotated[
    Path, typer.Argument(metavar="DATA", help="The folder that holds the blocks.", show_default=False)
]
Block = Annotated[
    Path, typer.Argument(metavar="FILE", help="The new rows: a CSV or Parquet file.", show_default=False)
]


def append(
    data: Folder,
    file: Block,
    reading: CsvOptions,
    day: Annotated[
        str | None, typer.Option(help="The day on which they arrived; the file's name if not given.")
    ] = None,
    schema: SchemaFile = None,
    epsilon: Annotated[str | None, typer.Option(help="Of the budget that the first block makes.")] = None,
    delta: Annotated[str | None, typer.Option(help="Of that budget: 1e-9 if not given, 0 is pure.")] = None,
    growing: Annotated[
        How,
        typer.Option(
            help="confined: a person counts in their first block only, and each block has the whole budget; "
            "shared: blocks share it; yearly: the rows of each year of arrival have it."
        ),
    ] = How.confined,
    unit: UnitColumn = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="How many rows of each person count.")] = None,
    years: Annotated[
        int | None, typer.Option(min=1, help="yearly: for how many years the promise of a lifetime is.")
    ] = None,
    reserve: Annotated[
        str, typer.Option(help="confined: the part of a block's budget that is kept for ranges of blocks.")
    ] = "0",
    ledger: LedgerFile = None,
    older: OlderLedger = None,
    json: Json = False,
) -> None:
    """Append FILE to DATA as a block, for good; the first one needs --epsilon, and says whom to protect.

    Its rows are checked and copied into the folder, those that count; then the block is announced. Blocks are
    never changed: rows that come late belong to the day on which they come.
    """
    from hedgerow.service.appending import Grower

    how = growing.value
    grower = Grower(data, schema, ledger, epsilon, delta, how, unit, max_rows, years, reserve, older)
    block, words = grower.append(file, day, **vars(reading))
    if json:
        emit({"number": block.number, "name": block.name, "by": block.by, "year": block.year, "notes": words})
        return
    screen().print(f"Block {block.number} ({block.name}) was appended to {data.name}.", soft_wrap=True)
    for sentence in words:
        screen().print(sentence, soft_wrap=True)
