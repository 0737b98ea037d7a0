"""Worth: what a row is worth as SQL has it, and as weights in [0, 1] that rows are asked with.

A sum's terms are constants, columns, products of two columns (squares among them), and conditions that may
cut bins. Over the cells of a few attributes they are a polynomial of rows' own numbers. Rows are weighed by
all of it, exactly; whoever holds tables knows what cells are worth on average, and how far off a row can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.lattice import Lattice, exact
from hedgerow.queries.domain.refined import Cut
from hedgerow.queries.query import ONE
from hedgerow.queries.valued import Valued, fine_shape, over

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_MOST_UNITS = 1 << 60  # a row's number of units, and all that it is added up from, is below 2^62
_DIGITS = ONE.bit_length() - 1


@dataclass(frozen=True, eq=False)
class Worth:
    """What a row is worth as SQL has it: numbers over cells, and how a row's own remainders add to them.

    Args:
        attributes: the attributes whose cells it depends on, in the domain's order.
        constant: the part of the numbers that no column gives.
        coefficients: for each binned column how often it is added.
        squares: for pairs of binned columns how often their product is added.
        cuts: of bins that a condition divides; then the arrays are over the parts of those.
    """

    attributes: tuple[str, ...]
    constant: Floats
    coefficients: tuple[tuple[str, Floats], ...]
    squares: tuple[tuple[tuple[str, str], Floats], ...] = ()
    cuts: tuple[Cut, ...] = ()

    @property
    def arrays(self) -> list[Floats]:
        """All its numbers, the constant first."""
        return [self.constant, *(c for _, c in self.coefficients), *(c for _, c in self.squares)]

    def made(self, attributes: tuple[str, ...], arrays: list[Any], cuts: tuple[Cut, ...] = ()) -> Worth:
        """The same terms with other numbers."""
        linear = len(self.coefficients)
        named = zip((n for n, _ in self.coefficients), arrays[1 : linear + 1], strict=True)
        pairs = zip((p for p, _ in self.squares), arrays[linear + 1 :], strict=True)
        return Worth(attributes, arrays[0], tuple(named), tuple(pairs), cuts)

    def times(self, onto: tuple[str, ...], mask: NDArray[Any], shape: tuple[int, ...]) -> Worth:
        """The same over more attributes, and nothing where a mask is false."""
        sizes = dict(zip(self.attributes, self.constant.shape, strict=True))
        axes = [sizes.get(a, 1) for a in onto]
        for cut in self.cuts:
            i = onto.index(cut.attribute)
            mask = cut.spread(mask, i) if mask.shape[i] > 1 else mask
        shape = fine_shape(onto, shape, self.cuts)
        kept = [np.broadcast_to(a.reshape(axes) * mask, shape).astype(np.float64) for a in self.arrays]
        return self.made(onto, kept, self.cuts)

    # -- for whoever holds tables -------------------------------------------------------------------------

    def even(self, domain: Domain) -> Floats:
        """What rows of each cell are worth in the middle of their bins; of cut ones the mean of the parts."""
        return np.asarray(over(self.attributes, self.cuts, self._middle(domain), Cut.mean))

    def parted(self, domain: Domain) -> tuple[Worth, Floats, Floats]:
        """What remainders add, as one sum of them; what else on average; how far a row can be from it all.

        Terms that are no sum of remainders - products of them, and parts of bins that are cut - are known as
        averages only: what a row may differ from those is all that its bins allow.
        """
        slopes = dict(self._slopes(domain))
        cut = {c.attribute for c in self.cuts}
        mean = {n: over(self.attributes, self.cuts, s, Cut.mean) for n, s in slopes.items() if n not in cut}
        far, more = np.zeros(self.constant.shape), np.zeros(self.constant.shape)
        for name, slope in slopes.items():
            known = over(self.attributes, self.cuts, mean[name], Cut.spread) if name in mean else 0.0
            far = far + np.abs(slope - known) * self._levels(name, self._lattice(domain, name).halves)
        for (one, other), c in self.squares:
            most = self._levels(one, self._lattice(domain, one).halves)
            most = most * self._levels(other, self._lattice(domain, other).halves)
            usual = self._spread(domain, one) if one == other else 0.0
            far, more = far + np.abs(c) * np.maximum(usual, most - usual), more + c * usual
        if self.cuts:
            evenly = self._middle(domain) + more
            whole = over(self.attributes, self.cuts, evenly, Cut.mean)
            far = far + np.abs(evenly - over(self.attributes, self.cuts, whole, Cut.spread))
        far = np.asarray(over(self.attributes, self.cuts, far, Cut.largest))
        more = np.asarray(over(self.attributes, self.cuts, more, Cut.mean))
        return Worth(self.attributes, np.zeros(far.shape), tuple(mean.items())), more, far

    def reach(self, domain: Domain) -> Floats:
        """How far a row of each cell can be from what its cell is worth."""
        if self.cuts or self.squares:
            linear, more, far = self.parted(domain)
            return linear.reach(domain) + np.abs(more) + far
        out = np.zeros(self.constant.shape)
        for name, c in self.coefficients:
            out += np.abs(c) * self._levels(name, self._lattice(domain, name).halves)
        return out

    def least(self, domain: Domain, summed: NDArray[np.bool_]) -> float:
        """The least that a row of some cells can be worth, on the lattice."""
        low = self._middle(domain) - self.reach(domain)
        unit = self.unit(domain)
        return float(
            unit * int(np.rint(low[summed].min(initial=0.0 if not summed.any() else np.inf) / float(unit)))
        )

    @property
    def of_parts(self) -> bytes:
        """What the weights of cells do not say of it: a fingerprint of what the parts of bins are worth."""
        if not self.cuts and not self.squares:
            return b""
        return b"".join([*(a.tobytes() for a in self.arrays), *(cut.digest for cut in self.cuts)])

    @property
    def open(self) -> NDArray[np.bool_]:
        """The cells of which it matters where in them a row is."""
        return np.asarray(np.any([c != 0 for _, c in self.coefficients], axis=0))

    # -- for rows -----------------------------------------------------------------------------------------

    def coarse(self, domain: Domain) -> float:
        """How far, at most, a row's number is from what it is worth: columns without a step are rounded."""
        off = {n: self._lattice(domain, n).coarse for n in self._named}
        if not any(off.values()):
            return 0.0
        far = {
            n: np.abs(self._lattice(domain, n).middles) + self._lattice(domain, n).halves for n in self._named
        }
        most = {n: float(np.max(far[n])) for n in self._named}
        out = sum(float(np.abs(c).max()) * off[n] for n, c in self.coefficients)
        for (a, b), c in self.squares:
            out += float(np.abs(c).max()) * (off[a] * most[b] + off[b] * most[a] + off[a] * off[b])
        return out

    def unit(self, domain: Domain) -> Fraction:
        """What all rows' numbers are whole multiples of."""
        per = [(self._half(domain, n), c) for n, c in self.coefficients]
        per += [(self._half(domain, a) * self._half(domain, b), c) for (a, b), c in self.squares]
        steps = [exact(float(x)) * half for half, c in per for x in np.unique(np.abs(c))]
        steps += [exact(float(c)) for c in np.unique(np.abs(np.round(self.constant, 9)))]
        return _common([step for step in steps if step]) or Fraction(1)

    def split(self, domain: Domain) -> list[tuple[float, Valued, float]]:
        """What rows are worth as weights in [0, 1], of one sign each.

        With what weight 1 is worth, and how much of a row's number is left out: digits that are too small.
        """
        unit = self.unit(domain)
        base, parts, squares, far = self._whole(domain, unit)
        out = []
        for sign in (1, -1):
            largest = np.maximum(sign * base + far, 0)
            most = over(self.attributes, self.cuts, largest, Cut.largest)
            for digits, step, left in _digits(int(most.max(initial=0))):
                weights = np.minimum(most >> digits[0], (1 << digits[1]) - 1) * step
                given = (self.attributes, base, parts, sign, digits, step, weights, squares, self.cuts)
                worth = sign * float(unit * Fraction(ONE << digits[0], step))
                out.append((worth, Valued(*given), float(unit * left)))
        return out

    def _whole(self, domain: Domain, unit: Fraction) -> tuple[Integers, Any, Any, Integers]:
        """In whole units: in the middles of bins, by half-steps from them and products; how far at most."""
        centres = {n: self._levels(n, self._lattice(domain, n).centre) for n in self._named}
        halves = {n: self._levels(n, self._lattice(domain, n).half) for n in self._named}
        base = _units(self.constant, 1 / unit)
        slopes = {n: _units(c, self._half(domain, n) / unit) for n, c in self.coefficients}
        size = np.abs(base).astype(np.float64)
        for name, per in slopes.items():
            size += np.abs(per).astype(np.float64) * (np.abs(centres[name]) + halves[name])
            base = base + per * centres[name]
        squares = []
        for (one, other), c in self.squares:
            per = _units(c, self._half(domain, one) * self._half(domain, other) / unit)
            size += (
                np.abs(per).astype(np.float64)
                * (np.abs(centres[one]) + halves[one])
                * (np.abs(centres[other]) + halves[other]).astype(np.float64)
            )
            base = base + per * centres[one] * centres[other]
            for near, away in ((one, other), (other, one)):  # (c + r)(c' + r'): what r and what r' adds
                slopes[near] = slopes.get(near, np.zeros_like(base)) + per * centres[away]
            squares.append(((one, other), per))
        if size.max(initial=0.0) > _MOST_UNITS:
            raise RangeTooLarge(
                "the steps of the numbers in this sum are too small for their ranges: declare larger ones"
            )
        far = sum((np.abs(s) * halves[n] for n, s in slopes.items()), np.zeros_like(base))
        far = far + sum((np.abs(p) * halves[a] * halves[b] for (a, b), p in squares), np.zeros_like(base))
        return base, tuple(slopes.items()), tuple(squares), far

    # -- terms --------------------------------------------------------------------------------------------

    @property
    def _named(self) -> list[str]:
        names = [*(n for n, _ in self.coefficients), *(n for pair, _ in self.squares for n in pair)]
        return list(dict.fromkeys(names))

    def _slopes(self, domain: Domain) -> list[tuple[str, Floats]]:
        """What a step away from the middle of its bin adds, for each column."""
        out = dict(self.coefficients)
        for (one, other), c in self.squares:
            for near, away in ((one, other), (other, one)):
                middle = self._levels(away, np.array(self._lattice(domain, away).middles))
                out[near] = out.get(near, np.zeros(self.constant.shape)) + c * middle
        return list(out.items())

    def _middle(self, domain: Domain) -> Floats:
        """What rows in the middle of their bins, or of the parts of them, are worth."""
        middles = {n: self._levels(n, np.array(self._lattice(domain, n).middles)) for n in self._named}
        out = self.constant
        for name, c in self.coefficients:
            out = out + c * middles[name]
        for (one, other), c in self.squares:
            out = out + c * middles[one] * middles[other]
        return out

    def _spread(self, domain: Domain, name: str) -> Floats:
        """The variance of values that lie evenly in each bin."""
        lattice = self._lattice(domain, name)
        half = lattice.half.astype(np.float64)
        return np.asarray(self._levels(name, half * (half + 2) / 3 * float(lattice.step / 2) ** 2))

    def _lattice(self, domain: Domain, name: str) -> Lattice:
        cut = next((c for c in self.cuts if c.attribute == name), None)
        if cut is not None:
            return cut.fine
        attribute = domain[name]
        assert isinstance(attribute, Bins)
        return attribute.lattice

    def _half(self, domain: Domain, name: str) -> Fraction:
        return self._lattice(domain, name).step / 2

    def _levels(self, name: str, per_bin: NDArray[Any]) -> NDArray[Any]:
        """Numbers of bins along their axis; those of `other` and missing are 0."""
        axis = self.attributes.index(name)
        out = np.zeros(self.constant.shape[axis], dtype=per_bin.dtype)
        out[: len(per_bin)] = per_bin
        return out.reshape([-1 if i == axis else 1 for i in range(self.constant.ndim)])


def _digits(largest: int) -> list[tuple[tuple[int, int], int, int]]:
    """How whole numbers up to `largest` are weighed, by weights of which ONE is the largest.

    What has more than 20 binary digits is weighed in two parts. The lower one weighs next to nothing: it has
    the noise of the other, in a unit that is so much smaller, and adds as little to the norms. Divided 40
    digits the rest is left out of every row's number: less than the third number says.
    """
    if not largest:
        return []
    if largest <= ONE:
        return [((0, 62), ONE >> (largest - 1).bit_length(), 0)]
    upper = largest.bit_length() - _DIGITS
    lower = max(upper - _DIGITS, 0)
    return [((upper, 62), 1, 0), ((lower, upper - lower), 1, 1 << lower if lower else 0)]


def _units(numbers: Floats, per: Fraction) -> Integers:
    """Numbers in whole units, exactly."""
    distinct, places = np.unique(numbers, return_inverse=True)
    whole = np.array([round(exact(float(c)) * per) for c in distinct], dtype=np.int64)
    return whole[places].reshape(numbers.shape)


def _common(steps: list[Fraction]) -> Fraction:
    """The largest number of which all others are whole multiples."""
    out = Fraction(0)
    for step in steps:
        a, b = out, step
        out = Fraction(
            gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        )
    return out
