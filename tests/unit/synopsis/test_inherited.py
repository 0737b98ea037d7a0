"""What a chosen table's noise does to answers about pairs that no table holds."""

from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.measurement import Noise
from hedgerow.synopsis import inherited, related
from hedgerow.synopsis.inherited import Inherited
from hedgerow.synopsis.limits import MeasuredTable

DOMAIN = hr.Domain({"a": ["x", "y", "z"], "b": list("klmn"), "c": ["u", "v"]})
SIGMA, ROWS = 30.0, 1e5


def measured(attributes, counts, groups=None):
    groups = groups or tuple(np.arange(k) for k in counts.shape)
    return MeasuredTable(attributes, groups, counts, Noise("gaussian", Fraction(30)))


def joined(ab, bc):
    """The table of a and c by noisy tables of a and b, and of b and c, with single attributes as in these."""
    return np.einsum("ab,bc->ac", ab / ab.sum(axis=0), bc)


def alone(table):
    """Without what single attributes tell: what is left of noise in a pair."""
    return table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()


def test_an_answer_about_a_joined_pair_moves_as_the_noise_of_its_tables_says():
    """4,000 draws of noise: the standard error of a standard deviation is 1.1%, so 8% is seven of them."""
    rng = np.random.default_rng(1)
    b = rng.dirichlet(np.full(4, 5.0))
    a, c = rng.dirichlet(np.full(3, 2.0), 4), rng.dirichlet(np.full(2, 2.0), 4)
    rows = np.einsum("b,ba,bc->abc", b, a, c)
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    ab, bc = ROWS * rows.sum(axis=2), ROWS * rows.sum(axis=0)
    tables = [measured(("a", "b"), ab), measured(("b", "c"), bc)]

    def model(names):
        return rows.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names))

    stated = Inherited(DOMAIN, model, tables).variance(("a", "c"), joined(ab, bc), weights) ** 0.5
    noise = [
        [alone(SIGMA * rng.standard_normal(t.shape)) for t in (ab, bc)] for _ in range(4000)
    ]  # single attributes are measured by themselves
    found = np.std([(joined(ab + x, bc + y) * weights).sum() for x, y in noise])
    assert stated == pytest.approx(found, rel=0.08)


def test_what_single_attributes_tell_is_not_told_again():
    rows = np.full((3, 4, 2), 1 / 24)
    made = Inherited(DOMAIN, lambda names: rows.sum(axis=2), [measured(("a", "b"), ROWS * rows.sum(axis=2))])
    of_a = np.repeat([[1.0], [0.0], [3.0]], 4, axis=1)
    assert made.variance(("a", "b"), ROWS * rows.sum(axis=2), of_a) < 1e-6
    one = np.zeros((3, 4))
    one[1, 2] = 1.0
    assert made.variance(("a", "b"), ROWS * rows.sum(axis=2), one) > 0.1 * SIGMA**2


@pytest.mark.parametrize("number", [7, 9, 11])
def test_a_table_of_many_attributes_hands_its_noise_on_like_any_other(number):
    """Weights of a group, as the mean weights of rows in each measured cell, without what one axis tells."""
    rng = np.random.default_rng(4)
    names = tuple(f"a{i}" for i in range(number))
    domain = hr.Domain({**dict.fromkeys(names, 2), "z": 4})
    rows = rng.dirichlet(np.full(2**number * 4, 3.0)).reshape((2,) * number + (4,))
    table = ROWS * rows.sum(axis=tuple(range(1, number)))
    weights = np.zeros((2, 4))
    weights[1, :2] = 1.0

    def model(asked):
        return rows.sum(axis=tuple(i for i, a in enumerate([*names, "z"]) if a not in asked))

    made = Inherited(domain, model, [measured(names, ROWS * rows.sum(axis=-1))])
    left = inherited._together(table, table * weights)
    means = (rows * left.reshape((2,) + (1,) * (number - 1) + (4,))).sum(axis=-1) / rows.sum(axis=-1)
    for axis in range(number):
        means = means - means.mean(axis=axis, keepdims=True)
    want = max(SIGMA**2 * float((means**2).sum()), 1e-12)
    assert made.variance(("a0", "z"), table, weights) == pytest.approx(want, rel=1e-6, abs=1e-9)


def test_of_three_attributes_the_mean_weights_of_each_pair_tell():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.full(24, 3.0)).reshape(3, 4, 2)
    made = Inherited(
        DOMAIN,
        lambda names: rows.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names)),
        [measured(("a", "b"), ROWS * rows.sum(axis=2)), measured(("b", "c"), ROWS * rows.sum(axis=0))],
    )
    of_b = np.broadcast_to(np.array([1.0, 0.0, 2.0, 5.0])[:, None], (3, 4, 2))
    one, both = np.zeros((3, 4)), np.zeros((4, 2))
    one[1, 2], both[3, 0] = 1.0, 1.0
    assert made.variance(("a", "b", "c"), ROWS * rows, of_b) < 0.01 * SIGMA**2 * (of_b[0, :, 0] ** 2).sum()
    of_pair = made.variance(("a", "b", "c"), ROWS * rows, np.repeat(one[:, :, None], 2, axis=2))
    by_itself = made.variance(("a", "b"), ROWS * rows.sum(axis=2), one)
    assert of_pair >= by_itself > 0.1 * SIGMA**2
    two = made.variance(("a", "b", "c"), ROWS * rows, one[:, :, None] + both)
    assert two > max(of_pair, made.variance(("a", "b", "c"), ROWS * rows, np.repeat(both[None], 3, axis=0)))


def test_tables_of_the_same_attributes_are_averaged_and_coarse_ones_tell_of_groups():
    rows = np.full((3, 4), 1 / 12)
    one = measured(("a", "b"), ROWS * rows)
    coarse = measured(("a", "b"), ROWS * np.full((2, 2), 0.25), (np.array([0, 0, 1]), np.array([0, 0, 1, 1])))
    weights = np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])

    def by(*tables):
        return Inherited(DOMAIN, lambda names: rows, tables).variance(("a", "b"), ROWS * rows, weights)

    assert by(one, one) == pytest.approx(by(one) / 2)
    assert 0.0 < by(coarse) < by(one)  # one cell of noise in place of four


def test_tables_that_are_kept_for_the_next_question_have_a_limit(monkeypatch):
    rows, asked = np.full((3, 4, 2), 1 / 24), []

    def model(names):
        asked.append(names)
        return rows.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names))

    for most, wanted in ((10, ["ab", "abc", "ab"]), (100, ["ab", "abc"])):
        monkeypatch.setattr(inherited, "_KEPT", most)
        asked.clear()
        made = Inherited(DOMAIN, model, [measured(("a", "b"), ROWS * rows.sum(axis=2))])
        for names, shape in (("ab", (3, 4)), ("ac", (3, 2)), ("ab", (3, 4))):
            made.variance(tuple(names), np.full(shape, 10.0), np.eye(*shape))
        assert ["".join(a) for a in asked] == wanted


def test_averages_by_a_group_that_is_joined_through_a_third_attribute_are_inside_their_bars(monkeypatch):
    """Months and days of them go together only by noise, which is one way in all of a month's days.

    One seeded release: half of its averages are outside without what chosen tables hand on.
    """
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(5479)]
    month, shift = np.array([d.month - 1 for d in days]), np.random.default_rng(5).integers(0, 3, (3, 5479))
    rows = {
        "year": [d.year for d in days],
        "month": (month + 1).tolist(),
        "day": [d.day for d in days],
        "of_year": [min(d.timetuple().tm_yday // 50, 7) for d in days],
        "week": [d.isoweekday() for d in days],
        "again": [d.isoweekday() for d in days],
    } | {f"x{i}": ((month + s) % 12).tolist() for i, s in enumerate(shift)}
    domain = hr.Domain(
        {
            "year": hr.bins(2000, 2015, 1),
            "month": list(range(1, 13)),
            "day": hr.bins(1, 32, 1),
            "of_year": list(range(8)),
            "week": list(range(1, 8)),
            "again": list(range(1, 8)),
        }
        | {f"x{i}": list(range(12)) for i in range(3)}
    )
    table = hr.Table.open(rows, domain)
    curator = hr.Curator(table, hr.Budget(1, 1e-9), ":memory:", entropy=hr.testing.seeded(2))
    made = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
    asked = hr.sql(domain, "SELECT month, AVG(day) FROM t GROUP BY month")
    true = np.array([np.mean([d.day for d in days if d.month == m]) for m in range(1, 13)])

    def inside():
        made.__dict__.pop("_stated", None)  # which keeps what it worked out
        answer = made.answer(asked)
        return float((np.abs(np.ravel(answer.value) - true) <= np.ravel(answer.error)).mean())

    assert inside() >= 0.9
    monkeypatch.setattr(related, "PART", 0.0)  # which may be enough by itself
    assert inside() >= 0.9
    monkeypatch.setattr(Inherited, "variance", lambda *_: 0.0)
    assert inside() < 0.9
