"""People as tools see them: a column of each kind - levels, whole numbers in bins, days in months."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import hedgerow as hr

SCHEMA = """attributes:
  sex: [F, M]
  k: [0, 1, 2]
  age: {bins: [0, 100, 20], step: 1}
  day: {dates: {start: 2024-01-01, stop: 2025-01-01, by: quarter}}
"""


def write(folder: Path, rows: int = 3000, seed: int = 3) -> None:
    """people.csv and its schema."""
    rng = np.random.default_rng(seed)
    columns = (rng.choice(["F", "M"], rows), rng.integers(0, 3, rows), rng.integers(0, 100, rows),
               np.datetime64("2024-01-01") + rng.integers(0, 366, rows))  # fmt: skip
    lines = (f"{sex},{k},{age},{day}\n" for sex, k, age, day in zip(*columns, strict=True))
    (folder / "people.csv").write_text("sex,k,age,day\n" + "".join(lines))
    (folder / "schema.yaml").write_text(SCHEMA)


def domain(folder: Path) -> hr.Domain:
    """The same columns, without a row."""
    (folder / "schema.yaml").write_text(SCHEMA)
    return hr.Domain.load(folder / "schema.yaml")
