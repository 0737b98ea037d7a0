"""Parts of the protocol by themselves: values, statements of a text, plans, the catalogue, signing in."""

from __future__ import annotations

import struct
from decimal import Decimal

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, UnknownTable
from hedgerow.serve.wire import parameters, values
from hedgerow.serve.wire.failure import ReadOnly
from hedgerow.serve.wire.plans import plan
from hedgerow.serve.wire.scram import ScramExchange
from hedgerow.serve.wire.split import statements_of
from hedgerow.service.catalogue import Catalogue

DOMAIN = hr.Domain(
    {"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "day": hr.dates("2020-01-01", "2021-01-01", "month")}
)

WHOLE = hr.Domain(dict(DOMAIN.items()) | {"age": hr.bins(0, 100, 10, step=1)})


@pytest.mark.parametrize(
    "number", [0, 1, -1, 9999, 10000, 12345.5, -0.25, 1e-7, 1e20, 123456789.987654321, 0.1]
)
def test_a_number_in_binary_is_the_number(number):
    sent = values.written(number, values.NUMERIC, values.BINARY_FORM)
    assert values.read(sent, values.NUMERIC, values.BINARY_FORM) == float(Decimal(repr(number)))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (7, values.INT2),
        (-7, values.INT4),
        (1 << 40, values.INT8),
        (1.5, values.FLOAT8),
        (True, values.BOOL),
        ("grün", values.TEXT),
        ("2020-05-17", values.DATE),
    ],
)
@pytest.mark.parametrize("form", [values.TEXT_FORM, values.BINARY_FORM])
def test_what_is_written_can_be_read(value, kind, form):
    assert values.read(values.written(value, kind, form), kind, form) == value
    assert values.written(None, kind, form) is None


def test_a_value_that_is_none_is_refused_in_a_sentence():
    for data, kind, form in (
        (b"x", values.INT4, 0),
        (b"1", values.INT4, 1),
        (b"\xff", values.TEXT, 0),
        (b"", 999, 1),
    ):
        with pytest.raises(HedgerowError):
            values.read(data, kind, form)


def test_a_value_that_does_not_fit_its_type_is_refused_in_a_sentence():
    for value, kind, form in (
        ("other", values.INT8, 0),
        ("other", values.INT4, 1),
        (float("nan"), values.INT8, 0),
        (float("inf"), values.INT8, 1),
        ("missing", values.DATE, 1),
        ("other", values.FLOAT8, 1),
        ("other", values.NUMERIC, 1),
    ):
        with pytest.raises(HedgerowError, match="ask for text"):
            values.written(value, kind, form)


def test_statements_are_cut_where_they_end():
    text = "SELECT ';' AS \"a;b\"; -- ;\n/* ; */ SELECT 2 ;; "
    assert len(statements_of(text)) == 2
    assert statements_of(" ; ; -- nothing") == []


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("", "empty"),
        ("-- nothing", "empty"),
        ("BEGIN", "transaction"),
        ("rollback to savepoint a", "transaction"),
        ("SET hedgerow.spend = on", "set"),
        ("SET x TO DEFAULT", "reset"),
        ("SHOW TimeZone", "show"),
        ("DISCARD ALL", "discard"),
        ("SELECT 1", "catalogue"),
        ("SELECT * FROM pg_class", "catalogue"),
        ("SELECT * FROM information_schema.tables", "catalogue"),
        ("SELECT * FROM people LIMIT 5", "preview"),
        ("SELECT sex FROM people WHERE 1 = 0", "preview"),
        ("SELECT TRUE FROM public.people WHERE 1 <> 1 LIMIT 0", "preview"),
        ("SELECT sex FROM people WHERE true LIMIT 5", "preview"),
        ("SELECT pg_sleep(1.5)", "sleep"),
        ("SELECT COUNT(*) FROM people", "question"),
        ("EXPLAIN SELECT COUNT(*) FROM people", "explain"),
        ("WITH a AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM a", "question"),
        ("COPY (SELECT COUNT(*) FROM people) TO STDOUT (FORMAT csv, HEADER)", "copy"),
    ],
)
def test_a_statement_is_known_before_it_runs(sql, kind):
    assert plan(sql, "people", DOMAIN).kind == kind


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("INSERT INTO people VALUES (1)", ReadOnly),
        ("COPY people FROM STDIN", ReadOnly),
        ("drop table people", ReadOnly),
        ("SELECT COUNT(*) FROM others", UnknownTable),
        ("SELECT COUNT(*) FROM private.people", UnknownTable),
        ("SELECT * FROM people", HedgerowError),
        ("SELECT * FROM people LIMIT 1001", HedgerowError),
        ("SELECT 1 FROM people LIMIT 5", HedgerowError),
        ("SELECT true FROM people LIMIT 5", HedgerowError),
        ("SELECT * FROM people WHERE sex = 'F' LIMIT 5", HedgerowError),
        ("COPY people TO STDOUT", HedgerowError),
        ("SELECT COUNT(*) FROM people, pg_class", HedgerowError),
        ("FLY", HedgerowError),
        ("SELECT (", HedgerowError),
        ("SELECT 1 WHERE a?!= 0", HedgerowError),
        ("SELECT COUNT(*) FROM people WHERE dp_low(1) > 2", HedgerowError),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(sql, error):
    with pytest.raises(error):
        plan(sql, "people", DOMAIN)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("TO_DATE('2020-04-01', 'YYYY-MM-DD')", "'2020-04-01'"),
        ("TO_TIMESTAMP('2020-04-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')", "'2020-04-01'"),
        ("TO_DATE('20200401', 'YYYYMMDD')", "'2020-04-01'"),
        ("TO_DATE('2020-04-01', 'YYYY-DD-MM')", None),
        ("TO_TIMESTAMP('20200401', 'YYYYDDMM')", None),
        ("TO_DATE('2020-04-01', $1)", None),
    ],
)
def test_a_day_is_read_by_its_format_and_one_in_another_order_is_never_taken_for_it(said, meant):
    asked = plan(f"SELECT COUNT(*) AS n FROM people WHERE day >= {said}", "people", DOMAIN)
    assert ("day >= '2020" in asked.sql) == (meant is not None)
    assert meant is None or meant in asked.sql


def test_errors_beside_numbers_are_taken_out_of_the_question():
    asked = plan(
        "SELECT sex, dp_low(n), COUNT(*) AS n FROM public.people GROUP BY 1 ORDER BY 3", "people", DOMAIN
    )
    assert "dp_" not in asked.sql.replace("dp_column", "")
    assert [column[0] for column in asked.columns] == ["sex", "dp_low", "n"]
    assert [part for _, part in asked.picks] == ["value", "low", "value"]


def test_parameters_that_are_left_open_have_the_type_of_what_they_stand_beside():
    def kinds(sql, said=()):
        return parameters.kinds(plan(sql, "people", WHOLE), sql, said, WHOLE)

    asked = "SELECT COUNT(*) FROM people WHERE age >= $1 AND day < $2 AND sex = $3 AND '$9' <> $4::numeric"
    assert kinds(asked) == [values.INT8, values.DATE, values.TEXT, values.NUMERIC]
    assert kinds(asked, [0, 0, values.VARCHAR]) == [values.INT8, values.DATE, values.VARCHAR, values.NUMERIC]
    assert kinds("SELECT sex, COUNT(*) FROM people GROUP BY 1 LIMIT $1") == [values.INT8]
    assert kinds("COPY (SELECT COUNT(*) FROM people WHERE age IN ($2, $1)) TO STDOUT") == [values.INT8] * 2
    assert kinds("SELECT relname FROM pg_class WHERE oid = $1 AND relname LIKE $2") == [
        values.OID,
        values.TEXT,
    ]
    assert kinds("BEGIN") == []


def test_arrays_are_written_as_text_and_in_binary():
    assert values.written(["pg_catalog", "a b"], 1009, values.TEXT_FORM) == b'{pg_catalog,"a b"}'
    sent = values.written([1, None], 1016, values.BINARY_FORM)
    assert struct.unpack("!iiiiiiqi", sent) == (1, 1, 20, 2, 1, 8, 1, -1)
    assert values.written([], 1009, values.BINARY_FORM) == struct.pack("!iii", 0, 0, 25)


@pytest.fixture(scope="module")
def catalogue():
    made = Catalogue("people", DOMAIN)
    yield made
    made.close()


def test_the_catalogue_is_the_declared_schema_and_knows_no_row(catalogue):
    _, rows = catalogue.run("SELECT relname, reltuples, relpages FROM pg_catalog.pg_class")
    assert rows == [("people", -1.0, 0)]
    sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1"
    assert catalogue.run(sql, ["people"])[1] == [
        ("sex", "text"),
        ("age", "double precision"),
        ("day", "date"),
    ]
    assert catalogue.run("SELECT version(), current_user", user="ann")[1][0][1] == "ann"
    assert catalogue.run("SELECT 'people'::regclass::oid")[1] == [(16384,)]
    assert catalogue.run("SELECT has_table_privilege('people', 'SELECT, INSERT')")[1] == [(True,)]
    assert catalogue.run("SELECT has_table_privilege('people', 'INSERT')")[1] == [(False,)]
    for leaks in ("pg_stats", "pg_statistic", "pg_stat_all_tables", "pg_stat_statements"):
        with pytest.raises(HedgerowError):
            catalogue.run(f"SELECT * FROM {leaks}")


def test_columns_have_their_types_whatever_the_rows_and_a_star_has_their_names(catalogue):
    sql = "SELECT oid, relname, reltuples, relhasindex, relacl FROM pg_class WHERE relname = $1"
    columns = [("oid", 20), ("relname", 25), ("reltuples", 701), ("relhasindex", 16), ("relacl", 1009)]
    for name in ("people", "nothing", None):
        assert catalogue.run(sql, [name])[0] == columns
    wrapped = "SELECT * FROM (SELECT attname, attnum FROM pg_attribute) a WHERE attnum = ANY($1)"
    assert catalogue.run(wrapped, ["{1,2}"]) == ([("attname", 25), ("attnum", 23)], [("sex", 1), ("age", 2)])
    with pytest.raises(HedgerowError, match="an array is written"):
        catalogue.run("SELECT '{a\rb}'::text[]")
    expanded = (
        "SELECT (x.keys).n FROM (SELECT information_schema._pg_expandarray(indkey) AS keys FROM pg_index) x"
    )
    assert catalogue.run(expanded)[1] == []


REACHES = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_settings()",
    "SELECT pg_catalog.coalesce(getenv('HOME'), '')",
    "ATTACH '/tmp/x.db'",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SET threads = 9",
    "SELECT * FROM pg_class, read_text('/etc/passwd')",
    "SELECT a FROM (SELECT read_blob('/etc/passwd') AS a)",
    "SELECT coalesce(NULL, current_setting('secret_directory'))::text || getenv('HOME')",
    "PRAGMA version",
    "WITH a AS (SELECT * FROM glob('/*')) SELECT * FROM a",
    "SELECT 1 UNION SELECT count(*) FROM glob('/*')",
    "SELECT CASE WHEN true THEN getvariable('x') END",
    "SELECT 1 ORDER BY getenv('HOME')",
    "LOAD httpfs",
    "SELECT 1 WHERE EXISTS (SELECT * FROM glob('/*'))",
    "SELECT format_type(getenv('A')::int, 1)",
    "SELECT unnest(array(SELECT file FROM glob('/*')))",
    "SELECT * FROM people",
    "SELECT x FROM unnest(glob('/*')) AS t(x)",
    "SELECT array_agg(getenv('HOME'))",
    "SELECT obj_description(1) || getenv('HOME')",
    "INSTALL json",
    "CALL pragma_version()",
    "SELECT (x).getenv('HOME') FROM (SELECT 'a' AS x) y",
    "SELECT ('HOME').getenv()",
    "SELECT * FROM information_schema.read_text('/etc/passwd')",
    "SELECT information_schema.getenv('HOME')",
    "SELECT * FROM pg_get_keywords('/etc/passwd')",
    "SELECT '{a}'::text[] || getenv('HOME')",
    "SELECT pg_sleep(3), getenv('HOME')",
)


@pytest.mark.parametrize("sql", REACHES)
def test_nothing_but_the_catalogue_is_reached(catalogue, sql):
    with pytest.raises(HedgerowError):
        catalogue.run(sql)


def test_an_unknown_name_is_asked_as_a_known_one_is():
    first = b"n,,n=,r=abc"
    one, two = (ScramExchange(None, "nobody", b"pepper").challenge(first) for _ in range(2))
    assert one.split(b",")[1:] == two.split(b",")[1:]
    exchange = ScramExchange(None, "nobody", b"pepper")
    nonce = exchange.challenge(first).split(b",")[0]
    assert exchange.verdict(b"c=biws," + nonce + b",p=" + b"A" * 43 + b"=") is None


def test_messages_have_the_lengths_they_say():
    from hedgerow.serve.wire import messages

    made = messages.columns([("a", 25, -1)], [0]) + messages.row([b"x", None])
    (size,) = struct.unpack("!i", made[1:5])
    assert made[size + 1 : size + 2] == b"D"
