"""Statements by chance and mutated ones: equal to DuckDB, or one sentence."""

from __future__ import annotations

import datetime as dt
import random
import re

import duckdb
import numpy as np
import pandas as pd
import pytest
import worlds
from grammar import Grammar

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.question import Result
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages
from sizes import size

ROWS = 3_000
DOMAIN = hr.Domain(
    {
        "g": ["a", "b", "c"],
        "h": ["xy", "xz", "yyz"],
        "m": Categorical(["p", "q"], missing=True),
        "n": [0, 1, 2, 3, 4],
        "k": [0, 1, 2, 3],
        "d": hr.dates("2024-01-01", "2024-04-01", by="day"),
    }
)


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(20)
    levels = {"g": ["a", "b", "c"], "h": ["xy", "xz", "yyz"], "m": ["p", "q", None]}
    made = {
        name: np.array(values, dtype=object)[rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])]
        for name, values in levels.items()
    }
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(i)) for i in rng.integers(0, 91, ROWS)]
    return pd.DataFrame(
        {
            **made,
            "n": rng.choice(5, ROWS, p=[0.1, 0.3, 0.3, 0.2, 0.1]),
            "k": rng.integers(0, 4, ROWS),
            "d": days,
        }
    )


class Compared:
    """Our exact answers beside DuckDB's, on one table of public rows."""

    def __init__(self, frame: pd.DataFrame, domain: hr.Domain, table: str, unit: str | None = None) -> None:
        self.domain, self.unit = domain, unit
        self.tables = exact_tables({a: frame[a] for a in domain}, {a: domain[a].size for a in domain}, domain)
        self.duck = duckdb.connect()
        self.duck.register("held", frame)
        self.duck.execute(f"CREATE TABLE {table} AS SELECT * FROM held")
        self.empty = False

    def table(self, question: hr.Question) -> Result:
        """The exact answer; notes a group without rows, which we show and DuckDB does not."""
        result = question.evaluate(self.tables)
        self.empty = self.empty or bool(np.isnan(result.values).any() or (result.values == 0).any())
        return result

    def ours(self, text: str, params: tuple[object, ...] = ()) -> Result:
        """Our exact answer."""
        self.empty = False
        asked = sql(self.domain, text, unit=self.unit, params=params)
        if not isinstance(asked, TwoStages):
            return self.table(asked)
        made, _ = asked.answered(lambda questions: [_Held(self.table(q)) for q in questions])
        return made.result

    def theirs(self, text: str, params: tuple[object, ...] = ()) -> list[tuple[object, ...]] | None:
        """DuckDB's exact answer; None where it has none."""
        try:
            return list(self.duck.execute(text, list(params) or None).fetchall())
        except duckdb.Error:
            return None


class _Held:
    def __init__(self, table: Result) -> None:
        self.table = table


def one_sentence(error: HedgerowError, text: str) -> None:
    """A refusal says what is wrong in one line, and not what went wrong inside."""
    said = str(error)
    assert said, text
    assert "\n" not in said, text
    assert "Traceback" not in said, text


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_generated_statements_are_equal_to_duckdb_or_one_sentence() -> None:
    grammar, compared = Grammar(random.Random(20261117)), Compared(_frame(), DOMAIN, "t")
    equal = refused = 0
    number = size(2_000, 20_000)
    for _ in range(number):
        text = grammar.statement()
        try:
            result = compared.ours(text)
        except HedgerowError as error:
            one_sentence(error, text)
            refused += 1
            continue
        exact = compared.theirs(text)
        if exact is None or compared.empty:
            continue
        assert worlds.agree(result, exact, in_order=False), (text, result.rows[:5], exact[:5])
        equal += 1
    assert equal > 0.6 * number
    assert refused < 0.25 * number


WORD = re.compile(r"'(?:[^']|'')*'|\w+|\s+|<>|<=|>=|.", re.DOTALL)


def mutated(rng: random.Random, texts: list[str]) -> str:
    """A statement of the corpus with one to three of its words changed."""
    parts = WORD.findall(rng.choice(texts))
    for _ in range(rng.randint(1, 3)):
        i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
        other = WORD.findall(rng.choice(texts))
        way = rng.randrange(6)
        if way == 0:
            del parts[i]
        elif way == 1:
            parts[i] = rng.choice(other)
        elif way == 2:
            parts[i], parts[j] = parts[j], parts[i]
        elif way == 3:
            parts[i:] = other[rng.randrange(len(other)) :]
        elif way == 4:
            parts[min(i, j) : max(i, j)] = ["(", *parts[min(i, j) : max(i, j)], ")"]
        else:
            parts.insert(
                i,
                rng.choice(
                    [" NOT ", "(", ")", ",", " 1 ", " OVER ()", "'", "\x00", "é", " NULL ", "?", "$1", "::"]
                ),
            )
        parts = parts or [" "]
    return "".join(parts)


@pytest.mark.slow
def test_mutated_statements_are_equal_to_duckdb_or_one_sentence() -> None:
    rng = random.Random(7)
    by_world: dict[str, list[str]] = {}
    for statement in worlds.corpus():
        by_world.setdefault(statement.world, []).append(statement.text)
    for name, texts in by_world.items():
        world = worlds.world(name)
        compared = Compared(world.frame, world.domain, name, world.unit)
        for _ in range(size(100, 2_000)):
            text = mutated(rng, texts)
            try:
                compared.ours(text)
            except HedgerowError as error:
                one_sentence(error, text)
