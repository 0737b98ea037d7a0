"""Sparse vectors with other pairs of noise laws: the theorem by exact enumeration, and what breaks it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import log
from typing import Any, get_args

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.audit.ledger_replay import price
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.paired import PairedPlan, PairedRun, PairLaw, paired_plan
from hedgerow.privacy.accountant import cost
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.sparse_vector_event import PairedSparseVector

LAWS = get_args(PairLaw)
PAIRS = list(product(LAWS, LAWS))
P1, P2 = Fraction(1, 2), Fraction(2, 3)  # p = e^(-1/b), taken rational: e^epsilon is a power of 1/p
FAR = 70  # threshold noise beyond this has a chance below 2^-69
LEFT = Fraction(1, 2**68)


def mass(law: str, p: Fraction, z: int) -> Fraction:
    if law == "exponential":
        return (1 - p) * p**z if z >= 0 else Fraction(0)
    if law == "downwards":  # 0, -1, -2, ...: not offered
        return (1 - p) * p**-z if z <= 0 else Fraction(0)
    return (1 - p) / (1 + p) * p ** abs(z)


def above(law: str, p: Fraction, t: int) -> Fraction:
    """G(t)."""
    if law == "exponential":
        return p ** max(t, 0)
    return p**t / (1 + p) if t >= 1 else 1 - p ** (1 - t) / (1 + p)


@cache
def law_of(values: tuple[int, ...], laws: tuple[str, str], p2: Fraction, count: int) -> dict[Any, Fraction]:
    """How likely each transcript is with one threshold, T = 0, up to LEFT: rational numbers all the way."""
    found: dict[Any, Fraction] = {}
    for z in range(-FAR, FAR + 1):
        paths = {(): mass(laws[0], P1, z)}
        for v in values:
            yes, grown = above(laws[1], p2, z - v), {}
            for said, weight in paths.items():
                if sum(said) == count:
                    grown[said] = weight
                else:
                    grown[(*said, 1)], grown[(*said, 0)] = weight * yes, weight * (1 - yes)
            paths = grown
        for said, weight in paths.items():
            found[said] = found.get(said, Fraction(0)) + weight
    return found


def hard(laws: tuple[str, str], moves: tuple[int, ...], count: int, p2: Fraction) -> Fraction:
    """The likelihood ratio of what breaks sparse vectors: many "below", then c "above" from afar.

    The first move up and hold the threshold high; the others, far below it, move as far down as they may.
    """
    values, said = (0,) * 20 + (-9,) * count, (0,) * 20 + (1,) * count
    moved = (max(moves),) * 20 + (-9 + min(moves),) * count
    chances = []
    for some in (values, moved):
        chance = Fraction(0)
        for z in range(-FAR, FAR + 1):
            path = mass(laws[0], P1, z)
            for v, yes in zip(some, said, strict=True):
                here = above(laws[1], p2, z - v)
                path *= here if yes else 1 - here
            chance += path
        chances.append(chance)
    return max((chances[0] - LEFT) / (chances[1] + LEFT), (chances[1] - LEFT) / (chances[0] + LEFT))


def violation(
    laws: tuple[str, str],
    moves: tuple[int, ...],
    shift: int,
    count: int,
    p2: Fraction = P2,
    claim: Fraction = P2,
) -> bool:
    """Whether some transcript of some neighbours is more likely than e^(epsilon1 + c epsilon2) allows."""
    if hard(laws, moves, count, p2) > 1 / (P1 * claim ** (shift * count)):
        return True
    for values in product((0, 2), repeat=3):
        for step in product(moves, repeat=3):
            moved = tuple(v + m for v, m in zip(values, step, strict=True))
            one, two = law_of(values, laws, p2, count), law_of(moved, laws, p2, count)
            for p, q in ((one, two), (two, one)):
                for said in {*p, *q}:
                    allowed = q.get(said, Fraction(0)) / (P1 * claim ** (shift * count))
                    if p.get(said, Fraction(0)) > allowed + LEFT:
                        return True
    return False


@pytest.mark.parametrize("laws", PAIRS)
def test_the_theorem_holds_in_rational_numbers_whichever_way_answers_move(laws: Any, size: Any) -> None:
    for count in size((2,), (1, 2, 3)):
        assert not violation(laws, size((-1, 1), (-1, 0, 1)), 2, count)


@pytest.mark.parametrize("laws", PAIRS)
def test_half_the_reach_is_enough_when_all_move_one_way_and_not_otherwise(laws: Any, size: Any) -> None:
    assert not violation(laws, (0, 1), 1, 2)
    assert violation(laws, (-1, 1), 1, size(2, 3))


@pytest.mark.parametrize("laws", PAIRS)
def test_a_halved_scale_is_refuted(laws: Any) -> None:
    """The questions' scale b2/2 has p2^2 where p2 was promised."""
    assert violation(laws, (-1, 1), 2, 2, p2=P2**2, claim=P2)
    assert violation(laws, (0, 1), 1, 2, p2=P2**2, claim=P2)


def test_noise_that_runs_out_of_room_upwards_is_refuted() -> None:
    assert violation(("downwards", "exponential"), (-1, 1), 2, 1)


def made(laws: Any, epsilon: Fraction, **o: Any) -> PairedPlan:
    return paired_plan(Cost("epsilon", epsilon), Fraction(1), 2, 1, laws=laws, **o)


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("side", [None, "over"])
@pytest.mark.parametrize("laws", PAIRS)
def test_real_plans_keep_their_epsilon_by_enumeration_and_cost_no_more(
    laws: Any, side: Any, restart: bool, size: Any
) -> None:
    epsilon, moves = Fraction(4), (0, 1) if side else (-1, 1)
    plan = made(laws, epsilon, count=2, side=side, restart=restart)
    assert 0.999 * epsilon < cost(plan.event, "epsilon").amount <= epsilon
    for currency in ("epsilon", "rho"):
        assert price(plan.event.to_json(), currency)[0] == pytest.approx(cost(plan.event, currency).amount)
    found = 0.0
    for values in product((0, 2), repeat=size(2, 3)):
        for step in product(moves, repeat=len(values)):
            pair = (values, [v + m for v, m in zip(values, step, strict=True)])
            found = max(found, exact.epsilon_between(*(exact.sparse(v, plan) for v in pair)))
    assert 0.5 < found <= epsilon + exact.SLACK


@pytest.mark.parametrize("laws", PAIRS)
def test_draws_have_the_enumerated_law(laws: Any, size: Any) -> None:
    """Hoeffding at 1e-6 for each of nine outcomes."""
    plan, values, draws = made(laws, Fraction(3), count=2, restart=False), (0, 2, 1), size(1500, 20_000)
    law = exact.sparse(values, plan)
    seen: dict[Any, int] = {}
    for _ in range(draws):
        places = advance(plan, begin(plan, os_entropy), np.array(values), os_entropy)[1]
        seen[tuple(places.tolist())] = seen.get(tuple(places.tolist()), 0) + 1
    off = (log(2 * 9 / 1e-6) / (2 * draws)) ** 0.5
    assert {*seen} <= {*law}
    for said, chance in law.items():
        assert abs(seen.get(said, 0) / draws - float(chance)) <= off


DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
TABLE = hr.Table.open({"sex": ["F", "M", "F"] * 200, "k": [0, 1, 1] * 200}, DOMAIN)
WOMEN = hr.Query.where(DOMAIN, {"sex": "F"})


def guard(neighbours: Any = "add_remove", budget: Any = None) -> hr.Curator:
    return hr.Curator(TABLE, budget or hr.Budget(epsilon=10), ":memory:", neighbours)


def test_it_is_opened_asked_charged_and_continued_like_any_run(tmp_path: Any) -> None:
    curator = hr.Curator(TABLE, hr.Budget(epsilon=10), tmp_path / "l.db", "add_remove")
    run = hr.primitives.paired_sparse(curator, 50, 2, 5, run="pair")
    assert isinstance(run, PairedRun)
    assert isinstance(run.plan.event, PairedSparseVector)
    assert run.ask(WOMEN, 400.0).above.tolist() == [False]
    assert run.ask(WOMEN, 100.0).above.tolist() == [True]
    spent = curator.spent
    again = hr.primitives.paired_sparse(curator, 50, 2, 5, run="pair")
    assert (again.above, again.asked, curator.spent) == (1, 2, spent)
    assert spent.epsilon == pytest.approx(5, rel=1e-6)
    with pytest.raises(hr.HedgerowError):  # another pair of laws is another run
        hr.primitives.paired_sparse(curator, 50, 2, 5, query_noise="laplace", run="pair")


def test_one_way_is_for_add_remove_and_one_side_and_has_half_the_noise() -> None:
    one, two = (hr.primitives.paired_sparse(guard(), 50, 1, 1, side=side) for side in ("over", None))
    assert one.plan.event.shift * 2 == two.plan.event.shift
    assert one.plan.query_scale < two.plan.query_scale
    one.ask(WOMEN, 400.0)
    for side in ("under", "both", "absolute"):
        with pytest.raises(hr.UnsupportedQuery, match="side"):
            one.ask(WOMEN, 400.0, side=side)
    curator = guard("replace")
    with pytest.raises(hr.UnsupportedQuery, match="add_remove"):
        hr.primitives.paired_sparse(curator, 50, 1, 1, side="over")
    assert curator.spent.epsilon == 0
    cheat = replace(two.plan, event=one.plan.event)  # the price of one way for any side
    with pytest.raises(hr.UnsupportedQuery, match="another kind"):
        PairedRun(guard(), cheat)


def test_what_is_certified_holds_for_every_below_at_once(size: Any) -> None:
    """False alarm 1e-6, for 200 questions of a run; Laplace questions need to know how many there are."""
    for laws in PAIRS:
        plan = paired_plan(Cost("epsilon", Fraction(1)), Fraction(1), 20, 1, count=3, laws=laws)
        bound = plan.certified(Fraction(1, 10**8), 200)  # for each of at most 100 runs
        for _ in range(size(3, 30)):
            values = np.full(200, int(bound) + 1)
            _, places, _, asked = advance(plan, begin(plan, os_entropy), values, os_entropy)
            assert len(places) == asked  # nothing beyond the bound is ever called below
    free = paired_plan(Cost("epsilon", Fraction(1)), Fraction(1), 20, 1, count=3)
    assert free.certified("1/1000") == free.certified("1/1000", 10**9)
    with pytest.raises(hr.UnsupportedQuery, match="queries="):
        made(("laplace", "laplace"), Fraction(1)).certified("1/1000")


def test_wrong_input_is_refused_before_anything_is_charged() -> None:
    wrong: list[dict[str, Any]] = [
        {"count": 0},
        {"query_noise": "gaussian"},
        {"threshold_noise": None},
        {"side": "both"},
        {"threshold": 1e300},
    ]
    for options in wrong:
        curator = guard()
        with pytest.raises(hr.HedgerowError):
            hr.primitives.paired_sparse(curator, **{"threshold": 3, "count": 1, "epsilon": 1, **options})
        assert curator.spent.epsilon == 0
