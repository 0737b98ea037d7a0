"""No statement reaches a file, a variable, a setting or an extension through the second stage.

Two walls stand, and each is tested alone. The compiler prints what the engine runs from lists of what is
allowed: none of these statements is more than a refusal in one sentence. And the engine, given the same texts
as they are, with no list in between, does none of it either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, UnsupportedSQL
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.sql.stages.engine import SETTINGS, NotWorkedOut, ReleasedEngine
from hedgerow.queries.sql.stages.gate import parse_unbound
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

SECRET = "the-secret-of-the-house"
DOMAIN = hr.Domain({"x": ["a", "b"], "n": [1, 2, 3]})
TABLES = exact_tables({"x": ["a", "b", "b"], "n": [1, 2, 3]}, {"x": 2, "n": 3}, DOMAIN)
secret_frame = {"x": [SECRET]}  # a Python variable that a default connection would read

# What reaches out, as a table and as a value; {file} holds the secret, {new} is not there.
FROM = """
'{file}'
"{file}"
read_csv('{file}')
read_csv_auto('{file}')
read_text('{file}')
read_blob('{file}')
read_json('{file}')
read_json_auto('{file}')
read_parquet('{file}')
parquet_scan('{file}')
sniff_csv('{file}')
glob('{folder}/*')
read_ndjson('{file}')
read_json_objects('{file}')
read_duckdb('{file}')
parquet_metadata('{file}')
parquet_schema('{file}')
read_csv(['{file}'])
read_text(getvariable('p'))
'https://example.org/x.csv'
read_csv('s3://bucket/x.csv')
secret_frame
SECRET
DOMAIN
duckdb_settings()
duckdb_extensions()
duckdb_secrets()
duckdb_variables()
duckdb_databases()
duckdb_tables()
duckdb_logs
duckdb_functions()
duckdb_memory()
duckdb_temporary_files()
pragma_version()
pragma_database_size()
pragma_user_agent()
pragma_platform()
which_secret('x', 's3')
information_schema.tables
pg_catalog.pg_class
pg_settings
sqlite_master
main.s0
s0
temp.s0
query('SELECT 1')
query_table('s0')
arrow_scan(1, 2, 3)
pandas_scan(1)
python_map_function(1)
postgres_scan('a', 'b', 'c')
sqlite_scan('{file}', 'x')
mysql_scan('a', 'b', 'c')
iceberg_scan('{file}')
delta_scan('{file}')
st_read('{file}')
read_xlsx('{file}')
range(3)
generate_series(1, 3)
unnest([1, 2])
repeat_row(1, num_rows := 3)
test_all_types()
(FROM '{file}')
(VALUES (1))
(TABLE '{file}')
(PIVOT '{file}' ON x USING COUNT(*))
(DESCRIBE '{file}')
(SUMMARIZE '{file}')
(SHOW TABLES)
"""
VALUES = """
getenv('HOME')
getvariable('p')
current_setting('threads')
current_setting('home_directory')
current_database()
current_schema()
current_schemas(true)
current_user
session_user
version()
pg_typeof(1)
txid_current()
current_query()
nextval('s')
currval('s')
hash('a')
md5('a')
random()
uuid()
gen_random_uuid()
setseed(0.5)
now()
today()
current_date
current_timestamp
get_current_time()
read_text('{file}')
file_exists('{file}')
parse_path('{file}')
write_log('x')
error('x')
sleep_ms(10000)
add_parquet_key('a', 'b')
load_extension('x')
in_search_path('a', 'b')
pg_read_file('{file}')
pg_sleep(100)
lo_import('{file}')
http_get('http://example.org')
from_json('1', '1')
json_extract('1', '$')
list_transform([1], lambda q: q)
[q for q in [1]]
struct_pack(a := 1)
{{'a': 1}}
MAP {{1: 2}}
ARRAY[1]
regexp_matches('a', '(a+)+$')
regexp_replace('a', 'a', 'b')
repeat('a', 1000000000)
lpad('a', 1000000000, 'b')
range(1000000000)
generate_subscripts([1], 1)
printf('%s', 'a')
format('{{}}', 'a')
chr(0)
bit_count(1)
icu_sort_key('a', 'b')
stats(1)
vector_type(1)
has_table_privilege('s0', 'select')
CAST('1' AS JSON)
'a'::BLOB
'1'::HUGEINT::BIT
COLUMNS(*)
COLUMNS('.*')
x COLLATE NOCASE
TRY(1)
s0.n0
r1.g0
rowid
#1
$$a$$
(SELECT x FROM '{file}')
(SELECT content FROM read_text('{file}'))
(FROM secret_frame SELECT x)
EXISTS (FROM '{file}')
1 IN (SELECT content FROM read_text('{file}'))
first(x)
arg_max(x, n)
string_agg(x, ',')
list(x)
histogram(x)
any_value(x)
mode(x)
approx_top_k(n, 2)
"""
WHOLE = """
SET threads = 4
SET VARIABLE p = 1
RESET threads
PRAGMA threads = 4
LOAD httpfs
INSTALL httpfs
ATTACH '{new}'
COPY (SELECT 1) TO '{new}'
COPY s0 FROM '{file}'
EXPORT DATABASE '{new}'
IMPORT DATABASE '{folder}'
CREATE TABLE q AS SELECT 1
CREATE MACRO q() AS 1
CREATE SECRET q (TYPE s3)
DROP TABLE s0
INSERT INTO s0 VALUES (1)
UPDATE s0 SET n0 = 1
DELETE FROM s0
CALL pragma_version()
EXPLAIN SELECT COUNT(*) FROM t
DESCRIBE t
SUMMARIZE t
SHOW TABLES
CHECKPOINT
VACUUM
FROM '{file}'
TABLE '{file}'
VALUES (1)
PREPARE q AS SELECT 1
EXECUTE q
SELECT COUNT(*) FROM t; SELECT * FROM '{file}'
SELECT COUNT(*) FROM t; SET threads = 4
SELECT COUNT(*) INTO OUTFILE '{new}' FROM t
SELECT * FROM '{file}' UNION ALL SELECT x FROM t GROUP BY x
WITH q AS (FROM '{file}') SELECT COUNT(*) FROM q JOIN q AS p ON TRUE
WITH RECURSIVE q AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM q) SELECT COUNT(*), MAX(i) FROM q
WITH q AS MATERIALIZED (SELECT * FROM read_text('{file}')) SELECT content FROM q
SELECT x, (SELECT content FROM read_text('{file}')) AS c FROM t GROUP BY x
SELECT x FROM t GROUP BY x HAVING (SELECT COUNT(*) FROM glob('{folder}/*')) > 0
SELECT x FROM t GROUP BY x ORDER BY (SELECT content FROM read_text('{file}'))
SELECT x FROM t GROUP BY x QUALIFY row_number() OVER (ORDER BY getenv('HOME')) = 1
SELECT COUNT(*) FROM t WHERE x IN (SELECT content FROM read_text('{file}'))
SELECT COUNT(*) FROM t WHERE x = (SELECT content FROM read_text('{file}'))
SELECT COUNT(*) FROM t WHERE x = getenv('HOME')
SELECT SUM(CASE WHEN getenv('HOME') = 'a' THEN 1 END) FROM t
SELECT COUNT(*) FROM t, '{file}'
SELECT COUNT(*) FROM t JOIN '{file}' AS f ON TRUE
SELECT COUNT(*) FROM t, LATERAL (SELECT * FROM '{file}')
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


STATEMENTS = [
    *(f"SELECT * FROM {part}" for part in _lines(FROM)),
    *(f"SELECT x, COUNT(*) AS n, {part} AS v FROM t GROUP BY x" for part in _lines(VALUES)),
    *_lines(WHOLE),
]
DIRECT = [
    *(f"SELECT * FROM {part}" for part in _lines(FROM)),
    *(f"SELECT {part}" for part in _lines(VALUES)),
    *_lines(WHOLE),
]
PUBLIC = {"range(3)", "generate_series(1, 3)", "unnest([1, 2])"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("house")
    file = folder / "secret.csv"
    file.write_text(f"x\n{SECRET}\n")
    return {"file": str(file), "folder": str(folder), "new": str(folder / "new")}


@pytest.fixture
def engine() -> Iterator[ReleasedEngine]:
    with closing(ReleasedEngine()) as made:
        yield made


def _held(folder: str) -> set[str]:
    return {p.name for p in Path(folder).iterdir()}


class _Answer:
    def __init__(self, table: object) -> None:
        self.table = table


def _in_one_line(error: HedgerowError) -> None:
    assert "\n" not in str(error)


def answered(text: str) -> list[tuple[object, ...]] | None:
    """The rows of a statement on the exact tables; None where it is refused."""
    try:
        asked = sql(DOMAIN, text)
        if not isinstance(asked, TwoStages):
            return list(asked.evaluate(TABLES).rows)
        made, _ = asked.answered(lambda questions: [_Answer(q.evaluate(TABLES)) for q in questions])
        return list(made.result.rows)
    except HedgerowError as error:
        _in_one_line(error)
        return None


def test_there_are_200_statements() -> None:
    assert len(set(STATEMENTS)) >= 200


def test_no_statement_reaches_anything_through_the_lists(places: dict[str, str]) -> None:
    """All are refused; a name that is none in the statement is the private table, and rows are not shown."""
    before = _held(places["folder"])
    for text in STATEMENTS:
        rows = answered(text.format(**places))
        assert rows is None, text
    assert _held(places["folder"]) == before


def reached(engine: ReleasedEngine, text: str, places: dict[str, str]) -> bool:
    """Whether the secret came back, or something about this machine."""
    try:
        rows = engine.run(text.format(**places))
    except HedgerowError:
        return False
    return SECRET in repr(rows)


def test_the_engine_gives_nothing_away_even_without_the_lists(
    engine: ReleasedEngine, places: dict[str, str]
) -> None:
    before = _held(places["folder"])
    for text in DIRECT:
        if "sleep" in text or "1000000000" in text or "RECURSIVE" in text:
            continue  # bounded by time and memory, which is tested below
        assert not reached(engine, text, places), text
    assert _held(places["folder"]) == before
    ((threads,),) = engine.run("SELECT current_setting('threads')")
    assert threads == 1


def test_without_the_settings_the_same_statements_do_reach(places: dict[str, str]) -> None:
    """What the test above would see if the engine stood open: it can turn red."""
    reading = [t for t in DIRECT if t.startswith("SELECT * FROM") and ("{file}" in t or "secret_frame" in t)]
    with closing(ReleasedEngine({}, locked=False)) as opened:
        assert sum(reached(opened, text, places) for text in reading) > 5
        opened.run("SET threads = 3")
        assert opened.run("SELECT current_setting('threads')") == [(3,)]


def test_without_the_lists_the_same_statements_are_not_refused(
    engine: ReleasedEngine, places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first test would see if the analyst's own text were run: many of them are answered."""
    monkeypatch.setitem(globals(), "answered", lambda text: _raw(engine, text))
    with pytest.raises(AssertionError):
        test_no_statement_reaches_anything_through_the_lists(places)


def _raw(engine: ReleasedEngine, text: str) -> list[tuple[object, ...]] | None:
    try:
        return engine.run(text)
    except HedgerowError:
        return None


def test_work_is_bounded_in_time_and_memory() -> None:
    with closing(ReleasedEngine(SETTINGS | {"memory_limit": "32MB"})) as small:
        with pytest.raises(HedgerowError, match="seconds"):
            small.run("SELECT COUNT(*) FROM range(10000000000000)", seconds=0.3)
        with pytest.raises(HedgerowError, match="memory"):
            small.run("SELECT list(range || 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa') FROM range(10000000)")
        with pytest.raises(HedgerowError):
            small.run("SELECT * FROM range(2000000)")
        assert small.run("SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", [*SETTINGS, "lock_configuration"])
def test_every_setting_is_as_it_should_be_and_stays_so(engine: ReleasedEngine, name: str) -> None:
    before = engine.run(f"SELECT current_setting('{name}')")
    for words in (
        f"SET {name} = DEFAULT",
        f"RESET {name}",
        f"SET GLOBAL {name} = 'x'",
        f"PRAGMA {name} = 'x'",
    ):
        with pytest.raises(HedgerowError):
            engine.run(words)
    assert engine.run(f"SELECT current_setting('{name}')") == before
    assert duckdb.connect().execute(f"SELECT current_setting('{name}')").fetchall() != before


def test_a_database_that_had_many_statements_is_made_anew_and_locked_again(monkeypatch: pytest.MonkeyPatch):
    """DuckDB keeps something of every statement that groups or joins until it is closed."""
    monkeypatch.setattr("hedgerow.queries.sql.stages.engine.LASTS", 5)
    begin = [("CREATE TABLE kept (n INTEGER)", ()), ("INSERT INTO kept VALUES (?)", [7])]
    with closing(ReleasedEngine(begin=begin)) as made:
        bases = {made._base}
        for turn in range(30):
            with made.holding({"own": {"n": ("INTEGER", [turn])}}):
                own = made._base
                for _ in range(8):
                    assert made.run("SELECT own.n, kept.n FROM own, kept") == [(turn, 7)]
                assert made._base is own
            bases.add(own)
            with pytest.raises(NotWorkedOut):
                made.run("SET threads = 2")
            with pytest.raises(NotWorkedOut):
                made.run("SELECT * FROM own")
    assert len(bases) > 5


@pytest.mark.parametrize("deep", ["[" * 9_000, "{'a': " * 3_000, "x" + "[x" * 4_000, "x" + "[1]" * 6_000])
def test_brackets_are_bounded_before_they_are_parsed(deep: str) -> None:
    """The parser would overflow the stack of a small thread, or build a tree as deep as they are many."""
    with pytest.raises(UnsupportedSQL, match="the nesting is deeper"):
        parse_unbound(f"SELECT {deep} FROM t")
