"""What bins leave open: how far sums are from what the middles of bins say, and how much of that is known.

The sum of rows' own numbers is that of the middles of their bins plus that of their remainders. Whoever holds
tables knows the first. Of the second the schema says that it is no more than `LinearForm.reach` in all - half
the width of each row's bin - and whoever measured remainders knows more. Neither is left out of an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import hypot, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.form import Factor, LinearForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Found = Callable[[LinearForm], tuple[Floats, Floats]]
    FoundAt = Callable[[LinearForm, float, int], tuple[Floats, Floats]]

_USUAL = 0.95  # what is made of measured remainders is decided at this, whatever confidence is asked for


class Within(Protocol):
    """Whoever measured what is within bins."""

    @property
    def heavy(self) -> bool:
        """Whether the noise on it has the tails of Laplace's, and not of a normal law's."""

    def of(self, form: LinearForm, counts: Floats, worst: Floats) -> tuple[Floats, Floats] | None:
        """For each group the sum of its rows' remainders and the standard deviation of that; None if unknown.

        Args:
            form: a sum of numbers.
            counts: about how many rows each group has.
            worst: no sum is larger, either way.
        """

    def ranged(self, name: str) -> tuple[float, float, float] | None:
        """The centre of a number's bins, the sum of all rows' distances from it, and its deviation."""


@dataclass(frozen=True, eq=False)
class Opened:
    """What remainders add to a form, group by group.

    Args:
        value: what is known of them.
        soft: a half-width of that, independent of the noise of counts.
        hard: what the schema alone allows beyond it.
        heavy: whether half-widths are those of Laplace noise: they add up, and not their squares.
        counted: half-widths of counts in place of the form's own, where a sum is known besides.
        summed: what such a sum is made of.
        before: the value that errors were worked out for, where more is known of it since.
    """

    value: Floats
    soft: Floats
    hard: Floats
    heavy: bool = False
    counted: Floats | None = None
    summed: Summed | None = None
    before: Floats | None = None

    def on(self, errors: Floats) -> Floats:
        """The errors of sums of middles with what bins leave open."""
        errors = errors if self.counted is None else self.counted
        both = errors + self.soft if self.heavy else np.hypot(errors, self.soft)
        return np.asarray(both + self.hard)

    def over(self, counts: Floats, off: Floats) -> Opened:
        """The same of averages: by counts that may be off by so much."""
        least = np.where(counts > off, counts - off, 0.0)

        def each(sums: Floats) -> Floats:
            """Of a row at most: without end where there may be none, but for what is nothing in all."""
            return np.divide(sums, least, out=np.where(sums > 0.0, np.inf, 0.0), where=least > 0.0)

        value = np.divide(self.value, counts, out=np.zeros_like(self.value), where=counts != 0.0)
        before = value if self.before is None else self.before / np.where(counts != 0.0, counts, 1.0)
        soft, hard = each(self.soft) + each(np.abs(before) * off), each(self.hard)
        return Opened(value, soft, hard, self.heavy)


@dataclass(frozen=True, eq=False)
class Summed:
    """A sum of one number over all rows, as a weighted count of its levels and what is known besides.

    Args:
        name: of the number.
        weights: of its levels.
        besides: what is known without counts.
        soft, heavy: the half-width of that, and whether it is of Laplace noise.
        found: a weighted count of the levels, and its half-width.
    """

    name: str
    weights: Floats
    besides: float
    soft: float
    heavy: bool
    found: Callable[[Floats], tuple[float, float]]

    def over(self, under: Floats, counted: float, off: float) -> tuple[float, float]:
        """The sum divided by another weighted count of the levels, and how far off that is.

        What both have in common cancels in S - r D, whose weights are one question (Fieller). Its value and
        its half-width are of one estimate, whichever says most of it: those of S and D may be of another.

        Args:
            under: the weights of D.
            counted: about what D is, and not zero.
            off: how far off that may be.
        """
        ratio = (self.found(self.weights)[0] + self.besides) / counted
        ratio += (self.found(self.weights - ratio * under)[0] + self.besides) / counted
        if abs(counted) <= off:
            return ratio, np.inf
        wide = self.found(self.weights - ratio * under)[1]
        both = wide + self.soft if self.heavy else hypot(wide, self.soft)
        return ratio, both / (abs(counted) - off)


def opened(
    form: LinearForm, found_at: FoundAt, within: Within | None, confidence: float, numbers: int
) -> Opened | None:
    """What bins leave open of a form; None if nothing.

    Args:
        form: the form.
        found_at: values and half-widths of any form, from tables, for a confidence and so many numbers.
        within: whoever measured remainders, if anybody did.
        confidence, numbers: how often the half-widths must hold, for how many numbers at once.
    """
    if all(f.worth is None for f in form.factors):
        return None

    def found(asked: LinearForm) -> tuple[Floats, Floats]:
        return found_at(asked, confidence, numbers)

    form, rest = form.parted()
    usual, hard = np.zeros(form.groups), np.zeros(form.groups)
    if rest is not None:
        (usual, loose), (beyond, off) = (found(part) for part in rest)
        hard = np.maximum(beyond, 0.0) + off + loose
    support, reach = form.support(), form.reach()
    if support is None or reach is None:
        return Opened(usual, np.zeros_like(usual), hard)
    worst = _most(found(reach))
    if within is None:
        return Opened(usual, np.zeros_like(worst), worst + hard)
    most = worst if (confidence, numbers) == (_USUAL, 1) else _most(found_at(reach, _USUAL, 1))
    known = within.of(form, np.maximum(found(support)[0], 0.0), most)
    if known is None:
        return Opened(usual, np.zeros_like(worst), worst + hard)
    beta = (1.0 - confidence) / numbers
    inside = _Inside(*known, most, within.heavy)
    made = Opened(inside.value + usual, inside.soft(beta, worst), hard, within.heavy)
    if rest is not None:
        return made
    if form.axes:
        return _with_total(made, inside, form, found_at, within)
    return _with_range(made, inside, form, found_at, within, confidence, numbers)


def _most(found: tuple[Floats, Floats]) -> Floats:
    return np.maximum(found[0], 0.0) + found[1]


@dataclass(frozen=True, eq=False)
class _Inside:
    """What is made of measured remainders: nothing where their noise says less than the schema does.

    Args:
        measured: sums of remainders.
        deviation: of each.
        most: what sums are, at most, at the usual confidence.
        heavy: whether the noise is Laplace's.
    """

    measured: Floats
    deviation: Floats
    most: Floats
    heavy: bool

    @property
    def noisy(self) -> NDArray[np.bool_]:
        """Where the schema says more."""
        return np.asarray(_quantile(1.0 - _USUAL, heavy=self.heavy) * self.deviation > self.most)

    @property
    def value(self) -> Floats:
        """No more than the schema allows; it is the same for every confidence."""
        return np.where(self.noisy, 0.0, np.clip(self.measured, -self.most, self.most))

    def soft(self, beta: float, worst: Floats) -> Floats:
        """How far off that is but for a probability, if no sum is larger than the worst.

        What was cut to the most is no farther off than it was, or than the worst is from the most.
        """
        wide = _quantile(beta, heavy=self.heavy) * self.deviation
        cut = np.where(np.abs(self.measured) > self.most, np.maximum(wide, worst - self.most), wide)
        kept = np.where(self.noisy, np.abs(self.measured) + wide, cut)
        return np.minimum(kept, worst + np.abs(self.value))


def _with_total(made: Opened, inside: _Inside, form: LinearForm, found: FoundAt, within: Within) -> Opened:
    """Sums of all rows by group, brought nearer to the overall sum where that was measured by itself.

    What the groups lack of it is spread over them by their variances, which is least squares; their errors
    stay as they are: those of what was known before, which is less. Where an error is what the schema allows,
    which is certain, it grows by how far the group was moved, and stays so.
    """
    alone = LinearForm.of(form.domain, form.factors, (), units=form.units, name=form.name)
    if _whole_range(alone, within) is None:
        return made
    whole = opened(alone, found, within, _USUAL, 1)
    if whole is None:
        return made
    normal, heavy = (_quantile(1.0 - _USUAL, heavy=law) for law in (False, within.heavy))
    (counted, off), (values, wide) = (found(each, _USUAL, 1) for each in (alone, form))
    lacking = float(counted[0] + whole.value[0] - np.sum(values + made.value))
    each = np.hypot(wide / normal, inside.soft(1.0 - _USUAL, inside.most) / heavy) ** 2
    part = each / max(float(np.sum(each)) + float(whole.on(off)[0] / heavy) ** 2, 1e-300)
    moved = np.clip(made.value + part * lacking, -inside.most, inside.most)
    soft = made.soft + np.where(inside.noisy, np.abs(moved - made.value), 0.0)
    return replace(made, value=moved, soft=soft, before=made.value)


def _with_range(
    made: Opened,
    inside: _Inside,
    form: LinearForm,
    found: FoundAt,
    within: Within,
    confidence: float,
    numbers: int,
) -> Opened:
    """The same of a sum of all rows that was also measured by itself: both together, by least squares.

    Counts and remainders say F + t R, where F weighs bin b by t m_b + d; the range says t W + (t m_0 + d) N.
    With the part p of the latter the remainders are taken to be (1 - p) t R + p (t W + (t m_0 + d) N - F).
    Added to F that leaves the counts (1 - p) F + p (t m_0 + d) N in a sum; in an average less mean N. Of its
    variance, a + 2 b p + c p^2, three values say all, and so which p is best - at the usual confidence. Both
    the value and the half-width of the counts are those of their sum: parts may be of other estimates.
    """
    whole = _whole_range(form, within)
    if whole is None:
        return made
    ones, (t, d), (middle, far, deviation) = whole
    weights, at = np.asarray(form.factors[0].weights, dtype=np.float64), t * middle + d
    normal, heavy = (_quantile(1.0 - _USUAL, heavy=law) for law in (False, within.heavy))
    (rows,), (counted,) = (found(_weighed(form, w), _USUAL, 1)[0] for w in (ones, weights))
    mean = (counted + float(made.value[0])) / max(rows, 1.0)

    def mixed(p: float, less: float) -> Floats:
        return (1.0 - p) * weights + (p * at - less) * ones

    def left(p: float) -> float:
        return float(found(_weighed(form, mixed(p, mean)), _USUAL, 1)[1][0]) / normal

    none, half, all_ = left(0.0), left(0.5), left(1.0)
    within_ = float(inside.soft(1.0 - _USUAL, inside.most)[0]) / heavy
    ranged = abs(t) * deviation
    both = 2.0 * half**2 - (none**2 + all_**2) / 2.0
    least = none**2 + all_**2 - 2.0 * both + within_**2 + ranged**2
    p = min(max((none**2 - both + within_**2) / max(least, 1e-300), 0.0), 1.0)
    heavy = _quantile((1.0 - confidence) / numbers, heavy=within.heavy)
    soft = heavy * np.hypot((1.0 - p) * made.soft / heavy, p * ranged)
    besides = float(((1.0 - p) * made.value + p * t * far)[0])

    def asked(levels: Floats) -> tuple[float, float]:
        (value,), (wide,) = found(_weighed(form, levels), confidence, numbers)
        return float(value), float(wide)

    name = form.factors[0].attributes[0]
    summed = Summed(name, mixed(p, 0.0), besides, float(soft[0]), made.heavy, asked)
    value, wide = asked(summed.weights)
    return Opened(
        np.array([value + besides - float(counted)]), soft, made.hard, made.heavy, np.array([wide]), summed
    )


def _whole_range(
    form: LinearForm, within: Within
) -> tuple[Floats, tuple[float, float], tuple[float, float, float]] | None:
    """Of a plain sum t v + d of one number over all rows: its bins, t and d, and what was measured of it."""
    (factor, *others), worth = form.factors, form.factors[0].worth
    if others or form.axes or worth is None or len(worth.coefficients) != 1:
        return None
    ((name, often),) = worth.coefficients
    body = form.domain[name]
    known = within.ranged(name)
    if known is None or factor.attributes != (name,) or not isinstance(body, Bins):
        return None
    size, middles = len(body.lattice.low), np.array(body.lattice.middles)
    bins = (np.arange(body.size) < size).astype(np.float64)
    t = float(often[0])
    held = np.asarray(factor.weights, dtype=np.float64)
    d = float(held[0] - t * middles[0])
    plain = np.allclose(held[:size], t * middles + d, rtol=1e-9, atol=1e-9) and not held[size:].any()
    return (bins, (t, d), known) if t and plain and bool((often[:size] == often[0]).all()) else None


def _weighed(form: LinearForm, weights: Floats) -> LinearForm:
    return replace(form, factors=(Factor(form.factors[0].attributes, weights),))


def _quantile(beta: float, *, heavy: bool) -> float:
    """How many standard deviations noise stays within but for a probability.

    Sums of Laplace numbers have tails between that of one of them, exp(-sqrt(2) x), and a normal law's.
    """
    normal = -NormalDist().inv_cdf(beta / 2.0)
    return max(normal, log(1.0 / beta) / sqrt(2.0)) if heavy else normal
