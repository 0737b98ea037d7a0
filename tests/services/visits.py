"""The people of the console's tests: who, sex, age, city and a day."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def write_visits(folder: Path, rows: int = 3000, seed: int = 5) -> Path:
    """people.csv: who, sex, age, city and a day, with a confirmed schema but for `who`."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1460, rows)
    lines = ["who,sex,age,city,seen"]
    for i, (sex, age, city, day) in enumerate(
        zip(rng.choice(["F", "M"], rows), rng.integers(0, 100, rows),
            rng.choice(["Harbour", "Old Town", "Fenland"], rows, p=[0.5, 0.3, 0.2]), days, strict=True)
    ):  # fmt: skip
        lines.append(f"P{i:05d},{sex},{age},{city},{day}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "schema.yaml").write_text(
        "attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 10]}\n  city: [Harbour, Old Town, Fenland]\n"
        "  seen: {dates: {start: 2020-01-01, stop: 2024-01-01, by: year}}\n"
    )
    return folder / "people.csv"
