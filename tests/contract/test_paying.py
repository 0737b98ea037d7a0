"""What becomes of a release's money - done, refused, broken off, left - is one rule for all mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.curator import Curator
from hedgerow.mechanisms.account import RunAccount
from hedgerow.mechanisms.mechanism import Mechanism, OneAct, Resumable
from hedgerow.privacy.budget import Cost

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
NAMES = hr.OpenDomain()
TABLES = hr.marginals(DOMAIN, 2)
LIST = hr.Workload.of([hr.Query.where(DOMAIN, {"sex": "F"}), hr.Query.where(DOMAIN, {"k": 1})])
MAKE: dict[str, tuple[Callable[..., Any], Any]] = {
    "laplace": (hr.LaplaceBaseline, TABLES),
    "gaussian": (hr.GaussianBaseline, LIST),
    "histogram": (hr.HistogramRelease, TABLES),
    "factorization": (hr.Factorization, TABLES),
    "matrix": (hr.Factorization, LIST),
    "projection": (hr.Projection, TABLES),
    "adaptive": (hr.AdaptiveRelease, TABLES),
    "adaptive-max": (lambda **o: hr.AdaptiveRelease(objective="max", **o), TABLES),
    "offline": (hr.OfflineMW, TABLES),
    "offline-theorem": (lambda **o: hr.OfflineMW(alpha=0.4, **o), LIST),
    "small": (lambda **o: hr.SmallDB(alpha=0.9, **o), LIST),
    "boosted": (hr.BoostQueries, TABLES),
    "sketch": (lambda **o: hr.SparseProject(size=256, **o), None),
    "response": (hr.RandomizedResponse, TABLES),
}
RESUMABLE = [name for name, (make, _) in MAKE.items() if isinstance(make(), Resumable)]
WAYS = [(name, run) for name in MAKE for run in (None, "spring") if run is None or name in RESUMABLE]
GOES_ON = [(name, run) for name, run in WAYS if run or not isinstance(MAKE[name][0](), OneAct)]
GOES_ON = [(name, run) for name, run in GOES_ON if name in RESUMABLE]
ENDS = {"a refusal": hr.UnsupportedQuery, "a crash": MemoryError, "Ctrl-C": KeyboardInterrupt}


def curator(name: str) -> hr.Curator:
    rng = np.random.default_rng(5)
    rows = {"sex": rng.choice(["F", "M"], 400), "k": rng.integers(0, 3, 400)}
    table = hr.Table.open(rows, DOMAIN)
    if name == "sketch":
        table = hr.Table.open([f"name{i % 37}" for i in range(400)], NAMES)
    neighbours = "replace" if name == "response" else "add_remove"
    return hr.Curator(table, hr.Budget(epsilon=2, delta=1e-6), ":memory:", neighbours=neighbours)


def release(name: str, held: hr.Curator, run: str | None = None, epsilon: float = 1.0) -> hr.Synopsis:
    make, workload = MAKE[name]
    return make(epsilon=epsilon, **({"run": run} if run else {})).release(held, workload)


@contextmanager
def ending(patch: pytest.MonkeyPatch, error: type[BaseException], acts: int) -> Iterator[None]:
    """Every release ends with this error after so many acts."""
    honest, done = Curator._act, [0]

    def act(self: Curator, *args: Any, **options: Any) -> Any:
        if done[0] == acts:
            raise error("ended")
        done[0] += 1
        return honest(self, *args, **options)

    with patch.context() as inside:
        inside.setattr(Curator, "_act", act)
        with pytest.raises(error):
            yield


def charged(held: hr.Curator) -> Any:
    """The sum of all charges, by the ledger's own lines, and how many there are."""
    lines = [e for e in held.ledger.replay(None) if e.kind == "charge"]
    return sum((e.cost for e in lines), Cost.zero("rho")), len(lines)


def set_aside(held: hr.Curator) -> Any:
    """What unfinished releases hold."""
    accounts = held.ledger.children()
    return sum((held.ledger.remaining(a) for a in accounts), Cost.zero("rho"))


def below(kind: type) -> set[type]:
    return {kind} | {c for direct in kind.__subclasses__() for c in below(direct)}


def test_every_mechanism_that_releases_is_in_this_list():
    house = {c for c in below(Mechanism) if c.__module__.startswith("hedgerow") and hasattr(c, "release")}
    assert {type(make()) for make, _ in MAKE.values()} == house


@pytest.mark.parametrize(("name", "run"), WAYS)
def test_done_nothing_stays_set_aside_and_the_synopsis_says_what_was_spent(name, run):
    held = curator(name)
    synopsis = release(name, held, run)
    spent, _ = charged(held)
    assert held.ledger.spent() == spent
    assert set_aside(held).is_zero
    assert all(held.ledger.is_closed(a) for a in held.ledger.children())
    assert synopsis.cost.rho == pytest.approx(held.ledger.budget.part(spent).rho, rel=1e-6)
    assert held.ledger.verify(synopsis.receipt).ok


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("name", "run"), WAYS)
def test_ended_before_the_first_act_the_whole_price_goes_back(name, run, end, monkeypatch):
    held = curator(name)
    with ending(monkeypatch, ENDS[end], 0):
        release(name, held, run)
    assert held.ledger.spent().is_zero
    assert held.ledger.remaining() == held.budget.cost
    if run:
        assert not MAKE[name][0](run=run).begun(held)
    release(name, held, run, 1.5)  # at whatever price: the name is free
    assert held.spent.epsilon <= 1.5


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("name", "run"), GOES_ON)
def test_ended_after_an_act_the_release_goes_on_there_and_pays_nothing_twice(name, run, end, monkeypatch):
    held = curator(name)
    with ending(monkeypatch, ENDS[end], 1):
        release(name, held, run)
        raise ENDS[end]  # a release of one act is done by now
    paid, acts = charged(held)
    assert acts == 1
    price = held.price(1.0)
    if not all(held.ledger.is_closed(a) for a in held.ledger.children()):
        assert paid + set_aside(held) == price
        assert held.ledger.spent() == price  # nobody else can spend it meanwhile
    before = [e.answer for e in held.ledger.replay(None) if e.kind == "charge"]
    release(name, held, run)
    after = [e.answer for e in held.ledger.replay(None) if e.kind == "charge"]
    assert after[:1] == before
    assert held.ledger.spent() == charged(held)[0] <= price
    assert set_aside(held).is_zero


@pytest.mark.parametrize(("name", "run"), [w for w in WAYS if w not in GOES_ON])
def test_ended_after_an_act_what_cannot_go_on_has_paid_for_that_act_and_no_more(name, run, monkeypatch):
    held = curator(name)
    with ending(monkeypatch, KeyboardInterrupt, 1):
        release(name, held, run)
        raise KeyboardInterrupt
    paid, acts = charged(held)
    assert acts == 1
    assert held.ledger.spent() == paid
    assert not held.ledger.children()


@pytest.mark.parametrize(("name", "run"), GOES_ON)
def test_left_for_good_only_what_was_charged_stays_spent(name, run, monkeypatch):
    held, mechanism = curator(name), MAKE[name][0](**({"run": run} if run else {}))
    with ending(monkeypatch, KeyboardInterrupt, 1):
        release(name, held, run)
        raise KeyboardInterrupt
    for _ in "12":  # once
        mechanism.abandon(held)
        assert held.ledger.spent() == charged(held)[0]
        assert set_aside(held).is_zero


@pytest.mark.parametrize("run", ["#spring", "# 1"])
def test_leaving_what_has_no_name_leaves_names_alone_also_odd_ones(run, monkeypatch):
    held = curator("offline")
    with ending(monkeypatch, KeyboardInterrupt, 1):
        release("offline", held, run)
    paid = set_aside(held)
    hr.OfflineMW().abandon(held)
    assert set_aside(held) == paid
    assert hr.OfflineMW(run=run).begun(held)
    release("offline", held, run)
    assert held.ledger.spent() == charged(held)[0] <= held.price(1.0)


@pytest.mark.parametrize(("name", "run"), GOES_ON)
def test_stopped_while_its_account_is_closed_it_is_given_again_free(name, run, monkeypatch):
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    held = curator(name)
    with monkeypatch.context() as inside:
        inside.setattr(RunAccount, "close", stopped)
        with pytest.raises(KeyboardInterrupt):
            release(name, held, run)
    paid = charged(held)
    release(name, held, run)
    assert charged(held) == paid
    assert held.ledger.spent() == paid[0]


@pytest.mark.parametrize("name", RESUMABLE)
def test_asked_for_again_by_name_it_is_the_same_and_free(name):
    held = curator(name)
    first = release(name, held, "spring")
    paid = charged(held)
    again = release(name, held, "spring")
    assert charged(held) == paid
    assert again.cost == first.cost
    asked = MAKE[name][1]
    np.testing.assert_array_equal(again.answer(asked).value, first.answer(asked).value)


@pytest.mark.parametrize(("name", "run"), WAYS)
def test_a_price_that_cannot_be_paid_is_refused_before_anything_is_written(name, run):
    held = curator(name)
    with pytest.raises(hr.BudgetExceeded):
        release(name, held, run, 2.5)
    assert held.ledger.newest == 0
