"""A private classifier on the built-in population: who earns 40,000 or more?

Run it with `python examples/classify_income.py`; it writes nothing.
"""

from __future__ import annotations

import sys
from zlib import crc32

import numpy as np

import hedgerow as hr
from hedgerow.release.population import Population


def main(rows: int = 40_000) -> None:
    """Train at several budgets on three quarters of the people, test on the rest."""
    people = Population(rows)
    columns = people.columns
    features = {n: a for n, a in people.domain().items() if n != "income"}
    domain = hr.Domain(features | {"earns": ["less", "40k"]})
    income = np.array([0.0 if v is None else float(v) for v in columns["income"]])
    earns = np.where(income >= 40_000, "40k", "less")
    ids = np.array([crc32(str(v).encode()) % 4 for v in columns["person_id"]])  # a person is on one side only
    train, test = ids > 0, ids == 0
    kept = {n: np.asarray(columns[n], dtype=object) for n in features}
    here = {n: c[train] for n, c in kept.items()} | {"earns": earns[train]}
    here["person_id"] = np.asarray(columns["person_id"], dtype=object)[train]
    there = np.column_stack([kept[n][test] for n in features])
    usual = max(np.mean(earns[test] == c) for c in ("less", "40k"))
    sys.stdout.write(f"always the commoner class: accuracy {usual:.3f}\n")
    table = hr.Table.open(here, domain, unit="person_id", max_rows=2)
    for epsilon in (0.1, 1.0, 4.0):
        budget = hr.Budget(epsilon=epsilon, delta=1e-6)
        curator = hr.Curator(
            table, budget=budget, ledger=":memory:"
        )  # a simulation: these people are made up
        model = hr.BoostedClassifier(epsilon, 1e-6, label="earns").fit_curator(curator)
        right = float(np.mean(model.predict(there) == earns[test]))
        sys.stdout.write(f"epsilon {epsilon:g}: accuracy {right:.3f}\n")
    sys.stdout.write(model.privacy_receipt_.describe() + "\n")


if __name__ == "__main__":
    main()
