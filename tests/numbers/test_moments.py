"""Variances, correlations and slopes of released numbers."""

from __future__ import annotations

from functools import lru_cache

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.queries.sql.stages.engine import engine

DOMAIN = hr.Domain(
    {
        "year": list(range(2007, 2017)),
        "shop": ["a", "b", "c"],
        "pay": hr.Bins([0, 20_000, 30_000, 40_000, 50_000, 100_000, 200_000], step=1, missing=True),
        "rows": hr.Bins([0, 100, 200, 500, 1000, 5000, 100_000], step=1),
        "age": hr.bins(10, 90, 5, step=1),
    }
)
CORRELATIONS = ["CORR(pay, year)", "CORR(pay, age)", "CORR(pay, rows)"]
OTHERS = ["VAR_POP(pay)", "STDDEV(rows)", "VARIANCE(year)", "COVAR_SAMP(age, year)"]
SLOPES = ["REGR_SLOPE(pay, year)", "REGR_INTERCEPT(age, year)", "REGR_R2(pay, age)"]
GROUPED = ["CORR(pay, year)", "REGR_SLOPE(age, year)"]
EVERY = [*((what, "") for what in CORRELATIONS + OTHERS + SLOPES), *((w, "shop") for w in GROUPED)]


def rows(n: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = np.clip(rng.normal(42, 12, n).round(), 10, 89)
    pay = np.clip(np.exp(rng.normal(10.3, 0.4, n)) + 150 * age, 0, 199_999).round()
    frame = {
        "year": rng.integers(2007, 2017, n),
        "shop": rng.choice(["a", "b"], n),
        "pay": np.where(rng.random(n) < 0.1, np.nan, pay),
        "rows": np.clip(np.exp(rng.normal(6, 1.5, n)), 0, 99_999).round(),
        "age": age,
    }
    return pd.DataFrame(frame)


FRAME = rows()


def truth(text: str) -> dict[str, float]:
    t = FRAME  # noqa: F841 - DuckDB finds it by its name
    return {str(row[0]) if len(row) > 1 else "": row[-1] for row in duckdb.sql(text).fetchall()}


@lru_cache
def opened(kind: str, seed: int, epsilon: float = 1.0):
    budget, entropy = hr.Budget(epsilon=epsilon, delta=1e-6), hr.testing.seeded(seed)
    curator = hr.Curator(hr.Table.open(FRAME, DOMAIN), budget, ":memory:", entropy=entropy)
    if kind == "session":
        return hr.Session().open(curator).ask
    return hr.AdaptiveRelease(epsilon=epsilon).release(curator, hr.marginals(DOMAIN, 2)).answer


@pytest.fixture(scope="module", params=["release", "session"])
def doors(request, size):
    return [opened(request.param, seed) for seed in size(range(1, 2), range(1, 4))]


@pytest.mark.parametrize(("what", "group"), EVERY)
def test_errors_cover_what_rows_have(doors, what, group):
    """Noise is seeded, the same at every run: nothing is off by more than thrice its bar."""
    text = f"SELECT {group}, {what} AS v FROM t GROUP BY {group}" if group else f"SELECT {what} AS v FROM t"
    want = truth(text)
    for ask in doors:
        table = ask(text).table
        for i, labels in enumerate(table.groups):
            value, error = table.values[i, 0], table.errors[i, 0]
            if (name := labels[0] if labels else "") in want and not np.isnan(value):
                assert abs(value - want[name]) <= 3 * error


@pytest.mark.parametrize("what", ["CORR(pay, year)", "CORR(age, year)"])
def test_correlations_with_a_year_are_not_those_of_noise(doors, what):
    """Without a centre the noise of an average was multiplied by 2011, and made them -7.6 or 21.

    Noise is seeded, the same at every run.
    """
    (want,) = truth(f"SELECT {what} FROM t").values()
    for ask in doors:
        assert abs(ask(f"SELECT {what} FROM t").value - want) < 0.25


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_intervals_are_within_what_is_sure_whatever_noise_is(epsilon):
    ask = opened("release", 7, epsilon)
    for where in (" WHERE pay > 150000 AND age < 20", " WHERE shop = 'c'"):
        for text, low, high in (
            *((f"SELECT {c} FROM t", -1.0, 1.0) for c in CORRELATIONS),
            ("SELECT VAR_POP(pay) FROM t", 0.0, 1e10),
            ("SELECT STDDEV(year) FROM t", 0.0, 9 / 2**0.5),
            ("SELECT REGR_R2(pay, age) FROM t", 0.0, 1.0),
        ):
            table = ask(text + where).table
            (value,), (first,), (last,) = table.values[:, 0], table.ends[0][:, 0], table.ends[1][:, 0]
            if not np.isnan(value):
                assert low - 1e-9 <= first <= value <= last <= high + 1e-9, text + where


def test_a_correlation_that_nothing_is_known_of_says_so():
    answer = opened("release", 3, 0.01)("SELECT CORR(pay, rows) AS r FROM t WHERE shop = 'c'")
    assert any("'r'" in note for note in answer.notes)


def test_a_slope_that_has_no_bound_says_so():
    answer = opened("release", 3, 0.01)("SELECT REGR_SLOPE(pay, rows) AS r FROM t WHERE shop = 'c'")
    assert not np.isfinite(answer.error)
    assert any("'r'" in note for note in answer.notes)


def test_a_number_is_as_correlated_with_itself_as_can_be():
    answer = opened("release", 1)("SELECT CORR(age, age) FROM t")
    assert answer.value == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("what", ["ABS(CORR(pay, age))", "ABS(REGR_SLOPE(age, year))"])
def test_the_size_of_a_correlation_and_of_a_slope_has_a_bound_where_it_has_one_itself(what):
    ask = opened("release", 1)
    itself, size_of_it = (ask(f"SELECT {text} FROM t") for text in (what[4:-1], what))
    assert np.isfinite(itself.error)
    assert size_of_it.error <= abs(itself.value) + itself.error + 1e-9


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("inside(2, -1, 1)", 1.0),
        ("inside(0.5, -1, 1)", 0.5),
        ("inside('-inf'::DOUBLE, -1, 1)", 0.0),
        ("inside('nan'::DOUBLE, -1, 1)", 0.0),
        ("inside(NULL, -1, 1)", None),
        ("inside_low(NULL, -1, 1)", -1.0),
        ("inside_low('nan'::DOUBLE, -1, 1)", -1.0),
        ("inside_low('-inf'::DOUBLE, -1, 1)", -1.0),
        ("inside_high('inf'::DOUBLE, -1, 1)", 1.0),
        ("inside_high(NULL, -1, 1)", 1.0),
        ("inside_high(0.25, -1, 1)", 0.25),
    ],
)
def test_what_lies_between_two_numbers_is_moved_there(call, want):
    assert engine().run(f"SELECT {call}") == [(want,)]
