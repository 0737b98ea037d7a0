"""Mistakes planted for the replay: each would cost somebody's privacy and must be found. Never exported."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled import left_out
from hedgerow.audit.coupled import planted_distances as distances
from hedgerow.audit.coupled.looks import LONG, LOOKS, RUNS
from hedgerow.audit.coupled.planted_refined import REFINED
from hedgerow.audit.coupled.replay import GROUPS, Replayed, replay_neighbours
from hedgerow.audit.coupled.scenes import Relation
from hedgerow.audit.coupled.sums import MISTAKES
from hedgerow.audit.coupled.tape import KEY, Replaying
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise import noise
from hedgerow.curator.noise.selection import exponential
from hedgerow.curator.rows.coding import coded
from hedgerow.curator.rows.table import Rows
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget, Privacy
from hedgerow.privacy.event import Exponential
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Query

DOMAIN = Domain({"a": 3, "b": 2})
FOUR = Budget(epsilon=4)
PEOPLE: tuple[tuple[int, bool], ...] = ((3, True),)
TABLE = ("a", "b")


@dataclass(frozen=True)
class Planted:
    """One mistake: the code that has it, and whom it would hurt."""

    name: str
    run: Callable[[Any], Any]
    kind: type[Replaying] = Replaying
    relations: Sequence[Relation] = ("add_remove", "replace")
    groups: Sequence[tuple[int, bool]] = GROUPS
    domain: Domain = DOMAIN
    budget: Budget = FOUR

    def replayed(self, neighbours: int = 400, seconds: float = 10.0) -> Replayed:
        """What a replay on neighbouring tables says of this mistake."""
        return replay_neighbours(
            self.run,
            self.domain,
            budget=self.budget,
            relations=self.relations,
            groups=self.groups,
            neighbours=neighbours,
            seconds=seconds,
            name=self.name,
            curator=self.kind,
        )


# ---- in the curator --------------------------------------------------------------------------------------


class OneRowEach(Replaying):
    """A person has up to three rows and the sensitivity is that of one."""

    @property
    def privacy(self) -> Privacy:
        return Privacy(super().privacy.neighbours, 1)


class NobodySwapped(Replaying):
    """Rows are replaced and the sensitivity is that of a row more or less."""

    @property
    def privacy(self) -> Privacy:
        return Privacy("add_remove", super().privacy.max_rows)


class DoubleWeight(Replaying):
    """A row counts twice."""

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        return super()._act(event, lambda: [2 * v for v in evaluate()], draw, question, **rest)


class KeyFromRows(Replaying):
    """The key that chooses a person's rows is a digest of everybody's rows."""

    def _bounding_key(self) -> bytes:
        rows = Rows(self.table, KEY, self.ledger.settings.spelling)
        return hashlib.sha256(rows.tables([TABLE])[TABLE].tobytes()).digest()


class FirstRows(Rows):
    """Of a person's rows the first ones of the file are kept."""

    def _bounded(self) -> NDArray[Any]:
        unit = self._table.unit
        assert unit is not None
        seen: dict[int, int] = {}
        kept, batches = [], list(self._table._engine.batches([*self.domain.columns, unit.column]))
        for batch in batches:
            for i, who in enumerate(batch.column(len(self.domain.columns)).to_pylist()):
                seen[who] = seen.get(who, 0) + 1
                if seen[who] <= unit.max_rows:
                    kept.append(i)
        codes = (
            np.concatenate([coded(self.domain, b) for b in batches], axis=1)
            if batches
            else super()._bounded()
        )
        return np.ascontiguousarray(codes[:, kept])


class ByPosition(Replaying):
    """A curator of `FirstRows`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows = FirstRows(self.table, KEY, self.ledger.settings.spelling)


class NoiseTwice(Replaying):
    """The noise of one number serves the next one too."""

    def _noise(self, law: Any, values: Any) -> Any:
        drawn = super()._noise(law, values).ravel()
        drawn[1:] = drawn[:1]
        return drawn.reshape(values.shape)


class HalfScale(Replaying):
    """The noise has half the scale that was paid for."""

    def _noise(self, law: Any, values: Any) -> Any:
        return super()._noise(replace(law, scale=law.scale / 2), values)


class ChargedDifference(Replaying):
    """A closer answer is measured whole, and charged what it costs more than the one before."""

    def _noise(self, law: Any, values: Any) -> Any:
        again = len(self.witness.met) > 1
        return super()._noise(replace(law, scale=law.scale / 2) if again else law, values)


class OtherLaw(Replaying):
    """Gaussian noise where Laplace noise was paid for."""

    def _noise(self, law: Any, values: Any) -> Any:
        return noise.discrete_gaussian(law.scale, values.size, self._entropy).reshape(values.shape)


class NoNoise(Replaying):
    """The first number of an act is released as it is."""

    def _noise(self, law: Any, values: Any) -> Any:
        drawn = super()._noise(law, values).ravel()
        drawn[:1] = 0
        return drawn.reshape(values.shape)


class Uncharged(Replaying):
    """Every second act has no line in the ledger."""

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        if len(self.witness.met) % 2 == 0:
            return super()._act(event, evaluate, draw, question, **rest)
        met = self.witness.meets(event, question, None, "", None, self.account)
        met.exact = evaluate()
        with self.witness.listening(met):
            met.drawn = draw(met.exact)
        return self.witness.said(met)  # type: ignore[no-any-return]


class ComparedValue(Replaying):
    """What is released after "above" is the noisy number that was compared."""

    def _compare(self, plan: Any, state: Any, values: Any, most: int | None = None) -> Any:
        told = super()._compare(plan, state, values, most)
        met = self.witness.met[-1]
        new, places, released, asked = met.drawn
        if released.size and self.witness.script is None:
            met.drawn = new, places, values[places] + met.draws[0].about[1][places], asked
        return told if self.witness.script is not None else met.drawn


class StaleThreshold(Replaying):
    """A run that has tripped goes on by its old threshold, though each is paid as a run of its own."""

    def _compare(self, plan: Any, state: Any, values: Any, most: int | None = None) -> Any:
        super()._compare(plan, state, values, most)
        met = self.witness.met[-1]
        met.drawn = (replace(met.drawn[0], threshold=state.threshold + 1), *met.drawn[1:])
        return self.witness.said(met)


class BothWays(Replaying):
    """A one-sided run is asked about absolute differences, which move both ways."""

    def _compare(self, plan: Any, state: Any, values: Any, most: int | None = None) -> Any:
        turned = np.where(np.arange(values.size) % 2 == 0, values, -values)
        return super()._compare(plan, state, turned, most)


# ---- in a mechanism --------------------------------------------------------------------------------------


def _exact(curator: Curator) -> NDArray[np.int64]:
    return curator._rows.tables([TABLE])[TABLE]


def _table(curator: Curator) -> Any:
    return [curator.measure(TABLE, 1), curator.measure(("a",), 1)]


def _again(curator: Curator) -> Any:
    return [curator.measure(TABLE, 1), curator.measure(TABLE, 1)]


def branch(curator: Curator) -> Any:
    """Which table is measured depends on a cell."""
    return curator.measure(("a",) if _exact(curator)[0, 0] > 1 else ("b",), 1)


def candidates(curator: Curator) -> Any:
    """Only queries that count somebody are candidates."""
    from hedgerow.curator.statistics.statistics import QueryErrors
    from hedgerow.queries.workload import Workload

    queries = [Query.where(DOMAIN, {"a": i}) for i in range(3) if _exact(curator)[i].sum()] or [Query.total()]
    return curator.select(QueryErrors(Workload.of(queries), np.zeros(len(queries))), 1)


def estimates(curator: Curator) -> Any:
    """Errors are taken from an estimate that was never released."""
    from hedgerow.curator.statistics.statistics import QueryErrors
    from hedgerow.queries.workload import Workload

    guess = _exact(curator).sum(axis=1)
    return curator.select(
        QueryErrors(Workload.of([Query.where(DOMAIN, {"a": i}) for i in range(3)]), guess), 1
    )


def sharp(curator: Any) -> Any:
    """The scores of a choice are swapped rows' distances, and the sensitivity is that of one count."""
    event = Exponential(Fraction(1))

    def draw(scores: NDArray[np.int64]) -> list[NDArray[Any]]:
        return [np.array(exponential(scores, 1, Fraction(1), curator._entropy))]

    return curator._act(event, lambda: np.abs(_exact(curator).ravel() * 3 - 2), draw, "select:sharp")


def counted(curator: Curator) -> Any:
    """The number of units divides a released count, though it is private."""
    return curator.measure(("a",), 1).counts / max(1, curator._rows.units())


def returned(curator: Curator) -> Any:
    """The exact table is returned beside one charged act."""
    return curator.measure(("a",), 1), _exact(curator)


def largest(curator: Curator) -> Any:
    """The query to measure is that of the largest exact count: a free argmax."""
    best = int(np.argmax(_exact(curator).sum(axis=1)))
    return best, curator.measure(Query.where(DOMAIN, {"a": best}), 1)


def fails(curator: Curator) -> Any:
    """An error that only some tables meet."""
    if not _exact(curator)[2].sum():
        raise HedgerowError("there is nobody in this group")
    return curator.measure(("a",), 1)


def named(curator: Curator) -> Any:
    """The request id is made of rows."""
    return curator.measure(("a",), 1, request=hashlib.sha256(_exact(curator).tobytes()).hexdigest())


def lengthy(curator: Curator) -> Any:
    """A ledger line is as long as there are rows."""
    curator.ledger.record(b" " * int(_exact(curator).sum()))
    return curator.measure(("a",), 1)


def shorter(curator: Curator) -> Any:
    """Of a table only the cells that somebody is in are released."""
    measured, cells = curator.measure(TABLE, 1), np.flatnonzero(_exact(curator))
    return measured.counts.ravel()[cells]


def _numeric(curator: Curator) -> Any:
    return curator.sparse_vector(1, 3, method="numeric_sparse", count=2).ask_all(TABLE)


def _sparse(curator: Curator) -> Any:
    run = curator.sparse_vector(1, 3, method="sparse", count=3)
    return [run.ask_all(TABLE, most=1) for _ in range(2) if run.remaining]


def _sided(curator: Curator) -> Any:
    queries = [Query.where(DOMAIN, {"a": i}) for i in range(3)] + [Query.total()]
    return curator.one_sided(9, 1, side="over").ask(queries, [0.0] * 4)


def planted() -> list[Planted]:
    """Every planted mistake; a replay on neighbouring tables must find each of them."""
    adds: tuple[Relation, ...] = ("add_remove",)
    return [
        Planted("wrong max_rows", _table, OneRowEach, groups=PEOPLE),
        Planted("a swap taken for an addition", _table, NobodySwapped, ("replace",)),
        Planted("weight above 1", _table, DoubleWeight),
        Planted("row-dependent branch", branch),
        Planted("row-dependent candidates", candidates),
        Planted("estimates that were never released", estimates),
        Planted("a score that moves further than declared", sharp),
        Planted("key derived from rows", _table, KeyFromRows, groups=PEOPLE),
        Planted("rows kept by position", _table, ByPosition, groups=PEOPLE),
        Planted("exact n under add_remove", counted, relations=adds),
        Planted("noise used twice", _table, NoiseTwice),
        Planted("wrong scale", _table, HalfScale),
        Planted("a closer answer charged as the difference", _again, ChargedDifference),
        Planted("another law than declared", _table, OtherLaw),
        Planted("a number without noise", _table, NoNoise),
        Planted("charge skipped", _table, Uncharged),
        Planted("compared value released", _numeric, ComparedValue),
        Planted("threshold that was not drawn", _sparse, StaleThreshold),
        Planted("one-sided run asked both ways", _sided, BothWays, adds),
        Planted("exact table returned", returned),
        Planted("query chosen by a free argmax", largest),
        Planted("row-dependent error", fails),
        Planted("request id made of rows", named),
        Planted("row-dependent line length", lengthy),
        Planted("row-dependent form of the result", shorter),
        *(Planted(name, run) for name, run in REFINED.items()),
        *(Planted(name, run, kind) for name, (run, kind) in LOOKS.items()),
        *(
            Planted(name, run, kind, domain=LONG, budget=Budget(rho=50, delta=0.01))
            for name, (run, kind) in RUNS.items()
        ),
        Planted(
            "distances of several tables at the norm of one",
            distances._chosen,
            distances.NormOfOne,
            domain=distances.THREE,
            budget=distances.SEEN,
        ),
        Planted("distances to what was never released", distances.unreleased, domain=distances.THREE),
        *(
            Planted(name, run, kind, relations, left_out.GROUPS, left_out.UNEVEN, left_out.LITTLE)
            for name, (run, kind, relations) in left_out.MISTAKES.items()
        ),
        *(Planted(n, run, kind, groups=g, domain=d) for n, (run, kind, g, d) in MISTAKES.items()),
    ]
