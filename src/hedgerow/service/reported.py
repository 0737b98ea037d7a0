"""Reported: what a release's report says and shows, as plain data for a page that draws it itself.

It reads the synopsis that the release left, which is public, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.release.report.pairs import two_way
from hedgerow.release.report.report import Report
from hedgerow.release.report.views import View, one_way
from hedgerow.synopsis import Synopsis

NUMBER = "n"
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Reported:
    """A release as its report has it.

    Args:
        facts: what is said of it in words and numbers.
        names: the attributes that pairs are of.
        singles: the table of each attribute, as an answer.
        pairs: how strongly two attributes hang together, from 0 to 1.
        tables: the table of each pair, as an answer.
    """

    facts: dict[str, Any]
    names: tuple[str, ...]
    singles: dict[str, dict[str, Any]]
    pairs: dict[tuple[str, str], float]
    tables: dict[tuple[str, str], dict[str, Any]]

    @classmethod
    def of(cls, path: Path, name: str) -> Reported:
        """Of a synopsis file; read once while it is the same file.

        Args:
            path: the file.
            name: what to call the data.
        """
        return _read(path, path.stat().st_mtime_ns, name)

    def strongest(self) -> tuple[str, str] | None:
        """The pair that hangs together most."""
        return max(self.pairs, key=lambda pair: self.pairs[pair], default=None)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, name: str) -> Reported:
    synopsis = Synopsis.load(path)
    domain = synopsis.domain
    labels = {a: list(domain[a].labels) for a in domain}
    views = two_way(synopsis, _CONFIDENCE)
    tables = {(v.attributes[0], v.attributes[1]): v for v in views}
    return Reported(
        Report(synopsis, name, confidence=_CONFIDENCE).facts(),
        tuple(domain.order(a for pair in tables for a in pair)),
        {v.attributes[0]: _answer(v, labels, synopsis.source) for v in one_way(synopsis, _CONFIDENCE)},
        {pair: view.association for pair, view in tables.items()},
        {pair: _answer(view, labels, synopsis.source) for pair, view in tables.items()},
    )


def _answer(view: View, labels: dict[str, list[str]], source: str) -> dict[str, Any]:
    """A released table in the shape of an answer."""
    rows = []
    for at in np.ndindex(view.values.shape):
        value, error = float(view.values[at]), float(view.errors[at])
        cell: dict[str, Any] = {"value": value, "error": None, "source": source}
        if np.isfinite(error):
            cell |= {"error": error, "low": value - error, "high": value + error}
        rows.append({a: labels[a][i] for a, i in zip(view.attributes, at, strict=True)} | {NUMBER: cell})
    return {"columns": [*view.attributes, NUMBER], "rows": rows}
