"""The six published sparse vectors of W3 ([LSL17] Fig. 1): two are private, four are famous mistakes.

For the audit only, to show that it tells them apart; never exported. T = 0, sensitivity 1, integer noise from
the real sampler. An output is one number per question: BELOW, ABOVE (Algorithm 3: the released value), OVER
after the run has stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.noise.noise import discrete_laplace, os_entropy

BELOW, OVER, ABOVE = -(10**6), -(10**6) - 1, 10**6


class PublishedSVT:
    """One of the six, as printed.

    Args:
        number: 1 to 6, the algorithm's number in the lecture.
        epsilon: what it claims.
        count: c; Algorithms 5 and 6 have no such limit.
    """

    def __init__(self, number: int, epsilon: Fraction, count: int) -> None:
        half = epsilon / 2
        eps1 = epsilon / 4 if number == 4 else half
        eps2 = epsilon - eps1
        c = count
        self.number, self.count = number, count if number <= 4 else 10**9
        self.threshold = c / half if number == 2 else 1 / eps1
        self.query = {1: 2 * c / eps2, 2: 2 * c / eps1, 3: c / eps2, 4: 1 / eps2, 5: None, 6: 1 / eps2}[
            number
        ]

    def __call__(self, answers: Sequence[int], size: int) -> NDArray[np.int64]:
        """`size` independent runs on a stream of exact answers."""
        q = np.asarray(answers, dtype=np.int64)
        nu = np.zeros((size, q.size), dtype=np.int64)
        if self.query is not None:
            nu = _laplace(self.query, (size, q.size))
        noisy = q + nu
        rho = _laplace(self.threshold, (size, 1))
        if self.number != 2:
            above = noisy >= rho
        else:  # a new noisy threshold after every "above"
            above = np.empty(noisy.shape, dtype=np.bool_)
            for i in range(q.size):
                above[:, i] = noisy[:, i] >= rho[:, 0]
                rho = np.where(above[:, i : i + 1], _laplace(self.threshold, (size, 1)), rho)
        stopped = np.cumsum(above, axis=1) - above >= self.count
        said = noisy if self.number == 3 else np.full_like(noisy, ABOVE)
        return np.where(stopped, OVER, np.where(above, said, BELOW))


def _laplace(scale: Any, shape: tuple[int, int]) -> NDArray[np.int64]:
    return discrete_laplace(Fraction(scale), shape[0] * shape[1], os_entropy).reshape(shape)
