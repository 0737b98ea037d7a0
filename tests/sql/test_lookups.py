"""Public lookups: rows are joined with them by their key, as DuckDB would; with nothing else."""

from __future__ import annotations

import random

import duckdb
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.queries.domain.lookup import Lookup
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

LOOKUPS = {
    "airlines": [
        {"code": "UA", "title": "United", "land": "US"},
        {"code": "LH", "title": "Lufthansa", "land": "DE"},
        {"code": "XX", "title": "Nobody's", "land": "US"},  # which no row has
    ],
    "months": {
        "key": "m",
        "columns": ["m", "season"],
        "rows": [[i, "w" if i < 3 else "s"] for i in range(1, 13)],
    },
    "lands": b"land,size,eu\nUS,9.8,\nDE,0.4,yes\n",
}
DOMAIN = hr.Domain(
    {
        "carrier": ["UA", "LH", "AF"],
        "month": hr.bins(1, 13, 1, step=1, missing=False),
        "delay": hr.bins(0, 100, 10, step=1, missing=False),
    },
    lookups=LOOKUPS,
)
_RANDOM = random.Random(5)
ROWS = {
    "carrier": [_RANDOM.choice(["UA", "LH", "AF"]) for _ in range(400)],
    "month": [_RANDOM.randint(1, 12) for _ in range(400)],
    "delay": [_RANDOM.randint(0, 99) for _ in range(400)],
}
TABLES = exact_tables(ROWS, {a: DOMAIN[a].size for a in DOMAIN}, DOMAIN)


class _Held:
    def __init__(self, table: object) -> None:
        self.table = table


def ours(text: str) -> list[tuple[object, ...]]:
    asked = sql(DOMAIN, text)
    assert isinstance(asked, TwoStages)
    made, _ = asked.answered(lambda questions: [_Held(q.evaluate(TABLES)) for q in questions])
    return [tuple(row) for row in made.result.rows]


def theirs(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        for name, columns in {"t": ROWS, **{n: _columns(one) for n, one in DOMAIN.lookups.items()}}.items():
            made = ", ".join(f"unnest($c{i}) AS {c}" for i, c in enumerate(columns))
            db.execute(
                f"CREATE TABLE {name} AS SELECT {made}", {f"c{i}": v for i, v in enumerate(columns.values())}
            )
        return db.execute(text).fetchall()


def _columns(one: Lookup) -> dict[str, list[object]]:
    return {c: list(one.column(c)) for c in one.columns}


ANSWERED = [
    "SELECT a.title, COUNT(*) AS n FROM t JOIN airlines a ON t.carrier = a.code GROUP BY a.title ORDER BY 1",
    "SELECT title, COUNT(*) AS n FROM t LEFT JOIN airlines ON carrier = code GROUP BY title ORDER BY 1",
    "SELECT season, SUM(month) AS s FROM t JOIN months ON month = m GROUP BY season ORDER BY 1",
    "SELECT l.size, COUNT(*) AS n FROM t JOIN airlines a ON t.carrier = a.code JOIN lands l "
    "ON l.land = a.land GROUP BY l.size ORDER BY 1",
    "SELECT a.land, season, COUNT(*) AS n FROM t f JOIN airlines a ON a.code = f.carrier JOIN months "
    "ON months.m = f.month WHERE a.land = 'US' GROUP BY ALL ORDER BY 1, 2",
    "SELECT a.title, COUNT(*) AS n FROM airlines a JOIN t ON t.carrier = a.code GROUP BY a.title ORDER BY 1",
    "SELECT COUNT(*) AS n FROM t JOIN airlines a ON t.carrier = a.code WHERE a.land = 'DE' AND delay >= 50",
    "SELECT COUNT(*) AS n FROM t WHERE carrier IN (SELECT code FROM airlines WHERE land = 'US')",
    "SELECT COUNT(*) FILTER (WHERE l.eu IS NULL) AS n, COUNT(*) AS m FROM t JOIN airlines a "
    "ON carrier = code LEFT JOIN lands l ON a.land = l.land",
    "WITH c AS (SELECT carrier, COUNT(*) AS n FROM t GROUP BY carrier) "
    "SELECT carrier, title, n FROM c LEFT JOIN airlines a ON c.carrier = a.code ORDER BY carrier",
    "SELECT land, SUM(n) AS n FROM (SELECT a.land, a.title, COUNT(*) AS n FROM t JOIN airlines a "
    "ON t.carrier = a.code GROUP BY ALL) x GROUP BY land ORDER BY 1",
    "SELECT code, land FROM airlines ORDER BY code",
    "SELECT DISTINCT a.land FROM t JOIN airlines a ON t.carrier = a.code ORDER BY 1",
]


@pytest.mark.parametrize("text", ANSWERED)
def test_a_join_with_a_lookup_is_what_duckdb_says(text: str) -> None:
    said = [tuple("NULL" if v is None else v for v in row) for row in theirs(text)]
    for mine, other in zip(ours(text), said, strict=True):
        for one, two in zip(mine, other, strict=True):
            assert one == (pytest.approx(float(two)) if isinstance(one, float) else str(two))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM t JOIN airlines a ON t.carrier < a.code", "by its key"),
        ("SELECT COUNT(*) FROM t JOIN airlines a ON t.carrier = a.land", "by its key"),
        ("SELECT COUNT(*) FROM t JOIN airlines a USING (code)", "code"),
        ("SELECT COUNT(*) FROM t CROSS JOIN airlines a", "no other join"),
        ("SELECT COUNT(*) FROM t FULL JOIN airlines a ON t.carrier = a.code", "no other join"),
        ("SELECT COUNT(*) FROM t RIGHT JOIN airlines a ON t.carrier = a.code", "no other join"),
        ("SELECT COUNT(*) FROM t JOIN t b ON t.carrier = b.carrier", "join with rows"),
        ("SELECT COUNT(*) FROM t JOIN other b ON t.carrier = b.carrier", "join with rows"),
        ("SELECT COUNT(*) FROM t JOIN 'airlines.csv' a ON t.carrier = a.code", "join with rows"),
        ("SELECT COUNT(*) FROM t JOIN read_csv('a.csv') a ON t.carrier = a.code", "join with rows"),
        ("SELECT a.nope, COUNT(*) FROM t JOIN airlines a ON t.carrier = a.code GROUP BY 1", "'nope'"),
        ("SELECT a.title FROM t JOIN airlines a ON t.carrier = a.code", "never shown"),
        ("SELECT * FROM t JOIN airlines a ON t.carrier = a.code", "never shown"),
    ],
)
def test_any_other_join_is_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(HedgerowError, match=words) as refused:
        sql(DOMAIN, text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "bad",
    [
        [{"k": 1}, {"k": 1}],
        [{"k": None}],
        [],
        "airlines.csv",
        5,
        {"key": "z", "columns": ["k"], "rows": [[1]]},
        {"path": "airlines.csv"},
        {"columns": ["k", "k"], "rows": []},
        {"columns": ["k"], "rows": [[1, 2]]},
        {"columns": ["k"], "rows": [[[1]]]},
        b"",
        b"\xff\xfe",
        b"a,b\n1\n",
    ],
    ids=repr,
)
def test_what_is_no_table_with_a_unique_key_is_no_lookup(bad: object) -> None:
    with pytest.raises(hr.DomainMismatch, match="lookup 'x'"):
        hr.Domain({"a": 2}, lookups={"x": bad})


def test_lookups_are_kept_in_schema_files_and_change_nothing_else(tmp_path) -> None:
    DOMAIN.save(tmp_path / "schema.yaml")
    again = hr.Domain.load(tmp_path / "schema.yaml")
    assert again.lookups == DOMAIN.lookups
    assert again.lookups["lands"].rows == (("US", 9.8, None), ("DE", 0.4, "yes"))
    plain = hr.Domain(dict(DOMAIN))
    assert plain == again
    assert plain.fingerprint == again.fingerprint
    assert "lookups" not in plain.to_schema()
