"""All pair tables of a set of nodes in one walk over the junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored import kernels
from hedgerow.learning.factored.belief import Beliefs
from hedgerow.learning.factored.resolution import Node, finest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass
class _Load:
    """Tables of one separator with several nodes, side by side: P(separator, node) for each."""

    nodes: list[Node]
    table: Floats


@dataclass
class PairWalk:
    """A depth-first walk that meets every pair of nodes once.

    A clique learns, through the separator it is entered by, the joint table of that separator with every node
    seen before; that is all it needs for the pairs of those nodes with its own.
    """

    beliefs: Beliefs
    nodes: Sequence[Node]
    found: dict[tuple[Node, Node], Floats] = field(default_factory=dict)

    def run(self) -> dict[tuple[Node, Node], Floats]:
        """The table of every pair (a before b in the given order)."""
        tree = self.beliefs.tree
        self._rank = {n: i for i, n in enumerate(self.nodes)}
        self._below: list[list[int]] = [[] for _ in tree.cliques]
        for k, p in enumerate(tree.parent):
            if p >= 0:
                self._below[p].append(k)
        self._own: list[list[Node]] = [[] for _ in tree.cliques]
        left = list(self.nodes)
        stack = [0]
        while stack:  # the first clique of the walk that knows a node is its home
            k = stack.pop()
            self._own[k] = [n for n in left if tree.covers(k, (n,))]
            left = [n for n in left if n not in self._own[k]]
            stack.extend(reversed(self._below[k]))
        self._visit(0, None)
        return self.found

    def _visit(self, k: int, load: _Load | None) -> _Load:
        tree, own = self.beliefs.tree, self._own[k]
        for i, b in enumerate(own):
            for a in own[:i]:
                self._keep(a, b, self.beliefs.table_in(k, (a, b)))
            if load is not None and load.nodes:
                wide = np.zeros((tree.resolutions.size(b), load.table.shape[1]))
                self._carry(k, tree.separators[k], (b,), load.table, 0, wide)
                self._split(load.nodes, wide, b)
        returned: list[tuple[int, _Load]] = []
        for child in self._below[k]:
            loads = [(tree.separators[k], load)] if load is not None else []
            loads += [(tree.separators[sibling], back) for sibling, back in returned]
            gate = tree.separators[child]
            returned.append((child, self._visit(child, self._gather(k, gate, own, loads))))
        if load is None:
            return _Load([], np.zeros((1, 0)))
        loads = [(tree.separators[child], back) for child, back in returned]
        return self._gather(k, tree.separators[k], own, loads)

    def _gather(
        self, k: int, gate: tuple[Node, ...], own: list[Node], loads: list[tuple[tuple[Node, ...], _Load]]
    ) -> _Load:
        """What a clique can tell through a gate: its own nodes, and all that was brought to it."""
        resolutions = self.beliefs.tree.resolutions
        names = [*own, *(n for _, load in loads for n in load.nodes)]
        out = np.zeros((resolutions.cells(gate), sum(map(resolutions.size, names))))
        at = 0
        for n in own:
            both = finest((*gate, n))
            weights = self.beliefs.table_in(k, both).reshape(-1)
            kernels.place(weights, resolutions.step(both, gate), resolutions.step(both, (n,)), at, out)
            at += resolutions.size(n)
        for source, load in loads:
            if load.nodes:
                self._carry(k, source, gate, load.table, at, out)
                at += load.table.shape[1]
        return _Load(names, out)

    def _carry(
        self, k: int, source: tuple[Node, ...], target: tuple[Node, ...], table: Floats, at: int, out: Floats
    ) -> None:
        """A table carried across a clique, by way of the smallest table that knows both ends."""
        both = finest((*source, *target))
        weights = self.beliefs.table_in(k, both).reshape(-1)
        sources = self.beliefs.tree.resolutions.step(both, source)
        given = np.bincount(sources, weights=weights, minlength=len(table))
        targets = self.beliefs.tree.resolutions.step(both, target)
        kernels.carry(weights, given, sources, targets, table, at, out)

    def _split(self, names: list[Node], wide: Floats, b: Node) -> None:
        at = 0
        for a in names:
            size = self.beliefs.tree.resolutions.size(a)
            self._keep(a, b, wide[:, at : at + size].T)
            at += size

    def _keep(self, a: Node, b: Node, table: Floats) -> None:
        if self._rank[a] < self._rank[b]:
            self.found[a, b] = table
        else:
            self.found[b, a] = table.T
