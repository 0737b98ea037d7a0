"""Cursor: PEP 249's way of asking, one statement after the other, rows as tuples."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

from hedgerow.client.client import Client
from hedgerow.client.client import connect as open_client
from hedgerow.client.dbapi_failure import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    raised,
)
from hedgerow.client.served import ServedAnswer

apilevel = "2.0"
threadsafety = 1  # threads may share the module, not a connection
paramstyle = "qmark"

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The day of a moment."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """The time of day of a moment."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """A moment."""
    return Timestamp(*time.localtime(ticks)[:6])


class TypeCode:
    """The type of a column, in the words of PEP 249.

    Args:
        name: the word.

    >>> NUMBER == NUMBER, NUMBER == STRING
    (True, False)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STRING, NUMBER, DATETIME, BINARY, ROWID = map(TypeCode, ("STRING", "NUMBER", "DATETIME", "BINARY", "ROWID"))


class OpenDatabase:
    """A connection of PEP 249's: a dataset at a server.

    Args:
        client: who asks.
        spend: whether questions may cost something.
        errors: whether each number has NAME_low, NAME_high and NAME_source beside it.
        wish: within, within_count, confidence, max_epsilon, for every question.
    """

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError

    def __init__(self, client: Client, *, spend: bool = False, errors: bool = False, **wish: Any) -> None:
        self.client, self.spend, self.errors, self.wish = client, spend, errors, wish
        self._closed = False

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.refuse_closed()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: there is nothing to write."""
        self.refuse_closed()

    def rollback(self) -> None:
        """Nothing: what was spent stays spent."""
        self.refuse_closed()

    def close(self) -> None:
        """Close it; it cannot be used any more."""
        self._closed = True
        self.client.close()

    def refuse_closed(self) -> None:
        """An error if it was closed."""
        if self._closed:
            raise InterfaceError("the connection was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """Asks, and hands out rows.

    Args:
        connection: whose it is.

    `answer` is the whole answer of the last statement: errors, source, cost.
    """

    arraysize = 1

    def __init__(self, connection: OpenDatabase) -> None:
        self.connection = connection
        self.answer: ServedAnswer | None = None
        self._columns: dict[str, list[Any]] | None = None
        self._at, self._closed = 0, False

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name and type of each column of the last answer."""
        if self._columns is None:
            return None
        return [(name, _type(cells), None, None, None, None, None) for name, cells in self._columns.items()]

    @property
    def rowcount(self) -> int:
        """How many rows the last answer has; -1 before the first."""
        return -1 if self.answer is None else len(self.answer)

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Ask one question.

        Args:
            operation: a SELECT statement.
            parameters: values for its ?.
        """
        self._refuse_closed()
        self.answer = self._columns = None
        here = self.connection
        if isinstance(parameters, str | bytes | dict):
            raise ProgrammingError("values are a list, one for each ?")
        with raised():
            self.answer = here.client.ask(operation, list(parameters), spend=here.spend, **here.wish)
        whole = self.answer.to_dict()
        self._columns = whole if here.errors else {name: whole[name] for name in self.answer.columns}
        self._at = 0
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> Self:
        """Ask one question for each list of values; rows are those of the last.

        Args:
            operation: a SELECT statement.
            seq_of_parameters: the lists.
        """
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows.

        Args:
            size: how many at most.
        """
        self._refuse_closed()
        if self._columns is None:
            raise InterfaceError("nothing was asked yet")
        size = self.arraysize if size is None else size
        rows = list(
            zip(*(cells[self._at : self._at + size] for cells in self._columns.values()), strict=True)
        )
        self._at += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self.fetchmany(max(0, self.rowcount))

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing, as PEP 249 allows."""

    def setoutputsize(self, size: Any, column: Any = None) -> None:
        """Nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Close it; the connection stays open."""
        self._closed = True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_closed(self) -> None:
        self.connection.refuse_closed()
        if self._closed:
            raise InterfaceError("the cursor was closed")


def connect(
    url: str | None = None,
    token: str | None = None,
    dataset: str | None = None,
    *,
    spend: bool = False,
    errors: bool = False,
    **wish: Any,
) -> OpenDatabase:
    """A connection to a dataset at a server.

    Args:
        url, token, dataset: as in `hr.connect`.
        spend: whether questions may cost something; free answers only unless said.
        errors: whether each number has NAME_low, NAME_high and NAME_source beside it.
        wish: within, within_count, confidence, max_epsilon, for every question.
    """
    if unknown := sorted(wish.keys() - {"within", "within_count", "confidence", "max_epsilon"}):
        raise InterfaceError(f"a connection has no {unknown[0]!r}")
    with raised():
        return OpenDatabase(open_client(url, token, dataset), spend=spend, errors=errors, **wish)


def _type(cells: list[Any]) -> TypeCode:
    known = next((cell for cell in cells if cell is not None), None)
    return NUMBER if isinstance(known, int | float) else STRING
