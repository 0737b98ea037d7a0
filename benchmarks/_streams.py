"""Streams of questions over one to four attributes: random, skewed dashboards, drill-down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hedgerow as hr

KINDS = ("random", "skewed", "drill-down")


def stream(kind: str, domain: hr.Domain, count: int, seed: int) -> list[hr.Query]:
    """So many questions of one kind; a question asked again is the same object."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    make = {"random": _random, "skewed": _skewed, "drill-down": _drill_down}[kind]
    return [q for q, _ in zip(make(domain, rng, count), range(count), strict=False)]


def _random(domain: hr.Domain, rng: np.random.Generator, count: int) -> Iterator[hr.Query]:
    """Any attributes, any subset of their levels."""
    while True:
        yield hr.Query.where(domain, {a: _subset(domain, a, rng) for a in _some(domain, rng)})


def _skewed(domain: hr.Domain, rng: np.random.Generator, count: int) -> Iterator[hr.Query]:
    """Dashboards of 40 panels each, looked at by Zipf's law: what is popular is asked over and over."""
    dashboards = max(10, count // 10)
    panels: dict[tuple[int, int], hr.Query] = {}
    weights = 1.0 / np.arange(1, dashboards + 1)
    chosen = rng.choice(dashboards, size=count, p=weights / weights.sum())
    for board, panel in zip(chosen.tolist(), rng.integers(40, size=count).tolist(), strict=True):
        if (board, panel) not in panels:
            own = np.random.default_rng([int(rng.integers(1 << 30)), board, panel])
            panels[board, panel] = hr.Query.where(
                domain, {a: _subset(domain, a, own, few=True) for a in _some(domain, own)}
            )
        yield panels[board, panel]


def _drill_down(domain: hr.Domain, rng: np.random.Generator, count: int) -> Iterator[hr.Query]:
    """One condition, then another on top of it, and another: each question narrows the last."""
    while True:
        names = rng.permutation(list(domain))[: rng.integers(2, 5)]
        conditions: dict[str, np.ndarray] = {}
        for a in names.tolist():
            conditions[a] = _subset(domain, a, rng, few=True)
            yield hr.Query.where(domain, conditions)


def _some(domain: hr.Domain, rng: np.random.Generator) -> list[str]:
    """One to four attributes."""
    return rng.choice(list(domain), rng.integers(1, min(4, len(domain)) + 1), replace=False).tolist()


def _subset(domain: hr.Domain, name: str, rng: np.random.Generator, few: bool = False) -> np.ndarray:
    """A non-empty, proper subset of an attribute's levels; one to three levels when few are wanted."""
    n = domain[name].size
    mask = np.zeros(n, dtype=np.bool_)
    most = min(3, n - 1) if few else n - 1
    mask[rng.choice(n, rng.integers(1, most + 1), replace=False)] = True
    return mask
