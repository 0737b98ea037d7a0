"""Printers are kept: a server that made one for each statement would grow for ever."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Thread

import pytest
from sqlglot import parse_one
from sqlglot.dialects.dialect import Dialect

import hedgerow as hr
from hedgerow.queries.sql.printing import printed

STATEMENTS = (
    "SELECT sex, COUNT(*) AS n FROM t WHERE age >= 40 GROUP BY sex HAVING COUNT(*) > 3 ORDER BY n DESC",
    "WITH a AS (SELECT sex, SUM(age) AS s FROM t GROUP BY sex) SELECT s::int8, 'it''s' FROM a",
    "SELECT AVG(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) FROM t",
)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", ""])
def test_a_kept_printer_prints_what_a_new_one_does(dialect):
    for text in STATEMENTS * 2:
        tree = parse_one(text, read="duckdb")
        before = repr(tree)
        assert printed(tree, dialect) == tree.sql(dialect=dialect)
        assert repr(tree) == before


def test_many_statements_make_one_printer_for_a_thread(monkeypatch):
    made, real = [], Dialect.generator

    def counted(self, **options):
        made.append(self)
        return real(self, **options)

    monkeypatch.setattr(Dialect, "generator", counted)
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})

    def ask():
        for i in range(30):
            hr.sql(
                domain,
                f"SELECT sex, COUNT(*) AS n{i}, AVG(age) - 1 FROM t GROUP BY sex HAVING COUNT(*) > {i}",
            )

    one = Thread(target=ask)
    one.start()
    one.join()
    assert len(made) == 1


def test_nobody_prints_a_tree_in_another_way():
    home = Path(hr.__file__).parent
    for path in home.rglob("*.py"):
        text = re.sub(r"(?m)^ *(>>>|\.\.\.) .*", "", path.read_text())
        assert not re.search(r"\.sql\((dialect=|\)|['\"](duckdb|postgres))", text), path
