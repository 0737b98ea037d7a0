"""How often the indicative errors of a learned synopsis hold: random questions of known true answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._shapes import SHAPES, Columns

QUESTIONS = 150
TABLES = 60
CONJUNCTIONS = 60
CELLS = 300_000


def coverage(shape: str, epsilon: float, seed: int = 5) -> dict[str, float]:
    """The part of questions of each kind whose true answer lies within the stated 95% bound."""
    import hedgerow as hr

    columns, sizes = SHAPES[shape]()
    domain, rng = hr.Domain(sizes), np.random.default_rng(seed)
    curator = hr.Curator(
        hr.Table.open(columns, domain), budget=hr.Budget(epsilon=epsilon, delta=1e-9), ledger=":memory:"
    )
    synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 3))
    found: dict[str, list[bool]] = {}
    for order in (1, 2, 3, 4):
        for truth, query in _ranges(hr, domain, columns, order, rng):
            answer = synopsis.answer(query)
            within = abs(answer.value - truth) <= answer.error
            found.setdefault(f"ranges of {order} attributes", []).append(bool(within))
    for order in range(5, min(14, len(domain)) + 1):
        for kind, truth, query in _conjunctions(hr, domain, columns, order, rng):
            answer = synopsis.answer(query)
            within = abs(answer.value - truth) <= answer.error
            found.setdefault(f"{kind} of {_band(order)} attributes", []).append(bool(within))
    for order in (1, 2, 3):
        for kind, within in _cells(hr, synopsis, columns, order, rng):
            found.setdefault(f"{kind} of {order}-way tables", []).append(within)
    return {kind: float(np.mean(hits)) for kind, hits in found.items()}


def _ranges(
    hr: Any, domain: Any, columns: Columns, order: int, rng: np.random.Generator
) -> Iterator[tuple[float, Any]]:
    """Conjunctions of a random run of levels of each of some attributes."""
    for _ in range(QUESTIONS):
        conditions, inside = {}, np.ones(len(next(iter(columns.values()))), dtype=bool)
        for a in domain.order(rng.choice(list(domain), order, replace=False)):
            first = rng.integers(0, domain[a].size)
            mask = np.zeros(domain[a].size, dtype=bool)
            mask[first : rng.integers(first, domain[a].size) + 1] = True
            conditions[a], inside = mask, inside & mask[columns[a]]
        yield float(inside.sum()), hr.Query.where(domain, conditions)


def _conjunctions(
    hr: Any, domain: Any, columns: Columns, order: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, Any]]:
    """One level of each of some attributes, those of a random row; and most rows' levels of each."""
    rows = len(next(iter(columns.values())))
    for i in range(CONJUNCTIONS):
        one, conditions, inside = rng.integers(rows), {}, np.ones(rows, dtype=bool)
        for a in domain.order(rng.choice(list(domain), order, replace=False)):
            mask = np.zeros(domain[a].size, dtype=bool)
            mask[columns[a][one]] = True
            if i % 2:
                levels = rng.permutation(domain[a].size)
                share = np.cumsum(np.bincount(columns[a], minlength=len(mask))[levels]) / rows
                mask[levels[: np.searchsorted(share, rng.uniform(0.6, 0.95)) + 1]] = True
            conditions[a], inside = mask, inside & mask[columns[a]]
        kind = "wide conjunctions" if i % 2 else "conjunctions of a row's levels"
        yield kind, float(inside.sum()), hr.Query.where(domain, conditions)


def _band(order: int) -> str:
    return "5 to 7" if order < 8 else "8 to 10" if order < 11 else "11 to 14"


def _cells(
    hr: Any, synopsis: Any, columns: Columns, order: int, rng: np.random.Generator
) -> Iterator[tuple[str, bool]]:
    """Five cells at random, and the cells of five random rows, of random tables."""
    domain = synopsis.domain
    for _ in range(TABLES):
        names = domain.order(rng.choice(list(domain), order, replace=False))
        if domain.cells(names) <= CELLS:
            flat = np.ravel_multi_index([columns[a] for a in names], domain.shape_of(names))
            truth = np.bincount(flat, minlength=domain.cells(names))
            answer = synopsis.answer(hr.marginals(domain, [names]))
            within = np.abs(answer.value - truth) <= answer.error
            yield from (("cells", bool(within[i])) for i in rng.choice(len(truth), 5))
            yield from (("cells of random rows", bool(within[flat[i]])) for i in rng.choice(len(flat), 5))
