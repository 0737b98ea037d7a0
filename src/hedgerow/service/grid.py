"""Grid: when charged questions are answered, so that how long they took says little about rows.

A question that may touch rows is answered a whole number of steps after it came: one, unless the work took
longer. Then it is answered at a later point, and that it was is counted: an overrun may depend on rows, and
is not defended (see the threat model).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Grid:
    """The points of time at which charged questions are answered.

    Args:
        step: in seconds, from when a question came.

    >>> grid = Grid(0.25)
    >>> grid.wait(0.1), grid.wait(0.3), grid.overruns
    (0.15, 0.2, 1)
    """

    step: float
    answered: int = 0
    overruns: int = 0

    def wait(self, took: float) -> float:
        """How long an answer that took so long is held back."""
        steps = max(1, -int(-took // self.step))
        self.answered += 1
        self.overruns += steps > 1
        return round(steps * self.step - took, 6)
