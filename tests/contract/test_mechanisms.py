"""What every offline mechanism owes its users: one suite for all of them."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

DOMAIN = hr.Domain(
    {"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3), missing=True)}
)
PURE, APPROXIMATE = hr.Budget(epsilon=2), hr.Budget(epsilon=2, delta=1e-6)
W = hr.marginals(DOMAIN, 2)
LIST = hr.Workload.of(
    [
        hr.Query.where(DOMAIN, {"sex": "F"}),
        hr.Query.total(),
        hr.Query.of(DOMAIN, ["age"], np.arange(10) / 9, scale=9),
    ]
)
CASES = {
    "laplace": (hr.LaplaceBaseline, PURE, "add_remove", W),
    "laplace-replace": (hr.LaplaceBaseline, PURE, "replace", W),
    "laplace-rho": (hr.LaplaceBaseline, APPROXIMATE, "add_remove", W),
    "laplace-list": (hr.LaplaceBaseline, PURE, "add_remove", LIST),
    "gaussian": (hr.GaussianBaseline, APPROXIMATE, "add_remove", W),
    "gaussian-replace": (hr.GaussianBaseline, APPROXIMATE, "replace", W),
    "gaussian-list": (hr.GaussianBaseline, APPROXIMATE, "replace", LIST),
    "gaussian-ranges": (hr.GaussianBaseline, APPROXIMATE, "add_remove", hr.ranges(DOMAIN, 1)),
    "histogram": (hr.HistogramRelease, PURE, "add_remove", W),
    "histogram-rho": (hr.HistogramRelease, APPROXIMATE, "replace", W),
    "factorization": (hr.Factorization, APPROXIMATE, "add_remove", W),
    "factorization-replace": (hr.Factorization, APPROXIMATE, "replace", W),
    "factorization-ranges": (
        hr.Factorization,
        APPROXIMATE,
        "add_remove",
        hr.ranges(DOMAIN, [("sex", "age")]),
    ),
    "factorization-list": (hr.Factorization, APPROXIMATE, "replace", LIST),
    "projection": (hr.Projection, APPROXIMATE, "add_remove", W),
    "projection-list": (hr.Projection, APPROXIMATE, "replace", LIST),
    "randomized-row": (lambda **o: hr.RandomizedResponse(by="row", **o), PURE, "replace", W),
    "randomized-attribute": (
        lambda **o: hr.RandomizedResponse(by="attribute", **o),
        APPROXIMATE,
        "replace",
        W,
    ),
}
UNITS = {"rows": {}, "people": {"unit": "who", "max_rows": 2}}


def rows(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": rng.integers(0, 70, n) + 30 * (sex == "F"),
            "k": pd.array(rng.choice([0, 1, 2, None], n), dtype="Int64"),
            "who": rng.integers(0, n // 2, n),
        }
    )


def make(case: str, unit: str = "rows", ledger=":memory:"):
    mechanism, budget, neighbours, workload = CASES[case]
    table = hr.Table.open(rows(), DOMAIN, **UNITS[unit])
    return mechanism, hr.Curator(table, budget=budget, ledger=ledger, neighbours=neighbours), workload


@pytest.fixture(scope="module", params=[(c, u) for c in CASES for u in UNITS], ids=lambda p: "-".join(p))
def released(request):
    mechanism, curator, workload = make(*request.param)
    return mechanism().release(curator, workload), curator, workload


def test_the_whole_budget_is_spent_and_no_more(released):
    _, curator, _ = released
    assert curator.spent.epsilon <= curator.budget.epsilon
    assert curator.spent.epsilon == pytest.approx(curator.budget.epsilon, rel=1e-5)


def test_the_ledger_holds_one_charge_and_verifies(released):
    synopsis, curator, _ = released
    assert synopsis.receipt.seq == 1
    assert curator.ledger.verify(synopsis.receipt).ok


def test_a_given_epsilon_is_what_is_spent():
    for case in CASES:
        mechanism, curator, workload = make(case)
        synopsis = mechanism(epsilon=0.5).release(curator, workload)
        assert curator.spent.epsilon <= 0.5
        assert curator.spent.epsilon == pytest.approx(0.5, rel=1e-5), case
        assert synopsis.cost.epsilon == pytest.approx(0.5, rel=1e-5)


def test_error_statements_hold_on_the_bounded_table(released):
    """All bounds at once at confidence 1 - 1e-6: any miss is a failure, false alarm 1e-6."""
    synopsis, curator, workload = released
    queries = list(workload)[:200]
    truth = [
        q.to_unit(q.apply(curator._rows.tables([q.attributes])[q.attributes]) / q.denominator)
        for q in queries
    ]
    answer = synopsis.answer(queries, confidence=1 - 1e-6, simultaneous=True)
    if synopsis.source == "learned":  # its bound is on the root mean square over the workload
        whole = workload.evaluate(lambda s: curator._rows.tables([s])[s]) / workload.denominator
        got = workload.evaluate(lambda s: synopsis.table(s))
        assert np.sqrt(((got - whole) ** 2).mean()) <= synopsis.reach.bound(synopsis.total, 1 - 1e-6)
        return
    assert answer.source == "measured"
    assert (np.abs(answer.value - truth) <= answer.error).all()


def test_single_answers_and_workload_answers_agree(released):
    synopsis, _, workload = released
    together = synopsis.answer(workload)
    for i in (0, len(workload) - 1):
        one = synopsis.answer(workload[i])
        assert one.value == pytest.approx(together.value[i])
        assert one.error == pytest.approx(together.error[i])
    wide = synopsis.answer(workload, simultaneous=True)
    assert (wide.error >= together.error).all()


def test_save_and_load_give_the_same_answers_and_hold_no_secret(released, tmp_path):
    synopsis, curator, workload = released
    path = tmp_path / "out.hedgerow"
    synopsis.save(path)
    again = hr.Synopsis.load(path)
    np.testing.assert_array_equal(again.answer(workload).value, synopsis.answer(workload).value)
    assert (again.kind, again.can, again.domain, again.receipt) == (
        synopsis.kind,
        synopsis.can,
        synopsis.domain,
        synopsis.receipt,
    )
    assert again.citation() == synopsis.citation() != ""
    secret = curator.ledger.row_key
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            body = archive.read(name)
            assert secret not in body
            assert secret.hex().encode() not in body


def test_it_says_what_it_can_do_and_does_that(released):
    synopsis, _, _ = released
    if "table" in synopsis.can:
        assert synopsis.table(("age", "sex")).shape == (10, 2)
        np.testing.assert_allclose(synopsis.table(("age", "sex")).T, synopsis.table(("sex", "age")))
        assert synopsis.total == pytest.approx(float(synopsis.table(("sex",)).sum()), rel=0.5, abs=2000)
    else:
        with pytest.raises(hr.UnsupportedQuery):
            synopsis.table(("sex",))
    if "sample" in synopsis.can:
        sample = synopsis.sample(500, seed=1)
        assert list(sample) == list(DOMAIN)
        assert all(len(column) == 500 for column in sample.values())
        assert set(sample["sex"]) <= {"F", "M"}
        np.testing.assert_array_equal(sample["age"], synopsis.sample(500, seed=1)["age"])
    else:
        with pytest.raises(hr.UnsupportedQuery, match="cannot sample"):
            synopsis.sample(5)


def test_sampled_rows_follow_the_released_tables():
    mechanism, curator, workload = make("gaussian")
    synopsis = mechanism().release(curator, workload)
    sample = pd.DataFrame(synopsis.sample(40_000, seed=2))
    share = pd.crosstab(sample["sex"], sample["age"], normalize=True).to_numpy()
    released_share = np.maximum(synopsis.table(("sex", "age")), 0)
    assert np.abs(share - released_share / released_share.sum()).sum() < 0.05


def test_randomised_response_is_refused_under_add_remove():
    table = hr.Table.open(rows(), DOMAIN)
    curator = hr.Curator(table, budget=PURE, ledger=":memory:")
    with pytest.raises(hr.UnsupportedQuery, match="replace"):
        hr.RandomizedResponse().release(curator)
    assert curator.spent.epsilon == 0


def test_randomised_response_states_its_split():
    for by, parts in (("row", 1), ("attribute", 3)):
        _, curator, _ = make("randomized-row", "people")
        got = hr.RandomizedResponse(by=by, epsilon=1.5).release(curator)
        assert got.provenance.parameters["records_per_unit"] == 2
        assert got.provenance.parameters["epsilon_each"] == pytest.approx(1.5 / 2 / parts)
        assert got.reports.codes.shape[1] == 2 * curator.units


def test_a_histogram_that_cannot_be_held_is_refused_with_its_size():
    domain = hr.Domain({f"a{i}": 100 for i in range(6)})
    table = hr.Table.open({f"a{i}": [1] for i in range(6)}, domain)
    curator = hr.Curator(table, budget=PURE, ledger=":memory:")
    with pytest.raises(hr.RangeTooLarge, match="1,000,000,000,000 cells"):
        hr.HistogramRelease().release(curator)
    assert curator.spent.epsilon == 0


def test_a_question_outside_the_release_is_one_sentence():
    mechanism, curator, _ = make("laplace")
    synopsis = mechanism().release(curator, hr.marginals(DOMAIN, 1))
    with pytest.raises(hr.UnsupportedQuery, match="no released table holds sex x age"):
        synopsis.answer(hr.Query.where(DOMAIN, {"sex": "F", "age": 5}))
    with pytest.raises(hr.HedgerowError, match="is not a synopsis"):
        hr.Synopsis.load(__file__)
    with pytest.raises(hr.HedgerowError, match="no file"):
        hr.Synopsis.load("nowhere.hedgerow")


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    mechanism, curator, workload = make("gaussian")
    synopsis = mechanism().release(curator, workload)
    with pytest.raises(hr.errors.UnsupportedQuery, match="between 0 and 1"):
        synopsis.answer(workload[0], confidence=confidence)
