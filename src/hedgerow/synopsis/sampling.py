"""Rows from noisy tables: the maximum spanning tree of measured pairs as a model to draw from [CL68]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

TableOf = Callable[[tuple[str, ...]], "NDArray[np.float64]"]


@dataclass(frozen=True)
class TreeModel:
    """A distribution over rows: groups of attributes drawn in order, each given one earlier attribute."""

    steps: tuple[tuple[str | None, str, NDArray[np.float64]], ...]
    whole: tuple[tuple[str, ...], NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, domain: Domain, cliques: Iterable[tuple[str, ...]], table: TableOf) -> TreeModel:
        """The tree of the pairs that share most information; a table of everything is used as it is."""
        cliques = list(cliques)
        if domain.names in cliques:
            return cls((), (domain.names, _positive(table(domain.names))))
        pairs = {p for c in cliques for p in combinations(domain.order(c), 2)}
        weights = {p: _information(_positive(table(p))) for p in pairs}
        known = {a for c in cliques for a in c}
        order, parent = _spanning_tree(domain.names, weights)
        steps: list[tuple[str | None, str, NDArray[np.float64]]] = []
        for name in order:
            up = parent.get(name)
            if up is None:
                one = _positive(table((name,))) if name in known else np.ones(domain[name].size)
                steps.append((None, name, one[None, :] / one.sum()))
                continue
            pair = domain.order((up, name))
            joint = _positive(table(pair))
            joint = joint if pair == (up, name) else joint.T
            rows = joint.sum(axis=1, keepdims=True)
            prior = joint.sum(axis=0, keepdims=True)
            steps.append(
                (up, name, np.where(rows > 0, joint / np.maximum(rows, 1e-300), prior / prior.sum()))
            )
        return cls(tuple(steps))

    def sample(self, rows: int, seed: int | None = None) -> dict[str, NDArray[np.int64]]:
        """Codes of drawn rows."""
        random = Generator(PCG64(seed))
        if self.whole is not None:
            names, table = self.whole
            flat = random.choice(table.size, size=rows, p=(table / table.sum()).ravel())
            return dict(zip(names, np.unravel_index(flat, table.shape), strict=True))
        out: dict[str, NDArray[np.int64]] = {}
        for up, name, given in self.steps:
            at: Any = np.zeros(rows, dtype=np.int64) if up is None else out[up]
            ladder = np.cumsum(given, axis=1)
            draw = random.random(rows) * ladder[at, -1]
            out[name] = np.minimum((ladder[at] <= draw[:, None]).sum(axis=1), given.shape[1] - 1)
        return out


def _positive(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative counts become zero; a table without any mass becomes uniform."""
    clipped = np.maximum(table, 0.0)
    return clipped if clipped.sum() > 0 else np.ones_like(clipped)


def _information(joint: NDArray[np.float64]) -> float:
    """The mutual information of a two-way table."""
    p = joint / joint.sum()
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    some = p > 0
    return float((p[some] * np.log(p[some] / independent[some])).sum())


def _spanning_tree(
    names: tuple[str, ...], weights: dict[tuple[str, str], float]
) -> tuple[list[str], dict[str, str]]:
    """Prim's algorithm on the measured pairs: an order of drawing, and each attribute's parent."""
    order: list[str] = []
    parent: dict[str, str] = {}
    left = list(names)
    while left:
        edges = [(w, a, b) for (a, b), w in weights.items() if (a in order) != (b in order)]
        if not edges:
            order.append(left.pop(0))
            continue
        _, a, b = max(edges)
        new, old = (b, a) if a in order else (a, b)
        parent[new] = old
        order.append(new)
        left.remove(new)
    return order, parent
