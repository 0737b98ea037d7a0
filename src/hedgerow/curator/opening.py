"""The ledger that belongs to a table: found beside the data, and refused when it protects something else."""

from __future__ import annotations

from pathlib import Path

from hedgerow.curator.table import Table
from hedgerow.curator.unit_ids import EARLIER
from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger import Ledger

_SUFFIX = ".hedgerow.db"


def open_ledger(
    table: Table, budget: Budget | None, ledger: Ledger | str | Path | None, neighbours: str | None
) -> Ledger:
    """The dataset's ledger: an open one, a path, or the file beside the data."""
    if ledger is None:
        if table.location and not table.location.exists():
            raise LedgerError(
                f"{table.location.name!r} is a pattern of files: say which ledger is theirs, with `ledger`"
            )
        ledger = f"{table.location}{_SUFFIX}" if table.location else ":memory:"
    unit = table.unit
    earlier = unit is not None and unit.type == EARLIER
    if not isinstance(ledger, Ledger):
        ledger = Ledger.open(
            ledger,
            budget=budget,
            neighbours=neighbours,
            unit=unit.column if unit else None,
            max_rows=unit.max_rows if unit else 1,
            null_units=unit.null_units if unit else None,
            unit_type=unit.type if unit and not earlier else None,
            create=not earlier,
        )
    elif budget is not None and budget != ledger.budget:
        raise LedgerError(f"the ledger holds {ledger.budget!r}, not {budget!r}")
    settings = ledger.settings
    if unit and settings.null_units != unit.null_units:
        raise LedgerError(f"the dataset's ledger was made for null_units={settings.null_units!r}")
    if unit and unit.type != (EARLIER if earlier and settings.spelling == 1 else settings.unit_type):
        raise LedgerError(
            f"the dataset's ledger was made for unit_type={settings.unit_type!r}; open the table alike"
        )
    if settings.unit != (unit.column if unit else None) or settings.max_rows != (
        unit.max_rows if unit else 1
    ):
        whom = f"unit={settings.unit!r}, max_rows={settings.max_rows}" if settings.unit else "single rows"
        raise LedgerError(f"the dataset's ledger protects {whom}; open the table in the same way")
    if neighbours is not None and settings.neighbours != neighbours:
        raise LedgerError(f"the dataset's ledger was made for neighbours={settings.neighbours!r}")
    return ledger
