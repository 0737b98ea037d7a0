"""One-sided sparse vectors: one charge, one trip, state that outlives the process, what is certified."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import primitives
from hedgerow.audit import one_sided as exact
from hedgerow.audit.ledger_replay import price, replay
from hedgerow.curator.runs.comparison import State, begin
from hedgerow.curator.runs.exact_answers import exact_steps, questions_of
from hedgerow.curator.runs.one_sided import OneSidedPlan, OneSidedRun, ask_both, best_share, plan, planned
from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.curator.statistics.statistics import Answers, LevelCounts, TableOf
from hedgerow.errors import HedgerowError, LedgerError, RunClosed, UnsupportedQuery
from hedgerow.privacy.accountant import (
    BasicAccountant,
    RenyiAccountant,
    TightAccountant,
    ZCDPAccountant,
    cost,
)
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.event import BoundedRange, Pure
from hedgerow.privacy.events import from_json
from hedgerow.privacy.sparse_vector_event import OneSidedSparseVector
from hedgerow.queries.block import Axis, ProductBlock
from hedgerow.queries.query import ONE

DOMAIN = hr.Domain({"a": 3, "b": 2})
ROWS = {"a": [0] * 50 + [1] * 20 + [2] * 5, "b": [0, 1, 1] * 25}
FIFTY, TWENTY, FIVE = (hr.Query.where(DOMAIN, {"a": level}) for level in range(3))
HALF = hr.Query.where(DOMAIN, {"a": 0}, weights={"b": [0.5, 1.0]})  # 17 halves and 33 wholes: 41.5
FAR = 10**6
MUCH = hr.Budget(epsilon=10**6)


def curator(budget=None, ledger=":memory:", **options) -> hr.Curator:
    return hr.Curator(hr.Table.open(ROWS, DOMAIN), budget or hr.Budget(epsilon=10), ledger, **options)


def opened(guard: hr.Curator, threshold=FAR, spend=1, side="over", **options):
    return guard.one_sided(threshold, spend, side=side, **options)


# ---- the price --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("share", [None, "1/7", 0.4])
def test_a_price_is_used_whole_and_never_passed(currency, share):
    paid = Cost(currency, Fraction(1, 50))
    for sensitivity in (1, 3 * ONE):
        event = plan(paid, Fraction(sensitivity), 5, ONE, share=share).event
        assert Fraction(999, 1000) * paid.amount < cost(event, currency).amount <= paid.amount


def test_the_event_costs_its_theorem_in_both_currencies_and_the_audits_arithmetic_agrees():
    event = OneSidedSparseVector(3, 10, 15)
    epsilon, width = Fraction(3, 10) + Fraction(3, 15), Fraction(3, 10) + Fraction(6, 15)
    assert (event.epsilon, event.range) == (epsilon, width)
    assert cost(event, "epsilon").amount == epsilon
    assert cost(event, "rho").amount == pytest.approx(float(width**2 / 8), rel=1e-12)
    assert cost(event, "rho") <= cost(BoundedRange(width), "rho")
    for currency in ("epsilon", "rho"):
        assert float(price(event.to_json(), currency)[0]) == pytest.approx(
            float(cost(event, currency).amount), rel=1e-12
        )
    assert from_json(json.loads(json.dumps(event.to_json()))) == event
    assert "one-sided" in event.describe()


def test_accountants_count_the_interval_and_never_more_than_the_pure_loss():
    event = OneSidedSparseVector(1, 10, 15)
    for kind in (BasicAccountant, ZCDPAccountant, RenyiAccountant, TightAccountant):
        one, other = kind(), kind()
        one.compose(event, 5)
        other.compose(BoundedRange(event.range), 5)
        assert 0 < one.epsilon(1e-6) <= other.epsilon(1e-6) * (1 + 1e-9)
    basic, renyi = BasicAccountant(), RenyiAccountant()
    for one in (basic, renyi):
        one.compose(event, 2)
    assert basic.epsilon(0) == pytest.approx(float(2 * event.epsilon))
    assert renyi.epsilon(0) == pytest.approx(float(2 * event.epsilon))
    pure = RenyiAccountant()
    pure.compose(Pure(event.epsilon), 50)
    renyi = RenyiAccountant()
    renyi.compose(event, 50)
    assert renyi.epsilon(1e-6) < pure.epsilon(1e-6)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_scales_follow_the_units_rows(rows):
    table = hr.Table.open(ROWS | {"who": list(range(75))}, DOMAIN, unit="who", max_rows=rows)
    guard = hr.Curator(table, hr.Budget(epsilon=1), ":memory:")
    run = primitives.one_sided(guard, 5, 1)
    assert run.plan.event.sensitivity == rows * ONE
    assert run.scales == (2 * rows, 2 * rows)
    assert run.threshold == 5
    assert run.cost == Cost("epsilon", 1)


def test_it_is_refused_under_replace_before_anything_is_charged_or_written():
    guard = curator(neighbours="replace")
    before = guard.receipt
    for refuse in (lambda: opened(guard), lambda: planned(guard, 5, 1, side="under")):
        with pytest.raises(UnsupportedQuery, match="add_remove"):
            refuse()
    assert guard.receipt == before
    assert guard.spent.epsilon == 0


@pytest.mark.parametrize(
    "options",
    [
        {"side": "both"},
        {"denominator": 3},
        {"denominator": 0},
        {"denominator": 2 * ONE},
        {"denominator": 1.0},
        {"share": 0},
        {"share": 1},
        {"threshold": 1e300},
        {"threshold": float("nan")},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_charged(options):
    guard = curator()
    with pytest.raises((HedgerowError, ValueError)):
        opened(guard, **options)
    assert guard.spent.epsilon == 0


def test_a_plan_for_other_people_is_refused_before_anything_is_charged():
    guard = curator()
    made = planned(guard, 5, 1, side="over")
    e = made.event
    table = hr.Table.open(ROWS | {"who": list(range(75))}, DOMAIN, unit="who", max_rows=3)
    three = hr.Curator(table, hr.Budget(epsilon=10), ":memory:")
    swap = curator(neighbours="replace")

    class Quiet(OneSidedPlan):
        family = "none"

    forged = [
        (
            guard,
            replace(made, event=OneSidedSparseVector(e.sensitivity / 2, e.threshold_scale, e.query_scale)),
        ),
        (guard, replace(made, denominator=1)),
        (guard, replace(made, denominator=3)),
        (guard, replace(made, side="both")),
        (guard, Quiet("one_sided", e, 5, ONE, "over")),
        (guard, replace(made, event=primitives.above_threshold(curator(), 5, 1).plan.event)),
        (three, made),
        (swap, made),
    ]
    for who, wrong in forged:
        with pytest.raises(UnsupportedQuery):
            OneSidedRun(who, wrong)
        assert who.spent.epsilon == 0
    assert OneSidedRun(guard, made).cost == Cost("epsilon", 1)


def test_too_dear_a_run_is_refused_and_leaves_no_line():
    guard = curator(hr.Budget(epsilon=1))
    head = guard.receipt
    with pytest.raises(hr.BudgetExceeded):
        opened(guard, spend=2)
    assert guard.receipt == head


# ---- what it says -----------------------------------------------------------------------------------------


def test_a_run_is_charged_when_opened_and_below_costs_nothing():
    guard = curator()
    run = opened(guard)
    assert guard.spent == hr.Budget(epsilon=1)
    for _ in range(20):
        assert run.ask(FIFTY, 0.0) == (1, False)
    assert run.ask(hr.marginals(DOMAIN, 2), np.zeros(6)) == (6, False)
    assert run.ask([FIFTY, TWENTY], [50, 20]) == (2, False)
    assert (run.asked, run.closed) == (28, False)
    assert guard.spent == hr.Budget(epsilon=1)


def test_sides_test_the_difference_or_its_negative_and_stop_at_the_first_trip():
    for side, asked in (("over", 2), ("under", 3)):
        run = opened(curator(MUCH), 20, 10**6, side)
        said = run.ask([FIFTY, TWENTY, FIVE, FIVE], [40, -10, 35, 35])
        assert said == (asked, True)
        assert run.closed
        with pytest.raises(RunClosed, match="closed"):
            run.ask(FIFTY, 50)


def test_fractional_weights_and_estimates_meet_on_the_lattice():
    guard = curator(MUCH)
    assert not opened(guard, "25.25", 1000).ask(HALF, 16.375).tripped  # 41.5 - 16.375 = 25.125
    assert opened(guard, "25.25", 1000).ask(HALF, 16.125).tripped  # 25.375
    whole = opened(guard, 30, 1000, denominator=1)
    assert not whole.ask(FIFTY, 20.6).tripped  # the estimate is 21 on a lattice of whole rows
    assert whole.ask(FIFTY, 20.4).tripped


def test_what_is_refused_depends_on_public_things():
    guard = curator()
    run, whole = opened(guard), opened(guard, denominator=1)
    lines = guard.receipt
    with pytest.raises(UnsupportedQuery, match="whole rows"):
        whole.ask(HALF, 0.0)
    for queries in (("a",), "a", TableOf(("a",)), LevelCounts("a"), [], None, [FIFTY, "a"], [[FIFTY]]):
        with pytest.raises(UnsupportedQuery):
            run.ask(queries, 0.0)
    assert not hasattr(PeopleCounts, "weights")
    for estimates in ([1, 2], [], [np.nan], [np.inf], [-1e300], [1e10]):
        with pytest.raises(UnsupportedQuery, match="estimate"):
            run.ask(FIFTY, estimates)
    elsewhere = hr.Query.where(hr.Domain({"a": 4}), {"a": 0})
    with pytest.raises(HedgerowError):
        run.ask(elsewhere, 0.0)
    with pytest.raises(HedgerowError):
        run.ask(hr.SparseQuery.of({"oak": 1}), 0.0)
    with pytest.raises(TypeError):
        pickle.dumps(run)
    assert guard.receipt == lines
    assert not run.closed


def test_queries_of_strangers_and_negative_weights_cannot_be_asked():
    class Thief(hr.Query):
        pass

    class Steep(Axis):
        def apply(self, table, axis):
            return -1000 * table

    run = opened(curator())
    with pytest.raises(UnsupportedQuery):
        run.ask(hr.Workload([ProductBlock(("a",), (Steep("cells", 3),))]), np.zeros(3))
    thief = Thief(("a",), (3,), dense=np.array([ONE, 0, 0]))
    for queries in (thief, [thief]):
        with pytest.raises(UnsupportedQuery):
            run.ask(queries, 0.0)
    with pytest.raises(UnsupportedQuery):
        hr.Query(("a",), (3,), dense=np.array([-1, 0, 0]))


def test_names_of_an_open_domain_can_be_asked():
    table = hr.Table.open(["oak"] * 9 + ["ash"] * 4, hr.OpenDomain())
    guard = hr.Curator(table, MUCH, ":memory:")
    run = opened(guard, 5, 1000)
    trees = hr.SparseQuery.of({"oak": 1, "ash": 0.5})  # 11
    assert run.ask([trees, trees], [7, 5]) == (2, True)


def test_cheap_exact_answers_are_the_exact_answers():
    rng = np.random.default_rng(5)
    domain = hr.Domain({"a": 4, "b": 3, "c": 5})
    table = hr.Table.open({k: rng.integers(0, n, 200) for k, n in (("a", 4), ("b", 3), ("c", 5))}, domain)
    guard = hr.Curator(table, hr.Budget(epsilon=1), ":memory:")
    queries = [hr.Query.total(), *hr.marginals(domain, 2)]
    for _ in range(60):
        names = rng.choice(["a", "b", "c"], rng.integers(1, 4), replace=False)
        masks = {str(k): rng.random(domain[k].size) < rng.random() for k in names}
        weights = {str(names[0]): rng.random(domain[names[0]].size)} if rng.random() < 0.5 else None
        queries.append(hr.Query.where(domain, masks, weights=weights))
        order = tuple(map(str, names))
        queries.append(hr.Query.of(domain, order, rng.random(domain.shape_of(order))))
    truth = Answers(hr.Workload.of(queries))
    cheap = exact_steps(questions_of(queries, domain, ONE), guard._rows, ONE)
    assert (cheap == truth.exact(guard._rows) * (ONE // truth.denominator)).all()
    for query, value in zip(queries, cheap, strict=True):
        assert exact_steps(questions_of(query, domain, ONE), guard._rows, ONE)[0] == value
    counts = [q for q in queries if q.counts]
    whole = exact_steps(questions_of(counts, domain, 1), guard._rows, 1)
    assert (whole == Answers(hr.Workload.of(counts)).exact(guard._rows)).all()


# ---- both sides at once -----------------------------------------------------------------------------------


def pair(guard, threshold=FAR, spend=1, **options):
    return tuple(opened(guard, threshold, spend, side, **options) for side in ("over", "under"))


def test_both_sides_are_asked_in_one_transaction_until_either_trips():
    guard = curator(MUCH)
    over, under = pair(guard, 20, 1000)
    seq = guard.receipt.seq
    assert ask_both(over, under, [FIFTY, TWENTY], [45, 25]) == (2, False, False)
    assert guard.receipt.seq == seq + 2
    assert ask_both(over, under, [FIFTY, TWENTY, FIFTY], [45, 60, 10]) == (2, False, True)
    assert (over.closed, under.closed) == (False, True)
    assert (over.asked, under.asked) == (4, 4)
    with pytest.raises(RunClosed):
        ask_both(over, under, FIFTY, 50)
    under = opened(guard, 20, 1000, "under")
    assert ask_both(over, under, [FIFTY, FIFTY], [50, 10]) == (2, True, False)
    assert guard.ledger.verify().ok
    assert not replay(guard.ledger).problems


def test_both_sides_may_trip_on_one_question():
    guard = curator(MUCH)
    over, under = pair(guard, -20, 1000)
    assert ask_both(over, under, [FIFTY, FIFTY], [50, 50]) == (1, True, True)
    assert over.closed
    assert under.closed


def test_runs_that_do_not_belong_together_are_refused():
    guard = curator()
    over, under = pair(guard)
    for one, two in ((under, over), (over, over), (over, pair(curator())[1])):
        with pytest.raises(UnsupportedQuery, match="together"):
            ask_both(one, two, FIFTY, 0)
    with pytest.raises(UnsupportedQuery, match="together"):
        ask_both(over, opened(guard, side="under", denominator=1), FIFTY, 0)
    assert not over.closed


def test_runs_of_two_accounts_can_be_asked_together():
    guard = curator()
    friend = guard.allot(2, "friend")
    over, under = opened(guard), opened(friend, side="under")
    assert ask_both(over, under, FIFTY, 50) == (1, False, False)
    friend.settle()
    with pytest.raises(LedgerError):
        ask_both(over, under, FIFTY, 50)


# ---- the ledger -------------------------------------------------------------------------------------------


def test_every_call_writes_a_line_of_the_same_length_whatever_it_says():
    sizes = set()
    for threshold in (FAR, -FAR):
        guard = curator()
        over, under = pair(guard, threshold, run=None)
        ask_both(over, under, [FIFTY] * 1000, np.full(1000, 50.0))
        for run in (over, under):
            line = list(guard.ledger.replay(run._run._name))[-1]
            sizes.add((len(line.answer), len(line.state)))
    assert len(sizes) == 1


def test_a_run_reopened_by_its_label_goes_on_free_with_its_own_threshold(tmp_path):
    file = tmp_path / "ledger.db"
    first = opened(curator(ledger=file), run="mine")
    first.ask([FIFTY] * 7, [50] * 7)
    guard = hr.Curator(hr.Table.open(ROWS, DOMAIN), ledger=file)
    again = opened(guard, run="mine")
    assert again._run._state == first._run._state
    assert (again.asked, guard.spent) == (7, hr.Budget(epsilon=1))
    for other in (
        lambda: opened(guard, FAR, 1, "under", run="mine"),
        lambda: opened(guard, 5, 1, run="mine"),
        lambda: opened(guard, FAR, 2, run="mine"),
        lambda: primitives.above_threshold(guard, FAR, 1, run="mine"),
    ):
        with pytest.raises(LedgerError):
            other()
    assert guard.spent == hr.Budget(epsilon=1)


def test_the_threshold_that_is_used_is_the_one_that_was_charged():
    guard = curator()
    one, two = (opened(guard, run="mine") for _ in range(2))
    line = next(iter(guard.ledger.replay(one._run._name)))
    assert one._run._state == two._run._state == State.from_bytes(line.state)


def test_a_tripped_run_stays_closed_when_it_is_opened_again(tmp_path):
    file = tmp_path / "ledger.db"
    run = opened(curator(ledger=file), -FAR, run="mine")
    assert run.ask([FIFTY, FIFTY], [0, 0]) == (1, True)
    again = opened(hr.Curator(hr.Table.open(ROWS, DOMAIN), ledger=file), -FAR, run="mine")
    assert again.closed
    with pytest.raises(RunClosed):
        again.ask(FIFTY, 0)


def test_two_handles_on_one_run_trip_once(tmp_path):
    file = tmp_path / "ledger.db"
    first = curator(ledger=file)
    one = opened(first, -FAR, run="mine")
    two = opened(hr.Curator(hr.Table.open(ROWS, DOMAIN), ledger=file), -FAR, run="mine")
    assert one.ask(FIFTY, 0).tripped
    with pytest.raises(RunClosed):
        two.ask(FIFTY, 0)


def test_threads_that_share_a_pair_of_runs_see_one_trip_of_each(tmp_path):
    guard = curator(MUCH, tmp_path / "ledger.db")
    over, under = pair(guard, 20, 1000)
    said, refused = [], []

    def work(number: int) -> None:
        for i in range(30):
            try:
                said.append(ask_both(over, under, FIFTY, 50.0 if i < 20 else 10.0 + 80.0 * (number % 2)))
            except RunClosed:
                refused.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(s.over for s in said) + sum(s.under for s in said) == 1
    assert len(said) + len(refused) == 120
    assert guard.ledger.verify().ok
    assert not replay(guard.ledger).problems


def test_a_call_that_could_not_be_kept_closes_both_runs_until_they_are_opened_again(monkeypatch):
    guard = curator()
    over, under = pair(guard)
    named = [opened(guard, side=side, run=side) for side in ("over", "under")]

    def fail(*_: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(named[1]._run, "_write", fail)
    with pytest.raises(LedgerError):
        ask_both(*named, FIFTY, 50)
    for run in named:
        with pytest.raises(RunClosed, match="interrupted"):
            run.ask(FIFTY, 50)
    for side in ("over", "under"):  # nothing of the failed call was kept
        assert opened(guard, side=side, run=side).asked == 0
    assert ask_both(over, under, FIFTY, 50) == (1, False, False)


def test_no_frame_of_a_failure_holds_an_exact_number(monkeypatch):
    guard = curator()
    run = opened(guard, run="mine")

    def fail(*_: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(run._run, "_write", fail)
    with pytest.raises(LedgerError) as caught:
        run.ask([FIFTY, TWENTY], [0, 0])
    inside = [t for t in caught.traceback if "hedgerow" in str(t.path) and "tests" not in str(t.path)]
    assert inside
    for entry in inside:
        for value in entry.frame.f_locals.values():
            kept = value if isinstance(value, list) else [value]
            assert not any(isinstance(v, np.ndarray) and 50 * ONE in v for v in kept)


def test_test_randomness_is_marked_and_cannot_be_continued_as_real(tmp_path):
    file = tmp_path / "ledger.db"
    guard = curator(ledger=file, entropy=hr.testing.seeded(1))
    run = opened(guard, run="mine")
    line = next(iter(guard.ledger.replay(run._run._name)))
    assert line.note.startswith("NOT PRIVATE")
    with pytest.raises(LedgerError):
        opened(hr.Curator(hr.Table.open(ROWS, DOMAIN), ledger=file), run="mine")


def test_names_of_runs_cannot_be_used_by_other_acts():
    guard = curator()
    run = opened(guard, run="mine")
    for name in (run._run._name, f"{run._run._name}#1"):
        with pytest.raises(LedgerError, match="belong"):
            guard.measure(("a",), 1, request=name)


WORKER = """
import sys, os, signal
import hedgerow as hr
from hedgerow.curator.runs.one_sided import ask_both
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore
path, where, estimate = sys.argv[1], sys.argv[2], float(sys.argv[3])
domain = hr.Domain({"a": 3, "b": 2})
rows = {"a": [0] * 50 + [1] * 20 + [2] * 5, "b": [0, 1, 1] * 25}
guard = hr.Curator(hr.Table.open(rows, domain), hr.Budget(epsilon=10**6), path)
over, under = (guard.one_sided(20, 1000, side=s, run=s) for s in ("over", "under"))
query = hr.Query.where(domain, {"a": 0})
for i in range(50):
    ask_both(over, under, query, 50.0)
run = SQLiteStore._run
def lethal(self, sql, args=()):
    if sql == "COMMIT" and where == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    rows = run(self, sql, args)
    if sql == "COMMIT" and where == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return rows
SQLiteStore._run = lethal
said = ask_both(over, under, query, estimate)
os.write(1, repr(tuple(said)).encode())
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("where", "estimate"), [("before", 10.0), ("after", 10.0), ("returned", 50.0)])
def test_a_killed_process_loses_nothing_that_was_seen(tmp_path, where, estimate):
    file = tmp_path / "ledger.db"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WORKER), str(file), where, str(estimate)],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    guard = hr.Curator(hr.Table.open(ROWS, DOMAIN), ledger=file)
    over, under = (opened(guard, 20, 1000, side, run=side) for side in ("over", "under"))
    assert guard.spent.epsilon == 2000
    tripped = estimate == 10.0 and where != "before"
    assert (over.closed, under.closed) == (tripped, False)
    assert over.asked == under.asked == (50 if where == "before" else 51)
    assert bool(done.stdout) == (where == "returned")
    assert guard.ledger.verify().ok


# ---- what it certifies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", ["1/2", "1/1000", "1e-9"])
@pytest.mark.parametrize("denominator", [1, ONE])
def test_the_certified_bound_is_the_exact_quantile(beta, denominator):
    made = plan(Cost("epsilon", Fraction(1, 3)), Fraction(denominator), 7, denominator)
    b1, chance = float(made.threshold_scale), float(Fraction(beta))
    m = made.certified(beta) * denominator - 7 * denominator + Fraction(3, 2)
    assert m.denominator == 1
    assert exp(-float(m) / b1) <= chance * (1 + 1e-9)
    assert exp(-(float(m) - 1) / b1) > chance * (1 - 1e-9)
    assert made.reaching(made.certified(beta), beta) == made
    for wrong in (0, 1, -1, 2):
        with pytest.raises(UnsupportedQuery):
            made.certified(wrong)


def test_every_below_of_a_run_is_within_what_it_certifies():
    """Of 4000 noisy thresholds at beta 1/8, the share that admits a "below" beyond alpha is the exact one.

    No question is asked: the worst "below" that a threshold admits is one step under it, so this bounds every
    adversary. Within 5.2 standard errors: a false alarm has probability below 1e-6.
    """
    entropy, beta, runs = hr.testing.seeded(11), Fraction(1, 8), 4000
    made = plan(Cost("epsilon", 2), Fraction(1), 10, 1)
    alpha, wrong = made.certified(beta), 0
    for _ in range(runs):
        state = begin(made, entropy)
        assert state.threshold >= made.threshold  # noise never lowers the threshold
        wrong += state.threshold - 1 > alpha  # the worst "below" that can be
    share = exp(-(float(alpha) - 10 + 1.5) / float(made.threshold_scale))
    assert share <= float(beta)
    assert abs(wrong / runs - share) < 5.2 * sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("error", [-4.0, 0.0, 2.5, 3.0, 5.0])
def test_the_false_alarm_rate_is_the_exact_one(error):
    for denominator, threshold in ((1, 3), (ONE, 3), (4, Fraction(13, 4))):
        made = plan(Cost("rho", Fraction(1, 10)), Fraction(denominator), threshold, denominator, share="1/3")
        value = -(-int(error * denominator * 2) // 2)
        truth = float(exact.law([value], made)[0])
        assert made.false_alarm(error) == pytest.approx(truth, rel=1e-7)


def test_the_best_share_has_fewest_false_alarms_and_follows_the_closed_form():
    guard = curator(hr.Budget(epsilon=1, delta=1e-6))
    alpha, beta, spend = 400, 1e-3, Cost("rho", "1/400")
    share = best_share(guard, spend, alpha, beta, error=50.0)
    rates = {}
    for other in ("1/10", "1/3", "1/2", "9/10", share):
        made = planned(guard, 0, spend, side="over", share=other).reaching(alpha, beta)
        assert made.certified(beta) <= alpha
        rates[other] = made.false_alarm(50.0)
    assert min(rates.values()) == rates[share]
    eta = sqrt(8 / 400)
    assert float(share) == pytest.approx(sqrt(log(1 / beta) / (eta * 350)), abs=0.03)
    assert guard.spent.epsilon == 0


def test_state_bytes_have_one_length():
    states = [State(t, a, n) for t in (0, -(1 << 62)) for a in (0, 1) for n in (0, 10**12)]
    assert len({len(state.to_bytes()) for state in states}) == 1


def test_what_a_run_said_is_true_exactly_when_it_tripped(quiet):
    guard = curator()
    over, under = opened(guard, 30, side="over"), opened(guard, 30, side="under")
    assert not over.ask(FIFTY, 40)
    assert not ask_both(over, under, [FIFTY, FIFTY], [40, 50])
    assert ask_both(over, under, FIFTY, 90)
    assert over.ask([FIFTY, FIFTY], [50, 0])
