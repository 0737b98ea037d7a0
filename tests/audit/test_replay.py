"""Histories replayed on neighbours: nothing exported violates anything, and every planted mistake is found.

No test here is statistical: a violation is a proof, and tables and randomness are the same in every run.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import audit
from hedgerow.audit import command
from hedgerow.audit.coupled import left_out, looks
from hedgerow.audit.coupled.cases import PEOPLE, own_cases
from hedgerow.audit.coupled.distance import differences
from hedgerow.audit.coupled.laws import unlawful
from hedgerow.audit.coupled.planted import DOMAIN, planted
from hedgerow.audit.coupled.planted_growing import SOUND
from hedgerow.audit.coupled.replay import LIMITS, joined
from hedgerow.audit.coupled.scenes import extremes, scenes
from hedgerow.audit.coupled.spelling import Names, numbers, same, spelled
from hedgerow.audit.coupled.tape import play
from hedgerow.audit.registry import exported
from hedgerow.mechanisms.adaptive import farther, look
from hedgerow.privacy.event import Pure
from sizes import size

NEIGHBOURS = size(6, 400)
SECONDS = size(60.0, 600.0)
PLANTED = {p.name: p for p in planted()}
CASES = {f"{c.name} {i}": c for i, c in enumerate(own_cases())}
SLOW = {name for name in CASES if name.startswith("Session")}


def test_every_exported_mechanism_is_replayed():
    on_blocks = {"RunningTotals": "totals"}  # what meets rows that grow is replayed on streams of blocks
    assert set(on_blocks.values()) <= {name for name, *_ in SOUND}
    missing = set(exported()) - set(on_blocks) - {c.name for c in own_cases()}
    assert not missing, f"add a case to hedgerow.audit.coupled.cases for {sorted(missing)}"
    assert {c.name for c in own_cases()} <= set(exported())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_exported_mechanism_violates_anything(name):
    few = 1 if CASES[name].run.__name__ == "learned" else 2  # learning takes a second
    tried = size(few, 60) if name in SLOW else NEIGHBOURS
    found = CASES[name].replayed(tried, SECONDS)
    assert found.ok, found.violations
    assert found.neighbours == tried
    assert set(found.unchecked) <= {"pure"}  # a round of boosting's theorem mode


@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_mistake_is_found(name):
    found = PLANTED[name].replayed(neighbours=400, seconds=60.0)
    assert not found.ok
    assert found.neighbours < 200


@pytest.mark.parametrize(
    ("run", "acts"),
    [
        (
            looks.deeper,
            [
                "one-way tables",
                "residuals of pairs",
                "how far triples are from what is known",
                "triples that stand out",
                "how far triples are from what is known",
            ],
        ),
        (
            looks.pairs_inside,
            ["one-way tables", "how far pairs are from independent", "residuals of all tables"],
        ),
    ],
)
def test_looks_are_replayed_in_the_order_of_a_release(run, acts):
    """With the few rows of a replay no look would be worth it, and its case would be none."""
    rng = np.random.default_rng(2)
    columns = {a: rng.integers(0, looks.FOUR[a].size, 9) for a in looks.FOUR.names}
    guard = hr.Curator(
        hr.Table.open(columns, looks.FOUR), budget=hr.Budget(rho=50, delta=0.01), ledger=":memory:",
        entropy=hr.testing.seeded(1),
    )  # fmt: skip
    run(guard)
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    notes = [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]
    assert [n for n in notes if n != "one-way tables again"][: len(acts)] == acts


def test_there_are_more_than_two_dozen_planted_mistakes():
    assert len(PLANTED) == 52


def test_the_honest_code_behind_the_planted_mistakes_violates_nothing():
    """What is found is the mistake and not the frame that it is planted in."""
    for mistake in {p.run: p for p in planted() if p.run.__name__.startswith("_")}.values():
        found = audit.replay_neighbours(
            mistake.run,
            mistake.domain,
            budget=mistake.budget,
            relations=mistake.relations,
            groups=mistake.groups,
            neighbours=size(12, 200),
        )
        assert found.ok, found.violations


@pytest.mark.parametrize("choose", [False, True])
def test_distances_of_tables_are_among_what_is_replayed(choose):
    """Made-up tables have few rows: of a smaller budget none would be looked at."""
    large = [
        c for c in own_cases() if c.name == "AdaptiveRelease" and c.budget == hr.Budget(rho=5000, delta=0.01)
    ]
    scene, _ = next(islice(scenes(PEOPLE, "add_remove", 1, named=False), 2, 3))
    met = play(large[int(choose)].run, scene.table(), large[0].budget, "add_remove").met
    assert any("how far larger tables" in " ".join(map(str, m.public)) for m in met)


@pytest.mark.parametrize("run", [run for _, run, _ in left_out.RUNS], ids=lambda run: run.__name__)
def test_pairs_that_are_left_out_are_looked_at_where_that_is_replayed(run):
    """Else its cases would be ones of other acts; and all groups and both relations have neighbours here."""
    budget = next(b for _, r, b in left_out.RUNS if r is run)
    looked = tripped = before = joined = chosen = 0
    for relation in ("add_remove", "replace"):
        for rows, named in left_out.GROUPS[:: size(2, 1)]:
            base, others = next(
                islice(
                    scenes(left_out.UNEVEN, relation, rows, named=named), 2 + (relation == "replace"), None
                )
            )
            one = play(run, base.table(), budget, relation)
            assert not [*unlawful(one)]
            for other in islice(others, size(1, None)):
                two = play(run, other.table(), budget, relation, script=one.met)
                assert not [*unlawful(two, scripted=True), *differences(one, two, set())]
            looks_ = [m for m in one.met if farther.NOTE in " ".join(map(str, m.public))]
            looked += sum(np.size(m.exact) > 4 for m in looks_)  # more than the triples of four attributes
            tripped += any("learned wrong" in " ".join(map(str, m.public)) for m in one.met)
            before += any(look.LEFT_OUT in " ".join(map(str, m.public)) for m in one.met)
            joined += any(look.JOINED in " ".join(map(str, m.public)) for m in one.met)
            chosen += any("select:exponential" in " ".join(map(str, m.public)) for m in one.met)
    assert looked
    assert (chosen > 0) == (run in (left_out.sparse, left_out.choosing))
    assert (before > 0) == (run is left_out.clear_ones)
    assert (joined > 0) == (run in (left_out.sparse, left_out.not_sparse))
    assert (tripped > 0) == (run is left_out.tripping)


def test_a_mechanism_of_somebody_else_is_replayed_by_one_call():
    domain = hr.Domain({"age": hr.bins(0, 100, 50), "sex": ["F", "M"]})

    def mine(curator):
        ages = curator.measure(("age",), 0.5)
        return curator.measure(("sex",), 0.5) if ages.counts.max() > 3 else ages

    assert audit.replay_neighbours(mine, domain, neighbours=30).ok

    def theirs(curator):
        ages = curator.measure(("age",), 0.5)
        rows = curator._rows.tables([("sex",)])[("sex",)]
        return ages if rows.max() > 1 else curator.measure(("sex",), 0.5)

    found = audit.replay_neighbours(theirs, domain, neighbours=200)
    assert "Rows decide" in " ".join(found.violations)


def test_acts_that_are_not_understood_are_named_and_not_passed_over():
    def odd(curator):
        def evaluate():
            return curator._rows.tables([("a",)])[("a",)]

        return curator._act(Pure(1), evaluate, lambda v: [np.zeros(1)], "odd:")

    found = audit.replay_neighbours(odd, DOMAIN, neighbours=10)
    assert found.unchecked == ("pure",)
    assert "Not checked: acts of kind pure" in found.finding().evidence


def test_the_session_is_replayed_while_it_compares_trips_measures_and_learns():
    """Otherwise its replay would look at priming only."""
    scene = next(islice(scenes(PEOPLE, "add_remove", 1, named=False), 3, None))[0]
    runs = [c for c in own_cases() if c.name == "Session" and c.budget.currency == "epsilon"][:3]
    played = [play(c.run, scene.table(), c.budget, "add_remove") for c in runs]
    acts = Counter(m.told for p in played for m in p.met)
    assert acts["compare"] > 10
    assert acts["measure"] > 10
    assert any(m.drawn[1].size for p in played for m in p.met if m.plan)  # a trip


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("k", "named"), [(1, False), (1, True), (3, True)])
def test_neighbours_differ_in_one_unit_and_have_the_extremes(relation, k, named):
    seen = []
    for base, others in islice(scenes(PEOPLE, relation, k, named=named), 8):
        for other in others:
            gone, new = set(base.units) - set(other.units), set(other.units) - set(base.units)
            assert len(gone) <= (relation == "replace") or not new
            assert len(gone) + len(new) <= (2 if relation == "replace" else 1)
            seen += [base, other]
    sizes = {len(s.units) for s in seen}
    assert 1 in sizes
    assert (0 in sizes) == (relation == "add_remove")
    rows = [unit for s in seen for _, unit in s.units]
    assert any(len(unit) > k for unit in rows) == named
    assert any(len(unit) == k and len(set(unit)) == 1 for unit in rows)
    assert any(s.shuffle for s in seen)


def test_values_lie_at_the_ends_of_bins_beside_them_and_outside():
    ends = extremes(PEOPLE["age"])
    assert {0.0, 30.0, 10.0, -1e9, 1e9} <= {v for v in ends if v is not None}
    assert None in ends
    assert any(v is not None and 30.0 < v < 30.1 for v in ends)
    assert "no such level" in extremes(PEOPLE["job"])


def test_results_are_compared_to_the_last_bit_and_without_random_labels():
    one, two = {"x": np.array([0.1 + 0.2]), "n": 3}, {"x": np.array([0.3]), "n": 3}
    assert [same(a, b) for (_, a), (_, b) in zip(spelled(one), spelled(two), strict=True)].count(False) == 1
    assert Names().spell("run-0123456789abcdef of 12") == Names().spell("run-fedcba9876543210 of 12")
    assert Names().spell("scale '123456789012/7', 0.1234567890123456") != Names().spell(
        "scale '123456789013/7', 0.1234567890123457"
    )
    assert numbers([1, {"k": np.array([2, 3])}, "word"]) == [3, 1, "k", 2, 3, "word"]


def test_replays_of_one_mechanism_are_one_row():
    parts = [audit.Replayed("a", 3, 4, (), ("pure",), 1.0), audit.Replayed("a", 2, 2, ("wrong",), (), 1.0)]
    whole = joined("a", parts)
    assert (whole.neighbours, whole.acts, whole.ok, whole.unchecked) == (5, 6, False, ("pure",))
    assert whole.finding().refuted


def test_the_command_replays_and_says_what_it_does_not_check(monkeypatch, capsys):
    monkeypatch.setattr(command, "replays", lambda *_: [CASES["laplace 0"].replayed(4, 60.0)])
    assert command.main(["--replay", "--json", "--samples", "10"]) == 0
    told = capsys.readouterr()
    row = json.loads(told.out)["findings"][0]
    assert row["method"] == "replay"
    assert not row["refuted"]
    assert all(limit in told.err for limit in LIMITS)
