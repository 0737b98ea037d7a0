"""Ordered counts from noisy ones: all rows are divided in halves, and those again, as far as noise tells.

The nearest table without negative cells is far from the rows where levels are many and rows few: half of the
noise of all empty levels stays in it, and half of them is not cut off, so a number's average moves towards
the middle of its range. Sums over runs of levels are known far better than each, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.bins import Bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

_FAR = 1.5  # standard deviations: a mean or run of levels this far from what was measured may not be noise
_LEVELS = 16  # a number of fewer keeps the counts of its fit
_NOISE = 0.02  # ... and so does one whose noise, on all levels, is a smaller part of all rows
_LEAST = 1e-2  # rows: what is known without noise is taken to have this standard deviation
_TINY = 1e-6  # rows: a run of fewer is as even as any
_RUNS = 3  # times that levels are halved for these runs
_WIDE, _STEPS = 6.0, 128  # of a posterior: standard deviations to either side, and points


@dataclass(frozen=True, eq=False)
class FittedCounts:
    """One attribute's counts as a fit has them, as they were measured, and the deviation of each of those."""

    fitted: Floats
    noisy: Floats
    sigma: float


def regained(
    domain: Domain, known: Mapping[str, FittedCounts], total: float, *, behind: bool = True
) -> dict[str, Floats]:
    """New counts of those numbers that a fit has displaced, by what was measured of them.

    Args:
        domain: the declared attributes.
        known: by attribute.
        total: the number of rows.
        behind: whether also those that lost rows to the levels behind their bins: not so in runs of before.
    """
    out = {}
    for name, k in known.items():
        body = domain[name]
        if hidden(body, k.sigma, total) and displaced(k.fitted, k.noisy, k.sigma, len(body.values)):
            out[name] = ordered(k.noisy, k.sigma, total, len(body.values))
        elif behind and isinstance(body, Bins) and spilled(k, len(body.values)):
            out[name] = drawn_back(k, total, len(body.values))
    return out


def spilled(known: FittedCounts, bins: int) -> bool:
    """Whether a fit has more rows behind a number's bins, without the number, than noise explains.

    Where such rows are few or none, every larger table that was measured leaves some of its noise in them.
    They are taken off the number's sum, which for numbers far from 0 is off by as much in all.
    """
    behind = known.fitted.size - bins
    gap = float((known.fitted - known.noisy)[bins:].sum())
    return behind > 0 and gap > _FAR * known.sigma * behind**0.5


def drawn_back(known: FittedCounts, total: float, bins: int) -> Floats:
    """Counts with as many rows behind the bins as was measured, and the others as they were fitted."""
    size, sums = known.fitted.size, np.append(0.0, np.cumsum(known.noisy))
    rows, out, low = total, known.fitted.astype(np.float64), 0
    for middle in range(bins, size):  # first the bins from all that is behind them, then level by level
        at = (np.array([low]), np.array([middle]), np.array([size]))
        part = float(_first_parts(sums, at, np.array([rows]), max(known.sigma, _LEAST))[0])
        held = float(out[low:middle].sum())
        own = out[low:middle] / held if held > _TINY else np.full(middle - low, 1.0 / (middle - low))
        out[low:middle] = own * rows * part
        rows, low = rows * (1.0 - part), middle
    out[low:] = rows
    return out


def hidden(body: Attribute, sigma: float, total: float) -> bool:
    """Whether noise may hide where the rows of a number are.

    Args:
        body: the attribute.
        sigma: the standard deviation of the count of each level.
        total: the number of rows.
    """
    return many(body) and sigma * body.size > _NOISE * total


def many(body: Attribute) -> bool:
    """Whether an attribute is a number (or a date) of many levels."""
    return isinstance(body, Bins) and body.size >= _LEVELS


def displaced(table: Floats, noisy: Floats, sigma: float, bins: int) -> bool:
    """Whether a mean, or a run of an eighth of all levels or more, is farther from the noisy one than noise.

    Args:
        table: counts that were made of the noisy ones.
        noisy: what was measured.
        sigma: the standard deviation of each of those.
        bins: how many levels are ordered; the others come after them.
    """
    gap, place = (table - noisy)[:bins], np.arange(bins) - (bins - 1) / 2.0
    if abs(float(gap @ place)) > _FAR * sigma * float(np.sqrt(place @ place)):
        return True
    edges, sums = np.array([0, bins]), np.append(0.0, np.cumsum(gap))
    for _ in range(_RUNS):
        edges = np.unique(np.append(edges, (edges[:-1] + edges[1:]) // 2))
        wide = np.diff(edges)
        off = np.abs(np.diff(sums[edges])) > _FAR * sigma * np.sqrt(wide)
        if bool((off & (wide > 1)).any()):
            return True
    return False


def ordered(noisy: Floats, sigma: float, total: float, bins: int) -> Floats:
    """Counts of ordered levels that make up all rows: none is negative, and long runs have what was measured.

    A Polya tree. Of the rows of a run the part in its first half has the prior Beta(1/2, 1/2), which expects
    halves to be even or empty; both noisy halves are normal around their parts, and the part that is taken is
    the mean of the posterior. In a run of many rows that is what was measured; in one whose rows are fewer
    than its noise both halves are taken to be alike.

    Args:
        noisy: what was measured.
        sigma: the standard deviation of each level.
        total: the number of rows.
        bins: how many levels are ordered; the others come after them, and are divided in the same way.
    """
    sums, sigma = np.append(0.0, np.cumsum(noisy)), max(sigma, _LEAST)
    low, high, rows = np.array([0]), np.array([len(noisy)]), np.array([total])
    middle = np.array([bins if 0 < bins < len(noisy) else len(noisy) // 2])
    while bool((high - low > 1).any()):
        part = _first_parts(sums, (low, middle, high), rows, sigma)
        edges = np.append(np.stack([low, middle], axis=1).reshape(-1), len(noisy))
        rows = np.stack([rows * part, rows * (1.0 - part)], axis=1).reshape(-1)
        kept = np.diff(edges) > 0  # a run of one level has no first half
        low, high, rows = edges[:-1][kept], edges[1:][kept], rows[kept]
        middle = (low + high) // 2
    return np.asarray(rows)


def _first_parts(
    sums: Floats,
    at: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    rows: Floats,
    sigma: float,
) -> Floats:
    """Of the rows of each run the part in its first half."""
    low, middle, high = at
    first, rest = sums[middle] - sums[low], sums[high] - sums[middle]
    before, after = np.maximum(middle - low, 1), high - middle
    precision = rows / sigma * np.sqrt(1.0 / before + 1.0 / after)
    normal = (first / before + (rows - rest) / after) / (rows * (1.0 / before + 1.0 / after))
    reach = _WIDE / precision
    ends = [np.clip(np.clip(normal, 0.0, 1.0) + side * reach, 0.0, 1.0) for side in (-1.0, 1.0)]
    # on even steps of the arcsine of its root a part has an even prior
    start, stop = (np.arcsin(np.sqrt(end)) for end in ends)
    steps = (np.arange(_STEPS) + 0.5) / _STEPS
    parts = np.sin(start[:, None] + (stop - start)[:, None] * steps) ** 2
    doubt = ((parts - normal[:, None]) * precision[:, None]) ** 2 / 2.0
    weight = np.exp(doubt.min(axis=1, keepdims=True) - doubt)
    part = (weight * parts).sum(axis=1) / weight.sum(axis=1)
    return np.asarray(np.where(middle > low, part, 0.0))
