"""Noise of a closer answer, given that of a weaker one: discrete Laplace laws are a chain.

Let p = exp(-1/b), q = exp(-1/c) for scales c < b, and r = q/p. If V has the discrete Laplace law of scale
c and W is 0 with probability r ((1-p)/(1-q))^2 and else of the law of scale b, independent of V, then V +
W has the law of scale b: their generating functions are the same. `refined_laplace` draws V given V + W =
s, exactly. For s >= 0 that law has four pieces, whose weights add up to 1 - q^2:

    v < 0            q (p - q)                 v = -1 - G, G geometric of ratio p q
    0 <= v <= s      (1 - p q) (1 - r^(s+1))   geometric of ratio r, cut off at s: G mod (s + 1)
    v > s            r^(s+1) p (p - q)         v = s + 1 + G, G geometric of ratio p q
    v = s            r^(s+1) (1 - p^2)

so the first piece has probability q/(1+q) (p-q)/(1-q), and of what is not in the first two the third has
p (p-q)/(1-p q). With X geometric of ratio r these are P(a geometric number of ratio q is odd) E[p^(X+1)]
and E[p^(2(X+1))]: coins of `noise`, no division, no float. For s < 0 everything is mirrored.

One over a scale is a sum of what each step of a chain added: 1/b = 1/d_0 + 1/d_1 + ... A geometric number
of ratio exp(-1/b) is the least of geometric numbers of the scales d_i, and a coin of exp(-n/b) shows true
if coins of all exp(-n/d_i) do: so no fraction is ever longer than those that `noise` takes.
docs/privacy/refining.md has the proof.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.noise.noise import Entropy, bernoulli_exps, geometric, tell
from hedgerow.errors import RangeTooLarge

Integers = NDArray[np.int64]


def refined_laplace(
    offsets: Integers, weaker: Sequence[Fraction], step: Fraction, entropy: Entropy
) -> Integers:
    """For each offset, which has a discrete Laplace law, one of a smaller scale given it.

    As many numbers are drawn whatever the offsets are.

    Args:
        offsets: the noise of the weaker answer.
        weaker: fractions whose inverses add up to the inverse of its scale, in lattice steps.
        step: its inverse is added to that.
        entropy: where the bytes come from.

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> refined_laplace(np.array([3, -40]), [Fraction(10)], Fraction(10), os_entropy).size
    2
    """
    parts, far, hushed = list(weaker), np.abs(offsets.ravel()), _Hushed(entropy)

    def steps() -> Integers:  # geometric of ratio r
        return geometric(step, far.size, hushed)

    beyond = np.minimum(_least(parts, far.size, hushed) // 2, steps())  # of ratio p^2, and r: of p q
    odd = np.minimum(_least(parts, far.size, hushed), steps()) % 2 == 1  # of ratio q
    opposite = odd & _coins(steps() + 1, parts, hushed)
    inside = steps() % (far + 1)
    stays = _coins(far + 1, [step], hushed)
    outside = _coins(2 * (steps() + 1), parts, hushed)
    drawn = np.where(outside, far + 1 + beyond, far)
    drawn = np.where(opposite, -1 - beyond, np.where(stays, drawn, inside))
    drawn = np.where(offsets.ravel() < 0, -drawn, drawn)
    tell(entropy, "refined_laplace", tuple(parts), step, offsets.ravel(), drawn)
    return drawn.reshape(offsets.shape)


def _least(scales: Sequence[Fraction], size: int, entropy: Entropy) -> Integers:
    """Geometric numbers whose scale is one over the sum of the inverses."""
    return reduce(np.minimum, [geometric(scale, size, entropy) for scale in scales])


def _coins(numbers: Integers, scales: Sequence[Fraction], entropy: Entropy) -> NDArray[np.bool_]:
    """Coins that are true with probability exp(-number / scale), for all scales at once."""
    found = np.ones(numbers.size, dtype=np.bool_)
    for scale in scales:
        if int(numbers.max(initial=0)) * scale.denominator > 1 << 62:
            raise RangeTooLarge("noise that happens in no lifetime cannot be refined: ask anew")
        found &= bernoulli_exps(numbers * scale.denominator, scale.numerator, entropy)
    return found


class _Hushed:
    """The same bytes, for draws that are parts of one."""

    def __init__(self, entropy: Entropy) -> None:
        self.private, self._entropy = entropy.private, entropy

    def bytes(self, n: int) -> builtins.bytes:
        return self._entropy.bytes(n)
