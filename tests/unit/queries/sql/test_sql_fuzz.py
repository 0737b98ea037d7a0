"""Mutated SQL has only the two defined outcomes: a Question, or one of Hedgerow's errors in one sentence."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from hedgerow.errors import HedgerowError
from hedgerow.queries.question import Question
from hedgerow.queries.sql.statement import sql
from sizes import size

STATEMENTS = size(2_000, 20_000)
TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|<>|<=|>=|!=|::|.", re.DOTALL)


def _statements() -> ModuleType:
    """The lists of accepted and refused statements, which are what is mutated."""
    spec = importlib.util.spec_from_file_location("statements", Path(__file__).with_name("test_sql.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _statements()
SEEDS = [*CASES.GOOD, *CASES.ORDERED, *(text for text, _ in CASES.BAD if len(text) < 300)]
VOCABULARY = r"""
SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET HAVING AND OR NOT IN BETWEEN LIKE ILIKE IS NULL TRUE FALSE
CASE WHEN THEN ELSE END AS DISTINCT ALL COUNT( SUM( AVG( MIN( CAST( DATE INTERVAL JOIN ON USING UNION WITH
OVER FILTER EXISTS ( ) , ; * / + - % = <> < <= > >= :: . || [ ] { } ? $1 :x @y -- /* */ ' " ` \ sex age kids
balance region visit day chapter smoker person nosuch t u 0 1 -1 30 33 2.5 1e9 1e999 99999999999999999999 'F'
'X' '2024-03-01' '0000-00-00' '' NaN inf NULLS FIRST DESC EXTRACT( STRUCT( ARRAY[ LATERAL PIVOT UNNEST(
VALUES QUALIFY WINDOW SAMPLE é 🌳 ٣ ½
"""
WORDS = [*VOCABULARY.split(), "\x00", "\n", "\u202e", "\ufeff"]


def _kind(part: str) -> str:
    """What sort of word it is, so that one may stand for another."""
    return (
        "text" if part[0] == "'" else "number" if part[0].isdigit() else "word" if part[0].isalpha() else part
    )


def _gentle(rng: random.Random, parts: list[str], i: int, j: int) -> None:
    """A change after which it may still be accepted: another word of the same sort, case, spaces."""
    other = [p for p in TOKEN.findall(rng.choice(SEEDS)) if _kind(p) == _kind(parts[i])]
    if other and rng.random() < 0.6:
        parts[i] = rng.choice(other)
    elif rng.random() < 0.5:
        parts[i] = parts[i].swapcase()
    else:
        parts.insert(i, rng.choice((" ", "\n", "/* note */", "NOT ", "-", "(", "")))


def _rough(rng: random.Random, parts: list[str], i: int, j: int) -> None:
    """A change that most often breaks the statement."""
    low, high = min(i, j), max(i, j)
    kind = rng.randrange(10)
    if kind == 0:
        del parts[i]
    elif kind == 1:
        parts[i] = f" {rng.choice(WORDS)} "
    elif kind == 2:
        parts.insert(i, f" {rng.choice(WORDS)} ")
    elif kind == 3:
        parts[i], parts[j] = parts[j], parts[i]
    elif kind == 4:
        parts[low:high] = parts[low:high] * rng.choice((2, 3, 40))
    elif kind == 5:
        other = TOKEN.findall(rng.choice(SEEDS)) or [" "]
        parts[i:] = [" ", *other[rng.randrange(len(other)) :]]
    elif kind == 6:
        parts[low:high] = ["(", *parts[low:high], ")"]
    elif kind == 7:
        parts[i] = "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) for _ in range(3))
    elif kind == 8:
        parts[i] = parts[i][: rng.randrange(len(parts[i]) + 1)]
    else:
        start = rng.choice(("SELECT COUNT(*) FROM t WHERE ", "SELECT SUM(", ""))
        parts[:] = [start, *(f"{rng.choice(WORDS)} " for _ in range(rng.randint(1, 25)))]


def mutate(rng: random.Random, text: str) -> str:
    """One to three small changes of words or characters."""
    for _ in range(rng.randint(1, 3)):
        parts = TOKEN.findall(text) or [" "]
        change = _gentle if rng.random() < 0.6 else _rough
        change(rng, parts, rng.randrange(len(parts)), rng.randrange(len(parts)))
        text = "".join(parts)[:25_000]
    return text


def _as_duckdb(text: str, question: Question) -> bool:
    """Whether DuckDB takes the statement too and the rows can be matched; then they must agree."""
    shown = {c.index for c in question.columns if not c.aggregate}
    if question.units or question.limit is not None or shown != set(range(len(question.groups))):
        return False
    if any(a.quantile for a in question.aggregates):  # of bins these are intervals
        return False
    try:
        CASES.DUCK.execute(text)
    except duckdb.Error:
        return False
    if question.cut:  # tables do not say which part of a bin rows are in
        return False
    CASES.agrees(text, question.evaluate(CASES.table_of), question)
    return True


@pytest.mark.slow
def test_mutated_statements_end_in_one_sentence_or_in_what_duckdb_answers() -> None:
    rng = random.Random(20240501)
    accepted = compared = 0
    for _ in range(STATEMENTS):
        text = mutate(rng, rng.choice(SEEDS))
        try:
            question = sql(CASES.DOMAIN, text, unit="person")
        except HedgerowError as error:
            message = str(error)
            assert message, text
            assert "\n" not in message, text
            assert len(message) < 400, text
        else:
            assert isinstance(question, Question)
            accepted += 1
            compared += _as_duckdb(text, question)
    assert STATEMENTS // 20 < accepted < STATEMENTS // 2  # the mutations reach the compiler, and break things
    assert compared > accepted // 2
