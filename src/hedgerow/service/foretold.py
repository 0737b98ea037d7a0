"""Foretold: how far off the average of every number of a schema would be, by what a release spends on it.

By the schema, the price, whom the budget protects and how many values there are: the norms, the factors and
the shares of the price are those of the acts that a release makes (`mechanisms.moments`), as they would be
charged; counts are as `service.prospect` has them. What a release gets out of its larger tables is not
foretold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.curator.drafting.tails import AverageNoise
from hedgerow.curator.statistics.overall import OverallSums
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.mechanisms.moments import OWN, share_of_moments
from hedgerow.privacy.budget import Budget, Privacy, gaussian_sigma
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.number_sums import (
    centre_of,
    lattice_of,
    numbers,
    ranged_numbers,
    scales,
    tailed_numbers,
    usual_of,
)
from hedgerow.queries.workload import marginals
from hedgerow.service.prospect import Prospect

if TYPE_CHECKING:
    from fractions import Fraction

    from hedgerow.curator.drafting.draft import Draft
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.query import Norms

_CONFIDENCE = 1.96  # of a normal law: 0.95
_DELTA = "1e-9"


@dataclass(frozen=True)
class SumNoise:
    """How far off, with 0.95 confidence, the sum of all rows' distances from a number's centre is.

    Args:
        off: of the sum, in units of the number.
        centre: where distances are measured from.
    """

    off: float
    centre: float


@dataclass(frozen=True)
class Foretold:
    """What a release of a schema's pairs would tell of averages.

    Args:
        domain: the schema.
        sums: of each number that is summed by itself.
        count: how far off counts of one attribute's level are, in rows.
    """

    domain: Domain
    sums: dict[str, SumNoise]
    count: float

    @classmethod
    def of(cls, domain: Domain, privacy: Privacy, epsilon: str = "1") -> Foretold:
        """Of a release that spends some epsilon."""
        price = Budget(epsilon, _DELTA).cost
        sums: dict[str, SumNoise] = {}
        if tailed := tailed_numbers(domain):
            part = price.share(OWN)
            sigma = _sigma(OverallSums(domain).norms, privacy, part)
            price -= part
            for name, factor in tailed.items():
                sums[name] = _noise(domain, name, sigma / factor, usual_of(domain, name))
        if numbers(domain):
            part = price.share(share_of_moments(domain))
            sigma = _sigma(RemainderSums(domain, total=True, ranged=True).norms, privacy, part)
            price -= part
            factors = scales(domain)
            for name in ranged_numbers(domain):
                sums[name] = _noise(domain, name, sigma / factors[name][1], centre_of(domain, name))
        pairs = marginals(domain, min(2, len(domain)))
        return cls(domain, sums, Prospect.of(domain, pairs, privacy, price, None).ones)

    def noise(self, name: str) -> AverageNoise:
        """How far off the average of a number is, by its bins' counts and, if it has one, by its own sum."""
        own, middles = self.sums.get(name), lattice_of(self.domain, name).middles
        off, centre = (None, 0.0) if own is None else (own.off, own.centre)
        return AverageNoise(middles, self.count, off, centre)


def stretched(found: Draft) -> dict[str, str]:
    """What a drafted schema's long ranges cost averages, by the release that it is for: for the owner alone.

    Of all its attributes at epsilon 1, under `add_remove`, with the unit that was found. Values stay in the
    curator, which is told what a release would tell.
    """
    if found.domain is None or not found.numbers:
        return {}
    rows = max(found.unit[1] if found.unit else 1, 1)
    privacy, domain = Privacy(max_rows=rows), found.domain
    many = f"all {len(domain)} attributes" if len(domain) > 1 else "it"
    of = f"a release of {many} at epsilon 1" + (f" for people with up to {rows} rows" if rows > 1 else "")
    before, told = Foretold.of(domain, privacy), {}
    for name, held in found.numbers.items():
        body = domain.get(name)
        if not isinstance(body, Bins) or not body.stepped:
            continue

        def noise(bins: Bins, name: str = name, drafted: Bins = body) -> AverageNoise:
            changed = Domain({**dict(domain.items()), name: bins})
            return (before if bins is drafted else Foretold.of(changed, privacy)).noise(name)

        words = held.told(name, body, found.rows, noise, of)
        if words is not None:
            told[name] = words
    return told


def _sigma(norms: Norms, privacy: Privacy, price: Cost) -> float:
    return float(gaussian_sigma(privacy.sensitivity(norms).l2_squared, price))


def _noise(domain: Domain, name: str, halves: float, centre: int) -> SumNoise:
    step: Fraction = lattice_of(domain, name).step
    return SumNoise(_CONFIDENCE * halves * float(step) / 2, float(step * centre / 2))
