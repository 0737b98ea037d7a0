"""Beliefs: the probabilities that potentials on a junction tree stand for, and any table of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import HedgerowError, RangeTooLarge
from hedgerow.learning.factored import kernels, log_kernels
from hedgerow.learning.factored.junction_tree import JunctionTree
from hedgerow.learning.factored.resolution import Node, finest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Index = NDArray[np.int32]

WORK_LIMIT = 20_000_000_000
"""Multiplications that one table may cost before it is refused."""
OUT_LIMIT = 1 << 27
"""Cells that one table may have."""


class Beliefs:
    """A junction tree with potentials on it: `calibrate`, then read tables.

    Args:
        tree: where the tables live.
        tables: the node sets of the potentials; each must be known to one clique.
        zeros: node sets with 0/1 arrays of what is possible.
    """

    def __init__(
        self,
        tree: JunctionTree,
        tables: Sequence[tuple[Node, ...]],
        zeros: Sequence[tuple[tuple[Node, ...], NDArray[np.bool_]]] = (),
    ) -> None:
        self.tree = tree
        self.tables = tuple(tables)
        self._known: dict[tuple[int, tuple[Node, ...]], Index] = {}
        sizes = [tree.resolutions.cells(t) for t in tables]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._cells = np.concatenate([[0], np.cumsum(tree.sizes)]).astype(np.int64)
        self._compile()
        self._base = self._possible(zeros)
        # Zeros, not what was in memory before: a release holds these arrays, filled or not.
        self.beliefs = np.zeros(int(self._cells[-1]))
        self._factors = np.zeros(int(self.starts[-1]))
        self.projected = np.zeros(int(self.starts[-1]))

    def _compile(self) -> None:
        """Flat lists of index maps: for every clique its tables, for every separator both of its sides."""
        tree = self.tree
        homes: list[list[int]] = [[] for _ in tree.cliques]
        for t, nodes in enumerate(self.tables):
            home = tree.home(nodes)
            if home is None:
                raise HedgerowError("a potential does not fit into any clique")
            homes[home].append(t)
        parts: list[Index] = []
        length = 0

        def put(clique: int, nodes: tuple[Node, ...]) -> int:
            nonlocal length
            parts.append(self.index(clique, nodes))
            length += len(parts[-1])
            return length - len(parts[-1])

        table_maps, table_at, clique_tables = [], [], [0]
        for k, held in enumerate(homes):
            for t in held:
                table_maps.append(put(k, self.tables[t]))
                table_at.append(int(self.starts[t]))
            clique_tables.append(len(table_maps))
        up, down = [], []
        for k, p in enumerate(tree.parent):
            up.append(put(k, tree.separators[k]) if p >= 0 else 0)
            down.append(put(p, tree.separators[k]) if p >= 0 else 0)
        seps = [tree.resolutions.cells(s) for s in tree.separators]
        self._parent = np.array(tree.parent, dtype=np.int64)
        self._clique_tables = np.array(clique_tables, dtype=np.int64)
        self._table_maps = np.array(table_maps, dtype=np.int64)
        self._table_at = np.array(table_at, dtype=np.int64)
        self._up, self._down = np.array(up, dtype=np.int64), np.array(down, dtype=np.int64)
        self._seps = np.concatenate([[0], np.cumsum(seps)]).astype(np.int64)
        self._sep_beliefs = np.zeros(int(self._seps[-1]))
        self._maps = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def _possible(self, zeros: Sequence[tuple[tuple[Node, ...], NDArray[np.bool_]]]) -> Floats:
        if not zeros:
            return np.empty(0)
        base = np.ones(int(self._cells[-1]))
        for nodes, allowed in zeros:
            home = self.tree.home(nodes)
            if home is None:
                raise HedgerowError("a declared impossible combination does not fit into any clique")
            base[self._cells[home] : self._cells[home + 1]] *= allowed.ravel()[self.index(home, nodes)]
        return base

    def index(self, clique: int, nodes: tuple[Node, ...]) -> Index:
        """For every cell of a clique the cell of a table over nodes that it knows."""
        key = (clique, nodes)
        if key not in self._known:
            self._known[key] = self.tree.resolutions.step(self.tree.cliques[clique], nodes)
        return self._known[key]

    def calibrate(self, theta: Floats) -> float:
        """Make all cliques agree on the distribution exp(sum of potentials); returns its log normaliser."""
        scale = kernels.exponentials(theta, self.starts, self._factors)
        rest = (
            self._base,
            self._cells,
            self._parent,
            self._clique_tables,
            self._table_maps,
            self._table_at,
            self._maps,
            self._up,
            self._down,
            self._seps,
            self.beliefs,
            self._sep_beliefs,
        )
        log_sum = kernels.calibrate(self._factors, *rest)
        if np.isnan(log_sum):  # potentials so large that their products are lost: they are added instead
            return float(log_kernels.calibrate_logs(theta, *rest))
        return float(scale + log_sum)

    def project(self) -> Floats:
        """The probabilities of all potentials' tables, flat; valid until the next call."""
        kernels.project(
            self.beliefs,
            self._cells,
            self._clique_tables,
            self._table_maps,
            self._table_at,
            self._maps,
            self.projected,
        )
        return self.projected

    def clique(self, k: int) -> Floats:
        """The probabilities of one clique's cells."""
        return self.beliefs[self._cells[k] : self._cells[k + 1]]

    # -- any table ----------------------------------------------------------------------------------------

    def table(self, nodes: tuple[Node, ...], work_limit: float = WORK_LIMIT) -> Floats:
        """The table over any nodes, one per attribute, in one clique or across several."""
        shape = self.tree.resolutions.shape(nodes)
        if prod(shape) > OUT_LIMIT:
            raise RangeTooLarge(
                f"a table of {prod(shape):,} cells is more than {OUT_LIMIT:,}: ask for fewer attributes"
            )
        home = self.tree.home(nodes)
        if home is not None:
            return self.table_in(home, nodes)
        route = self._route(nodes)
        if route.work > work_limit:
            raise RangeTooLarge(
                f"this table would take {route.work:.2g} multiplications, more than {work_limit:.2g}; "
                "ask for fewer attributes, or sample rows and count"
            )
        flat, order = route.run()
        axes = [order.index(n) for n in nodes]
        return flat.reshape(self.tree.resolutions.shape(order)).transpose(axes)

    def expectation(self, factors: Mapping[int, Floats]) -> float:
        """The mean of a product of weights of single attributes: one pass over the tree, and no table.

        With cliques C and separators S between them, P = prod P(C) / prod P(S); what is known below a
        separator is summed out on the way to the root.
        """
        tree = self.tree
        homes: dict[int, list[int]] = {}
        for a in factors:
            home = tree.home(((a, 0),))
            assert home is not None
            homes.setdefault(home, []).append(a)
        arrived: dict[int, list[tuple[int, Floats]]] = {}
        for k in reversed(range(len(tree.cliques))):  # children before parents
            if k not in homes and k not in arrived:
                continue
            held = self.clique(k).copy()
            for a in homes.get(k, ()):
                held *= factors[a][self.index(k, ((a, 0),))]
            for child, message in arrived.get(k, ()):
                held *= message[self.index(k, tree.separators[child])]
            if tree.parent[k] < 0:
                return float(held.sum())
            gate = tree.separators[k]
            given = self.table_in(k, gate).reshape(-1)
            sums = np.bincount(self.index(k, gate), weights=held, minlength=len(given))
            message = np.divide(sums, given, out=np.zeros_like(sums), where=given > 0.0)
            arrived.setdefault(tree.parent[k], []).append((k, message))
        return 1.0

    def table_in(self, clique: int, nodes: tuple[Node, ...]) -> Floats:
        """The table over nodes that one clique knows."""
        shape = self.tree.resolutions.shape(nodes)
        sums = np.bincount(self.index(clique, nodes), weights=self.clique(clique), minlength=prod(shape))
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    def _route(self, nodes: tuple[Node, ...]) -> Route:
        """The cheapest of the routes that end at one of the cliques that the table needs."""
        tree = self.tree
        known = [sum(tree.covers(k, (n,)) for n in nodes) for k in range(len(tree.cliques))]
        centre = max(range(len(known)), key=lambda k: (known[k], -tree.sizes[k]))
        towards = tree.path(centre)

        def distance(k: int) -> int:
            steps = 0
            while towards[k] >= 0:
                k, steps = towards[k], steps + 1
            return steps

        homes: dict[int, tuple[Node, ...]] = {}
        for node in nodes:
            fitting = [k for k in range(len(known)) if tree.covers(k, (node,))]
            at = min(fitting, key=lambda k: (distance(k), tree.sizes[k]))
            homes[at] = (*homes.get(at, ()), node)
        first = Route(self, centre, homes)
        routes = [first, *(Route(self, k, homes) for k in first.needed if k != centre)]
        return min(routes, key=lambda r: r.work)


class Route:
    """The way a table across cliques is put together: from the cliques that know its nodes to one root."""

    def __init__(self, beliefs: Beliefs, root: int, homes: dict[int, tuple[Node, ...]]) -> None:
        self._beliefs, self._tree = beliefs, beliefs.tree
        self._root, self._homes = root, homes
        towards = self._tree.path(root)
        needed = {root}
        for k in homes:
            while k >= 0 and k not in needed:
                needed.add(k)
                k = towards[k]
        self._towards, self.needed = towards, needed
        self._below = {
            k: [c for c in self._tree.neighbours[k] if c in needed and towards[c] == k] for k in needed
        }

    def _order(self, k: int = -1) -> Iterator[int]:
        """Needed cliques, children before parents."""
        start = self._root if k < 0 else k
        stack, out = [start], []
        while stack:
            out.append(stack.pop())
            stack.extend(self._below[out[-1]])
        return reversed(out)

    def _gate(self, k: int) -> tuple[Node, ...]:
        """The separator between a clique and the next one towards the root."""
        other = self._towards[k]
        if other < 0:
            return ()
        return self._tree.separators[k if self._tree.parent[k] == other else other]

    def _joint(self, k: int) -> tuple[Node, ...]:
        """What a clique must know for this table: its own nodes and all separators on the way."""
        gates = [n for c in self._below[k] for n in self._gate(c)]
        return finest((*self._gate(k), *self._homes.get(k, ()), *gates))

    @cached_property
    def work(self) -> float:
        """Multiplications needed, and cells made on the way."""
        cells = self._tree.resolutions.cells
        width: dict[int, int] = {}
        total = 0.0
        for k in self._order():
            carried = prod(width[c] for c in self._below[k])
            width[k] = carried * cells(self._homes.get(k, ()))
            total += float(carried) * cells(self._joint(k)) + 4.0 * width[k] * cells(self._gate(k))
        return total

    def run(self) -> tuple[Floats, list[Node]]:
        """The table, flat, and the order of its nodes."""
        done: dict[int, tuple[Floats, list[Node]]] = {}
        for k in self._order():
            done[k] = self._across(k, [done.pop(c) for c in self._below[k]])
        return done[self._root]

    def _across(self, k: int, arrived: list[tuple[Floats, list[Node]]]) -> tuple[Floats, list[Node]]:
        """P(gate, everything asked for on this side): cells of the gate by cells of the rest."""
        resolutions = self._tree.resolutions
        cells, step, both = resolutions.cells, resolutions.step, self._joint(k)
        gate, own = self._gate(k), self._homes.get(k, ())
        target = step(both, gate).astype(np.int64) * cells(own) + step(both, own)
        weights = self._beliefs.table_in(k, both).reshape(-1)
        size = cells(gate) * cells(own)
        order = [*own, *(n for _, part in arrived for n in part)]
        if not arrived:
            sums = np.asarray(np.bincount(target, weights=weights, minlength=size), dtype=np.float64)
            return sums.reshape(cells(gate), -1), order
        children = self._below[k]
        sources = [step(both, self._gate(c)) for c in children]
        given = [table.sum(axis=1) for table, _ in arrived]
        if len(arrived) == 1:
            out = np.zeros((size, arrived[0][0].shape[1]))
            kernels.carry(weights, given[0], sources[0], target, arrived[0][0], 0, out)
        elif len(arrived) == 2:
            first, second = arrived[0][0], arrived[1][0]
            out = np.zeros((size, first.shape[1] * second.shape[1]))
            kernels.merge(
                weights,
                np.concatenate(given),
                np.stack(sources),
                len(given[0]),
                target,
                first,
                second,
                out,
            )
        else:
            out = self._merge_many(weights, target, size, sources, given, [t for t, _ in arrived])
        return out.reshape(cells(gate), -1), order

    @staticmethod
    def _merge_many(
        weights: Floats,
        target: NDArray[np.int64],
        size: int,
        sources: list[Index],
        given: list[Floats],
        tables: list[Floats],
    ) -> Floats:
        """Three or more branches meet: cell by cell, the product of what each brings."""
        width = prod(t.shape[1] for t in tables)
        out = np.zeros((size, width))
        for i in np.flatnonzero(weights > 0):
            row = np.array([weights[i]])
            for source, mass, table in zip(sources, given, tables, strict=True):
                row = np.multiply.outer(row, table[source[i]] / mass[source[i]]).ravel()
            out[target[i]] += row
        return out
