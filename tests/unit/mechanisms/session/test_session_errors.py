"""What a session says about its errors: certified bounds under `replace`, and indicative ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector_plan import plan
from hedgerow.mechanisms.session.guard import two_sided_threshold
from hedgerow.privacy.budget import Cost
from sizes import size

STEPS = 16  # lattice steps per row
ALPHA = Fraction(200)  # rows
BETA = Fraction(1, 10)
RUNS = 4000


def _certified_wrong(lift: int, before: int, after: int) -> int:
    """Runs in which something too far off is "below": `before` questions at the bound, then others beyond."""
    price = Cost("epsilon", Fraction(1, 2))
    made = plan("above_threshold", price, Fraction(STEPS), 0, STEPS)
    steps = two_sided_threshold(ALPHA * STEPS, made.threshold_scale, made.query_scale, BETA) + lift
    made = plan("above_threshold", price, Fraction(STEPS), Fraction(steps, STEPS), STEPS)
    most = int(ALPHA * STEPS - Fraction(1, 2))
    values = np.array([most] * before + [most + 1] * after, dtype=np.int64)
    entropy, wrong = hr.testing.seeded(3), 0
    for _ in range(RUNS):
        _, above, _, asked = advance(made, begin(made, entropy), values, entropy)
        wrong += asked - len(above) > before  # the first one beyond the bound was let pass
    return wrong


@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 500), (30, 500)])
def test_an_ordinary_run_certifies_nothing_wrong_however_many_questions_are_asked(before, after):
    # at most BETA RUNS = 400 are expected; Hoeffding: P(more than 567) <= exp(-2 167^2 / 4000) < 1e-6
    assert _certified_wrong(0, before, after) <= float(BETA) * RUNS + 167


def test_a_threshold_that_is_too_high_is_seen():
    # b ln 16 steps more: about 16 times as many wrong runs, far more than the bound of the test above
    lift = int(4 * STEPS / 0.5 * np.log(16))
    assert _certified_wrong(lift, 0, 500) > float(BETA) * RUNS + 167


DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": 3, "c": 4})


def _rows(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Dependent attributes, and a pair that is never seen together."""
    sex, k = rng.choice(["F", "M"], n), rng.integers(0, 3, n)
    c = np.where(k == 0, 0, 1 + (k + rng.integers(0, 2, n)) % 3)
    return pd.DataFrame({"sex": sex, "age": rng.integers(0, 80, n) + 15 * (sex == "F"), "k": k, "c": c})


def _question(rng: np.random.Generator) -> hr.Query:
    masks = {}
    for a in rng.choice(list(DOMAIN), rng.integers(1, 5), replace=False).tolist():
        size = DOMAIN[a].size
        masks[a] = np.isin(np.arange(size), rng.choice(size, rng.integers(1, size), replace=False))
    return hr.Query.where(DOMAIN, masks)


def test_indicative_errors_hold_as_often_as_they_say():
    # one question each: if 95% hold, 12 misses of 40 or 24 of 150 have probability below 1e-6
    sessions, most = size((40, 12), (150, 24))
    rng, missed, widths, off = np.random.default_rng(8), 0, 0.0, 0.0
    for i in range(sessions):
        table = hr.Table.open(_rows(rng, 4000), DOMAIN)
        budget = hr.Budget(epsilon=1, delta=1e-6)
        curator = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(i))
        query = _question(rng)
        answer = hr.Session().open(curator).ask(query)
        exact = query.apply(curator._rows.tables([query.attributes])[query.attributes]) / query.denominator
        missed += abs(answer.value - exact) > answer.error
        widths, off = widths + answer.error, off + abs(answer.value - exact)
    assert missed < most
    assert widths < 8 * off  # and not by being absurdly wide: 2.5 would be normal errors
