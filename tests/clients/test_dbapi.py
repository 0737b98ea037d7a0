"""PEP 249, point by point, against a real server."""

from __future__ import annotations

import pytest

from hedgerow import dbapi

pytestmark = pytest.mark.xdist_group("clients")
SQL = "SELECT k, COUNT(*) AS n FROM people GROUP BY k"


@pytest.fixture
def connection(server, token):
    with dbapi.connect(server.url, token, "people") as opened:
        yield opened


def test_the_module_says_what_it_is():
    assert (dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety) == ("2.0", "qmark", 1)
    errors = "InterfaceError DatabaseError DataError OperationalError IntegrityError InternalError"
    for name in f"{errors} ProgrammingError NotSupportedError".split():
        assert issubclass(getattr(dbapi, name), dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    assert dbapi.DateFromTicks(0).year in (1969, 1970)
    assert dbapi.TimestampFromTicks(0).year in (1969, 1970)
    assert dbapi.TimeFromTicks(0).second == 0
    assert dbapi.Binary(b"x") == b"x"


def test_rows_come_one_by_one_some_at_a_time_and_all_at_once(connection):
    cursor = connection.cursor()
    assert cursor.description is None
    assert cursor.rowcount == -1
    cursor.execute(SQL)
    assert [column[:2] for column in cursor.description] == [("k", dbapi.STRING), ("n", dbapi.NUMBER)]
    assert cursor.rowcount == 3
    assert cursor.fetchone()[0] == "0"
    assert [row[0] for row in cursor.fetchmany(5)] == ["1", "2"]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert [row[0] for row in cursor.execute(SQL)] == ["0", "1", "2"]
    assert cursor.execute(SQL).fetchmany() == [cursor.execute(SQL).fetchone()]
    assert cursor.answer.error


def test_a_description_has_seven_parts_and_a_cursor_its_size(connection):
    with connection.cursor() as cursor:
        cursor.execute(SQL)
        assert [len(column) for column in cursor.description] == [7, 7]
        assert cursor.arraysize == 1
        cursor.arraysize = 2
        assert len(cursor.fetchmany()) == 2
    for name in ("callproc", "nextset"):
        assert not hasattr(cursor, name)
    for name in ("Error", "DatabaseError", "DataError", "OperationalError", "ProgrammingError"):
        assert getattr(connection, name) is getattr(dbapi, name)


def test_values_are_bound(connection):
    cursor = connection.cursor()
    (one,) = cursor.execute("SELECT COUNT(*) FROM people WHERE sex = ?", ("F",)).fetchone()
    (both,) = cursor.execute("SELECT COUNT(*) FROM people").fetchone()
    assert 0 < one < both
    cursor.executemany("SELECT COUNT(*) FROM people WHERE sex = ?", [("F",), ("M",)])
    assert len(cursor.fetchall()) == 1


@pytest.mark.parametrize(
    ("sql", "kind", "code"),
    [
        ("SELECT COUNT(*) FROM people WHERE", "ProgrammingError", "bad_sql"),
        ("SELECT COUNT(*) FROM people WHERE nothing = 1", "ProgrammingError", "unknown_column"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'X'", "DataError", "unknown_level"),
        ("SELECT * FROM people", "NotSupportedError", "unsupported_sql"),
        ("DELETE FROM people", "NotSupportedError", "unsupported_sql"),
    ],
)
def test_a_refusal_is_an_error_of_the_right_kind(connection, sql, kind, code):
    with pytest.raises(getattr(connection, kind)) as said:
        connection.cursor().execute(sql)
    assert said.value.code == code
    assert said.value.__cause__ is not None


def test_free_answers_only_unless_spending_was_switched_on(server, token):
    sql = "SELECT COUNT(*) FROM people WHERE sex = 'M' AND k = 0"
    with dbapi.connect(server.url, token, "people", within=0.04) as free, pytest.raises(dbapi.Error):
        free.cursor().execute(sql)
    with dbapi.connect(server.url, token, "people", within=0.04, spend=True, max_epsilon=0.5) as paying:
        assert paying.cursor().execute(sql).answer.source in ("measured", "certified")
    with pytest.raises(dbapi.InterfaceError):
        dbapi.connect(server.url, token, "people", within_cout=3)


def test_errors_stand_beside_numbers_when_wanted(server, token):
    with dbapi.connect(server.url, token, "people", errors=True) as connection:
        row = connection.cursor().execute(SQL).fetchone()
    assert row[2] <= row[1] <= row[3]
    assert row[4] == "learned"


def test_there_are_no_transactions_and_what_is_closed_is_closed(server, token):
    connection = dbapi.connect(server.url, token, "people")
    connection.commit()
    connection.rollback()
    cursor = connection.cursor()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)
    with pytest.raises(dbapi.InterfaceError, match="nothing was asked"):
        cursor.fetchone()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="cursor was closed"):
        cursor.execute(SQL)
    connection.close()
    with pytest.raises(dbapi.InterfaceError, match="connection was closed"):
        connection.cursor()


def test_a_token_that_is_none_and_a_server_that_is_not_there(server):
    with dbapi.connect(server.url, "hr_0_x", "people") as forged, pytest.raises(dbapi.OperationalError):
        forged.cursor().execute(SQL)
    with pytest.raises(dbapi.ProgrammingError, match="a server is"):
        dbapi.connect("people.csv", "hr_0_x")
