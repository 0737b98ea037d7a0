"""One way of asking: every kind of question at every door is answered alike, or refused in our own words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import UnknownColumn
from hedgerow.mechanisms.task import Task

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 40, 10), "k": 3})
RNG = np.random.default_rng(7)
ROWS = {"sex": RNG.choice(["F", "M"], 90), "age": RNG.integers(0, 40, 90), "k": RNG.integers(0, 3, 90)}
PEOPLE = ROWS | {"id": np.arange(90) // 2}
EXACT = hr.Budget(epsilon=1e7, delta=1e-6)
OTHER = hr.Domain({"sex": 3})
TREES = hr.Table.open(["oak", "ash"] * 20, hr.OpenDomain())
Q = hr.Query.where(DOMAIN, {"sex": "F", "k": [1, 2]}, scale=100.0)
F, K = ROWS["sex"] == "F", ROWS["k"]
COUNT = "SELECT COUNT(*) FROM t WHERE sex = 'F' AND k >= 1"
GROUPED = "SELECT k, sex, COUNT(*) FROM t GROUP BY k, sex"
MEANS = "SELECT sex, AVG(k) FROM t GROUP BY sex"
BY_K = np.array([[((k == K) & f).sum() for f in (F, ~F)] for k in range(3)], dtype=float)

KINDS: dict[str, tuple[Any, Any]] = {  # a question, and its answer by hand
    "SQL text": (COUNT, (F & (K >= 1)).sum()),
    "a statement": (hr.sql(DOMAIN, COUNT), (F & (K >= 1)).sum()),
    "groups in an order of their own": (GROUPED, BY_K.reshape(-1)),
    "the largest group": (f"{GROUPED} ORDER BY COUNT(*) DESC LIMIT 1", [BY_K.max()]),
    "a sum": ("SELECT SUM(k) FROM t WHERE sex = 'F'", K[F].sum()),
    "averages": (MEANS, [K[F].mean(), K[~F].mean()]),
    "two numbers": ("SELECT COUNT(*), AVG(k) FROM t", [90, K.mean()]),
    "a query": (Q, 100 * (F & (K >= 1)).sum()),
    "a name": ("k", BY_K.sum(axis=1)),
    "names": (("k", "sex"), BY_K),
    "a list of names": (["k", "sex"], BY_K),
    "a workload": (hr.marginals(DOMAIN, [("k",), ("sex",)]), [*BY_K.sum(axis=1), *BY_K.sum(axis=0)]),
    "a list of queries": ([Q, Q], [100 * (F & (K >= 1)).sum()] * 2),
    "a list of all": ([COUNT, "k", Q, hr.sql(DOMAIN, MEANS)], None),
    "nobody": ("SELECT COUNT(*) FROM t WHERE k = 1 AND k = 2", 0),
}
ALL = [KINDS[k][1] for k in ("SQL text", "a name", "a query", "averages")]
COUNTING = set(KINDS) - {"a sum", "averages", "two numbers", "a list of all", "the largest group", "nobody"}


def curator(budget: hr.Budget = EXACT, **how: Any) -> hr.Curator:
    rows = hr.Table.open(PEOPLE if how else ROWS, DOMAIN, **how)
    return hr.Curator(rows, budget, ":memory:", "replace", entropy=hr.testing.seeded(1))


@cache
def released(kind: str) -> hr.Synopsis:
    """A synopsis of nearly exact numbers."""
    pairs = hr.marginals(DOMAIN, 2)
    made: dict[str, Callable[[], Any]] = {
        "tables": lambda: hr.LaplaceBaseline().release(curator(), pairs),
        "histogram": lambda: hr.HistogramRelease().release(curator(), None),
        "residuals": lambda: hr.Factorization().release(curator(), pairs),
        "model": lambda: hr.AdaptiveRelease().release(curator(), pairs),
        "dense": lambda: hr.OfflineMW(rounds=3).release(curator(), pairs),
        "distribution": lambda: hr.Projection().release(curator(), pairs),
    }
    return made[kind]()


@cache
def session() -> Any:
    return hr.Session(epsilon=1e5).open(curator(unit="id", max_rows=2))


@cache
def online() -> Any:
    return hr.OnlineMW(updates=40, threshold=0.5).open(curator())


RELEASES: dict[str, Any] = {
    "LaplaceBaseline": hr.LaplaceBaseline(),
    "GaussianBaseline": hr.GaussianBaseline(),
    "HistogramRelease": hr.HistogramRelease(),
    "RandomizedResponse": hr.RandomizedResponse(epsilon=5),
    "Factorization": hr.Factorization(),
    "AdaptiveRelease": hr.AdaptiveRelease(),
    "OfflineMW": hr.OfflineMW(rounds=2),
    "Projection": hr.Projection(),
    "BoostQueries": hr.BoostQueries(epsilon=1e5, rounds=3),
}
SYNOPSES = ("tables", "histogram", "residuals", "model", "dense", "distribution")
DOORS: dict[str, Callable[[Any], Any]] = {
    "Curator.measure": lambda x: curator().measure(x, 1e6).reply(),
    "Curator.measure_all": lambda x: curator().measure_all([x, "age"], 1e6)[0].reply(simultaneous=True),
    "OnlineMW.ask": lambda x: online().ask(x),
    "Session.ask": lambda x: session().ask(x),
    "Session.ask, within": lambda x: session().ask(x, within_count=2),
    **{f"{kind}.answer": (lambda x, k=kind: released(k).answer(x)) for kind in SYNOPSES},
    **{f"{m}.release": (lambda x, m=m: RELEASES[m].release(curator(), x).answer(x)) for m in RELEASES},
}
NOT_THERE = {  # what a door cannot say, and with which words it says so
    ("BoostQueries.release", "a sum"): "own workload",
    ("BoostQueries.release", "averages"): "own workload",
    ("BoostQueries.release", "two numbers"): "own workload",
    ("BoostQueries.release", "a list of all"): "own workload",
}
SAYS_NOTHING = "schema alone"


def near(answer: Any, truth: Any) -> None:
    """Values in the shape of the truth, and as near to it as 0.95 bounds of small noise make sure."""
    value, error = np.asarray(answer.value), np.asarray(answer.error)
    assert value.shape == error.shape == np.shape(truth)
    assert (np.abs(value - truth) <= 3 * error + 1e-6 * (1 + np.abs(truth))).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_every_kind_of_question(door: str, kind: str) -> None:
    given, truth = KINDS[kind]
    words = NOT_THERE.get((door, kind))
    if kind == "nobody" and (door.endswith("release") or door.startswith("Curator")):
        words = SAYS_NOTHING
    if words is not None:
        with pytest.raises(hr.UnsupportedQuery, match=words):
            DOORS[door](given)
        return
    answer = DOORS[door](given)
    for one, true in zip(answer, ALL, strict=True) if isinstance(answer, list) else [(answer, truth)]:
        near(one, true)


# -- doors that answer in another way ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_an_explanation_and_a_workload_take_what_is_asked(kind: str) -> None:
    given, truth = KINDS[kind]
    said = session().explain(given)
    assert isinstance(said, list) == (kind == "a list of all")
    if kind == "nobody":
        with pytest.raises(hr.UnsupportedQuery, match=SAYS_NOTHING):
            hr.Workload.of(given, DOMAIN)
        return
    queries = hr.Workload.of(given, DOMAIN)
    assert Task.of(DOMAIN, 90, given, hr.Budget(1, 1e-6)).asked.digest == queries.digest
    if kind in COUNTING:
        exact = queries.to_units(queries.evaluate(released("histogram").table))
        assert np.allclose(np.sort(exact), np.sort(np.ravel(truth)), atol=0.01)


def test_a_plan_is_made_for_any_question() -> None:
    for given in (GROUPED, ("sex", "k")):
        assert hr.plan(DOMAIN, 90, given, hr.Budget(1, 1e-6), simulate=False).recommended


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("release", SYNOPSES)
def test_limits_of_counts_hold_and_of_other_things_are_refused(release: str, kind: str) -> None:
    synopsis, (given, truth) = released(release), KINDS[kind]
    if kind not in COUNTING or release in ("residuals", "distribution"):
        with pytest.raises(hr.UnsupportedQuery):
            synopsis.limits(given)
        return
    low, high = synopsis.limits(given)
    assert np.shape(low) == np.shape(high) == np.shape(truth)
    assert (np.asarray(low) <= np.asarray(truth) + 0.01).all()
    assert (np.asarray(truth) <= np.asarray(high) + 0.01).all()


@pytest.mark.parametrize("names", ["k", ("k",), ["k"], ("k", "sex"), np.array(["k", "sex"])])
def test_a_table_is_named_by_an_attribute_or_by_a_list(names: Any) -> None:
    truth = BY_K if len(names) == 2 else BY_K.sum(axis=1)
    for held in (session(), *map(released, SYNOPSES)):
        assert np.allclose(held.table(names), truth, atol=0.05)
        with pytest.raises(hr.UnsupportedQuery, match="SQL"):
            held.table(COUNT)


def test_a_list_is_read_whole_before_any_of_it_is_paid() -> None:
    guard = curator()
    for door in (guard.measure, lambda x: hr.LaplaceBaseline().release(guard, x)):
        with pytest.raises(UnknownColumn):
            door([COUNT, "SELECT COUNT(*) FROM t WHERE height > 3"])
    assert guard.spent.rho == 0.0


def test_the_same_counts_cost_the_same_however_they_are_asked_for() -> None:
    table = curator().measure(("sex", "k"), 1.0)
    for given in (GROUPED, hr.sql(DOMAIN, GROUPED), hr.marginals(DOMAIN, [("sex", "k")]), ["k", "sex"]):
        assert curator().measure(given, 1.0).noise == table.noise
    one = curator().measure(hr.Query.where(DOMAIN, {"sex": "F"}), 1.0)
    assert curator().measure("SELECT COUNT(*) FROM t WHERE sex = 'F'", 1.0).noise == one.noise
    both = curator().measure([hr.Query.where(DOMAIN, {"sex": x}) for x in "FM"], 1.0)
    texts = [f"SELECT COUNT(*) FROM t WHERE sex = '{x}'" for x in "FM"]
    assert curator().measure(texts, 1.0).noise == both.noise  # disjoint conditions, known as such


def test_errors_of_measured_averages_grow_as_the_noise_does_and_hold() -> None:
    widths, missed = [], 0
    for seed in range(40):
        rows = hr.Table.open(ROWS, DOMAIN)
        guard = hr.Curator(rows, EXACT, ":memory:", "replace", entropy=hr.testing.seeded(seed))
        reply = guard.measure(MEANS, 20).reply(1 - 1e-9)
        missed += int((np.abs(reply.value - KINDS["averages"][1]) > reply.error).sum())
        widths.append(float(np.max(reply.error)))
    assert missed == 0
    assert 0.0 < max(widths) < 3.0


# -- people, names, and what is no question ----------------------------------------------------------------


def test_people_are_measured_and_nobody_else_claims_to_count_them() -> None:
    text = "SELECT sex, COUNT(DISTINCT id) FROM t GROUP BY sex"
    truth = [len(set(PEOPLE["id"][f].tolist())) for f in (F, ~F)]
    guard = curator(unit="id", max_rows=2)
    near(guard.measure(text, 1e5).reply(), truth)
    near(session().ask(text, within_count=2), truth)
    spent, synopsis = guard.spent, hr.LaplaceBaseline(epsilon=1).release(curator(unit="id", max_rows=2), "k")
    for door in (synopsis.answer, lambda x: hr.GaussianBaseline().release(guard, x)):
        with pytest.raises(hr.UnsupportedQuery, match="people"):
            door(hr.sql(DOMAIN, text, unit="id"))
    with pytest.raises(hr.UnsupportedQuery, match="people"):
        synopsis.answer(text)
    assert guard.spent == spent


def test_a_sparse_vector_compares_counts_and_no_parts_of_sums() -> None:
    run = curator().sparse_vector(1000, 1, method="sparse", count=2)
    assert not run.ask(COUNT).above.any()
    assert not run.ask(GROUPED).above.any()
    with pytest.raises(hr.UnsupportedQuery, match="compares counts"):
        run.ask(MEANS)


@pytest.mark.parametrize("kind", sorted(COUNTING - {"a query", "a list of queries"}))
def test_a_sparse_vector_speaks_of_groups_in_the_order_in_which_they_were_asked_for(kind: str) -> None:
    question, by_hand = KINDS[kind]
    run = curator().sparse_vector(0.5, 1e6, method="sparse", count=20)
    counts = np.asarray(by_hand, dtype=float).reshape(-1)
    assert not run.ask_all(question, counts).above.any()
    assert not run.ask_all(question, counts, side="under").above.any()
    assert run.ask_all([question, ("sex",)], np.append(counts, BY_K.sum(axis=0)) - 1).above.all()


@pytest.mark.parametrize(
    "question",
    [
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n",
        "SELECT k, COUNT(*) FROM t WHERE sex = 'F' GROUP BY k ORDER BY k DESC",
        "SELECT k, COUNT(*) FROM t GROUP BY k LIMIT 1",
        "SELECT COUNT(*) AS a, COUNT(*) AS b FROM t GROUP BY sex",
        "SELECT sex, COUNT(*) FROM t WHERE sex = 'F' GROUP BY sex",
    ],
)
def test_a_sparse_vector_says_nothing_that_could_be_taken_for_another_group(question: str) -> None:
    """Its outcomes have places and no names."""
    run = curator().sparse_vector(1000, 1, method="sparse", count=2)
    for asked in (question, ["sex", question]):
        with pytest.raises(hr.UnsupportedQuery, match="in order"):
            run.ask_all(asked)
    assert run.asked == 0


def trees(budget: hr.Budget = EXACT) -> hr.Curator:
    return hr.Curator(TREES, budget, ":memory:", "replace", entropy=hr.testing.seeded(1))


OPEN: dict[str, Callable[[Any], Any]] = {
    "measure": lambda x: trees().measure(x, 1.0),
    "SparseMW.ask": lambda x: hr.SparseMW(updates=2, sparsity=2).open(trees()).ask(x),
    "SparseProject.release": lambda x: hr.SparseProject(size=64).release(trees(), x),
    "sketch.answer": lambda x: hr.SparseProject(size=64).release(trees()).answer(x),
    "plan": lambda x: hr.plan(hr.OpenDomain(), 40, x, hr.Budget(1, 1e-6), simulate=False),
}


@pytest.mark.parametrize("door", OPEN)
def test_names_of_an_open_domain_are_asked_sparse_queries_and_the_refusal_says_so(door: str) -> None:
    oak = hr.SparseQuery.of({"oak": 1})
    for good in (oak, [oak, oak], (oak,)):
        OPEN[door](good)
    for other in (COUNT, "oak", ("oak",), Q, hr.marginals(DOMAIN, 1), hr.sql(DOMAIN, COUNT), [oak, "ash"]):
        with pytest.raises(hr.DomainMismatch, match="SparseQuery"):
            OPEN[door](other)


class Frame:
    """Like a data frame: iterates over names of columns, and has a length."""

    columns = ("sex",)

    def __iter__(self) -> Any:
        return iter(self.columns)

    def __len__(self) -> int:
        return 1


WRONG: dict[str, Any] = {
    "nothing": None, "a number": 3, "a fraction": 2.5, "bytes": b"x", "an object": object(), "a class": int,
    "a function": lambda x: x, "an empty mapping": {}, "an empty list": [], "a frame": Frame(),
    "odd things": {1: None, "sex": object()}, "no SQL and no attribute": "nix", "words": "nix nix",
    "a list of odd things": [1, "sex", None], "a sparse query": hr.SparseQuery.of({"oak": 1}),
    "a question of low sensitivity": hr.LargestCount("k"), "of another domain": hr.marginals(OTHER, 1),
    "a statement of another domain": hr.sql(OTHER, "SELECT COUNT(*) FROM t"),
}  # fmt: skip
TAKERS: dict[str, Callable[[Any], Any]] = {
    **DOORS,
    "Workload.of": lambda x: hr.Workload.of(x, DOMAIN),
    "plan": lambda x: hr.plan(DOMAIN, 90, x, hr.Budget(1, 1e-6), simulate=False),
    "Session.explain": lambda x: session().explain(x),
    "Session.table": lambda x: session().table(x),
    **{f"{kind}.table": (lambda x, k=kind: released(k).table(x)) for kind in SYNOPSES},
    **{f"{kind}.limits": (lambda x, k=kind: released(k).limits(x)) for kind in SYNOPSES},
}
TAKEN = {  # no workload at all is one of theirs, and a question that is no sum is one of boosting's
    *((f"{m}.release", "nothing") for m in ("HistogramRelease", "RandomizedResponse")),
    ("BoostQueries.release", "a question of low sensitivity"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("door", TAKERS)
def test_what_is_no_question_is_refused_in_one_sentence_of_ours(door: str, wrong: str) -> None:
    if (door, wrong) in TAKEN:
        return
    with pytest.raises(hr.HedgerowError) as refused:
        TAKERS[door](WRONG[wrong])
    assert str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.code


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_that_refuses_charges_nothing(release: str) -> None:
    guard = curator()
    for name, wrong in WRONG.items():
        if (f"{release}.release", name) not in TAKEN:
            with pytest.raises(hr.HedgerowError):
                RELEASES[release].release(guard, wrong)
    assert guard.spent.rho == 0.0
