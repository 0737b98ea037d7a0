"""Randomness for tests: repeatable, and marked so that nothing made with it passes for private."""

from __future__ import annotations

from hedgerow.curator.noise.seeded import SeededEntropy

__all__ = ["SeededEntropy", "seeded"]


def seeded(seed: int = 0) -> SeededEntropy:
    """A repeatable source of randomness for tests; marks every result as not private."""
    return SeededEntropy(seed)
