"""Keys: what rows are grouped by, as axes of a question and as columns of the released table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.figures import NULL
from hedgerow.queries.form import GroupAxis
from hedgerow.queries.question import GroupColumn
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.predicate import Truth
from hedgerow.queries.sql.stages.expression import quoted
from hedgerow.queries.sql.stages.levels import is_exact, sql_type
from hedgerow.queries.sql.statement import grouped, possible

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Keys:
    """What rows are grouped by, as axes and as values of the engine."""

    columns: tuple[SqlColumn, ...]
    groups: tuple[GroupColumn, ...]
    axes: tuple[GroupAxis, ...]
    firsts: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(cls, columns: Sequence[SqlColumn]) -> Keys:
        """Of columns of GROUP BY."""
        return cls(tuple(columns), *(grouped(columns) if columns else ((), (), ())))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return prod(axis.size for axis in self.axes)

    @property
    def types(self) -> list[str]:
        """The engine's type of each column; the names of bins are ordered as the bins are."""
        return [
            sql_type(c)
            if is_exact(c)
            else f"ENUM({', '.join(quoted(v) for v in dict.fromkeys(c.body.labels))})"
            for c in self.columns
        ]

    def values(self) -> list[list[Any]]:
        """For each column its value in every group; of a column in bins their names."""
        shape = [axis.size for axis in self.axes]
        cells = np.unravel_index(np.arange(self.size), shape) if shape else ()
        out = []
        for column, group in zip(self.columns, self.groups, strict=True):
            named = [None if v is None else column.body.labels[i] for i, v in enumerate(column.values)]
            held = column.values if is_exact(column) else named
            codes = self.firsts[group.axis][cells[group.axis]]
            out.append([held[code] for code in codes.tolist()])
        return out

    def without(self, names: Sequence[str]) -> str | None:
        """A condition that leaves out some groups of one column of text; None of any other."""
        column = self.columns[0]
        if len(self.columns) > 1 or column.hierarchy is not None or column.kind != "text":
            return None
        said = [f"{column.name} <> {quoted(n)}" for n in names if n != NULL]
        return " AND ".join([*said, *([f"{column.name} IS NOT NULL"] if NULL in names else [])])

    def possible(self, conditions: Sequence[Truth]) -> NDArray[np.bool_]:
        """The groups that conditions on their own attributes leave: the schema says that others are empty."""
        return possible(self.axes, conditions)
