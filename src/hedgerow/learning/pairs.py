"""All pair tables of a set of nodes in one walk over the junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning import factored_kernels as kernels
from hedgerow.learning.belief import Beliefs
from hedgerow.learning.resolution import Node, finest

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
                self._split(load.nodes, self._carry(k, tree.separators[k], (b,), load.table), b)
        returned: list[tuple[int, _Load]] = []
        for child in self._below[k]:
            gate = tree.separators[child]
            parts, names = [self._direct(k, gate, own)] if own else [], list(own)
            if load is not None and load.nodes:
                parts.append(self._carry(k, tree.separators[k], gate, load.table))
                names += load.nodes
            for sibling, back in returned:
                if back.nodes:
                    parts.append(self._carry(k, tree.separators[sibling], gate, back.table))
                    names += back.nodes
            empty = np.zeros((tree.resolutions.cells(gate), 0))
            whole = np.concatenate(parts, axis=1) if parts else empty
            returned.append((child, self._visit(child, _Load(names, whole))))
        if load is None:
            return _Load([], np.zeros((1, 0)))
        gate = tree.separators[k]
        parts, names = [self._direct(k, gate, own)] if own else [], list(own)
        for child, back in returned:
            if back.nodes:
                parts.append(self._carry(k, tree.separators[child], gate, back.table))
                names += back.nodes
        empty = np.zeros((tree.resolutions.cells(gate), 0))
        return _Load(names, np.concatenate(parts, axis=1) if parts else empty)

    def _direct(self, k: int, gate: tuple[Node, ...], own: list[Node]) -> Floats:
        cells = self.beliefs.tree.resolutions.cells
        at = self.beliefs.index(k, gate).astype(np.int64)
        parts = []
        for n in own:
            joint = at * cells((n,)) + self.beliefs.index(k, (n,))
            sums = np.bincount(joint, weights=self.beliefs.clique(k), minlength=cells(gate) * cells((n,)))
            parts.append(sums.reshape(cells(gate), -1))
        return np.concatenate(parts, axis=1)

    def _carry(self, k: int, source: tuple[Node, ...], target: tuple[Node, ...], table: Floats) -> Floats:
        """A table carried across a clique, by way of the smallest table that knows both ends."""
        resolutions = self.beliefs.tree.resolutions
        both = finest((*source, *target))
        weights = self.beliefs.table_in(k, both).reshape(-1)
        given = np.bincount(resolutions.step(both, source), weights=weights, minlength=len(table))
        out = np.zeros((resolutions.cells(target), table.shape[1]))
        kernels.carry(
            weights, given, resolutions.step(both, source), resolutions.step(both, target), table, out
        )
        return out

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

