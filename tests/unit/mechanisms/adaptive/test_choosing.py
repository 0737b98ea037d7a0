"""Choosing: when another table is worth its price, and what the rest of the price is spent on."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.factored.consistency import Target
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.choosing import AGAIN, Choosing, _filled
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
    new = np.array(_filled(needs, had)) / 1e4
    levels = ((had + new) / needs)[[0, 2, 3]]
    assert new[1] == 0.0
    assert levels == pytest.approx(np.full(3, levels[0]), rel=1e-3)
    assert new.sum() == pytest.approx(1.0, abs=1e-3)


def test_a_table_far_from_expected_is_found_so_and_noise_is_not():
    rng = np.random.default_rng(5)
    expected = np.full(40, 250.0)
    noisy = Found.of(Target(((0, 0),), expected + rng.normal(0, 30.0, 40), 30.0), expected, 1e4)
    assert abs(noisy.squared) <= 3.0 * noisy.doubt
    moved = expected + 150.0 * np.resize([1.0, -1.0], 40)
    far = Found.of(Target(((0, 0),), moved + rng.normal(0, 30.0, 40), 30.0), expected, 1e4)
    assert far.squared == pytest.approx(0.36, rel=0.2)  # 40 x 150 of 10,000 rows, squared
