"""Fitting potentials to noisy tables: L-BFGS on the regularised dual of maximum entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.belief import Beliefs
from hedgerow.learning.factored.kernels import add_scaled, dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MEMORY = 12
_HALVINGS = 25
_LATELY = 10  # one step may be small by chance, and the first is not yet a good direction; so many are not


class Dual:
    """total * log Z(theta) - <theta, y> + sum R theta^2 / 2, whose minimum makes total * mu = y - R theta.

    That is maximum entropy with slack: a cell may differ from what was measured at a price, and R says how
    cheaply. Potentials in `held` multiply the model and do not move.
    """

    def __init__(self, beliefs: Beliefs, y: Floats, slack: Floats, total: float, held: Floats) -> None:
        self._beliefs, self._y, self._slack, self._total = beliefs, y, slack, total
        self._held = held
        self.evaluations = 0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        self.evaluations += 1
        whole = np.concatenate([theta, self._held]) if len(self._held) else theta
        log_z = self._beliefs.calibrate(whole)
        if not np.isfinite(log_z):
            return np.inf, np.zeros_like(theta)
        pull = self._slack * theta
        value = self._total * log_z - dot(theta, self._y) + 0.5 * dot(theta, pull)
        return value, self._total * self._beliefs.project()[: len(theta)] - self._y + pull


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    scale: Floats,
    iterations: int,
    tolerance: float = 0.0,
) -> tuple[Floats, int]:
    """L-BFGS with a diagonal preconditioner and halving steps; the point reached and the steps taken.

    Args:
        function: value and gradient of a convex function.
        start: where to begin.
        scale: the preconditioner, about the inverse of the Hessian's diagonal.
        iterations: at most this many steps.
        tolerance: stop when the last ten steps together lower the value by less than this.
    """
    x = start.copy()
    value, gradient = function(x)
    steps: list[tuple[Floats, Floats, float]] = []
    course = [value]
    for done in range(iterations):
        direction = -_apply(steps, scale, gradient)
        slope = dot(direction, gradient)
        if not slope < 0.0:
            return x, done
        length = 1.0
        for _ in range(_HALVINGS):
            new = x + length * direction
            new_value, new_gradient = function(new)
            if new_value <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            function(x)  # leave the beliefs where the best point is
            return x, done
        s, change = new - x, new_gradient - gradient
        curve = dot(s, change)
        if curve > 0.0:
            steps = [*steps[-_MEMORY + 1 :], (s, change, 1.0 / curve)]
        x, value, gradient = new, new_value, new_gradient
        course.append(value)
        if len(course) > _LATELY and course[-1 - _LATELY] - value < tolerance:
            return x, done + 1
    return x, iterations


def _apply(steps: list[tuple[Floats, Floats, float]], scale: Floats, gradient: Floats) -> Floats:
    """The inverse Hessian's two-loop recursion."""
    q = gradient.copy()
    back = []
    for s, change, rho in reversed(steps):
        alpha = rho * dot(s, q)
        back.append(alpha)
        add_scaled(q, -alpha, change)
    if steps:
        s, change, rho = steps[-1]
        q *= scale * (1.0 / (rho * dot(change, scale * change)))
    else:
        q *= scale
    for (s, change, rho), alpha in zip(steps, reversed(back), strict=True):
        add_scaled(q, alpha - rho * dot(change, q), s)
    return q
