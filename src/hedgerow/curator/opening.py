"""The ledger that belongs to a table: found beside the data, and refused when it protects something else."""

from __future__ import annotations

from pathlib import Path

from hedgerow.curator.growing.block_rows import BlockRows
from hedgerow.curator.rows.table import Table
from hedgerow.curator.rows.unit import Unit
from hedgerow.curator.rows.unit_ids import EARLIER
from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.ledger import Ledger, Settings
from hedgerow.privacy.ledger.nearby import SUFFIX
from hedgerow.privacy.ledger.place import Data
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.ledger.url import LedgerUrl


def open_ledger(
    table: Table,
    budget: Budget | None,
    ledger: Ledger | Store | str | Path | LedgerUrl | None,
    neighbours: str | None,
    reason: str | None = None,
    account: str = "owner",
) -> Ledger:
    """The dataset's ledger: an open one, a path, a store, or the file beside the data.

    Args:
        table: the private rows.
        budget, neighbours: what the ledger must say, or will if it is new.
        ledger: the ledger, its path or its store; None for the one that belongs to the table.
        reason: why a new one is made although another one knows the data.
        account: who will pay; of growing data it must be for the blocks that are read.
    """
    if ledger is None:
        ledger = _beside(table)
    unit = table.unit
    earlier = unit is not None and unit.type == EARLIER
    handed = isinstance(ledger, Ledger)
    if not isinstance(ledger, Ledger):
        ledger = Ledger.open(
            ledger,
            budget=budget,
            neighbours=neighbours,
            unit=unit.column if unit else None,
            max_rows=unit.max_rows if unit else 1,
            null_units=unit.null_units if unit else None,
            data=known_as(table),
            reason=reason,
            unit_type=unit.type if unit and not earlier else None,
            create=not earlier,
        )
    elif not ledger.keeps(budget):
        raise LedgerError(
            f"the ledger holds {ledger.budget!r}, not {budget!r}",
            hint="leave the budget out, or make it larger with `hedgerow budget raise`",
        )
    settings = ledger.settings
    _refuse_others(unit, settings)
    if neighbours is not None and settings.neighbours != neighbours:
        raise LedgerError(
            f"the dataset's ledger was made for neighbours={settings.neighbours!r}; say the same, or nothing"
        )
    if settings.growing is not None or isinstance(table._engine, BlockRows):
        _refuse_strange_blocks(table, settings)
        ledger.refuse_outside(account, scope_of(table))
    if handed and (data := known_as(table)) is not None:  # one that was opened here has noted them
        ledger.know(data)
    return ledger


def _refuse_others(unit: Unit | None, settings: Settings) -> None:
    """Refuse rows of other people, or bounded in another way, than the ledger protects."""
    if unit and settings.null_units != unit.null_units:
        raise LedgerError(
            f"the dataset's ledger was made for null_units={settings.null_units!r}; open the table alike"
        )
    early = unit is not None and unit.type == EARLIER and settings.spelling == 1
    if unit and not early and unit.type != settings.unit_type:
        raise LedgerError(
            f"the dataset's ledger was made for unit_type={settings.unit_type!r}; open the table alike"
        )
    if settings.unit != (unit.column if unit else None) or settings.max_rows != (
        unit.max_rows if unit else 1
    ):
        whom = f"unit={settings.unit!r}, max_rows={settings.max_rows}" if settings.unit else "single rows"
        raise LedgerError(f"the dataset's ledger protects {whom}; open the table in the same way")


def known_as(table: Table) -> Path | Data | None:
    """What a ledger notes of where rows are: the file as it was named, or which table of a database it is."""
    source = getattr(table._engine, "identity", None)
    return table.named if source is None else Data.table(*source)


def scope_of(table: Table) -> Scope | None:
    """The blocks or years of growing data that a table is of; None where it does not grow."""
    return table._engine.scope if isinstance(table._engine, BlockRows) else None


def _refuse_strange_blocks(table: Table, settings: Settings) -> None:
    """Rows that grow are read in blocks that their ledger announced, and only with that ledger."""
    engine = table._engine
    if isinstance(engine, BlockRows) and engine.ledger != settings.ledger:
        raise LedgerError("these blocks were announced by another ledger")
    if settings.growing is not None and not isinstance(engine, BlockRows):
        raise LedgerError("the ledger is of data that grow: open them with hedgerow.Growing")


def _beside(table: Table) -> str:
    """Where a table's ledger is if nobody says: beside the file, or in memory for a frame in memory."""
    if table.location is None and table.in_memory:
        return ":memory:"
    if table.location is None:
        raise LedgerError("the rows do not come from a file: say which ledger is theirs, with `ledger=`")
    if not table.location.exists():
        raise LedgerError(
            f"{table.location.name!r} is a pattern of files: say which ledger is theirs, with `ledger=`"
        )
    return f"{table.location}{SUFFIX}"
