"""The dense hypothesis at 10^8 cells: asks, updates and memory, in process CPU seconds.

Rows named `ask + update` compare answering a new product query and updating on it with one plain numba pass
that multiplies the same cells, on the same array (bar: at most 2.5 times). Rows named `0/1 update` compare
one update with NumPy's `p *= exp(-eta * q); p /= p.sum()` in the same precision (bar: at least 8 times
faster). The last rows are peak resident memory of a process of its own, over the size of the table.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numba import njit
from numpy.random import PCG64, Generator

from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE, Query

TEN = Domain({f"x{i}": 10 for i in range(8)})  # 10^8 cells
UNEVEN = Domain({"a": 2, "b": 100, "c": 5, "d": 50, "e": 4, "f": 25, "g": 20})  # 10^8 cells
PASS_BAR, NUMPY_BAR, MEMORY_BAR = 2.5, 8.0, 1.3
ETA = 0.05
_OTHER = np.zeros(1 << 24)  # 128 MiB: larger than the caches

CASES: list[tuple[Domain, dict[str, int]]] = [  # attribute -> how many of its levels are asked for
    (TEN, {"x0": 5, "x3": 5, "x7": 5}),
    (TEN, {"x0": 1, "x3": 1, "x7": 1}),
    (TEN, {"x0": 5, "x1": 5, "x2": 5}),
    (TEN, {"x5": 3, "x6": 3, "x7": 3}),
    (TEN, {"x2": 9, "x4": 9, "x6": 9}),
    (UNEVEN, {"b": 40, "d": 10, "f": 12}),
    (UNEVEN, {"a": 1, "c": 2, "g": 3}),
]


@njit(cache=True)  # type: ignore[untyped-decorator]
def one_pass(w, first, second, third, factor):  # type: ignore[no-untyped-def]
    """w *= factor over a product of levels; w has the axes free, S, free, S, free, S, free."""
    for i in range(w.shape[0]):
        for a in first:
            for j in range(w.shape[2]):
                for b in second:
                    for k in range(w.shape[4]):
                        for c in third:
                            for n in range(w.shape[6]):
                                w[i, a, j, b, k, c, n] *= factor


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the whole process, all threads, with nothing of the table in the processor's caches."""
    _OTHER[:] += 1.0
    start = time.process_time()
    work()
    return time.process_time() - start


def _folded(domain: Domain, names: tuple[str, ...]) -> tuple[int, ...]:
    """The shape with runs of free attributes as one axis, before, between and after three attributes."""
    at = [domain.index(a) for a in names]
    cuts = [-1, *at, len(domain)]
    free = [int(np.prod(domain.shape[cuts[i] + 1 : cuts[i + 1]], dtype=np.int64)) for i in range(4)]
    return (free[0], domain.shape[at[0]], free[1], domain.shape[at[1]], free[2], domain.shape[at[2]], free[3])


def ask_and_update(hypothesis: DenseHypothesis, asked: dict[str, int], runs: int) -> dict[str, Any]:
    """A new query each time, its levels scattered; the plain pass runs in between."""
    domain, random = hypothesis.domain, Generator(PCG64(1))
    ours, peer = [], []
    for t in range(runs + 1):
        levels = {a: np.sort(random.permutation(domain[a].size)[:k]) for a, k in asked.items()}
        query = Query.where(domain, {a: v.tolist() for a, v in levels.items()})

        def work(query: Query = query, t: int = t) -> None:
            hypothesis.update(query, hypothesis.answer(query) + (0.1 if t % 2 else -0.1), ETA)

        ours.append(seconds(work))
        folded = hypothesis._weights.values.reshape(_folded(domain, query.attributes))
        picks = [levels[a] for a in query.attributes]
        peer.append(seconds(lambda folded=folded, picks=picks: one_pass(folded, *picks, 1.0)))  # type: ignore[misc]
    a, b = median(ours[1:]), median(peer[1:])
    name = "ask + update " + " ".join(f"{n}:{k}/{domain[n].size}" for n, k in asked.items())
    return {"name": name, "ours": a, "peer": b, "ratio": a / b, "bar": PASS_BAR, "passed": a / b <= PASS_BAR}


def _numpy_update(p: np.ndarray, q: np.ndarray) -> None:
    p *= np.exp(-ETA * q)
    p /= p.sum()


def whole_update(domain: Domain, dtype: Any, query: Query, name: str, runs: int) -> dict[str, Any]:
    """One 0/1 update that NumPy makes over all cells."""
    hypothesis = DenseHypothesis(domain, dtype=dtype)
    hypothesis.tilt(query, -ETA)
    ours = median([seconds(lambda: hypothesis.tilt(query, -ETA)) for _ in range(runs)])
    hypothesis = None  # type: ignore[assignment]  # make room for NumPy's arrays
    p = np.full(domain.shape, 1.0 / domain.size, dtype=dtype)
    kept = [domain[a].size if a in query.attributes else 1 for a in domain]
    q = np.empty(domain.shape, dtype=dtype)
    q[...] = (query.weights > 0).reshape(kept)
    peer = median([seconds(lambda: _numpy_update(p, q)) for _ in range(max(3, runs // 2))])
    ratio = peer / ours
    return {
        "name": f"0/1 update {name}, {np.dtype(dtype).name}",
        "ours": ours,
        "peer": peer,
        "ratio": ratio,
        "bar": NUMPY_BAR,
        "passed": ratio >= NUMPY_BAR,
    }


def peak() -> int:
    """Peak resident KiB of this process alone (`ru_maxrss` would carry over what the parent had)."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.split("VmHWM:")[1].split()[0])


def work_and_weigh(dtype: str) -> None:
    """In a process of its own: ask, update, make a table, sample; write peak memory before and after."""
    small = Domain({f"x{i}": 2 for i in range(8)})
    for domain in (small, TEN):
        before = peak()
        hypothesis = DenseHypothesis(domain, dtype=np.dtype(dtype))
        query = Query.where(domain, {"x0": [0], "x3": [0, 1], "x7": [1]})
        hypothesis.update(query, hypothesis.answer(query) + 0.1, ETA)
        hypothesis.marginal(("x1", "x4", "x6"))
        hypothesis.sample(1_000, seed=1)
        after = peak()
    sys.stdout.write(f"{before} {after}\n")


def memory(dtype: str) -> list[dict[str, Any]]:
    """Peak memory over the table's size: the whole process, and what the hypothesis added to it.

    The interpreter and its libraries take some 150 MiB. At 10^8 cells the hypothesis is float64 unless told
    otherwise, so that row carries the bar; of float32, only what it adds.
    """
    command = [sys.executable, __file__, dtype]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    table = TEN.size * np.dtype(dtype).itemsize / 1024
    before, after = (int(v) for v in out)
    rows = []
    for what, spent in (("process", after), ("added", after - before)):
        bar = MEMORY_BAR if what == "added" or dtype == "float64" else None
        line = {"name": f"peak memory {dtype}, {what}", "ours": spent / 1024, "peer": table / 1024}
        ratio = spent / table
        rows.append({**line, "ratio": ratio, "bar": bar, "passed": None if bar is None else ratio < bar})
    return rows


def run(runs: int = 7) -> list[dict[str, Any]]:
    """All rows."""
    rows = []
    for domain in (TEN, UNEVEN):
        hypothesis = DenseHypothesis(domain)
        rows += [ask_and_update(hypothesis, asked, runs) for d, asked in CASES if d is domain]
        del hypothesis
    half = Query.where(TEN, {"x4": [0, 2, 4, 6, 8]})
    most = Query.where(TEN, {"x1": list(range(9))})
    corner = Query.where(TEN, {f"x{i}": [0, 1, 2, 3, 4] for i in range(3)})
    for dtype in (np.float64, np.float32):
        rows.append(whole_update(TEN, dtype, half, "half of one attribute", runs))
        rows.append(whole_update(TEN, dtype, most, "nine tenths of one attribute", runs))
    rows.append(whole_update(TEN, np.float64, corner, "an eighth, three attributes", runs))
    mask = Generator(PCG64(2)).integers(0, 2, TEN.shape, dtype=np.int64) * ONE
    scattered = Query(TEN.names, TEN.shape, dense=mask)
    rows.append(whole_update(TEN, np.float64, scattered, "a random half of all cells", runs))
    return rows + memory("float64") + memory("float32")


def show(value: object) -> str:
    """A table cell."""
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work_and_weigh(sys.argv[1])
    else:
        keys = ("name", "ours", "peer", "ratio", "bar", "passed")
        sys.stdout.write("10^8 cells; CPU seconds (memory rows: MiB of the process and of the table)\n")
        for line in [dict(zip(keys, keys, strict=True)), *run()]:
            cells = [show(line[key]) for key in keys]
            sys.stdout.write(f"{cells[0]:<52}" + "".join(f"{cell:>11}" for cell in cells[1:]) + "\n")
