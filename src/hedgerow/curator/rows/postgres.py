"""The PostgreSQL engine: rows of one table, read where they are, in one read-only snapshot.

A table that is opened is one snapshot of the database, as a file is one file: whatever others write there
meanwhile, every pass reads the same rows. It is held by a transaction that reads nothing and stays open as
long as the table is; if the database ends it, the table has to be opened anew. What a value means is decided
by `encoding`, as everywhere: the database casts nothing, and none of its words, which may quote a row, is
passed on.

Rows come column by column for some pages of the table, see `postgres_packed`: binary COPY, which sends each
row by itself, takes three times as long as arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.memory import IDS
from hedgerow.curator.rows.postgres_packed import PackedColumns
from hedgerow.curator.rows.postgres_pages import PostgresPages
from hedgerow.curator.rows.postgres_select import OwnersSelect, Source, quoted
from hedgerow.curator.rows.postgres_types import PgType, column, ids
from hedgerow.errors import DataChanged, SourceError
from hedgerow.privacy.ledger.url import LedgerUrl

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    Connection = psycopg.Connection[tuple[Any, ...]]

_READERS = 2  # connections that read at once
_OLDEST = 140000
_ENCODINGS = {
    "UTF8": "UTF8",
    "SQL_ASCII": "SQL_ASCII",
    "LATIN1": "UTF8",
}  # what is sent, without fail, as what
_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
_SETTINGS = (
    "SET search_path = pg_catalog; SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET row_security = off; "
    "SET jit = off; SET max_parallel_workers_per_gather = 0; SET statement_timeout = 0; "
    "SET idle_in_transaction_session_timeout = 0; "
    "SET standard_conforming_strings = on; SET extra_float_digits = 1"
)
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_FIND = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, current_setting('server_encoding')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(%s)
"""
_COLUMNS = """
WITH RECURSIVE base (number, name, type, modifier, order_by) AS (
    SELECT attnum, attname, atttypid, atttypmod, attcollation FROM pg_catalog.pg_attribute
    WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v'
    UNION ALL
    SELECT number, name, typbasetype, typtypmod, order_by FROM base JOIN pg_catalog.pg_type t ON t.oid = type
    WHERE typtype = 'd'
)
SELECT name, type::int8, modifier, typtype = 'e', order_by::int8, coalesce(collisdeterministic, true)
FROM base JOIN pg_catalog.pg_type t ON t.oid = type LEFT JOIN pg_catalog.pg_collation c ON c.oid = order_by
WHERE typtype <> 'd' ORDER BY number
"""
_PARTS = """
WITH RECURSIVE part (oid) AS (
    SELECT %s::oid UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN part ON inhparent = part.oid
)
SELECT nspname, relname, relkind::text, coalesce(amname = 'heap', false)
FROM part JOIN pg_catalog.pg_class c USING (oid) JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
LEFT JOIN pg_catalog.pg_am a ON a.oid = relam ORDER BY 1, 2
"""
_NEEDED = "rows in PostgreSQL need more packages: pip install 'hedgerow[postgres]'"


class PostgresEngine:
    """Rows of a table in PostgreSQL.

    Args:
        url: the address of the database, as libpq takes it.
        table: the table's name, with or without its schema.
        query: in place of it a SELECT of columns and rows of one table, see `postgres_select`.
        unit: the column that names units.
    """

    untyped = False
    in_memory = False
    written: int | None = None

    def __init__(
        self, url: str, *, table: str | None = None, query: str | None = None, unit: str | None = None
    ) -> None:
        if (table is None) == (query is None):
            raise SourceError("rows in PostgreSQL are those of `table=` or of `query=`: name one of the two")
        self._url = LedgerUrl(url)
        asked = OwnersSelect.parsed(query) if query is not None else None
        source = asked.source if asked is not None else Source.named(str(table))
        self._lock, self._snapshot = threading.Lock(), ""
        self._keeper: Connection | None = None
        with closing(self._connected()) as connection, self._said("read what the table is"):
            self._oid, self._place, self._encoding = _found(connection, source)
            self.identity = _identity(connection, self._oid, self._place)
            self._columns, self._parts = held, _ = _described(connection, self._oid)
            connection.execute(_SETTINGS)
            self._sql = {name: quoted(name) for name in held} if asked is None else asked.written(held)
            self._where = "" if asked is None else asked.where(held)
            self._types = self._typed(connection, held)
        self._unit = unit if unit in self._types and self._types[unit].any_size else None

    def schema(self) -> pa.Schema:
        """Names and types of the columns; ids that are numerics of any size have a column of their own."""
        import pyarrow as pa

        fields = [pa.field(name, type_.arrow) for name, type_ in self._types.items()]
        return pa.schema(fields + ([pa.field(IDS, pa.large_binary())] if self._unit else []))

    def check(self, columns: Sequence[str]) -> None:
        """Begin the snapshot, so that all that is wrong with the table is said when it is opened."""
        self._held()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, in the snapshot."""
        import pyarrow as pa

        names = [self._unit if name == IDS and self._unit else name for name in columns]
        items = PackedColumns([self._sql[name] for name in names], [self._types[name] for name in names])
        with self._said("send its rows to their end"), PostgresPages(self._reader, _READERS) as pages:
            for fields in pages.read(items, self._parts, self._where):
                read = [
                    ids(field) if asked == IDS else column(self._types[name], field)
                    for asked, name, field in zip(columns, names, fields, strict=False)
                ]
                yield pa.RecordBatch.from_arrays(read, list(columns))

    def close(self) -> None:
        """Let the snapshot go."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter may be half gone
            return

    def __repr__(self) -> str:
        return f"PostgresEngine({self._shown!r})"

    def _reader(self) -> Connection:
        """A connection that sees the snapshot."""
        snapshot, connection = self._held(), self._connected()
        connection.execute(_SETTINGS)
        connection.execute(f"SET client_encoding = '{_ENCODINGS[self._encoding]}'".encode())
        connection.execute(_BEGIN)
        connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
        return connection

    @property
    def _shown(self) -> str:
        """The address, for people: without a password."""
        return self._url.shown

    def _connected(self) -> Connection:
        try:
            import psycopg
        except ImportError:
            raise SourceError(_NEEDED) from None
        try:
            made = psycopg.connect(
                self._url.text, autocommit=True, connect_timeout=15, application_name="hedgerow rows"
            )
        except psycopg.Error:
            raise SourceError(
                f"the database {self._shown} cannot be reached; try its address in psql"
            ) from None
        if made.info.server_version < _OLDEST:
            made.close()
            raise SourceError(f"the database {self._shown} is older than PostgreSQL {_OLDEST // 10000}")
        return made

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        """Whatever the database says of a failure, one sentence says it without its words."""
        import psycopg

        try:
            yield
        except psycopg.errors.InsufficientPrivilege:
            raise SourceError(
                f"the database {self._shown} does not let this user read the table and all its partitions; "
                "if the table has row security, read it as its owner"
            ) from None
        except psycopg.Error:
            raise SourceError(f"the database {self._shown} did not {what}") from None

    def _typed(self, connection: Connection, held: dict[str, PgType]) -> dict[str, PgType]:
        """The types of the columns; of expressions as the database says them, before it reads a row."""
        found: dict[str, PgType] = {}
        items = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self._sql.items())
        sql = f"SELECT {items} FROM {self._place}{self._where} LIMIT 0"
        said = connection.execute(sql.encode()).pgresult
        assert said is not None
        plain = {quoted(name): type_ for name, type_ in held.items()}
        enums = {type_.oid for type_ in held.values() if type_.enum}
        for i, (name, sql) in enumerate(self._sql.items()):
            oid = said.ftype(i)
            found[name] = plain.get(sql) or PgType(oid, said.fmod(i), oid in enums)
        return found

    def _held(self) -> str:
        """The name of the snapshot, which is begun once."""
        with self._lock:
            if self._keeper is None and self._snapshot:
                raise DataChanged("the table in the database was closed; open it again")
            if self._keeper is None:
                keeper = self._connected()
                with self._said("begin a snapshot"):
                    keeper.execute(_SETTINGS)
                    keeper.execute(_BEGIN)
                    keeper.execute(f"LOCK TABLE {self._place} IN ACCESS SHARE MODE".encode())
                    now = _described(keeper, self._oid)  # nobody alters it from here on
                    row = keeper.execute("SELECT pg_catalog.pg_export_snapshot()").fetchone()
                assert row is not None
                if now != (self._columns, self._parts):
                    keeper.close()
                    raise DataChanged("the table was altered while it was opened; open it again")
                self._keeper, self._snapshot = keeper, str(row[0])
            if _is_lost(self._keeper):
                raise DataChanged(
                    "the database ended the snapshot in which this table was read; open the table again"
                )
            return self._snapshot


def _is_lost(keeper: Connection) -> bool:
    """Whether the transaction that holds the snapshot is over."""
    import psycopg

    try:
        keeper.execute("SELECT 1")
    except psycopg.Error:
        return True
    return False


def _found(connection: Connection, source: Source) -> tuple[int, str, str]:
    """The table's number and full name, and the encoding of the database."""
    name = (
        quoted(source.table) if source.schema is None else f"{quoted(source.schema)}.{quoted(source.table)}"
    )
    row = connection.execute(_FIND, (name,)).fetchone()
    if row is None:
        raise SourceError(f"the database has no table {name}")
    oid, schema, table, kind, encoding = row
    if kind not in ("r", "p"):
        raise SourceError(
            f"{name} is {_KINDS.get(kind, 'no table')}: what it shows of one person may depend on others; "
            "name the table itself, and choose columns and rows with `query=`"
        )
    if encoding not in _ENCODINGS:
        raise SourceError(f"the database's text is {encoding}, of which some cannot be sent as UTF-8")
    return int(oid), f"{quoted(schema)}.{quoted(table)}", encoding


def _identity(connection: Connection, oid: int, place: str) -> tuple[str, str] | None:
    """Which table this is, whatever its database is called, and its name; None where that is not told.

    Copies that follow a server byte by byte are the same; one that was dumped and restored is another.
    """
    allowed = "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'execute')"
    if connection.execute(allowed).fetchone() != (True,):
        return None
    which = "SELECT system_identifier, d.oid FROM pg_catalog.pg_control_system(), pg_catalog.pg_database d"
    row = connection.execute(f"{which} WHERE datname = pg_catalog.current_database()").fetchone()
    return None if row is None else (f"postgresql:{row[0]}:{row[1]}:{oid}", place)


def _described(connection: Connection, oid: int) -> tuple[dict[str, PgType], list[str]]:
    """The columns of a table, and the tables that hold its rows: itself, or its partitions and heirs."""
    rows = connection.execute(_COLUMNS, (oid,)).fetchall()
    columns = {name: PgType(*about) for name, *about in rows}
    parts = []
    for schema, table, kind, plain in connection.execute(_PARTS, (oid,)).fetchall():
        if kind == "r" and plain:
            parts.append(f"{quoted(schema)}.{quoted(table)}")
        elif kind != "p":
            raise SourceError(
                f"the part {table!r} is a foreign table, or not stored as PostgreSQL stores tables: copy its "
                "rows into one that is"
            )
    return columns, parts
