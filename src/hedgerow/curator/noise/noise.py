"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric and exp(-gamma) coins, without floats.

Every sampler is a deterministic function of a stream of uniform bytes, after Canonne, Kamath & Steinke,
"The Discrete Gaussian for Differential Privacy" (2020), cited as [CKS20]; the loops are in `kernels`. All
arithmetic is int64. A sample that wants more bytes than `LIMIT` (an honest source makes one of 4 to 24 on
average) is an error, not a truncated value.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from contextvars import ContextVar
from fractions import Fraction
from numbers import Rational
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.noise.kernels import (
    GAUSSIAN,
    GEOMETRIC,
    LAPLACE,
    LIMIT,
    UNIFORM,
    WIDTH,
    draw_kernel,
    flip_kernel,
)
from hedgerow.errors import HedgerowError, RangeTooLarge

CHUNK = 1 << 18  # bytes asked of the source at a time: changes speed, never a sample
_GUESS = 16  # bytes a sample usually reads: changes speed, never a sample

_LAWS = ("uniform", "geometric", "laplace", "gaussian")


class Entropy(Protocol):
    """A source of uniform random bytes; `private` says whether its bytes are fit for a real release."""

    private: bool

    def bytes(self, n: int) -> builtins.bytes:
        """Return exactly n fresh bytes."""


class OSEntropy:
    """The operating system's entropy, the only source whose results are private.

    >>> len(OSEntropy().bytes(16))
    16
    """

    private = True

    def bytes(self, n: int) -> builtins.bytes:
        """Return n bytes of `os.urandom`."""
        return os.urandom(n)


os_entropy = OSEntropy()


def tell(entropy: Entropy, law: str, *about: Any) -> None:
    """Tell a source what its bytes became, if it has a method `told`: only an audit's own has."""
    told = getattr(entropy, "told", None)
    if told is not None:
        told(law, *about)


chosen_entropy: ContextVar[Entropy | None] = ContextVar("chosen_entropy", default=None)
"""Only `hedgerow.testing` sets it; its source says of itself that it is not private."""


def current_entropy() -> Entropy:
    """The operating system's entropy, unless a test chose its own."""
    return chosen_entropy.get() or os_entropy


def discrete_laplace(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers with P(z) proportional to exp(-|z| / scale).

    Args:
        scale: a/b in lattice steps, 1 <= a, b < 2**45.
        size: how many.
        entropy: where the bytes come from.

    >>> discrete_laplace(Fraction(7, 2), 3, os_entropy).dtype
    dtype('int64')
    """
    return _draw(LAPLACE, *_parts(scale), size, entropy)


def discrete_gaussian(sigma: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers with P(z) proportional to exp(-z**2 / (2 sigma**2)).

    Args:
        sigma: a/b in lattice steps, 1 <= a, b < 2**45 (the variance is at most sigma**2).
        size: how many.
        entropy: where the bytes come from.

    >>> discrete_gaussian(Fraction(100), 3, os_entropy).size
    3
    """
    return _draw(GAUSSIAN, *_parts(sigma), size, entropy)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers z >= 0 with P(z) proportional to exp(-z / scale).

    Args:
        scale: a/b in lattice steps, 1 <= a, b < 2**45.
        size: how many.
        entropy: where the bytes come from.

    >>> bool((geometric(Fraction(5), 10, os_entropy) >= 0).all())
    True
    """
    return _draw(GEOMETRIC, *_parts(scale), size, entropy)


def uniform_below(n: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers, uniform on 0, ..., n - 1.

    Args:
        n: the number of values, 1 <= n <= 2**62.
        size: how many.
        entropy: where the bytes come from.

    >>> uniform_below(1, 2, os_entropy)
    array([0, 0])
    """
    if not 1 <= n <= 1 << 62:
        raise RangeTooLarge(f"a uniform draw needs between 1 and 2**62 values, not {n}")
    return _draw(UNIFORM, int(n), 1, size, entropy)


def bernoulli_exp(gamma: Fraction, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Independent coins that are true with probability exp(-gamma).

    Args:
        gamma: p/q with 0 <= p and 1 <= q, both below 2**45.
        size: how many.
        entropy: where the bytes come from.

    >>> bernoulli_exp(Fraction(0), 2, os_entropy)
    array([ True,  True])
    """
    p, q = (0, 1) if gamma == 0 else _parts(gamma)
    return _flip(np.array([p], dtype=np.int64), q, size, entropy)


def bernoulli_exps(numerators: NDArray[np.int64], denominator: int, entropy: Entropy) -> NDArray[np.bool_]:
    """One coin for each numerator p, true with probability exp(-p / denominator).

    Args:
        numerators: integers from 0 to 2**62.
        denominator: q, 1 <= q < 2**45.
        entropy: where the bytes come from.

    >>> bernoulli_exps(np.array([0, 0]), 3, os_entropy)
    array([ True,  True])
    """
    if numerators.size and not 0 <= int(numerators.min()) <= int(numerators.max()) <= 1 << 62:
        raise RangeTooLarge("the exponents of coins must lie between 0 and 2**62 before division")
    _, q = _parts(Fraction(1, denominator))
    return _flip(np.ascontiguousarray(numerators, dtype=np.int64), q, numerators.size, entropy)


def _parts(scale: Fraction) -> tuple[int, int]:
    """Numerator and denominator of a scale that the 64-bit samplers can take."""
    if not isinstance(scale, Rational):
        raise TypeError("a noise scale is an exact fraction, never a float")
    a, b = int(scale.numerator), int(scale.denominator)
    if not (1 <= a < 1 << WIDTH and b < 1 << WIDTH):
        raise RangeTooLarge(f"a noise scale must be a fraction a/b with 1 <= a, b < 2**45, not {a}/{b}")
    return a, b


def _draw(kind: int, a: int, b: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Fill an array from one of the integer distributions."""
    out = np.empty(size, dtype=np.int64)
    bits = (a - 1).bit_length()
    _feed(lambda done, buf: draw_kernel(kind, a, b, bits, out, done, buf), size, entropy)
    tell(entropy, _LAWS[kind], Fraction(a, b), out)
    return out


def _flip(numerators: NDArray[np.int64], q: int, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Fill an array with coins; a single numerator serves all of them."""
    out = np.empty(size, dtype=np.bool_)
    _feed(lambda done, buf: flip_kernel(numerators, q, out, done, buf), size, entropy)
    return out


def _feed(kernel: Callable[[int, NDArray[np.uint8]], tuple[int, int]], size: int, entropy: Entropy) -> None:
    """Run a kernel over a growing stream: a starved sample starts again from its own first byte.

    Discarding those bytes instead would favour the values that need few of them.
    """
    done, tail = 0, b""
    while done < size:
        fresh = entropy.bytes(min(CHUNK, 64 + _GUESS * (size - done)))
        buf = np.frombuffer(tail + fresh, dtype=np.uint8)
        done, used = kernel(done, buf)
        tail = buf[used:].tobytes()
        if done < size and (len(tail) >= LIMIT or not fresh):
            raise HedgerowError(f"the entropy source is stuck: {len(tail)} bytes did not make one sample")
