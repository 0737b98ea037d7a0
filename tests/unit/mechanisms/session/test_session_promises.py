"""What a session promises: errors that hold, prices that were said, the same answer for everyone."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.mechanisms.account import RunAccount
from hedgerow.mechanisms.session.bargain import Bargain
from hedgerow.mechanisms.session.core import Core, guard_share
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.queries.measurement import Noise
from sizes import size

ALARM = 1e-6
DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3))})
ROWS = 8000
RHO = hr.Budget(rho=1, delta=1e-6)


def frame(n: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["F", "M"], n)
    age = rng.integers(0, 80, n) + 15 * (sex == "F")
    return pd.DataFrame(
        {"sex": sex, "age": age, "k": (age // 30 + rng.integers(0, 2, n)) % 3, "who": rng.integers(0, n, n)}
    )


def curator(budget=RHO, ledger=":memory:", seed=7, neighbours="add_remove", rows=None, domain=DOMAIN, **unit):
    table = hr.Table.open(frame() if rows is None else rows, domain, **unit)
    return hr.Curator(table, budget, ledger, neighbours, entropy=hr.testing.seeded(seed))


def people(**options):
    return curator(unit="who", max_rows=3, **options)


def queries(seed: int, count: int) -> list[hr.Query]:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        names = rng.choice(list(DOMAIN), rng.integers(1, 4), replace=False)
        masks = {a: rng.random(DOMAIN[a].size) < 0.5 for a in names}
        out.append(hr.Query.where(DOMAIN, {a: m if m.any() else ~m for a, m in masks.items()}))
    return out


PART, LESS = (hr.Query.of(DOMAIN, ["age"], np.linspace(0, most, 10)) for most in (0.3, 0.2))
KINDS = {
    "count": "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 50",
    "groups": "SELECT sex, k, COUNT(*) FROM t GROUP BY sex, k",
    "average": "SELECT sex, AVG(age), SUM(k) FROM t GROUP BY sex",
    "largest": "SELECT age, COUNT(*) FROM t GROUP BY age ORDER BY COUNT(*) DESC LIMIT 2",
    "people": "SELECT COUNT(DISTINCT who) FROM t WHERE sex = 'F'",
    "people in groups": "SELECT k, COUNT(DISTINCT who) FROM t GROUP BY k",
    "query": queries(1, 1)[0],
    "fraction": PART,
    "table": ("age", "sex"),
    "list": [LESS, *queries(2, 6)],
    "list with repeats": [*queries(2, 3), *queries(2, 3), PART],
    "workload": hr.marginals(DOMAIN, 1),
    "nothing": "SELECT COUNT(*) FROM t WHERE sex < 'A'",
    "several": ["SELECT COUNT(*) FROM t", "SELECT k, COUNT(*) FROM t GROUP BY k", "SELECT SUM(age) FROM t"],
}


def same(a, b) -> bool:
    return np.array_equal(a.value, b.value) and np.array_equal(a.error, b.error) and a.source == b.source


# -- a raised budget --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        hr.Session(epsilon=0.5),
        hr.Session(budget=hr.Budget(epsilon=0.5)),
        hr.Session(budget=hr.Budget(epsilon=0.5, delta=1e-7)),
        hr.Session(epsilon=0.5, cells=10),
    ],
    ids=["epsilon", "pure", "approximate", "factored"],
)
def test_a_raised_delta_makes_no_session_another_one(plan, tmp_path):
    path = tmp_path / "l.db"
    first = curator(hr.Budget(1, 1e-6), path)
    with plan.open(first) as session:
        before = session.ask(KINDS["count"])
    spent = first.ledger.spent()
    first.ledger.raise_budget(hr.Budget(2, 1e-5), "more")
    again = curator(None, path)
    with plan.open(again) as session:
        after = session.ask(KINDS["count"])
    assert after.cached
    assert same(before, after)
    assert again.ledger.spent() == spent


# -- errors -----------------------------------------------------------------------------------------------


def most(runs: int, beta: float) -> int:
    """The fewest violating runs that a binomial reaches with probability at most ALARM."""
    from math import comb

    tail, k = 1.0, 0
    while tail > ALARM:
        tail -= comb(runs, k) * beta**k * (1 - beta) ** (runs - k)
        k += 1
    return k


@pytest.mark.parametrize("what", ["COUNT(*)", "COUNT(DISTINCT who)"])
def test_the_error_of_the_largest_group_knows_that_it_was_chosen(what):
    """False alarm 1e-6: a binomial tail over independent sessions.

    All groups are equally large: the one that seems largest is the one with the most noise.
    """
    domain, groups, runs = hr.Domain({"g": 60}), 60, 40
    rows = pd.DataFrame({"g": np.repeat(np.arange(groups), 50), "who": np.arange(50 * groups)})
    asked, bad = f"SELECT g, {what} FROM t GROUP BY g ORDER BY {what} DESC LIMIT 1", 0
    for seed in range(runs):
        c = curator(rows=rows, domain=domain, seed=seed, unit="who", max_rows=1)
        session = hr.Session(within_count=20, confidence=0.9, questions=1).open(c)
        answer = session.ask(asked)
        assert answer.source == "measured"
        assert answer.simultaneous
        bad += abs(float(answer.value[0]) - 50) > float(answer.error[0])
    assert bad < most(runs, 0.1)


def test_the_error_of_chosen_groups_is_wider_when_it_is_learned_too():
    session = hr.Session(epsilon=0.5).open(curator())
    chosen = session.ask(KINDS["largest"])
    whole = session.ask("SELECT age, COUNT(*) FROM t GROUP BY age")
    wide = dict(zip([g for (g,) in whole.table.groups], whole.error, strict=True))
    assert all(e > wide[g] for (g,), e in zip(chosen.table.groups, chosen.error, strict=True))


def test_rounding_values_to_the_lattice_is_in_the_error(monkeypatch):
    """Without any noise, what is left of the error of a SUM is what rounding took, and the bound holds."""
    values = [1e-3 * np.pi, 17.0 * np.e, 1e5 / 3]
    domain = hr.Domain({"v": hr.Categorical(values), "g": 2})
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"v": rng.choice(values, ROWS), "g": rng.integers(0, 2, ROWS)})
    monkeypatch.setattr(hr.Curator, "_noise", lambda self, law, v: np.zeros(v.shape, dtype=np.int64))
    monkeypatch.setattr(Noise, "half_width", lambda self, *_, **__: 0.0)
    monkeypatch.setattr(Bargain, "of", lambda *_: None)  # without noise what was learned has no error
    c = curator(rows=rows, domain=domain)
    session = hr.Session(epsilon=0.1).open(c)
    off = 0.0
    for asked, exact in (
        ("SELECT SUM(v) FROM t", [rows.v.sum()]),
        ("SELECT g, SUM(v) FROM t GROUP BY g", rows.groupby("g").v.sum()),
        ("SELECT g, AVG(v) FROM t GROUP BY g", rows.groupby("g").v.mean()),
    ):
        answer = session.ask(asked, within_count=50)
        assert answer.source == "measured"
        miss = np.abs(np.atleast_1d(answer.value) - np.asarray(exact))
        assert (miss <= np.atleast_1d(answer.error) * (1 + 1e-12)).all()
        off = max(off, float(miss.max()))
    assert off > 1e-3  # there was something to state
    unknown = hr.Session(within_count=50, questions=1).open(curator(rows=rows, domain=domain))
    answer = unknown.ask("SELECT SUM(v) FROM t")  # nothing says how many rows there are
    assert abs(answer.value - rows.v.sum()) <= answer.error


def test_values_on_the_lattice_cost_no_error():
    session = hr.Session(within_count=100, questions=1).open(curator())
    assert session.ask("SELECT SUM(k) FROM t").error <= 2 * 100


# -- all at once ------------------------------------------------------------------------------------------


def betas(session) -> list[tuple[float, Fraction]]:
    """Of every run that was opened: the confidence that its answers state, and how often it may fail."""
    return [
        (guard.goal.confidence, guard._beta(side, j))
        for guard in session._core.guards
        for side, runs in guard._count.items()
        for j in range(1, runs + 1)
    ]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_all_comparisons_of_a_session_together_fail_no_more_often_than_one_confidence_allows(neighbours):
    c = curator(hr.Budget(rho=10**4, delta=1e-6), neighbours=neighbours)
    session = hr.Session(budget=hr.Budget(rho=1, delta=0)).open(c)
    for alpha, confidence in ((400, 0.95), (150, 0.95), (60, 0.95), (60, 0.99), (25, 0.999)):
        for q in queries(alpha, 4):
            session.ask(q, None, alpha, confidence)
            for guard in session._core.guards:
                guard.debt = Fraction(0)  # as if enough had been measured to make up for opening it
    opened = betas(session)
    assert len(session._core.guards) == 5
    assert len(opened) >= 5
    for level in {confidence for confidence, _ in opened}:
        together = sum(beta for confidence, beta in opened if confidence >= level)
        assert float(together) <= 1 - level


def test_shares_of_guards_leave_room_for_measured_numbers():
    shares = sum(guard_share(m) for m in range(2000))
    assert shares + Core.mixed < 1
    assert all(guard_share(m) > 0 for m in range(2000))


def test_measured_numbers_of_a_list_that_holds_at_once_use_what_guards_leave():
    """A list may mix certified and measured numbers: both kinds together keep one confidence."""
    asked, wide = queries(4, 8), []
    for simultaneous in (False, True):
        c = curator()
        session = hr.Session(epsilon=0.1).open(c)
        answer = session.ask(asked, within_count=200, simultaneous=simultaneous)
        assert answer.source == "measured"
        charged = [e for e in c.ledger.replay(session._core.name) if e.kind == "charge"][-1]
        wide.append(charged.event.sigma)
    certified = sum(float(guard_share(m)) for m in range(2000))
    left = 0.001 * (1 - certified)  # of the confidence asked for
    assert Noise("gaussian", wide[1]).half_width(1 - left, numbers=len(asked)) <= 200
    assert answer.simultaneous
    assert wide[1] < wide[0]


def test_a_list_says_which_of_its_numbers_were_measured(tmp_path):
    path = tmp_path / "l.db"
    c = curator(ledger=path)
    plan = hr.Session(budget=hr.Budget(rho="1/3000", delta=0), within=0.05, questions=100)
    session, mixed = plan.open(c), None
    for seed in range(40):
        answer = session.ask(queries(100 + seed, 12))
        if answer.sources is not None:
            mixed = (seed, answer)
            break
    assert mixed is not None
    seed, answer = mixed
    assert set(answer.sources) == {"certified", "measured"}
    assert answer.source == "measured"
    again = plan.open(curator(ledger=path)).ask(queries(100 + seed, 12))
    assert again.cached
    assert list(again.sources) == list(answer.sources)


# -- explaining -------------------------------------------------------------------------------------------


SESSIONS = {
    "budget": hr.Session(epsilon=0.5),
    "badly primed": hr.Session(budget=hr.Budget(rho="1/100000", delta=0), within=0.02, questions=60),
    "accuracy": hr.Session(within=0.03, questions=2000),
    "unprimed": hr.Session(within_count=300, questions=3),
}


@pytest.mark.parametrize("plan", SESSIONS)
@pytest.mark.parametrize("rho", size([None, "1/500"], [None, "1/500", "1/2000", "1/100000"]))
def test_no_question_costs_more_or_ends_otherwise_than_explain_said(plan, rho, monkeypatch):
    c = people()
    session = SESSIONS[plan].open(c)
    payer = c if rho is None else c.allot(hr.Budget(rho=rho, delta=0), "ann")
    asks = session.share(payer)
    orders = [
        (asked, options)
        for options in ({}, {"within_count": 200.0}, {"within": 0.05, "simultaneous": True})
        for asked in KINDS.values()
    ]
    for asked, options in orders:
        try:
            said, head = explained(asks, asked, options, monkeypatch), c.ledger.newest
        except hr.UnsupportedQuery:
            with pytest.raises(hr.UnsupportedQuery):
                asks.ask(asked, **options)
            continue
        assert c.ledger.newest == head
        before = session._core.spent
        try:
            given = asks.ask(asked, **options)
        except hr.BudgetExceeded:
            assert not all(s.affordable for s in said) or len(said) > 1
            continue
        given = given if isinstance(given, list) else [given]
        cost = sum(s.cost.rho for s in said)
        assert float((session._core.spent - before).amount) <= cost * (1 + 1e-9)
        for s, answer in zip(said, given, strict=True):
            assert s.affordable or len(said) > 1 or isinstance(asked, list | hr.Workload)
            assert s.confidence == answer.confidence
            assert s.source == answer.source or (s.source, answer.source) == ("certified", "measured")
            assert s.cached == answer.cached or len(said) > 1
            assert np.shape(s.error) == np.shape(answer.error)


def explained(asks, asked, options, monkeypatch):
    """What explain says, having read no row and written nothing."""
    ledger = asks._core.curator.ledger
    spent, newest = ledger.spent(), ledger.newest
    with monkeypatch.context() as patch:
        for name in ("tables", "count_where", "records"):
            patch.setattr(Rows, name, lambda *a, **k: pytest.fail("rows were read"))
        said = asks.explain(asked, **options)
    assert (ledger.spent(), ledger.newest) == (spent, newest)
    return said if isinstance(said, list) else [said]


def test_what_is_set_aside_counts_as_affordable():
    c = curator()
    session = hr.Session(within=0.03, questions=2000).open(c)
    session.ask(KINDS["count"])
    held = session._core.reserve.held(c)
    assert not held.is_zero
    rest = c.left
    c.allot(rest, "all the rest")
    said = session.explain(queries(5, 1)[0])
    assert said.affordable
    assert said.source == "certified"
    assert session.ask(queries(5, 1)[0]).source == "certified"


# -- the same for everyone --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ("budget", True),
        ("badly primed", True),
        ("accuracy", True),
        ("budget", False),
        ("badly primed", False),
    ],
    ids=lambda x: x if isinstance(x, str) else "told" if x else "untold",
)
def test_what_one_analyst_was_told_is_free_and_the_same_for_another(kind, plan, told, monkeypatch, tmp_path):
    """Also when the process died after paying and before it could write the answer down.

    (A comparison that nobody was told of is made again; nothing is paid for that.)
    """
    path = tmp_path / "l.db"
    c = people(budget=hr.Budget(rho=20, delta=1e-6), ledger=path)
    ann, bob = (c.allot(hr.Budget(rho=5, delta=0), name) for name in ("ann", "bob"))
    session = SESSIONS[plan].open(c)
    if not told:
        monkeypatch.setattr(Core, "write_answers", lambda self, **_: None)
    options = {} if plan == "accuracy" else {"within_count": 250.0}
    first = session.share(ann).ask(KINDS[kind], **options)
    monkeypatch.undo()
    monkeypatch.setattr(hr.Curator, "_noise", lambda *_: pytest.fail("something was measured again"))
    if not told:
        c = people(budget=None, ledger=path, seed=8)
        bob, session = c.child("bob"), SESSIONS[plan].open(c)
    answers = first if isinstance(first, list) else [first]
    if plan == "accuracy" and "people" not in kind:
        assert {a.source for a in answers} == {"certified"}
    spent = c.ledger.spent("bob")
    second = session.share(bob).ask(KINDS[kind], **options)
    again = second if isinstance(second, list) else [second]
    assert all(same(a, b) for a, b in zip(answers, again, strict=True))
    assert all(b.cost is None for b in again)
    assert c.ledger.spent("bob") == spent


def test_the_same_count_asked_in_another_way_is_not_measured_twice():
    c = curator()
    session = hr.Session(epsilon=0.1).open(c)
    ann, bob = (session.share(c.allot(hr.Budget(rho="1/10", delta=0), name)) for name in ("ann", "bob"))
    first = ann.ask("SELECT COUNT(*) FROM t WHERE sex = 'F'", within_count=300)
    second = bob.ask(hr.sql(DOMAIN, "SELECT COUNT(*) FROM t WHERE sex = 'F'").forms[0].pieces()[0][1],
                     within_count=300)  # fmt: skip
    assert second.source == "measured"
    assert second.value == first.value
    assert second.cost is None
    assert bob._payer.spent.rho == 0


def test_a_quantile_stays_what_it_was_after_learning_more():
    c = curator()
    session = hr.Session(budget=hr.Budget(rho="1/100000", delta=0)).open(c)
    before = session.quantile("age", 0.3, where={"sex": "F"})
    session._core.learn_table(c, ("sex", "age"), c.price(hr.Budget(rho="1/100", delta=0)))
    ann = session.share(c.allot(hr.Budget(rho="1/100", delta=0), "ann"))
    again = ann.quantile("age", 0.3, where={"sex": ["F"]})
    assert again.cached
    assert same(before, again)
    assert session.quantile("age", 0.3).value != before.value


def test_a_session_is_shared_only_with_accounts_below_the_one_that_opened_it():
    c = curator()
    ann, bob = (c.allot(hr.Budget(rho="1/10", delta=0), name) for name in ("ann", "bob"))
    session = hr.Session(epsilon=0.05).open(ann)
    for other in (c, bob):
        with pytest.raises(hr.UnsupportedQuery, match="allotted from"):
            session.share(other)
    below = session.share(ann.allot(hr.Budget(rho="1/100", delta=0), "ann's"))
    assert below.ask(KINDS["count"], within_count=300).source == "measured"
    assert session.share(ann).ask(KINDS["count"], within_count=300).cached


def test_an_analyst_whose_allotment_is_closed_stops_nobody_else():
    c = curator()
    session = hr.Session(within=0.03, questions=2000).open(c)
    ann = c.allot(hr.Budget(rho="1/4", delta=0), "ann")
    shared = session.share(ann)
    assert shared.ask(KINDS["count"]).source == "certified"  # opens the comparisons, at ann's cost
    ann.settle()
    asked = queries(6, 3)
    assert {session.ask(q).source for q in asked} <= {"certified", "measured"}
    with pytest.raises(hr.LedgerError, match="closed"):
        shared.ask(hr.Query.where(DOMAIN, {"k": 2}), within_count=30)


# -- what was decided and not paid ------------------------------------------------------------------------


def test_a_price_that_was_never_paid_binds_nobody(monkeypatch, tmp_path):
    path = tmp_path / "l.db"
    c = curator(ledger=path)
    with monkeypatch.context() as patch:

        def die(*_, **__):
            raise KeyboardInterrupt

        patch.setattr(hr.Curator, "measure_all", die)
        with pytest.raises(KeyboardInterrupt):
            hr.Session().open(c)  # all that remains
    c.measure("sex", hr.Budget(rho="1/2", delta=0))
    again = curator(ledger=path)
    session = hr.Session().open(again)  # what remains now
    assert session.ask(KINDS["count"]).source == "learned"
    assert again.left.amount < Fraction(1, 10**9)


def test_a_reserve_that_was_left_behind_comes_back(tmp_path):
    from hedgerow.mechanisms.session.log import give_back

    path, plan = tmp_path / "l.db", hr.Session(within=0.03, questions=2000)
    c = curator(ledger=path)
    session = plan.open(c)
    assert session.ask(KINDS["count"]).source == "certified"
    held = session._core.reserve.held(c)
    spent = c.ledger.spent()
    other = Ledger.open(path, create=False)
    assert give_back(other) == 1
    assert other.spent().amount == spent.amount - held.amount
    for q in queries(7, 3):  # the session that was alive all the time goes on
        assert session.ask(q).source == "certified"
    session.close()
    assert give_back(other) == 0
    assert other.verify().ok


def test_a_trip_is_paid_from_what_was_set_aside_whatever_others_spend(monkeypatch):
    """Somebody spends all there is at the worst moments, after a comparison that trips and after a return."""
    c = curator()
    plan = hr.Session(budget=hr.Budget(rho="1/100000", delta=0), within=0.02, questions=60)
    session = plan.open(c)
    from hedgerow.mechanisms.session.guard import Guard

    names = iter(range(9))

    def greedily(act):
        def both(*args):
            said = act(*args)
            c.allot(c.left, f"greedy {next(names)}")
            return said

        return both

    monkeypatch.setattr(Guard, "compare", greedily(Guard.compare))
    monkeypatch.setattr(Ledger, "settle", greedily(Ledger.settle))
    answer = session.ask(hr.Query.where(DOMAIN, {"age": np.arange(10) >= 9}))
    assert answer.source == "measured"
    assert c.ledger.verify().ok


def test_a_trip_in_one_process_is_a_trip_for_all(monkeypatch, tmp_path):
    """The side that tripped is opened anew, whoever asks next, and everybody has learned the table."""
    path, plan = tmp_path / "l.db", hr.Session(within=0.03, questions=2000)
    one, two = (plan.open(curator(ledger=path, seed=seed)) for seed in (7, 8))
    first, second, wrong, last = queries(9, 4)
    assert [one.ask(first).source, two.ask(second).source] == ["certified", "certified"]
    belief, guard = one._core.belief, one._core.guards[0]
    with one._core.turn():
        guard.saved = Fraction(10)  # enough for a trip: nothing need be measured before the next comparison
    with monkeypatch.context() as patch:
        patch.setattr(belief, "counts", lambda asked: np.full(len(asked), 5.0 * ROWS))
        assert one.ask(wrong).source == "measured"
    assert guard.debt == 0
    assert two.ask(last).source == "certified"
    assert sum(two._core.guards[0]._count.values()) == 3
    assert one.ask(last).cached
    assert one._core.guards[0]._count == two._core.guards[0]._count
    assert np.array_equal(one.table(("age", "sex")), two.table(("age", "sex")))
    assert one._core.curator.ledger.verify().ok


def test_a_reserve_that_was_written_down_and_never_made_harms_nobody(monkeypatch, tmp_path):
    path, plan = tmp_path / "l.db", hr.Session(within=0.03, questions=2000)
    session = plan.open(curator(ledger=path))
    with monkeypatch.context() as patch:

        def die(*_, **__):
            raise KeyboardInterrupt

        patch.setattr(Ledger, "allot", die)
        with pytest.raises(KeyboardInterrupt):
            session.ask(KINDS["count"])
    assert plan.open(curator(ledger=path)).explain(KINDS["groups"]).affordable
    assert session.ask(KINDS["count"]).source == "certified"


def test_an_interrupted_question_leaves_nothing_half_done(monkeypatch, tmp_path):
    """Ctrl-C after a table was paid for and before it was learned: the next question knows it."""
    from hedgerow.mechanisms.session.dense_belief import DenseBelief

    path = tmp_path / "l.db"
    plan = hr.Session(budget=hr.Budget(rho="1/100000", delta=0), within=0.02, questions=60)
    session = plan.open(curator(ledger=path))
    asked = hr.Query.where(DOMAIN, {"age": np.arange(10) >= 9})
    with monkeypatch.context() as patch:

        def die(*_):
            raise KeyboardInterrupt

        patch.setattr(DenseBelief, "learn", die)
        with pytest.raises(KeyboardInterrupt):
            session.ask(asked)
    spent = session._core.curator.ledger.spent()
    answer = session.ask(asked)
    assert answer.source == "measured"
    assert session._core.curator.ledger.spent().amount <= spent.amount  # nothing is paid twice
    other = plan.open(curator(ledger=path))
    assert other.ask(asked).value == answer.value
    assert np.array_equal(other.table(("age", "sex")), session.table(("age", "sex")))


def test_a_run_is_not_given_up_while_another_process_pays_for_it(monkeypatch, tmp_path):
    from hedgerow.privacy.event import Gaussian

    path = tmp_path / "l.db"
    c = curator(ledger=path)
    run = RunAccount("kind", "name", "digest")
    paying, _ = run.open(c, hr.Budget(rho="1/10", delta=0))
    other, spent, failed = Ledger.open(path, create=False), Ledger.spent, []

    def charge():
        try:
            other.charge(Gaussian(1, 10), lambda: (b"", None), account=paying.account)
        except hr.LedgerError as error:
            failed.append(error)

    thread = threading.Thread(target=charge)

    def slow(self, account="owner"):
        out = spent(self, account)
        if self is c.ledger and not thread.ident:
            thread.start()  # the other process is faster than what follows, unless it must wait
            thread.join(0.5)
        return out

    monkeypatch.setattr(Ledger, "spent", slow)
    run.give_up(paying)
    thread.join()
    monkeypatch.undo()
    closed, paid = c.ledger.is_closed(paying.account), not c.ledger.spent(paying.account).is_zero
    assert closed != paid
    assert closed == bool(failed)


def test_two_that_begin_a_run_at_once_share_its_account(monkeypatch, tmp_path):
    path = tmp_path / "l.db"
    one, two = (curator(ledger=path) for _ in range(2))
    run, made = RunAccount("kind", "name", "digest"), []
    threads = [
        threading.Thread(target=lambda c=c: made.append(run.open(c, hr.Budget(rho="1/10", delta=0))))
        for c in (one, two)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2
    assert made[0][0].account == made[1][0].account
    assert made[0][1] == made[1][1]
    for paying, _ in made:
        run.close(paying)
    assert one.ledger.spent().is_zero


# -- the command line -------------------------------------------------------------------------------------


def test_a_first_question_that_was_cut_off_before_it_was_paid_is_asked_anew(people_cli, monkeypatch):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    ask = ("ask", "people.csv", "SELECT COUNT(*) FROM t", "--json")
    with monkeypatch.context() as patch:

        def die(*_, **__):
            raise KeyboardInterrupt

        patch.setattr(hr.Curator, "measure_all", die)
        assert people_cli(*ask, "--epsilon", "0.9").exit_code != 0
    with Ledger.open("people.csv.hedgerow.db", create=False) as ledger:
        assert ledger.spent().is_zero
        ledger.charge(Pure("1/10"), lambda: (b"", None))  # now 0.9 can never be paid
    assert "has not been asked" in people_cli(*ask, "--explain").stdout
    first = json.loads(people_cli(*ask, "--epsilon", "0.4").stdout)
    assert first["learning"] == pytest.approx(0.4, rel=0.1)
    again = json.loads(people_cli(*ask).stdout)
    assert again["cached"]
    assert again["rows"] == first["rows"]
    assert people_cli(*ask, "--epsilon", "0.4").exit_code == 2


def test_two_first_questions_at_once_pay_for_learning_once(people_cli):
    from hedgerow.release.schema import Schema
    from hedgerow.service.learning import Learning

    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    domain = Schema.load(Path("schema.yaml")).confirmed_domain()
    curators = [
        hr.Curator(hr.Table.open("people.csv", domain), None, "people.csv.hedgerow.db") for _ in range(2)
    ]
    opened = []
    threads = [threading.Thread(target=lambda c=c: opened.append(Learning().open(c))) for c in curators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({session._core.name for session in opened}) == 1
    assert len({session.ask("SELECT COUNT(*) FROM t").value for session in opened}) == 1
    ledger = curators[0].ledger
    assert ledger.spent().amount <= ledger.budget.cost.amount / 2


def test_the_owner_takes_back_what_a_dead_session_had_set_aside(people_cli):
    from hedgerow.release.schema import Schema

    assert people_cli("budget", "init", "people.csv", "--epsilon", "9").exit_code == 0
    domain = Schema.load(Path("schema.yaml")).confirmed_domain()
    c = hr.Curator(hr.Table.open("people.csv", domain), None, "people.csv.hedgerow.db")
    session = hr.Session(within=0.1, questions=2000).open(c)
    assert session.ask("SELECT COUNT(*) FROM t WHERE k = 1").source == "certified"
    spent, held = c.ledger.spent(), session._core.reserve.held(c)
    said = people_cli("budget", "settle", "people.csv")
    assert said.exit_code == 0, said.output
    assert "came back" in said.stdout
    assert c.ledger.spent().amount == spent.amount - held.amount
    assert "Nothing was set aside" in people_cli("budget", "settle", "people.csv").stdout
    assert json.loads(people_cli("budget", "settle", "people.csv", "--json").stdout)["spent"]["epsilon"] > 0
