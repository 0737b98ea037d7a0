"""What bins leave open: how far sums are from what the middles of bins say, and how much of that is known.

The sum of rows' own numbers is that of the middles of their bins plus that of their remainders. Whoever holds
tables knows the first. Of the second the schema says that it is no more than `LinearForm.reach` in all - half
the width of each row's bin - and whoever measured remainders knows more. Neither is left out of an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm

    Floats = NDArray[np.float64]
    Found = Callable[[LinearForm], tuple[Floats, Floats]]


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


@dataclass(frozen=True, eq=False)
class Opened:
    """What remainders add to a form, group by group.

    Args:
        value: what is known of them.
        soft: a half-width of that, independent of the noise of counts.
        hard: what the schema alone allows beyond it.
        heavy: whether half-widths are those of Laplace noise: they add up, and not their squares.
    """

    value: Floats
    soft: Floats
    hard: Floats
    heavy: bool = False

    def on(self, errors: Floats) -> Floats:
        """The errors of sums of middles with what bins leave open."""
        both = errors + self.soft if self.heavy else np.hypot(errors, self.soft)
        return np.asarray(both + self.hard)

    def over(self, counts: Floats, off: Floats) -> Opened:
        """The same of averages: by counts that may be off by so much."""
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(counts > off, counts - off, 0.0)
            value = self.value / counts
            drift = np.abs(value) * off / least
            made = (value, self.soft / least + drift, self.hard / least)
        value, soft, hard = (np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf) for x in made)
        return Opened(value, soft, hard, self.heavy)


def opened(
    form: LinearForm, found: Found, within: Within | None, confidence: float, numbers: int
) -> Opened | None:
    """What bins leave open of a form; None if nothing.

    Args:
        form: the form.
        found: values and half-widths of any form, from tables.
        within: whoever measured remainders, if anybody did.
        confidence, numbers: how often the half-widths must hold, for how many numbers at once.
    """
    if all(f.worth is None for f in form.factors):
        return None
    form, rest = form.parted()
    usual, hard = np.zeros(form.groups), np.zeros(form.groups)
    if rest is not None:
        (usual, loose), (beyond, off) = (found(part) for part in rest)
        hard = np.maximum(beyond, 0.0) + off + loose
    support, reach = form.support(), form.reach()
    if support is None or reach is None:
        return Opened(usual, np.zeros_like(usual), hard)
    worst, off = found(reach)
    worst = np.maximum(worst, 0.0) + off
    if within is None:
        return Opened(usual, np.zeros_like(worst), worst + hard)
    known = within.of(form, np.maximum(found(support)[0], 0.0), worst)
    if known is None:
        return Opened(usual, np.zeros_like(worst), worst + hard)
    value, deviation = known
    value = np.clip(value, -worst, worst)
    wide = _quantile((1.0 - confidence) / numbers, heavy=within.heavy) * deviation
    return Opened(value + usual, np.minimum(wide, worst + np.abs(value)), hard, within.heavy)


def _quantile(beta: float, *, heavy: bool) -> float:
    """How many standard deviations noise stays within but for a probability.

    Sums of Laplace numbers have tails between that of one of them, exp(-sqrt(2) x), and a normal law's.
    """
    normal = -NormalDist().inv_cdf(beta / 2.0)
    return max(normal, log(1.0 / beta) / sqrt(2.0)) if heavy else normal
