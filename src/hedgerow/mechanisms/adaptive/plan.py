"""What an adaptive release may measure, and how much effort it takes: from public values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.coarse import Views
from hedgerow.learning.factored.consistency import Target
from hedgerow.learning.factored.resolution import Node, Resolutions
from hedgerow.queries.strategies.coarse import GroupBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

Nodes = tuple[Node, ...]

LOW = 3.0  # levels below this many standard deviations of their noise are put together
PARTS = (32, 8, 3)  # then groups of about n/32, n/8, n/3 rows
SMALLER = 0.85  # a coarser resolution has at most this part of the groups before it
BIAS = 0.4  # how much of the expected noise a table's score is lowered by
NOISE_LIMIT = 1.0  # tables whose noise, so weighted, is more than this part of all rows are not candidates
HIGHER_LIMIT = (
    0.05  # tables of three attributes or more are asked at full detail, if their noise is this small
)
HIGHER_AT_ONCE = 400  # and at most so many are looked at in one round
HIGHER_WEIGHT = 0.5  # a larger table is always further off than those inside it, and crowds the model
HIGHER_SETS, HIGHER_CELLS = 2000, 1 << 17  # of so many in all, with so many cells together
TABLE_CELLS = 1 << 22  # the full table behind a candidate has at most so many cells
LOOKED_AT = 4e7  # cells of all full tables that are counted, unless told otherwise
LOOKED_AT_BYTES = 100.0  # of memory for one of them: counted, estimated, grouped
MODEL_CELLS = 4e5  # the most that a model has, unless told otherwise
CELL_BYTES = 200.0  # of memory for one cell of the model: belief, index maps, the steps of the fit
THRIFT = 1.0  # where room is short, a table of an even share of the model costs so many times all rows
GROWTH = 0.5  # and what it costs to take all the room that the model has left
NANOSECONDS = 40.0  # per model cell and evaluation, with everything around it: a rough figure for time caps


def importance(workload: Workload, weights: Sequence[float] | None) -> dict[tuple[str, ...], float]:
    """The weight of every attribute set of a workload; blocks over the same set add up."""
    found: dict[tuple[str, ...], float] = {}
    for i, block in enumerate(workload.blocks):
        weight = 1.0 if weights is None else float(weights[i])
        found[block.attributes] = found.get(block.attributes, 0.0) + weight
    return {names: weight for names, weight in found.items() if weight > 0.0}


def ladder(counts: NDArray[np.float64], thresholds: Sequence[float]) -> list[NDArray[np.int64]]:
    """Nested groupings of an attribute's levels: neighbours are put together until a group is large enough.

    Levels that are large enough stay alone; small remainders between them form one group of their own.
    """
    current = np.arange(len(counts), dtype=np.int64)
    mass = np.maximum(counts, 0.0)
    chain: list[NDArray[np.int64]] = []
    for threshold in thresholds:
        new = _grouped(current, mass, threshold)
        groups = int(new.max()) + 1
        if groups < 2:
            break
        if groups <= SMALLER * (int(current.max()) + 1):
            current = new[current]
            chain.append(current)
    return chain


def _grouped(current: NDArray[np.int64], mass: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """One step of the ladder: the new group of every old one."""
    size = int(current.max()) + 1
    held = np.bincount(current, weights=mass, minlength=size)
    middle = np.bincount(current, weights=np.arange(len(current)), minlength=size) / np.bincount(current)
    new = np.full(size, -1, dtype=np.int64)
    groups = 0
    run: list[int] = []
    rest: list[int] = []
    for group in [*np.argsort(middle, kind="stable").tolist(), -1]:
        if run and (group < 0 or held[group] >= threshold or held[run].sum() >= threshold):
            if held[run].sum() >= threshold / 3.0:
                new[run] = groups
                groups += 1
            else:
                rest += run
            run = []
        if group >= 0 and held[group] >= threshold:
            new[group] = groups
            groups += 1
        elif group >= 0:
            run.append(group)
    if rest:
        new[rest] = groups
    return new


def resolutions_of(shape: Sequence[int], ones: Sequence[Target], total: float) -> Resolutions:
    """Every attribute's ladder from its noisy one-way table."""
    found = Resolutions.full(shape)
    for target in ones:
        ((a, _),) = target.nodes
        steps = [LOW * target.sigma, *(total / p for p in PARTS)]
        for groups in ladder(target.counts, sorted(steps)):
            found = found.with_groups(a, groups)
    return found


@dataclass(frozen=True)
class Effort:
    """How many tables are measured, how many between two fits, and how large the model may become.

    `signal` is the number of rows in units of one table's noise when four tables per attribute are measured.
    `short` is the part of the cells that the signal is worth and no model has, 0 where a model has them all.
    Where it is large, noise holds no table back: its finest version is always the furthest off, and a few
    such would fill the model. Room then has a price: coarse tables come first and leave room for all.
    """

    measurements: int
    together: int
    cells: float
    short: float = 0.0
    iterations: int = 8
    last: int = 200

    @classmethod
    def of(
        cls,
        attributes: int,
        signal: float,
        seconds: float | None,
        cells: float | None,
        most: float = np.inf,
        size: float = np.inf,
    ) -> Effort:
        """The effort that the signal is worth, or a given number of cells, within the caps."""
        measurements = round(
            typical_measurements(attributes) * float(np.clip((signal / 800.0) ** 0.35, 0.3, 1.6))
        )
        worth = 1e5 * max((signal / 800.0) ** 0.65, 0.2)
        cap = min(worth, MODEL_CELLS) if cells is None else cells
        together = int(np.clip(measurements // 16, 3, 12))
        if seconds is not None:
            evaluations = 10.0 * measurements / together + 200.0
            cap = min(cap, seconds * 1e9 / (NANOSECONDS * evaluations))
        held = max(1e3, min(cap, most))
        short = max(0.0, 1.0 - max(held, MODEL_CELLS) / min(worth, size))
        return cls(max(1, measurements), together, held, short)

    def room_price(
        self, sizes: NDArray[np.int64], growth: NDArray[np.float64], cells: float, step: int
    ) -> NDArray[np.float64]:
        """What a table's room counts for, as a part of all rows: nothing in the last round, or if all fit.

        Args:
            sizes: the tables' own cells.
            growth: by how many cells the model would grow with each.
            cells: how many it has.
            step: how many tables have been measured.
        """
        own = THRIFT * sizes * self.measurements / self.cells
        taken = GROWTH * np.clip(growth / max(self.cells - cells, 1.0), 0.0, 1.0)
        return self.short * (1.0 - step / self.measurements) * (own + taken)

    def with_measurements(self, measurements: int) -> Effort:
        """The same with a given number of tables."""
        together = int(np.clip(measurements // 16, 3, 12))
        return replace(self, measurements=max(1, measurements), together=together)


def typical_measurements(attributes: int) -> int:
    """How many tables are measured when the signal is that of 50,000 rows at epsilon 1."""
    many = round(4.3 * min(attributes, 14) + 2.0 * max(0, attributes - 14))
    return max(3, min(many, attributes * (attributes - 1) // 2))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The tables that may be measured: sets of attributes, each at several combinations of resolutions.

    Args:
        domain, resolutions: what the tables are over.
        tables: all candidates.
        weights: how much each matters, whole numbers.
        noise: the expected absolute noise of one measured cell.
    """

    domain: Domain
    resolutions: Resolutions
    tables: tuple[Nodes, ...]
    weights: NDArray[np.int64]
    noise: float

    @classmethod
    def of(
        cls,
        domain: Domain,
        resolutions: Resolutions,
        sets: Mapping[tuple[str, ...], float],
        noise: float,
        total: float,
        room: float = LOOKED_AT,
    ) -> Candidates:
        """All tables worth their noise inside the workload's attribute sets; `room` for cells of them all."""
        each = np.zeros(len(domain))  # how much each attribute matters; a table matters as its attributes do
        inside: dict[tuple[int, ...], float] = {}
        for names, weight in sets.items():
            places = sorted(domain.index(a) for a in names)
            each[places] += weight
            for size in range(2, min(len(places), 3) + 1):
                inside.update(dict.fromkeys(combinations(places, size), 0.0))
        inside = {part: float(each[list(part)].mean()) * HIGHER_WEIGHT ** (len(part) - 2) for part in inside}
        most = max(inside.values(), default=1.0)
        tables, weights = [], []
        for part in _worth_looking(resolutions, inside, room):
            weight = inside[part]
            for nodes in admitted(resolutions, part, noise, total):
                tables.append(nodes)
                weights.append(max(1, round(16.0 * weight / most)))
        return cls(domain, resolutions, tuple(tables), np.array(weights, dtype=np.int64), noise)

    def __len__(self) -> int:
        return len(self.tables)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of cells of every candidate."""
        return np.array([self.resolutions.cells(t) for t in self.tables], dtype=np.int64)

    @cached_property
    def penalties(self) -> NDArray[np.float64]:
        """What is taken off a candidate's score for its noise, in rows."""
        return np.asarray(BIAS * self.noise * self.sizes, dtype=np.float64)

    @cached_property
    def set_of(self) -> NDArray[np.int64]:
        """The attribute set of every candidate, as a number."""
        return np.array([self._sets[tuple(a for a, _ in t)] for t in self.tables], dtype=np.int64)

    @cached_property
    def _sets(self) -> dict[tuple[int, ...], int]:
        return {s: i for i, s in enumerate(dict.fromkeys(tuple(a for a, _ in t) for t in self.tables))}

    @cached_property
    def finest(self) -> tuple[Nodes, ...]:
        """For every attribute set, the finest resolution of each attribute that any of its candidates has."""
        best: dict[tuple[int, ...], dict[int, int]] = {}
        for t in self.tables:
            held = best.setdefault(tuple(a for a, _ in t), dict(t))
            for a, r in t:
                held[a] = min(held[a], r)
        return tuple(tuple(best[s].items()) for s in self._sets)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every attribute at the finest resolution that any pair asks for."""
        held: dict[int, int] = {}
        for t in self.finest:
            if len(t) == 2:
                held.update({a: min(r, held.get(a, r)) for a, r in t})
        return tuple(sorted(held.items()))

    @cached_property
    def views(self) -> Views:
        """The candidates as coarsenings of one table per attribute set, each of the nearest finer one."""
        place = {t: i for i, t in enumerate(self.tables)}
        maps, sources = [], []
        for s, nodes in zip(self.set_of, self.tables, strict=True):
            finer = [place.get(_one_finer(nodes, axis), -1) for axis in range(len(nodes))]
            known = [j for j in finer if j >= 0]
            source = min(known, key=lambda j: int(self.sizes[j]), default=-1)
            sources.append(source)
            maps.append(self.resolutions.step(self.tables[source] if source >= 0 else self.finest[s], nodes))
        starts = np.cumsum([0, *map(len, maps)]).astype(np.int64)
        flat = np.concatenate(maps) if maps else np.zeros(0, dtype=np.int32)
        tables = tuple(self.block(t) for t in self.finest)
        return Views(tables, self.set_of, np.array(sources, dtype=np.int64), flat, starts, self.sizes)

    def block(self, nodes: Nodes) -> GroupBlock:
        """A candidate as something to measure."""
        names = self.domain.names
        return GroupBlock(
            tuple(names[a] for a, _ in nodes), tuple(self.resolutions.maps[a][r] for a, r in nodes)
        )

    def coarser(self, index: int) -> list[int]:
        """A candidate and its coarser versions, the largest first."""
        finest = self.tables[index]
        same = np.flatnonzero(self.set_of == self.set_of[index])
        fit = [int(j) for j in same if all(x[1] >= y[1] for x, y in zip(self.tables[j], finest, strict=True))]
        return sorted(fit, key=lambda j: (-int(self.sizes[j]), j))


def _worth_looking(
    resolutions: Resolutions, inside: Mapping[tuple[int, ...], float], room: float
) -> list[tuple[int, ...]]:
    """All pairs, and of the larger sets the smallest tables, as many as can be looked at."""
    cells = {part: prod(resolutions.sizes[a][0] for a in part) for part in inside}
    pairs = [part for part in inside if len(part) == 2]
    higher = sorted((p for p in inside if len(p) > 2), key=lambda part: (cells[part], -inside[part], part))
    kept = _fitting(sorted(pairs, key=lambda part: (cells[part], part)), cells, room)
    return [*sorted(kept), *_fitting(higher[:HIGHER_SETS], cells, HIGHER_CELLS)]


def _fitting(
    parts: list[tuple[int, ...]], cells: Mapping[tuple[int, ...], int], room: float
) -> list[tuple[int, ...]]:
    """As many from the front as there is room for."""
    sums = np.cumsum([cells[part] for part in parts], dtype=np.float64)
    return parts[: int((sums <= room).sum())]


def _one_finer(nodes: Nodes, axis: int) -> Nodes:
    a, r = nodes[axis]
    return (*nodes[:axis], (a, r - 1), *nodes[axis + 1 :])


def admitted(resolutions: Resolutions, part: tuple[int, ...], noise: float, total: float) -> Iterator[Nodes]:
    """The resolutions at which a set of attributes may be measured."""
    if prod(resolutions.sizes[a][0] for a in part) > TABLE_CELLS:
        return
    if len(part) > 2:
        full = tuple((a, 0) for a in part)
        if noise * resolutions.cells(full) <= HIGHER_LIMIT * total:
            yield full
        return
    for chosen in product(*(range(len(resolutions.sizes[a])) for a in part)):
        nodes = tuple(zip(part, chosen, strict=True))
        if BIAS * noise * resolutions.cells(nodes) <= NOISE_LIMIT * total:
            yield nodes
