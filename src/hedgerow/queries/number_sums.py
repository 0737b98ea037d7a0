"""Which sums of a schema's numbers are measured, and in what units: all of it follows from the schema."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.bins import Bins, Dates

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.domain.lattice import Lattice

_LARGEST_SHARE = 0.15
_MANY = 6  # half-bins from the centre to the farther end of a range: then its sum is worth measuring
_FAR = 1 << 34  # half-steps, times its factor: no row is farther from a sum's centre
_SMALL = 16  # the usual value of a number is taken to be at least this part of its range


def numbers(domain: Domain) -> dict[str, int]:
    """The numbers that have a step and wider bins than that, each with the factor of its half-steps.

    The factors bring the remainders of all numbers to about one size, which the norms of one act follow.
    """
    wide = {
        name: int(a.lattice.half.max())
        for name, a in domain.items()
        if isinstance(a, Bins) and not isinstance(a, Dates) and a.stepped and int(a.lattice.half.max()) > 0
    }
    most = max(wide.values(), default=0)
    return {name: most // half for name, half in wide.items()}


def scales(domain: Domain) -> dict[str, tuple[int, int]]:
    """For each such number the factor of its half-steps within bins, and that from the centre of all.

    A row moves the sum of a whole range by as much as that of one bin, or a little less: the factors are
    whole. All are multiplied so that rounding takes a 64th at most, as far as sums stay in 63 bits.
    """
    plain = numbers(domain)
    far = {name: far_of(domain, name, centre_of(domain, name)) for name in plain}
    reach = {name: factor * int(lattice_of(domain, name).half.max()) for name, factor in plain.items()}
    fine = max(1, min(64, (1 << 31) // max(far.values(), default=1)))
    times = max((-(-fine * far[n] // reach[n]) for n in plain), default=1)
    return {n: (times * factor, times * reach[n] // far[n]) for n, factor in plain.items()}


def ranged_numbers(domain: Domain) -> tuple[str, ...]:
    """The numbers of which the sum of a range is measured in place of that of remainders.

    Their ranges are many bins wide, so that the noise of an overall sum is that of counts and hardly that of
    remainders. Of long tails, where one bin is half of the range, it is the other way round.
    """
    wide = {name: int(lattice_of(domain, name).half.max()) for name in numbers(domain)}
    far = {name: far_of(domain, name, centre_of(domain, name)) for name in wide}
    return tuple(name for name, half in wide.items() if far[name] >= _MANY * half)


def tailed_numbers(domain: Domain) -> dict[str, int]:
    """The other ones, of long tails, each with the factor of its half-steps in an act for their sums alone.

    Noise of variance v on all sums is v (H / w)^2 for a number that is at most H from its centre and weighs
    w. Relative to usual values u the squares of that are least, in all, where w^2 goes with H / u. What is
    usual the schema does not say: about the middle one of bins, which are many where values are. No row
    moves a sum by more than `_FAR`, or by its own distance alone, so that sums stay in 63 bits.
    """
    ranged = ranged_numbers(domain)
    tailed = [name for name in numbers(domain) if name not in ranged]
    far = {name: far_of(domain, name, usual_of(domain, name)) for name in tailed}
    weights = {}
    for name, most in far.items():
        lattice = lattice_of(domain, name)
        wide = 2 * int(lattice.high[-1] - lattice.low[0])
        weights[name] = sqrt(most / max(abs(usual_of(domain, name)), wide / _SMALL)) / most
    least = min(weights.values(), default=1.0)
    fine = max(1, min(64, (1 << 28) // max(far.values(), default=1)))
    farthest = max((fine * w / least * far[name] for name, w in weights.items()), default=0.0)
    unit = fine / least * min(1.0, _FAR / max(farthest, 1.0))
    return {name: max(1, round(unit * w)) for name, w in weights.items()}


def centre_of(domain: Domain, name: str) -> int:
    """The mean of the middles of a number's bins, in half-steps.

    Distances from it are summed, and a sum of them needs N times it: from the middle of a long range, where
    few rows are, the noise of N would be more than that of the sum.
    """
    return round(float(np.mean(lattice_of(domain, name).centre)))


def usual_of(domain: Domain, name: str) -> int:
    """The middle of the middle one of a number's bins, in half-steps: sums of long tails are from there.

    A sum of distances from it needs N times how far it is from the mean, and N is noisy.
    """
    return round(float(np.median(lattice_of(domain, name).centre)))


def best_share(domain: Domain) -> float:
    """What part of a price is well spent on remainders: the mean of sqrt3 / (B + sqrt3) over the numbers.

    For B equal bins of half-width h a count's noise enters an average with A = sum (m_b - mu)^2 = h^2 B^3 / 3
    and a remainder's with R = B h^2. A/(1 - x) + R/x is least at x = sqrt R / (sqrt A + sqrt R).
    """
    shares = [sqrt(3.0) / (len(lattice_of(domain, name).low) + sqrt(3.0)) for name in numbers(domain)]
    return min(_LARGEST_SHARE, float(np.mean(shares))) if shares else 0.0


def far_of(domain: Domain, name: str, centre: int) -> int:
    """How far a number can be from a place inside its range, in half-steps."""
    lattice = lattice_of(domain, name)
    return max(2 * int(lattice.high[-1]) - centre, centre - 2 * int(lattice.low[0]))


def lattice_of(domain: Domain, name: str) -> Lattice:
    """The values that a number can have."""
    attribute = domain[name]
    assert isinstance(attribute, Bins)
    return attribute.lattice
