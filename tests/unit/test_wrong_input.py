"""What is wrong is said in one sentence of ours, before anything is charged: a table of wrong inputs."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plot import Plot
from hedgerow.primitives import LevelCounts, QueryErrors, TableErrors
from hedgerow.synopsis.answer import Answer

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
ROWS = {"sex": ["F", "M", "F"] * 20, "k": [0, 1, 1] * 20}
TABLE = hr.Table.open(ROWS, DOMAIN)
NAMES = hr.Table.open(["oak", "ash"] * 20, hr.OpenDomain())
W, Q = hr.marginals(DOMAIN, 1), hr.Query.where(DOMAIN, {"sex": "F"})
NAN, INF = float("nan"), float("inf")

SCALARS: dict[str, Any] = {
    "None": None, "no text": "", "a word": "nix", "bytes": b"x", "minus one": -1, "zero": 0, "a half": 0.5,
    "NaN": NAN, "infinity": INF, "huge": 10**400, "NumPy zero": np.int64(0), "NumPy minus": np.float64(-1.0),
    "true": True, "complex": 1j, "an object": object(), "a class": int,
}  # fmt: skip
THINGS: dict[str, Any] = {
    "a list": [], "a tuple": (), "a mapping": {}, "a set": {1}, "an array": np.array([1.0, NAN]),
    "a matrix": np.ones((2, 2)), "twice": ["sex", "sex"], "unknown": ["nope"], "mixed": [1, "sex", None],
    "nothings": [None], "a query": Q, "a sparse query": hr.SparseQuery.of({"oak": 1}), "a workload": W,
    "a domain": DOMAIN, "an open domain": hr.OpenDomain(), "a budget": hr.Budget(1),
    "NumPy text": np.str_("sex"), "a statement": hr.sql(DOMAIN, "SELECT COUNT(*) FROM t"),
}  # fmt: skip


def wrong(name: str, part: int) -> Iterator[tuple[str, Any]]:
    """Every wrong value, or one in `part` of them: other ones for each name."""
    listed = [*SCALARS.items(), *THINGS.items(), ("a generator", (x for x in (1, 2)))]
    yield from listed[zlib.crc32(name.encode()) % part :: part]


def curator(table: hr.Table = TABLE, neighbours: Any = "replace") -> hr.Curator:
    return hr.Curator(table, hr.Budget(3, 1e-6), ":memory:", neighbours)


FAMILIES = (hr.marginals, hr.conjunctions, hr.ranges, hr.prefixes, hr.parities)
PUBLIC: dict[str, Callable[[Any], Any]] = {
    "Domain": hr.Domain,
    "Domain, levels": lambda x: hr.Domain({"a": x}),
    "Domain.load": hr.Domain.load,
    "Categorical": hr.Categorical,
    "Bins": hr.Bins,
    "bins, start": lambda x: hr.bins(x, 10, 1),
    "bins, stop": lambda x: hr.bins(0, x, 1),
    "bins, width": lambda x: hr.bins(0, 10, x),
    "dates, start": lambda x: hr.dates(x, "2021-01-01"),
    "dates, stop": lambda x: hr.dates("2020-01-01", x),
    "dates, by": lambda x: hr.dates("2020-01-01", "2021-01-01", x),
    "Query.where": lambda x: hr.Query.where(DOMAIN, x),
    "Query.where, domain": lambda x: hr.Query.where(x, {}),
    "Query.where, level": lambda x: hr.Query.where(DOMAIN, {"sex": None if x is int else x}),
    "Query.where, weights": lambda x: hr.Query.where(DOMAIN, weights=x),
    "Query.where, weight": lambda x: hr.Query.where(DOMAIN, weights={"sex": x}),
    "Query.where, scale": lambda x: hr.Query.where(DOMAIN, scale=x),
    "Query.of, attributes": lambda x: hr.Query.of(DOMAIN, x, [1, 0]),
    "Query.of, weights": lambda x: hr.Query.of(DOMAIN, ["sex"], x),
    "Query.of, domain": lambda x: hr.Query.of(x, ["sex"], [1, 0]),
    "SparseQuery": hr.SparseQuery,
    "SparseQuery.of": hr.SparseQuery.of,
    "SparseQuery.of, weight": lambda x: hr.SparseQuery.of({"a": x}),
    "SparseQuery.of, scale": lambda x: hr.SparseQuery.of({"a": 1}, scale=x),
    "Workload": hr.Workload,
    "Workload.of": hr.Workload.of,
    **{f"{f.__name__}, over": (lambda x, f=f: f(DOMAIN, x)) for f in FAMILIES},
    **{f"{f.__name__}, domain": (lambda x, f=f: f(x, 1)) for f in FAMILIES},
    "literal_conjunction": hr.literal_conjunction,
    "literal_parity": hr.literal_parity,
    "literal_disjunction": hr.literal_disjunction,
    "literal_parities, free": lambda x: next(hr.literal_parities(4, x)),
    "monotone_conjunctions": lambda x: hr.monotone_conjunctions(DOMAIN, x),
    "halfspaces": lambda x: hr.halfspaces(DOMAIN, x),
    "halfspaces, domain": lambda x: hr.halfspaces(x, ["sex", "k"]),
    "truth": lambda x: hr.marginals(DOMAIN, 1).truth(x),
    "literal_conjunctions, bits": lambda x: next(hr.literal_conjunctions(x, 0)),
    "literal_conjunctions, free": lambda x: next(hr.literal_conjunctions(4, x)),
    "LargestGap": lambda x: hr.LargestGap("k", x),
    "LevelsAbove": lambda x: hr.LevelsAbove("k", x),
    "sql": lambda x: hr.sql(DOMAIN, x),
    "sql, domain": lambda x: hr.sql(x, "SELECT COUNT(*) FROM t"),
    "sql, unit": lambda x: hr.sql(DOMAIN, "SELECT COUNT(*) FROM t", unit=x),
    "Budget": hr.Budget,
    "Budget, delta": lambda x: hr.Budget(1, x),
    "Budget, rho": lambda x: hr.Budget(rho=x),
    "Table.open, domain": lambda x: hr.Table.open(ROWS, x),
    "Table.open, unit": lambda x: hr.Table.open(ROWS, DOMAIN, unit=x, max_rows=1),
    "Table.open, max_rows": lambda x: hr.Table.open(ROWS, DOMAIN, unit="k", max_rows=x),
    "Table.open, null_units": lambda x: hr.Table.open(ROWS, DOMAIN, unit="k", max_rows=1, null_units=x),
    "Table.open, engine": lambda x: hr.Table.open(ROWS, DOMAIN, engine=x),
    "Curator": lambda x: hr.Curator(x, hr.Budget(1), ":memory:"),
    "Curator, budget": lambda x: hr.Curator(TABLE, x, ":memory:"),
    "Curator, neighbours": lambda x: hr.Curator(TABLE, hr.Budget(1), ":memory:", x),
    "Synopsis.load": hr.Synopsis.load,
    "Answer.plot, title": lambda x: Answer(1.0, 1.0, 0.95, "measured").plot(x),
    "Plot": lambda x: Plot(x),
    "Plot, words": lambda x: Plot({}, x),
    "Plot.save": lambda x: Plot({"mark": "bar", "data": {"values": []}}).save(x),
}  # fmt: skip

ACTS: dict[str, Callable[[hr.Curator, Any], Any]] = {
    "measure": lambda c, x: c.measure(x, 0.1),
    "measure, one of": lambda c, x: c.measure((x,), 0.1),
    "measure, spend": lambda c, x: c.measure("sex", x),
    "measure, noise": lambda c, x: c.measure("sex", 0.1, noise=x),
    "measure, request": lambda c, x: c.measure("sex", 0.1, request=x),
    "measure, note": lambda c, x: c.measure("sex", 0.1, note=x),
    "measure_all": lambda c, x: c.measure_all(x, 0.1),
    "measure_all, shares": lambda c, x: c.measure_all(["sex", "k"], 0.1, shares=x),
    "measure_all, a share": lambda c, x: c.measure_all(["sex", "k"], 0.1, shares=[1, x]),
    "measure_all, run": lambda c, x: c.measure_all(["sex"], 0.1, run=x),
    "select": lambda c, x: c.select(x, 0.1),
    "select, method": lambda c, x: c.select(LevelCounts("sex"), 0.1, method=x),
    "LevelCounts": lambda c, x: c.select(LevelCounts(x), 0.1),
    "QueryErrors": lambda c, x: c.select(QueryErrors(x, np.zeros(5)), 0.1),
    "QueryErrors, estimates": lambda c, x: c.select(QueryErrors(W, x), 0.1),
    "TableErrors": lambda c, x: c.select(TableErrors(x, (np.zeros(2),), np.zeros(1)), 0.1),
    "TableErrors, estimates": lambda c, x: c.select(TableErrors((("sex",),), x, np.zeros(1)), 0.1),
    "TableErrors, penalties": lambda c, x: c.select(TableErrors((("sex",),), (np.zeros(2),), x), 0.1),
    "sparse_vector": lambda c, x: c.sparse_vector(x, 0.1),
    "sparse_vector, spend": lambda c, x: c.sparse_vector(1, x),
    "sparse_vector, method": lambda c, x: c.sparse_vector(1, 0.1, method=x),
    "sparse_vector, count": lambda c, x: c.sparse_vector(1, 0.1, method="sparse", count=x),
    "sparse_vector, delta": lambda c, x: c.sparse_vector(1, 0.1, method="numeric_sparse", delta=x),
    "sparse_vector, length": lambda c, x: c.sparse_vector(1, 0.1, method="gaussian", length=x),
    "sparse_vector, allocation": lambda c, x: c.sparse_vector(1, 0.1, method="sparse_once", allocation=x),
    "sparse_vector, run": lambda c, x: c.sparse_vector(1, 0.1, run=x),
    "one_sided, side": lambda c, x: c.one_sided(1, 0.1, side=x),
    "one_sided, share": lambda c, x: c.one_sided(1, 0.1, side="over", share=x),
    "allot": lambda c, x: c.allot(x, "someone"),
    "allot, name": lambda c, x: c.allot(0.1, x),
    "child": lambda c, x: c.child(x),
    "price": lambda c, x: c.price(x),
}
OFFLINE = (
    hr.LaplaceBaseline, hr.GaussianBaseline, hr.HistogramRelease, hr.RandomizedResponse, hr.OfflineMW,
    hr.BoostQueries, hr.Factorization, hr.Projection, hr.SmallDB,
)  # fmt: skip
for made in OFFLINE:
    ACTS[f"{made.__name__}, workload"] = lambda c, x, m=made: m(epsilon=0.1).release(c, x)
    ACTS[f"{made.__name__}, curator"] = lambda c, x, m=made: m(epsilon=0.1).release(x, W)
    for field in dataclasses.fields(made):
        ACTS[f"{made.__name__}.{field.name}"] = lambda c, x, m=made, f=field: m(**{f.name: x}).release(c, W)
ACTS["OnlineMW, curator"] = lambda c, x: hr.OnlineMW(updates=2).open(x)
ACTS["Session, curator"] = lambda c, x: hr.Session().open(x)
for field in dataclasses.fields(hr.OnlineMW):
    ACTS[f"OnlineMW.{field.name}"] = lambda c, x, f=field: hr.OnlineMW(**{"updates": 2, f.name: x}).open(c)

ABOUT_NAMES: dict[str, Callable[[hr.Curator, Any], Any]] = {
    "measure": lambda c, x: c.measure(x, 0.1),
    "measure, one of": lambda c, x: c.measure((x,), 0.1),
}
for field in dataclasses.fields(hr.SparseMW):
    ABOUT_NAMES[f"SparseMW.{field.name}"] = lambda c, x, f=field: hr.SparseMW(
        **{"updates": 2, f.name: x}
    ).open(c)
for field in dataclasses.fields(hr.SparseProject):
    ABOUT_NAMES[f"SparseProject.{field.name}"] = lambda c, x, f=field: hr.SparseProject(
        **{"size": 64, f.name: x}
    ).release(c)


def held(x: Any) -> None:
    """Methods of what a caller holds, each with the same wrong value."""
    ledger = hr.Ledger.open(":memory:", budget=hr.Budget(1, 1e-6))
    plan = hr.plan(DOMAIN, rows=1000, workload=W, budget=hr.Budget(1, 1e-6), simulate=False)
    calls: tuple[Callable[[Any], Any], ...] = (
        DOMAIN.__getitem__, DOMAIN.order, DOMAIN.shape_of, DOMAIN.cells, DOMAIN.encode, DOMAIN.save,
        W.__getitem__, W.check, hr.Budget(1).part, hr.Ledger.open, plan.__getitem__,
        ledger.spent, ledger.remaining, ledger.settle, ledger.verify,
        lambda x: hr.Ledger.open(":memory:", budget=x),
        lambda x: ledger.allot("z", x),
        lambda x: ledger.raise_budget(x, "why"),
        lambda x: ledger.raise_budget(hr.Budget(9, 1e-5), x),
        lambda x: plan.curve(x, simulate=False),
    )  # fmt: skip
    for call in calls:
        refused(lambda call=call: call(x))


def asked(x: Any) -> None:
    """An open session, asked and told wrong things."""
    with hr.Session(epsilon=1).open(curator()) as session:
        for call in (
            *(session.ask, session.explain, session.quantile, session.median, session.table, session.share),
            *(session.plot, lambda x: session.plot("sex", x), lambda x: session.plot("sex", confidence=x)),
            lambda x: session.ask("sex", x),
            lambda x: session.ask("sex", within_count=x),
            lambda x: session.ask("sex", confidence=x),
            lambda x: session.explain("sex", within=x),
            lambda x: session.quantile("k", x),
            lambda x: session.quantile("k", where=x),
        ):
            refused(lambda call=call: call(x))


def refused(act: Callable[[], Any]) -> bool:
    """Whether an act refuses; any error that is not ours goes on."""
    said = None
    try:
        act()
    except hr.HedgerowError as error:
        said = str(error)
    assert said is None or (said and "\n" not in said)
    return said is not None


@pytest.mark.parametrize("name", PUBLIC)
def test_public_inputs_work_or_are_refused_in_our_own_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = [refused(lambda x=x: PUBLIC[name](x)) for _, x in wrong(name, 1)]
    assert any(said)


@pytest.mark.parametrize("name", [*ACTS, *(f"names: {n}" for n in ABOUT_NAMES)])
def test_private_acts_refuse_before_anything_is_charged(name: str, size: Any) -> None:
    names = name.startswith("names: ")
    act = ABOUT_NAMES[name[7:]] if names else ACTS[name]
    sides = "add_remove" if name.startswith("one_sided") else "replace"
    for what, x in wrong(name, size(5, 1)):
        guard = curator(NAMES if names else TABLE, sides)
        before = guard.spent
        if refused(lambda x=x, guard=guard: act(guard, x)):
            assert guard.spent == before, what


SYNOPSES = {
    "tables": lambda: hr.LaplaceBaseline().release(curator(), W),
    "dense": lambda: hr.OfflineMW(rounds=1).release(curator(), W),
    "answers": lambda: hr.GaussianBaseline().release(curator(), [Q]),
    "boosted": lambda: hr.BoostQueries().release(curator(), W),
    "sketch": lambda: hr.SparseProject(size=64).release(curator(NAMES)),
    "distribution": lambda: hr.Projection().release(curator(), W),
    "local": lambda: hr.RandomizedResponse().release(curator(), W),
}


@pytest.mark.parametrize("kind", SYNOPSES)
def test_synopses_answer_or_refuse_in_our_own_words(kind: str) -> None:
    synopsis = SYNOPSES[kind]()
    asked = hr.SparseQuery.of({"oak": 1}) if kind == "sketch" else W[0] if kind == "boosted" else Q
    for _, x in wrong(kind, 1):
        refused(lambda x=x: synopsis.answer(x))
        refused(lambda x=x: synopsis.answer(asked, confidence=x))
        refused(lambda x=x: synopsis.table(x))
        refused(lambda x=x: synopsis.to_pandas(x))
        refused(lambda x=x: synopsis.to_pandas("sex", confidence=x))
        refused(lambda x=x: synopsis.plot(x))
        refused(lambda x=x: synopsis.plot("sex", confidence=x))
        refused(lambda x=x: synopsis.sample(x))
        refused(lambda x=x: synopsis.sample(3, seed=x))
        refused(lambda x=x: synopsis.limits(x) if hasattr(synopsis, "limits") else None)


def test_methods_of_what_a_caller_holds_refuse_in_our_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for _, x in wrong("held", size(3, 1)):
        held(x)


def test_an_open_session_refuses_in_our_own_words(size: Any) -> None:
    for _, x in wrong("asked", size(5, 1)):
        asked(x)


# -- single findings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["x", ("x",), [], ["x", "y"]])
def test_a_table_of_an_open_domain_is_refused(target: Any) -> None:
    with pytest.raises(hr.DomainMismatch, match="open domain"):
        curator(NAMES).measure(target, 0.1)


def test_an_empty_sparse_query_is_refused_and_a_sparse_query_of_a_declared_domain_too() -> None:
    guard = curator(NAMES)
    for empty in (hr.SparseQuery.of({}), hr.SparseQuery.of({"oak": 0}), [hr.SparseQuery.of({})]):
        with pytest.raises(hr.UnsupportedQuery, match="at least one"):
            guard.measure(empty, 0.1)
    both = guard.measure([hr.SparseQuery.of({}), hr.SparseQuery.of({"oak": 1})], 0.1)
    assert both.values.shape == (2,)
    with pytest.raises(hr.DomainMismatch, match="declared domain"):
        curator().measure(hr.SparseQuery.of({"oak": 1}), 0.1)


@pytest.mark.parametrize("shares", [[1], [1, 2, 3], [0, 1], [-1, 2], [NAN, 1], [INF, 1], ["a", "b"], "ab", 5])
def test_shares_are_one_number_above_zero_for_each_part(shares: Any) -> None:
    guard = curator()
    with pytest.raises(hr.HedgerowError):
        guard.measure_all(["sex", "k"], 1, shares=shares)
    assert guard.spent.rho == 0.0
    assert len(guard.measure_all(["sex", "k"], 1, shares=(s for s in (0.25, "3/4")))) == 2


def test_a_word_that_is_no_option_is_not_taken_for_another_one() -> None:
    guard = curator()
    for act in (
        lambda: guard.measure("sex", 0.1, noise="gausian"),
        lambda: guard.select(LevelCounts("sex"), 0.1, method="exponentail"),
        lambda: guard.sparse_vector(1, 0.1, method="sparse_once", allocation="evn"),
        lambda: hr.RandomizedResponse(by="rows").release(guard),
    ):
        with pytest.raises(hr.UnsupportedQuery, match="is one of"):
            act()
    assert guard.spent.rho == 0.0


def test_limits_of_a_statement_are_those_of_its_count() -> None:
    synopsis = hr.OfflineMW(rounds=1).release(curator(), W)
    asked = hr.Query.where(DOMAIN, {"sex": "F", "k": [1, 2]})
    text = "SELECT COUNT(*) FROM t WHERE sex = 'F' AND k >= 1"
    assert synopsis.limits(hr.sql(DOMAIN, text)) == synopsis.limits(asked)
    for other in ("SELECT AVG(k) FROM t", "SELECT SUM(k) FROM t"):
        with pytest.raises(hr.UnsupportedQuery, match="one count of rows"):
            synopsis.limits(hr.sql(DOMAIN, other))
    each = synopsis.limits("SELECT sex, COUNT(*) FROM t GROUP BY sex")
    for level, low, high in zip("FM", *each, strict=True):
        assert (low, high) == synopsis.limits(hr.Query.where(DOMAIN, {"sex": level}))
