"""Expressions over numbers of very many steps: where they are only compared, a few steps stand for all."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sqlglot import parse_one

import hedgerow as hr
from hedgerow.errors import CutsBin
from hedgerow.queries.domain.refined import CutAt
from hedgerow.queries.sql.predicate import Scope
from hedgerow.queries.sql.stages import levels, steps

EDGES = [-40, 0, 7, 50, 51, 200, 321]
WIDE = hr.Domain({"x": hr.Bins([0, 10, 1000, 400_000], step=1), "s": ["a", "b"]})


def told(domain: hr.Domain, text: str) -> str:
    """What an expression is on every level; or where it cuts bins, or the sentence that refuses it."""
    try:
        attributes, values = levels.LevelExpressions(Scope(domain), []).worked(parse_one(text, read="duckdb"))
    except CutAt as cut:
        return repr((cut.attribute, cut.places))
    except hr.HedgerowError as error:
        return str(error)
    return repr((attributes, values.tolist()))


def expression(rng: random.Random) -> str:
    """Something that compares the column, with numbers at bins' ends and elsewhere, and nothing else."""
    c = rng.choice([*EDGES, rng.randint(-45, 325), rng.choice([49.5, 50.25, 7.5, -0.5])])
    x = rng.choice(["x", "(x)"])
    one = rng.choice(
        [f"{x} >= {c}", f"{c} > {x}", f"{x} = {c}", f"{x} <> {c}", f"{x} IS NULL", f"{x} <= -({c})",
         f"{x} BETWEEN {c} AND {c + 100}", f"{x} IN (7, {c})", f"NOT {x} < {c}"]
    )  # fmt: skip
    if rng.random() < 0.5:
        one = f"{one} {rng.choice(['AND', 'OR'])} {expression(rng)}"
    return one if rng.random() < 0.4 else f"CASE WHEN {one} THEN 1 ELSE 0 END = 1"


@pytest.mark.parametrize("seed", range(4))
def test_a_few_steps_say_what_all_would(seed, monkeypatch):
    domain, rng = hr.Domain({"x": hr.Bins(EDGES, step=1), "s": ["a", "b"]}), random.Random(seed)
    parts = [expression(rng) for _ in range(25)]
    texts = [*parts, *(f"({p}) = (s = 'a')" for p in parts), *(f"CASE WHEN {p} THEN s END" for p in parts)]
    every = [told(domain, text) for text in texts]
    monkeypatch.setattr(steps, "CELLS", 300)
    few = [told(domain, text) for text in texts]
    assert few == every
    assert not any("is not known" in text for text in every)
    assert sum("[" in text for text in every) >= 10  # that are the same in every bin
    assert sum(text.startswith("('x', (") for text in every) >= 10  # that cut bins


def test_numbers_of_very_many_steps_are_compared():
    attributes, values = levels.LevelExpressions(Scope(WIDE), []).worked(
        parse_one("CASE WHEN x >= 1000 THEN 'v' WHEN x >= 10 THEN 'm' END", read="duckdb")
    )
    assert attributes == ("x",)
    assert values.tolist() == [None, "m", "v", None]
    text = "SELECT x >= 1000 AS viral, COUNT(*) AS n FROM t GROUP BY viral"
    rows = {"x": [5, 999, 1000, 399_999, None], "s": ["a"] * 5}
    curator = hr.Curator(hr.Table.open(rows, WIDE), hr.Budget(epsilon=1e5, delta=1e-9), ":memory:")
    answer = hr.AdaptiveRelease().release(curator, hr.marginals(WIDE, 2)).answer(text)
    assert np.round(answer.value).ravel().tolist() == [2.0, 2.0, 1.0]


@pytest.mark.parametrize("part", ["FLOOR(x / 1000)", "LN(1 + x)", "x + 1 >= 5", "x > x / 2"])
def test_whatever_else_is_done_with_them_is_refused(part):
    with pytest.raises(CutsBin, match="compare the column with numbers"):
        hr.sql(WIDE, f"SELECT AVG({part}) FROM t")
