"""Renormed: a statistic that claims other norms than it has, for mistakes that are planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Renormed:
    """All of a statistic but its norms, which whoever takes it up says.

    Args:
        inside: the statistic.
    """

    inside: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)
