"""What a release measures beside its tables: sums of what numbers are within their bins."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from hedgerow.curator.statistics.overall import OverallSums
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.errors import RequestReused
from hedgerow.queries.moments import BinMoments
from hedgerow.queries.number_sums import best_share, numbers, tailed_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.account import Purse
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

Made = TypeVar("Made")
_NOTE = "what numbers are within their bins"
_SUMS = "sums of numbers with long tails"
OWN = Fraction(1, 4)  # of a price: for the sums of all rows of numbers with long tails
BEFORE = (Fraction(1, 8), Fraction(1, 12))  # the same in ledgers of before


def share_of_moments(domain: Domain) -> Fraction:
    """The part of a price that goes to remainders; none where no number has a step and wider bins."""
    return Fraction(round(1000 * best_share(domain)), 1000) if numbers(domain) else Fraction(0)


def as_begun(measure: Callable[[RemainderSums], Made], domain: Domain) -> tuple[Made, bool]:
    """Remainders with sums of ranges, and True; else as a ledger of before measured them under this request.

    Nothing is read or charged where a request id belongs to another question.
    """
    before = (RemainderSums(domain, total=True), RemainderSums(domain))
    try:
        return measure(RemainderSums(domain, total=True, ranged=True)), True
    except RequestReused:
        with suppress(RequestReused):
            return measure(before[0]), False
        return measure(before[1]), False


def measured_tails(
    curator: Curator, price: Cost, domain: Domain, request: str | None, next_: str | None
) -> tuple[Measurement | None, Cost]:
    """Measure sums of all rows of numbers with long tails, and what is left of the price.

    Not where a ledger of before holds the act that comes next, and for less where it holds that: such a run
    goes on as it began.

    Privacy: the discrete Gaussian (or Laplace) mechanism at the norms of `OverallSums`; charged in
    `Curator.measure`.

    Args:
        curator: measures.
        price: of all acts.
        domain: of the rows.
        request: the id of this act.
        next_: that of the one after it.
    """
    begun = [r is not None and curator.ledger.requested(r) is not None for r in (request, next_)]
    if not tailed_numbers(domain) or begun == [False, True]:
        return None, price
    asked = OverallSums(domain)
    for part in (price.share(each) for each in (OWN, *BEFORE[:-1])):
        with suppress(RequestReused):
            return curator.measure(asked, part, request=request, note=_SUMS), price - part
    part = price.share(BEFORE[-1])
    return curator.measure(asked, part, request=request, note=_SUMS), price - part


def measured_moments(purse: Purse, domain: Domain) -> tuple[BinMoments | None, Purse]:
    """Measure what is within bins, if a schema has such numbers, and what is left to spend then.

    Privacy: the discrete Gaussian (or Laplace) mechanism at the norms of `RemainderSums`; charged in
    `Curator.measure`, as one more act of the release.
    """
    if not numbers(domain):
        return None, purse
    next_ = purse.request("moments")
    tails, price = measured_tails(purse.curator, purse.price, domain, purse.request("sums"), next_)
    part = price.share(share_of_moments(domain))
    measured, ranged = as_begun(
        lambda sums: purse.curator.measure(sums, part, request=next_, note=_NOTE), domain
    )
    return BinMoments.of(domain, measured, ranged=ranged, tails=tails), replace(purse, price=price - part)
