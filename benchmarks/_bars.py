"""Counts and shares of a release at three confidences: how often bars hold, and how wide they are.

Rows are of shapes and seeds that no constant of a bar was chosen by, but for those that say so. Numbers of
one release share its noise: the part inside is the mean over releases of the part of each. Standard errors
are those of releases, not of numbers; of widths by leaving out one release after another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _shapes
from benchmarks._shapes import Columns, name_of

KEPT = Path(__file__).parent.parent / "out" / "coverage"
CONFIDENCES = (0.8, 0.95, 0.99)
SETS, EACH, CELLS = (
    12,
    8,
    50_000,
)  # sets of attributes, questions of each, the largest table that is written out
LARGEST = 1 << 18  # cells of the table that a question is about: larger ones take seconds
PICKED = 40  # cells of a table
RUNS, MORE = 12, 48  # releases of a shape; so many for one and two attributes, and for shares
FEW = 2  # attributes: numbers of a release have most of its noise in common
EXACT, TAIL = 200, 1.3  # errors drawn by each bar, and the largest of them by the bar at 99%
ENDLESS = 0.01  # so many of a line's bars at most may have no end
Made = Callable[[], tuple[Columns, dict[str, int]]]
Numbers = dict[str, list[list[float]]]
SHAPES: dict[str, tuple[Made, int, float]] = {
    "8 attributes, 50,000 rows": (lambda: _shapes.network(81, 50_000, [2, 3, 5, 8, 4, 6, 12, 3]), 2, 1.0),
    "8 attributes, 50,000 rows, eps 10": (
        lambda: _shapes.network(71, 50_000, [2, 3, 5, 8, 4, 6, 12, 3]),
        3,
        10.0,
    ),
    "14 attributes, 200,000 rows": (
        lambda: _shapes.network(72, 200_000, [2, 4, 9, 3, 15, 6, 2, 5, 20, 3, 7, 2, 10, 4]),
        2,
        1.0,
    ),
    "24 attributes, 15 Zipf classes, 60,000 rows": (_shapes.classes, 2, 1.0),
    "looked at: 7 attributes, one of 105 levels, 336,776 rows": (_shapes.journeys, 2, 1.0),
    "12 independent attributes, 20,000 rows": (_shapes.independent, 2, 1.0),
    "rankings of 8, 10,000 rows": (_shapes.rankings, 2, 1.0),
    "looked at: a ring of 14 attributes, 60,000 rows, eps 0.1": (_shapes.ring, 2, 0.1),
}
"""Rows, how many attributes the workload's tables have, and epsilon."""


def asked(
    hr: Any, domain: Any, columns: Columns, rng: np.random.Generator, most: int
) -> Iterator[tuple[str, int, Any, Any]]:
    """Kind, attributes, question and true values; about so many attributes at most."""
    names, rows = list(domain), len(next(iter(columns.values())))
    for order in range(1, min(most, len(names)) + 1):
        for j in range(SETS):
            t = domain.order(rng.choice(names, order, replace=False))
            while domain.cells(t) > LARGEST:
                t = domain.order(rng.choice(names, order, replace=False))
            if order <= 3 and domain.cells(t) <= CELLS and j < SETS // 2:
                flat = np.ravel_multi_index([columns[a] for a in t], domain.shape_of(t))
                yield "cells", order, hr.marginals(domain, [t]), np.bincount(flat, minlength=domain.cells(t))
            for i in range(EACH):
                conditions, inside, row = {}, np.ones(rows, dtype=bool), rng.integers(rows)
                for a in t:
                    mask = np.zeros(domain[a].size, dtype=bool)
                    if i % 2:
                        first = rng.integers(domain[a].size)
                        mask[first : rng.integers(first, domain[a].size) + 1] = True
                    else:
                        mask[columns[a][row]] = True
                    conditions[a], inside = mask, inside & mask[columns[a]]
                kind = "ranges" if i % 2 else "conjunctions of a row's levels"
                yield kind, order, hr.Query.where(domain, conditions), float(inside.sum())
    for _ in range(SETS * EACH // 2):
        a, b = (str(x) for x in rng.choice(names, 2, replace=False))
        low, high = int(rng.integers(1, domain[a].size)), int(columns[b][rng.integers(rows)])
        there = columns[b] == high
        share = float((columns[a][there] >= low).mean())
        text = f"SELECT AVG(CASE WHEN {a} >= {low} THEN 1 ELSE 0 END) FROM t WHERE {b} = {high}"
        yield "shares", 2, text, share


@lru_cache(maxsize=8)
def _opened(shape: str) -> tuple[Columns, Any]:
    """The rows of a shape, for all its releases."""
    import hedgerow as hr

    columns, sizes = SHAPES[shape][0]()
    return columns, hr.Table.open(columns, hr.Domain(sizes))


def measure(shape: str, seed: int) -> Numbers:
    """By kind: true errors, and bars at every confidence; whether its table was measured is in the name."""
    import hedgerow as hr

    _, order, epsilon = SHAPES[shape]
    columns, table = _opened(shape)
    domain = table.domain
    curator = hr.Curator(table, hr.Budget(epsilon=epsilon, delta=1e-9), ":memory:")
    synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, order))
    vars(synopsis)["_table"] = lru_cache(maxsize=4)(synopsis._table)  # questions of a set follow each other
    vars(synopsis._stated.bars)["variances"] = _once(synopsis._stated.bars.variances)
    whole = synopsis.learned.reconciled is not None
    out: Numbers = {}
    rng = np.random.default_rng([seed, 900])
    for kind, wide, question, truth in asked(hr, domain, columns, rng, 5 if seed < RUNS else FEW):
        answers = [synopsis.answer(question, confidence=c) for c in CONFIDENCES]
        off = np.abs(np.atleast_1d(answers[0].value) - truth)
        if not np.isfinite(off).all():
            continue
        held = wide == 1 or (whole and wide <= order)
        key = f"{kind}|{wide}|{'measured' if held else 'not measured'}"
        rows = out.setdefault(key, [[] for _ in range(1 + len(CONFIDENCES))])
        pick = np.random.default_rng(len(rows[0])).permutation(off.size)[:PICKED]
        for row, values in zip(rows, (off, *(np.atleast_1d(a.error) for a in answers)), strict=True):
            row += [float(f"{v:.6g}") for v in np.asarray(values).reshape(-1)[pick]]
    return out


def _once(variances: Callable[..., Any]) -> Callable[..., Any]:
    """The same variances for every confidence."""
    last: dict[Any, Any] = {}

    def kept(names: Any, table: Any, weights: Any) -> Any:
        key = (names, weights.tobytes())
        if key not in last:
            last.clear()
            last[key] = variances(names, table, weights)
        return last[key]

    return kept


def found(shape: str, seed: int) -> Numbers:
    """The same, from the file of an earlier run if there is one."""
    name = name_of(shape)
    path = KEPT / f"bars-{name}.json"
    kept: dict[str, Numbers] = json.loads(path.read_text()) if path.exists() else {}
    if str(seed) not in kept:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept[str(seed)] = measure(shape, seed)
        path.write_text(json.dumps(kept))
    return kept[str(seed)]


def widths(each: list[Any]) -> Any:
    """The mean width of bars by the percentile of true errors at every confidence.

    An average of rows of which there may be none has a bar without end, which has no width.
    """
    numbers = np.concatenate(each, axis=1)
    errors = [max(float(np.quantile(numbers[0], c)), 1e-9) for c in CONFIDENCES]
    return [float(bars[np.isfinite(bars)].mean()) / e for bars, e in zip(numbers[1:], errors, strict=True)]


def exact(numbers: Any) -> Any:
    """The same widths if errors followed the stated bars' own law: what is left is that bars differ."""
    bars = numbers[1:, np.isfinite(numbers[1:]).all(axis=0)]
    at = np.random.default_rng(0).random((EXACT, bars.shape[1]))
    known = np.vstack([np.zeros(bars.shape[1]), bars, bars[-1] * TAIL])
    drawn = [np.interp(u, (0.0, *CONFIDENCES, 1.0), b) for u, b in zip(at.T, known.T, strict=True)]
    return bars.mean(axis=1) / np.maximum(np.quantile(drawn, CONFIDENCES), 1e-9)


def lines(shape: str) -> Iterator[dict[str, Any]]:
    """A line for each kind: the part of numbers inside at 80, 95 and 99%, and the widths of bars."""
    runs = [found(shape, seed) for seed in range(MORE)]
    for key in dict.fromkeys(k for run in runs for k in run):
        each = [np.array(run[key]) for run in runs if key in run]
        numbers = np.concatenate(each, axis=1)
        kind, wide, how = key.split("|")
        parts = np.array([(run[0] <= run[1:] + 1e-9).mean(axis=1) for run in each])
        inside, doubt = parts.mean(axis=0), parts.std(axis=0) / max(len(each) - 1, 1) ** 0.5
        wides = widths(each)
        without = [widths(each[:i] + each[i + 1 :]) for i in range(len(each))] if len(each) > 1 else [wides]
        unsure = np.std(without, axis=0) * max(len(each) - 1, 1) ** 0.5
        most = 1.4 if how == "measured" else 2.0
        sure = all(i >= c - 0.01 for i, c in zip(inside, CONFIDENCES, strict=True))
        endless = ~np.isfinite(numbers[1:]).all(axis=0)
        median = float(np.median(numbers[0] / np.maximum(numbers[2], 1e-9)))
        name = f"{shape}: {kind}" + (f", {wide} attributes" if kind != "shares" else "") + f", {how}"
        odd = f"; {endless.sum()} bars without end" if endless.any() else ""
        law = " ".join(f"{w:.2f}" for w in exact(numbers))
        about = f"{numbers.shape[1]} numbers of {len(each)} releases; error/bar {median:.2f}{odd}"
        yield {
            "name": f"{name} ({about})",
            "ours": " ".join(f"{i:.3f}+-{d:.3f}" for i, d in zip(inside, doubt, strict=True)),
            "peer": "width "
            + " ".join(f"{w:.2f}+-{u:.2f}" for w, u in zip(wides, unsure, strict=True))
            + f"; by the bars' own law {law}",
            "bar": f">= .79 .94 .98, width <= {most:g}",
            "passed": bool(sure and max(wides) <= most and endless.mean() <= ENDLESS),
        }
