"""What a learned synopsis says of questions that no measured table holds: limits that hold, or a label."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.margins import ones_of

SIZES = {f"x{i}": (2, 3, 4)[i % 3] for i in range(10)}
DOMAIN = hr.Domain(SIZES)
BUDGETS = {"pure": hr.Budget(epsilon=1), "rho": hr.Budget(epsilon=1, delta=1e-9)}
SURE = 1 - 1e-9


def people(rows: int = 4000) -> dict[str, np.ndarray]:
    """A fifth of them are the same person in all ten attributes; the others follow a common class."""
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 3, rows)
    columns = {
        a: np.where(rng.random(rows) < 0.5, kind % k, rng.integers(0, k, rows)) for a, k in SIZES.items()
    }
    return {a: np.where(np.arange(rows) < rows // 5, SIZES[a] - 1, c) for a, c in columns.items()}


@cache
def released(budget: str, mechanism: str = "adaptive"):
    table = hr.Table.open(people(), DOMAIN)
    curator = hr.Curator(table, budget=BUDGETS[budget], ledger=":memory:", entropy=hr.testing.seeded(3))
    made = hr.OfflineMW() if mechanism == "offline" else hr.AdaptiveRelease(hypothesis="factored")
    return made.release(curator, hr.marginals(DOMAIN, 2))


def conjunctions(order: int, number: int, seed: int = 1):
    """Random sets of levels of random attributes, half of them those of one row; with the true counts."""
    columns, rng = people(), np.random.default_rng(seed)
    for i in range(number):
        one, inside, conditions = rng.integers(0, 4000), np.ones(4000, dtype=bool), {}
        for a in DOMAIN.order(rng.choice(list(DOMAIN), order, replace=False)):
            mask = np.zeros(SIZES[a], dtype=bool)
            mask[columns[a][one]] = True
            mask |= rng.random(SIZES[a]) < 0.5 * (i % 2)
            conditions[a], inside = mask, inside & mask[columns[a]]
        yield hr.Query.where(DOMAIN, conditions), float(inside.sum())


@pytest.mark.parametrize("mechanism", ["adaptive", "offline"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_truth_lies_within_the_limits_whatever_the_rows_are(budget, mechanism):
    """False alarm: 1e-9 for each of 84 questions."""
    synopsis = released(budget, mechanism)
    for order in (1, 2, 3, 5, 7, 9, 10):
        for query, truth in conjunctions(order, 6 if budget == "pure" else 12):
            low, high = synopsis.limits(query, confidence=SURE)
            assert 0 <= low <= truth <= high
            assert low <= high <= synopsis.total * 2.0
    low, high = synopsis.limits(hr.Query.where(DOMAIN, {"x0": 1}))
    assert high - low < 0.2 * synopsis.total  # measured itself


def test_what_is_planted_in_many_attributes_is_outside_the_error_but_inside_the_limits():
    synopsis = released("rho")
    planted = hr.Query.where(DOMAIN, {a: k - 1 for a, k in SIZES.items()})
    truth, answer = 800, synopsis.answer(planted)
    low, high = synopsis.limits(planted)
    assert low <= truth <= high
    assert answer.source == "learned"
    assert any("indicative" in note and "limits" in note for note in answer.notes)


def test_questions_that_a_measured_table_holds_say_nothing_more():
    synopsis = released("rho")
    assert synopsis.answer(hr.Query.where(DOMAIN, {"x0": 1})).notes == ()
    assert synopsis.answer(hr.marginals(DOMAIN, 1)).notes == ()
    sql = hr.sql(DOMAIN, "SELECT COUNT(*) FROM t WHERE x0 = 1 AND x1 = 2 AND x2 = 0 AND x3 = 1 AND x4 = 2")
    assert any("indicative" in note for note in synopsis.answer(sql).notes)
    listed = [q for q, _ in conjunctions(6, 3)]
    assert any("indicative" in note for note in synopsis.answer(listed).notes)


def test_limits_of_weighted_questions_and_units():
    synopsis = released("rho")
    columns = people()
    query = hr.Query.of(DOMAIN, ["x1", "x2"], np.arange(12).reshape(3, 4) / 11)
    truth = float((np.arange(12).reshape(3, 4)[columns["x1"], columns["x2"]] / 11).sum())
    low, high = synopsis.limits(query, confidence=SURE)
    assert low - 0.01 <= truth <= high + 0.01
    with pytest.raises(hr.UnsupportedQuery):
        synopsis.limits(query, confidence=1.0)
    with pytest.raises(hr.HedgerowError):
        synopsis.limits(hr.Query.where(hr.Domain({"other": 2}), {"other": 1}))


@pytest.mark.parametrize("budget", BUDGETS)
def test_indicative_errors_of_conjunctions_hold_nineteen_times_in_twenty(budget):
    """Of the rows that are not planted: coverage of 95% where no constant was chosen by looking at it."""
    synopsis, hits = released(budget), []
    for order in (4, 5, 6, 8, 10):
        for query, truth in conjunctions(order, 40, seed=order):
            if any(f[-1] == 0 for f in query.factors):
                answer = synopsis.answer(query)
                hits.append(abs(answer.value - truth) <= answer.error)
    assert len(hits) > 30
    assert np.mean(hits) >= 0.95


@pytest.mark.parametrize("mechanism", ["adaptive", "offline"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_of_a_measured_table_the_error_holds_also_where_the_model_departs_from_it(budget, mechanism):
    """A model may smooth what was measured: how far it went is known, and part of the error."""
    synopsis, columns = released(budget, mechanism), people()
    for off in (0.0, 0.5):  # a model that says half of everything is in the first level
        made = type(synopsis)(DOMAIN, synopsis.provenance, synopsis.learned)

        def half(names, off=off):
            right = synopsis._table(names)
            return (1 - off) * right + off * _first(right)

        object.__setattr__(made, "_table", half)
        for name in DOMAIN:
            truth = np.bincount(columns[name], minlength=SIZES[name])
            answer = made.answer(hr.marginals(DOMAIN, [(name,)]), confidence=SURE)
            assert (np.abs(answer.value - truth) <= answer.error).all()
            for i in range(SIZES[name]):
                one = made.answer(hr.Query.where(DOMAIN, {name: i}), confidence=SURE)
                assert abs(one.value - truth[i]) <= one.error
                assert one.error == pytest.approx(answer.error[i])


def _first(table):
    out = np.zeros_like(table)
    out.flat[0] = table.sum()
    return out


def test_a_level_that_is_all_noise_hands_its_noise_down_to_every_cell_of_it():
    """Nobody has the last level of `b`; what noise puts there, the model spreads over other attributes."""
    domain, rng, found = hr.Domain({"a": 2, "b": 3, "c": 8, "d": 8, "e": 8}), np.random.default_rng(8), 0
    rows = {name: rng.integers(0, domain[name].size - (name == "b"), 100_000) for name in domain}
    for seed in range(4):
        budget = hr.Budget(epsilon=1, delta=1e-9)
        curator = hr.Curator(hr.Table.open(rows, domain), budget, ":memory:", entropy=hr.testing.seeded(seed))
        synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2), choose=True)
        level = synopsis.answer(hr.Query.where(domain, {"b": [2]})).value
        known = ones_of(domain, synopsis.measurements)
        assert known is not None
        noise = known.deviations["b",]  # by all tables that tell it
        for a in range(2):
            cell = hr.Query.where(domain, {"a": [a], "b": [2]})
            for answer in (synopsis.answer(cell), _cell(synopsis, a)):
                share = answer.value / max(level, 1.0)
                assert answer.error >= 1.95 * share * noise * np.sqrt(2 / 3)
                found += share > 0.1
    assert found > 4


def _cell(synopsis, a):
    whole = synopsis.answer(hr.marginals(synopsis.domain, [("a", "b")]))
    return SimpleNamespace(value=whole.value[3 * a + 2], error=whole.error[3 * a + 2])
