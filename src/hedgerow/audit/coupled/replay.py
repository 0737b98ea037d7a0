"""Replay: a mechanism's recorded history on thousands of neighbouring tables, checked act by act.

For each made-up table a run is recorded; on every neighbour the code runs again, told at every act what was
said in the recorded one. If each act's exact numbers are then within its declared sensitivity, every number
has its own fresh draw of the declared law, and everything else is the same, then each act costs what it was
charged, given any past - and that is what composition needs. No number here is a statistic: one violation
is a proof.

What it does not check is in `LIMITS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from typing import Any

from hedgerow.audit.coupled.distance import differences
from hedgerow.audit.coupled.laws import unlawful
from hedgerow.audit.coupled.scenes import Relation, Scene, Source, scenes
from hedgerow.audit.coupled.tape import Played, Replaying, play
from hedgerow.audit.finding import Finding
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.domain import Domain, OpenDomain

LIMITS = (
    "Only histories that came up in recorded runs, on small made-up tables, are replayed.",
    "That the samplers have the laws they report: the exact and the statistical audits are about that.",
    "That a law, a scale and a sensitivity cost what is charged: the ledger's replay is about that.",
    "Acts of kinds that it does not know; it names them. A round of boosting's theorem mode is one: the rows "
    "that it samples are no vector with a distance.",
    "Acts of one's own (`extending.carry_out`), whose noise is their author's: the statistical audit is.",
    "Time, memory, and the order of work; labels of 12 or 16 hexadecimal digits, which are drawn at random.",
)
"""What a replay does not show."""

_WORST = 5  # sentences that a report keeps
GROUPS: tuple[tuple[int, bool], ...] = ((1, False), (3, True), (1, True))
"""Rows per unit, and whether rows name their units."""


@dataclass(frozen=True)
class Replayed:
    """What replaying neighbours found.

    Args:
        name: what was replayed.
        neighbours: on how many pairs of tables.
        acts: how many meetings of rows with noise were compared.
        violations: sentences, the first few; none if everything held.
        unchecked: kinds of acts that met rows and were not checked.
        seconds: how long it took.
    """

    name: str
    neighbours: int
    acts: int
    violations: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing was violated."""
        return not self.violations

    def finding(self) -> Finding:
        """As a row beside other audits."""
        words = (
            self.violations[0] if self.violations else f"{self.neighbours:,} neighbours, {self.acts:,} acts."
        )
        if self.unchecked:
            words += f" Not checked: acts of kind {', '.join(self.unchecked)}."
        return Finding(
            f"replay {self.name}", 0.0, 0.0, not self.ok, 0.0, "replay", words, self.neighbours, self.seconds
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.finding().evidence}"


def replay_neighbours(
    mechanism: Callable[[Any], Any],
    domain: Domain | OpenDomain,
    *,
    budget: Budget | None = None,
    relations: Sequence[Relation] = ("add_remove", "replace"),
    groups: Sequence[tuple[int, bool]] = GROUPS,
    neighbours: int = 200,
    seconds: float = 60.0,
    seed: int = 0,
    name: str | None = None,
    curator: type[Replaying] = Replaying,
    source: Source = lambda rows: rows,
) -> Replayed:
    """Record a mechanism on made-up tables and replay its history on their neighbours.

    Args:
        mechanism: takes a curator, asks it for whatever it wants, and returns its result.
        domain: of the tables that are made up.
        budget: what each curator may spend; epsilon 1 if None.
        relations: which neighbours are tried.
        groups: (max_rows, whether rows name their units), each tried in turn.
        neighbours: how many to try in all.
        seconds: stop after so long.
        seed: other tables for another number.
        name: what to call it.
        curator: the recording curator's class; for planting mistakes.
        source: puts an Arrow table where an engine reads it, and gives what `Table.open` takes; in memory
            unless said otherwise.

    >>> from hedgerow import Domain, audit
    >>> def peeks(curator):
    ...     return curator.measure(("a",), 1).counts, curator._rows.units()
    >>> audit.replay_neighbours(peeks, Domain({"a": 2}), neighbours=40).ok
    False
    """
    begun, tried, acts, found, unchecked = time.monotonic(), 0, 0, dict[str, None](), set[str]()
    budget = budget or Budget(epsilon=1)
    made = [scenes(domain, r, k, named=named, seed=seed) for k, named in groups for r in relations]
    for number, stage in enumerate(cycle(made)):
        base, others = next(stage)
        recorded = _play(mechanism, base, budget, curator, number + seed, source)
        found.update(dict.fromkeys(f"{w} {_where(base)}" for w in unlawful(recorded)))
        for other in islice(others, neighbours - tried):
            played = _play(mechanism, other, budget, curator, number + seed, source, recorded)
            wrong = chain(unlawful(played, scripted=True), differences(recorded, played, unchecked))
            found.update(dict.fromkeys(f"{w} {_where(base)}" for w in wrong))
            tried, acts = tried + 1, acts + len(played.met)
            if len(found) >= _WORST or time.monotonic() - begun > seconds:
                break
        if tried >= neighbours or len(found) >= _WORST or time.monotonic() - begun > seconds:
            break
    label = name or str(getattr(mechanism, "__name__", "mechanism"))
    words = tuple(found)[:_WORST]
    return Replayed(label, tried, acts, words, tuple(sorted(unchecked)), time.monotonic() - begun)


def _play(
    mechanism: Callable[[Any], Any],
    scene: Scene,
    budget: Budget,
    kind: type[Replaying],
    seed: int,
    source: Source,
    recorded: Played | None = None,
) -> Played:
    script = None if recorded is None else recorded.met
    return play(mechanism, scene.table(source), budget, scene.relation, script=script, kind=kind, seed=seed)


def _where(scene: Scene) -> str:
    people = f", up to {scene.max_rows} rows each" if scene.named else ""
    return f"[{scene.relation}, {len(scene.units)} units{people}]"


def joined(name: str, found: Sequence[Replayed]) -> Replayed:
    """Several replays of one mechanism as one."""
    first = replace(found[0], name=name)
    for other in found[1:]:
        first = replace(
            first,
            neighbours=first.neighbours + other.neighbours,
            acts=first.acts + other.acts,
            violations=(*first.violations, *other.violations)[:_WORST],
            unchecked=tuple(sorted({*first.unchecked, *other.unchecked})),
            seconds=first.seconds + other.seconds,
        )
    return first
