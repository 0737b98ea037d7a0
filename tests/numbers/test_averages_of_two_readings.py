"""Averages and quotients whose sum and number of rows are read off different estimates: their bars hold.

A session reads counts off its fit and sums off what was measured. Noise is of fixed seeds: no test fails by
chance. At 95% they ask for 85% of a few dozen numbers; with bars of one estimate and values of another it was
less than half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from sizes import size

ROWS = 3_000
RUNS = size(16, 200)
DOMAIN = hr.Domain({"sex": ["F", "M"], "year": hr.bins(1900, 2020, 10, step=1)})
LATE = "FROM t WHERE year >= 1970"


def columns() -> dict[str, np.ndarray]:
    """Years far from zero, and four of ten are missing."""
    rng = np.random.default_rng(1)
    year = np.clip(np.round(rng.normal(1980, 12, ROWS)), 1900, 2019)
    year[rng.random(ROWS) < 0.4] = np.nan
    return {"sex": rng.choice(["F", "M"], ROWS), "year": year}


COLUMNS = columns()
YEARS = COLUMNS["year"]
LATER = YEARS[YEARS >= 1970]
TRUE = {
    f"SELECT AVG(year) {LATE}": LATER.mean(),
    f"SELECT SUM(year) {LATE}": LATER.sum(),
    "SELECT AVG(year) FROM t": np.nanmean(YEARS),
    "SELECT SUM(year) / COUNT(*) FROM t": np.nansum(YEARS) / ROWS,
    f"SELECT 2 * a FROM (SELECT AVG(year) AS a {LATE}) AS q": 2 * LATER.mean(),
    f"SELECT s / n FROM (SELECT SUM(year) AS s, COUNT(*) AS n {LATE}) AS q": LATER.mean(),
    "SELECT a - b FROM (SELECT AVG(year) AS a, SUM(year) / COUNT(*) AS b FROM t) AS q": np.nanmean(YEARS)
    - np.nansum(YEARS) / ROWS,
}


def curator(seed: int) -> hr.Curator:
    budget = hr.Budget(epsilon=0.5, delta=1e-6)
    return hr.Curator(hr.Table.open(COLUMNS, DOMAIN), budget, ":memory:", entropy=hr.testing.seeded(seed))


def held(answers: list[Any], true: float) -> float:
    """How often the truth is within a bar, all of which are finite."""
    off, bars = np.array([[abs(float(np.ravel(a.value)[0]) - true), np.ravel(a.error)[0]] for a in answers]).T
    assert np.isfinite(bars).all()
    return float(np.mean(off <= bars))


def test_bars_of_a_session_are_those_of_the_values_they_stand_beside():
    sessions = [hr.Session().open(curator(seed)) for seed in range(RUNS)]
    found = {text: held([s.ask(text) for s in sessions], true) for text, true in TRUE.items()}
    assert min(found.values()) >= 0.85, found


def test_the_average_over_all_rows_counts_those_whose_number_is_missing_in_a_release_too():
    text = "SELECT SUM(year) / COUNT(*) FROM t"
    made = [hr.AdaptiveRelease().release(curator(s), hr.marginals(DOMAIN, 2)) for s in range(RUNS // 2)]
    assert held([m.answer(text) for m in made], TRUE[text]) >= 0.8


def test_the_number_of_other_rows_bounds_a_sum_apart():
    """What a quotient's denominator counts may be in another table than the sum of all rows."""
    text = "SELECT SUM(year) / SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) FROM t"
    truth = np.nansum(YEARS) / np.sum(COLUMNS["sex"] == "F")
    assert held([hr.Session().open(curator(seed)).ask(text) for seed in range(RUNS // 2)], truth) >= 0.85


@pytest.mark.parametrize("apart", [0.0, 12.0])
def test_a_quotient_is_of_the_estimate_that_its_bar_is_of(apart: float):
    """Counts from one table and sums from another: the more they differ, the more it matters."""
    counts = np.array([300.0, 500.0, 200.0, 60.0])  # the last: nobody's number
    noisy = counts + np.array([apart, 0.0, -apart, 0.0])
    domain = hr.Domain({"x": hr.Bins([1000, 1010, 1020, 1030], missing=True)})
    levels = np.array([1005.0, 1015.0, 1025.0, 0.0])

    def linear(names: Any, weights: np.ndarray, confidence: float, numbers: int) -> tuple[float, float]:
        held = np.unique(weights[weights != 0.0])
        if held.size < 2:  # a count
            return float((counts * weights).sum()), 0.0
        return float((noisy * weights).sum()), 1.1 * apart * float(np.ptp(weights[:3])) + 1e-6

    got = hr.sql(domain, "SELECT AVG(x) FROM t")
    ratios = got.ratios(linear, 0.95, 1)
    ((value, error),) = next(iter(ratios.values()))
    (aggregate,) = got.aggregates
    mean = float(levels @ counts) / counts[:3].sum() - aggregate.plus
    assert abs(value - mean) <= error


@pytest.mark.parametrize("text", ["SELECT SUM(year) FROM t", f"SELECT SUM(year) {LATE}"])
def test_a_sum_is_read_alike_as_a_form_and_as_weights(text: str):
    belief = hr.Session().open(curator(0))._core.belief
    (form,) = hr.sql(DOMAIN, text).forms
    value, error = belief.linear(form.attributes, form.weights(), 0.95, 1)
    values, errors = belief.form(form, 0.95, 1)
    assert (values[0], errors[0]) == (value, error)


def test_which_estimate_a_sum_is_of_does_not_depend_on_how_narrow_its_bars_seem():
    """How far off a fit is is an estimate too: the smaller bar would be taken where it is too small."""
    belief = hr.Session().open(curator(0))._core.belief
    weights = np.append(np.arange(12.0) - 7.5, 0.0)  # of about zero in all
    before = belief.linear(("year",), weights, 0.95)
    belief.spread.factors[:] = -50.0  # as if fits were never off
    after = belief.linear(("year",), weights, 0.95)
    assert after[0] == before[0]
    assert after[1] > 0.8 * before[1]  # but for how many rows have the number, which the fit says
    ones = (weights > 0).astype(float)
    assert belief.linear(("year",), 2 * ones, 0.95)[0] == pytest.approx(
        2 * belief.linear(("year",), ones, 0.95)[0]
    )
