"""Ways around the promise through several data files, a full disk, or somebody else's classes: closed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.curator.statistics.coarse import CoarseErrors, Views
from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.privacy.ledger.transaction import Transaction
from hedgerow.queries.form import Factor, GroupAxis, LinearForm
from hedgerow.queries.strategies.coarse import GroupBlock

DOMAIN = hr.Domain({"a": 2, "b": 3})
BINS = hr.Domain({"x": hr.bins(0, 4, 1)})
SEX = hr.Domain({"sex": ["F", "M"]})


def folder(path, **files):
    """A folder of Parquet files."""
    path.mkdir()
    for name, columns in files.items():
        pq.write_table(pa.table(columns), path / f"{name}.parquet")
    return path


def make(rows=None, ledger=":memory:") -> hr.Curator:
    table = hr.Table.open({"a": [0] * 99, "b": [1] * 99} if rows is None else rows, DOMAIN)
    return hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=ledger)


# -- several files ----------------------------------------------------------------------------------------

MIXED = {
    "one row's type is everybody's": (BINS, {"x": np.array([0])}, {"x": np.full(100, 1.9)}, {}),
    "a moment beside a day": (
        hr.Domain({"x": hr.dates("2020-01-01", "2021-01-01")}),
        {"x": np.array(["2020-01-01"], "datetime64[us]")},
        {"x": np.array(["2020-01-01"], "datetime64[ms]")},
        {},
    ),
    "people become one": (
        SEX,
        {"sex": ["F"], "who": ["7"]},
        {"sex": ["F"] * 100, "who": np.arange(2**60, 2**60 + 100)},
        {"unit": "who", "max_rows": 1},
    ),
    "a column is missing": (SEX, {"sex": ["F"]}, {"other": ["F"]}, {}),
}


@pytest.mark.parametrize(("first", "then"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("case", MIXED)
def test_files_that_disagree_about_a_column_are_refused_when_they_are_opened(tmp_path, case, first, then):
    domain, one, two, unit = MIXED[case]
    path = folder(tmp_path / "parts", **{first: one, then: two})
    with pytest.raises(hr.HedgerowError, match=r"one type in all files|no column"):
        hr.Table.open(path, domain, **unit)


def test_columns_that_are_not_asked_about_may_differ(tmp_path):
    path = folder(tmp_path / "parts", a={"sex": ["F"], "note": [1]}, b={"sex": ["M"], "note": ["late"]})
    curator = hr.Curator(hr.Table.open(path, SEX), hr.Budget(epsilon=10**6), ":memory:")
    assert curator.measure("sex", 10**5).values.tolist() == [1, 1]


@pytest.mark.parametrize("odd", ["abc", "1.5", "2024-01-01"])
def test_what_a_folder_is_called_changes_nothing_about_the_others(tmp_path, odd):
    domain = hr.Domain({"x": hr.Categorical(["1", "2"], other=True)})
    for name, n in (("1", 5), ("2", 7), (odd, 1)):
        folder(tmp_path / f"x={name}", p={"sex": ["F"] * n})
    curator = hr.Curator(hr.Table.open(tmp_path, domain), hr.Budget(epsilon=10**6), ":memory:")
    assert curator.measure("x", 10**5).values.tolist() == [5, 7, 1]


def test_files_that_appear_later_are_not_read_and_changed_ones_are_noticed(tmp_path):
    path = folder(tmp_path / "parts", a={"sex": ["F"] * 3})
    table = hr.Table.open(path, SEX)
    pq.write_table(pa.table({"sex": np.array([1.5])}), path / "b.parquet")
    curator = hr.Curator(table, hr.Budget(epsilon=10**6), ":memory:")
    assert curator.measure("sex", 10**5).values.tolist() == [3, 0]
    other = hr.Table.open(path / "a.parquet", SEX)
    pq.write_table(pa.table({"sex": ["F"] * 4}), path / "a.parquet")
    with pytest.raises(hr.SourceError, match="changed"):
        hr.Curator(other, hr.Budget(epsilon=1), ":memory:").measure("sex", 1)


def test_a_pattern_of_files_has_no_ledger_of_its_own(tmp_path):
    path = folder(tmp_path / "parts", a={"sex": ["F"]})
    table = hr.Table.open(path / "*.parquet", SEX)
    with pytest.raises(hr.LedgerError, match="pattern"):
        hr.Curator(table, hr.Budget(epsilon=1))
    assert hr.Curator(table, hr.Budget(epsilon=1), tmp_path / "l.db").spent.epsilon == 0


def broken() -> pa.Array:
    """Two texts, the second of which is not UTF-8."""
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
    return pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"a\xff"))


# -- a full disk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["measure", "select"])
def test_a_ledger_without_room_learns_nothing_about_a_draw(monkeypatch, act):
    """What is written for a charge has one length, whatever was drawn: a line that does not fit is free."""
    sizes, carry_out = set(), Transaction._carry_out

    def measured(self, act):
        answer, state = carry_out(self, act)
        sizes.add(len(answer))
        return answer, state

    monkeypatch.setattr(Transaction, "_carry_out", measured)
    for rows in ({"a": [0], "b": [1]}, {"a": [0, 1] * 70_000, "b": [1, 2] * 70_000}):
        curator = make(rows)
        for _ in range(10):
            if act == "measure":
                curator.measure(("a", "b"), "1/100")
            else:
                curator.select(hr.primitives.LevelCounts("b"), "1/100")
    assert len(sizes) == 1


# -- counts of people for another domain, and strangers ---------------------------------------------------


def people(weights=None, parent=(0, 1), size=2) -> PeopleCounts:
    factors = (Factor(("b",), np.array([True, False, True]) if weights is None else weights),)
    axes = (GroupAxis("a", np.array(parent), size),)
    return PeopleCounts(LinearForm(DOMAIN, ("a", "b"), factors, axes, True))


@pytest.mark.parametrize(
    "made",
    [
        lambda: people(weights=np.ones(2, dtype=np.bool_)),
        lambda: people(weights=np.ones((3, 1), dtype=np.bool_)),
        lambda: people(parent=(0,), size=1),
        lambda: people(parent=(0, 2)),
        lambda: people(parent=(0, -1)),
        lambda: people(parent=(0, 1, 1)),
    ],
)
@pytest.mark.parametrize("door", ["measure", "sparse_vector"])
def test_a_count_of_people_for_another_domain_meets_no_row(made, door):
    curator = make({"a": [0] * 9, "b": [0] * 9})  # no row has the levels that the form does not know
    ask = curator.sparse_vector(10**6, 0.1, denominator=1).ask_all if door == "sparse_vector" else None
    spent = curator.spent.epsilon
    with pytest.raises(hr.DomainMismatch, match="another domain"):
        (ask or (lambda target: curator.measure(target, 0.1)))(made())
    assert curator.spent.epsilon == spent


def test_a_strangers_weights_are_not_handed_the_codes_of_rows():
    class Looking(np.ndarray):
        def __getitem__(self, index):
            raise AssertionError("a stranger was handed the rows")

    target = people(weights=np.ones(3, dtype=np.bool_).view(Looking))
    make().measure(target, 0.1)


def test_a_strangers_tables_are_not_scored():
    class Looking(GroupBlock):
        def apply(self, marginal):
            raise AssertionError("a stranger was handed a table")

    class Loose(Views):
        sound = True

    table = (Looking(("a",), (np.arange(2),)), GroupBlock(("a",), (np.arange(2),)))
    numbers = (np.array([0]), np.array([-1]), np.arange(2), np.array([0, 2]), np.array([2]))
    for views in (Views(table[:1], *numbers), Loose(table[1:], *numbers)):
        curator = make()
        with pytest.raises(hr.UnsupportedQuery, match="known norms"):
            curator.select(CoarseErrors(views, np.array([0]), np.zeros(2), np.array([1]), np.zeros(1)), 0.1)
        assert curator.spent.epsilon == 0


# -- a release that is not ended --------------------------------------------------------------------------

ROWS = {"a": [0, 1] * 50, "b": [0, 1, 2, 0, 1] * 20}


class Killed(BaseException):
    """What no handler catches."""


def test_a_release_killed_while_it_opens_leaves_no_price_to_the_next_of_its_name(monkeypatch, tmp_path):
    from hedgerow.mechanisms import account as run_account

    def killed(*_, **__):
        raise Killed

    first = make(ROWS, tmp_path / "l.db")
    with monkeypatch.context() as patch:
        patch.setattr(run_account, "begin_run", killed)
        with pytest.raises(Killed):
            hr.AdaptiveRelease(epsilon=0.8, run="r").release(first, hr.marginals(DOMAIN, 2))
    curator = make(ROWS, tmp_path / "l.db")
    made = hr.AdaptiveRelease(epsilon=0.1, run="r").release(curator, hr.marginals(DOMAIN, 2))
    assert made.cost.epsilon <= 0.1
    assert curator.spent.epsilon <= 0.1


def test_a_release_without_a_name_that_cannot_go_on_can_be_left(tmp_path):
    curator, release = make(ROWS), hr.AdaptiveRelease(epsilon=0.8)

    def stop(progress):
        if progress.step:
            raise Killed

    with pytest.raises(Killed):
        release.release(curator, hr.marginals(DOMAIN, 2), watch=stop)
    assert curator.remaining.epsilon == pytest.approx(0.2)
    release.abandon(curator)
    spent = curator.spent.epsilon
    assert 0 < spent < 0.8
    release.abandon(curator)
    assert curator.spent.epsilon == spent


def test_weights_that_cannot_be_added_up_are_refused_before_anything_is_paid():
    curator = make(ROWS)
    with pytest.raises(hr.UnsupportedQuery, match="1e12"):
        hr.AdaptiveRelease(epsilon=0.5).release(curator, hr.marginals(DOMAIN, 1), weights=[1e308] * 2)
    assert curator.spent.epsilon == 0
