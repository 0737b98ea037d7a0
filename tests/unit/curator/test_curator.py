"""The law: refuse first, charge and answer in one transaction, and let nothing exact out."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator import curator as curator_module
from hedgerow.curator.statistics.statistics import LevelCounts, QueryErrors, TableErrors

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": 4})


def frame(n: int = 500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"sex": rng.choice(["F", "M"], n), "age": rng.integers(0, 100, n), "k": rng.integers(0, 4, n)}
    )


def make(budget=None, ledger=":memory:", rows=None, **options) -> hr.Curator:
    table = hr.Table.open(frame() if rows is None else rows, DOMAIN)
    return hr.Curator(table, budget=budget or hr.Budget(epsilon=1), ledger=ledger, **options)


class Exploding:
    """An engine that fails the test when anyone reads rows."""

    untyped = False

    def __init__(self, engine):
        self._engine = engine

    def schema(self):
        return self._engine.schema()

    def batches(self, columns):
        raise AssertionError("rows were read")


def test_queries_that_weigh_nothing_are_measured_like_others():
    domain = hr.Domain({"a": 2})
    curator = hr.Curator(hr.Table.open({"a": [0, 1]}, domain), hr.Budget(1.0), ":memory:")
    nothing = hr.Query.of(domain, ["a"], np.zeros(2))
    assert curator.measure([nothing], 0.5).values.shape == (1,)


def test_a_refused_charge_reads_nothing_and_charges_nothing():
    table = hr.Table.open(frame(), DOMAIN)
    table._engine = Exploding(table._engine)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:")
    for act in (
        lambda: curator.measure("sex", 2),
        lambda: curator.select(LevelCounts("sex"), 1.5),
        lambda: hr.LaplaceBaseline(epsilon=1.01).release(curator, hr.marginals(DOMAIN, 1)),
    ):
        with pytest.raises(hr.BudgetExceeded, match="remains"):
            act()
    assert curator.spent.epsilon == 0
    assert curator.ledger.receipt().seq == 0


def test_a_second_release_spends_on_top_of_the_first_and_is_refused_past_the_budget(tmp_path):
    path = tmp_path / "people.csv"
    frame().to_csv(path, index=False)

    def release(epsilon: float) -> hr.Curator:
        curator = hr.Curator(hr.Table.open(path, DOMAIN), budget=hr.Budget(epsilon=1))
        hr.LaplaceBaseline(epsilon=epsilon).release(curator, hr.marginals(DOMAIN, 1))
        return curator

    assert release(0.6).remaining.epsilon == pytest.approx(0.4)
    assert (tmp_path / "people.csv.hedgerow.db").exists()
    with pytest.raises(hr.BudgetExceeded) as caught:
        release(0.6)
    assert "2/5" in str(caught.value) or "0.4" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert release(0.4).remaining.epsilon == 0


def test_the_same_request_gets_the_same_answer_free_and_without_reading_rows():
    curator = make()
    first = curator.measure("age", 0.25, request="r1")
    curator._rows = None
    again = curator.measure("age", 0.25, request="r1")
    np.testing.assert_array_equal(first.values, again.values)
    assert curator.spent.epsilon == 0.25
    for other in (
        lambda: curator.measure("sex", 0.25, request="r1"),
        lambda: curator.measure("age", 0.5, request="r1"),
    ):
        with pytest.raises(hr.LedgerError):
            other()


@pytest.mark.parametrize("rows", [frame(0), frame(1), frame(400), frame().assign(sex=None, age=np.nan, k=99)])
def test_shapes_prices_and_messages_do_not_depend_on_rows(rows):
    curator = make(rows=rows)
    table = curator.measure(("sex", "age"), 0.5)
    assert table.values.shape == (2, 10)
    assert table.noise.scale == 2
    assert curator.spent.epsilon == 0.5
    synopsis = hr.LaplaceBaseline(epsilon=0.25).release(curator, hr.marginals(DOMAIN, 2))
    assert synopsis.table(("sex", "k")).shape == (2, 4)
    assert len(synopsis.sample(10)["sex"]) == 10
    with pytest.raises(hr.BudgetExceeded, match=r"epsilon 0.5, but of epsilon 1 only 0.25 remains"):
        curator.measure("k", 0.5)


def test_exact_values_do_not_leave_through_repr_or_pickle():
    curator = make(rows=frame(12345 % 997))
    curator.measure("sex", 0.1)
    assert str(len(frame(12345 % 997))) not in repr(curator)
    for thing in (curator, curator.table):
        with pytest.raises(TypeError):
            pickle.dumps(thing)


def test_noise_is_added_to_every_number(monkeypatch):
    """Skip the noise on purpose: the measured table equals the exact one, so otherwise it must not."""
    curator = make(hr.Budget(epsilon="1/10000"))  # noise is 0 in 5e-5 of cells: in 4 of 40 once in 10^12 runs
    exact = curator._rows.tables([("age", "k")])[("age", "k")]
    noisy = curator.measure(("age", "k"))
    assert (noisy.values != exact).mean() > 0.9
    monkeypatch.setattr(curator_module.Curator, "_noise", lambda self, law, v: np.zeros_like(v))
    bare = make(hr.Budget(epsilon="1/10000")).measure(("age", "k"))
    np.testing.assert_array_equal(bare.values, exact)


def test_a_rho_ledger_prices_epsilon_at_its_own_delta():
    curator = make(hr.Budget(epsilon=1, delta=1e-6))
    synopsis = hr.GaussianBaseline(epsilon=0.5).release(curator, hr.marginals(DOMAIN, 1))
    assert curator.spent.epsilon == pytest.approx(0.5, rel=1e-6)
    assert curator.spent.epsilon <= 0.5
    assert synopsis.cost.epsilon <= 0.5
    hr.GaussianBaseline().release(curator, hr.marginals(DOMAIN, 1))
    assert curator.spent.epsilon <= 1
    assert curator.remaining.rho < 1e-9


def test_gaussian_noise_is_refused_on_a_pure_budget():
    with pytest.raises(hr.HedgerowError):
        make().measure("sex", 0.5, noise="gaussian")


def test_allotments_bound_what_a_child_can_spend_and_return_the_rest():
    curator = make()
    child = curator.allot(0.5, "anna")
    child.measure("sex", 0.2)
    assert child.remaining.epsilon == pytest.approx(0.3)
    assert curator.remaining.epsilon == 0.5
    with pytest.raises(hr.BudgetExceeded):
        child.measure("sex", 0.4)
    child.settle()
    assert curator.remaining.epsilon == pytest.approx(0.8)
    with pytest.raises(hr.HedgerowError):
        child.measure("sex", 0.1)


def test_units_are_public_only_under_replace():
    assert make().rows is None
    assert make().units is None
    assert make(neighbours="replace").rows == 500
    assert make(neighbours="replace").units == 500


def test_results_of_simulation_and_test_randomness_say_that_they_are_not_private(tmp_path):
    assert make(ledger=tmp_path / "a.db").measure("sex", 0.5).private
    assert not make().measure("sex", 0.5).private
    seeded = make(ledger=tmp_path / "b.db", entropy=hr.testing.seeded(1))
    assert not seeded.private
    assert "NOT PRIVATE" in repr(hr.LaplaceBaseline().release(seeded, hr.marginals(DOMAIN, 1)))
    with hr.testing.seeded(1):
        inside = make(ledger=tmp_path / "c.db")
    assert not inside.private


def test_seeded_results_repeat():
    one, two = (make(entropy=hr.testing.seeded(7)).measure(("age", "k")).values for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "method", ["exponential", "permute_and_flip", "report_noisy_max", "report_noisy_max_laplace"]
)
def test_selection_finds_the_best_when_the_budget_is_ample(method):
    rows = frame().assign(k=[3] * 450 + [1] * 50)
    curator = make(hr.Budget(epsilon=10), rows=rows)
    assert curator.select(LevelCounts("k"), 5, method=method) == 3
    w = hr.marginals(DOMAIN, 1)
    errors = QueryErrors(w, np.zeros(len(w)))
    assert w[curator.select(errors, 4, method=method)].attributes == ("k",)
    uniform = tuple(np.full(DOMAIN.shape_of(c), 500 / DOMAIN.cells(c)) for c in w.cliques)
    assert w.cliques[curator.select(TableErrors(w.cliques, uniform, np.zeros(3)), 1)] == ("k",)


def test_a_score_without_its_own_sensitivity_is_refused():
    with pytest.raises(hr.UnsupportedQuery, match="sensitivity"):
        make().select([1, 2, 3], 0.5)


@pytest.mark.parametrize("score", ["queries", "tables"])
def test_scores_move_by_at_most_their_sensitivity(score):
    """Add one row, and swap one row: no score moves by more than what `Privacy` charges for."""
    from hedgerow.curator.rows.table import Rows
    from hedgerow.privacy.budget import Privacy

    w = hr.marginals(DOMAIN, 2)
    rng = np.random.default_rng(1)
    estimate = tuple(rng.random(DOMAIN.shape_of(c)) * 20 for c in w.cliques)
    scored = (
        QueryErrors(w, rng.random(len(w)) * 20)
        if score == "queries"
        else TableErrors(w.cliques, estimate, np.zeros(3))
    )

    def scores(rows):
        return scored.exact(Rows(hr.Table.open(rows, DOMAIN), bytes(32)))

    base = frame(60)
    for i in range(20):
        more = pd.concat([base, frame(1, seed=100 + i)])
        swapped = pd.concat([base.iloc[1:], frame(1, seed=200 + i)])
        assert np.abs(scores(more) - scores(base)).max() <= Privacy("add_remove").sensitivity(scored.norms).l1
        assert np.abs(scores(swapped) - scores(base)).max() <= Privacy("replace").sensitivity(scored.norms).l1


def test_open_domains_answer_sparse_queries():
    curator = hr.Curator(
        hr.Table.open(["oak"] * 300 + ["ash"], hr.OpenDomain()),
        budget=hr.Budget(epsilon=1),
        ledger=":memory:",
    )
    got = curator.measure([hr.SparseQuery.of({"oak": 1}), hr.SparseQuery.of({"oak": 0.5, "yew": 1})])
    assert got.counts == pytest.approx([300, 150], abs=60)
    with pytest.raises(hr.UnsupportedQuery):
        hr.HistogramRelease().release(curator)


def test_what_never_changes_of_a_ledger_is_read_when_it_is_opened_and_a_raise_is_always_seen(tmp_path):
    """What SQLite is asked, told by its own trace: a release seldom looks up its budget."""
    from hedgerow.privacy.ledger.ledger import Ledger

    path, asked = tmp_path / "ledger.db", []
    curator = make(hr.Budget(epsilon=2, delta=1e-6), path)
    curator.ledger._store._connection().set_trace_callback(asked.append)
    for _ in range(99):
        assert curator.privacy.neighbours == "add_remove"
    assert not asked
    hr.AdaptiveRelease(epsilon=1.0).release(curator, hr.marginals(DOMAIN, 2))
    acts, budgets = (sum(words in sql for sql in asked) for words in ("INSERT", "kind = 'raise'"))
    assert acts > 8
    assert budgets <= 5
    assert len(asked) <= 16 * acts
    with Ledger.open(path, create=False) as elsewhere:
        elsewhere.raise_budget(hr.Budget(epsilon=4, delta=2e-6), reason="a second year")
    assert curator.budget.epsilon == curator.ledger.settings.budget.epsilon > 2
    curator.measure(("sex",), 1.5)
