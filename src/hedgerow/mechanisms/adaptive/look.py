"""Look: a first and cheap look at how far pairs are from independent, before the price is divided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import hypot, pi
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.nonnegative import cut
from hedgerow.mechanisms.adaptive.chains import Chains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.consistency import Target
    from hedgerow.mechanisms.adaptive.run import Run

    Floats = NDArray[np.float64]

NOTE = "how far pairs are from independent"
LEFT_OUT = "how far pairs that would be left out are from independent"
JOINED = "how far every two attributes are from independent"
AIM, EACH = 0.004, 0.05  # of all rows: the noise wanted of the mean distance, and of each
LEAST, DEAREST = 0.001, 0.03  # of the price: what a look may cost
BLIND = 0.1  # of all rows: where the mean would be noisier, nothing is looked at
CELLS = 1 << 24  # nor where pairs have more cells than this
USUAL, SPREAD = 0.15, 0.1  # what is expected of the mean distance before looking, and how surely
HALF = 0.6  # of it: expected errors well below it, where measuring all is better than choosing
EVEN, VERY_EVEN = 0.5, 0.85  # from here on dependence is spread over pairs; there it is in all of them
FAITH = 0.15  # how far the expected effect of the one-way tables' noise may be off
RARE = 0.3  # of its noise: what an empty level may be off
NOISY = 0.3  # expected errors above this are never worth measuring all
NEAR, DEAR = 0.01, 0.01  # of all rows: the noise wanted of each where chains are looked for; of the price
CLEAR = 3.0  # times its noise: a distance so far beyond what is usual is not by chance
HEARD = 0.3  # the most that noise may be of the squared distances for that to be told


@dataclass(frozen=True, eq=False)
class Look:
    """What is known of pairs of attributes before any is measured, as parts of all rows.

    Args:
        beyond: the mean L1 distance of pairs to independence, beyond what chance and noise make.
        chance: the distance that rows of independent attributes have by chance, on average.
        blur: what noise of the one-way tables alone does to the product of two of them.
        evenness: (mean)^2 / (mean square) of distances over pairs: 1 where all pairs are as dependent. 0 if
            that cannot be told.
    """

    beyond: float
    chance: float
    blur: float
    evenness: float

    def limit(self, usual: float, wide: int) -> float:
        """The expected error up to which all of the workload is measured.

        Where every two attributes are about as dependent (rankings, items of one scale), no small tree holds
        them and choosing has nothing to go by: then measuring all wins as soon as its error is well below
        what there is to learn. Between, the limit grows evenly in its logarithm.

        Args:
            usual: the limit where dependence is in a few pairs.
            wide: the most attributes of a table.
        """
        apart = self.chance + max(self.beyond, 0.0)
        even = max(self.evenness, self.chance / apart)  # chance is in all pairs alike
        part = float(np.clip((even - EVEN) / (VERY_EVEN - EVEN), 0.0, 1.0))
        most = max(usual, min(HALF * (wide - 1) * apart, NOISY))
        return float(usual ** (1.0 - part) * most**part)


def look(run: Run, ones: Mapping[str, Target], tables: Mapping[Names, float]) -> Look:
    """Measure how far pairs are from the product of their released one-way tables.

    Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.

    Args:
        run: whose price pays for it.
        ones: one-way tables, as released.
        tables: the workload's tables, whose pairs are looked at.
    """
    pairs, n = pairs_of(tables), run.total
    laws, noise = _laws(ones, n)
    chance = np.array([_by_chance(n, laws[a], laws[b]) for a, b in pairs])
    blur = np.array([_blurred(laws[a], laws[b], noise[a], noise[b]) for a, b in pairs])
    moved = float(run.curator.privacy.sensitivity(TableDistances(tuple(pairs), ()).norms).l2_squared)
    whole = (moved / (2.0 * float(run.price.amount))) ** 0.5 / n  # the noise of each for the whole price
    part = max((whole / EACH) ** 2, (whole / AIM) ** 2 / len(pairs), LEAST)
    each = whole / min(part, DEAREST) ** 0.5
    doubt = each / len(pairs) ** 0.5
    if doubt > BLIND or sum(map(run.domain.cells, pairs)) > CELLS:
        return Look(USUAL, float(chance.mean()), float(blur.mean()), 0.0)
    asked = _to_products(n, laws, pairs)
    price = run.price.share(Fraction(min(part, DEAREST)).limit_denominator(10_000))
    found = run.glance(asked, price, NOTE)[0] / n
    squared = found**2 - blur**2  # errors of margins and dependence add up as squares
    apart = np.sqrt(np.maximum(squared, 0.0))
    mean = _believed(float(squared.mean()) * _shape(apart) ** 2, chance, blur, found, doubt) ** 0.5
    beyond = mean - float(chance.mean())
    squares = float((apart**2).mean())
    evenness = float(apart.mean()) ** 2 / (squares - each**2) if each**2 < HEARD * squares else 0.0
    return Look(beyond, float(chance.mean()), float(blur.mean()), min(evenness, 1.0))


def standing_out(run: Run, ones: Mapping[str, Target], pairs: Sequence[Names]) -> dict[Names, float]:
    """How far some pairs are from independent, as parts of all rows: those of which that is clear.

    Nothing is looked at where noise would hide it, or where little is left to measure them with.

    Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.

    Args:
        run: whose price pays for it.
        ones: one-way tables, as released.
        pairs: those that would not be measured, in the domain's order; at least one.
    """
    n, (laws, noise) = run.total, _laws(ones, run.total)
    moved = float(run.curator.privacy.sensitivity(TableDistances(tuple(pairs), ()).norms).l2_squared)
    part = moved / (2.0 * float(run.price.amount)) / (n * EACH) ** 2
    if part > DEAREST or sum(map(run.domain.cells, pairs)) > CELLS:
        return {}
    price = run.price.share(Fraction(max(part, LEAST)).limit_denominator(10_000))
    if 2 * price.amount > run.left.amount:
        return {}
    asked = _to_products(n, laws, pairs)
    found, sigma = run.glance(asked, price, LEFT_OUT)
    out: dict[Names, float] = {}
    for (a, b), distance in zip(pairs, (found / n).tolist(), strict=True):
        usual = float(
            np.hypot(_by_chance(n, laws[a], laws[b]), _blurred(laws[a], laws[b], noise[a], noise[b]))
        )
        if distance > (1.0 + FAITH) * usual + CLEAR * sigma / n:
            out[a, b] = float((distance**2 - usual**2) ** 0.5)
    return out


def joined(run: Run, ones: Mapping[str, Target], pairs: Sequence[Names]) -> Chains | None:
    """What joins attributes, by how far every two are from independent; None where that is not looked at.

    Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.

    Args:
        run: whose price pays for it.
        ones: one-way tables, as released.
        pairs: all of some attributes, in the domain's order.
    """
    n, (laws, noise) = run.total, _laws(ones, run.total)
    moved = float(run.curator.privacy.sensitivity(TableDistances(tuple(pairs), ()).norms).l2_squared)
    part = moved / (2.0 * float(run.price.amount)) / (n * NEAR) ** 2
    price = run.price.share(Fraction(min(max(part, 2.0 * LEAST), DEAR)).limit_denominator(10_000))
    if 2 * price.amount > run.left.amount or sum(map(run.domain.cells, pairs)) > CELLS:
        return None
    found = run.glance(_to_products(n, laws, pairs), price, JOINED)[0] / n
    usual = [
        _by_chance(n, laws[a], laws[b]) ** 2 + _blurred(laws[a], laws[b], noise[a], noise[b]) ** 2
        for a, b in pairs
    ]
    apart = np.sqrt(np.maximum(found * np.abs(found) - np.array(usual), 0.0))
    return Chains.of(dict(zip(pairs, apart.tolist(), strict=True)))


def pairs_of(tables: Iterable[Names]) -> list[Names]:
    """All pairs inside some tables."""
    return list(dict.fromkeys(p for t in tables for p in combinations(t, 2)))


def blur_of(ones: Mapping[str, Target], pairs: Sequence[Names], total: float) -> float:
    """What noise of one-way tables does to the products of two, as a part of all rows, on average."""
    laws, noise = _laws(ones, total)
    return float(np.mean([_blurred(laws[a], laws[b], noise[a], noise[b]) for a, b in pairs]))


def _to_products(n: float, laws: Mapping[str, Floats], pairs: Sequence[Names]) -> TableDistances:
    """The distances of pairs to what they were if attributes were independent."""
    return TableDistances(tuple(pairs), tuple(n * np.multiply.outer(laws[a], laws[b]) for a, b in pairs))


def _laws(ones: Mapping[str, Target], total: float) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Released one-way distributions, and how far off each level is: a rare one no more than it is rare."""
    laws = {a: cut(t.counts) for a, t in ones.items()}
    laws = {a: p / max(float(p.sum()), 1e-9) for a, p in laws.items()}
    sigma = {a: t.sigma / total for a, t in ones.items()}
    return laws, {a: np.minimum(sigma[a], p + RARE * sigma[a]) for a, p in laws.items()}


def _believed(squared: float, chance: Floats, blur: Floats, found: Floats, doubt: float) -> float:
    """The squared mean distance, drawn to what is usual by how unsure it is.

    It is unsure by the noise of the look, and by how well the effect of the one-way tables' noise is known.
    Squares may come out negative, and are not cut off before they are weighed: that would raise small ones.
    """
    usual = (float(chance.mean()) + USUAL) ** 2
    unsure = hypot(2.0 * float(found.mean()) * doubt, 2.0 * FAITH * float((blur**2).mean()))
    sure, before = 1.0 / unsure**2, 1.0 / (2.0 * SPREAD * USUAL) ** 2
    return max((sure * squared + before * usual) / (sure + before), 0.0)


def _shape(apart: Floats) -> float:
    """The mean of distances in units of their root mean square."""
    return float(apart.mean() / max(float(np.sqrt((apart**2).mean())), 1e-12))


def _by_chance(n: float, p: Floats, q: Floats) -> float:
    """The expected distance of n rows of independent attributes to the product of their margins.

    A cell of mean m is Poisson: its mean distance to m is 2 m e^-m for m < 1, and sqrt(2 m / pi) for large m.
    Rows are compared with their own margins, which takes off degrees of freedom.
    """
    m = n * np.multiply.outer(p, q)
    small = np.minimum(m, 1.0)
    each = np.where(m < 1.0, 2.0 * small * np.exp(-small), np.sqrt(2.0 * m / pi))
    free = (p.size - 1) * (q.size - 1) / m.size
    return float(free**0.5 * each.sum()) / n


def _blurred(p: Floats, q: Floats, noise_p: Floats, noise_q: Floats) -> float:
    """How far noise moves the product of two distributions."""
    squares = np.multiply.outer(noise_p**2, q**2) + np.multiply.outer(p**2, noise_q**2)
    return float(np.sqrt(2.0 * squares / pi).sum())
