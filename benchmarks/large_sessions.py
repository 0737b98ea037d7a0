"""Sessions in domains too large for a weight per cell, beside fresh noise, and what pairs tell at best.
`HEDGEROW_ADULT=folder python -m benchmarks large_sessions`: epsilon 1, delta 1e-6, a session for each shape.
Errors are parts of all rows; fresh noise is given the number of different questions in advance. Results are
kept per shape in `benchmarks/results/sessions`: a shape whose file is removed is run anew. What a session has
learned does not depend on how many questions come: the first 2,000 stand for 10,000. The streams are in
`_streams.py`: of "random" questions every one is a sum over any subset of levels of one to four attributes,
which is what fresh noise is best at; a line says how near a session could come that knew all pairs exactly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hedgerow as hr
from benchmarks import _shapes
from benchmarks._streams import KINDS, stream
from benchmarks.regimes import RESULTS

BUDGET = hr.Budget(epsilon=1, delta=1e-6)
Row = dict[str, Any]

FACTORED: dict[str, Callable[[], tuple[_shapes.Columns, dict[str, int]]]] = {
    "7 attributes, 272 million cells, 336,776 rows": _shapes.journeys,
    "6 attributes, 21 million cells, 300,000 rows": _shapes.skewed,
    "35 attributes, 170,254 rows": _shapes.wide,
    "Adult, 14 attributes": _shapes.adult,
}


def run() -> Iterator[Row]:
    """The lines of every shape, from the file of an earlier run if there is one."""
    for what in FACTORED:
        path = RESULTS / "sessions" / f"{_shapes.name_of(what)}.json"
        if not path.exists() and ("Adult" not in what or "HEDGEROW_ADULT" in os.environ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(list(lines(what)), indent=1) + "\n")
        yield from json.loads(path.read_text()) if path.exists() else ()


def lines(what: str) -> Iterator[Row]:
    """Mean errors beside fresh noise by stream, and of all streams together."""
    columns, sizes = FACTORED[what]()
    domain = hr.Domain(sizes)
    table = hr.Table.open(columns, domain)
    curator = hr.Curator(table, BUDGET, ":memory:")
    session, rho = hr.Session().open(curator), float(curator.budget.cost.amount)
    rows, means = len(next(iter(columns.values()))), {2000: [0.0, 0.0], 10_000: [0.0, 0.0]}
    for kind in KINDS:
        asked = stream(kind, domain, 10_000, 13)
        exact = np.array([by_rows(curator, q) for q in asked[:2000]])
        answer = session.ask(asked[:2000])
        off = np.abs(answer.value - exact)
        for size, bar in ((2000, 3.0), (10_000, 6.0)):
            different = len({id(q) for q in asked[:size]})
            fresh = (2.0 / np.pi) ** 0.5 * (different / (2.0 * rho)) ** 0.5
            means[size] = [means[size][0] + off.mean() / 3.0, means[size][1] + fresh / 3.0]
            yield _beside(f"{what}, {kind}, {size:,} questions", off.mean(), fresh, rows, bar)
        if kind == "random":
            yield pairs_known(what, table, asked[:2000], exact)
        inside = float((off <= answer.error).mean())
        wide = float(answer.error.mean() / np.quantile(off, 0.95))
        name = f"{what}, {kind}: 95% bars hold ({wide:.2f} of the 95th percentile of errors wide)"
        yield {"name": name, "ours": inside, "bar": ">= 0.94", "passed": inside >= 0.94}
    for (size, (ours, fresh)), bar in zip(means.items(), (3.0, 6.0), strict=True):
        yield _beside(f"{what}, all three streams, {size:,} questions", ours, fresh, rows, bar)


def pairs_known(what: str, table: hr.Table, asked: list[hr.Query], exact: np.ndarray) -> Row:
    """What there would be without noise: a session at epsilon 10^4, whose pairs are all but exact.

    Its error is of what three and four attributes have to do with each other beyond their pairs. Half of the
    random questions are about three or four: no session comes below this that measures pairs alone.
    """
    known = hr.Curator(table, hr.Budget(epsilon=10_000, delta=1e-6), ":memory:")
    off = np.abs(hr.Session().open(known).ask(asked).value - exact)
    rho = float(hr.Curator(table, BUDGET, ":memory:").budget.cost.amount)
    fresh = (2.0 / np.pi) ** 0.5 * (len(asked) / (2.0 * rho)) ** 0.5
    orders = np.array([len(q.attributes) for q in asked])
    each = " and ".join(f"{fresh / off[orders == k].mean():.2f}x" for k in (3, 4))
    said = f"{what}, random, {len(asked):,} questions, all pairs known"
    line = _beside(said, float(off.mean()), fresh, int(known._rows.tables([()])[()]), 0.0)
    return line | {"name": f"{line['name']} (three attributes, four: {each})", "bar": None, "passed": None}


def _beside(name: str, ours: float, fresh: float, rows: int, bar: float) -> Row:
    return {"name": f"{name}, mean error; peer: fresh noise", "ours": float(ours / rows),
            "peer": float(fresh / rows), "ratio": float(fresh / ours), "bar": f"{bar:g}x",
            "passed": bool(fresh >= bar * ours)}  # fmt: skip


def by_rows(curator: hr.Curator, query: hr.Query) -> float:
    """An exact count without a table: some of them have 10^8 cells."""
    return curator._rows.count_where(query.attributes, query.factors or ()) / (1 << 20)
