"""Training rows: features and classes given as arrays become a table like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.curator.rows.table import Table
from hedgerow.queries.domain.encoding import to_arrow

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain


class TrainingEngine(MemoryEngine):
    """Columns of any type: what an attribute cannot read falls back to a declared level, silently."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self.untyped = True


def training_table(columns: Mapping[str, Any], domain: Domain) -> Table:
    """Private rows from one array per attribute."""
    import pyarrow as pa

    read = {n: to_arrow(columns[n], timed=n in domain.moments) for n in domain.columns}
    return Table(TrainingEngine(pa.table(read)), domain, None, None)
