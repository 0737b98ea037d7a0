"""Answer: a number, how far off it may be, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget

Source = Literal["certified", "measured", "learned"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a question gets: value and error bound in the question's unit.

    Args:
        value: a number, or an array for a table or a list of questions.
        error: |value - truth| stays within this with probability `confidence`, per number unless
            `simultaneous`. The truth is the answer on the bounded table.
        confidence: how often the error bound holds.
        source: `certified` (a sparse-vector test vouches for it), `measured` (its own noise), or `learned`
            (from a hypothesis; the error is indicative only, unless `notes` say more).
        cost: what asking it cost now; None when it was free.
        cached: whether the same answer was given before.
        simultaneous: whether the bound holds for all numbers at once; if certified, for all certified numbers
            of the session or run that state this confidence or a higher one.
        notes: sentences that belong to the answer.
        table: the rows and columns of a grouped answer, when there are any.
        sources: the source of each number, when they were asked together and differ; `source` is then the
            least of them.
    """

    value: Any
    error: Any
    confidence: float
    source: Source
    cost: Budget | None = None
    cached: bool = False
    simultaneous: bool = False
    notes: tuple[str, ...] = ()
    table: Any = None
    sources: Any = None

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype=dtype)

    def __repr__(self) -> str:
        if not np.size(self.value):
            body = "no numbers" if self.table is None else f"{len(self.table):,} rows without numbers"
        elif np.ndim(self.value) == 0:
            body = f"{float(self.value):,.6g} ± {float(self.error):,.4g}"
        else:
            body = f"{np.size(self.value):,} numbers, each ± up to {float(np.max(self.error)):,.4g}"
        return f"Answer({body} at {self.confidence:.4g}, {self.source})"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": _plain(self.value),
            "error": _plain(self.error),
            "confidence": self.confidence,
            "source": self.source,
            "sources": None if self.sources is None else np.asarray(self.sources).tolist(),
            "cost": None if self.cost is None else {"epsilon": self.cost.epsilon, "delta": self.cost.delta},
            "cached": self.cached,
            "simultaneous": self.simultaneous,
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    """Numbers as JSON has them; what is not finite becomes null."""
    if np.ndim(value):
        return [_plain(v) for v in value]
    return float(value) if np.isfinite(value) else None
