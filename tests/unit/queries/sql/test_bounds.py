"""Bounds of statements in two stages: where released numbers may be far off, so may what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.result import Result

DOMAIN = hr.Domain({"g": ["a", "b"], "x": hr.bins(0, 100, 10, step=1)})
INF, NAN = np.inf, np.nan


def shown(text: str, values: Any, errors: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What a statement shows where its one question - two groups, some numbers each - was answered so."""

    def ask(questions: Sequence[Any]) -> list[Any]:
        assert len(questions) == 1
        return [SimpleNamespace(table=Result((), (), np.array(values), np.array(errors), 0.95))]

    made, _ = hr.sql(DOMAIN, text).answered(ask)
    return made.result.values, made.result.errors


@pytest.mark.parametrize(
    ("text", "released", "errors", "true"),
    [
        ("SELECT g, GREATEST(CAST(AVG(x) AS INT), 0) FROM t GROUP BY g", [3, -3], [1, INF], [3, 90]),
        ("SELECT g, COALESCE(CAST(AVG(x) AS INT), 0) FROM t GROUP BY g", [3, -3], [1, INF], [3, 90]),
        ("SELECT g, LEAST(CAST(COUNT(*) AS SMALLINT), 9) FROM t GROUP BY g", [3, 8], [1, 4e9], [3, 1]),
        ("SELECT g, LEAST(LN(COUNT(*) - 5), 3) FROM t GROUP BY g", [60, 26], [1, 25], [60, 6]),
        ("SELECT MIN(l) FROM (SELECT g, LN(COUNT(*) - 5) AS l FROM t GROUP BY g)", [9, 26], [1, 25], [9, 6]),
        ("SELECT g, COALESCE(NULLIF(COUNT(*), 0), 100) FROM t GROUP BY g", [60, 3], [9, 9], [60, 0]),
        ("SELECT SUM(m) FROM (SELECT g, AVG(x) AS m FROM t GROUP BY g)", [60, NAN], [1, INF], [60, 30]),
        (
            "SELECT g, CASE WHEN AVG(x) > 5 THEN AVG(x) ELSE 0 END FROM t GROUP BY g",
            [9, NAN],
            [1, INF],
            [9, 90],
        ),
        ("SELECT g, ABS(CAST(AVG(x) AS INT)) FROM t GROUP BY g", [3, -3], [1, INF], [3, 90]),
        ("SELECT g, CAST(AVG(x) AS INT) + 1 FROM t GROUP BY g", [3, -3], [1, 2], [3, -5]),
    ],
)
def test_the_truth_is_within_the_error_wherever_released_numbers_are(text, released, errors, true):
    column = np.reshape(released, (2, 1)), np.reshape(errors, (2, 1))
    value, error = shown(text, *column)
    truth, _ = shown(text, np.reshape(true, (2, 1)), np.zeros((2, 1)))
    off = np.abs(value - truth)
    assert (np.isnan(value) | (off <= error + 1e-9)).all()


def test_a_cast_that_fits_keeps_its_error():
    text = "SELECT g, CAST(AVG(x) AS INT) FROM t GROUP BY g"
    value, error = shown(text, [[3.2], [50]], [[1.0], [2]])
    assert value.tolist() == [[3], [50]]
    assert error.tolist() == [[1], [2]]


@pytest.mark.parametrize("words", ["'--5' DAY", "'-' DAY", "'5-5' DAY"])
def test_an_interval_that_is_no_number_is_refused_in_words(words):
    with pytest.raises(UnsupportedSQL, match="INTERVAL"):
        hr.sql(
            DOMAIN,
            f"SELECT g FROM t WHERE DATE '2024-01-01' + INTERVAL {words} > DATE '2024-01-01' GROUP BY g",
        )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, COUNT(*) + 0 FROM t WHERE 1 = 2 GROUP BY g",
        "SELECT COUNT(*) + 0 FROM t WHERE 1 = 1",
        "SELECT k % k AS z, COUNT(*) FROM t GROUP BY k",
        "SELECT g, COUNT(*) // (k - k) FROM t GROUP BY g, k",
        "SELECT g, 7 % CAST(COUNT(*) AS INT) FROM t GROUP BY g",
        "SELECT COUNT(*) FROM t WHERE g IN (SELECT g FROM t GROUP BY g HAVING COUNT(*) > 100)",
        "SELECT COUNT(*) FROM t WHERE g NOT IN (SELECT g FROM t GROUP BY g HAVING COUNT(*) > 100)",
    ],
)
def test_what_was_paid_for_is_not_lost_to_released_numbers_or_to_zero(text):
    domain = hr.Domain({"g": ["a", "b"], "k": 2})

    def ask(questions: Sequence[Any]) -> list[Any]:
        made = [np.zeros((q.size, len(q.aggregates))) for q in questions]
        return [SimpleNamespace(table=Result((), (), v, v + 1, 0.95)) for v in made]

    finished, _ = hr.sql(domain, text).answered(ask)
    assert len(finished.result.groups) >= 1


@pytest.mark.parametrize(
    ("text", "parts", "together"),
    [
        ("SELECT g, COUNT(*) / 2, SUM(k) + 1 FROM t GROUP BY g", 1, False),  # each number for itself
        ("SELECT g, COUNT(*) * SUM(k) FROM t GROUP BY g", 2, False),  # a product needs both of them
        ("SELECT g, SQRT(COUNT(*)) FROM t GROUP BY g ORDER BY 2 LIMIT 1", 1, True),
        ("SELECT g FROM t GROUP BY g HAVING COUNT(*) > 10", 1, True),
        ("SELECT MAX(n) FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)", 1, True),
        ("SELECT g, COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM t GROUP BY g", 1, True),
        ("SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t WHERE k = 0", 2, True),
        ("SELECT COUNT(*) FROM t WHERE k >= (SELECT AVG(k) FROM t)", 2, True),
        ("SELECT g, COUNT(DISTINCT k) FROM t GROUP BY g", 1, True),
    ],
)
def test_the_answers_behind_a_statement_miss_together_no_more_often_than_it_may(text, parts, together):
    terms = hr.sql(hr.Domain({"g": ["a", "b"], "k": 2}), text).terms(0.95, False)
    assert 1 - terms.confidence == pytest.approx(0.05 / parts)
    assert terms.simultaneous == together
