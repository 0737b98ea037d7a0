"""A script for the interpreter that has a peer: trains it on given splits, prints its scores as JSON.

`python _boosting_peers.py method rows.npz epsilon`; methods: ebm, dp_logistic, dp_forest, adaboost. It needs
nothing of Hedgerow, so that a peer may live in an environment of its own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np

DELTA = 1e-6


def scores(method: str, data: Any, epsilon: float) -> list[tuple[float, float, float]]:
    """(AUC, accuracy, CPU seconds) of a method on every split."""
    from sklearn.metrics import roc_auc_score

    X, y, sizes, ordered = data["X"], data["y"], data["sizes"], data["ordered"]
    out = []
    for seed in range(len(data["train"])):
        train, test = data["train"][seed], data["test"][seed]
        began = time.process_time()
        model, see = make(method, epsilon, sizes, ordered, seed)
        model.fit(see(X[train]), y[train])
        spent = time.process_time() - began
        p = model.predict_proba(see(X[test]))[:, 1]
        right = float((model.predict(see(X[test])) == y[test]).mean())
        out.append((float(roc_auc_score(y[test], p)), right, spent))
    return out


def make(method: str, epsilon: float, sizes: Any, ordered: Any, seed: int) -> tuple[Any, Any]:
    """A model, and how it wants to see rows; all ranges are the declared ones."""
    if method == "adaboost":
        from sklearn.ensemble import AdaBoostClassifier

        return AdaBoostClassifier(n_estimators=100, random_state=seed), lambda X: X
    if method == "ebm":
        from interpret.privacy import DPExplainableBoostingClassifier

        types = ["continuous" if o else "nominal" for o in ordered]
        bounds = {i: (0, int(k) - 1) for i, k in enumerate(sizes)}
        options = {"feature_types": types, "privacy_bounds": bounds, "random_state": seed}
        return DPExplainableBoostingClassifier(epsilon=epsilon, delta=DELTA, **options), lambda X: X
    from diffprivlib import models

    if method == "dp_forest":
        bounds = (np.zeros(len(sizes)), sizes - 1.0)
        options = {"n_estimators": 20, "max_depth": 6, "bounds": bounds, "classes": [0, 1]}
        return models.RandomForestClassifier(epsilon=epsilon, random_state=seed, **options), lambda X: X

    def see(X: Any) -> Any:
        parts = [
            X[:, i : i + 1] / (k - 1.0) if o else np.eye(k)[X[:, i]]
            for i, (k, o) in enumerate(zip(sizes, ordered, strict=True))
        ]
        return np.concatenate(parts, axis=1)

    norm = float(np.sqrt(len(sizes)))  # every block of a row has norm at most 1
    return models.LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=500, random_state=seed), see


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with np.load(sys.argv[2]) as given:
        sys.stdout.write(json.dumps(scores(sys.argv[1], given, float(sys.argv[3]))))
