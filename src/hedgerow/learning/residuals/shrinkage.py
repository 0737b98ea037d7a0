"""Shrinkage: a model plus as much of the measured remainder as is more than noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.noisy import NoisyResiduals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_POOL = 8.0  # coordinates that the other residuals of as many attributes count for


def remainder_weights(
    evidence: NoisyResiduals, model: Mapping[Names, Floats], followed: Mapping[Names, float]
) -> dict[Names, float]:
    """For every residual, how much of its distance to the model is kept.

    Let M = truth + b + f z and Y = truth + z, with noise z of variance v on each of d coordinates: the model
    is off by b and has followed a part f of the noise, since it was fitted to Y. Then E|Y - M|^2 = |b|^2 +
    (1 - f)^2 d v, and M + w (Y - M) has the least squared error at w = 1 - (1 - f) d v / E|Y - M|^2. With
    f = 0 this is Stein's rule. Residuals of few coordinates are taken together with the others of as many
    attributes.

    Args:
        evidence: what was measured.
        model: the model's residuals, of those that are weighed.
        followed: f of every residual, 0 where it is not named.
    """
    ratios = {s: _ratio(evidence, model, s) for s in model}
    out: dict[Names, float] = {}
    for size in {len(s) for s in ratios}:
        same = [s for s in ratios if len(s) == size]
        numbers = {s: max(1, evidence.basis.numbers(s)) for s in same}
        common = sum(ratios[s] for s in same) / sum(numbers.values())
        rest = {s: 1.0 - followed.get(s, 0.0) for s in same}
        typical = sum(rest[s] * numbers[s] for s in same) / sum(numbers.values())
        for s in same:
            noise = rest[s] * numbers[s] + _POOL * typical
            out[s] = max(0.0, 1.0 - noise / max(ratios[s] + _POOL * common, 1e-12))
    return out


def doubts(
    evidence: NoisyResiduals,
    model: Mapping[Names, Floats],
    followed: Mapping[Names, float],
    weights: Mapping[Names, float],
) -> dict[Names, tuple[float, float]]:
    """How far off weighed residuals are: the part of the noise that is left, and the mean square of biases.

    M + w (Y - M) is off by (1 - w) b + (w + (1 - w) f) z, with b, f and z as in `remainder_weights`; the mean
    of b^2 is that of (Y - M)^2 less (1 - f)^2 v, again with the other residuals of as many attributes.

    Args:
        evidence, model, followed: as for `remainder_weights`.
        weights: w of every residual.
    """
    out: dict[Names, tuple[float, float]] = {}
    for size in {len(s) for s in weights}:
        same = [s for s in weights if len(s) == size]
        numbers = {s: max(1, evidence.basis.numbers(s)) for s in same}
        rest = {s: 1.0 - followed.get(s, 0.0) for s in same}
        beyond = {s: _ratio(evidence, model, s) - rest[s] ** 2 * numbers[s] for s in same}
        common = sum(beyond.values()) / sum(numbers.values())
        for s in same:
            bias = max(0.0, (beyond[s] + _POOL * common) / (numbers[s] + _POOL))
            left = 1.0 - weights[s]
            out[s] = weights[s] + left * (1.0 - rest[s]), left**2 * bias * evidence.deviations[s] ** 2
    return out


def combined(
    evidence: NoisyResiduals, model: Mapping[Names, Floats], weights: Mapping[Names, float]
) -> dict[Names, Floats]:
    """The model's residuals, moved by these weights towards what was measured."""
    return {
        s: np.asarray(m + weights[s] * (evidence.values[s] - m)) if s in weights else m
        for s, m in model.items()
    }


def _ratio(evidence: NoisyResiduals, model: Mapping[Names, Floats], s: Names) -> float:
    return float((((evidence.values[s] - model[s]) / evidence.deviations[s]) ** 2).sum())
