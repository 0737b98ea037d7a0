"""Options about a dataset's ledger, which every command that opens data shares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        envvar="HEDGEROW_LEDGER",
        show_envvar=False,
        help="The ledger file, if not beside the data; HEDGEROW_LEDGER in the environment says the same.",
    ),
]
RequireBudget = Annotated[
    bool,
    typer.Option(
        "--require-budget",
        envvar="HEDGEROW_REQUIRE_BUDGET",
        show_envvar=False,
        help="Refuse data without a budget instead of making one; HEDGEROW_REQUIRE_BUDGET=1 says the same.",
    ),
]
NewLedger = Annotated[
    str | None,
    typer.Option(
        metavar="REASON", help="Make a new ledger although an earlier one of this data is known: why."
    ),
]
OlderThanReceipt = Annotated[
    str | None,
    typer.Option(
        metavar="REASON",
        help="Go on with a ledger older than what was charged to it, and set that aside: why.",
    ),
]
