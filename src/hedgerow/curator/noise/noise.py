"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric and exp(-gamma) coins, without floats.

Every sampler is a deterministic function of a stream of uniform bytes, after Canonne, Kamath & Steinke,
"The Discrete Gaussian for Differential Privacy" (2020), cited as [CKS20]. All arithmetic is int64. The limits
that keep it from overflowing, used in the comments below:
    a, b < 2**45       numerator and denominator of a scale (`_WIDTH`, checked on entry)
    bytes <= 2**17     what one sample may read (`LIMIT`, checked while sampling)
Each pass of each loop reads at least one byte, so no loop counter of one sample passes 2**17. A sample that
wants more (an honest source makes one of 4 to 24 on average) is an error, not a truncated
value.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from contextvars import ContextVar
from fractions import Fraction
from numbers import Rational
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.compiled import njit
from hedgerow.errors import HedgerowError, RangeTooLarge

LIMIT = 1 << 17  # bytes one sample may read; frozen into the compiled kernels
CHUNK = 1 << 18  # bytes asked of the source at a time: changes speed, never a sample
_GUESS = 16  # bytes a sample usually reads: changes speed, never a sample
_WIDTH = 45  # bits of a scale's numerator and denominator

_UNIFORM, _GEOMETRIC, _LAPLACE, _GAUSSIAN = 0, 1, 2, 3
_LAWS = ("uniform", "geometric", "laplace", "gaussian")

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


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
    return _draw(_LAPLACE, *_parts(scale), size, entropy)


def discrete_gaussian(sigma: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers with P(z) proportional to exp(-z**2 / (2 sigma**2)).

    Args:
        sigma: a/b in lattice steps, 1 <= a, b < 2**45 (the variance is at most sigma**2).
        size: how many.
        entropy: where the bytes come from.

    >>> discrete_gaussian(Fraction(100), 3, os_entropy).size
    3
    """
    return _draw(_GAUSSIAN, *_parts(sigma), size, entropy)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Independent integers z >= 0 with P(z) proportional to exp(-z / scale).

    Args:
        scale: a/b in lattice steps, 1 <= a, b < 2**45.
        size: how many.
        entropy: where the bytes come from.

    >>> bool((geometric(Fraction(5), 10, os_entropy) >= 0).all())
    True
    """
    return _draw(_GEOMETRIC, *_parts(scale), size, entropy)


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
    return _draw(_UNIFORM, int(n), 1, size, entropy)


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
    if not (1 <= a < 1 << _WIDTH and b < 1 << _WIDTH):
        raise RangeTooLarge(f"a noise scale must be a fraction a/b with 1 <= a, b < 2**45, not {a}/{b}")
    return a, b


def _draw(kind: int, a: int, b: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Fill an array from one of the integer distributions."""
    out = np.empty(size, dtype=np.int64)
    bits = (a - 1).bit_length()
    _feed(lambda done, buf: _draw_kernel(kind, a, b, bits, out, done, buf), size, entropy)
    tell(entropy, _LAWS[kind], Fraction(a, b), out)
    return out


def _flip(numerators: NDArray[np.int64], q: int, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Fill an array with coins; a single numerator serves all of them."""
    out = np.empty(size, dtype=np.bool_)
    _feed(lambda done, buf: _flip_kernel(numerators, q, out, done, buf), size, entropy)
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


def _compile(function: Compiled) -> Compiled:
    """numba's nopython compilation, cached on disk, typed as the function itself."""
    compiled: Compiled = njit(cache=True)(function)
    return compiled


# Below, every function reads buf[pos:end] and returns (value, next pos); the value -1 means "starved".


@_compile
def _ratio(p: int, q: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A coin of probability p/q, 0 <= p <= q < 2**54: is a uniform number, byte by byte, below p/q?"""
    # Invariant: 0 <= rem <= q and rem/q is what is left of p/q in units of the last byte compared.
    # With digit = floor(256 rem / q): byte < digit iff the new rem >= q, byte > digit iff it is < 0.
    # |256 rem - byte q| <= 256 q < 2**62.
    rem = p
    while pos < end:
        rem = (rem << 8) - np.int64(buf[pos]) * q  # type: ignore[assignment]
        pos += 1
        if rem >= q:
            return 1, pos
        if rem < 0:
            return 0, pos
    return -1, pos


@_compile
def _exp_unit(r: int, a: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A coin of probability exp(-r/a), 0 <= r <= a < 2**45, by the alternating series of [CKS20] Alg. 1."""
    # K = first failure of coins r/(aK), K = 1, 2, ...; P(K odd) = exp(-r/a). The coin r/(aK) is one coin
    # while aK < 2**45 * 2**9 = 2**54, and the two coins r/a and 1/K (K < 2**17 bytes) after that.
    k = 1
    while True:
        if k < 512:
            hit, pos = _ratio(r, a * k, buf, pos, end)
        else:
            hit, pos = _ratio(r, a, buf, pos, end)
            if hit == 1:
                hit, pos = _ratio(1, k, buf, pos, end)
        if hit < 0:
            return -1, pos
        if hit == 0:
            return k & 1, pos
        k += 1


@_compile
def _exp_half_square(r: int, a: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A coin of probability exp(-(r/a)**2 / 2), 0 <= r < a < 2**45, by the same series."""
    # (r/a)**2 / (2K) is the product of the coins r/a, r/a and 1/(2K): nothing is squared.
    k = 1
    while True:
        hit, pos = _ratio(1, 2 * k, buf, pos, end)
        for _ in range(2):
            if hit == 1:
                hit, pos = _ratio(r, a, buf, pos, end)
        if hit < 0:
            return -1, pos
        if hit == 0:
            return k & 1, pos
        k += 1


@_compile
def _exp_whole(n: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A coin of probability exp(-n), n >= 0: n coins exp(-1), ended by the first failure."""
    while n > 0:
        k = 2  # the first coin of the series, 1/1, is always true
        hit = 1
        while hit == 1:
            hit, pos = _ratio(1, k, buf, pos, end)
            k += hit
        if hit < 0 or k & 1 == 0:
            return hit, pos
        n -= 1
    return 1, pos


@_compile
def _exp(p: int, q: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A coin of probability exp(-p/q), 0 <= p <= 2**62, q < 2**45: whole part, then fraction."""
    hit, pos = _exp_whole(p // q, buf, pos, end)
    if hit == 1:
        hit, pos = _exp_unit(p % q, q, buf, pos, end)
    return hit, pos


@_compile
def _uniform(n: int, bits: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """A uniform integer below n <= 2**bits <= 2**62: whole bytes, spare bits masked, too large rejected."""
    size = (bits + 7) >> 3
    mask = (1 << bits) - 1
    while pos + size <= end:
        word = 0
        for i in range(size):
            # An eighth byte may shift bits past 2**63; the mask removes them.
            word = (word << 8) | np.int64(buf[pos + i])  # type: ignore[assignment]
        pos += size
        word &= mask
        if word < n:
            return word, pos
    return -1, pos


@_compile
def _one_sided(a: int, b: int, bits: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """z >= 0 with P(z) proportional to exp(-z b/a): [CKS20] Alg. 2 up to the sign."""
    while True:
        u, pos = _uniform(a, bits, buf, pos, end)
        if u < 0:
            return -1, pos
        hit, pos = _exp_unit(u, a, buf, pos, end)
        if hit < 0:
            return -1, pos
        if hit == 1:
            break
    v = 0
    hit, pos = _exp_whole(1, buf, pos, end)
    while hit == 1:
        v += 1
        hit, pos = _exp_whole(1, buf, pos, end)
    if hit < 0:
        return -1, pos
    # P(x) is proportional to exp(-x/a) for x = u + a v < 2**45 (v + 1) <= 2**62, as v < 2**17 bytes.
    return (u + a * v) // b, pos


@_compile
def _two_sided(a: int, b: int, bits: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int, int]:
    """(ok, z, pos) with P(z) proportional to exp(-|z| b/a); z has both signs, so ok = -1 means starved."""
    while True:
        y, pos = _one_sided(a, b, bits, buf, pos, end)
        if y < 0 or pos >= end:
            return -1, 0, pos
        negative = buf[pos] & 1
        pos += 1
        if negative == 0:
            return 1, y, pos
        if y > 0:  # "minus zero" is rejected, else zero would come twice as often as it should
            return 1, -y, pos


@_compile
def _gaussian(a: int, b: int, bits: int, buf: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int, int]:
    """(ok, z, pos) with P(z) proportional to exp(-(z b/a)**2 / 2), by rejection from Laplace of scale a/b."""
    # [CKS20] Alg. 3 with t = sigma: exp(-|z|/sigma) exp(-x**2/2) e**(1/2) = exp(-z**2/(2 sigma**2)) for
    # x = | |z| b - a | / a = i + r/a, and exp(-x**2/2) = exp(-i**2/2) exp(-i r/a) exp(-(r/a)**2/2).
    # |z| b <= u + a v < 2**62 because z came from a division by b; so i <= v + 1 <= 2**17, i**2 < 2**35.
    while True:
        ok, z, pos = _two_sided(a, b, bits, buf, pos, end)
        if ok < 0:
            return -1, 0, pos
        distance = abs(abs(z) * b - a)
        i = distance // a
        r = distance - i * a
        hit, pos = _exp_half_square(r, a, buf, pos, end)
        if i > 0:
            if hit == 1:
                hit, pos = _exp(i * i, 2, buf, pos, end)
            while hit == 1 and i > 0:
                hit, pos = _exp_unit(r, a, buf, pos, end)
                i -= 1
        if hit < 0:
            return -1, 0, pos
        if hit == 1:
            return 1, z, pos


@_compile
def _draw_kernel(
    kind: int, a: int, b: int, bits: int, out: NDArray[np.int64], done: int, buf: NDArray[np.uint8]
) -> tuple[int, int]:
    """Fill out[done:] as far as the bytes reach; return the next index and that sample's first byte."""
    pos = 0
    for i in range(done, out.size):
        end = min(buf.size, pos + LIMIT)
        if kind == _UNIFORM:
            z, after = _uniform(a, bits, buf, pos, end)
            ok = z
        elif kind == _GEOMETRIC:
            z, after = _one_sided(a, b, bits, buf, pos, end)
            ok = z
        elif kind == _LAPLACE:
            ok, z, after = _two_sided(a, b, bits, buf, pos, end)
        else:
            ok, z, after = _gaussian(a, b, bits, buf, pos, end)
        if ok < 0:
            return i, pos
        out[i] = z
        pos = after
    return out.size, pos


@_compile
def _flip_kernel(
    numerators: NDArray[np.int64], q: int, out: NDArray[np.bool_], done: int, buf: NDArray[np.uint8]
) -> tuple[int, int]:
    """Fill out[done:] with coins exp(-numerator/q) as far as the bytes reach, like `_draw_kernel`."""
    pos = 0
    stride = 0 if numerators.size == 1 else 1
    for i in range(done, out.size):
        hit, after = _exp(numerators[i * stride], q, buf, pos, min(buf.size, pos + LIMIT))
        if hit < 0:
            return i, pos
        out[i] = hit == 1
        pos = after
    return out.size, pos
