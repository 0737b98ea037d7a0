"""Priming: what a session measures before the first question, and what it believes then."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import isqrt, log, sqrt
from typing import TYPE_CHECKING, Any

from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.errors import RequestReused
from hedgerow.learning.dense.fitting import arranged
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.moments import as_begun, measured_tails, share_of_moments
from hedgerow.mechanisms.session.dense_belief import DenseBelief
from hedgerow.mechanisms.session.factored_belief import FactoredBelief
from hedgerow.queries.moments import BinMoments
from hedgerow.queries.workload import marginals

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.progress import Progress
    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Watch = Callable[[Progress], None]

Names = tuple[str, ...]

SHARES = (Fraction(3, 100), Fraction(12, 100), Fraction(35, 100), Fraction(50, 100))
"""Of the price: for the total, all one-way, all two-way and all three-way tables."""
_SURE = log(4000.0)  # ln(1/beta) of a first run at confidence 0.999
_DIRECT = 5.4  # rho of a direct answer at that confidence, times alpha^2
_ROOM = 0.7  # of alpha: what noise of comparisons may take
_VISITS = 3e9  # cells that a fit may touch: above this a dense hypothesis takes minutes


def tables(domain: Domain) -> list[tuple[Names, Fraction]]:
    """Every table of at most three attributes, with its share of the price.

    Among tables of as many attributes a share grows with the root of the number of cells: a sum over half of
    them has a variance of cells / (4 rho), and that is how to divide rho so that these add up to the least.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> [str(share) for _, share in tables(Domain({"eyes": 4, "age": 16}))]
    ['3/100', '1/25', '2/25', '7/20']
    """
    names, out = domain.names, []
    for order, share in enumerate(SHARES[: len(names) + 1]):
        sets = list(combinations(names, order))
        roots = [isqrt(domain.cells(s) << 12) for s in sets]
        out += [(s, share * root / sum(roots)) for s, root in zip(sets, roots, strict=True)]
    return out


def is_dense(domain: Domain, cells: int) -> bool:
    """Whether a domain is small enough for a weight on every cell, and for fitting all small tables."""
    d = len(domain)
    number = d + d * (d - 1) // 2 + d * (d - 1) * (d - 2) // 6
    return domain.size <= cells and 12.0 * domain.size * number <= _VISITS


def start_price(domain: Domain, direct: Cost, questions: int) -> Cost:
    """What priming is worth when every question could be answered for `direct` instead.

    The error of the fit grows with the noise of each table, which grows with their number; the factor was
    found on the census table of the benchmarks and only moves costs, never a guarantee.
    """
    return _times(direct, log(max(questions, 1_000)) * max(27.0, 4.0 * sqrt(len(tables(domain)))))


def run_price(direct: Cost, questions: int) -> Cost:
    """What one side of the comparison is worth: few false alarms over so many questions.

    With L = ln(1/beta) and K = ln(questions), b1 L + b2 K rows of noise must fit between the error of most
    answers and alpha; the cheapest eta = Delta/b1 + 2 Delta/b2 for that is (sqrt(L) + sqrt(2 K))^2 Delta over
    this room. Its price, in directly measured answers, is taken at confidence 0.999 and room for 0.7 alpha.
    """
    eta = (sqrt(_SURE) + sqrt(2.0 * log(max(questions, 10)))) ** 2 / _ROOM
    return _times(direct, eta**2 / 8.0 / _DIRECT)


def _times(cost: Cost, factor: float) -> Cost:
    if cost.currency == "epsilon":
        factor = sqrt(factor)
    return replace(cost, amount=cost.amount * Fraction(round(factor * 64), 64))


def prime(
    curator: Curator, price: Cost, name: str, cells: int, rows: int | None, watch: Watch | None = None
) -> Belief:
    """Measure and fit: all small tables; all pairs where the domain is large; or what a release chooses.

    Asked again under the same name, the ledger gives the same measurements, free.
    """
    domain = finite(curator)
    if is_dense(domain, cells):
        listed = tables(domain)
        share = dict(listed)
        try:
            shown = [(names, share[names]) for names in arranged(domain, [*share])]
            measured, moments = _measured(curator, price, name, shown)
        except RequestReused:  # a session of before, which visits its tables in the order it measured them in
            measured, moments = _measured(curator, price, name, listed)
        return DenseBelief.fitted(domain, measured, rows, moments=moments)
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.privacy.budget import Budget

    # a raised delta must not make this another plan: what is spent is an amount in the ledger's currency
    budget = Budget(**{price.currency: price.amount})
    release = AdaptiveRelease(budget=budget, run=f"{name}: prime")
    if release.begun(curator) or price.currency != "rho":  # pure budgets, and sessions of earlier versions
        asked = marginals(domain, min(len(domain), 3))
        synopsis = release.release(curator, asked, watch=watch, choose=True)
    else:
        asked = marginals(domain, min(len(domain), 2))
        before = replace(release, run=pairs_run(name))
        if before.begun(curator):
            synopsis = before.release(curator, asked, watch=watch, sums=True)
        else:
            release = replace(release, run=best_run(name))
            synopsis = release.release(curator, asked, watch=watch, sums=True, choose=True)
    return FactoredBelief.of(synopsis._learned, rows)


def _measured(
    curator: Curator, price: Cost, name: str, listed: list[tuple[Names, Fraction]]
) -> tuple[list[Measurement], BinMoments | None]:
    """All small tables, and what numbers are within their bins; nothing where another order was begun."""
    domain = finite(curator)
    part = share_of_moments(domain)
    request = f"{name}: prime"
    tails, price = measured_tails(curator, price, domain, first_act(name), request)
    targets: list[Any] = [names for names, _ in listed]
    shares = [of_table * (1 - part) for _, of_table in listed]

    def measure(*more: RemainderSums) -> list[Measurement]:
        every, note = [*targets, *more], "Session: priming tables"
        return curator.measure_all(every, price, shares=shares, request=request, note=note, run=name)

    if not part:
        return measure(), None
    shares.append(part * sum(of_table for _, of_table in listed))
    measured, ranged = as_begun(measure, domain)
    return measured, BinMoments.of(domain, measured.pop(), ranged=ranged, tails=tails)


def first_act(name: str) -> str:
    """The request that primes a session first, where numbers have long tails."""
    return f"{name}: sums"


def pairs_run(name: str) -> str:
    """The run that primed a session of before in a large domain: residuals of all pairs."""
    return f"{name}: prime pairs"


def best_run(name: str) -> str:
    """The run that primes a session in a large domain: residuals of all pairs, or chosen tables."""
    return f"{name}: prime best"
