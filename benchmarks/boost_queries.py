"""What boosting for queries promises for all of |Q| arbitrary counting queries, as a part of the rows.

100,000 rows of 64 kinds, epsilon 1, delta 1e-6, 95% sure; peer: plain Gaussian noise on all answers, by the
same union bound. Where sampling is chosen, or forced, the bound is polylogarithmic in |Q|; the bar is
(ln 10|Q| / ln |Q|)^1.5 for every ten times more questions, where the square root of plain noise is 3.2.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from typing import Any

from benchmarks._boosting_plot import chart, write
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.boost_queries.plan import BoostPlan, Setting, plan
from hedgerow.privacy.bounds import gaussian_union
from hedgerow.privacy.budget import Cost, rho_of

ROWS, CELLS, EPSILON, DELTA, BETA = 10**5, 64, 1, Fraction(1, 10**6), 0.05
POWERS = range(2, 9)
SAMPLES = [round(10 ** (j / 8)) for j in range(8, 37)]
PICTURE = Path(__file__).parent.parent / "docs" / "mechanisms" / "boost-queries.svg"


def stated(queries: int, price: Cost, samples: int | None = None) -> BoostPlan | None:
    """The plan that a release of so many queries would follow, each of which may count every row."""
    setting = Setting(queries, Fraction(1), Fraction(queries), cells=CELLS, total=float(ROWS))
    try:
        return plan(setting, price, BETA, samples=samples)
    except UnsupportedQuery:
        return None


def run() -> list[dict[str, Any]]:
    """One line for what is stated, one for the best that samples, for each number of queries."""
    price = Cost("rho", rho_of(EPSILON, DELTA))
    rows: list[dict[str, Any]] = []
    lines: dict[str, dict[float, float]] = {"stated": {}, "sampling": {}, "plain noise": {}}
    for power in POWERS:
        queries = 10**power
        sigma = sqrt(queries / (2.0 * float(price.amount)))
        plain = gaussian_union(queries, sigma, BETA) / ROWS
        made = stated(queries, price)
        found = [p for k in SAMPLES if k < queries and (p := stated(queries, price, k)) is not None]
        best = min(found, key=lambda p: p.error)
        for name, one in (("stated", made), ("sampling", best)):
            how = "all measured" if one.whole else f"k = {one.samples:,}, T = {one.rounds}, n' = {one.size:,}"
            share = one.error / ROWS
            row = {"name": f"10^{power} queries, {name}: {how}", "ours": share, "peer": plain}
            rows.append(row | {"ratio": share / plain, "passed": None})
            lines[name][float(queries)] = share
        lines["plain noise"][float(queries)] = plain
    curve = lines["sampling"]
    steps = [(q, curve[10.0 * q] / curve[q]) for q in curve if 10.0 * q in curve and q > 100.0]
    growth = max(grown / (log(10.0 * q) / log(q)) ** 1.5 for q, grown in steps)
    label = "largest growth of the sampling bound for 10 times the queries, over (ln 10|Q| / ln |Q|)^1.5"
    rows.append({"name": label, "ours": growth, "bar": 1.0, "passed": growth <= 1.0})
    clipped = {name: {q: min(v, 1.0) for q, v in line.items()} for name, line in lines.items()}
    title = "Stated error for all queries at once, as a part of the rows"
    write(PICTURE, chart(title, clipped, 0.0, 1.0, axis="queries"))
    return rows
