"""SparseProject: a million names, ten thousand sparse questions; time, memory, error against sqrt(m) noise.

Everything is built and asked in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_JOB = """
import json, resource, sys, time
from collections import Counter
import numpy as np
import hedgerow as hr

rows, asked, m = (int(x) for x in sys.argv[1:])
rng = np.random.default_rng(7)
names = [f"visitor-{i:08d}" for i in rng.integers(0, 5 * rows, rows - rows // 200)]
names += ["home"] * (9 * rows // 2000) + ["search"] * (rows // 200 - 9 * rows // 2000)
counts = Counter(names)
length = sum(c * c for c in counts.values()) ** 0.5
known = np.array(list(counts), dtype=object)
hr.SparseProject(size=64).release(
    hr.Curator(hr.Table.open(["a"], hr.OpenDomain()), hr.Budget(1.0, 1e-6), ":memory:")
).answer(hr.SparseQuery.of({"a": 1}))
begun = time.perf_counter()
curator = hr.Curator(hr.Table.open(names, hr.OpenDomain()), hr.Budget(1.0, 1e-6), ":memory:")
synopsis = hr.SparseProject().release(curator)
built = time.perf_counter() - begun
spent, errors, held, norms = 0.0, [], [], []
for j in range(asked):
    some = known[rng.integers(0, len(known), m)].tolist() + (["home"] if j % 4 == 0 else [])
    query = hr.SparseQuery.of(dict.fromkeys(some, 1))
    begun = time.perf_counter()
    answer = synopsis.answer(query)
    spent += time.perf_counter() - begun
    truth = sum(counts[e] for e in query.weights)
    errors.append(answer.value - truth)
    held.append(abs(answer.value - truth) <= answer.error)
    norms.append(len(query.weights))
rho = synopsis.cost.rho
print(json.dumps({
    "length": length, "built": built, "asked": spent, "size": synopsis.matrix.size,
    "ratio": float(np.sqrt(np.mean(np.square(errors) / (np.array(norms) / (2 * rho))))),
    "held": float(np.mean(held)), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
}))
"""


def run(rows: int = 10**6, asked: int = 10**4, m: int = 1000) -> list[dict[str, Any]]:
    """One build, and all questions."""
    done = subprocess.run(
        [sys.executable, "-c", _JOB, str(rows), str(asked), str(m)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    label = f"{rows:,} names, |D|_2 {found['length']:,.0f}, {asked:,} queries of {m:,} names"
    seconds = found["built"] + found["asked"]
    return [
        {"name": f"{label}: build and answer, s", "ours": seconds, "bar": 60, "passed": seconds <= 60},
        {"name": f"{label}: peak memory, GB", "ours": found["peak"], "bar": 1, "passed": found["peak"] <= 1},
        {
            "name": "root-mean-square error over sqrt(m / 2 rho)",
            "ours": found["ratio"],
            "bar": 1.5,
            "passed": found["ratio"] <= 1.5,
        },
        {
            "name": "share of answers within their 95% bound",
            "ours": found["held"],
            "bar": 0.95,
            "passed": found["held"] >= 0.95,
        },
    ]
