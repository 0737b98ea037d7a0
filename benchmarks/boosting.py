"""The boosted classifier on Adult beside other private classifiers, and its time beside AdaBoost's.

Income above 50K from the other columns, five fixed stratified splits (a fifth held out), delta 1e-6, means
over splits. Adult is read from the folder in HEDGEROW_ADULT; without it those lines are left out. DP-EBM
(interpret-core) runs in the interpreter of HEDGEROW_EBM_PYTHON, diffprivlib in that of
HEDGEROW_DIFFPRIVLIB_PYTHON, this one if they are not set; a peer that is not installed is left out.

"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._boosting_plot import chart, write

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA, SPLITS = 1e-6, 5
ORDERED = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
PEERS = {
    "DP-EBM": ("ebm", "HEDGEROW_EBM_PYTHON"),
    "diffprivlib logistic": ("dp_logistic", "HEDGEROW_DIFFPRIVLIB_PYTHON"),
    "diffprivlib forest": ("dp_forest", "HEDGEROW_DIFFPRIVLIB_PYTHON"),
}
BARS = {("AUC", 1.0): 0.885, ("accuracy", 1.0): 0.835, ("AUC", 0.1): 0.85}
DOCS = Path(__file__).parent.parent / "docs"
Row = dict[str, Any]


def adult() -> dict[str, Any]:
    """Rows, classes, sizes and fixed splits."""
    folder = Path(os.environ["HEDGEROW_ADULT"])
    sizes = json.loads((folder / "adult-domain.json").read_text())
    rows = np.loadtxt(folder / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    names = list(sizes)[:-1]
    X, y = rows[:, :-1], rows[:, -1]
    pairs = [split(y, seed) for seed in range(SPLITS)]
    return {
        "names": np.array(names),
        "X": X,
        "y": y,
        "sizes": np.array([sizes[n] for n in names]),
        "ordered": np.array([n in ORDERED for n in names]),
        "train": np.array([a for a, _ in pairs]),
        "test": np.array([b for _, b in pairs]),
    }


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A fifth of each class for testing."""
    rng, test = np.random.default_rng(seed), []
    for c in (0, 1):
        members = np.flatnonzero(y == c)
        rng.shuffle(members)
        test.append(members[: len(members) // 5])
    held = np.zeros(len(y), dtype=bool)
    held[np.concatenate(test)] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def auc(score: np.ndarray, y: np.ndarray) -> float:
    """The chance that a row of class 1 scores above one of class 0."""
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2.0)[place]
    ones = int(y.sum())
    return float((rank[y == 1].sum() - ones * (ones + 1) / 2.0) / (ones * (len(y) - ones)))


def ours(data: dict[str, Any], epsilon: float, **options: Any) -> np.ndarray:
    """Mean AUC, accuracy and CPU seconds of the boosted classifier, with real noise."""
    import hedgerow as hr

    columns = zip(data["names"].tolist(), data["sizes"].tolist(), data["ordered"].tolist(), strict=True)
    domain = hr.Domain(
        {n: hr.bins(-0.5, k - 0.5, 1) if o else int(k) for n, k, o in columns} | {"income": [0, 1]}
    )
    out = []
    for train, test in zip(data["train"], data["test"], strict=True):
        began = time.process_time()
        model = hr.BoostedClassifier(epsilon, DELTA, domain, **options).fit(
            data["X"][train], data["y"][train]
        )
        spent = time.process_time() - began
        p, truth = model.predict_proba(data["X"][test])[:, 1], data["y"][test]
        out.append((auc(p, truth), float((model.predict(data["X"][test]) == truth).mean()), spent))
    return np.mean(out, axis=0)


def peer(method: str, variable: str, file: Path, epsilon: float) -> np.ndarray | None:
    """Mean AUC, accuracy and CPU seconds of a peer, None where it is not installed."""
    python, around = os.environ.get(variable, sys.executable), dict(os.environ)
    if variable in around:
        around.pop("PYTHONPATH", None)  # another environment has its own packages
    script = Path(__file__).parent / "_boosting_peers.py"
    done = subprocess.run(
        [python, str(script), method, str(file), str(epsilon)],
        capture_output=True,
        text=True,
        check=False,
        env=around,
    )
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
            return None
        raise RuntimeError(done.stderr[-500:])
    return np.mean(json.loads(done.stdout), axis=0)


def classifiers(data: dict[str, Any]) -> Iterator[Row]:
    """AUC and accuracy at every epsilon, against every private peer, and the plot."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        np.savez(file, **data)
        plain = peer("adaboost", "", file, 0.0)
        found: dict[str, dict[float, np.ndarray]] = {"Hedgerow": {}}
        for epsilon in EPSILONS:
            found["Hedgerow"][epsilon] = ours(data, epsilon)
            for name, (method, variable) in PEERS.items():
                scored = peer(method, variable, file, epsilon)
                if scored is not None:
                    found.setdefault(name, {})[epsilon] = scored
    for column, metric in enumerate(("AUC", "accuracy")):
        for epsilon in EPSILONS:
            yield from _lines(metric, column, epsilon, found)
        if plain is not None:
            best = float(found["Hedgerow"][EPSILONS[-1]][column])
            name = f"{metric} at epsilon {EPSILONS[-1]:g}, peer AdaBoost with 100 stumps, not private"
            yield {"name": name, "ours": round(best, 4), "peer": round(float(plain[column]), 4)}
    seconds = {name: float(np.mean([s[2] for s in line.values()])) for name, line in found.items()}
    for name in list(seconds)[1:]:
        ratio = seconds["Hedgerow"] / seconds[name]
        yield {
            "name": f"CPU s of a fit, peer {name}",
            "ours": seconds["Hedgerow"],
            "peer": seconds[name],
            "ratio": ratio,
        }
    for mode, options in (
        ("theorem mode", {"mode": "theorem"}),
        ("stumps", {"base_learner": "stump"}),
        ("logistic", {"base_learner": "logistic"}),
    ):
        score = ours(data, 1.0, **options)
        yield {"name": f"AUC / accuracy at epsilon 1, {mode}", "ours": f"{score[0]:.4f} / {score[1]:.4f}"}
    lines = {name: {e: float(s[1]) for e, s in line.items()} for name, line in found.items()}
    flat = ("AdaBoost, not private", float(plain[1])) if plain is not None else None
    write(DOCS / "boosting.svg", chart("Adult: accuracy on held-out rows", lines, 0.70, 0.875, flat))


def _lines(
    metric: str, column: int, epsilon: float, found: dict[str, dict[float, np.ndarray]]
) -> Iterator[Row]:
    mine = float(found["Hedgerow"][epsilon][column])
    bar = BARS.get((metric, epsilon))
    if bar is not None:
        name = f"{metric} at epsilon {epsilon:g}"
        yield {"name": name, "ours": round(mine, 4), "bar": f">= {bar}", "passed": mine >= bar}
    for name in list(found)[1:]:
        if epsilon in found[name]:
            other = float(found[name][epsilon][column])
            yield {
                "name": f"{metric} at epsilon {epsilon:g}, peer {name}",
                "ours": round(mine, 4),
                "peer": round(other, 4),
                "bar": "ahead",
                "passed": mine > other,
            }


def speed(rows: int = 10**6, features: int = 20, stumps: int = 10) -> Iterator[Row]:
    """CPU time for a million rows, the same number of stumps."""
    import hedgerow as hr
    from hedgerow.learning.learners.stump_learner import StumpLearner

    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, features))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=rows) > 0).astype(np.int64)
    domain = hr.Domain({f"x{i}": hr.bins(-4, 4, 0.25) for i in range(features)} | {"y": [0, 1]})
    hr.BoostedClassifier(1.0, DELTA, domain, base_learner=StumpLearner(rounds=2)).fit(X[:1000], y[:1000])
    mine = []
    for learner in (StumpLearner(rounds=stumps), "histogram"):
        began = time.process_time()
        hr.BoostedClassifier(1.0, DELTA, domain, base_learner=learner).fit(X, y)
        mine.append(time.process_time() - began)
    try:
        from sklearn.ensemble import AdaBoostClassifier
    except ImportError:
        yield {"name": "train 10^6 rows x 20 features (CPU s)", "ours": mine[0]}
        return
    began = time.process_time()
    AdaBoostClassifier(n_estimators=stumps).fit(X, y)
    other = time.process_time() - began
    for seconds, what in zip(mine, (f"{stumps} stumps", "5 rounds of histograms"), strict=True):
        yield {
            "name": f"train 10^6 rows x 20 features, {what} (CPU s), peer AdaBoost with {stumps} stumps",
            "ours": seconds,
            "peer": other,
            "ratio": seconds / other,
            "bar": "<= 5",
            "passed": seconds / other <= 5,
        }


def run() -> Iterator[Row]:
    """All lines."""
    if "HEDGEROW_ADULT" in os.environ:
        yield from classifiers(adult())
    yield from speed()
