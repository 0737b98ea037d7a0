"""The compiled samplers: from a stream of uniform bytes to integers and coins, in 64-bit arithmetic alone.

The algorithms are those of [CKS20]. The limits that keep the arithmetic from overflowing, used in the
comments below:
    a, b < 2**45       numerator and denominator of a scale (`WIDTH`, checked on entry)
    bytes <= 2**17     what one sample may read (`LIMIT`, checked while sampling)
Each pass of each loop reads at least one byte, so no loop counter of one sample passes 2**17.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.compiled import njit

LIMIT = 1 << 17  # bytes one sample may read; frozen into the compiled kernels
WIDTH = 45  # bits of a scale's numerator and denominator

UNIFORM, GEOMETRIC, LAPLACE, GAUSSIAN = 0, 1, 2, 3

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


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
def draw_kernel(
    kind: int, a: int, b: int, bits: int, out: NDArray[np.int64], done: int, buf: NDArray[np.uint8]
) -> tuple[int, int]:
    """Fill out[done:] as far as the bytes reach; return the next index and that sample's first byte."""
    pos = 0
    for i in range(done, out.size):
        end = min(buf.size, pos + LIMIT)
        if kind == UNIFORM:
            z, after = _uniform(a, bits, buf, pos, end)
            ok = z
        elif kind == GEOMETRIC:
            z, after = _one_sided(a, b, bits, buf, pos, end)
            ok = z
        elif kind == LAPLACE:
            ok, z, after = _two_sided(a, b, bits, buf, pos, end)
        else:
            ok, z, after = _gaussian(a, b, bits, buf, pos, end)
        if ok < 0:
            return i, pos
        out[i] = z
        pos = after
    return out.size, pos


@_compile
def flip_kernel(
    numerators: NDArray[np.int64], q: int, out: NDArray[np.bool_], done: int, buf: NDArray[np.uint8]
) -> tuple[int, int]:
    """Fill out[done:] with coins exp(-numerator/q) as far as the bytes reach, like `draw_kernel`."""
    pos = 0
    stride = 0 if numerators.size == 1 else 1
    for i in range(done, out.size):
        hit, after = _exp(numerators[i * stride], q, buf, pos, min(buf.size, pos + LIMIT))
        if hit < 0:
            return i, pos
        out[i] = hit == 1
        pos = after
    return out.size, pos
