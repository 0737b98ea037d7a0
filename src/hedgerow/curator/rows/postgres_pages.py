"""PostgresPages: the pages of tables, read by several connections at once that see one snapshot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_PAGES = 640  # 5 MB: about as many rows as a batch has
_LINES = 2048  # rows of one page, at most: pages have up to 32 kB, and the head of a row 16 bytes and more
Pages = tuple[int, int | None]


class PostgresPages:
    """Connections that take turns at pages.

    Args:
        connect: gives a connection in a transaction that sees the snapshot.
        readers: how many of them read at once.
    """

    def __init__(self, connect: Callable[[], Connection], readers: int) -> None:
        self._connect, self._readers = connect, readers
        self._open: list[Connection] = []
        self._free: SimpleQueue[Connection] = SimpleQueue()
        self._pool = ThreadPoolExecutor(readers, "hedgerow-postgres")

    def __enter__(self) -> PostgresPages:
        try:
            for _ in range(self._readers):
                self._open.append(self._connect())
                self._open[-1].execute("SAVEPOINT before")
                self._free.put(self._open[-1])
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for connection in self._open:
                with suppress(Exception):
                    connection.cancel_safe(timeout=2.0)
        self._close()

    def _close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for connection in self._open:
            with suppress(Exception):
                connection.close()

    def read(self, items: str, tables: Sequence[str], where: str) -> Iterator[list[bytes]]:
        """The arrays of `items` over some pages, until all rows of the tables were in one of them.

        Args:
            items: what is selected, one array each.
            tables: the tables, by full names; nothing that inherits from them is read with them.
            where: of the rows, from its WHERE on; or nothing.
        """
        under_way: deque[Future[list[list[bytes]]]] = deque()
        for table in tables:
            for pages in self._ranges(table):
                under_way.append(self._pool.submit(self._arrays, items, table, where, pages))
                if len(under_way) > 2 * self._readers:
                    yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()

    def _ranges(self, table: str) -> list[Pages]:
        """All pages; the last range has no end: rows that came after the snapshot are not seen anyway."""
        name = table.replace("'", "''")
        sql = f"SELECT pg_relation_size('{name}') / current_setting('block_size')::int8"
        connection = self._free.get()
        try:
            row = connection.execute(sql.encode()).fetchone()
        finally:
            self._free.put(connection)
        starts = list(range(0, max(int(row[0]) if row else 0, 1), _PAGES))
        return list(zip(starts, [*starts[1:], None], strict=True))

    def _arrays(self, items: str, table: str, where: str, pages: Pages) -> list[list[bytes]]:
        connection = self._free.get()
        try:
            return _arrays(connection, items, table, where, pages)
        finally:
            self._free.put(connection)


def _arrays(connection: Connection, items: str, table: str, where: str, pages: Pages) -> list[list[bytes]]:
    """The arrays of some pages, of fewer at a time where values are too long for one array."""
    first, end = pages
    inside = f"ctid >= '({first},0)'" + ("" if end is None else f" AND ctid < '({end},0)'")
    found = _fitting(connection, items, table, where, inside)
    if found is not None:
        return found
    last = first + _PAGES if end is None else end
    if last - first > 1:
        middle = (first + last) // 2
        halves: list[Pages] = [(first, middle), (middle, end)]
        return [array for half in halves for array in _arrays(connection, items, table, where, half)]
    rows = (f"ctid = '({first},{line})'" for line in range(1, _LINES + 1))
    each = (_fitting(connection, items, table, where, row, last=True) or () for row in rows)
    return [array for arrays in each for array in arrays]


def _fitting(
    connection: Connection, items: str, table: str, where: str, inside: str, *, last: bool = False
) -> list[list[bytes]] | None:
    """The arrays of some rows; None if they do not fit, or what the database says where that is the last."""
    from psycopg.errors import InternalError_, OutOfMemory, ProgramLimitExceeded

    both = f" WHERE ({where.removeprefix(' WHERE ')}) AND {inside}" if where else f" WHERE {inside}"
    try:
        arrays = _sent(connection, f"SELECT {items} FROM ONLY {table}{both}")
    except (ProgramLimitExceeded, OutOfMemory, InternalError_):
        if last:
            raise
        connection.execute("ROLLBACK TO before")
        return None
    return [[a for a in arrays if a is not None]] if arrays[0] is not None else []


def _sent(connection: Connection, sql: str) -> list[bytes | None]:
    """The one row of a statement, in binary; None for arrays of no rows."""
    cursor = connection.cursor(binary=True)
    result = cursor.execute(sql.encode()).pgresult
    assert result is not None
    return [result.get_value(0, i) for i in range(result.nfields)]
