"""Saved: questions that people keep by a name; a question is kept, and never its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.errors import BadValue
from hedgerow.service.asking import Ask

if TYPE_CHECKING:
    from hedgerow.service.state import ServerState

_MOST, _NAME = 200, 80


@dataclass(frozen=True)
class SavedQuestion:
    """A question by its name: the statement, and how far off it may be, in rows."""

    name: str
    sql: str
    within: float | None


class Saved:
    """The questions that people keep at a server, each their own.

    Args:
        state: where they are kept.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def of(self, dataset: str, who: str) -> list[SavedQuestion]:
        """What somebody keeps of a dataset, by name."""
        sql = "SELECT name, sql, within FROM saved WHERE dataset = ? AND who = ? ORDER BY name"
        return [SavedQuestion(*row) for row in self._state.rows(sql, dataset, who)]

    def keep(self, dataset: str, who: str, name: str, ask: Ask) -> None:
        """Keep a question, in the place of one of the same name."""
        name = " ".join(name.split())
        if not 0 < len(name) <= _NAME or not name.isprintable():
            raise BadValue(f"a question is kept by a name of up to {_NAME} signs")
        if len(ask.sql) > 20_000 or not ask.sql.strip():
            raise BadValue("a question that is kept is one SELECT statement")
        if len(self.of(dataset, who)) >= _MOST:
            raise BadValue(f"{_MOST} questions are kept already", hint="take one away first")
        with self._state.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO saved VALUES (?, ?, ?, ?, ?)",
                (dataset, who, name, ask.sql, ask.within_count),
            )

    def drop(self, dataset: str, who: str, name: str) -> None:
        """Keep it no more."""
        with self._state.writing() as db:
            db.execute("DELETE FROM saved WHERE dataset = ? AND who = ? AND name = ?", (dataset, who, name))
