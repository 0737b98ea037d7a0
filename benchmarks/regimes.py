"""The default release beside Hedgerow's own simpler ways, on shapes of every regime; delta is 1e-9.
`HEDGEROW_ADULT=folder HEDGEROW_RUNS=20 python -m benchmarks regimes` makes so many paired runs (5 unless
said) of every shape. Results are kept per shape in `benchmarks/results`, so a run goes on where it stopped;
`HEDGEROW_SHAPES=ring,survey` names those to go on with, `HEDGEROW_WORKLOADS=2-100,3-0.1` which of their lines
(attributes of a table, epsilon). The workload is all pairs, or all triples; figures are the mean L1 distance
of just these tables. The others are Factorization of the same workload, moved to the nearest tables without
negative cells; Gaussian tables, cut off at zero; the independent product; and, where all cells can be held,
what a session fits. The bar: the mean ratio to the best other is at most 1.05 (1.08 at epsilon 0.1) and the
lower end of its 95% interval at most 1.02. A line gives the standard error of the ratio, how many runs are
within 10% of their mean, and how many of Factorization's are, which is noise alone: where tables are few and
small, a run is as lucky as its noise. Of a shape's last two lines the first is epsilon 100; the other says
how much error is left there of that at epsilon 10, in units of what noise alone does, and the same of
Factorization, which is noise alone, cut off at zero. That bar is of shapes where nothing but noise is left,
which is decided by two figures: Factorization itself falls to 1.05 or less (where many cells are empty,
cutting takes away more at epsilon 10, and noise does not), and at epsilon 10 ours is at least 1/1.05 of
Factorization (a model that is better than noise at 10 can at best come to noise at 100, which is more than
1.05 of its own). Where one of them fails the line has no mark and says which; what is judged there is the
line above it: at epsilon 100, at most 1.05 of noise alone. One run has no interval: its ratio itself is to be
at most 1.02.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._shapes import REGIMES, Columns, name_of

RESULTS = Path(__file__).parent / "results"
RUNS = int(os.environ.get("HEDGEROW_RUNS", "5"))
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-9
MARGIN = 1.05  # of what noise does
CELLS = 40_000_000  # workloads of more are not measured as a whole by the others
TRIPLES = 400  # of more tables, a quarter as many are compared
Sets = list[tuple[str, ...]]


def truth(columns: Columns, sizes: dict[str, int], sets: Sets) -> dict[tuple[str, ...], np.ndarray]:
    """Normalised tables of rows."""
    out = {}
    for names in sets:
        shape = [sizes[a] for a in names]
        flat = np.ravel_multi_index([columns[a] for a in names], shape)
        out[names] = np.bincount(flat, minlength=prod(shape)).reshape(shape) / len(flat)
    return out


def compared(sizes: dict[str, int], order: int) -> Sets:
    """The tables that are compared: all, or of very many the same few each time."""
    sets = list(combinations(sizes, order))
    if len(sets) <= TRIPLES:
        return sets
    return [sets[i] for i in np.random.default_rng(0).choice(len(sets), TRIPLES // 4, replace=False)]


def distance(table: Any, true: dict[tuple[str, ...], np.ndarray]) -> float:
    """The mean L1 distance of what a release says to the truth."""
    gaps = []
    for names, t in true.items():
        said = np.maximum(table(names), 0.0)
        said = said if said.sum() > 0.0 else np.ones_like(said)  # nothing is left: even is the best guess
        gaps.append(np.abs(said / float(said.sum()) - t).sum())
    return float(np.mean(gaps))


def others(hr: Any, curator: Any, domain: Any, order: int) -> Iterator[tuple[str, Any]]:
    """Simpler ways, by name: what each says of a table."""
    from hedgerow.learning.residuals.nonnegative import cut
    from hedgerow.mechanisms.session.prime import is_dense, prime

    asked = hr.marginals(domain, order)
    if len(asked) <= CELLS:
        plain = hr.Factorization().release(curator(), asked)
        yield "factorization", lambda names: cut(plain.table(names))
        noisy = hr.GaussianBaseline().release(curator(), asked)
        yield "gaussian", noisy.table
    ones = hr.AdaptiveRelease().release(curator(), hr.marginals(domain, 1))
    yield "independent", ones.table
    if is_dense(domain, 1 << 20):
        guard = curator()
        belief = prime(guard, guard.budget.cost, "benchmark", 1 << 20, None)
        yield "session", belief._marginal


@lru_cache(maxsize=1)
def opened(shape: str) -> tuple[Columns, dict[str, int], Any]:
    """Rows, sizes and the table of a shape: all runs are of the same."""
    import hedgerow as hr

    columns, sizes = REGIMES[shape]()
    return columns, sizes, hr.Table.open(columns, hr.Domain(sizes))


def paired(shape: str, order: int, epsilon: float) -> dict[str, float]:
    """One run of ours and of all others on the same rows; at epsilon 100 only of Factorization."""
    import hedgerow as hr

    columns, sizes, table = opened(shape)
    domain, true = table.domain, truth(columns, sizes, compared(sizes, order))

    def curator() -> Any:
        return hr.Curator(table, budget=hr.Budget(epsilon=epsilon, delta=DELTA), ledger=":memory:")

    start = time.process_time()
    made = hr.AdaptiveRelease().release(curator(), hr.marginals(domain, order))
    found = {"seconds": time.process_time() - start, "ours": distance(made.table, true)}
    for name, said in others(hr, curator, domain, order):
        found[name] = distance(said, true)
        if epsilon > EPSILONS[-1]:
            break
    return found


def results(shape: str) -> dict[str, list[dict[str, float]]]:
    """What was found so far, and as many runs more as are wanted; kept after every run."""
    name = name_of(shape)
    path = RESULTS / f"{name}.json"
    held = json.loads(path.read_text()) if path.exists() else {}
    chosen = os.environ.get("HEDGEROW_SHAPES")
    if chosen and not any(part.strip() in shape for part in chosen.split(",")):
        return held
    RESULTS.mkdir(exist_ok=True)
    only = os.environ.get("HEDGEROW_WORKLOADS")
    wanted = [(k, e) for k in (2, 3) for e in EPSILONS] + [(2, 100.0)]
    wanted = [(k, e) for k, e in wanted if not only or f"{k}-{e:g}" in only.split(",")]
    for number in range(RUNS):
        for order, epsilon in wanted:
            key = f"{order}-{epsilon:g}"
            if len(held.setdefault(key, [])) <= number:
                held[key].append(paired(shape, order, epsilon))
                path.write_text(json.dumps(held, indent=1) + "\n")
    return held


def near(runs: list[dict[str, float]], who: str) -> float:
    """The part of runs that are within 10% of their mean."""
    errors = np.array([r[who] for r in runs])
    return float((np.abs(errors / errors.mean() - 1.0) <= 0.1).mean())


def beside(name: str, runs: list[dict[str, float]], epsilon: float) -> dict[str, Any]:
    """One line: ours, the best other, and the ratio of paired runs."""
    means = {k: float(np.mean([r[k] for r in runs if k in r])) for k in runs[0]}
    best = min((k for k in means if k not in ("ours", "seconds")), key=lambda k: means[k])
    ratios = np.array([r["ours"] / means[best] for r in runs])
    mean = float(ratios.mean())
    spread = float(ratios.std(ddof=1)) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    luck = f"{len(runs)} runs, se {spread:.2g}, {near(runs, 'ours'):.0%} near" if len(runs) > 1 else "1 run"
    if len(runs) > 1 and "factorization" in runs[0]:
        luck += f", noise alone {near(runs, 'factorization'):.0%}"
    most = 1.08 if epsilon < 1.0 else 1.05
    return {
        "name": f"{name} ({luck}, {means['seconds']:.1f} CPU s)",
        "ours": means["ours"],
        "peer": f"{means[best]:.4g} {best}",
        "ratio": mean,
        "bar": f"<= {most:g}",
        "passed": mean <= most and mean - 1.96 * spread <= 1.02,
    }


def floor(shape: str, held: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """How far the error falls from epsilon 10 to 100, in units of what noise does."""
    import hedgerow as hr

    rho = [float(hr.Budget(epsilon=e, delta=DELTA).rho) for e in (10, 100)]
    falls, tens = {}, {}
    for who in ("ours", "factorization"):
        ten, hundred = (np.mean([r[who] for r in held[k] if who in r] or [np.nan]) for k in ("2-10", "2-100"))
        falls[who], tens[who] = float(hundred / ten / (rho[0] / rho[1]) ** 0.5), float(ten)
    part, why = tens["ours"] / tens["factorization"], ""
    if falls["ours"] > MARGIN:
        why += f"; at 10 ours is {part:.3f} of noise alone" if part < 1.0 / MARGIN else ""
        why += "; nor does noise alone, cut off at zero" if falls["factorization"] > MARGIN else ""
    return {
        "name": f"... pairs, eps 100 beside 10 ({len(held['2-100'])} runs){why}",
        "ours": falls["ours"],
        "peer": f"{falls['factorization']:.3f} factorization",
        "bar": f"<= {MARGIN:g}" + (" where only noise is left" if why else ""),
        "passed": None if why else falls["ours"] <= MARGIN,
    }


def run() -> Iterator[dict[str, Any]]:
    """A line for every shape, workload and epsilon that there are runs of."""
    for shape in REGIMES:
        if "Adult" in shape and "HEDGEROW_ADULT" not in os.environ:
            continue
        held = results(shape)
        for order, words in ((2, "pairs"), (3, "triples")):
            for epsilon in EPSILONS:
                if held.get(f"{order}-{epsilon:g}"):
                    name = f"{shape}, {words}, eps {epsilon:g}"
                    yield beside(name, held[f"{order}-{epsilon:g}"], epsilon)
        if held.get("2-100") and held.get("2-10"):
            if "factorization" in held["2-100"][0]:
                yield beside(f"{shape}, pairs, eps 100", held["2-100"], 100.0)
            yield floor(shape, held)
