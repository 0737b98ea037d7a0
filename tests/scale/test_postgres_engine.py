"""Rows in PostgreSQL: the same integers as in memory, one snapshot, and a SELECT that stays row by row."""

from __future__ import annotations

import itertools
import os
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.rows.postgres import PostgresEngine
from hedgerow.curator.rows.table import Rows
from hedgerow.errors import DataChanged
from hedgerow.testing import contracts

pytestmark = pytest.mark.xdist_group("postgres")

KEY = bytes(range(32))
NUMBER = itertools.count(1)
TYPES = {pa.int64(): "int8", pa.string(): "text", pa.float64(): "float8"}


def place(cluster, rows: pa.Table) -> str:
    """A new table in the cluster with these rows; its name."""
    import psycopg

    name = f"rows{os.getpid()}_{next(NUMBER)}"
    columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in rows.schema)
    with psycopg.connect(address(cluster), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows.to_pylist():
                copy.write_row(list(row.values()))
    return name


def address(cluster) -> str:
    return cluster.url().partition("#")[0]


def tables(source, domain, cliques, **options):
    return Rows(hr.Table.open(source, domain, **options), KEY).tables(cliques)


def same(one, other) -> None:
    assert one.keys() == other.keys()
    for clique in one:
        np.testing.assert_array_equal(one[clique], other[clique])


def test_it_keeps_the_contract_of_engines(postgres):
    contracts.check_engine(
        lambda rows: PostgresEngine(address(postgres), table=place(postgres, rows), unit="person")
    )


ODD = """
CREATE TYPE {name}_kind AS ENUM ('oak', 'ash', 'größe');
CREATE DOMAIN {name}_years AS int2 CHECK (VALUE < 200);
CREATE TABLE {name} (
    who numeric, price numeric(12, 2), wide numeric(30, 4), free numeric, born date, seen timestamptz,
    noted timestamp, kind {name}_kind, code char(4), years {name}_years, ok boolean, short real,
    long double precision, id uuid, word varchar(20)
);
INSERT INTO {name} VALUES
    (7, 1.50, 12345678901234567890.1234, 0.1, '2023-05-01', '2023-01-01 00:30+02',
     '2023-03-04 05:06:07.123456', 'oak',
     'ab', 42, true, 1.5, 2.5, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'déjà vu'),
    (7.0, -0.01, -0.0001, 123456789012345678901234567890.5, 'infinity', 'infinity', '-infinity',
     'größe', 'abcd', -3, false, 'NaN', 'Infinity', NULL, ''),
    (7.00, 99999.99, 0, 1e200, '0044-03-15 BC', '2023-12-31 23:59:59.999999+00', '2023-12-31 23:59:59.999999',
     'ash', '', 199, NULL, '-0', '-Infinity', '00000000-0000-0000-0000-000000000000', ' padded '),
    (123456789012345678901234567890, 'NaN', 'NaN', 'NaN', '5874897-12-31', '294276-12-31 00:00+00', NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (NULL, 0.30, 5, '-Infinity', '2023-02-28', '1999-12-31 23:00-05', '2000-01-01', 'ash', 'ab', 0, true,
     3.25, 1e-300, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '漢字');
"""


def odd(cluster) -> str:
    name = f"odd{os.getpid()}_{next(NUMBER)}"
    cluster.execute(ODD.format(name=name))
    return name


def odd_in_memory() -> pa.Table:
    """The same rows, said by hand."""
    us = pa.timestamp("us")
    far = np.iinfo(np.int64)

    def moments(texts, type_):
        known = {"+inf": far.max, "-inf": far.min, "far": far.max - 5}
        ticks = [
            t if t is None else known.get(t, 0) or int(np.datetime64(t, "us").astype(int)) for t in texts
        ]
        return pa.array(ticks, pa.int64()).cast(type_)

    days = [int(np.datetime64("2023-05-01").astype(int)), 2**31 - 1, -735_160, 2_145_042_541, 19_416]
    return pa.table(
        {
            "who": pa.array(["7", "7", "7", "123456789012345678901234567890", None]),
            "price": pa.array([Decimal(t) if t else None for t in ("1.50", "-0.01", "99999.99", "", "0.30")],
                              pa.decimal128(12, 2)),
            "wide": pa.array([Decimal(t) if t else None for t in
                              ("12345678901234567890.1234", "-0.0001", "0", "", "5")], pa.decimal128(30, 4)),
            "free": pa.array([0.1, 123456789012345678901234567890.5, 1e200, float("nan"), float("-inf")]),
            "born": pa.array(days, pa.int32()).cast(pa.date32()),
            "seen": moments(["2022-12-31T22:30", "+inf", "2023-12-31T23:59:59.999999", "far",
                             "2000-01-01T04:00"], pa.timestamp("us", "UTC")),
            "noted": moments(["2023-03-04T05:06:07.123456", "-inf", "2023-12-31T23:59:59.999999", None,
                              "2000-01-01"], us),
            "kind": pa.array(["oak", "größe", "ash", None, "ash"]),
            "code": pa.array(["ab", "abcd", "", None, "ab"]),
            "years": pa.array([42, -3, 199, None, 0], pa.int16()),
            "ok": pa.array([True, False, None, None, True]),
            "short": pa.array([1.5, float("nan"), -0.0, None, 3.25], pa.float32()),
            "long": pa.array([2.5, float("inf"), float("-inf"), None, 1e-300]),
            "id": pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None,
                            "00000000-0000-0000-0000-000000000000", None,
                            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
            "word": pa.array(["déjà vu", "", " padded ", None, "漢字"]),
        }
    )  # fmt: skip


def odd_domain() -> hr.Domain:
    return hr.Domain(
        {
            "price": hr.bins(0, 100, 0.5, step=0.5, missing=True),
            "wide": hr.bins(0, 10, 5, missing=True),
            "free": hr.Categorical(["0.1", "1e+200", "-inf"], other=True, missing=True),
            "born": hr.dates("2023-01-01", "2024-01-01", by="month", other=True, missing=True),
            "seen": hr.dates("2023-01-01", "2024-01-01", by="month", other=True, missing=True),
            "noted": hr.dates("2023-01-01", "2024-01-01", by="month", other=True, missing=True),
            "kind": hr.Categorical(["oak", "ash", "größe"], missing=True),
            "code": hr.Categorical(["ab", "abcd"], other=True, missing=True),
            "years": hr.bins(0, 100, 10, missing=True),
            "ok": hr.Categorical([True, False], missing=True),
            "short": hr.Categorical(["1.5", "0", "3.25"], other=True, missing=True),
            "long": hr.bins(0, 10, 1, missing=True),
            "id": hr.Categorical(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], other=True, missing=True),
            "word": hr.Categorical(["déjà vu", "漢字"], other=True, missing=True),
        }
    )


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 1}, {"unit": "id", "max_rows": 1}])
def test_every_type_reads_as_the_same_values_in_memory(postgres, unit):
    domain = odd_domain()
    singles = [(), *((name,) for name in domain)]
    found = tables(address(postgres), domain, singles, table=odd(postgres), **unit)
    same(found, tables(odd_in_memory(), domain, singles, **unit))


def test_a_table_is_one_snapshot_whatever_others_write_meanwhile(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1, 1])}))
    domain = hr.Domain({"a": 3})
    before = hr.Table.open(address(postgres), domain, table=name)
    postgres.execute(f"INSERT INTO {name} VALUES (2), (2)")
    assert Rows(before, KEY).tables([("a",)])[("a",)].tolist() == [1, 2, 0]
    assert Rows(before, KEY).tables([("a",)])[("a",)].tolist() == [1, 2, 0]
    assert tables(address(postgres), domain, [("a",)], table=name)[("a",)].tolist() == [1, 2, 2]


def test_a_snapshot_that_the_database_ended_is_one_sentence(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    table = hr.Table.open(address(postgres), hr.Domain({"a": 2}), table=name)
    pid = table._engine._keeper.info.backend_pid
    postgres.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
    with pytest.raises(hr.errors.DataChanged, match="ended the snapshot"):
        Rows(table, KEY).tables([("a",)])


def test_its_ledger_has_to_be_named(postgres, tmp_path):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    table = hr.Table.open(address(postgres), hr.Domain({"a": 2}), table=name)
    with pytest.raises(hr.LedgerError, match="ledger="):
        hr.Curator(table, hr.Budget(epsilon=1))
    curator = hr.Curator(table, hr.Budget(epsilon=1), tmp_path / "people.hedgerow.db")
    assert curator.measure(("a",), 1).values.shape == (2,)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM {t}", {0: 2, 1: 2, 2: 1}),
        ("SELECT a FROM {t} WHERE b = 'x'", {0: 1, 1: 1}),
        ("SELECT T.a FROM {t} AS t WHERE t.b IN ('x', 'y') AND NOT (a = 0 OR a IS NULL)", {1: 2}),
        ("SELECT a FROM {t} WHERE b IS NULL OR b LIKE 'y%'", {1: 1, 2: 1}),
        (
            "SELECT CASE WHEN b = 'x' THEN 2 ELSE a END AS a FROM {t} WHERE a BETWEEN 0 AND 1",
            {0: 1, 1: 1, 2: 2},
        ),
        ("SELECT COALESCE(NULLIF(a, 0), 1) AS a FROM {t}", {1: 4, 2: 1}),
        ("SELECT length(b) AS a FROM {t} WHERE upper(trim(b)) <> 'X'", {1: 2}),
        ("SELECT a FROM {t} WHERE left(b, 1) = 'it''s'", {}),
        ("SELECT a FROM {t} WHERE b IS DISTINCT FROM 'x' AND a >= -1 AND a::text < '2'", {0: 1, 1: 1}),
        ("SELECT extract(month from c) AS a FROM {t} WHERE c > '2020-01-01'", {1: 1, 2: 1}),
    ],
)
def test_a_query_chooses_columns_and_rows(postgres, query, rows):
    name = f"q{os.getpid()}_{next(NUMBER)}"
    postgres.execute(
        f"CREATE TABLE {name} (a int8, b text, c date); INSERT INTO {name} VALUES (0, 'x', '2024-01-05'), "
        "(0, 'z', '2019-03-03'), (1, 'x', 'infinity'), (1, 'y', '2024-02-01'), (2, NULL, NULL)"
    )
    # infinity has no month: it is no level of `a`, and falls back to the first
    domain = hr.Domain({"a": hr.Categorical(range(3), other=True)})
    found = tables(address(postgres), domain, [("a",)], query=query.format(t=name))[("a",)]
    expected = [rows.get(level, 0) for level in range(3)]
    assert found[:3].tolist() == expected


REFUSED = {
    "SELECT DISTINCT a FROM t": "DISTINCT",
    "SELECT a FROM t LIMIT 5": "LIMIT",
    "SELECT a FROM t OFFSET 1": "OFFSET",
    "SELECT a FROM t ORDER BY a": "ORDER BY",
    "SELECT a FROM t GROUP BY a": "GROUP BY",
    "SELECT count(*) AS a FROM t": "aggregate",
    "SELECT a FROM t WHERE a > (SELECT avg(a) FROM t)": "constant|subquery",
    "SELECT a FROM t WHERE a IN (SELECT a FROM t)": "subquery",
    "SELECT a FROM t WHERE EXISTS (SELECT 1)": "subquery",
    "SELECT row_number() OVER () AS a FROM t": "window",
    "SELECT lag(a) OVER (ORDER BY a) AS a FROM t": "window",
    "SELECT x.a FROM t x JOIN t y ON x.a = y.a": "a join",
    "SELECT x.a FROM t x, t y": "a join",
    "SELECT a FROM (SELECT a FROM t LIMIT 3) s": "subquery",
    "WITH s AS (SELECT a FROM t LIMIT 3) SELECT a FROM s": "WITH",
    "SELECT a FROM t UNION SELECT a FROM t": "set operation",
    "SELECT a FROM t TABLESAMPLE BERNOULLI (10)": "TABLESAMPLE",
    "SELECT a FROM t FOR UPDATE": "FOR UPDATE",
    "SELECT generate_series(1, a) AS a FROM t": "function|ExplodingGenerateSeries",
    "SELECT random() AS a FROM t": "function",
    "SELECT a FROM t WHERE random() < 0.5": "function|Rand",
    "SELECT pg_sleep(a) AS a FROM t": "pg_sleep",
    "SELECT 1 / a AS a FROM t": "Div",
    "SELECT a + 1 AS a FROM t": "Add",
    "SELECT b::int AS a FROM t": "Cast|cast",
    "SELECT a FROM t WHERE a = c": "constant",
    "SELECT a FROM t WHERE b ~ '(a'": "RegexpLike|function",
    "SELECT a FROM t WHERE b LIKE '\\'": "Like",
    "SELECT COALESCE(n, f) AS a FROM t": "one type",
    "SELECT CASE WHEN a = 1 THEN n ELSE f END AS a FROM t": "one type",
    "SELECT extract(hour from d) AS a FROM t": "extract",
    "SELECT current_date AS a FROM t": "function|CurrentDate",
    "SELECT a FROM t; DROP TABLE t": "one SELECT",
    "DELETE FROM t": "one SELECT",
    "SELECT a FROM generate_series(1, 3) AS s(a)": "one table",
    "SELECT a AS x, a AS x FROM t": "two columns",
    "SELECT a, lower(b) FROM t": "needs a name",
    "SELECT y.a FROM t": "does not read",
    "SELECT nothing FROM t": "no column",
    "SELECT a FROM": "can be read",
    "SELECT a INTO u FROM t": "INTO",
    "SELECT p AS a FROM t": "type",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_that_is_not_row_by_row_or_could_fail_by_a_row_is_refused_with_the_reason(postgres, query):
    postgres.execute(
        "CREATE TABLE IF NOT EXISTS t (a int8, b text, c int8, n numeric, f float8, d date, p point)"
    )
    with pytest.raises(hr.SourceError, match=REFUSED[query]):
        hr.Table.open(address(postgres), hr.Domain({"a": 2}), query=query)


def test_views_are_refused_since_they_may_mix_rows(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    postgres.execute(f"CREATE VIEW {name}_v AS SELECT max(a) AS a FROM {name}")
    postgres.execute(f"CREATE MATERIALIZED VIEW {name}_m AS SELECT a FROM {name}")
    for kind, words in (("v", "a view"), ("m", "a materialized view")):
        with pytest.raises(hr.SourceError, match=f"is {words}"):
            hr.Table.open(address(postgres), hr.Domain({"a": 2}), table=f"{name}_{kind}")


def test_partitions_and_heirs_hold_rows_of_the_table(postgres):
    name = f"parted{os.getpid()}_{next(NUMBER)}"
    postgres.execute(
        f"CREATE TABLE {name} (a int8, b text) PARTITION BY LIST (b); "
        f"CREATE TABLE {name}_x PARTITION OF {name} FOR VALUES IN ('x') PARTITION BY RANGE (a); "
        f"CREATE TABLE {name}_x0 PARTITION OF {name}_x DEFAULT; "
        f"CREATE TABLE {name}_y (b text, a int8); ALTER TABLE {name} ATTACH PARTITION {name}_y DEFAULT; "
        f"INSERT INTO {name} VALUES (0, 'x'), (1, 'x'), (1, 'y'), (2, NULL); "
        f"CREATE TABLE {name}_p (a int8); CREATE TABLE {name}_h (more text) INHERITS ({name}_p); "
        f"INSERT INTO {name}_p VALUES (0); INSERT INTO {name}_h VALUES (1, 'z'), (2, 'z')"
    )
    for table, expected in ((name, [1, 2, 1]), (f"{name}_p", [1, 1, 1])):
        assert (
            tables(address(postgres), hr.Domain({"a": 3}), [("a",)], table=table)[("a",)].tolist() == expected
        )


def test_what_arrays_cannot_hold_is_read_from_fewer_pages(postgres, monkeypatch):
    from psycopg.errors import ProgramLimitExceeded

    from hedgerow.curator.rows import postgres_pages

    rows = pa.table({"a": pa.array(np.arange(4000) % 3), "b": pa.array(["x" * 100] * 4000)})
    table = hr.Table.open(address(postgres), hr.Domain({"a": 3}), table=place(postgres, rows))
    send, refused = postgres_pages._sent, []

    def short(connection, sql):
        found = send(connection, sql)
        if any(array is not None and len(array) > 8 * 300 for array in found):
            refused.append(sql)
            send(connection, "SELECT array_agg(1)")
            raise ProgramLimitExceeded
        return found

    monkeypatch.setattr(postgres_pages, "_sent", short)
    assert Rows(table, KEY).tables([("a",)])[("a",)].tolist() == [1334, 1333, 1333]
    assert refused


def test_what_arrays_cannot_hold_of_one_page_is_read_row_by_row(postgres, monkeypatch):
    from psycopg.errors import ProgramLimitExceeded

    from hedgerow.curator.rows import postgres_pages

    rows = pa.table({"a": pa.array(np.arange(40) % 3)})
    table = hr.Table.open(address(postgres), hr.Domain({"a": 3}), table=place(postgres, rows))
    send = postgres_pages._sent

    def shorter(connection, sql):
        found = send(connection, sql)
        if any(array is not None and len(array) > 20 + 12 for array in found):
            raise ProgramLimitExceeded
        return found

    monkeypatch.setattr(postgres_pages, "_sent", shorter)
    assert Rows(table, KEY).tables([("a",)])[("a",)].tolist() == [14, 13, 13]


def test_row_security_is_refused_and_never_filters_unseen(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    role = f"reader{os.getpid()}"
    postgres.execute(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN")
    postgres.execute(f"GRANT SELECT ON {name} TO {role}; ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    url = postgres.url(user=role).partition("#")[0]
    with pytest.raises(hr.SourceError, match="row security"):
        Rows(hr.Table.open(url, hr.Domain({"a": 2}), table=name), KEY).tables([("a",)])
    postgres.execute(f"DROP TABLE {name}; DROP ROLE {role}")


def test_operators_that_somebody_put_before_those_of_the_database_are_not_used(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    postgres.execute(
        "CREATE SCHEMA IF NOT EXISTS trick; "
        "CREATE OR REPLACE FUNCTION trick.never(int8, int4) RETURNS boolean "
        "LANGUAGE sql AS 'SELECT false'; DROP OPERATOR IF EXISTS trick.=(int8, int4); "
        "CREATE OPERATOR trick.= (LEFTARG = int8, RIGHTARG = int4, FUNCTION = trick.never)"
    )
    url = address(postgres) + "?options=-c%20search_path%3Dtrick%2Cpg_catalog%2Cpublic"
    found = tables(url, hr.Domain({"a": 2}), [("a",)], query=f"SELECT a FROM {name} WHERE a = 1")
    assert found[("a",)].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "`table=` or of `query=`"),
        ({"table": "a", "query": "SELECT a FROM b"}, "one of the two"),
        ({"table": "nowhere_at_all"}, "has no table"),
        ({"table": "a; DROP TABLE b"}, "name of one table"),
        ({"table": "a", "delimiter": ","}, "options of files"),
    ],
)
def test_what_is_missing_or_wrong_is_one_sentence(postgres, options, words):
    with pytest.raises(hr.SourceError, match=words):
        hr.Table.open(address(postgres), hr.Domain({"a": 2}), **options)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/none",
        "postgresql://ann:x@s3cret@127.0.0.1:1/none",
        "postgresql://ann:x#s3cret@127.0.0.1:1/none",
        "postgresql://ann:x/s3cret@127.0.0.1:1/none",
        "postgresql://ann:x?s3cret@127.0.0.1:1/none",
        "postgresql://ann@127.0.0.1:1/none?password=s3cret",
        "postgresql://ann@127.0.0.1:1/none?sslmode=disable&sslpassword=s3cret",
    ],
)
def test_no_error_shows_the_password_or_a_row(postgres, url):
    with pytest.raises(hr.SourceError, match=r"postgresql://ann.* cannot be reached") as refused:
        hr.Table.open(url, hr.Domain({"a": 2}), table="people")
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in repr(refused.value.__cause__)


def test_floating_point_ids_are_refused_as_everywhere(postgres):
    name = f"floats{os.getpid()}_{next(NUMBER)}"
    postgres.execute(f"CREATE TABLE {name} AS SELECT 0 AS a, i::float8 AS p FROM generate_series(1, 9) i")
    with pytest.raises(hr.DomainMismatch, match="floating-point"):
        hr.Table.open(address(postgres), hr.Domain({"a": 2}), table=name, unit="p", max_rows=1)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT a FROM {t} WHERE loose LIKE 'x%'", "different texts are equal"),
        ("SELECT a FROM {t} WHERE lower(loose) ILIKE 'x%'", "different texts are equal"),
        ("SELECT a FROM {t} WHERE COALESCE(one, other) < 'b'", "two collations"),
        ("SELECT lower(CASE WHEN a = 1 THEN one ELSE other END) AS a FROM {t}", "two collations"),
        ("SELECT a FROM {t} WHERE day < 'today'", "changes while rows are read"),
        ("SELECT a FROM {t} WHERE moment IN ('NOW', '2020-01-01')", "changes while rows are read"),
        ("SELECT a FROM {t} WHERE one > 5", "did not read what the table is"),
    ],
)
def test_a_query_that_fails_by_a_rows_text_or_depends_on_the_moment_is_refused(postgres, query, words):
    name = f"orders{os.getpid()}_{next(NUMBER)}"
    postgres.execute(
        f"CREATE COLLATION {name}_c (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        f'CREATE TABLE {name} (a int8, loose text COLLATE {name}_c, one text COLLATE "C", '
        'other text COLLATE "POSIX", day date, moment timestamptz)'
    )  # no row: it is the statement that is refused, whatever is in the table
    with pytest.raises(hr.SourceError, match=words):
        hr.Table.open(address(postgres), hr.Domain({"a": 2}), query=query.format(t=name))


def test_texts_of_a_collation_are_compared_and_a_level_may_be_called_now(postgres):
    name = f"orders{os.getpid()}_{next(NUMBER)}"
    postgres.execute(
        f"CREATE COLLATION {name}_c (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        f'CREATE TABLE {name} (a int8, loose text COLLATE {name}_c, one text COLLATE "C"); '
        f"INSERT INTO {name} VALUES (0, 'NOW', 'now'), (1, 'now', 'x'), (1, NULL, 'y')"
    )
    query = f"SELECT a FROM {name} WHERE loose = 'now' AND (one LIKE 'n%' OR one > 'w')"
    assert tables(address(postgres), hr.Domain({"a": 2}), [("a",)], query=query)[("a",)].tolist() == [1, 1]


def test_a_table_that_is_altered_while_it_is_opened_has_to_be_opened_anew(postgres):
    name = place(postgres, pa.table({"a": pa.array([0, 1])}))
    engine = PostgresEngine(address(postgres), table=name)
    postgres.execute(f"ALTER TABLE {name} ALTER a TYPE float8")  # as wide as it was, and read as another
    with pytest.raises(DataChanged, match="altered"):
        engine.check(["a"])


def test_a_file_has_no_table(tmp_path):
    (tmp_path / "a.csv").write_text("a\n0\n")
    with pytest.raises(hr.SourceError, match="for databases"):
        hr.Table.open(tmp_path / "a.csv", hr.Domain({"a": 2}), table="people")
