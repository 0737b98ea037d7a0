"""The corpus: what analysts type, answered at a huge epsilon, is what DuckDB answers from the rows.

Numbers are measured by the curator, so sums are of the rows' own values. At epsilon 10^6 the noise of a
count is zero but with probability below e^-10^5, and that of a sum is far below what two numbers may differ
by here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import duckdb
import pytest
import worlds

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.queries.question import Question
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

HUGE = 1e6
CORPUS = worlds.corpus()
REFUSED = {  # what is refused, by how it begins, and why: in the privacy, never in the compiler
    "SELECT * FROM visits LIMIT 10": "rows are never shown",
    "SELECT age, income FROM answers": "rows are never shown",
    "SELECT visitor, COUNT(*) AS hits FROM visits": "single people",
    "SELECT patient, COUNT(*) FROM stays": "single people",
}
COVERED = {  # what bins leave open is answered with an error that covers it
    "SELECT MEDIAN(income) FROM answers WHERE employed = 'yes'",
}


@cache
def measured(name: str) -> Callable[[Sequence[Question]], list[Any]]:
    """Answers questions by measuring at a huge epsilon."""
    world = worlds.world(name)
    unit = {} if world.unit is None else {"unit": world.unit, "max_rows": 4}
    with hr.testing.seeded(3):
        table = hr.Table.open(world.frame, world.domain, **unit)
        curator = hr.Curator(table, hr.Budget(epsilon=1e12), ":memory:")

    def ask(questions: Sequence[Question]) -> list[Any]:
        with hr.testing.seeded(4):
            return [curator.measure(q, HUGE).reply() for q in questions]

    return ask


def answer(statement: worlds.Statement) -> Any:
    """The rows of a statement."""
    world, ask = worlds.world(statement.world), measured(statement.world)
    asked = sql(world.domain, statement.text, unit=world.unit, params=statement.params)
    if not isinstance(asked, TwoStages):
        return ask([asked])[0].table
    return asked.answered(ask)[0].result


@cache
def duck(name: str) -> duckdb.DuckDBPyConnection:
    return worlds.world(name).duck


def test_the_corpus_has_150_statements_in_20_classes() -> None:
    assert len({s.text for s in CORPUS}) >= 150
    assert len({s.kind for s in CORPUS}) == 20
    assert min(Counter(s.kind for s in CORPUS).values()) >= 5


@pytest.mark.parametrize("statement", CORPUS, ids=lambda s: s.name)
def test_a_statement_is_answered_as_duckdb_does_or_refused_for_privacy(statement: worlds.Statement) -> None:
    exact = duck(statement.world).execute(statement.text, list(statement.params) or None).fetchall()
    why = next((REFUSED[start] for start in REFUSED if statement.text.startswith(start)), None)
    if why is not None:
        with pytest.raises(HedgerowError, match=why):
            answer(statement)
        return
    result = answer(statement)
    if statement.text in COVERED:
        ((truth,),) = exact
        assert abs(result.value - truth) <= result.error
    else:
        assert worlds.agree(result, exact, worlds.ordered(statement.text))


def test_nine_tenths_are_equal() -> None:
    assert len(REFUSED) + len(COVERED) <= 0.1 * len(CORPUS)
