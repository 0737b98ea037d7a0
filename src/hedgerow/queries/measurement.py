"""Measurement: what left the curator - noisy values, and the exact law of the noise in them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.errors import BadValue, UnsupportedQuery
from hedgerow.queries.argument import between
from hedgerow.queries.pieces import ManyQueries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.reply import Asked
    from hedgerow.queries.strategies.strategy import Strategy
    from hedgerow.queries.workload import Workload

Family = Literal["laplace", "gaussian", "none"]


@dataclass(frozen=True)
class Noise:
    """The law of the noise on one measured number: a discrete family, its scale, and lattice steps per row.

    Args:
        family: `laplace` (P(z) ~ exp(-|z|/scale)), `gaussian` (P(z) ~ exp(-z^2/2 scale^2)) or `none`.
        scale: in lattice steps.
        denominator: lattice steps per row; a count is a number of steps divided by it.

    >>> Noise("laplace", Fraction(1)).half_width(0.95)
    3.0
    """

    family: Family
    scale: Fraction
    denominator: int = 1

    @property
    def variance(self) -> float:
        """The variance of a measured count (for the discrete Gaussian: an upper bound, tight above 1)."""
        b = float(self.scale)
        if self.family == "none":
            return 0.0
        steps = b * b if self.family == "gaussian" else _laplace_variance(b)
        return steps / self.denominator**2

    def half_width(self, confidence: float, weights: Any = (1.0,), numbers: int = 1) -> float:
        """A width w with P(|noise| <= w) >= confidence, for a weighted sum of independently measured counts.

        Args:
            confidence: how often the bound must hold.
            weights: the sum's coefficients.
            numbers: bound this many such sums at once (union bound).
        """
        beta = (1.0 - confidence) / numbers
        if not 0.0 < beta < 1.0:
            raise BadValue("confidence must lie strictly between 0 and 1")
        w = np.abs(np.asarray(weights, dtype=np.float64)).ravel()
        w = w[w > 0]
        if self.family == "none" or not len(w):
            return 0.0
        steps = self._laplace(beta, w) if self.family == "laplace" else self._gaussian(beta, w)
        return steps / self.denominator

    def _gaussian(self, beta: float, w: NDArray[np.float64]) -> float:
        """Subgaussian tail [CKS20, Cor. 17]; above sigma = 4 the normal law itself, plus one lattice step."""
        norm = float(np.sqrt((w * w).sum()))
        sigma = float(self.scale)
        if sigma < 4.0:
            return norm * sigma * float(np.sqrt(2.0 * np.log(2.0 / beta)))
        return float(w.max()) - norm * sigma * NormalDist().inv_cdf(beta / 2.0)  # 1 - beta/2 may round to 1

    def _laplace(self, beta: float, w: NDArray[np.float64]) -> float:
        """Exact tail for one number, exact convolution for a plain sum, on a grid for any other."""
        b = float(self.scale)
        if len(w) == 1:  # P(|Z| >= t) = 2 exp(-t/b) / (1 + exp(-1/b)), and the event is |Z| > t - 1
            t = np.ceil(b * (np.log(2.0) - np.log1p(np.exp(-1.0 / b)) - np.log(beta)))
            return float(max(t - 1.0, 0.0) * w[0])
        if len(w) * np.exp(-1.0 / b) * 2.0 <= beta * (1.0 + np.exp(-1.0 / b)):
            return 0.0  # so often no number carries any noise
        spread = np.sqrt(len(w) * self.variance) * self.denominator
        size = 1 << int(np.ceil(np.log2(40.0 * spread + 80.0 * b + 64.0)))
        if np.ptp(w) == 0.0 and size <= 1 << 21:
            return float(w[0] * _laplace_sum_quantile(b, len(w), beta, size))
        return _laplace_mix_quantile(b, w, beta)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"family": self.family, "scale": str(self.scale), "denominator": self.denominator}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Noise:
        """The inverse of `to_json`."""
        return cls(data["family"], Fraction(data["scale"]), int(data["denominator"]))


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy values of one table (`attributes`), a list of queries (`workload`) or a `strategy`, in steps.

    `private` is False when the randomness or the ledger behind it was only for tests or simulation. `asked`
    is the question that was measured, as long as it is remembered: files do not keep it. `claims` says whose
    word it rests on, where it is a statistic of somebody else's: it is private if that is true.
    """

    attributes: tuple[str, ...]
    values: NDArray[np.int64]
    noise: Noise
    workload: Workload | None = None
    private: bool = True
    strategy: Strategy | None = None
    asked: Asked | list[Asked] | None = None
    claims: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The measured values as counts of rows."""
        return np.asarray(self.values / self.noise.denominator)

    @property
    def is_table(self) -> bool:
        """Whether this is the whole table of its attributes."""
        return self.workload is None and self.strategy is None and not self.claims

    def reply(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Any:
        """What was asked, answered from these numbers: value and error in its unit; a list for several.

        Args:
            confidence: how often the error of each number holds.
            simultaneous: make it hold for all numbers of an answer at once.
        """
        between("a confidence", confidence)
        asked = self.asked or (None if self.workload is None else ManyQueries(self.workload))
        if asked is None:
            raise UnsupportedQuery("these numbers answer no question by themselves; `counts` holds them")
        parts, replies, flat = asked if isinstance(asked, list) else [asked], [], self.counts.reshape(-1)
        ends = np.cumsum([flat.size] if len(parts) == 1 else [len(part.workload) for part in parts])
        for part, counts in zip(parts, np.split(flat, ends[:-1]), strict=True):
            width = self.noise.half_width(confidence, numbers=part.bounds(simultaneous))
            replies.append(part.told(counts, np.full(counts.size, width), confidence, inf))
        return replies if isinstance(asked, list) else replies[0]

    def __repr__(self) -> str:
        what = " x ".join(self.attributes) or "total" if self.is_table else repr(self.workload)
        if self.strategy is not None:
            what = f"{self.values.size:,} numbers of a strategy"
        if self.claims:
            what = f"{self.values.size:,} numbers of a claimed statistic"
        return f"Measurement({what}, {self.noise.family} noise of scale {float(self.noise.scale):.4g})"


def _laplace_variance(b: float) -> float:
    """The variance 1 / (2 sinh^2(1/2b)) of the discrete Laplace law, of the smallest scales a little more."""
    return float(0.5 / np.sinh(min(0.5 / b, 300.0)) ** 2)


def _laplace_sum_quantile(b: float, count: int, beta: float, size: int) -> float:
    """The smallest t with P(|Z_1 + .. + Z_count| > t) <= beta, from the characteristic function by FFT."""
    theta = 2.0 * np.pi * np.arange(size) / size
    phi = 1.0 / (1.0 + 2.0 * _laplace_variance(b) * np.sin(theta / 2.0) ** 2)
    pmf = np.maximum(np.fft.ifft(phi**count).real, 0.0)
    both = pmf[: size // 2].copy()
    both[1:] *= 2.0
    beyond = both[::-1].cumsum()[::-1] - both  # P(|Z| > t), summed from the small end
    return float(np.argmax(beyond <= beta * (1.0 - 1e-9)))


def _laplace_mix_quantile(b: float, w: NDArray[np.float64], beta: float) -> float:
    """A proven bound for any weights: an exact convolution on a grid, plus what rounding to the grid may add.

    Each w_i Z_i is rounded to the grid. The rounding errors are independent, symmetric and at most half a
    step, so by Hoeffding their sum is small except with probability beta/100; the mass beyond the grid is at
    most beta/100 by Chernoff.
    """
    size, part = 1 << 13, beta / 100.0
    reach = _chernoff(b, w, part)
    weights, copies = np.unique(w, return_counts=True)
    if len(weights) > 256:
        return _chernoff(b, w, beta)
    step = 2.0 * reach / size
    edges = (np.arange(size + 1) - size // 2 - 0.5) * step
    phi = np.ones(size // 2 + 1, dtype=np.complex128)
    for weight, count in zip(weights, copies, strict=True):
        masses = np.diff(_laplace_cdf(b, edges / weight))
        phi *= np.fft.rfft(np.fft.ifftshift(masses)) ** int(count)
    pmf = np.maximum(np.fft.irfft(phi, size), 0.0)
    both = pmf[: size // 2].copy()
    both[1:] += pmf[: size // 2 : -1]
    beyond = both[::-1].cumsum()[::-1] - both
    slack = step * float(np.sqrt(len(w) * np.log(2.0 / part) / 2.0))
    return min(float(np.argmax(beyond <= beta - 3.0 * part)) * step + slack, _chernoff(b, w, beta))


def _laplace_cdf(b: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(Z <= x) of the discrete Laplace law."""
    k = np.floor(x)
    p = np.exp(-1.0 / b)
    tail = np.exp(-np.abs(np.where(k >= 0, k + 1.0, k)) / b) / (1.0 + p)
    return np.asarray(np.where(k >= 0, 1.0 - tail, tail))


def _chernoff(b: float, w: NDArray[np.float64], beta: float) -> float:
    """min over s of (log E exp(s S) + log(2/beta)) / s: a proven bound for any weights."""
    s = np.linspace(0.01, 0.99, 99)[:, None] / (b * w.max())
    u, v = s * w / 2.0, 0.5 / b
    ratio = (np.exp(u - v) * np.expm1(-2.0 * u) / np.expm1(-2.0 * v)) ** 2  # (sinh u / sinh v)^2, below 1
    return float(np.min((-np.log1p(-ratio).sum(axis=1) + np.log(2.0 / beta)) / s[:, 0]))


def pack(arrays: Sequence[NDArray[Any]]) -> bytes:
    """Arrays as bytes: the form in which a ledger keeps an answer.

    Not compressed: the length must not depend on the values. A ledger without room for a line charges nothing
    for it, and so must not learn from that what was drawn.
    """
    out = io.BytesIO()
    np.savez(out, *arrays)
    return out.getvalue()


def unpack(data: bytes) -> list[NDArray[Any]]:
    """The inverse of `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
