"""SparseMW: the paper's parameters, the dense transcript on a restricted universe, long conjunctions."""

from __future__ import annotations

from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.sparse.sparse import variables
from hedgerow.queries.literals import conjunction_count
from hedgerow.queries.query import ONE

PURE = hr.Budget(epsilon=1)
TREES = ["oak"] * 900 + ["ash"] * 500 + ["elm"] * 100 + [f"tree {i}" for i in range(500)]
WOOD = hr.Table.open(TREES, hr.OpenDomain())


def curator(
    table: hr.Table = WOOD, budget: hr.Budget = PURE, ledger: Any = ":memory:", **o: Any
) -> hr.Curator:
    return hr.Curator(table, budget, ledger, o.pop("neighbours", "replace"), **o)


@pytest.mark.parametrize("m", [1, 30, 1000])
def test_updates_and_variables_are_those_of_the_paper(m: int) -> None:
    """c = ceil(B(alpha)), B = 4 (ln s + 1) / alpha^2, s the smallest with s / (ln s + 1) >= 4 m / alpha^2."""
    mechanism = hr.SparseMW(alpha=0.2, sparsity=m, queries=100, epsilon=1.0, rows=10**8)
    session = mechanism.open(curator(neighbours="add_remove"))
    s = variables(m, 0.2)
    assert session.hypothesis.size == s
    assert session.terms.updates == ceil(4 * (log(s) + 1) / 0.04)
    assert session.terms.threshold == 2 * 0.2 * 10**8


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_transcript_is_that_of_dense_mw_on_the_restricted_universe(
    seed: int, fractional: bool, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[BR11] replaces X by s variables: on a universe of exactly s elements the two are one algorithm."""
    m, alpha, rng = 3, 0.15, np.random.default_rng(seed)
    s = variables(m, alpha)
    names = [f"n{i}" for i in range(s)]
    domain = hr.Domain({"name": names})
    drawn = np.array(names, dtype=object)[rng.choice(6, 60_000, p=rng.dirichlet(np.full(6, 1.0)))]
    options: dict[str, Any] = {"queries": 400, "epsilon": 50.0}
    rich = hr.Budget(epsilon=100)
    sparse = hr.SparseMW(alpha=alpha, sparsity=m, **options).open(
        curator(hr.Table.open(drawn.tolist(), hr.OpenDomain()), rich)
    )
    bound = sparse.terms.updates
    monkeypatch.setattr(hr.OnlineMW, "_bound", lambda self, curator, alpha: bound)
    dense = hr.OnlineMW(alpha=alpha, **options).open(curator(hr.Table.open({"name": drawn}, domain), rich))
    assert dense.terms.threshold == sparse.terms.threshold
    sources = []
    for _ in range(200):
        picked = rng.choice(9, m, replace=False)
        weights = rng.random(m) if fractional else np.ones(m)
        asked = {names[i]: float(w) for i, w in zip(picked, weights, strict=True)}
        vector = np.zeros(s)
        vector[picked] = weights
        a = sparse.ask(hr.SparseQuery.of(asked))
        b = dense.ask(hr.Query.of(domain, ["name"], vector))
        assert a.source == b.source
        assert a.value == pytest.approx(b.value, rel=1e-9, abs=1e-6)
        assert a.error == b.error
        sources.append(a.source)
    assert 0 < sparse.updates == dense.updates <= bound
    assert {"measured", "certified"} <= set(sources)
    for i, name in enumerate(names[:50]):
        assert sparse.hypothesis.log_weight(name) == pytest.approx(dense.hypothesis.log_cells()[i], abs=1e-9)


def test_names_that_read_alike_are_one_name(quiet: None) -> None:
    table = hr.Table.open([5] * 500 + [7] * 500, hr.OpenDomain())
    session = hr.SparseMW(sparsity=1, updates=3, threshold=50).open(curator(table))
    assert session.ask(hr.SparseQuery.of({5: 1})).source == "measured"
    again = session.ask(hr.SparseQuery.of({"5": 1}))
    assert again.source == "certified"
    assert again.value == pytest.approx(500, abs=1e-6)
    assert len(session.hypothesis) == 1


def test_elements_nobody_has_and_unit_scales(quiet: None) -> None:
    session = hr.SparseMW(sparsity=2, updates=3, threshold=200).open(curator())
    answer = session.ask([hr.SparseQuery.of({"unheard of": 1}), hr.SparseQuery.of({"oak": 0.5}, scale=2.0)])
    assert answer.sources.tolist() == ["certified", "measured"]
    assert answer.value[1] == pytest.approx(900)
    assert answer.error[1] == pytest.approx(2 * session.terms.measured)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sparsity": 0}, "sparsity"),
        ({"sparsity": 1.5}, "sparsity"),
        ({"alpha": 0.1, "queries": 5}, "one of the two"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_for_free(options: Any, words: str) -> None:
    guard = curator()
    with pytest.raises(hr.UnsupportedQuery, match=words):
        hr.SparseMW(**{"updates": 3, **options}).open(guard)
    assert guard.receipt.seq == 0


def test_what_is_not_a_sparse_question_is_refused() -> None:
    guard = curator()
    session = hr.SparseMW(sparsity=2, updates=3).open(guard)
    before = guard.receipt.seq
    for bad in (
        [],
        5,
        "oak",
        hr.Query.total(),
        [hr.Query.total()],
        hr.SparseQuery.of({"a": 1, "b": 1, "c": 1}),
    ):
        with pytest.raises(hr.UnsupportedQuery):
            session.ask(bad)
    assert guard.receipt.seq == before
    finite = hr.Curator(hr.Table.open({"x": [1]}, hr.Domain({"x": 3})), PURE, ":memory:")
    with pytest.raises(hr.UnsupportedQuery, match="OpenDomain"):
        hr.SparseMW(sparsity=2, updates=3).open(finite)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("people", [1, 2])
def test_the_number_of_rows_is_public_declared_or_measured(neighbours: Any, people: int) -> None:
    rows = {"name": TREES, "who": np.arange(2000) // people}
    unit = {"unit": "who", "max_rows": people} if people > 1 else {}
    guard = curator(hr.Table.open(rows, hr.OpenDomain(), **unit), neighbours=neighbours)
    session = hr.SparseMW(sparsity=2, updates=3, epsilon=1.0).open(guard)
    public = neighbours == "replace" and people == 1
    assert (session.terms.total == 2000) == public or abs(session.terms.total - 2000) < 2
    assert session.terms.total == pytest.approx(2000, abs=900)  # Laplace of scale 20 or 40: 2 e^(-22) at most
    assert len(list(guard.ledger.replay(f"sparse-vector:{session.label}"))) == 1
    assert guard.spent.epsilon == pytest.approx(1.0)
    assert (guard.ledger.recall(f"{session.label}: total", "x") is None) if public else True


def test_a_full_structure_is_not_the_end(quiet: None) -> None:
    """[BR11]'s FAILURE cannot happen in its theorem; if it did, answers would go on."""
    session = hr.SparseMW(sparsity=2, updates=9, threshold=10).open(curator())
    session.hypothesis.size = 2
    said = session.ask([hr.SparseQuery.of({n: 1, f"{n}!": 1}) for n in ("oak", "ash", "elm", "oak")])
    assert session.full
    assert said.sources.tolist()[1:3] == ["measured", "measured"]


class TestConjunctions:
    def test_the_support_is_enumerated(self) -> None:
        query = hr.literal_conjunction("1*0*")
        assert sorted(query.weights) == ["1000", "1001", "1100", "1101"]
        assert set(query.weights.values()) == {ONE}
        tuples = hr.literal_conjunction("1*0*", elements="tuple")
        assert sorted(tuples.weights) == [(1, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 0), (1, 1, 0, 1)]

    @pytest.mark.parametrize(("bits", "free"), [(5, 0), (5, 2), (6, 6)])
    def test_they_agree_with_brute_force_over_the_cube(self, bits: int, free: int) -> None:
        cube = [tuple(int(b) for b in np.binary_repr(i, bits)) for i in range(2**bits)]
        family = list(hr.literal_conjunctions(bits, free, elements="tuple"))
        assert len(family) == conjunction_count(bits, free)
        assert len({q.digest for q in family}) == len(family)
        for query in family:
            kept = [i for i, c in enumerate(query.name) if c == "1"]
            assert len(kept) == bits - free
            assert set(query.weights) == {row for row in cube if all(row[i] for i in kept)}

    @pytest.mark.parametrize("elements", ["text", "tuple"])
    def test_64_literals_with_10_left_open_are_answered(self, elements: Any) -> None:
        rng = np.random.default_rng(6)
        base = ["1"] * 64
        rows = []
        for _ in range(6000):  # most people meet most conditions
            row = list(base)
            for place in rng.choice(64, int(rng.integers(0, 4)), replace=False):
                row[place] = "0"
            rows.append("".join(row) if elements == "text" else tuple(map(int, row)))
        guard = curator(hr.Table.open(rows, hr.OpenDomain()))
        session = hr.SparseMW(sparsity=1024, updates=4, queries=100, beta=1e-6).open(guard)
        for _ in range(3):
            places = set(rng.choice(64, 10, replace=False).tolist())
            pattern = "".join("*" if i in places else "1" for i in range(64))
            query = hr.literal_conjunction(pattern, elements=elements)
            assert len(query.weights) == 1024
            truth = sum(all(int(row[i]) for i in range(64) if i not in places) for row in rows)
            answer = session.ask(query)
            assert answer.source in ("certified", "measured")
            assert abs(answer.value - truth) <= answer.error
        assert guard.spent.epsilon <= 1

    def test_what_cannot_be_enumerated_is_refused(self) -> None:
        with pytest.raises(hr.RangeTooLarge, match="21 bits"):
            hr.literal_conjunction("*" * 21)
        for bad in ("", "12*", "1 0"):
            with pytest.raises(hr.UnsupportedQuery):
                hr.literal_conjunction(bad)
        with pytest.raises(hr.UnsupportedQuery):
            hr.literal_conjunction("1*", elements="bits")  # type: ignore[arg-type]
        with pytest.raises(hr.UnsupportedQuery):
            next(hr.literal_conjunctions(3, 4))


def test_restarts_give_the_same_transcript(quiet: None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["oak", "ash", "elm", "fir", *[f"tree {i}" for i in range(20)]]
    stream = [hr.SparseQuery.of({names[i]: 1 for i in rng.choice(24, 3, replace=False)}) for _ in range(30)]
    options: dict[str, Any] = {"sparsity": 3, "updates": 6, "threshold": 80.0}
    whole = hr.SparseMW(**options).open(curator())
    expected = [whole.ask(q) for q in stream]
    said: list[Any] = []
    for part in range(0, 30, 4):
        guard = curator(ledger=tmp_path / "l.db")
        answer = hr.SparseMW(**options, run="wood").open(guard).ask(stream[part : part + 4])
        said += list(zip(answer.value.tolist(), answer.sources.tolist(), strict=True))
        guard.ledger.close()
    assert said == [(a.value, a.source) for a in expected]
    assert whole.updates == 6


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_every_stated_error_holds_after_the_updates_are_used_up(neighbours: Any) -> None:
    """Public totals never fail; counted ones, like all bounds at once, with probability beta = 1e-8."""
    guard = curator(neighbours=neighbours)
    session = hr.SparseMW(sparsity=3, updates=2, queries=50, beta=1e-8).open(guard)
    counts = {name: TREES.count(name) for name in ("oak", "ash", "elm", "tree 1", "yew")}
    asked = [hr.SparseQuery.of({a: 1, b: 0.5}) for a in counts for b in counts if a != b] * 3
    truth = [sum(w / ONE * counts[e] for e, w in q.weights.items()) for q in asked]
    found = session.ask(asked)
    assert (np.abs(found.value - truth) <= found.error).all()
    halves = session.ask([hr.SparseQuery.of({"oak": 0.5}), hr.SparseQuery.of({"oak": 1})])
    if session.updates == 2:
        assert halves.source == "learned"
        assert halves.error[0] < 0.6 * halves.error[1]
