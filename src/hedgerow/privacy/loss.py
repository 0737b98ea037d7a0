"""Privacy losses of simple acts as distributions on a line, and their grids."""

from __future__ import annotations

from math import ceil, exp, expm1, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import HedgerowError

Floats = npt.NDArray[np.float64]


class Loss:
    """A dominating pair as its privacy losses: atoms on a line, and a mass at infinity."""

    def __init__(self, losses: Floats, masses: Floats, infinite: float = 0.0, copies: int = 1) -> None:
        self.losses, self.masses, self.infinite, self.copies = losses, masses, infinite, copies
        self.reach = float(np.abs(losses).max())
        self.spread = max(self.reach / 12, sqrt(float((losses**2 * masses).sum())))


def laplace_loss(step: float, s: int) -> Loss:
    """Discrete Laplace noise of scale 1/step moved by s; it dominates every vector of L1 sensitivity s.

    The overlap sum min(P, e^t Q) at t = (s - 2j) step is p^j, p = e^(-step); moving two coordinates by s1
    and s2 overlaps at least p^j at the same points, so one coordinate moved by s1 + s2 is the worst.
    One step is randomised response. The continuous Laplace pair is not valid: it has less mass at +epsilon.
    """
    j = np.arange(s + 1, dtype=np.float64)
    masses = np.exp(-step * j) / (1 + exp(-step))
    masses[1:-1] *= -expm1(-step)
    return Loss((s - 2 * j) * step, masses)


def gaussian_loss(sigma: float, coordinates: int) -> Loss:
    """Discrete Gaussian noise moved by one step, in each of so many coordinates."""
    edge = ceil(12 * sigma) + 2  # the tails beyond hold less than 1e-31 [CKS20, Prop. 25]
    x = np.arange(-edge, edge + 1, dtype=np.float64)
    masses = np.exp(-(x**2) / (2 * sigma**2))
    return Loss((1 - 2 * x) / (2 * sigma**2), masses / masses.sum(), 1e-31, coordinates)


def bounded_range_loss(epsilon: float, cells: int = 2**16) -> Loss:
    """Bounded range: sup over its two-point pairs of the hockey stick is (1 - e^((t-eps)/2))^2/(1 - e^-eps).

    That curve belongs to the loss density e^((t-eps)/2) / (2 (1 - e^-eps)) on [-eps, eps]; a small cell's
    mass sits at its middle, where both its P-mass and its Q-mass are kept.
    """
    edges = np.linspace(-epsilon, epsilon, cells + 1)
    masses = np.diff(np.exp((edges - epsilon) / 2)) / -expm1(-epsilon)
    return Loss((edges[1:] + edges[:-1]) / 2, masses)


def pmf(loss: Loss, interval: float) -> Any:
    """The loss on a grid, each atom split between its two neighbours so that P- and Q-mass are kept.

    This is the pessimistic "connect the dots" of [DGKKM22] done atom by atom, without cancellation.
    """
    try:
        from dp_accounting.pld.pld_pmf import DensePLDPmf
    except ImportError:
        raise HedgerowError("Tight numbers need dp-accounting: install hedgerow[accounting].") from None
    below = np.floor(loss.losses / interval)
    gap = loss.losses - below * interval
    up = np.clip(np.expm1(-gap) / expm1(-interval), 0.0, 1.0) * loss.masses
    lowest = int(below.min())
    at = (below - lowest).astype(np.int64)
    probs = np.bincount(at, loss.masses - up, int(at.max()) + 2)
    probs += np.bincount(at + 1, up, int(at.max()) + 2)
    return DensePLDPmf(interval, lowest, probs, loss.infinite, True)
