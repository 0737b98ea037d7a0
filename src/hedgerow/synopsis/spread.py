"""Spread: numbers of synthetic rows inside their bins, on the lattice of the column's step.

A row that was drawn has a bin, and any value of the lattice in that bin is as good as its middle. Values are
uniform there; where the mean within a bin was released, they are uniform on either side of it, in the shares
that give this mean. All of it is made of what was released: post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from hedgerow.errors import HedgerowError
from hedgerow.queries.domain.bins import Bins, Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.synopsis.synopsis import Synopsis

    Floats = NDArray[np.float64]
    Means = Callable[[str], Floats | None]

_OWN = 7  # tells the draws within bins from those of bins, where one seed gives both


def spread(
    domain: Domain, codes: Mapping[str, Any], seed: int | None, means: Means = lambda name: None
) -> dict[str, NDArray[Any]]:
    """Decoded columns; numbers that have a step are spread within their bins.

    Args:
        domain: what was declared.
        codes: the drawn rows.
        seed: for the same rows again.
        means: of an attribute, the mean within each of its bins, NaN where it is not known; None if of none.
    """
    random = Generator(PCG64(None if seed is None else SeedSequence([_OWN, seed])))
    made = domain.decode(codes)
    for name, column in made.items():
        attribute = domain[name]
        if _spreads(attribute):
            assert isinstance(attribute, Bins)
            _fill(column, np.asarray(codes[name]), attribute, means(name), random)
    return made


def bin_means(synopsis: Synopsis, name: str) -> Floats | None:
    """The released mean within each bin of an attribute, where it says more than the bin's ends do.

    Args:
        synopsis: what was released.
        name: of the attribute.
    """
    attribute = synopsis.domain[name]
    if synopsis.within is None or not isinstance(attribute, Bins):
        return None
    quoted = '"' + name.replace('"', '""') + '"'
    try:
        answer = synopsis.answer(f"SELECT {quoted}, AVG({quoted}) FROM t GROUP BY {quoted}")
    except HedgerowError:
        return None
    bins = len(attribute.lattice.low)
    values, errors = (np.asarray(x, dtype=np.float64)[:bins] for x in (answer.value, answer.error))
    known = np.isfinite(values) & (errors < attribute.lattice.halves)
    return np.where(known, values, np.nan)


def _spreads(attribute: Attribute) -> bool:
    return isinstance(attribute, Bins) and not isinstance(attribute, Dates) and attribute.stepped


def _fill(
    column: NDArray[Any], codes: NDArray[Any], attribute: Bins, means: Floats | None, random: Generator
) -> None:
    """Put a value of the lattice in the place of each middle."""
    lattice = attribute.lattice
    inside = codes < len(lattice.low)  # beyond are `other` and missing
    at = codes[inside].astype(np.int64)
    low, high = lattice.low.astype(np.float64)[at], lattice.high.astype(np.float64)[at] + 1.0
    top, bottom = lattice.step.numerator, lattice.step.denominator
    centre = (low + high) / 2.0
    if means is not None:  # in steps; half of one is what rounding down takes
        known = means[at] * bottom / top + 0.5
        centre = np.where(np.isnan(known), centre, np.clip(known, low, high))
    # uniform on [low, mean] with probability (high - mean) / (high - low), else on [mean, high]: mean it is
    under = random.random(len(at)) * (high - low) < high - centre
    start, stop = np.where(under, low, centre), np.where(under, centre, high)
    drawn = np.floor(start + (stop - start) * random.random(len(at)))
    place = np.clip(drawn, low, high - 1.0).astype(np.int64)
    column[inside] = (place * top).tolist() if bottom == 1 else (place * top / bottom).tolist()
