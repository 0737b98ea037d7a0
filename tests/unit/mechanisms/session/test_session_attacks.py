"""What somebody tries who may only ask, explain and share: each of these once worked."""

from __future__ import annotations

import ast
import json
import random
import threading
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.mechanisms.session import log as session_log
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.queries.one_form import is_nothing, one_form
from hedgerow.queries.query import ONE
from sizes import size

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3))})
ROWS = 4000
SQL = "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 50"
OLD_WOMEN = {"sex": "F", "age": np.arange(10) >= 5}


def frame(n: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["F", "M"], n)
    age = rng.integers(0, 80, n) + 15 * (sex == "F")
    return pd.DataFrame({"sex": sex, "age": age, "k": (age // 30) % 3, "who": np.arange(n) // 2})


def curator(budget=None, ledger=":memory:", seed=7, neighbours="add_remove", **unit):
    budget = budget or hr.Budget(rho=1, delta=1e-6)
    table = hr.Table.open(frame(), DOMAIN, **unit)
    return hr.Curator(table, budget, ledger, neighbours, entropy=hr.testing.seeded(seed))


def part(rho) -> hr.Budget:
    return hr.Budget(rho=rho, delta=0)


def learns(session) -> None:
    """Afterwards what was learned is something else."""
    core = session._core
    with core.turn():
        core.learn_table(core.curator, ("sex", "age"), core.curator.price(part("1/100")))


# -- one question, one answer -----------------------------------------------------------------------------


def _weights() -> np.ndarray:
    weights = np.zeros((2, 10))
    weights[0, 5:] = 1
    return weights


ONE_COUNT = {
    "query": hr.Query.where(DOMAIN, OLD_WOMEN),
    "sql": SQL,
    "sql, other words": "SELECT COUNT(*) AS n FROM t WHERE age >= 50 AND sex IN ('F') LIMIT 3",
    "weights": hr.Query.of(DOMAIN, ["sex", "age"], _weights()),
    "weights, other axes": hr.Query.of(DOMAIN, ["age", "sex"], _weights().T),
    "an attribute more": hr.Query.where(DOMAIN, {**OLD_WOMEN, "k": [0, 1, 2]}),
    "the unit elsewhere": hr.Query(
        ("sex", "age"), (2, 10), factors=(np.array([1, 0]), ONE * (np.arange(10) >= 5))
    ),
    "a whole scale": hr.Query.where(DOMAIN, OLD_WOMEN, scale=1),
}
WISHES = [{}, {"within_count": 200}]


@pytest.mark.parametrize("wish", WISHES, ids=["learned", "measured"])
@pytest.mark.parametrize("first", ["query", "sql"])
def test_one_count_is_one_question_in_whatever_form_it_comes(first, wish):
    c = curator()
    session = hr.Session(budget=part("1/10000")).open(c)
    given = session.ask(ONE_COUNT[first], **wish)
    learns(session)
    spent = c.ledger.spent()
    for form, asked in ONE_COUNT.items():
        assert session.explain(asked, **wish).cached, form
        again = session.ask(asked, **wish)
        assert again.cached, form
        assert (again.value, again.error) == (given.value, given.error), form
        assert (again.table is not None) == isinstance(asked, str)
    several = session.ask(list(ONE_COUNT.values())[3:], **wish) if wish else None
    assert several is None or set(several.value) == {given.value}
    assert c.ledger.spent() == spent


def test_another_unit_is_the_same_count():
    session = hr.Session(budget=part("1/10000")).open(curator())
    given = session.ask(hr.Query.where(DOMAIN, OLD_WOMEN), within_count=200)
    percent = hr.Query.where(DOMAIN, OLD_WOMEN, scale=-0.5)
    other = session.ask(percent, within_count=200)
    assert other.cached
    assert other.value == -0.5 * given.value
    assert other.error == 0.5 * given.error == session.explain(percent, within_count=200).error
    twice = session.ask("SELECT 2 * COUNT(*) FROM t WHERE sex = 'F' AND age >= 50", within_count=200)
    assert twice.value == 2 * given.value


@pytest.mark.parametrize(
    "words",
    [
        "SELECT sex, COUNT(*) AS n FROM t WHERE k = 1 AND age < 50 GROUP BY sex",
        "SELECT COUNT(*), sex FROM t WHERE age < 50 AND k = 1 GROUP BY sex",
    ],
)
@pytest.mark.parametrize("wish", WISHES, ids=["learned", "measured"])
def test_columns_may_be_called_and_ordered_otherwise(words, wish, tmp_path):
    path, asked = tmp_path / "l.db", "SELECT sex, COUNT(*) FROM t WHERE age < 50 AND k = 1 GROUP BY sex"
    plan = hr.Session(budget=part("1/10000"))
    session = plan.open(curator(ledger=path))
    given = session.ask(asked, **wish)
    learns(session)
    for asks in (session, plan.open(curator(ledger=path))):
        again = asks.ask(words, **wish)
        assert again.cached
        assert np.array_equal(again.value, given.value)
        assert again.table.columns == hr.sql(DOMAIN, words).evaluate(asks.table).columns
        assert {v for row in again.table.rows for v in row} == {v for row in given.table.rows for v in row}


def test_one_form_counts_the_same_rows():
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 9, (2, 10, 3))
    for _ in range(300):
        names = DOMAIN.order(rng.choice(list(DOMAIN), rng.integers(1, 4), replace=False).tolist())
        masks = {a: rng.random(DOMAIN[a].size) < rng.choice([0.3, 0.7, 1.0]) for a in names}
        fraction = names[0] if rng.random() < 0.5 else None
        weights = {fraction: rng.choice([0.0, 0.25, 1.0], DOMAIN[fraction].size)} if fraction else None
        product = hr.Query.where(DOMAIN, masks, weights=weights, scale=3.0)
        dense = hr.Query(product.attributes, product.shape, dense=product.weights)
        table = cells.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in names))
        made = one_form(product)
        left = cells.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in made.attributes))
        exact = float(product.apply(table.astype(np.float64)))
        assert float(made.apply(left.astype(np.float64))) == pytest.approx(exact, abs=1e-9)
        assert made.digest == one_form(made).digest
        assert made.scale == 1.0
        assert set(made.attributes) <= set(names)
        if not is_nothing(product):
            assert made.digest == one_form(dense).digest
    either = np.array([[1.0, 0.0], [1.0, 1.0]])
    two = hr.Domain({"a": 2, "b": 2})
    assert one_form(hr.Query.of(two, ["a", "b"], either)).dense is not None
    assert one_form(hr.Query.of(two, ["a", "b"], np.ones((2, 2)))).attributes == ()


@pytest.mark.parametrize(
    "sure",
    [np.float64(0.99), np.float32(0.5), Fraction(99, 100), Decimal("0.99")],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("wish", WISHES, ids=["learned", "measured"])
def test_a_confidence_is_a_number_of_any_type(sure, wish):
    session = hr.Session(budget=part("1/10000")).open(curator())
    given = session.ask(SQL, confidence=float(sure), **wish)
    learns(session)
    again = session.ask(SQL, confidence=sure, **wish)
    assert again.cached
    assert again.value == given.value
    assert type(again.confidence) is float


def test_a_session_of_an_odd_confidence_is_the_same_one(tmp_path):
    path = tmp_path / "l.db"
    asked = []
    for sure in (0.99, Fraction(99, 100), np.float64(0.99)):
        session = hr.Session(within_count=300, questions=2, confidence=sure).open(curator(ledger=path))
        asked.append(session.ask(SQL))
    assert len({a.value for a in asked}) == 1
    assert [a.cached for a in asked] == [False, True, True]


@pytest.mark.parametrize(
    "plan", [hr.Session(epsilon=0.5), hr.Session(epsilon=0.5, cells=10)], ids=["dense", "factored"]
)
def test_nobody_can_write_into_what_others_are_told(plan, tmp_path):
    path = tmp_path / "l.db"
    session = plan.open(curator(ledger=path))
    grouped = "SELECT sex, COUNT(*), AVG(age) FROM t GROUP BY sex"
    asked = [
        ("sex", "age"),
        grouped,
        [*list(ONE_COUNT.values())[3:5], hr.Query.total()],
        hr.marginals(DOMAIN, 1),
    ]
    for question in asked:
        given = session.ask(question)
        kept = given.value.copy()
        for array in (given.value, given.error, *([given.table.values] if given.table else [])):
            array[...] = -1.0
        for _ in range(2):
            again = session.ask(question)
            assert np.array_equal(again.value, kept)
            again.value[...] = -2.0
        assert np.array_equal(plan.open(curator(ledger=path)).ask(question).value, kept)
    table = session.table(("age", "sex"))
    table[...] = 0.0
    assert session.table(("age", "sex")).sum() > 0


# -- nothing for nothing ----------------------------------------------------------------------------------


def test_what_the_schema_alone_answers_is_free_and_exact():
    c = curator()
    session = hr.Session(budget=part("1/10000")).open(c)
    nothing = hr.Query.where(DOMAIN, {"sex": []})
    spent = c.ledger.spent()
    for asked in (nothing, [nothing, nothing], "SELECT COUNT(*) FROM t WHERE sex < 'A'"):
        for wish in WISHES:
            assert session.explain(asked, **wish).cost.rho == 0
            answer = session.ask(asked, **wish)
            assert not np.any(answer.value)
            assert not (wish and np.any(answer.error))
    assert c.ledger.spent() == spent
    mixed = session.ask([nothing, hr.Query.total()], within_count=200)
    assert list(mixed.sources) == ["certified", "measured"]
    assert mixed.value[0] == mixed.error[0] == 0


@pytest.mark.parametrize(
    "wrong",
    ["SELECT FOO", "SELECT who, COUNT(*) FROM t GROUP BY who", 7, [["SELECT COUNT(*) FROM t"]]],
    ids=["words", "a row for each person", "number", "nested"],
)
def test_a_list_with_something_wrong_in_it_is_refused_before_anything_is_charged(wrong):
    c = curator(unit="who", max_rows=2)
    session = hr.Session(budget=part("1/10000")).open(c)
    spent = c.ledger.spent()
    with pytest.raises(hr.HedgerowError):
        session.ask([SQL, ("sex",), wrong], within_count=200)
    assert c.ledger.spent() == spent
    assert [np.size(a.value) for a in session.ask([SQL, ("sex",)], within_count=200)] == [1, 2]


NOT_NUMBERS = ["0.1", [0.1], True, {}, b"1", 1j]


@pytest.mark.parametrize("given", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ["within", "within_count", "confidence"])
def test_what_is_no_number_is_refused_in_one_sentence(name, given):
    session = hr.Session(budget=part("1/10000")).open(curator())
    for act in (session.ask, session.explain, lambda _, **o: hr.Session(**o).open(curator())):
        with pytest.raises(hr.UnsupportedQuery, match=f"`{name}` is a number"):
            act(SQL, **{name: given})


def test_other_odd_things_are_refused_in_one_sentence():
    c = curator()
    session = hr.Session(budget=part("1/10000")).open(c)
    endless: list = []
    endless.append(endless)
    odd = [
        *(
            lambda q=q: session.ask(q)
            for q in (None, b"SELECT", {"sex": "F"}, endless, [endless], np.array([["sex"]]))
        ),
        *(lambda q=q: session.ask(q) for q in ("", "(" * 9999, ("sex", "zz"), ("sex", "sex"), [], hr.Query)),
        *(lambda q=q: session.quantile("age", q) for q in (None, "x", np.nan, 0, 1, True)),
        *(lambda w=w: session.median("age", where=w) for w in (5, {"age": 3}, {"zz": 1}, {"sex": "X"})),
        lambda: session.quantile("age", confidence="x"),
        *(lambda t=t: session.table(t) for t in (5, b"age", ("zz",), ("age", "age"))),
        *(lambda p=p: session.share(p) for p in (None, 5, "owner", session)),
        *(lambda o=o: hr.Session(**o).open(c) for o in ({"budget": 5}, {"name": 5}, {"name": None})),
        lambda: session.ask(SQL, within_count=10**400),
        lambda: session.ask(SQL, within=np.nan),
    ]
    spent = c.ledger.spent()
    for i, act in enumerate(odd):
        with pytest.raises(hr.HedgerowError) as caught:
            act()
        assert "\n" not in str(caught.value), i
    assert c.ledger.spent() == spent
    assert session.ask(SQL).source == "learned"


# -- explaining a list ------------------------------------------------------------------------------------


def test_a_list_is_judged_by_its_dearest_piece():
    """There is enough to set aside the worst case of the first piece, not that of the second."""
    from hedgerow.mechanisms.session.certify import Certify

    c = curator(hr.Budget(rho=9, delta=1e-6))
    session = hr.Session(within=0.05, questions=2000).open(c)
    assert session.ask(SQL).source == "certified"
    core, goal = session._core, session._core.own_goal
    cheap = hr.Query.of(DOMAIN, ["age"], np.linspace(0, 0.2, 10))
    dear = hr.Query.where(DOMAIN, {"k": 1})
    certify = Certify(core, c, goal, 1)
    less, more = (certify._worst(core.guards[0], certify._single_price(q)) for q in (cheap, dear))
    assert less.amount < more.amount
    ann = session.share(c.allot((less + more).share(Fraction(1, 2)), "ann"))
    asked = core.guards[0]._runs["over"].asked
    said = ann.explain([cheap, dear])
    assert said.source == "measured"
    answer = ann.ask([cheap, dear])
    assert answer.source == "measured"
    assert answer.sources is None  # none of them was compared
    assert core.guards[0]._runs["over"].asked == asked


KINDS = {
    "count": SQL,
    "groups": "SELECT k, sex, COUNT(*) FROM t GROUP BY k, sex",
    "averages": "SELECT sex, AVG(age), SUM(k) FROM t GROUP BY sex",
    "largest": "SELECT age, COUNT(*) FROM t GROUP BY age ORDER BY COUNT(*) DESC LIMIT 2",
    "people": "SELECT k, COUNT(DISTINCT who) FROM t GROUP BY k",
    "query": hr.Query.of(DOMAIN, ["age"], np.linspace(0, 0.3, 10)),
    "table": ("age", "sex"),
    "list": [hr.Query.where(DOMAIN, {"age": np.arange(10) >= i, "k": i % 3}) for i in range(8)],
    "workload": hr.marginals(DOMAIN, 1),
}
PLANS = {
    "budget": hr.Session(budget=part("1/1000")),
    "accuracy": hr.Session(within=0.06, questions=2000),
    "badly primed": hr.Session(budget=part("1/100000"), within=0.04, questions=60),
}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("plan", PLANS)
def test_explaining_never_touches_rows_and_answers_cost_what_they_say(plan, neighbours, monkeypatch):
    c = curator(hr.Budget(rho=50, delta=1e-6), neighbours=neighbours, unit="who", max_rows=2)
    session = PLANS[plan].open(c)
    for wish in ({}, {"within_count": 170}, {"within": 0.05, "simultaneous": True}):
        for kind, asked in KINDS.items():
            if kind == "people" and not wish and session._core.own_goal is None:
                continue
            newest = c.ledger.newest
            with monkeypatch.context() as patch:
                for name, method in vars(Rows).items():
                    if callable(method):
                        patch.setattr(Rows, name, lambda *_, **__: pytest.fail("rows were touched"))
                said = session.explain(asked, **wish)
            assert c.ledger.newest == newest
            before = charged(c.ledger)
            answer = session.ask(asked, **wish)
            paid = charged(c.ledger) - before
            told = Fraction(0) if answer.cost is None else answer.cost.cost.amount
            assert paid <= told <= said.cost.cost.amount * (1 + Fraction(1, 10**9)), kind
            assert told <= paid * Fraction(1001, 1000), kind


def charged(ledger) -> Fraction:
    """What was spent, without what is only set aside."""
    held = sum((ledger.remaining(name).amount for name in session_log._accounts(ledger)), Fraction(0))
    return ledger.spent().amount - held


# -- interrupted at any line of the ledger ----------------------------------------------------------------


class Stop(BaseException):
    """Ctrl-C, exactly there."""


def test_an_answer_that_was_cut_off_before_it_was_written_is_not_told_later(tmp_path, monkeypatch):
    """Somebody else has been told another one meanwhile."""
    path, plan = tmp_path / "l.db", hr.Session(budget=part("1/10000"))
    one, two = (plan.open(curator(ledger=path, seed=seed)) for seed in (7, 8))
    record = Ledger.record

    def stopping(self, *args, **options):
        if options["note"] == "Session: answers":
            raise Stop
        return record(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", stopping)
        with pytest.raises(Stop):
            one.ask(SQL)
    learns(two)
    told = two.ask(SQL)
    assert one.ask(SQL).value == told.value
    assert plan.open(curator(ledger=path)).ask(SQL).value == told.value


@pytest.mark.parametrize("seed", range(size(3, 40)))
def test_whatever_is_cut_off_nobody_hears_two_answers(seed, tmp_path, monkeypatch):
    """Two that hold one session, four accounts, and interruptions before and after any write."""
    rng, path, left = random.Random(seed), tmp_path / "l.db", [None]
    begin = curator(ledger=path, neighbours="replace" if seed % 3 == 2 else "add_remove")
    for name, rho in (("ann", "1/20"), ("bob", "1/5"), ("cat", "1/100000")):
        begin.allot(part(rho), name)
    plan = (
        hr.Session(budget=part("1/100"))
        if seed % 2
        else hr.Session(budget=part("1/1000"), within=0.1, questions=60)
    )

    def stopping(write):
        def wrapped(*args, **options):
            _count(left)
            done = write(*args, **options)
            _count(left)
            return done

        return wrapped

    for name in ("charge", "record", "allot", "settle"):
        monkeypatch.setattr(Ledger, name, stopping(getattr(Ledger, name)))
    masks = [{"k": i % 3, "age": np.arange(10) >= i} for i in range(8)]
    pool = [
        *(hr.Query.where(DOMAIN, m) for m in masks),
        SQL,
        ("sex", "k"),
        "SELECT sex, AVG(age) FROM t GROUP BY sex",
    ]
    given, held, stopped = {}, [None, None], 0
    for _ in range(70):
        i, who, place = rng.randrange(2), rng.choice(["owner", "ann", "bob", "cat"]), rng.randrange(len(pool))
        wish = rng.choice([{}, {}, {"within_count": 150.0}])
        # Until three were cut off every one may be; answers that are kept already write nothing to stop at.
        left[0] = rng.randrange(1, 4) if stopped < 3 else rng.choice([None, rng.randrange(1, 8)])
        try:
            if held[i] is None or rng.random() < 0.05:
                again = curator(None, path, rng.randrange(999), begin.privacy.neighbours)
                held[i] = (again, plan.open(again))
            c, session = held[i]
            if rng.random() < 0.1:
                session.close()
                continue
            asks = session if who == "owner" else session.share(c.child(who))
            answer = asks.ask(pool[place], **wish)
        except (Stop, hr.BudgetExceeded) as error:
            stopped += isinstance(error, Stop)
            continue
        finally:
            left[0] = None
        key, said = (place, *wish), (np.asarray(answer.value).tobytes(), answer.source)
        assert said == given.setdefault(key, said)
    assert stopped >= 3
    monkeypatch.undo()
    last = curator(None, path, 1, begin.privacy.neighbours)
    with plan.open(last) as session:
        for (place, *wish), said in given.items():
            answer = session.ask(pool[place], **({"within_count": 150.0} if wish else {}))
            assert answer.cached
            assert (np.asarray(answer.value).tobytes(), answer.source) == said
    assert last.ledger.verify().ok
    assert not [n for n in session_log._accounts(last.ledger) if ": reserve " in n]


def _count(left: list) -> None:
    if left[0] is not None:
        left[0] -= 1
        if left[0] == 0:
            left[0] = None
            raise Stop


# -- the command line -------------------------------------------------------------------------------------


COUNT = "SELECT COUNT(*) FROM t"


def test_explaining_a_first_question_makes_no_budget(people_cli):
    said = people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--explain")
    assert said.exit_code == 0, said.output
    assert people_cli("ask", "people.csv", "SELEC", "--epsilon", "1").exit_code == 2
    assert people_cli("ask", "people.csv", COUNT, "--epsilon", "1", "--within", "7").exit_code == 2
    assert not Path("people.csv.hedgerow.db").exists()
    assert people_cli("budget", "init", "people.csv", "--epsilon", "2").exit_code == 0


def test_explaining_says_what_cannot_be_afforded(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    ask = ("ask", "people.csv", COUNT)
    assert "more than is left" in people_cli(*ask, "--epsilon", "3", "--explain").stdout
    assert not json.loads(people_cli(*ask, "--epsilon", "3", "--explain", "--json").stdout)["affordable"]
    assert "more than is left" not in people_cli(*ask, "--epsilon", "1", "--explain").stdout
    assert people_cli(*ask, "--epsilon", "0.9").exit_code == 0
    assert "more than is left" in people_cli(*ask, "--within-count", "2", "--explain").stdout
    few = people_cli(*ask, "--within-count", "900", "--explain").stdout
    assert "more than is left" not in few
    assert "up to 900" in few
    assert "--anew" in people_cli(*ask, "--anew", "--explain").stdout


def test_a_price_that_cannot_be_paid_is_not_written_down(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    assert people_cli("ask", "people.csv", COUNT, "--epsilon", "2").exit_code == 3
    with Ledger.open("people.csv.hedgerow.db", create=False) as ledger:
        assert ledger.newest == 0
    c = curator()
    with pytest.raises(hr.BudgetExceeded):
        hr.Session(budget=part(2)).open(c)
    assert not [e for e in c.ledger.export()["entries"] if "prime" in e["line"]["note"]]


def test_of_two_first_questions_with_two_prices_one_is_paid(people_cli, monkeypatch):
    from hedgerow.errors import HedgerowError
    from hedgerow.release.schema import Schema
    from hedgerow.service.learning import Learning

    assert people_cli("budget", "init", "people.csv", "--epsilon", "9").exit_code == 0
    domain, price, both = (
        Schema.load(Path("schema.yaml")).confirmed_domain(),
        Learning.price,
        threading.Barrier(2),
    )

    def slowly(*args):
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # both are here at once, if they may be
        return price(*args)

    monkeypatch.setattr(Learning, "price", slowly)
    opened, refused = [], []

    def first(epsilon):
        c = hr.Curator(hr.Table.open("people.csv", domain), None, "people.csv.hedgerow.db")
        try:
            opened.append(Learning(epsilon).open(c))
        except HedgerowError as error:
            refused.append(error)

    threads = [threading.Thread(target=first, args=(e,)) for e in ("1", "2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == len(refused) == 1
    assert "--anew" in str(refused[0])
    charged = [e for e in opened[0]._core.curator.ledger.export()["entries"] if e["line"]["kind"] == "charge"]
    assert len(charged) == 1


@pytest.mark.parametrize("name", ["ask", "budget"])
def test_the_command_line_knocks_at_front_doors_only(name):
    """It uses no private name of any other file's objects."""
    from hedgerow.serve import cli

    tree = ast.parse((Path(cli.__file__).parent / f"{name}.py").read_text())
    private = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")}
    assert not private
