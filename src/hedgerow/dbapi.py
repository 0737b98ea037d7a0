"""DB-API 2.0 (PEP 249) for a dataset at a server: what pandas, SQLAlchemy and many tools speak.

    from hedgerow import dbapi
    with dbapi.connect("http://127.0.0.1:8765", "hr_...", "people") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT sex, COUNT(*) AS n FROM people WHERE age >= ? GROUP BY sex", [40])
        cursor.fetchall(), cursor.answer.error

A statement is a question: nothing is written, and there are no transactions - `commit` and `rollback` do
nothing, and what was spent stays spent.
"""

from hedgerow.client.cursor import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Cursor,
    Date,
    DateFromTicks,
    OpenDatabase,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    apilevel,
    connect,
    paramstyle,
    threadsafety,
)
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
)

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OpenDatabase",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
