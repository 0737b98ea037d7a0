"""Audits of mechanisms that make several acts: whole runs, and everything that left the curator."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hedgerow as hr
from hedgerow.audit import registry
from hedgerow.audit.case import claim, several_acts
from hedgerow.audit.neighbours import DOMAIN, neighbouring_tables, neighbouring_trios
from hedgerow.audit.registry import AUDITS, audits
from hedgerow.audit.rehearsal import Rehearsal, World, whole_runs
from hedgerow.audit.stand import Stand
from hedgerow.mechanisms.cards import card
from hedgerow.privacy.budget import Budget, Cost

PATIENCE = 900.0  # seconds: never what ends the sampling
STAND = Stand(card("AdaptiveRelease"))
ADAPTIVE = STAND.act(STAND.workload("trio pairs"), measurements=1)
WORLD = World.of(DOMAIN, [(0, 0), (1, 1)], [(2, 1)], "add_remove", 1)


@pytest.fixture
def registered(monkeypatch):
    """Register a mechanism of a test, and audit it."""

    def find(act, *, epsilon=1.0, samples=1000, **options):
        monkeypatch.setitem(AUDITS, "made up", [])
        options.setdefault("pairs", tuple(neighbouring_tables("add_remove")[:1]))
        several_acts("made up", act, share=1.0, **options)
        finding = next(iter(audits([epsilon], samples, PATIENCE, only=["made up"])))  # then, what is returned
        return finding

    return find


def two_halves(curator, epsilon):
    """A table, then one of its one-way tables, chosen by what was released: epsilon in all."""
    first = curator.measure(("a", "b"), epsilon / 2)
    return curator.measure(("a",) if first.values.sum() % 2 else ("b",), epsilon / 2)


def test_acts_that_depend_on_released_values_are_not_refuted(registered):
    """False alarm 1e-6."""
    finding = registered(two_halves, samples=1500)
    assert not finding.refuted, str(finding)


def test_a_second_act_that_depends_on_exact_values_is_refuted(registered):
    """Which table is measured second tells whether a cell is empty: everything but the noise is private."""

    def peeks(curator, epsilon):
        curator.measure(("a", "b"), epsilon / 2)
        exact = curator._rows.tables([("a", "b")])[("a", "b")]
        return curator.measure(("a",) if exact[0, 0] > 1 else ("b",), epsilon / 2)

    finding = registered(peeks, samples=1000)
    assert finding.refuted, str(finding)


def test_acts_that_cost_more_than_they_were_given_are_an_error(registered):
    with pytest.raises(hr.HedgerowError):
        registered(lambda c, e: [c.measure(("a",), 0.7 * e), c.measure(("b",), 0.7 * e)])


def test_every_run_is_whole_and_new():
    budget = Budget(epsilon=1)
    rows, events = whole_runs(WORLD, budget, lambda c: two_halves(c, 1.0), 60)
    assert {len(r) for r in rows} == {6 + 3, 6 + 2}
    assert len(events) == 2
    assert len({r.tobytes() for r in rows}) > 30


def test_what_an_allotted_account_does_is_in_the_transcript_too():
    def act(curator):
        child = curator.allot(Cost("epsilon", 1), "someone")
        assert isinstance(child, Rehearsal)
        child.measure(("a",), 0.5)
        child.measure(("b",), 0.5)

    rows, events = whole_runs(WORLD, Budget(epsilon=1), act, 5)
    assert [len(r) for r in rows] == [5] * 5
    assert len(events) == 2


def transcript(world, delta, epsilon=4.0, runs=20):
    budget = claim(epsilon, delta)
    return whole_runs(world, budget, lambda c: ADAPTIVE(c, epsilon), runs)


@pytest.mark.parametrize("delta", [0.0, registry.DELTA])
def test_the_audited_adaptive_release_chooses_and_measures(delta):
    """Otherwise its audit would look at one-way tables only."""
    _, events = transcript(neighbouring_trios("add_remove")[0][0], delta)
    kinds = [type(leaf).__name__ for e in events for leaf, _ in e.leaves()]
    assert kinds.count("PermuteAndFlip" if delta == 0 else "Exponential") >= 1
    assert kinds.count("Laplace" if delta == 0 else "Gaussian") >= 4


def test_an_adaptive_release_with_a_hundredth_of_its_noise_is_refuted(registered, monkeypatch):
    """The audit of whole runs is able to find something."""
    from hedgerow.curator.curator import Curator

    draw = Curator._noise

    def weak(self, law, values):
        return draw(self, replace(law, scale=(law.scale / 100).limit_denominator(1000)), values)

    monkeypatch.setattr(Curator, "_noise", weak)
    pairs = tuple(neighbouring_trios("add_remove"))[:1]
    finding = registered(ADAPTIVE, epsilon=0.5, samples=250, pairs=pairs)
    assert finding.refuted, str(finding)
