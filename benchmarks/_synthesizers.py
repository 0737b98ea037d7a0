"""A published synthesizer on one data set, run by an interpreter that has it; nothing of Hedgerow is used.

`python benchmarks/_synthesizers.py mst in.npz 1.0 1e-9 out.npz`: level codes in; out come synthetic level
codes, and on standard output lines of JSON: CPU seconds of fitting and, of the fitted model itself, the mean
L1 distance over the asked pairs and triples, so that no sampler of rows comes between. `mst` and `aim` are
those of smartnoise-synth, `aim-dpmm` is that of dpmm. AIM is given the workload it is judged by, all triples
however large (`aim-2`: all pairs); `aim-dpmm-pairs` has the default of dpmm and of AIM's authors, pairs of at
most 10,000 cells. Fitting is stopped after 600 CPU seconds, or as many as HEDGEROW_PEER_SECONDS says.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SECONDS = int(os.environ.get("HEDGEROW_PEER_SECONDS", "600"))  # of CPU for fitting
TABLES = 400  # of CPU for the model's tables
MEGABYTES = 8000
EVERY = 10**12  # cells: no set of attributes is left out of AIM's workload


Fitted = tuple[float, Callable[[], Any], Callable[[tuple[str, ...]], np.ndarray]]


def cap(seconds: int) -> None:
    """The kernel ends this process after so many more seconds of its CPU time."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + seconds, resource.RLIM_INFINITY))


class Drawn:
    """A fitted model whose rows are drawn one by one.

    The default of mbi 1.1 rounds counts instead, and makes attributes dependent that are not so in its own
    model: on a star of four binary attributes the model is off by .005 and such rows are by .84.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def synthetic_data(self, rows: int) -> Any:
        """Rows of the model."""
        return self.model.synthetic_data(rows=rows, method="sample")


def smartnoise(
    method: str, columns: dict[str, np.ndarray], sizes: dict[str, int], budget: tuple[float, float]
) -> Fitted:
    """Fit; then the seconds, a function that makes rows and one that makes a table of the model."""
    import pandas as pd
    from snsynth import Synthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    frame, steps = pd.DataFrame(columns), []
    for n in columns:  # the declared levels, not those that occur: no budget is spent on finding them
        step = LabelTransformer(nullable=False)
        for level in range(sizes[n]):
            step._fit(level)
        step._fit_finish()
        steps.append(step)
    options = {} if method == "mst" else {"degree": 2 if method == "aim-2" else 3, "max_cells": EVERY}
    made = Synthesizer.create(method[:3], epsilon=budget[0], delta=budget[1], **options)
    cap(SECONDS)
    start = time.process_time()
    made.fit(frame, transformer=TableTransformer(steps), preprocessor_eps=0.0)
    seconds = time.process_time() - start
    cap(TABLES)
    model = made.synthesizer
    made.synthesizer = Drawn(model)
    # MST puts rare levels of an attribute together, as the last level of its model, and spreads it evenly
    kept = made.undo_compress_fn.__closure__ if method == "mst" else ()
    supports = next((c.cell_contents for c in kept if isinstance(c.cell_contents, dict)), {})

    shape = dict(zip(model.domain.attributes, model.domain.shape, strict=True))
    factors = [(f.domain.attributes, np.asarray(f.values)) for f in model.potentials.arrays.values()]

    def table(names: tuple[str, ...]) -> np.ndarray:
        places = tuple(f"col{list(columns).index(n)}" for n in names)
        counts = projected(factors, shape, places)
        for axis, place in enumerate(places):
            if place in supports:
                counts = spread(counts, axis, supports[place])
        return counts

    return seconds, lambda: made.sample(len(frame)), table


def dpmm(
    method: str, columns: dict[str, np.ndarray], sizes: dict[str, int], budget: tuple[float, float]
) -> Fitted:
    """The same for AIM of dpmm, which puts rare levels together as MST does."""
    import pandas as pd
    from dpmm.models.aim import AIMGM

    frame = pd.DataFrame(columns)
    options = {"degree": 3, "max_cells": EVERY} if method == "aim-dpmm" else {}
    made = AIMGM(epsilon=budget[0], delta=budget[1], domain=sizes, n_jobs=1, **options)
    cap(SECONDS)
    start = time.process_time()
    made.fit(frame)
    seconds = time.process_time() - start
    cap(TABLES)
    model, supports = made.generator.model, made.generator.compressor.supports

    shape = dict(zip(model.domain.attrs, model.domain.shape, strict=True))
    factors = [(f.domain.attrs, f.values) for f in model.potentials.values()]

    def table(names: tuple[str, ...]) -> np.ndarray:
        counts = projected(factors, shape, names)
        for axis, name in enumerate(names):
            counts = spread(counts, axis, supports[name])
        return counts

    return seconds, lambda: made.generate(len(frame)), table


def projected(
    factors: list[tuple[tuple[str, ...], np.ndarray]], sizes: dict[str, int], names: tuple[str, ...]
) -> np.ndarray:
    """A model's table over some attributes, from its logarithmic potentials by variable elimination.

    What the libraries' own `project` does, without compiling anew for every set of attributes.
    """
    left = [(held, np.exp(np.asarray(x, dtype=np.float64) - np.max(x))) for held, x in factors]
    left += [((n,), np.ones(sizes[n])) for n in names]
    rest = {n for held, _ in left for n in held} - set(names)
    while rest:
        joined = {z: {n for held, _ in left if z in held for n in held} for z in rest}
        z = min(sorted(rest), key=lambda z: np.prod([float(sizes[n]) for n in joined[z]]))
        out = tuple(sorted(joined[z] - {z}))
        made = multiplied([f for f in left if z in f[0]], out)
        left = [f for f in left if z not in f[0]] + [(out, made / made.max())]
        rest.remove(z)
    return multiplied(left, names)


def multiplied(factors: list[tuple[tuple[str, ...], np.ndarray]], out: tuple[str, ...]) -> np.ndarray:
    """The product of factors, summed over all attributes but some."""
    place = {n: i for i, n in enumerate(sorted({n for held, _ in factors for n in held}))}
    terms: list[Any] = [x for held, y in factors for x in (y, [place[n] for n in held])]
    return np.einsum(*terms, [place[n] for n in out], optimize="greedy")


def spread(counts: np.ndarray, axis: int, support: np.ndarray) -> np.ndarray:
    """A table over all levels of an attribute, from that over its kept levels and the others as one."""
    out = np.empty((*counts.shape[:axis], len(support), *counts.shape[axis + 1 :]))
    view, held = np.moveaxis(out, axis, 0), np.moveaxis(counts, axis, 0)
    view[support] = held[: int(support.sum())]
    if not support.all():
        view[~support] = held[-1] / int((~support).sum())
    return out


def main(method: str, source: str, epsilon: str, delta: str, target: str) -> None:
    """Fit, make as many rows as there were, and compare the model's own tables with the data's."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))
    data = np.load(source)
    sets = [tuple(s) for s in json.loads(str(data["sets"]))]
    sizes = {n[5:]: int(data[n]) for n in data.files if n.startswith("size:")}
    columns = {n: data[n] for n in sizes}
    fit = dpmm if method.startswith("aim-dpmm") else smartnoise
    seconds, draw, table = fit(method, columns, sizes, (float(epsilon), float(delta)))
    rows = draw()
    np.savez(target, **{n: np.asarray(rows[n], dtype=np.int64) for n in columns})
    say({"seconds": seconds})
    gaps: dict[int, list[float]] = {}
    for names in sets:
        shape = [sizes[n] for n in names]
        flat = np.ravel_multi_index([columns[n] for n in names], shape)
        true = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(flat)
        found = np.maximum(table(names), 0.0)
        gaps.setdefault(len(names), []).append(float(np.abs(found / found.sum() - true).sum()))
    say({"seconds": seconds, "pairs": np.mean(gaps[2]), "triples": np.mean(gaps[3])})


def stop(*_: Any) -> None:
    """Too long, by the CPU's clock or by the caller's: say after how many CPU seconds."""
    say({"stopped": time.process_time()})
    os._exit(1)


def say(found: dict[str, float]) -> None:
    """One line for the caller, who takes the last one."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGXCPU, stop)
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
