"""OnlineMW: the theorem's parameters, refusals before charges, sources and bounds, restarts, batches."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.runs.sparse_vector_plan import numeric_sparse_alpha
from hedgerow.errors import RequestReused
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.mechanisms.online.terms import OnlineTerms, Total
from hedgerow.privacy import bounds
from hedgerow.queries.packing import pack_questions, unpack_questions
from hedgerow.queries.query import ONE

DOMAIN = hr.Domain({"x": hr.bins(0, 16, 1), "sex": ["F", "M"], "z": 3})
PURE, MIXED = hr.Budget(epsilon=1), hr.Budget(epsilon=4, delta=1e-6)


def rows(n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.integers(3, 6, n), "sex": rng.choice(["F", "M"], n, p=[0.9, 0.1]), "z": [2] * n}


TABLE = hr.Table.open(rows(3000), DOMAIN)
LARGE = hr.Table.open(rows(600_000), DOMAIN)


def curator(
    table: hr.Table = TABLE, budget: hr.Budget = PURE, ledger: Any = ":memory:", **o: Any
) -> hr.Curator:
    return hr.Curator(table, budget, ledger, o.pop("neighbours", "replace"), **o)


class TestTheoremMode:
    @pytest.mark.parametrize("alpha", [0.2, 0.3])
    def test_threshold_and_updates_are_those_of_the_card(self, alpha: float) -> None:
        session = hr.OnlineMW(alpha=alpha, beta=0.05, queries=1000, epsilon=1.0).open(curator(LARGE))
        c = ceil(4 * log(DOMAIN.size) / alpha**2)
        assert session.terms.updates == session._run.plan.count == c
        assert session.terms.threshold == 2 * alpha * 600_000
        assert session._run.plan.threshold == round(2 * alpha * 600_000 * ONE)
        scale = float(session._run.plan.query_scale) / ONE
        assert scale == pytest.approx(4 * c / (8 / 9), rel=1e-9)

    @pytest.mark.parametrize("delta", [None, 0.0, 1e-6])
    def test_the_rows_needed_are_the_accuracy_of_numeric_sparse_over_alpha(self, delta: float | None) -> None:
        c = ceil(4 * log(DOMAIN.size) / 0.2**2)
        budget = MIXED if delta is not None else PURE
        asked = numeric_sparse_alpha(2 * 1000, c, 0.05, 1.0, delta or 0.0) / 0.2
        with pytest.raises(hr.UnsupportedQuery, match="needs") as refusal:
            hr.OnlineMW(alpha=0.2, queries=1000, epsilon=1.0, delta=delta).open(curator(budget=budget))
        said = float(str(refusal.value).split("needs ")[1].split(" rows")[0].replace(",", ""))
        assert said == pytest.approx(asked, rel=1e-5)
        assert said > asked

    @pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6, 1e-3])
    @pytest.mark.parametrize("alpha", [0.05, 0.13, 0.2, 0.32])
    @pytest.mark.parametrize("queries", [1, 30, 10**6])
    def test_it_opens_at_the_rows_its_bound_promises_and_not_below(
        self, delta: float, alpha: float, queries: int
    ) -> None:
        budget = hr.Budget(epsilon=9, delta=1e-2) if delta else PURE
        for epsilon, beta in ((1.0, 0.05), (0.3, 0.2)):
            told = alpha, DOMAIN.size, queries, epsilon
            need = ceil(bounds.online_mw_rows(*told, delta, beta))
            theorem = bounds.thm_4_15_rows(*told, delta, beta) if delta else bounds.thm_4_14_rows(*told, beta)
            assert theorem <= need <= theorem * (1 + 4 / bounds.online_mw_updates(DOMAIN.size, alpha)) + 1
            terms = {"alpha": alpha, "beta": beta, "queries": queries, "epsilon": epsilon, "delta": delta}
            with pytest.raises(hr.UnsupportedQuery, match=f"needs {need:,} rows"):
                hr.OnlineMW(**terms, rows=need - 1).open(curator(budget=budget, neighbours="add_remove"))
            run = hr.OnlineMW(**terms, rows=need).open(curator(budget=budget, neighbours="add_remove"))
            assert run.terms.certified(1, 1)[0] == 3 * alpha * need

    def test_the_delta_form_has_the_paper_s_scales_and_a_charge_that_fits(self) -> None:
        guard = curator(LARGE, MIXED)
        session = hr.OnlineMW(alpha=0.2, queries=1000, epsilon=1.0, delta=1e-6).open(guard)
        c, eps1 = session.terms.updates, sqrt(512) / (sqrt(512) + 1)
        sigma = sqrt(32 * c * log(2 / 1e-6)) / eps1
        assert float(session._run.plan.threshold_scale) / ONE == pytest.approx(sigma, rel=1e-9)
        assert guard.spent.epsilon <= 1.0

    def test_a_pure_promise_on_a_rho_ledger_has_the_pure_form_s_scales(self) -> None:
        guard = curator(LARGE, MIXED)
        session = hr.OnlineMW(alpha=0.25, queries=100, epsilon=1.0, delta=0).open(guard)
        c = session.terms.updates
        scale = float(session._run.plan.query_scale) / ONE
        assert 4 * c / (8 / 9) <= scale * (1 + 1e-9) <= 4 * c / (8 / 9) * (1 + 1e-6)

    def test_people_with_several_rows_need_as_many_times_more(self) -> None:
        three = hr.Table.open(rows(3000) | {"who": np.arange(3000) // 3}, DOMAIN, unit="who", max_rows=3)
        need = []
        for table in (TABLE, three):
            with pytest.raises(hr.UnsupportedQuery, match="needs") as refusal:
                hr.OnlineMW(alpha=0.2, queries=10, epsilon=1.0, rows=3000).open(curator(table))
            need.append(float(str(refusal.value).split("needs ")[1].split(" rows")[0].replace(",", "")))
        assert need[1] == pytest.approx(3 * need[0], rel=1e-4)

    def test_a_vacuous_theorem_is_refused_before_anything_is_charged(self) -> None:
        for neighbours, declared in (("replace", None), ("add_remove", 3000)):
            guard = curator(neighbours=neighbours)
            with pytest.raises(hr.UnsupportedQuery, match="there are 3,000"):
                hr.OnlineMW(alpha=0.1, queries=10, rows=declared).open(guard)
            assert guard.spent.epsilon == 0
            assert guard.receipt.seq == 0  # not a line

    def test_without_a_public_total_the_refusal_goes_by_a_measured_one(self) -> None:
        """Only the count was charged: a twentieth of the price."""
        guard = curator(neighbours="add_remove")
        with pytest.raises(hr.UnsupportedQuery, match="needs"):
            hr.OnlineMW(alpha=0.1, queries=10).open(guard)
        assert guard.spent.epsilon == pytest.approx(0.05)

    def test_answers_past_the_theorem_s_queries_are_only_learned(self) -> None:
        session = hr.OnlineMW(alpha=0.3, queries=5, epsilon=1.0).open(curator(LARGE))
        asked = [hr.Query.where(DOMAIN, {"sex": "F"})] * 8
        answer = session.ask(asked)
        assert answer.sources.tolist()[5:] == ["learned"] * 3
        assert "learned" not in answer.sources[:5]
        assert session.ask(asked[0]).source == "learned"
        assert "No test has compared" in session.ask(asked[0]).notes[0]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "one of the two"),
            ({"alpha": 0.1, "updates": 3}, "one of the two"),
            ({"alpha": 0.1}, "needs queries"),
            ({"alpha": 0.4, "queries": 9}, "below 1/3"),
            ({"alpha": 0.1, "queries": 9, "threshold": 5.0}, "sets the threshold"),
            ({"alpha": float("nan"), "queries": 9}, "below 1/3"),
            ({"updates": 0}, "whole number"),
            ({"updates": 2.5}, "whole number"),
            ({"updates": 3, "queries": 0}, "whole number"),
            ({"updates": 3, "beta": 0.0}, "beta"),
            ({"updates": 3, "delta": 1e-6}, "comes with an epsilon"),
            ({"updates": 3, "delta": -1.0, "epsilon": 1.0}, "delta lies"),
            ({"updates": 3, "rows": -5}, "above 0"),
            ({"updates": 3, "epsilon": 1.0, "budget": PURE}, "not both"),
        ],
    )
    def test_parameters_that_do_not_fit_are_one_sentence_and_free(self, options: Any, words: str) -> None:
        guard = curator(LARGE)
        with pytest.raises(hr.UnsupportedQuery, match=words):
            hr.OnlineMW(**options).open(guard)
        assert guard.receipt.seq == 0

    def test_names_and_huge_domains_are_refused(self) -> None:
        names = hr.Curator(hr.Table.open(["oak"], hr.OpenDomain()), PURE, ":memory:")
        with pytest.raises(hr.UnsupportedQuery, match="finite domain"):
            hr.OnlineMW(updates=3).open(names)
        wide = hr.Domain({f"a{i}": 100 for i in range(6)})
        huge = hr.Curator(hr.Table.open({f"a{i}": [1] for i in range(6)}, wide), PURE, ":memory:")
        with pytest.raises(hr.UnsupportedQuery, match="1,000,000,000,000 cells"):
            hr.OnlineMW(updates=3).open(huge)

    def test_a_run_that_cannot_be_afforded_charges_nothing(self) -> None:
        guard = curator(neighbours="add_remove")
        with pytest.raises(hr.BudgetExceeded):
            hr.OnlineMW(updates=3, epsilon=1.5).open(guard)
        assert guard.spent.epsilon == 0
        assert guard.receipt.seq == 0


class TestAnswers:
    def test_every_answer_says_where_it_comes_from_and_how_far_off_it_may_be(self, quiet: None) -> None:
        session = hr.OnlineMW(updates=2, epsilon=1.0, threshold=100).open(curator())
        men, women = (hr.Query.where(DOMAIN, {"sex": s}) for s in "MF")
        first, again, other = session.ask(women), session.ask(women), session.ask(men)
        truth = sum(np.array(rows(3000)["sex"]) == "F")
        assert (first.source, float(first)) == ("measured", pytest.approx(truth, abs=1e-6))
        assert (again.source, other.source) == ("certified", "certified")
        assert float(again) == pytest.approx(truth, abs=1e-6)  # a tuned step moves the answer to the value
        assert first.error == session.terms.measured
        assert again.error == session.terms.certified(2, 1)[0]
        assert (first.confidence, first.simultaneous, first.cost) == (0.95, True, None)
        session.ask(hr.Query.where(DOMAIN, {"z": 2}))
        last = session.ask(hr.Query.where(DOMAIN, {"x": "[3, 4)"}))
        assert (last.source, session.updates) == ("learned", 2)
        assert session.cost.epsilon == pytest.approx(1.0)

    def test_the_user_s_unit_is_applied_to_value_and_error(self, quiet: None) -> None:
        plain = hr.Query.where(DOMAIN, {"sex": "F"})
        minus = hr.Query(plain.attributes, plain.shape, plain.factors, scale=-10.0, offset=7.0)
        session = hr.OnlineMW(updates=5, threshold=1e6).open(curator())
        a, b = session.ask(plain), session.ask(minus)
        assert b.value == pytest.approx(7 - 10 * a.value)
        assert b.error == pytest.approx(10 * a.error)
        both = session.ask([plain, minus])
        assert both.value.tolist() == [a.value, b.value]

    def test_fractional_weights_and_the_total_are_questions_too(self) -> None:
        session = hr.OnlineMW(updates=5, epsilon=1.0, threshold=500).open(curator())  # the total: 3e-10
        mean = hr.Query.of(DOMAIN, ["x"], np.arange(16) / 15, scale=15)
        assert session.ask(mean).source in ("certified", "measured")
        assert session.ask(hr.Query.total()).value == pytest.approx(3000)

    def test_the_paper_s_rule_is_followed_update_by_update(self, quiet: None) -> None:
        """Alg. 6 and Alg. 5 by hand, in plain NumPy, on the same stream."""
        session = hr.OnlineMW(alpha=0.2, queries=500, epsilon=1.0).open(curator(LARGE))
        p = np.full(DOMAIN.shape, 1 / DOMAIN.size)
        exact = curator(LARGE)._rows.tables([DOMAIN.names])[DOMAIN.names] / 600_000
        rng, updates = np.random.default_rng(4), 0
        for _ in range(200):
            f = rng.integers(0, 2, DOMAIN.shape).astype(float)
            answer = session.ask(hr.Query.of(DOMAIN, DOMAIN.names, f))
            guess, truth = float((p * f).sum()), float((exact * f).sum())
            if abs(truth - guess) >= 2 * 0.2:
                p *= np.exp(-0.1 * (f if truth < guess else 1 - f))
                p /= p.sum()
                updates += 1
                assert answer.source == "measured"
                assert answer.value == pytest.approx(truth * 600_000, abs=1e-3)
            else:
                assert answer.value == pytest.approx(guess * 600_000, rel=1e-9)
        assert session.updates == updates > 3
        np.testing.assert_allclose(np.exp(session.hypothesis.log_cells()), p, rtol=1e-9)

    def test_bad_questions_are_refused_and_leave_no_line(self) -> None:
        guard = curator()
        session = hr.OnlineMW(updates=3).open(guard)
        before = guard.receipt.seq
        other = hr.Domain({"x": 4, "w": 2})
        for bad in (
            hr.Query.where(other, {"x": 1}),
            hr.Query.where(other, {"w": 1}),
            [hr.Query.total(), hr.Query.where(other, {"x": 1})],
            [],
            "nix",
            5,
            hr.SparseQuery.of({"F": 1}),
        ):
            with pytest.raises(hr.HedgerowError):
                session.ask(bad)
        assert guard.receipt.seq == before

    def test_tuned_bounds_are_the_tails_of_the_noise_in_use(self) -> None:
        """By simulation: comparisons and values pass their bound no more often than their share of beta."""
        plan = hr.OnlineMW(updates=5, epsilon=1.0).open(curator())._run.plan
        terms, rng = OnlineTerms.tuned(0.3, 50, Total(3000.0), plan), np.random.default_rng(1)
        b1, b2, b3 = (float(b) / ONE for b in (plan.threshold_scale, plan.query_scale, plan.value_scale))
        size = 20_000
        noise = rng.laplace(0, b1, (size, 5)).max(axis=1) - rng.laplace(0, b2, (size, 50)).min(axis=1)
        past = (terms.threshold + noise > terms.certified(50, 1)[0]).mean()
        values = (np.abs(rng.laplace(0, b3, (size, 5))).max(axis=1) > terms.measured).mean()
        assert past < 0.2 + 0.02  # z > 5
        assert 0.08 < values < 0.1 + 0.012
        assert (np.diff(terms.certified(1, 200)) >= 0).all()
        later = 50 / (np.arange(51, 10**6) * np.arange(50.0, 10**6 - 1))
        assert later.sum() <= 1


class TestBatches:
    def test_a_batch_is_the_same_stream_as_single_questions(self, quiet: None) -> None:
        workload = hr.prefixes(DOMAIN, [("x",)])
        stream = [*workload, *hr.marginals(DOMAIN, 2)]
        one, many, family = (hr.OnlineMW(updates=12, threshold=200).open(curator()) for _ in range(3))
        single = [one.ask(q) for q in stream]
        together = many.ask(stream)
        assert [a.source for a in single] == together.sources.tolist()
        np.testing.assert_allclose([a.value for a in single], together.value, rtol=1e-12)
        np.testing.assert_array_equal([a.error for a in single], together.error)
        first = family.ask(workload)
        np.testing.assert_allclose(first.value, together.value[:16], rtol=1e-12)
        assert 2 < many.updates <= 12
        assert together.source == "learned" if many.updates == 12 else "certified"
        assert one.asked == many.asked

    def test_the_second_comparison_is_not_made_when_the_first_is_above(self, quiet: None) -> None:
        session = hr.OnlineMW(updates=3, threshold=-1e6).open(curator())  # everything is above
        session.ask([hr.Query.total()] * 3)
        assert session.updates == 3
        assert session._run.asked == 3

    def test_a_long_batch_writes_one_line_per_update(self) -> None:
        guard = curator()
        session = hr.OnlineMW(updates=4).open(guard)
        before = guard.receipt.seq
        answer = session.ask(hr.marginals(DOMAIN, 3))
        assert len(answer.value) == 96
        assert guard.receipt.seq - before <= 1 + session.updates


class TestRestart:
    def stream(self) -> list[hr.Query]:
        return [*hr.prefixes(DOMAIN, [("x",)]), *hr.marginals(DOMAIN, 2)]

    @pytest.mark.parametrize("options", [{"updates": 9, "threshold": 150.0}, {"alpha": 0.25, "queries": 300}])
    def test_the_transcript_is_the_same_with_restarts_in_between(
        self, options: Any, quiet: None, tmp_path: Path
    ) -> None:
        table = LARGE if "alpha" in options else TABLE
        whole = hr.OnlineMW(**options).open(curator(table))
        expected = [whole.ask(q) for q in self.stream()]
        said = []
        for part in range(0, len(expected), 7):
            guard = curator(table, PURE, tmp_path / "ledger.db")
            session = hr.OnlineMW(**options, run="mine").open(guard)
            assert 0.999 < guard.spent.epsilon <= 1.0
            queries = self.stream()[part : part + 7]
            answer = session.ask(queries)
            said += list(
                zip(answer.value.tolist(), answer.error.tolist(), answer.sources.tolist(), strict=True)
            )
            guard.ledger.close()
        assert [(a.value, a.error, a.source) for a in expected] == said

    def test_the_hypothesis_is_rebuilt_bit_for_bit_with_noise(self, tmp_path: Path) -> None:
        mechanism = hr.OnlineMW(updates=9, threshold=50.0, epsilon=0.7, run="mine")
        guard = curator(ledger=tmp_path / "ledger.db")
        session = mechanism.open(guard)
        for query in self.stream():
            session.ask([query, hr.Query.total()])
        cells, past = session.hypothesis.log_cells(), [a.value.tolist() for a in session.transcript()]
        assert session.updates > 0
        guard.ledger.close()
        again = mechanism.open(curator(ledger=tmp_path / "ledger.db"))
        np.testing.assert_array_equal(again.hypothesis.log_cells(), cells)
        assert [a.value.tolist() for a in again.transcript()] == past
        assert (again.updates, again.asked) == (session.updates, session.asked)

    def test_the_transcript_from_the_log_is_what_was_said(self) -> None:
        session = hr.OnlineMW(updates=50, threshold=50.0).open(curator())
        said = [session.ask(q) for q in self.stream()]
        compared = [a for a in said if a.source != "learned"]
        again = list(session.transcript())
        np.testing.assert_allclose([a.value for a in compared], [a.value[0] for a in again], rtol=1e-12)
        assert [a.source for a in compared] == [a.source for a in again]
        assert [a.error for a in compared] == [a.error[0] for a in again]

    def test_a_run_that_spent_everything_is_reopened_by_its_label_for_free(self, tmp_path: Path) -> None:
        for neighbours in ("replace", "add_remove"):
            ledger = tmp_path / f"{neighbours}.db"
            first = hr.OnlineMW(updates=3).open(curator(ledger=ledger, neighbours=neighbours))
            guard = curator(ledger=ledger, neighbours=neighbours)
            again = hr.OnlineMW(updates=3, run=first.label).open(guard)
            assert again.terms == first.terms
            assert 0.999 < guard.spent.epsilon <= 1.0

    def test_a_label_is_bound_to_its_parameters(self, tmp_path: Path) -> None:
        hr.OnlineMW(updates=3, run="mine", epsilon=0.1).open(curator(ledger=tmp_path / "l.db"))
        with pytest.raises(RequestReused):
            hr.OnlineMW(updates=4, run="mine", epsilon=0.1).open(curator(ledger=tmp_path / "l.db"))

    def test_two_processes_may_hold_one_run(self, quiet: None, tmp_path: Path) -> None:
        """Each learns what the other learned before it answers."""
        mechanism = hr.OnlineMW(updates=9, threshold=150.0, run="mine")
        alone = hr.OnlineMW(updates=9, threshold=150.0).open(curator())
        pair = [mechanism.open(curator(ledger=tmp_path / "l.db")) for _ in range(2)]
        for i, query in enumerate(self.stream()):
            a, b = alone.ask([query, query]), pair[i % 2].ask([query, query])
            assert a.sources.tolist() == b.sources.tolist()
            np.testing.assert_array_equal(a.value, b.value)
        assert alone.updates == max(p.updates for p in pair) == 9

    @pytest.mark.parametrize("late", [False, True], ids=["before the update", "after the update"])
    def test_an_interrupt_while_learning_leaves_no_stale_hypothesis(
        self, late: bool, quiet: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The "above" is in the ledger: what is asked next must build on it, once."""
        session, alone = (hr.OnlineMW(updates=9, threshold=150.0).open(curator()) for _ in range(2))
        learn, waiting = type(session)._learn, [True]

        def interrupted(self: Any, query: Any, error: float) -> None:
            if self is session and waiting:
                waiting.pop()
                if late:
                    learn(self, query, error)
                raise KeyboardInterrupt
            learn(self, query, error)

        monkeypatch.setattr(type(session), "_learn", interrupted)
        women = hr.Query.where(DOMAIN, {"sex": "F"})
        with pytest.raises(KeyboardInterrupt):
            session.ask(women)
        alone.ask(women)
        assert session.updates == alone.updates == 1
        for query in (women, *self.stream()):
            a, b = alone.ask(query), session.ask(query)
            assert (a.value, a.error, a.source) == (b.value, b.error, b.source)
        assert session.asked == alone.asked
        told = [(a.value.tolist(), a.sources.tolist()) for a in session.transcript()]
        assert told == [(a.value.tolist(), a.sources.tolist()) for a in alone.transcript()]
        np.testing.assert_array_equal(session.hypothesis.log_cells(), alone.hypothesis.log_cells())

    def test_an_interrupt_while_rebuilding_is_made_good(
        self, quiet: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = hr.OnlineMW(updates=9, threshold=150.0).open(curator())
        session.ask(self.stream())
        cells, asked = session.hypothesis.log_cells(), session.asked
        learn, left = type(session)._learn, [2]

        def interrupted(self: Any, query: Any, error: float) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            learn(self, query, error)

        monkeypatch.setattr(type(session), "_learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session._rebuild()
        session.ask(hr.Query.total())
        np.testing.assert_array_equal(session.hypothesis.log_cells(), cells)
        assert session.asked == asked + (session.updates < 9)

    def test_of_two_that_open_one_run_at_once_the_first_one_s_prices_hold(self, tmp_path: Path) -> None:
        """The other opens it, after a spend of its own, between this one's look and this one's line."""
        mechanism = hr.OnlineMW(updates=3, run="mine")
        first, second = (curator(ledger=tmp_path / "l.db") for _ in range(2))
        record, opened = second.ledger.record, []

        def late(*given: Any, **named: Any) -> Any:
            if not opened:
                first.measure(("sex",), 0.3)
                opened.append(mechanism.open(first))
            return record(*given, **named)

        second.ledger.record = late  # type: ignore[method-assign]
        session = mechanism.open(second)
        assert session.terms == opened[0].terms
        assert session.cost == opened[0].cost
        assert session._run.plan == opened[0]._run.plan
        assert 0.999 < second.spent.epsilon <= 1.0


def test_questions_survive_packing() -> None:
    mean = hr.Query.of(DOMAIN, ["z", "x"], np.arange(48).reshape(3, 16) / 47, scale=2.5, name="mean")
    for asked in (hr.Workload.of([mean, hr.Query.total(), *hr.marginals(DOMAIN, 2)]), hr.ranges(DOMAIN, 1)):
        again = unpack_questions(pack_questions(asked))
        assert isinstance(again, hr.Workload)
        assert again.digest == asked.digest
    sparse = [hr.SparseQuery.of({"oak": 1, 5: 0.25}, scale=3.0, name="t"), hr.SparseQuery.of({"ü": 1})]
    assert [q.digest for q in unpack_questions(pack_questions(sparse))] == [q.digest for q in sparse]


def test_a_dense_hypothesis_behind_the_driver_is_the_library_s_own() -> None:
    session = hr.OnlineMW(updates=1, rows=Fraction(3000)).open(curator(neighbours="add_remove"))
    assert isinstance(session.hypothesis, DenseHypothesis)
    assert session.hypothesis.total == session.terms.total == 3000
    with pytest.raises(TypeError):
        session.__reduce__()


def odd_rows(kind: str, rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Rows that a hypothesis of few updates cannot know, and some that it can."""
    if kind == "one cell":
        return {"x": np.full(n, 7), "sex": np.full(n, "M"), "z": np.full(n, 0)}
    if kind == "two corners":
        side = rng.integers(0, 2, n)
        return {"x": 15 * side, "sex": np.array(["F", "M"])[side], "z": 2 * side}
    many = {"uniform": 0.5, "skewed": 0.99}[kind]
    x = rng.integers(0, 16, n) if kind == "uniform" else rng.binomial(15, 0.1, n)
    return {"x": x, "sex": rng.choice(["F", "M"], n, p=[many, 1 - many]), "z": rng.integers(0, 3, n)}


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", ["one cell", "two corners", "uniform", "skewed"])
def test_every_stated_error_holds_after_the_updates_are_used_up(
    kind: str, neighbours: Any, size: Any
) -> None:
    """Public totals never fail; counted ones, like all bounds at once, with probability beta = 1e-8."""
    for seed in range(size(1, 40)):
        rng = np.random.default_rng(seed)
        guard = curator(hr.Table.open(odd_rows(kind, rng, 20_000), DOMAIN), neighbours=neighbours)
        session = hr.OnlineMW(updates=3, epsilon=1.0, queries=50, beta=1e-8).open(guard)
        fractional = [hr.Query.of(DOMAIN, ["x"], rng.random(16), scale=-2.0) for _ in range(5)]
        asked = [*hr.marginals(DOMAIN, 2), *fractional, *hr.prefixes(DOMAIN, 1), *hr.conjunctions(DOMAIN, 3)]
        asked = [asked[i] for i in rng.choice(len(asked), 100, replace=False)]
        exact = [q.apply(guard._rows.tables([q.attributes])[q.attributes]) / q.denominator for q in asked]
        truth = np.array([q.to_unit(x) for q, x in zip(asked, exact, strict=True)])
        found = session.ask(asked)
        assert (np.abs(found.value - truth) <= found.error).all()
        whole = session.ask(hr.marginals(DOMAIN, 1))
        assert session.updates < 3 or (whole.error >= session.terms.total / 2).all()


def test_answers_past_the_theorem_say_what_holds_and_nothing_more() -> None:
    session = hr.OnlineMW(alpha=0.3, beta=1e-8, queries=1, epsilon=4.0).open(
        curator(LARGE, hr.Budget(epsilon=4))
    )
    session.ask(hr.Query.total())
    answer = session.ask(hr.Query.where(DOMAIN, {"x": lambda x: 3 <= x < 6, "z": 2}))
    assert answer.source == "learned"
    assert abs(float(answer) - 600_000) <= answer.error
    assert "the most that a count could be off by" in answer.notes[0]


def test_a_counted_total_takes_its_part_of_beta_from_the_other_bounds() -> None:
    counted = hr.OnlineMW(updates=3, beta=0.1).open(curator(neighbours="add_remove")).terms
    assert counted.counted[1] == pytest.approx(0.1 / 20)
    assert 3 * counted._third + counted.counted[1] == pytest.approx(0.1)
    public = hr.OnlineMW(updates=3, beta=0.1).open(curator()).terms
    assert (public.counted, 3 * public._third) == ((0.0, 0.0), pytest.approx(0.1))
