"""Priming: what a session measures before the first question, and what it believes then."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import log, sqrt
from typing import TYPE_CHECKING

from hedgerow.mechanisms.session_belief import Belief, DenseBelief, FactoredBelief
from hedgerow.queries.workload import marginals

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain import Domain

Names = tuple[str, ...]

SHARES = (Fraction(4, 100), Fraction(6, 100), Fraction(25, 100), Fraction(65, 100))
"""Of the price: for the total, all one-way, all two-way and all three-way tables."""
_VISITS = 3e9  # cells that a fit may touch: above this a dense hypothesis takes minutes


def tables(domain: Domain) -> list[tuple[Names, Fraction]]:
    """Every table of at most three attributes, with its share of the price."""
    names, out = domain.names, []
    for order, share in enumerate(SHARES[: len(names) + 1]):
        sets = list(combinations(names, order))
        out += [(s, share / len(sets)) for s in sets]
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
    return _times(direct, log(max(questions, 10_000)) * max(27.0, 3.3 * sqrt(len(tables(domain)))))


def run_price(direct: Cost, questions: int) -> Cost:
    """What one side of the comparison is worth: its noise must stay small over so many questions."""
    return _times(direct, 2.2 * log(max(questions, 10)) ** 2)


def _times(cost: Cost, factor: float) -> Cost:
    if cost.currency == "epsilon":
        factor = sqrt(factor)
    return replace(cost, amount=cost.amount * Fraction(round(factor * 64), 64))


def prime(curator: Curator, price: Cost, name: str, cells: int, rows: int | None) -> Belief:
    """Measure and fit: all small tables, or what the adaptive release chooses when the domain is large.

    Asked again under the same name, the ledger gives the same measurements, free.
    """
    domain = curator._domain
    if is_dense(domain, cells):
        targets, shares = zip(*tables(domain), strict=True)
        measured = curator.measure_all(
            targets, price, shares=shares, request=f"{name}: prime", note="Session: priming tables", run=name
        )
        return DenseBelief(domain, measured, rows)
    from hedgerow.mechanisms.adaptive import AdaptiveRelease

    budget = curator.ledger.budget.part(price)
    release = AdaptiveRelease(budget=budget, run=f"{name}: prime")
    synopsis = release.release(curator, marginals(domain, min(len(domain), 3)))
    learned = synopsis._learned
    return FactoredBelief(learned.hypothesis, learned.measurements, rows, learned.spread)
