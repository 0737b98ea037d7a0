"""JunctionTree: cliques that hold tables over (attribute, resolution) nodes, joined so that they agree.

The nodes of one attribute form a chain from fine to coarse. A clique that holds several nodes of an attribute
is stored at the finest of them, since that one says what the others are: a coarse table does not force fine
ones on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored import kernels
from hedgerow.learning.factored.resolution import Node, Resolutions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bits = NDArray[np.uint64]


_SMALL_WHOLE = 1 << 14  # cells: the tables of a domain as small are summed from all of it
_UNIONS = 100


class Graph:
    """Which nodes share a table; grows by tables, and says what the next one would cost.

    Bitsets of as many machine words as there are nodes for, so any number of attributes fits.
    """

    def __init__(self, resolutions: Resolutions) -> None:
        self.resolutions = resolutions
        self.nodes: list[Node] = [(a, r) for a, s in enumerate(resolutions.sizes) for r in range(len(s))]
        self._place = {node: i for i, node in enumerate(self.nodes)}
        self._sizes = np.array([resolutions.size(node) for node in self.nodes], dtype=np.float64)
        self._owner = np.array([a for a, _ in self.nodes], dtype=np.int64)
        words = (len(self.nodes) + 63) // 64
        self._adjacent: Bits = np.zeros((len(self.nodes), words), dtype=np.uint64)
        self._active = np.array([r == 0 for _, r in self.nodes])

    def add(self, nodes: Sequence[Node]) -> None:
        """Make room for a table over some nodes."""
        kernels.join(self._adjacent, self._active, self._owner, self.places([nodes])[0])

    def places(self, tables: Sequence[Sequence[Node]]) -> NDArray[np.int64]:
        """Node sets as rows of node numbers, filled up with -1."""
        out = np.full((len(tables), max(map(len, tables), default=0)), -1, dtype=np.int64)
        for row, nodes in zip(out, tables, strict=True):
            row[: len(nodes)] = [self._place[n] for n in nodes]
        return out

    def costs(self, places: NDArray[np.int64], cap: float) -> NDArray[np.float64]:
        """Cells of the tree with each of several tables added alone, by the fast rule; infinite above cap."""
        out = np.empty(len(places))
        kernels.costs(self._adjacent, self._active, self._sizes, self._owner, places, cap, out)
        return out

    def cost(self, nodes: Sequence[Node], cap: float = np.inf) -> float:
        """Cells of the tree with one more table."""
        return float(self.costs(self.places([nodes]), cap)[0])

    def tree(self, cap: float = np.inf) -> JunctionTree:
        """The junction tree of the cheaper of two elimination rules."""
        tries = [
            kernels.eliminate(self._adjacent.copy(), self._active, self._sizes, self._owner, rule, cap)
            for rule in (kernels.MIN_WEIGHT, kernels.MIN_FILL)
        ]
        order, cliques, cells = min(tries, key=lambda t: t[2])
        if not np.isfinite(cells):
            raise RangeTooLarge(
                f"the model would need more than {int(cap):,} cells: ask for tables of fewer attributes"
            )
        bits = [int.from_bytes(c.astype("<u8").tobytes(), "little") for c in cliques]
        return _tree(self.resolutions, self.nodes, [int(v) for v in order], bits)


class WholeGraph(Graph):
    """The graph of a small domain: one clique holds every attribute at full detail, so all tables fit.

    Where many small tables share a large domain, cliques of a few blocks of attributes hang below that one: a
    table is then summed from the smallest of them that knows it, and not from all cells.
    """

    def __init__(self, resolutions: Resolutions) -> None:
        super().__init__(resolutions)
        self._held: dict[tuple[Node, ...], None] = {}

    def add(self, nodes: Sequence[Node]) -> None:
        """Note a table; it is at home in the clique of everything."""
        self._held[tuple(nodes)] = None

    def costs(self, places: NDArray[np.int64], cap: float) -> NDArray[np.float64]:
        """No table costs more than all cells, which are there anyway."""
        return np.full(len(places), float(self.resolutions.cells(self._all)))

    @property
    def _all(self) -> tuple[Node, ...]:
        return tuple((a, 0) for a in range(len(self.resolutions.sizes)))

    def tree(self, cap: float = np.inf) -> JunctionTree:
        """One clique of all attributes, and what hangs below it."""
        below = self._unions()
        cliques = (self._all, *below)
        members = (frozenset(self.nodes), *(frozenset(c) for c in below))
        return JunctionTree(self.resolutions, cliques, members, (-1, *(0 for _ in below)), ((), *below))

    def _unions(self) -> list[tuple[Node, ...]]:
        """Unions of as many blocks of attributes as the widest table has; none where tables are few."""
        everything = self.resolutions.cells(self._all)
        wide = max((len(t) for t in self._held), default=0)
        if everything <= _SMALL_WHOLE or wide < 1:
            return []
        best, least = [], float(everything * len(self._held))
        for number in range(wide + 1, len(self._all) + 1):
            if comb(number, wide) > _UNIONS:
                break
            blocks = self._blocks(number)
            unions = [tuple(sorted(chain(*some))) for some in combinations(blocks, wide)]
            average = sum(self.resolutions.cells(u) for u in unions) / len(unions)
            work = everything * len(unions) + average * len(self._held)
            if work < least:
                best, least = unions, work
        return best

    def _blocks(self, number: int) -> list[list[Node]]:
        """Attributes in so many blocks of about as many cells."""
        blocks: list[list[Node]] = [[] for _ in range(number)]
        for node in sorted(self._all, key=lambda n: (-self.resolutions.size(n), n)):
            min(blocks, key=lambda b: (self.resolutions.cells(b), len(b))).append(node)
        return blocks


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Cliques, parents before children; `parent[0]` is -1 and a separator may be empty."""

    resolutions: Resolutions
    cliques: tuple[tuple[Node, ...], ...]
    members: tuple[frozenset[Node], ...]
    parent: tuple[int, ...]
    separators: tuple[tuple[Node, ...], ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of every clique."""
        return tuple(self.resolutions.cells(c) for c in self.cliques)

    @property
    def cells(self) -> int:
        """The number of cells of all cliques together."""
        return sum(self.sizes)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The cliques next to every clique."""
        out: list[list[int]] = [[] for _ in self.cliques]
        for k, p in enumerate(self.parent):
            if p >= 0:
                out[k].append(p)
                out[p].append(k)
        return tuple(tuple(n) for n in out)

    @cached_property
    def _finest(self) -> tuple[dict[int, int], ...]:
        return tuple(dict(c) for c in self.cliques)

    def covers(self, clique: int, nodes: Iterable[Node]) -> bool:
        """Whether a clique knows the nodes: it holds each attribute at that resolution or a finer one."""
        finest = self._finest[clique]
        return all(a in finest and finest[a] <= r for a, r in nodes)

    @cached_property
    def _by_size(self) -> list[int]:
        return sorted(range(len(self.cliques)), key=lambda k: (self.sizes[k], k))

    @cached_property
    def _fitting(self) -> dict[Node, int]:
        return {}

    def home(self, nodes: Sequence[Node]) -> int | None:
        """The smallest clique that knows all the nodes, if there is one."""
        fit = (1 << len(self.cliques)) - 1
        for node in nodes:  # bit i stands for the i-th smallest clique
            if node not in self._fitting:
                knows = [self.covers(k, (node,)) for k in self._by_size]
                self._fitting[node] = sum(1 << i for i, yes in enumerate(knows) if yes)
            fit &= self._fitting[node]
        return self._by_size[(fit & -fit).bit_length() - 1] if fit else None

    def path(self, start: int) -> list[int]:
        """For every clique the next one on the way to `start` (-1 there)."""
        towards = [-2] * len(self.cliques)
        towards[start] = -1
        queue = [start]
        for k in queue:
            for other in self.neighbours[k]:
                if towards[other] == -2:
                    towards[other] = k
                    queue.append(other)
        return towards


def _tree(
    resolutions: Resolutions, nodes: Sequence[Node], order: list[int], cliques: list[int]
) -> JunctionTree:
    """Link every elimination clique to the one of its first remaining node, and drop those inside others."""
    position = {v: i for i, v in enumerate(order)}
    parent: list[int] = []
    for i, bits in enumerate(cliques):
        rest = bits & ~(1 << order[i])
        parent.append(min((position[v] for v in _bits(rest)), default=-1))
    children: list[set[int]] = [set() for _ in cliques]
    for i, p in enumerate(parent):
        if p >= 0:
            children[p].add(i)
    alive = set(range(len(cliques)))
    for i in range(len(cliques)):  # a clique inside a child's takes that child's place
        for child in sorted(children[i]):
            if child in alive and cliques[i] & ~cliques[child] == 0:
                for other in children[i] - {child}:
                    parent[other] = child
                children[child] |= children[i] - {child}
                parent[child] = parent[i]
                if parent[i] >= 0:
                    children[parent[i]].discard(i)
                    children[parent[i]].add(child)
                alive.discard(i)
                break
    return _rooted(resolutions, nodes, {i: cliques[i] for i in sorted(alive)}, parent)


def _rooted(
    resolutions: Resolutions, nodes: Sequence[Node], cliques: dict[int, int], parent: list[int]
) -> JunctionTree:
    """One tree out of the forest, leaves moved to the smallest clique that fits, parents first."""
    weight = {i: resolutions.cells(_reduced(nodes, b)) for i, b in cliques.items()}
    up = {i: parent[i] for i in cliques}
    roots = [i for i in cliques if up[i] < 0]
    main = max(roots, key=lambda i: (bin(cliques[i]).count("1"), -i))
    for root in roots:
        up[root] = -1 if root == main else main
    busy = set(up.values())
    for i in cliques:
        if i in busy or up[i] < 0:
            continue
        shared = cliques[i] & cliques[up[i]]
        fitting = [j for j in cliques if j != i and j in busy and shared & ~cliques[j] == 0]
        up[i] = min(fitting, key=lambda j: (weight[j], j))
    below: dict[int, list[int]] = {i: [] for i in cliques}
    for i, p in up.items():
        if p >= 0:
            below[p].append(i)
    sequence = [main]
    for i in sequence:
        sequence.extend(below[i])
    place = {i: k for k, i in enumerate(sequence)}
    bits = [cliques[i] for i in sequence]
    parents = tuple(place[up[i]] if up[i] >= 0 else -1 for i in sequence)
    shared_bits = [b & bits[p] if p >= 0 else 0 for b, p in zip(bits, parents, strict=True)]
    return JunctionTree(
        resolutions,
        tuple(_reduced(nodes, b) for b in bits),
        tuple(frozenset(nodes[v] for v in _bits(b)) for b in bits),
        parents,
        tuple(_reduced(nodes, b) for b in shared_bits),
    )


def _bits(bits: int) -> list[int]:
    out = []
    while bits:
        low = bits & -bits
        out.append(low.bit_length() - 1)
        bits ^= low
    return out


def _reduced(nodes: Sequence[Node], bits: int) -> tuple[Node, ...]:
    """The finest node of every attribute; nodes are ordered by attribute, then from fine to coarse."""
    finest: dict[int, Node] = {}
    for v in _bits(bits):
        finest.setdefault(nodes[v][0], nodes[v])
    return tuple(finest.values())
