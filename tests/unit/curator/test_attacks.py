"""Ways around the promise that were tried once and must stay closed."""

from __future__ import annotations

import datetime as dt
import json
import threading
from decimal import Decimal
from fractions import Fraction
from traceback import walk_tb

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.curator import refining
from hedgerow.curator.forgetting import forgetting
from hedgerow.curator.noise.local import LocalReports, randomize_records
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.curator.statistics.statistics import Answers, LevelCounts, QueryErrors, TableErrors
from hedgerow.queries.block import ListBlock
from hedgerow.queries.query import ONE

DOMAIN = hr.Domain({"a": 2, "b": 3})


def make(rows=None, **options) -> hr.Curator:
    table = hr.Table.open({"a": [0] * 99, "b": [1] * 99} if rows is None else rows, DOMAIN)
    return hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:", **options)


def test_huge_estimates_cannot_make_a_score_wrap_around():
    domain = hr.Domain({"x": 1024})
    rows = Rows(hr.Table.open({"x": [0] * 100}, domain), bytes(32))
    for huge in (1e300, np.inf, -np.inf, np.nan, 2.0**53):
        scores = TableErrors((("x",),), (np.full(1024, huge),), np.array([huge])).exact(rows)
        more = TableErrors((("x",),), (np.full(1024, huge),), np.array([huge])).exact(
            Rows(hr.Table.open({"x": [0] * 101}, domain), bytes(32))
        )
        assert abs(int(scores[0]) - int(more[0])) <= 1


@pytest.mark.parametrize(
    "score",
    [
        TableErrors((("a",),), (np.zeros((1000, 2)),), np.zeros(1)),
        TableErrors((("a",),), (np.zeros(2),), np.zeros(5)),
        TableErrors((("a",), ("b",)), (np.zeros(2),), np.zeros(1)),
        QueryErrors(hr.marginals(DOMAIN, 1), np.zeros((3, 5))),
        QueryErrors(hr.marginals(DOMAIN, 1), np.zeros(1)),
        LevelCounts("nothing"),
    ],
)
def test_an_estimate_of_another_shape_is_refused_before_anything_is_charged(score):
    curator = make()
    with pytest.raises(hr.HedgerowError):
        curator.select(score, 0.5)
    assert curator.spent.epsilon == 0


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 1, 1], [1, 2], [-1, 0]])
def test_a_workload_cannot_repeat_or_drop_answers(order):
    queries = (hr.Query.where(DOMAIN, {"a": 0}), hr.Query.where(DOMAIN, {"a": 1}))
    with pytest.raises(hr.UnsupportedQuery, match="exactly once"):
        hr.Workload([ListBlock(("a",), queries)], order=np.array(order))


@pytest.mark.parametrize(
    "build",
    [
        lambda: hr.Query(("a",), (2,), dense=np.array([-5, 1])),
        lambda: hr.Query(("a",), (2,), dense=np.array([0, ONE + 1])),
        lambda: hr.Query(("a",), (2,), dense=np.array([0.5, 0.25])),
        lambda: hr.Query(("a",), (2,), dense=np.zeros((1000, 2), dtype=np.int64)),
        lambda: hr.Query(("a", "b"), (2, 3), factors=(np.array([ONE, 0]), np.array([0, ONE, 1]))),
        lambda: hr.Query(("a", "b"), (2, 3), factors=(np.array([ONE, 0]),)),
        lambda: hr.Query(("a",), (2,)),
        lambda: hr.SparseQuery({"oak": -3}),
        lambda: hr.SparseQuery({"oak": ONE + 1}),
        lambda: hr.SparseQuery.of({1: 1, "1": 1}),
    ],
)
def test_weights_that_break_the_sensitivity_cannot_be_built(build):
    with pytest.raises(hr.HedgerowError):
        build()


def test_weights_cannot_be_changed_after_they_were_checked():
    mine = np.array([0, ONE])
    query = hr.Query(("a",), (2,), dense=mine)
    mine[0] = 10**9
    assert query.weights.tolist() == [0, ONE]
    for array in (query.weights, hr.Query.where(DOMAIN, {"a": 0}).factors[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    weights = {"oak": ONE}
    sparse = hr.SparseQuery(weights)
    weights["oak"] = 10**9
    assert sparse.weights["oak"] == ONE


def test_strangers_do_not_get_exact_values():
    class Thief:
        norms = hr.Query.total().norms
        digest = "x"
        attributes = ("a",)
        denominator = 1

        def __len__(self):
            return 1

        def check(self, domain):
            pass

        def exact(self, rows):
            raise AssertionError("a stranger was handed the rows")

        apply = exact

    with pytest.raises(hr.UnsupportedQuery):
        make().select(Thief(), 0.5)
    with pytest.raises(hr.UnsupportedQuery):
        make().measure(Thief(), 0.5)
    with pytest.raises(hr.UnsupportedQuery):
        hr.Workload([Thief()])


def test_local_reports_do_not_keep_the_order_of_the_file():
    """A sorted file would tell by position what the noise hides: the reports are a multiset."""
    plan = LocalReports.plan(DOMAIN, __import__("fractions").Fraction(50), 1, "attribute")
    owners = np.arange(40)
    columns = [np.arange(40) % 2, np.arange(40) % 3]
    reports = randomize_records((owners, columns), plan, hr.testing.seeded(1))
    np.testing.assert_array_equal(reports, reports[:, np.lexsort(reports)])
    assert sorted(zip(*reports, strict=True)) == sorted(zip(*columns, strict=True))  # epsilon 50: all kept


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([Decimal(2**60), Decimal(2**60 + 1)], pa.decimal128(20, 0)),
        pa.array([Decimal("1.50"), Decimal("1.5000000000000001")], pa.decimal128(30, 16)),
        pa.array([dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 1, 9)], pa.timestamp("s")),
        pa.array([2**62, 2**62 + 1]),
        pa.array(["1", "1.0"]),
    ],
    ids=lambda a: str(a.type),
)
def test_different_unit_ids_stay_different(ids):
    table = pa.table({"a": [0, 0], "b": [0, 0], "who": ids})
    rows = Rows(hr.Table.open(table, DOMAIN, unit="who", max_rows=1), bytes(32))
    assert rows.tables([()])[()] == 2


ODD = st.one_of(
    st.none(),
    st.sampled_from(["?", "1", "1.0", "2024-01-02", "-inf", "nan", "true", ""]),
    st.integers(-3, 10**17),
    st.floats(width=32),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-5, max_value=5),
    st.dates(dt.date(2023, 12, 30), dt.date(2024, 1, 3)),
    st.datetimes(dt.datetime(2023, 12, 30), dt.datetime(2024, 1, 3)),
    st.booleans(),
)
ATTRIBUTES = [
    hr.Categorical([0, 1, 2, "2024-01-02", "true", 1e16, 0.5], other=True, missing=True),
    hr.bins(-1, 3, 1, other=True, missing=True),
    hr.bins(-1, 3, 1),
    hr.dates("2024-01-01", "2024-01-03", by="day", other=True, missing=True),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: a.describe())
@given(column=st.lists(ODD, min_size=1, max_size=8))
def test_one_persons_odd_value_does_not_change_how_others_are_read(attribute, column):
    together = attribute.encode(np.array([*column, None], dtype=object)[:-1]).tolist()
    assert together == [int(attribute.encode([value])[0]) for value in column]


@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_floats_are_read_alike_as_objects_and_as_a_typed_column(values):
    for attribute in ATTRIBUTES[:3]:
        typed = attribute.encode(np.array(values, dtype=np.float64))
        np.testing.assert_array_equal(typed, attribute.encode(list(values)))


def test_a_file_that_changes_after_opening_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("who,a,b\n1,0,0\n2,1,1\n")
    table = hr.Table.open(path, DOMAIN, unit="who", max_rows=1)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:")
    path.write_text("a,who,b\n" + "0,5,0\n" * 1000)
    with pytest.raises(hr.SourceError, match="changed or replaced"):
        curator.measure("a", 0.5)
    assert curator.spent.epsilon == 0


def test_a_broken_byte_is_the_owners_error_at_opening_and_never_an_analysts(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + b"0,1\n" * 70_000 + b"\xff,1\n")
    with pytest.raises(hr.SourceError, match="UTF-8"):
        hr.Table.open(path, DOMAIN)


def test_seeded_noise_cannot_be_replayed_as_private(tmp_path):
    table = hr.Table.open({"a": [0], "b": [1]}, DOMAIN)
    path = tmp_path / "x.db"
    with hr.testing.seeded(3):
        test = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=path)
    test.measure("a", 0.5, request="r")
    real = hr.Curator(table, ledger=path)
    with pytest.raises(hr.LedgerError):
        real.measure("a", 0.5, request="r")
    assert "NOT PRIVATE" in str(real.ledger.export())


def test_an_object_that_calls_itself_private_is_not_believed(tmp_path):
    class Fake:
        private = True

        def bytes(self, n):
            return bytes(n)

    table = hr.Table.open({"a": [0], "b": [1]}, DOMAIN)
    assert not hr.Curator(
        table, budget=hr.Budget(epsilon=1), ledger=tmp_path / "x.db", entropy=Fake()
    ).private


def test_a_request_id_is_bound_to_the_domain(tmp_path):
    path = tmp_path / "x.db"
    one = hr.Table.open({"a": ["x"], "b": [1]}, hr.Domain({"a": ["x", "y"]}))
    two = hr.Table.open({"a": ["x"], "b": [1]}, hr.Domain({"a": ["y", "x"]}))
    hr.Curator(one, budget=hr.Budget(epsilon=1), ledger=path).measure("a", 0.25, request="r")
    with pytest.raises(hr.LedgerError):
        hr.Curator(two, ledger=path).measure("a", 0.25, request="r")


def test_an_empty_table_answers_everything_that_a_full_one_does():
    people = PeopleCounts(hr.sql(DOMAIN, "SELECT COUNT(DISTINCT who) FROM t", unit="who").forms[0])
    for n in (0, 1):
        frame = pd.DataFrame({"a": [0] * n, "b": [0] * n, "who": pd.Series(["p"] * n, dtype="str")})
        for unit in ({}, {"unit": "who", "max_rows": 1}):
            table = hr.Table.open(frame, DOMAIN, **unit)
            curator = hr.Curator(table, budget=hr.Budget(epsilon=9), ledger=":memory:", neighbours="replace")
            assert curator.units == n
            assert curator.measure(people, 1).values.shape == (1,)
            assert hr.RandomizedResponse(epsilon=1).release(curator).total == pytest.approx(n)


def test_an_allotted_curator_cannot_reach_other_accounts():
    curator = make()
    child = curator.allot(0.25, "anna")
    curator.allot(0.25, "ben")
    grand = child.allot(0.1, "carl")
    assert curator.child("carl").remaining.epsilon == grand.remaining.epsilon
    for other in ("owner", "ben", "anna"):
        with pytest.raises(hr.LedgerError):
            child.child(other)


def test_a_link_to_the_data_shares_its_ledger(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,b\n0,1\n")
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    hr.Curator(hr.Table.open(data, DOMAIN), budget=hr.Budget(epsilon=1)).measure("a", 1)
    with pytest.raises(hr.BudgetExceeded):
        hr.Curator(hr.Table.open(link, DOMAIN)).measure("a", 1)


def test_a_failing_charge_leaves_no_exact_value_in_the_traceback(monkeypatch):
    curator = make()
    monkeypatch.setattr(hr.Ledger, "charge", lambda *a, **k: a[2]() and 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        curator.measure("a", 0.5)
    frame = next(t for t in caught.traceback if t.name == "_act")
    assert frame.frame.f_locals["held"] == []


def test_several_threads_share_one_curator(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "0,1\n1,2\n" * 3000)
    curator = hr.Curator(hr.Table.open(path, DOMAIN), budget=hr.Budget(epsilon=1), ledger=tmp_path / "x.db")
    failed: list[BaseException] = []

    def ask(i: int) -> None:
        try:
            curator.measure([("a",), ("b",), ("a", "b")][i % 3], "1/16")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [type(e) for e in failed] == [hr.BudgetExceeded] * 4
    assert curator.remaining.epsilon == 0


def open_run(curator: hr.Curator, **options):
    return curator.sparse_vector(10**6, "1/2", method="above_threshold", denominator=1, run="r", **options)


def test_no_other_act_can_write_into_a_sparse_vector_run():
    curator = make()
    for names in ({"run": "sparse-vector:r"}, {"request": "sparse-vector:r#1"}):
        with pytest.raises(hr.LedgerError, match="belong to sparse-vector runs"):
            curator.measure_all(["a"], "1/100", **names)
    curator.measure_all(["a"], "1/100", run="r")  # the same label in another namespace
    first, second = open_run(curator), open_run(curator)
    first.ask_all([hr.Query.total()] * 3)
    second.ask_all([hr.Query.total()] * 2)
    assert (second.asked, first._curator.ledger.spent()) == (5, curator.ledger.spent())
    first.ask(hr.Query.total())
    assert first.asked == 6


def test_a_stale_handle_never_gives_a_second_above():
    curator = make()
    runs = [curator.sparse_vector(-(10**6), "1/2", denominator=1, run="r") for _ in range(3)]
    assert runs[0].ask(hr.Query.total()).above.tolist() == [True]
    for run in runs:
        with pytest.raises(hr.RunClosed):
            run.ask(hr.Query.total())


@pytest.mark.parametrize("threshold", [10**6, -(10**6)])
def test_a_ledger_that_cannot_be_written_fails_below_and_above_alike(monkeypatch, threshold):
    curator = make()
    run = curator.sparse_vector(threshold, "1/2", denominator=1, run="r")
    sizes = []
    from hedgerow.privacy.ledger.transaction import Transaction

    def full(self, answer=None, state=None, **options):
        sizes.append(len(answer))
        raise hr.LedgerError("disk full")

    monkeypatch.setattr(Transaction, "record", full)
    with pytest.raises(hr.LedgerError, match="disk full"):
        run.ask(hr.Query.total())
    assert sizes == [112 + 48 + len(json.dumps(""))]


def test_a_seeded_run_cannot_be_reopened_as_private(tmp_path):
    table = hr.Table.open({"a": [0], "b": [1]}, DOMAIN)
    path = tmp_path / "x.db"
    test = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=path, entropy=hr.testing.seeded(7))
    open_run(test)
    with pytest.raises(hr.LedgerError):
        open_run(hr.Curator(table, ledger=path))
    assert "NOT PRIVATE" in str(test.ledger.export())


def test_lattices_cannot_be_bent():
    from hedgerow.curator.statistics.statistics import TableOf

    with pytest.raises(TypeError):
        TableOf(("a",), denominator=1)
    for denominator in (2.5, True, 0, -1):
        with pytest.raises(hr.UnsupportedQuery):
            make().sparse_vector(1, "1/2", denominator=denominator)


def test_a_refused_comparison_leaves_no_exact_value_in_the_traceback():
    run = open_run(make())
    with pytest.raises(hr.UnsupportedQuery) as caught:
        run.ask_all(("a",), [1.0, 2.0, 3.0])
    assert all("exact" not in t.frame.f_locals for t in caught.traceback if t.name == "_differences")


def test_a_score_cannot_be_measured_as_if_it_were_a_statistic():
    # a score's norms bound each score on its own; as a vector it may move by more
    curator = hr.Curator(
        hr.Table.open({"a": [0, 1]}, hr.Domain({"a": 2})), hr.Budget(1.0), ":memory:", "replace"
    )
    with pytest.raises(hr.UnsupportedQuery):
        curator.measure(hr.primitives.LevelCounts("a"), 0.5)
    assert curator.spent.epsilon == 0


def test_a_sparse_vector_compares_nothing_that_moves_by_more_than_a_row():
    from hedgerow.curator.statistics.boosting import LowSensitivityAnswers
    from hedgerow.curator.statistics.sketch import LengthOfCounts
    from hedgerow.curator.statistics.strategy import StrategyAnswers
    from hedgerow.queries.strategies.strategy import MatrixStrategy

    curator = make(neighbours="replace")
    run = curator.sparse_vector(10_500, "1/2", denominator=1)
    large = MatrixStrategy(("a",), np.array([0, 1]), np.array([[1000, 0]]))
    gap = LowSensitivityAnswers((hr.LargestGap("a", 50),))
    for statistic in (StrategyAnswers(large), gap, LengthOfCounts()):
        with pytest.raises(hr.UnsupportedQuery, match="one row"):
            run.ask_all(statistic)
    assert run.asked == 0


def test_a_product_query_without_its_unit_is_no_count():
    # all factors 0/1 and none carries the lattice's unit: the weights are 1/ONE, not 1
    query = hr.Query(("a", "b"), (2100, 2100), factors=(np.ones(2100, np.int64), np.ones(2100, np.int64)))
    assert query.denominator == ONE
    assert query.norms.l1 == 1
    domain = hr.Domain({"a": 2100, "b": 2100})
    rows = Rows(hr.Table.open({"a": [0] * 3, "b": [0] * 3}, domain), bytes(32))
    assert int(Answers(hr.Workload.of([query])).exact(rows)[0]) == 3


def test_a_run_takes_only_plans_of_its_own_kind_and_people():
    from fractions import Fraction

    from hedgerow.curator.runs.one_sided_plan import plan as one_sided_plan
    from hedgerow.curator.runs.sparse_vector import SparseVectorRun
    from hedgerow.curator.runs.sparse_vector_plan import plan
    from hedgerow.privacy.budget import Cost

    curator = make()
    price = Cost("epsilon", Fraction(1, 2))
    one_sided = one_sided_plan(price, Fraction(1), 5, 1, side="over")
    small = plan("above_threshold", price, Fraction(1, 10**6), 5, 1)
    for made in (one_sided, small):
        with pytest.raises(hr.UnsupportedQuery, match="another kind"):
            SparseVectorRun(curator, made, "x")
    run = curator.one_sided(5, "1/4", side="over", denominator=1)
    with pytest.raises(hr.UnsupportedQuery, match="own side"):
        run._run.ask_all(hr.Query.total(), side="both")
    assert curator.spent.epsilon == 0.25


def test_a_class_that_says_it_is_of_the_room_is_not():
    from hedgerow.curator.statistics.statistics import SparseAnswers, TableOf

    class Mine(TableOf):
        pass

    Mine.__module__ = "hedgerow.curator.mine"
    curator = make()
    with pytest.raises(hr.UnsupportedQuery):
        curator.measure(Mine(("a",)), 0.5)
    for forged in (lambda: Answers(object()), lambda: SparseAnswers((object(),))):
        with pytest.raises(hr.UnsupportedQuery):
            forged()
    assert curator.spent.epsilon == 0


def test_a_query_of_somebody_elses_class_sees_no_table():
    class Evil(hr.Query):
        def apply(self, marginal):
            raise AssertionError(f"saw {marginal}")

    evil = Evil(("a",), (2,), factors=(np.array([ONE, 0]),))
    curator = make()
    for ask in (
        lambda: curator.measure(evil, 0.5),
        lambda: curator.measure([evil], 0.5),
        lambda: curator.sparse_vector(5, 0.5, denominator=1).ask(evil),
        lambda: hr.Workload([ListBlock(("a",), (evil,))]),
    ):
        with pytest.raises(hr.UnsupportedQuery):
            ask()
    with pytest.raises(AttributeError):
        hr.marginals(DOMAIN, 1).blocks = ()


def test_weights_that_were_built_later_cannot_be_changed_either():
    query = hr.Query.where(DOMAIN, {"a": 0, "b": 1})
    with pytest.raises(ValueError, match="read-only"):
        query.weights[0, 1] = 10**9


def _smooth_parts() -> dict:
    from fractions import Fraction

    return {
        "label": "a",
        "sides": np.array([0, 1]),
        "votes": {},
        "penalties": (1,),
        "candidates": {"b": np.array([[1, 1, -1], [-1, -1, 1]])},
        "cap": 1,
        "samples": 10**6,
        "epsilon_base": Fraction(1, 2),
    }


def test_a_stranger_that_looks_like_a_round_of_boosting_is_no_round():
    from types import SimpleNamespace

    from hedgerow.curator.statistics.smooth import weak_hypothesis
    from hedgerow.privacy import events

    seen = []
    stranger = SimpleNamespace(
        **_smooth_parts(),
        event=events.Pure("1/1000000"),
        digest="x",
        exact=lambda rows: seen.append(rows),
        draw=lambda held, one, entropy: 0,
    )
    curator = make(neighbours="replace")
    with pytest.raises(hr.UnsupportedQuery):
        weak_hypothesis(curator, stranger)
    assert not seen
    assert curator.spent.epsilon == 0


def test_a_round_of_boosting_that_prices_itself_is_no_round():
    from hedgerow.curator.statistics.smooth import SmoothRound, weak_hypothesis
    from hedgerow.privacy import events

    class Cheap(SmoothRound):
        event = events.Pure("1/1000000")

    curator = make(neighbours="replace")
    with pytest.raises(hr.UnsupportedQuery):
        weak_hypothesis(curator, Cheap(**_smooth_parts()))
    assert curator.spent.epsilon == 0


class _Unspeakable:
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        Decimal("sNaN"),
        10**5000,
        -(10**5000),
        np.timedelta64(5, "D"),
        np.timedelta64("NaT"),
        Decimal("1e999999"),
        _Unspeakable(),
    ],
    ids=lambda v: type(v).__name__,
)
def test_no_value_makes_reading_rows_fail_or_changes_another_row(value):
    from hedgerow.queries.domain.encoding import text_of, to_arrow

    assert isinstance(text_of(value), str)
    attribute = hr.Categorical(["a", "b"], other=True, missing=True)
    assert attribute.encode(to_arrow(["a", "b", value])).tolist()[:2] == [0, 1]
    assert attribute.encode(to_arrow(np.array(["a", value, "b"], dtype=object))).tolist()[::2] == [0, 1]
    numbers = hr.bins(0, 4, 1, missing=True)
    assert numbers.encode(to_arrow([1, 2, value])).tolist()[:2] == [1, 2]


def test_a_session_of_test_randomness_is_not_continued_as_private(tmp_path):
    table = hr.Table.open({"a": [0] * 99, "b": [1] * 99}, DOMAIN)
    plan, question = hr.Session(within_count=20.0, questions=1), "SELECT COUNT(*) FROM t WHERE a = 0"
    with hr.testing.seeded(3):
        seeded = hr.Curator(table, hr.Budget(50, 1e-6), tmp_path / "l.db")
    with plan.open(seeded) as session:
        session.ask(question)
        assert session.ask(question).cached
    seeded.ledger.close()
    real = hr.Curator(table, None, tmp_path / "l.db")
    with plan.open(real) as session:
        assert not session.ask(question).cached
    assert real.private


def test_factors_and_weights_with_the_same_bytes_are_different_questions():
    factors = hr.Query(("a", "b"), (2, 2), factors=(np.array([ONE, 0]), np.array([0, 1])))
    weights = hr.Query(("a", "b"), (2, 2), dense=np.array([[ONE, 0], [0, 1]]))
    assert factors.digest != weights.digest


def frames_of(error: BaseException):
    while error is not None:
        at = error.__traceback__
        while at is not None:
            yield at.tb_frame
            at = at.tb_next
        error = error.__cause__ or error.__context__


def test_a_query_made_for_another_domain_meets_no_table():
    other = hr.Domain({"a": 2, "b": 4})
    turned = hr.Domain({"a": 3, "b": 2})
    curator = make()
    for domain in (other, turned):
        query = hr.Query.where(domain, {"a": 0, "b": 1})
        workload = hr.marginals(domain, 2)
        for act in (
            lambda query=query: curator.measure(query, 0.1),
            lambda query=query: curator.measure([query] * 5, 0.1),
            lambda workload=workload: curator.measure(workload, 0.1),
            lambda workload=workload: curator.select(QueryErrors(workload, np.zeros(len(workload))), 0.1),
            lambda query=query: curator.sparse_vector(5, 0.1, denominator=1).ask(query),
        ):
            with pytest.raises(hr.DomainMismatch):
                act()
    assert curator.spent.epsilon <= 0.2  # only the two sparse vectors were opened


@pytest.mark.parametrize("door", ["measure", "sparse_vector", "one_sided"])
def test_no_frame_of_an_error_holds_exact_values(monkeypatch, door):
    curator = make()
    query, counted = hr.Query.where(DOMAIN, {"a": 0}), Rows.tables
    sparse = curator.sparse_vector(5, 0.1, denominator=1)
    one_sided = curator.one_sided(5, 0.1, side="over", denominator=1)
    spent = curator.spent.epsilon

    def broken(self, cliques):
        kept = counted(self, cliques)  # what a failing evaluation would leave behind
        raise KeyboardInterrupt(f"broken after {len(kept)} tables")

    monkeypatch.setattr(Rows, "tables", broken)
    doors = {
        "measure": lambda: curator.measure(query, 0.1),
        "sparse_vector": lambda: sparse.ask(query),
        "one_sided": lambda: one_sided.ask(query, 1.0),
    }
    with pytest.raises(KeyboardInterrupt, match="broken") as caught:
        doors[door]()
    frames = list(frames_of(caught.value))
    assert any(frame.f_code is broken.__code__ for frame in frames)
    assert not any("kept" in frame.f_locals or frame.f_locals.get("held") for frame in frames)
    assert curator.spent.epsilon == spent


def test_no_error_behind_another_holds_exact_values():
    """An error may have a cause, what was handled when it was raised, and others in its group."""

    def failed(name: str) -> BaseException:
        kept = [name]
        try:
            raise ValueError(f"broken after {len(kept)} tables")
        except ValueError as error:
            return error

    def broken() -> None:
        kept = ["handled"]
        raise KeyError(len(kept))

    group = ExceptionGroup("several", [failed("grouped"), failed("grouped too")])

    def told() -> None:
        try:
            broken()
        except KeyError:
            raise RuntimeError("told") from group

    with pytest.raises(RuntimeError) as caught, forgetting():
        told()
    behind = [caught.value, caught.value.__context__, group, *group.exceptions]
    frames = [frame for error in behind for frame, _ in walk_tb(error.__traceback__)]
    assert {frame.f_code.co_name for frame in frames} >= {"failed", "broken"}
    assert not any("kept" in frame.f_locals for frame in frames)


def test_no_frame_of_a_refinement_that_failed_holds_exact_values(monkeypatch):
    made = hr.Curator(hr.Table.open({"a": [0, 1, 1]}, hr.Domain({"a": 2})), hr.Budget(epsilon=9), ":memory:")
    made.measure("a", 1, request="first")
    line = made.ledger.requested("first").seq

    def broken(offsets, *_):
        raise KeyboardInterrupt(f"broken with {len(offsets)} numbers")

    monkeypatch.setattr(refining, "refined_laplace", broken)
    with pytest.raises(KeyboardInterrupt) as caught:
        refining.refine(made, "a", line, Fraction(1))
    frames = list(frames_of(caught.value))
    assert any(frame.f_code is broken.__code__ for frame in frames)
    assert not any({"exact", "offsets", "values"} & set(frame.f_locals) for frame in frames)
    assert made.spent.epsilon == 1


def test_a_charge_that_is_refused_late_leaves_no_exact_values(monkeypatch):
    curator = make()

    def refuse(*_, **__):
        raise hr.BudgetExceeded("someone else was faster")

    monkeypatch.setattr(curator.ledger, "charge", refuse)
    with pytest.raises(hr.BudgetExceeded) as caught:
        curator.measure("a", 0.1)
    for frame in frames_of(caught.value):
        assert not frame.f_locals.get("held")


def test_what_small_databases_share_cannot_be_changed():
    from hedgerow.curator.statistics.small_range import SmallRange

    known = SmallRange(hr.marginals(DOMAIN, 1), 3, 99).incidence(DOMAIN)
    with pytest.raises(ValueError, match="read-only"):
        known.type_of[:] = 99
    with pytest.raises(hr.UnsupportedQuery):
        SmallRange(hr.marginals(DOMAIN, 1), 3, 99).incidence(object())


def test_a_small_database_of_one_question_is_chosen_without_end_or_refusal():
    domain = hr.Domain({"sex": ["F", "M"]})
    table = hr.Table.open({"sex": ["F"] * 500}, domain)
    for workload in ([hr.Query.where(domain, {"sex": "F"})], [hr.Query.total()]):
        curator = hr.Curator(table, hr.Budget(1.0, 1e-6), ":memory:")
        assert hr.SmallDB().release(curator, workload).total > 0
