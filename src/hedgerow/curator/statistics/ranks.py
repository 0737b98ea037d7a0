"""RankErrors: which edge of a public grid has nearly a given share of the rows below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.statistics import fingerprint, score
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

PARTS = 1000
"""A share is given in so many parts of all."""

_MOST_LEAN = 1 << 40


@score
@dataclass(frozen=True, eq=False)
class RankErrors:
    """Candidates are the edges of an attribute's bins; the score says how far each is from a quantile.

    With L rows below an edge and R rows at or above it, missing ones in neither, the score of an edge is
    -|(1000 - q) L - q R|: 0 where exactly q in a thousand lie below. It needs no count of all rows. A row
    more adds 1000 - q or q inside the bars, one that is swapped takes one away and adds another: it moves by
    at most (1000 - q) + q. By [MT07] Thm 6 the chosen edge's score is within 2 Delta ln(edges / beta) /
    epsilon of the best one's but with probability beta. Beyond the last row all edges have one score: `lean`
    prefers those before them, by as much for every edge; it is public, and moves with no row.

    Args:
        attribute: has bins.
        share: q, from 1 to 999 in a thousand.
        lean: what an edge's score loses for every edge below it; above it, if negative.
        around: an edge's place; then the lean is lost for every edge between it and that one, on both sides.
    """

    attribute: str
    share: int
    lean: int = 0
    around: int | None = None

    def __post_init__(self) -> None:
        """The norms rest on the share."""
        if type(self.share) is not int or not 0 < self.share < PARTS:
            raise UnsupportedQuery("a rank is a whole number of thousandths, from 1 to 999")
        if type(self.lean) is not int or not abs(self.lean) < _MOST_LEAN:
            raise UnsupportedQuery("a lean is a whole number, below 2^40")
        if self.around is not None and type(self.around) is not int:
            raise UnsupportedQuery("a lean goes towards the place of an edge, a whole number")

    def check(self, domain: Domain) -> None:
        """The attribute is there and has edges, and numbers beyond them are clipped."""
        found = domain[self.attribute]
        if not isinstance(found, Bins) or found.other:
            raise UnsupportedQuery("ranks are those of bins without `other`")

    @property
    def norms(self) -> Norms:
        """A row more moves a score by q or 1000 - q, a swap by 1000."""
        most = max(self.share, PARTS - self.share)
        return Norms(most, most**2, PARTS, PARTS**2)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        place = () if self.around is None else (self.around,)
        return fingerprint("ranks", self.attribute, self.share, self.lean, *place)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The score of every edge, the first and the last included."""
        counts = rows.tables([(self.attribute,)])[(self.attribute,)]
        bins = rows.domain[self.attribute]
        present = counts[: len(bins.values)]
        below = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(present)])
        above = below[-1] - below
        places = np.arange(len(below), dtype=np.int64)
        lost = self.lean * (places if self.around is None else np.abs(places - self.around))
        return np.asarray(-np.abs((PARTS - self.share) * below - self.share * above) - lost)
