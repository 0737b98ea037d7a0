"""Synthetic rows on their way to a file, a batch at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hedgerow.errors import UnsupportedQuery

if TYPE_CHECKING:
    from hedgerow.synopsis import Synopsis

_BATCH = 100_000


def write_rows(
    synopsis: Synopsis,
    rows: int,
    target: Path | IO[str],
    *,
    seed: int | None = None,
    step: Callable[[str, float | None], None] = lambda words, part: None,
) -> None:
    """Draw synthetic rows and write them as CSV.

    Args:
        synopsis: the release to draw from.
        rows: how many.
        target: a path, or an open text file.
        seed: for the same rows again.
        step: told how far it is.
    """
    if rows < 0:
        raise UnsupportedQuery("a number of rows is not negative")
    if isinstance(target, Path):
        with target.open("w", newline="", encoding="utf-8") as file:
            write_rows(synopsis, rows, file, seed=seed, step=step)
        return
    out = csv.writer(target, lineterminator="\n")
    out.writerow(synopsis.domain.names)
    for start in range(0, rows, _BATCH):
        count = min(_BATCH, rows - start)
        batch = synopsis.sample(count, seed=None if seed is None else seed + start)
        columns = [batch[name].tolist() for name in synopsis.domain]
        out.writerows(zip(*columns, strict=True))
        step("Drawing synthetic rows", (start + count) / rows)
