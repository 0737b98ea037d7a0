"""Inner: a statement inside a condition on rows."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.queries.sql.stages.relation import Released


@dataclass(frozen=True)
class Inner:
    """A statement inside a condition on rows: it is released first, and rows are compared with what it gave.

    Args:
        words: as it was typed.
        relation: what gives its value, or values.
        stages: the names of the first stages that must be answered for it.
        many: whether it stands for a list of values.
    """

    words: str
    relation: Released
    stages: frozenset[str]
    many: bool
