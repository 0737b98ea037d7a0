"""Completion: what may follow in a line of SQL - columns, the levels of a column, words of the language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

WORDS = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "LIMIT",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS NULL",
    ),
    *("COUNT(*)", "SUM(", "AVG(", "AS", "CASE", "WHEN", "THEN", "ELSE", "END", "DESC", "DISTINCT", "LIKE"),
)
DELIMITERS = " \t\n(),;=<>!"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r'"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*')


class Completion:
    """What completes a word.

    Args:
        columns: every column with its levels.
        tables: the names by which the rows can be called.
        commands: dot commands.
    """

    def __init__(
        self, columns: Mapping[str, Sequence[str]], tables: Sequence[str], commands: Sequence[str]
    ) -> None:
        self._names = {quoted_name(name): levels for name, levels in columns.items()}
        self._tables, self._commands = list(tables), list(commands)

    def of(self, before: str, word: str) -> list[str]:
        """All that the word can become, best first.

        Args:
            before: the line before the word.
            word: what is typed of it.

        >>> Completion({"sex": ["female", "male"]}, ["t"], [".budget"]).of("WHERE sex = ", "'f")
        ["'female'"]
        """
        if not before.strip() and word.startswith("."):
            return [command for command in self._commands if command.startswith(word)]
        if word.startswith("'"):
            return _beginning(word, [_quoted(level) for level in self._levels(before)])
        found = _beginning(word, [*self._names, *self._tables, *WORDS])
        if word.startswith('"'):
            return found
        return found + [
            n for n in self._names if n.startswith('"') and word and n[1:].lower().startswith(word.lower())
        ]

    def _levels(self, before: str) -> list[str]:
        """The levels of the column that was named last; of all columns, if none was."""
        named = [name for name in _NAME.findall(before) if name in self._names]
        chosen = named[-1:] or list(self._names)
        return list(dict.fromkeys(level for name in chosen for level in self._names[name]))


def quoted_name(name: str) -> str:
    """A column's name as SQL writes it."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _quoted(level: str) -> str:
    return "'" + level.replace("'", "''") + "'"


def _beginning(word: str, among: Sequence[str]) -> list[str]:
    return [found for found in among if found.lower().startswith(word.lower())]
