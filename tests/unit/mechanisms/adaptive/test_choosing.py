"""Choosing: when another table is worth its price, and what the rest of the price is spent on."""

import itertools
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.factored.consistency import Target
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.again import Again, filled
from hedgerow.mechanisms.adaptive.choosing import AGAIN, Choosing
from hedgerow.mechanisms.adaptive.stopping import Found, Stopping
from hedgerow.mechanisms.run import CHOOSE


def rankings(number: int = 3000, things: int = 8) -> dict[str, np.ndarray]:
    """Every two places depend on each other a little; no tree of tables holds that."""
    rng = np.random.default_rng(3)
    liked = np.log(np.arange(1, things + 1))[::-1] + rng.gumbel(size=(number, things))
    places = np.argsort(np.argsort(-liked, axis=1), axis=1)
    return {f"r{i}": places[:, i] for i in range(things)}


def chain(number: int = 8000) -> dict[str, np.ndarray]:
    """Each attribute is mostly the one before it."""
    rng = np.random.default_rng(4)
    out = [rng.integers(0, 6, number)]
    for _ in range(9):
        out.append(np.where(rng.random(number) < 0.9, out[-1], rng.integers(0, 6, number)))
    return {f"c{i}": x for i, x in enumerate(out)}


def ring(number: int = 60_000, attributes: int = 14) -> dict[str, np.ndarray]:
    """Each attribute goes with the one before it and after it."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 5, (number, attributes))
    energy = rng.normal(0, 1.2, (attributes, 5, 5))
    for _ in range(8):
        for i in range(attributes):
            pull = energy[i][:, x[:, (i + 1) % attributes]].T + energy[i - 1][x[:, i - 1], :]
            x[:, i] = (pull + rng.gumbel(size=pull.shape)).argmax(axis=1)
    return {f"g{i}": x[:, i] for i in range(attributes)}


def curator(columns: dict[str, np.ndarray], epsilon: float = 0.2, ledger: object = ":memory:") -> hr.Curator:
    domain = hr.Domain({a: int(x.max()) + 1 for a, x in columns.items()})
    budget = hr.Budget(epsilon=epsilon, delta=1e-9)
    table = hr.Table.open(columns, domain)
    return hr.Curator(table, budget=budget, ledger=ledger, entropy=hr.testing.seeded(5))


def release(guard: hr.Curator, run: str | None = None) -> hr.Synopsis:
    return AdaptiveRelease(run=run).release(guard, hr.marginals(guard.domain, 2), choose=True)


def notes(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]


def as_before(patch: pytest.MonkeyPatch) -> None:
    """Earlier versions went on choosing, and spent the rest on the chosen tables."""
    patch.setattr(Stopping, "more", lambda self, late, steps: True)

    def again(self, hypothesis, candidates, chosen):
        self.run_.targets += [hypothesis.target(m) for m in self._as_before(candidates, chosen)]

    patch.setattr(Choosing, "_refresh", again)


def test_where_tables_tell_little_the_rest_is_for_one_way_tables():
    guard = curator(rankings())
    release(guard)
    acts = notes(guard)
    assert AGAIN in acts
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        other = curator(rankings())
        release(other)
    assert acts.count(CHOOSE) < notes(other).count(CHOOSE)
    assert guard.ledger.spent() <= guard.budget.cost


def test_where_they_tell_much_choosing_goes_on():
    guard = curator(chain(), 1.0)
    release(guard)
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        other = curator(chain(), 1.0)
        release(other)
    assert notes(guard).count(CHOOSE) >= 9  # as many as a tree has
    assert notes(other).count(CHOOSE) >= notes(guard).count(CHOOSE)


@pytest.mark.parametrize("columns", [rankings(), chain()], ids=["rankings", "chain"])
def test_a_choice_of_before_is_given_again_free(tmp_path, columns):
    guard = curator(columns, ledger=tmp_path / "one.db")
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        before = release(guard, "year")
    spent = guard.ledger.spent()
    again = release(guard, "year")
    assert guard.ledger.spent() == spent
    names = guard.domain.names[:2]
    assert np.array_equal(again.table(names), before.table(names))


@pytest.mark.parametrize("stop", [3, 8])
def test_a_choice_of_before_that_stopped_goes_on(tmp_path, stop):
    """At an act of its rounds: what it had chosen is kept, and it comes to an end within its price."""
    guard, done = curator(rankings(), ledger=tmp_path / "one.db"), 0
    real = hr.Curator.measure_all

    def stops(self, *args, **rest):
        nonlocal done
        found = real(self, *args, **rest)
        done += 1
        if done == stop:
            raise KeyboardInterrupt
        return found

    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        patch.setattr(hr.Curator, "measure_all", stops)
        with pytest.raises(KeyboardInterrupt):
            release(guard, "year")
    acts = notes(guard)
    release(guard, "year")
    assert notes(guard)[: len(acts)] == acts
    assert guard.ledger.spent() <= guard.budget.cost
    assert float(guard.ledger.spent().amount / guard.budget.cost.amount) > 0.999


def test_a_new_choice_is_given_again_free(tmp_path):
    guard = curator(rankings(), ledger=tmp_path / "one.db")
    first = release(guard, "year")
    spent = guard.ledger.spent()
    again = release(guard, "year")
    assert guard.ledger.spent() == spent
    assert np.array_equal(first.table(("r0", "r1")), again.table(("r0", "r1")))


def test_shares_bring_all_to_the_same_part_of_what_they_need():
    needs, had = np.array([1.0, 1.0, 2.0, 4.0]), np.array([0.2, 5.0, 0.1, 0.3])
    new = filled(needs, had)
    levels = ((had + new) / needs)[[0, 2, 3]]
    assert new[1] == 0.0
    assert levels == pytest.approx(np.full(3, levels[0]))
    assert new.sum() == pytest.approx(1.0)


def divided() -> dict[str, Any]:
    """What a ring's release has left and may measure again, and how it divides that, now and before."""
    guard, found = curator(ring(), 1.0), {}
    real = Again.shares

    def shares(self: Again) -> list[int]:
        unit = self._run.noise(self._run.left)[1]
        found.update(of=self, unit=unit, now=real(self), before=self.shares_before())
        return found["now"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Again, "shares", shares)
        AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    return found


def test_another_division_of_before_is_taken_up(tmp_path):
    """What is measured again was once divided as if noise of tables added up."""
    guard = curator(ring(), 1.0, tmp_path / "one.db")
    year, pairs = AdaptiveRelease(run="year"), hr.marginals(guard.domain, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Again, "shares", Again.shares_before)
        before = year.release(guard, pairs)
    assert AGAIN in notes(guard)
    spent = guard.ledger.spent()
    again = year.release(guard, pairs)
    assert guard.ledger.spent() == spent
    assert np.array_equal(again.table(("g0", "g1")), before.table(("g0", "g1")))


def test_what_is_left_is_divided_so_that_errors_add_up_to_least():
    """No small share that goes from one table to another makes the sum of roots of squares less."""
    found = divided()
    asked, unit = found["of"], found["unit"]

    def error(shares: np.ndarray) -> float:
        total = 0.0
        for names in asked._sets:
            squares = asked._chance(names)
            for (nodes, t), share in zip(asked._known.items(), shares / 1e4, strict=True):
                if {asked._run.domain.names[a] for a, _ in nodes} <= set(names):
                    own = np.prod([1 - 1 / g for g in asked._resolutions.shape(nodes)])
                    squares += own * (len(t.counts) * unit) ** 2 / ((unit / t.sigma) ** 2 + share)
            total += squares**0.5
        return total

    now, before = np.array(found["now"]), np.array(found["before"])
    assert error(now) < 0.99 * error(before)
    giving = np.flatnonzero(now > 20)
    for i, j in itertools.product(giving[:: len(giving) // 8], range(0, len(now), 3)):
        moved = now.copy()
        moved[i] -= 20
        moved[j] += 20
        assert error(moved) > error(now) * (1 - 1e-6)


def test_a_pair_that_was_not_measured_is_off_by_chance():
    asked = divided()["of"]
    pairs = [
        (about, nodes) for about, nodes in zip(asked._about, asked._known, strict=True) if len(about) == 2
    ]
    whole = {about for about, nodes in pairs if all(r == 0 for _, r in nodes)}
    none = {frozenset(s) for s in asked._sets} - {about for about, _ in pairs}
    even = asked._run.total * 25 * (1 - 1 / 5) ** 2  # of 25 cells, most if even; margins tell 9
    assert len(whole) >= 10
    assert len(none) >= 30
    assert all(asked._chance(tuple(s)) < 1e-6 * even for s in whole)
    assert all(0.3 * even < asked._chance(tuple(s)) < 1.001 * even for s in none)


def test_a_table_far_from_expected_is_found_so_and_noise_is_not():
    rng = np.random.default_rng(5)
    expected = np.full(40, 250.0)
    noisy = Found.of(Target(((0, 0),), expected + rng.normal(0, 30.0, 40), 30.0), expected, 1e4)
    assert abs(noisy.squared) <= 3.0 * noisy.doubt
    moved = expected + 150.0 * np.resize([1.0, -1.0], 40)
    far = Found.of(Target(((0, 0),), moved + rng.normal(0, 30.0, 40), 30.0), expected, 1e4)
    assert far.squared == pytest.approx(0.36, rel=0.2)  # 40 x 150 of 10,000 rows, squared
