"""Limits: between which numbers the answer to a query must lie, by the measured tables and nothing else.

A model may be wrong about what its tables do not hold. But a count over many attributes is at most any count
over some of them, and at least what is left of one when all that others exclude is taken away (Fréchet,
Bonferroni). Measured tables bound these counts, each up to its noise; a union bound makes all hold at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.pieces import Statement
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.strategies.coarse import GroupBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LARGEST = 1 << 22  # weights over more cells than this are bounded only if they are products
_EVENTS = 3  # per measured table: what its cells say of the query, and what one attribute keeps or excludes


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A noisy table, whole or with grouped levels; `groups[i]` is the group of each level of attribute i."""

    attributes: tuple[str, ...]
    groups: tuple[NDArray[np.int64], ...]
    counts: Floats
    noise: Noise

    @classmethod
    def all_of(cls, measurements: Sequence[Measurement]) -> Iterator[MeasuredTable]:
        """Those among some measurements that are tables."""
        for m in measurements:
            if m.workload is None and m.strategy is None:
                groups = tuple(np.arange(k) for k in m.counts.shape)
                yield cls(m.attributes, groups, m.counts, m.noise)
            elif m.workload is not None and len(m.workload.blocks) == 1:
                block = m.workload.blocks[0]
                if isinstance(block, GroupBlock):
                    yield cls(block.attributes, block.groups, m.counts.reshape(block.shape), m.noise)

    def sides(self, weights: QueryWeights, confidence: float, numbers: int) -> tuple[float, float]:
        """At least and at most how much of a query lies in the rows, by this table."""
        found = []
        for most in (False, True):
            c = weights.on(self, most=most)
            wide = self.noise.half_width(confidence, c, numbers)
            found.append(float((c * self.counts).sum()) + (wide if most else -wide))
        return found[0], found[1]


class QueryWeights:
    """A query's weights: a product of one factor for each attribute, or an array over their table."""

    def __init__(self, query: Query) -> None:
        self.attributes = query.attributes
        self.factors = None
        if query.factors is not None:
            self.factors = [np.asarray(f, dtype=np.float64) for f in query.factors]
            self.factors = [f / (f.max(initial=0.0) or 1.0) for f in self.factors]
            self.scale = query.largest / ONE
        elif query.weights.size > _LARGEST:
            raise RangeTooLarge(
                "the weights of this query are over too many cells to be bounded: name fewer attributes"
            )
        else:
            self.dense = np.asarray(query.weights / ONE, dtype=np.float64)

    def on(self, table: MeasuredTable, *, most: bool) -> Floats:
        """The largest or least weight of a row in each cell of a table; what it does not know may be any."""
        pick = np.max if most else np.min
        extreme = np.maximum if most else np.minimum
        here = [a for a in table.attributes if a in self.attributes]
        if self.factors is None:
            out = tuple(i for i, a in enumerate(self.attributes) if a not in here)
            weights = pick(self.dense, axis=out) if out else self.dense
            kept = [a for a in self.attributes if a in here]
            weights = weights.transpose([kept.index(a) for a in here])
        else:
            rest = [pick(f) for a, f in zip(self.attributes, self.factors, strict=True) if a not in here]
            weights = np.full((1,) * len(here), self.scale * float(np.prod(rest)))
            for i, a in enumerate(here):
                factor = self.factors[self.attributes.index(a)]
                weights = weights * factor.reshape([-1 if j == i else 1 for j in range(len(here))])
        for i, a in enumerate(here):
            groups = table.groups[table.attributes.index(a)]
            shape = (*weights.shape[:i], int(groups.max()) + 1, *weights.shape[i + 1 :])
            grouped = np.full(shape, -np.inf if most else np.inf)
            extreme.at(np.moveaxis(grouped, i, 0), groups, np.moveaxis(weights, i, 0))
            weights = grouped
        at = [weights.shape[here.index(a)] if a in here else 1 for a in table.attributes]
        return np.asarray(np.broadcast_to(weights.reshape(at), table.counts.shape))

    def kept(self, table: MeasuredTable, confidence: float, numbers: int) -> tuple[str, float, float]:
        """Of one attribute's own table: at least how many rows the factor keeps, at most how many not."""
        (name,) = table.attributes
        assert self.factors is not None
        factor = self.factors[self.attributes.index(name)]
        inside, outside = float((factor * table.counts).sum()), float(((1.0 - factor) * table.counts).sum())
        noise = table.noise
        return (
            name,
            inside - noise.half_width(confidence, factor, numbers),
            outside + noise.half_width(confidence, 1.0 - factor, numbers),
        )


def limits(measurements: Sequence[Measurement], query: Query, confidence: float) -> tuple[float, float]:
    """At least and at most what a query counts, in rows; infinite where nothing is known."""
    return limits_by(list(MeasuredTable.all_of(measurements)), query, confidence)


def limits_by(tables: Sequence[MeasuredTable], query: Query, confidence: float) -> tuple[float, float]:
    """The same by tables that are at hand; those that share no attribute with the query say nothing more."""
    weights = QueryWeights(query)
    numbers = max(1, _EVENTS * len(tables))
    low, high = 0.0, np.inf
    for table in tables:
        least, most = table.sides(weights, confidence, numbers)
        low, high = max(low, least), min(high, most)
    if weights.factors is not None:
        alone = [t for t in tables if len(t.attributes) == 1 and set(t.attributes) <= set(weights.attributes)]
        whole = [t for t in alone if t.counts.size == len(t.groups[0])]
        found: dict[str, tuple[float, float]] = {}
        for name, inside, outside in (weights.kept(t, confidence, numbers) for t in whole):
            before = found.get(name, (-np.inf, np.inf))
            found[name] = max(before[0], inside), min(before[1], outside)
        if len(found) == len(weights.attributes) > 0:
            excluded = sum(max(0.0, out) for _, out in found.values())
            for inside, out in found.values():
                low = max(low, weights.scale * (inside - (excluded - max(0.0, out))))
    return low, max(high, low)


def told_limits(kind: str, tables: Sequence[MeasuredTable], asked: Any, confidence: float) -> tuple[Any, Any]:
    """The limits of all counts that a kind of synopsis was asked for, in their own unit and shape."""
    if isinstance(asked, Statement) and not asked.counts:
        raise UnsupportedQuery("limits are known of one count of rows, or one for each group: COUNT(*)")
    if not tables:
        raise UnsupportedQuery(f"a {kind} synopsis holds no measured tables to limit a count by")
    rows = np.array([limits_by(tables, q, confidence) for q in asked.workload]).reshape(-1, 2)
    ends = [asked.told(rows[:, i], np.zeros(len(rows)), confidence, 0.0).value for i in (0, 1)]
    low, high = np.minimum(*ends), np.maximum(*ends)  # a negative unit turns them round
    return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)
