"""Audit two mechanisms that claim more privacy than they give, beside one that keeps its word.

Run it with `python examples/audit_a_mechanism.py`; it writes nothing.
"""

from __future__ import annotations

import sys

import numpy as np

from hedgerow import audit

RNG = np.random.default_rng()


def noise(scale: float, n: int) -> np.ndarray:
    """Whole-numbered Laplace noise: the difference of two geometric numbers."""
    p = 1.0 - np.exp(-1.0 / scale)
    return RNG.geometric(p, (n, 1)) - RNG.geometric(p, (n, 1))


def honest(rows: list[int], n: int) -> np.ndarray:
    """A count with whole-numbered Laplace noise of scale 1: epsilon 1."""
    return len(rows) + noise(1.0, n)


def too_little(rows: list[int], n: int) -> np.ndarray:
    """The same with half of the noise."""
    return len(rows) + noise(0.5, n)


def of_floats(rows: list[int], n: int) -> np.ndarray:
    """Noise of scale 1 as floats: enough of it, but the last binary digits give the count away."""
    return len(rows) + RNG.laplace(scale=1.0, size=(n, 1))


def main(samples: int = 40_000) -> None:
    """All claim epsilon 1; a refutation is wrong with probability at most one in a million."""
    neighbours = ([1, 1, 1], [1, 1, 1, 1])
    for mechanism in (honest, too_little, of_floats):
        found = audit.audit(mechanism, neighbours, epsilon=1.0, samples=samples, batch=True)
        verdict = "refuted" if found.refuted else "not refuted"
        sys.stdout.write(f"{mechanism.__name__}: {verdict}, epsilon is at least {found.found:.2f}\n")


if __name__ == "__main__":
    main()
