"""Where there are numbers, single attributes and the total count beside tables: what it gains, old runs."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive import run
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.run import FIRST, FIRST_TOO
from hedgerow.mechanisms.adaptive.shares import Outlook

LEVELS = {"town": 12, "month": 12, "plan": 6}
DOMAIN = hr.Domain({**LEVELS, "age": hr.bins(0, 100, 10, step=1)})
ASKED = hr.marginals(DOMAIN, 2)


def rows(number: int = 20_000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    columns = {name: rng.integers(0, levels, number) for name, levels in LEVELS.items()}
    return columns | {"age": np.clip(rng.normal(40, 20, number), 0, 99).round()}


def curator(ledger=":memory:", neighbours="add_remove", domain=DOMAIN) -> hr.Curator:
    columns = {name: column for name, column in rows().items() if name in domain}
    table, budget = hr.Table.open(columns, domain), hr.Budget(epsilon=1, delta=1e-9)
    entropy = hr.testing.seeded(4)
    return hr.Curator(table, budget, ledger, neighbours=neighbours, entropy=entropy)


def notes(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].partition(": ")[2] for line in lines if line["kind"] == "charge"]


def as_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run, "numbers", lambda _: {})


def test_the_total_and_single_attributes_are_sharper_and_pairs_hardly_wider():
    now = AdaptiveRelease().release(curator(), ASKED)
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        before = AdaptiveRelease().release(curator(), ASKED)

    def bar(made: hr.Synopsis, text: str) -> float:
        return float(np.mean(made.answer(text).error))

    assert bar(now, "SELECT COUNT(*) FROM t") < 0.6 * bar(before, "SELECT COUNT(*) FROM t")
    for name in LEVELS:
        text = f"SELECT {name}, COUNT(*) FROM t GROUP BY {name}"
        assert bar(now, text) < 0.85 * bar(before, text)
    text = "SELECT town, month, COUNT(*) FROM t GROUP BY town, month"
    assert bar(now, text) < 1.08 * bar(before, text)


def test_errors_that_are_told_are_those_of_the_workload():
    sizes = {"a": 12, "b": 9}
    ones = {a: np.full(n, 1.0 / n) for a, n in sizes.items()}
    plain = Outlook(sizes, {("a", "b"): 1.0}, 1e5, ones)
    beside = Outlook(sizes, {("a", "b"): 1.0}, 1e5, ones, beside={(): 1e-9, ("a",): 1e-9})
    assert beside.plan(1e-2).error == pytest.approx(plain.plan(1e-2).error, rel=1e-3)


def test_where_no_number_is_declared_nothing_changes():
    domain = hr.Domain(LEVELS)
    guard = curator(domain=domain)
    AdaptiveRelease().release(guard, hr.marginals(domain, 2))
    assert notes(guard)[0] == FIRST


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("acts", range(5))
def test_a_run_that_began_before_goes_on_as_it_began_and_pays_once(tmp_path, neighbours, acts):
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        whole = AdaptiveRelease(run="year").release(curator(neighbours=neighbours), ASKED)
        guard = curator(tmp_path / "one.db", neighbours)
        real, left = hr.Curator._act, [acts]

        def stops(self, *args, **rest):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(self, *args, **rest)

        patch.setattr(hr.Curator, "_act", stops)
        try:
            AdaptiveRelease(run="year").release(guard, ASKED)
        except KeyboardInterrupt:
            pass
        else:
            assert acts > 3
    said = notes(guard)
    again = AdaptiveRelease(run="year").release(guard, ASKED)
    assert len(set(notes(guard))) == len(notes(guard))
    assert (FIRST_TOO in notes(guard)) is (FIRST not in said)
    if FIRST in said:
        assert np.allclose(again.table(("town", "month")), whole.table(("town", "month")))
    spent = guard.ledger.spent()
    AdaptiveRelease(run="year").release(guard, ASKED)
    assert guard.ledger.spent() == spent
