"""A real client (psycopg), one of our own, and streams of nonsense, at a real server."""

from __future__ import annotations

import psycopg
import pytest

from services.wire_client import WireClient, state

pytestmark = pytest.mark.xdist_group("wire")
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture
def connection(place, token):
    with psycopg.connect(
        host=place[0], port=place[1], user="ann", password=token, dbname="people", autocommit=True
    ) as made:
        yield made


def test_questions_come_back_as_columns_with_their_errors_beside_them(connection):
    rows = connection.execute(SQL).fetchall()
    assert [row[0] for row in rows] == ["F", "M"]
    assert all(isinstance(row[1], int) for row in rows)
    sql = (
        "SELECT sex, COUNT(*) AS n, dp_low(n), dp_high(n), dp_error(n), dp_source(n) FROM people GROUP BY sex"
    )
    for _, n, low, high, error, source in connection.execute(sql).fetchall():
        assert low <= n + 0.5
        assert n - 0.5 <= high
        assert error > 0
        assert source == "learned"


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_bound_as_values(connection, binary):
    sql = "SELECT COUNT(*) FROM people WHERE sex = %s"
    both = sum(connection.execute(sql, (sex,), binary=binary).fetchone()[0] for sex in "FM")
    (total,) = connection.execute("SELECT COUNT(*) FROM people", binary=binary).fetchone()
    assert abs(both - total) <= 2
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute(sql, ("F' OR '1' = '1",))


def test_free_unless_spending_is_switched_on_and_the_cost_is_told(connection):
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
    connection.execute("SET hedgerow.within = 0.05")
    sql = "SELECT COUNT(*) FROM people WHERE sex = 'F' AND k = '1'"
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        connection.execute(sql)
    assert connection.execute(f"EXPLAIN {sql}").fetchone()
    connection.execute("SET hedgerow.spend TO on")
    assert connection.execute(sql).fetchone()[0] > 0
    assert all(words.startswith("cost epsilon=") for words in told)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC", "42601"),
        ("SELECT COUNT(*) FROM others", "42P01"),
        ("SELECT COUNT(*) FROM people WHERE x = 1", "42703"),
        ("DELETE FROM people", "25006"),
        ("SELECT * FROM people", "0A000"),
        ("SELECT sex, k FROM people", "0A000"),
        ("SET hedgerow.spend = maybe", "22023"),
        ("SET hedgerow.colour = 1", "22023"),
        ("COPY people TO STDOUT", "0A000"),
    ],
)
def test_a_refusal_has_its_state_and_the_next_statement_is_answered(connection, sql, code):
    with pytest.raises(psycopg.Error) as said:
        connection.execute(sql)
    assert said.value.sqlstate == code
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_refusal_says_where_in_what_was_sent(place, token):
    client = WireClient(place)
    client.sign_in("ann", token)
    wrong = "SELECT COUNT(*) FROM people WHERE x = 1"
    for before in ("", "SELECT 1;\n  ", "COPY ("):
        sent = before + wrong + (") TO STDOUT" if before.endswith("(") else "")
        told = next(content for kind, content in client.query(sent) if kind == "E")
        assert f"P{sent.index('x = 1') + 1}".encode() in told.split(b"\0")
    printed = wrong.replace("people", "public.people")  # asked in other words than were sent: no place
    told = next(content for kind, content in client.query(printed) if kind == "E")
    assert not any(part.startswith(b"P") for part in told.split(b"\0"))
    client.close()


def test_tools_that_look_at_rows_see_synthetic_ones(connection):
    rows = connection.execute("SELECT * FROM people LIMIT 7").fetchall()
    assert len(rows) == 7
    assert {row[-1] for row in rows} == {"synthetic"}
    assert connection.execute("SELECT * FROM people WHERE 1 = 0").fetchall() == []
    assert connection.execute("SELECT DISTINCT sex FROM people").fetchall() == [("F",), ("M",)]


def test_what_tools_wrap_is_answered_with_the_types_of_what_was_wrapped(connection):
    wrapped = f"SELECT * FROM ({SQL}) AS virtual_table LIMIT 100"
    assert sorted(connection.execute(wrapped).fetchall()) == sorted(connection.execute(SQL).fetchall())
    named = "SELECT x.* FROM (SELECT sex, COUNT(*) FROM public.people GROUP BY sex) x WHERE x.sex = 'F'"
    asked = connection.execute(named)
    assert [column.name for column in asked.description] == ["sex", "count"]
    assert [type(cell) for cell in asked.fetchone()] == [str, int]
    beside = "SELECT sex, COUNT(*) AS n, dp_low(n) AS low FROM people GROUP BY 1"
    chosen = f"SELECT low, sex AS sex, n FROM ({beside}) x LIMIT 9"
    assert all(low <= n for low, _, n in connection.execute(chosen).fetchall())
    summed = f"SELECT SUM(n) AS s FROM ({beside}) x"
    assert connection.execute(summed).fetchone()[0] > 0


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "public"."people"."sex" AS "sex", COUNT(*) AS "count" FROM "public"."people" '
        'WHERE "public"."people"."day" >= timestamp with time zone \'2024-04-01 00:00:00.000Z\' '
        'GROUP BY "public"."people"."sex" ORDER BY "public"."people"."sex" ASC',
        "SELECT sex, COUNT(*) AS count FROM public.people WHERE day >= TO_DATE('2024-04-01', 'YYYY-MM-DD') "
        "GROUP BY sex ORDER BY 1 LIMIT 1000",
        "SELECT sex, COUNT(*) AS count FROM people "
        "WHERE CAST(day AS timestamp) >= TIMESTAMP '2024-04-01 00:00:00' GROUP BY sex ORDER BY 1",
    ],
)
def test_what_tools_write_in_ways_of_their_own_is_the_same_question(connection, sql):
    plain = "SELECT sex, COUNT(*) AS n FROM people WHERE day >= '2024-04-01' GROUP BY sex ORDER BY sex"
    assert connection.execute(sql).fetchall() == connection.execute(plain).fetchall()


def test_transactions_are_words_that_behave(place, token):
    with psycopg.connect(
        host=place[0], port=place[1], user="ann", password=token, dbname="people"
    ) as connection:
        connection.execute(SQL)
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT COUNT(*) FROM people WHERE x = 1")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute(SQL)
        connection.rollback()
        with connection.transaction(), connection.transaction():
            assert connection.execute(SQL).fetchall()


def test_copy_in_three_forms(connection):
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY ({SQL}) TO STDOUT (FORMAT csv, HEADER)") as copied:
            assert b"".join(map(bytes, copied)).startswith(b"sex,n\nF,")
        with cursor.copy(f"COPY ({SQL}) TO STDOUT") as copied:
            assert [row[0] for row in copied.rows()] == ["F", "M"]
        with cursor.copy(f"COPY ({SQL}) TO STDOUT (FORMAT binary)") as copied:
            copied.set_types(["text", "int8"])
            assert [row[0] for row in copied.rows()] == ["F", "M"]


def test_rows_are_fetched_in_parts(place, token):
    client = WireClient(place)
    client.sign_in("ann", token)
    client.send("P", b"s\0" + SQL.encode() + b"\0\0\0")
    client.send("B", b"p\0s\0\0\0\0\0\0\0")
    client.send("D", b"Pp\0")
    for most in (1, 5):
        client.send("E", b"p\0" + most.to_bytes(4))
    client.send("S")
    assert [kind for kind, _ in client.until()] == ["1", "2", "T", "D", "s", "D", "C", "Z"]
    client.send("E", b"nothing\0\0\0\0\0")
    client.send("E", b"p\0\0\0\0\0")  # left out, until the next sync
    client.send("S")
    replies = client.until()
    assert [kind for kind, _ in replies] == ["E", "Z"]
    assert state(replies) == "34000"
    client.close()


def test_after_an_error_all_is_skipped_until_sync(place, token):
    client = WireClient(place)
    client.sign_in("ann", token)
    client.send("P", b"s\0SELEC\0\0\0")
    client.send("Q", SQL.encode() + b"\0")
    client.send("S")
    assert [kind for kind, _ in client.until()] == ["E", "Z"]
    assert "D" in [kind for kind, _ in client.query(SQL)]
    client.close()


def test_failures_to_sign_in_are_counted_by_address_and_lock_nobody_out(place, token):
    def found(password, source):
        client = WireClient(place, source)
        reply = state(client.sign_in("ann", password))
        client.close()
        return reply

    replies = [found(f"{token}{i}", "127.0.0.2") for i in range(40)]
    assert replies[:20] == ["28P01"] * 20
    assert "53400" in replies
    assert found(token, "127.0.0.2") is None
    assert found(token + "x", "127.0.0.3") == "28P01"


def test_who_may_sign_in(place, server, token):
    def refused(user, password, database="people"):
        client = WireClient(place)
        found = client.sign_in(user, password, database)
        client.close()
        return state(found)

    id = token.split("_")[1]
    assert refused(id, token) is None
    assert refused("ann", token) is None
    assert refused("ann", token + "x") == "28P01"
    assert refused("nobody", token) == "28P01"
    assert refused(id, token, "others") == "3D000"
    other = server.new_token("eve", datasets=["others"])
    assert refused("eve", other) == "3D000"
    assert refused("eve", other, "others") == "3D000"


def test_a_token_that_ends_ends_what_is_open(place, server):
    token = server.new_token("brief")
    client = WireClient(place)
    client.sign_in("brief", token)
    assert state(client.query(SQL)) is None
    assert server.call("DELETE", f"/v1/tokens/{token.split('_')[1]}").status_code == 200
    assert state(client.query(SQL)) == "28P01"
    client.close()


def test_settings_come_with_the_name_of_the_database_too(place, token):
    client = WireClient(place)
    client.sign_in("ann", token, "people?spend=on&within=0.02")
    for name, value in (("spend", b"on"), ("within", b"0.02")):
        assert any(value in content for kind, content in client.query(f"SHOW hedgerow.{name}") if kind == "D")
    told = client.query("SELECT current_database()")
    assert any(content.endswith(b"people") for kind, content in told if kind == "D")
    client.close()
    for wrong, code in (
        ("people?colour=red", "22023"),
        ("people?spend=maybe", "22023"),
        ("x?spend=on", "3D000"),
    ):
        client = WireClient(place)
        assert state(client.sign_in("ann", token, wrong)) == code
        client.close()


def test_settings_come_with_the_connection_too(place, token):
    client = WireClient(place)
    client.sign_in("ann", token, options="-c hedgerow.within=0.02 -c hedgerow.spend=off")
    assert any(b"0.02" in content for kind, content in client.query("SHOW hedgerow.within") if kind == "D")
    client.close()


def test_statements_that_are_long_deep_or_unclosed_are_refused_at_once(place, token):
    client = WireClient(place)
    client.sign_in("ann", token)
    deep = "SELECT * FROM " + "(" * 3000 + "SELECT 1" + ")" * 3000
    assert state(client.query(deep)) == "42601"
    assert state(client.query("SELECT 1," + "1," * 20_000 + "1")) == "54000"
    assert state(client.query("SELECT 1 " + "/*a" * 6000)) == "42601"
    twice = "SELECT dp_low(COUNT(*)) FROM people UNION ALL SELECT 1 FROM people"
    assert state(client.query(twice)) == "0A000"
    assert state(client.query("SELECT * FROM (SELECT * FROM people) x")) == "0A000"
    assert state(client.query("SELECT * FROM (SELECT sex, k FROM people) x LIMIT 5")) == "0A000"
    assert state(client.query("SELECT x FROM generate_series(1, 100000000) g(x)")) == "0A000"
    assert state(client.query(SQL)) is None
    client.close()


def test_settings_of_one_transaction_and_of_a_pool_are_put_back(place, token):
    client = WireClient(place)
    client.sign_in("ann", token)

    def spends():
        return any(b"on" in content for kind, content in client.query("SHOW hedgerow.spend") if kind == "D")

    client.query("BEGIN; SET LOCAL hedgerow.spend = on")
    assert spends()
    client.query("COMMIT")
    assert not spends()
    client.query('SET "hedgerow.spend" = on')
    assert spends()
    client.query("DISCARD ALL")
    assert not spends()
    assert state(client.query("SET hedgerow.spend")) == "42601"
    client.query("BEGIN")
    client.send("P", b"s\0" + SQL.encode() + b"\0\0\0")
    client.send("S")
    client.until()
    client.query("SELECT nothing FROM people")
    client.send("B", b"\0s\0\0\0\0\0\0\0")
    client.send("E", b"\0\0\0\0\0")
    client.send("S")
    assert (
        state(client.until()) == "25P02"
    )  # a prepared statement is not asked in a failed transaction either
    client.close()


def test_cancelling_shortens_no_wait(server):
    import asyncio

    from hedgerow.serve import turn

    async def cancelled():
        loop = asyncio.get_running_loop()
        began = loop.time()
        task = asyncio.ensure_future(turn._wait_until(began + 0.3))
        for _ in range(3):
            await asyncio.sleep(0.03)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop.time() - began

    assert asyncio.run(cancelled()) >= 0.299
