"""The default release beside MST and AIM of smartnoise-synth, on the shapes of `regimes`, at epsilon 1.
`HEDGEROW_PEER_PYTHON=python HEDGEROW_SHAPES=ring python -m benchmarks published` runs them on one shape, by
that interpreter, on one thread; results are kept per shape in `benchmarks/results/published`. Delta is 1e-9.
AIM is given the workload it is judged by, all pairs or all triples however large, and a model of at most
80 MB, as its authors do; MST knows no workload. Fitting is stopped after 6,000 CPU seconds, or as many as
HEDGEROW_PEER_SECONDS says, and a line gives how many those were; MST's models of some shapes have tables that
are no numbers. Figures are the mean L1 distance of the workload's tables of the fitted models themselves; the
peers' are of one run, or of HEDGEROW_RUNS, ours the mean of the runs in `regimes`. The bar is that of
`regimes`: 1.05 of the peer, whose single run may be a tenth or two from its own mean where tables are few.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._shapes import REGIMES, name_of
from benchmarks.adaptive import ONE_THREAD
from benchmarks.regimes import DELTA, MARGIN, RESULTS, compared

KEPT = RESULTS / "published"
METHODS = {"mst": ("MST", (2, 3)), "aim-2": ("AIM", (2,)), "aim": ("AIM", (3,))}
"""What is fitted, its name, and the sizes of the tables that it is judged by."""
WORDS = {2: "pairs", 3: "triples"}
RUNS = int(os.environ.get("HEDGEROW_RUNS", "1"))
SECONDS = os.environ.get("HEDGEROW_PEER_SECONDS", "6000")


def fitted(method: str, shape: str, python: str) -> dict[str, float]:
    """One run of a published synthesizer, by the interpreter that has it: its seconds and errors."""
    columns, sizes = REGIMES[shape]()
    sets = [*compared(sizes, 2), *compared(sizes, 3)]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **columns, **{f"size:{a}": k for a, k in sizes.items()}, sets=json.dumps(sets))
        script = Path(__file__).parent / "_synthesizers.py"
        command = [python, str(script), method, str(source), "1.0", str(DELTA), str(target)]
        env = os.environ | ONE_THREAD | {"HEDGEROW_PEER_SECONDS": SECONDS}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
    got: dict[str, float] = {}
    for text in done.stdout.splitlines():
        got |= json.loads(text) if text.startswith("{") else {}
    return {k: v for k, v in got.items() if np.isfinite(v)}


def results(shape: str) -> dict[str, list[dict[str, float]]]:
    """What was found so far, and the runs that are missing, if an interpreter is named."""
    path = KEPT / f"{name_of(shape)}.json"
    held: dict[str, list[dict[str, float]]] = json.loads(path.read_text()) if path.exists() else {}
    python, chosen = os.environ.get("HEDGEROW_PEER_PYTHON"), os.environ.get("HEDGEROW_SHAPES", "")
    if python and any(part.strip() in shape for part in chosen.split(",")):
        for method in METHODS:
            while len(runs := held.setdefault(method, [])) < RUNS and not any("stopped" in r for r in runs):
                runs.append(fitted(method, shape, python))
                KEPT.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(held, indent=1) + "\n")
    return held


def ours(shape: str, order: int) -> float | None:
    """The mean error of the default release, as `regimes` has it."""
    path = RESULTS / f"{name_of(shape)}.json"
    runs = json.loads(path.read_text()).get(f"{order}-1") if path.exists() else None
    return float(np.mean([r["ours"] for r in runs])) if runs else None


def line(shape: str, order: int, name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Ours beside a peer's, or why there is nothing beside it."""
    mine, theirs = ours(shape, order), [r[WORDS[order]] for r in runs if WORDS[order] in r]
    took = [f"{np.mean([r['seconds'] for r in runs if 'seconds' in r]):.0f} CPU s"] if theirs else []
    luck = [f"{len(theirs)} runs"] if len(theirs) > 1 else []
    about = f" ({', '.join(took + luck)})" if took else ""
    said: dict[str, Any] = {"name": f"{shape}, {WORDS[order]}, beside {name}{about}", "ours": mine}
    if not theirs or mine is None:
        stopped = [f"did not end in {r['stopped']:,.0f} CPU s" for r in runs if "stopped" in r]
        return said | {"peer": float(np.mean(theirs)) if theirs else (stopped or ["no numbers"])[0]}
    ratio = mine / float(np.mean(theirs))
    bar = {"bar": f"<= {MARGIN:g}", "passed": ratio <= MARGIN}
    return said | {"peer": float(np.mean(theirs)), "ratio": ratio} | bar


def run() -> Iterator[dict[str, Any]]:
    """A line for every shape, workload and peer that was run."""
    for shape in REGIMES:
        held = results(shape)
        for method, (name, orders) in METHODS.items():
            for order in orders if held.get(method) else ():
                yield line(shape, order, name, held[method])
