"""Drivers of Python's that people already use, at a real server.

Each connects, lists, describes, asks, groups, binds values, is refused, and cancels where it can.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import psycopg
import pytest
import sqlalchemy as sa

from services import module

pytestmark = pytest.mark.xdist_group("wire")
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex"
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
WRONG = "SELECT COUNT(*) FROM people WHERE nothing = 1"
LONG = "SELECT pg_sleep(20)"
COLUMNS = ["sex", "k", "age", "day"]


@pytest.fixture
def url(place, tool):
    """The address of the database for a tool."""
    return lambda name: f"postgresql://{name}:{tool(name)}@{place[0]}:{place[1]}/people"


def cancelled(ask: Callable[[], Any], cancel: Callable[[], Any]) -> Exception:
    """The error of something long that is cancelled, again and again, until it has ended."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.1):
            cancel()

    other = threading.Thread(target=go_on)
    other.start()
    try:
        ask()
    except Exception as error:
        return error
    finally:
        over.set()
        other.join()
    raise AssertionError("it was not cancelled")


def test_asyncpg(url):
    asyncpg = module("asyncpg", "asyncpg")

    async def talk():
        db = await asyncpg.connect(url("asyncpg"))
        assert [row["table_name"] for row in await db.fetch(TABLES)] == ["people"]
        rows = await db.fetch(SQL)
        assert [row["sex"] for row in rows] == ["F", "M"]
        assert all(type(row["n"]) is int for row in rows)
        described = await db.prepare(
            "SELECT AVG(age) AS a, COUNT(*) FROM people WHERE age >= $1 AND sex = $2"
        )
        assert [p.name for p in described.get_parameters()] == ["int8", "text"]
        assert [a.type.name for a in described.get_attributes()] == ["float8", "int8"]
        mean, _ = (await described.fetch(40, "F"))[0]
        assert 40 <= mean <= 100
        assert await db.fetchval("SELECT COUNT(*) FROM people WHERE k = $1::int", 1) > 0
        oid = "SELECT attname FROM pg_attribute WHERE attrelid = $1 AND attnum > $2"
        assert [row[0] for row in await db.fetch(oid, 16384, 0)] == COLUMNS
        assert await db.fetchval("SELECT current_schemas(true)") == ["pg_catalog", "public"]
        with pytest.raises(asyncpg.UndefinedColumnError):
            await db.fetch(WRONG)
        async with db.transaction():
            assert len([row async for row in db.cursor(SQL, prefetch=1)]) == 2
        with pytest.raises(TimeoutError):
            await db.fetch(LONG, timeout=0.5)  # the driver cancels by itself
        assert await db.fetchval("SELECT COUNT(*) FROM people") > 0
        await db.close()
        async with asyncpg.create_pool(url("asyncpg"), min_size=1, max_size=2) as pool:
            assert len(await asyncio.gather(*(pool.fetch(SQL) for _ in range(4)))) == 4

    asyncio.run(talk())


def test_psycopg(url):
    with psycopg.connect(url("psycopg"), autocommit=True) as db:
        assert db.execute(TABLES).fetchall() == [("people",)]
        assert [c.name for c in db.execute("SELECT * FROM people LIMIT 0").description] == [
            *COLUMNS,
            "dp_source",
        ]
        assert len(db.execute(SQL).fetchall()) == 2
        asked = "SELECT COUNT(*) FROM people WHERE age >= %s AND sex = %s AND k <> %s"
        for binary in (False, True):
            assert db.execute(asked, (40, "F", "1"), binary=binary).fetchone()[0] > 0
        with pytest.raises(psycopg.errors.UndefinedColumn):
            db.execute(WRONG)
        said = cancelled(lambda: db.execute(LONG), db.cancel_safe)
        assert isinstance(said, psycopg.errors.QueryCanceled)
        assert db.execute(SQL).fetchall()


def test_sqlalchemy_with_psycopg(url):
    engine = sa.create_engine(url("sqlalchemy").replace("postgresql:", "postgresql+psycopg:"))
    seen = sa.inspect(engine)
    assert seen.get_table_names() == ["people"]
    assert "public" in seen.get_schema_names()
    assert seen.get_view_names() == []
    kinds = {c["name"]: type(c["type"]).__name__ for c in seen.get_columns("people")}
    assert kinds == {"sex": "TEXT", "k": "TEXT", "age": "BIGINT", "day": "DATE"}
    assert seen.get_pk_constraint("people")["constrained_columns"] == []
    for kind in ("foreign_keys", "indexes", "unique_constraints", "check_constraints"):
        assert getattr(seen, f"get_{kind}")("people") == []
    assert seen.get_table_comment("people")["text"] is None
    people = sa.Table("people", sa.MetaData(), autoload_with=engine)
    asked = (
        sa.select(people.c.sex, sa.func.count().label("n")).where(people.c.age >= 40).group_by(people.c.sex)
    )
    with engine.connect() as db:
        assert [row.sex for row in db.execute(asked.order_by(people.c.sex).limit(5))] == ["F", "M"]
        assert db.execute(sa.select(sa.func.count()).where(people.c.k.in_(["1", "2"]))).scalar() > 0
        with pytest.raises(sa.exc.ProgrammingError):
            db.execute(sa.text(WRONG))
        db.rollback()
        raw = db.connection.dbapi_connection
        said = cancelled(lambda: db.execute(sa.text(LONG)), raw.cancel_safe)
        assert isinstance(said, sa.exc.OperationalError)
        db.rollback()
        assert db.execute(sa.text("SELECT COUNT(*) FROM people")).scalar() > 0
    engine.dispose()


def test_pandas(url):
    engine = sa.create_engine(url("pandas").replace("postgresql:", "postgresql+psycopg:"))
    frame = pd.read_sql(SQL, engine)
    assert list(frame.columns) == ["sex", "n"]
    assert frame["n"].dtype == "int64"
    asked = sa.text("SELECT k, COUNT(*) AS n, dp_low(n) FROM people WHERE age < :age GROUP BY k")
    assert len(pd.read_sql(asked, engine, params={"age": 60}, index_col="k")) == 3
    assert list(pd.read_sql("SELECT * FROM people LIMIT 3", engine).columns) == [*COLUMNS, "dp_source"]
    assert pd.read_sql(TABLES, engine)["table_name"].tolist() == ["people"]
    with pytest.raises(pd.errors.DatabaseError, match="Rows are never shown"):
        pd.read_sql_table("people", engine)  # all rows: refused
    with pytest.raises((pd.errors.DatabaseError, sa.exc.ProgrammingError), match="no column 'nothing'"):
        pd.read_sql(WRONG, engine)
    engine.dispose()


def test_polars(url):
    with psycopg.connect(url("polars")) as db:
        frame = pl.read_database(SQL, db)
        assert frame.schema == {"sex": pl.String, "n": pl.Int64}
        asked = "SELECT COUNT(*) AS n FROM people WHERE age >= %s"
        assert pl.read_database(asked, db, execute_options={"params": [40]})["n"][0] > 0
        assert pl.read_database(TABLES, db)["table_name"].to_list() == ["people"]
        with pytest.raises(psycopg.errors.UndefinedColumn):
            pl.read_database(WRONG, db)
    module("adbc_driver_postgresql", "adbc-driver-postgresql")
    assert pl.read_database_uri(SQL, url("polars"), engine="adbc").shape == (2, 2)


def test_adbc(url):
    adbc = module("adbc_driver_postgresql.dbapi", "adbc-driver-postgresql")
    with adbc.connect(url("adbc"), autocommit=True) as db, db.cursor() as cursor:
        (found,) = db.adbc_get_objects(depth="all").read_all().to_pylist()
        spaces = {s["db_schema_name"]: s["db_schema_tables"] for s in found["catalog_db_schemas"]}
        (table,) = spaces["public"]
        assert (table["table_name"], len(table["table_columns"])) == ("people", 4)
        assert db.adbc_get_table_schema("people").names == COLUMNS
        assert [str(t) for t in db.adbc_get_table_schema("people").types][2:] == ["int64", "date32[day]"]
        cursor.execute(SQL)
        assert cursor.fetch_arrow_table().schema.names == ["sex", "n"]
        cursor.execute("SELECT COUNT(*) FROM people WHERE sex = $1 AND age >= $2", ("F", 40))
        assert cursor.fetchone()[0] > 0
        with pytest.raises(adbc.ProgrammingError):
            cursor.execute(WRONG)
        assert "57014" in str(
            cancelled(lambda: (cursor.execute(LONG), cursor.fetchall()), cursor.adbc_cancel)
        )
    with adbc.connect(url("adbc")) as db, db.cursor() as cursor:
        cursor.execute(SQL)
        assert len(cursor.fetchall()) == 2


def test_odbc(place, tool):
    pyodbc = module("pyodbc", "pyodbc, and apt-get install unixodbc odbc-postgresql")
    if "PostgreSQL Unicode" not in pyodbc.drivers():
        from services import lacks

        lacks("the ODBC driver is not here: `make system` as root, or apt-get install odbc-postgresql")
    said = {"DRIVER": "{PostgreSQL Unicode}", "SERVER": place[0], "PORT": place[1], "DATABASE": "people",
            "UID": "odbc", "PWD": tool("odbc")}  # fmt: skip
    db = pyodbc.connect(";".join(f"{name}={value}" for name, value in said.items()), autocommit=True)
    cursor = db.cursor()
    assert [(t.table_schem, t.table_name, t.table_type) for t in cursor.tables()] == [
        ("public", "people", "TABLE")
    ]
    assert [c.type_name for c in cursor.columns("people")] == ["text", "text", "int8", "date"]
    for nothing in (cursor.primaryKeys, cursor.foreignKeys, cursor.statistics, cursor.rowIdColumns):
        assert nothing("people").fetchall() == []
    assert "int8" in [t[0] for t in cursor.getTypeInfo()]
    assert [row.sex for row in cursor.execute(SQL)] == ["F", "M"]
    assert cursor.execute("SELECT COUNT(*) FROM people WHERE sex = ? AND age >= ?", "F", 40).fetchval() > 0
    assert len(cursor.execute("SELECT * FROM people LIMIT 3").fetchall()) == 3
    with pytest.raises(pyodbc.ProgrammingError, match="42703"):
        cursor.execute(WRONG)
    assert "Cancelled" in str(cancelled(lambda: cursor.execute(LONG), cursor.cancel))
    assert cursor.execute(SQL).fetchall()
    db.close()
