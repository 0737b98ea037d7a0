"""Errors by slopes: exact where a number is linear, and covering where it is smooth.

Tables with normal noise stand for a synopsis whose law is known: every weighted sum of cells has its exact
half-width. A run is one statement with fresh noise; it hits if one of its numbers, chosen by chance, lies
within its error. A class fails below the quantile of 10^-8 of the binomial law with probability 0.95: all
classes together raise a false alarm with probability below 10^-6, and seeds are fixed besides.
"""

from __future__ import annotations

import random
from functools import cache
from math import prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import test_coverage
import worlds
from scipy.stats import binom

import hedgerow as hr
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.question import Question
from hedgerow.queries.sql.stages.slopes import DRAWS, draws
from hedgerow.queries.sql.stages.two_stages import TwoStages
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.in_stages import one_by_one
from sizes import size

CELLS = 1 << 17


@cache
def exactly(name: str) -> Any:
    """The exact tables of a world, each made once."""
    world = worlds.world(name)
    levels = {a: world.domain[a].size for a in world.domain}
    return cache(exact_tables(world.columns, levels, world.domain))


class NoisyTable:
    """One table with independent normal noise on its cells, and exact half-widths of its weighted sums."""

    def __init__(
        self, world: worlds.World, attributes: tuple[str, ...], rng: Any, narrower: float = 1.0
    ) -> None:
        exact = exactly(world.name)(attributes)
        self.attributes, self.narrower = attributes, narrower
        self.sigma = min(1.0, sqrt(4_096 / max(exact.size, 1)))  # of the whole table as of so many cells
        self.table = exact + rng.normal(0.0, self.sigma, exact.shape)

    def linear(
        self, attributes: tuple[str, ...], weights: Any, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        out = tuple(i for i, a in enumerate(self.attributes) if a not in attributes)
        table = self.table.sum(axis=out)
        copies = prod(self.table.shape[i] for i in out)
        quantile = -NormalDist().inv_cdf((1.0 - confidence) / numbers / 2.0)
        norm = sqrt(copies * float((np.asarray(weights) ** 2).sum()))
        return float((table * weights).sum()), self.narrower * quantile * self.sigma * norm

    def answer(self, question: Question, confidence: float, simultaneous: bool) -> Answer:
        table = question.answer(self.linear, confidence, simultaneous=simultaneous)
        return Answer(
            table.value, table.error, confidence, "measured", simultaneous=simultaneous, table=table
        )

    def said(self, staged: TwoStages, *, simultaneous: bool = False, lean: bool = True) -> Answer:
        found = one_by_one(staged, self.answer, 0.95, simultaneous, self.linear, None)
        return found if lean else one_by_one(staged, self.answer, 0.95, True, _nothing, None)


def _nothing(*_: Any) -> tuple[float, float]:
    raise hr.errors.UnsupportedQuery("there are no tables")


@cache
def staged(statement: worlds.Statement) -> TwoStages | None:
    world = worlds.world(statement.world)
    try:
        found = TwoStages(world.domain, statement.text, world.unit, statement.params)
        small = prod(world.domain[a].size for a in found.attributes) <= CELLS
        return found if small and not found.waits and any(_smooth(found)) else None
    except hr.errors.HedgerowError:
        return None


def _smooth(found: TwoStages) -> list[bool]:
    relation = found._read[1]
    several = not found.row_by_row or found.numbers > 1
    return [several and relation.steady and (c.smooth or bool(c.outer)) for c in relation.columns]


def exact_answers(name: str) -> Any:
    """Answers questions exactly."""
    return lambda questions: [test_coverage.Held(q.evaluate(exactly(name))) for q in questions]


KINDS = sorted({s.kind for s in worlds.corpus() if staged(s) is not None})


def hits(kind: str, runs: int, seed: int, narrower: float = 1.0) -> tuple[int, int]:
    """How many runs hit, and how many there were."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    found = [s for s in worlds.corpus() if s.kind == kind and staged(s) is not None]
    hit = asked = 0
    while found and asked < runs:
        statement = chance.choice(found)
        one, world = staged(statement), worlds.world(statement.world)
        assert one is not None
        exact, _ = one.answered(exact_answers(statement.world))
        try:
            shown = NoisyTable(world, one.attributes, rng, narrower).said(one)
        except hr.errors.UnsupportedQuery:  # it counts people, of which no table says anything
            found.remove(statement)
            continue
        known = test_coverage._inside(shown.table, exact.result)
        if not known:
            found.remove(statement)
            continue
        hit, asked = hit + (all(known) if shown.simultaneous else chance.choice(known)), asked + 1
    return hit, asked


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_errors_by_slopes_hold_as_often_as_they_say(kind: str) -> None:
    hit, runs = hits(kind, size(6, 1_000), seed=3)
    if not runs:
        pytest.skip("no statement of this class can be tried")
    assert hit >= binom.ppf(1e-8, runs, 0.95)


def test_narrower_errors_would_be_seen() -> None:
    hit, runs = hits("shares and running sums", 30, seed=4, narrower=0.2)
    assert hit < binom.ppf(1e-8, runs, 0.95)


@pytest.fixture(scope="module")
def table() -> NoisyTable:
    return NoisyTable(worlds.world("flights"), ("carrier", "month"), np.random.default_rng(1))


def said(table: NoisyTable, text: str, **options: Any) -> Answer:
    return table.said(TwoStages(worlds.world("flights").domain, text), **options)


def test_a_running_sum_has_the_error_of_one_sum_over_rows(table) -> None:
    text = "SELECT month, SUM(COUNT(*)) OVER (ORDER BY month) AS so_far FROM flights GROUP BY month"
    found = said(table, text)
    one = [table.linear(("month",), np.arange(12) <= i, 0.95)[1] for i in range(12)]
    assert np.allclose(found.error, one, rtol=1e-6)
    assert not found.simultaneous


def test_errors_for_all_numbers_at_once_are_wider_and_say_so(table) -> None:
    text = "SELECT month, SUM(COUNT(*)) OVER (ORDER BY month) AS so_far FROM flights GROUP BY month"
    each, all_ = said(table, text), said(table, text, simultaneous=True)
    assert all_.simultaneous
    one = [table.linear(("month",), np.arange(12) <= i, 0.95, 12)[1] for i in range(12)]
    assert np.allclose(all_.error, one, rtol=1e-6)
    assert (all_.error > each.error).all()


def test_a_share_of_the_total_is_off_as_far_as_its_slopes_say(table) -> None:
    text = "SELECT carrier, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM flights GROUP BY carrier"
    found = said(table, text)
    counts = np.array([table.linear(("carrier",), np.eye(7)[i], 0.95)[0] for i in range(7)])
    for i, (value, error) in enumerate(zip(found.value, found.error, strict=True)):
        slope = (np.eye(7)[i] - value) / counts.sum()
        one = table.linear(("carrier",), slope, 0.95)[1]
        assert one <= error <= 1.2 * one


def test_errors_are_no_wider_than_the_box(table) -> None:
    for text in (
        "SELECT carrier, ROUND(COUNT(*) / SUM(COUNT(*)) OVER (), 3) AS p FROM flights GROUP BY carrier",
        "SELECT AVG(n) AS a FROM (SELECT month, COUNT(*) AS n FROM flights GROUP BY month) m",
        "SELECT carrier, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY carrier) AS d FROM flights GROUP BY carrier",
    ):
        narrow, wide = said(table, text), said(table, text, lean=False)
        assert np.array_equal(narrow.value, wide.value, equal_nan=True)
        assert (narrow.table.errors <= wide.table.errors * (1 + 1e-9)).all()
        assert narrow.table.errors[1:].sum() < 0.8 * wide.table.errors[1:].sum() or len(narrow.table) == 1


def test_what_is_rounded_has_the_ends_of_what_it_is_made_of_rounded(table) -> None:
    months = "(SELECT month, COUNT(*) AS n FROM flights GROUP BY month) m"
    plain = said(table, f"SELECT 100.0 * SUM(n) / 7 AS p FROM {months}")
    round_ = said(table, f"SELECT ROUND(100.0 * SUM(n) / 7, 1) AS p FROM {months}")
    assert abs(round_.error - plain.error) <= 0.1
    assert round_.value == round(plain.value, 1)


def test_where_released_numbers_choose_rows_errors_hold_for_all_at_once(table) -> None:
    shares = "SELECT month, COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM flights GROUP BY month"
    text = f"{shares} ORDER BY p DESC LIMIT 3"
    assert said(table, text).simultaneous
    text = "SELECT month, SUM(COUNT(*)) OVER () AS p FROM flights GROUP BY month HAVING COUNT(*) > 300"
    assert said(table, text).simultaneous


def test_a_text_that_looks_like_a_table_is_left_alone(table) -> None:
    text = "SELECT month, 'FROM s0 AS x' AS t, SUM(COUNT(*)) OVER () AS n FROM flights GROUP BY month"
    found = said(table, text)
    assert {row[1] for row in found.table.rows} == {"FROM s0 AS x"}
    assert np.allclose(found.table.errors[:, 0], table.linear((), np.array(1.0), 0.95)[1], rtol=1e-6)


def test_draws_are_the_same_whenever_asked_and_about_standard() -> None:
    found = draws(500)
    assert found.shape == (DRAWS, 500)
    assert np.array_equal(found, draws.__wrapped__(500))
    assert abs(found.mean()) < 0.05
    assert abs(found.std() - 1.0) < 0.05
    assert np.abs(np.corrcoef(found[:, :40].T) - np.eye(40)).max() < 0.75
