"""The noise samplers draw from exactly the distributions they name.

Every statistical test here has false-alarm probability 1e-6 (stated once, as ALARM) and is never retried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from scipy import stats

from hedgerow.curator.noise import kernels, noise
from hedgerow.errors import HedgerowError, RangeTooLarge

ALARM = 1e-6
SIZE = 1_000_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(10**4)]
WIDE = [  # corners of the range of scales, where 64 bits would be too few if the limits were wrong
    Fraction(2**45 - 1),
    Fraction(1, 2**45 - 1),
    Fraction(2**45 - 1, 2**44 + 1),
    Fraction(2**44 + 1, 2**45 - 1),
    Fraction(2**45 - 2, 3),
]
SAMPLERS = {
    "laplace": noise.discrete_laplace,
    "gaussian": noise.discrete_gaussian,
    "geometric": noise.geometric,
}


class Stream:
    """A reproducible stream of bytes for tests; not private."""

    private = False

    def __init__(self, seed: int, size: int = 1 << 21) -> None:
        self._bytes = hashlib.shake_256(seed.to_bytes(8, "big")).digest(size)
        self._next = 0

    def bytes(self, n: int) -> bytes:
        self._next += n
        assert self._next <= len(self._bytes)
        return self._bytes[self._next - n : self._next]


def weight(kind: str, scale: float, z: np.ndarray) -> np.ndarray:
    """The exact mass function, up to its constant."""
    x = z / scale
    if kind == "gaussian":
        return np.exp(-x * x / 2)
    return np.where((z < 0) & (kind == "geometric"), 0.0, np.exp(-np.abs(x)))


def cells(kind: str, scale: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Right ends (inclusive) and exact masses of cells that each expect at least 100 of SIZE samples."""
    reach = int(40 * scale) + 40
    z = np.arange(-reach, reach + 1)
    mass = weight(kind, float(scale), z)
    mass = (mass / mass.sum()).tolist()
    least = 100 / SIZE if scale <= 10 else 1 / 400
    ends, masses, held = [], [], 0.0
    for end, m in zip(z.tolist(), mass, strict=True):
        held += m
        if held >= least:
            ends.append(end)
            masses.append(held)
            held = 0.0
    masses[-1] += held
    ends[-1] = np.iinfo(np.int64).max
    return np.array(ends), np.array(masses)


def p_value(sample: np.ndarray, kind: str, scale: Fraction) -> float:
    """Chi-square p-value of a sample against the exact mass function at a scale."""
    ends, masses = cells(kind, scale)
    seen = np.bincount(np.searchsorted(ends, sample), minlength=ends.size)
    return float(stats.chisquare(seen, masses * sample.size).pvalue)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_true_scale_is_accepted_and_three_per_cent_less_or_more_is_rejected(
    kind: str, scale: Fraction
) -> None:
    sample = SAMPLERS[kind](scale, SIZE, noise.os_entropy)
    assert p_value(sample, kind, scale) > ALARM
    # 3% shifts the statistic by 420 to 1980: in every case the chance of missing it is below 1e-39.
    assert p_value(sample, kind, scale * Fraction(97, 100)) < ALARM
    assert p_value(sample, kind, scale * Fraction(103, 100)) < ALARM


@pytest.mark.parametrize("scale", [Fraction(2**45 - 1, 2**44 + 1), Fraction(2**44 + 1, 2**45 - 1)], ids=str)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_scales_with_large_parts_have_the_exact_distribution(kind: str, scale: Fraction) -> None:
    assert p_value(SAMPLERS[kind](scale, SIZE, noise.os_entropy), kind, scale) > ALARM


@pytest.mark.parametrize("kind", SAMPLERS)
def test_huge_scales_match_the_continuous_shape_and_have_uniform_low_bits(kind: str) -> None:
    """At scale 2**40 lattice and continuum differ by less than 2**-40, far below what SIZE samples see."""
    sample = SAMPLERS[kind](Fraction(2**40), SIZE, noise.os_entropy)
    shape = {"laplace": stats.laplace, "gaussian": stats.norm, "geometric": stats.expon}[kind]
    edges = shape.ppf(np.linspace(0, 1, 201)[1:-1]) * 2.0**40
    seen = np.bincount(np.searchsorted(edges, sample), minlength=200)
    assert stats.chisquare(seen).pvalue > ALARM / 2
    assert stats.chisquare(np.bincount(sample & 255, minlength=256)).pvalue > ALARM / 2


@pytest.mark.parametrize("kind", SAMPLERS)
def test_huge_scales_have_the_right_moments(kind: str) -> None:
    z = SAMPLERS[kind](Fraction(2**40), SIZE, noise.os_entropy) / 2.0**40
    mean, square, fourth = {"laplace": (0, 2, 24), "gaussian": (0, 1, 3), "geometric": (1, 2, 24)}[kind]
    bar = stats.norm.isf(ALARM / 4)  # two two-sided tests
    assert abs(z.mean() - mean) < bar * np.sqrt((square - mean**2) / SIZE)
    assert abs((z**2).mean() - square) < bar * np.sqrt((fourth - square**2) / SIZE)


def test_successive_samples_are_independent() -> None:
    z = np.clip(noise.discrete_laplace(Fraction(1), SIZE, noise.os_entropy), -2, 2) + 2
    table = np.bincount(5 * z[:-1] + z[1:], minlength=25).reshape(5, 5)
    assert stats.chi2_contingency(table).pvalue > ALARM


@pytest.mark.parametrize("gamma", ["0", "1/1000", "1/3", "1/2", "1", "5/2", "8", "1/35184372088831"])
def test_exponential_coins_have_the_exact_probability(gamma: str) -> None:
    heads = int(noise.bernoulli_exp(Fraction(gamma), SIZE, noise.os_entropy).sum())
    assert stats.binomtest(heads, SIZE, float(np.exp(-float(Fraction(gamma))))).pvalue > ALARM


def test_each_coin_of_an_array_has_its_own_probability() -> None:
    numerators = np.tile(np.array([0, 3, 7, 20, 2**62]), 200_000)
    heads = noise.bernoulli_exps(numerators, 7, noise.os_entropy).reshape(-1, 5).sum(axis=0)
    assert heads[0] == 200_000
    assert heads[4] == 0
    for k, p in ((1, 3), (2, 7), (3, 20)):
        assert stats.binomtest(int(heads[k]), 200_000, float(np.exp(-p / 7))).pvalue > ALARM / 3


@pytest.mark.parametrize("n", [2, 3, 7, 255, 256, 257])
def test_uniform_draws_are_uniform(n: int) -> None:
    seen = np.bincount(noise.uniform_below(n, SIZE, noise.os_entropy), minlength=n)
    assert seen.size == n
    assert stats.chisquare(seen).pvalue > ALARM


def test_uniform_draws_reach_all_of_a_wide_range() -> None:
    n = 3 * 2**60 + 1
    seen = np.bincount(noise.uniform_below(n, SIZE, noise.os_entropy) // (n // 300 + 1), minlength=300)
    assert stats.chisquare(seen).pvalue > ALARM


@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 1), (1, 2), (1, 3), (255, 256), (2**53, 2**54 - 1)])
def test_a_rational_coin_agrees_with_every_two_byte_prefix(p: int, q: int) -> None:
    """Of all 65536 prefixes exactly floor(65536 p/q) decide for heads, and at most one is undecided."""
    hits = [kernels._ratio(p, q, np.array([i >> 8, i & 255], dtype=np.uint8), 0, 2)[0] for i in range(65536)]
    assert hits.count(1) == min(65536 * p // q, 65536)
    assert hits.count(-1) <= 1


# --- the same algorithm in unbounded rational arithmetic, byte for byte ---------------------------------


class Reference:
    """The samplers written with Fractions: slow, and unable to overflow."""

    def __init__(self, stream: Stream) -> None:
        self.read: Iterator[int] = (stream.bytes(1)[0] for _ in count())

    def coin(self, x: Fraction) -> bool:
        while True:
            x *= 256
            byte, digit = next(self.read), int(x)
            if byte != digit:
                return byte < digit
            x -= digit

    def series(self, coin: Callable[[int], bool], k: int = 1) -> bool:
        while coin(k):
            k += 1
        return k % 2 == 1

    def exp(self, x: Fraction) -> bool:
        whole = int(x)
        if not all(self.series(lambda k: self.coin(Fraction(1, k)), 2) for _ in range(whole)):
            return False
        return self.series(lambda k: self.coin((x - whole) / k))

    def geometric(self, s: Fraction) -> int:
        a = s.numerator
        bits = (a - 1).bit_length()
        while True:
            u = a
            while u >= a:
                u = int.from_bytes([next(self.read) for _ in range((bits + 7) // 8)], "big") % 2**bits
            if self.exp(Fraction(u, a)):
                break
        v = 0
        while self.series(lambda k: self.coin(Fraction(1, k)), 2):
            v += 1
        return (u + a * v) // s.denominator

    def laplace(self, s: Fraction) -> int:
        while True:
            y = self.geometric(s)
            if next(self.read) % 2 == 0:
                return y
            if y:
                return -y

    def gaussian(self, s: Fraction) -> int:
        while True:
            z = self.laplace(s)
            x = abs(abs(z) / s - 1)
            i, f = int(x), x - int(x)
            ok = self.series(lambda k, f=f: self.coin(Fraction(1, 2 * k)) and self.coin(f) and self.coin(f))
            if i:
                ok = ok and self.exp(Fraction(i * i, 2)) and all(self.exp(f) for _ in range(i))
            if ok:
                return z


@pytest.mark.parametrize("scale", SCALES + WIDE, ids=str)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_64_bit_samples_equal_unbounded_rational_arithmetic(kind: str, scale: Fraction) -> None:
    fast = SAMPLERS[kind](scale, 2000, Stream(11))
    reference = Reference(Stream(11))
    assert fast.tolist() == [getattr(reference, kind)(scale) for _ in range(2000)]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 61])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_running_out_of_bytes_inside_a_sample_changes_nothing(
    kind: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(size: int) -> list[int]:
        monkeypatch.setattr(noise, "CHUNK", size)
        return [
            *SAMPLERS[kind](Fraction(1234, 7), 2000, Stream(1)).tolist(),
            *SAMPLERS[kind](Fraction(2**40), 2000, Stream(2)).tolist(),
            *noise.uniform_below(1000, 2000, Stream(3)).tolist(),
            *noise.bernoulli_exp(Fraction(7, 5), 2000, Stream(4)).tolist(),
        ]

    assert draw(chunk) == draw(1 << 20)


@pytest.mark.parametrize("byte", [0, 255])
def test_a_stuck_entropy_source_is_an_error_and_not_an_endless_loop(byte: int) -> None:
    class Stuck:
        private = False

        def bytes(self, n: int) -> bytes:
            return bytes([byte]) * n

    with pytest.raises(HedgerowError, match="stuck"):
        noise.discrete_laplace(Fraction(1000), 1, Stuck())


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**45), Fraction(1, 2**45)], ids=str)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_scales_outside_the_range_are_refused(kind: str, scale: Fraction) -> None:
    with pytest.raises(RangeTooLarge, match="must be a fraction a/b"):
        SAMPLERS[kind](scale, 1, noise.os_entropy)


@pytest.mark.parametrize("kind", SAMPLERS)
def test_float_scales_are_refused_and_empty_draws_are_allowed(kind: str) -> None:
    with pytest.raises(TypeError, match="never a float"):
        SAMPLERS[kind](0.5, 1, noise.os_entropy)
    assert SAMPLERS[kind](Fraction(1), 0, noise.os_entropy).shape == (0,)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_samples_and_those_of_opendp_come_from_one_distribution(kind: str) -> None:
    dp = pytest.importorskip("opendp.prelude", reason="OpenDP is missing: pip install hedgerow[peers]")
    dp.enable_features("contrib")
    size = 200_000
    norm = dp.l1_distance(T="i64") if kind == "laplace" else dp.l2_distance(T=float)
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    theirs = np.array(make(dp.vector_domain(dp.atom_domain(T="i64")), norm, scale=10.0)([0] * size))
    ours = SAMPLERS[kind](Fraction(10), size, noise.os_entropy)
    counts = [np.bincount(np.clip(z, -35, 35) + 35, minlength=71) for z in (ours, theirs)]
    table = np.array(counts)
    table = table[:, table.sum(axis=0) >= 20]
    assert stats.chi2_contingency(table).pvalue > ALARM
