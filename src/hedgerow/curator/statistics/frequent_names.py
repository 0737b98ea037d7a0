"""Frequent names: the values of a column that many rows share, found without a declared list of them.

Every name that some row carries gets its count plus discrete Gaussian noise of sigma; those of at least T are
released with their noisy counts, and nothing is said of the others.

Theorem. Let units have at most k rows, S be the squared L2 sensitivity of a histogram (k^2 under
`add_remove`, twice that under `replace`), rho = S / (2 sigma^2), 0 < delta < 1 and
T >= k + sigma sqrt(2 ln(k / delta)). Then the act is delta-approximate rho-zCDP ([BS16] Def. 8.1).

Proof. Let tables D and D' be neighbours, A the names in D alone and B those in D' alone. Only the unit that
differs carries them, so A has at most k names, each of count at most k; so has B. Let E be that no name of A
is released from D. A discrete Gaussian is sigma^2-subgaussian ([CKS20] Cor. 17), so each is released with
probability at most exp(-(T - k)^2 / (2 sigma^2)) <= delta / k, and P(E) >= 1 - delta; likewise E' that no
name of B is released from D'. Noises are independent: given E, what is said of the names in both tables has
the law that it has without E, and nothing else is said; so given E'. Those counts differ by at most sqrt(S)
in L2, and what is released of them is a function of them with their noise, so by [CKS20] Thm 4 and
post-processing the Renyi divergence of order a of the two conditional laws is at most a rho, both ways. That
is the definition. []

Names are spelled as cells are (`encoding.as_text`). One that is longer than `WIDTH` bytes is left out by
itself, whoever else is there. What is kept of the answer are the `most` names of the largest noisy counts,
which is post-processing, in arrays whose size depends on no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise.noise import discrete_gaussian
from hedgerow.curator.statistics.statistics import fingerprint
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.privacy.budget import gaussian_sigma
from hedgerow.queries.domain.domain import OpenDomain
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.rows.table import Rows
    from hedgerow.curator.spender import Spend

WIDTH = 120
"""Bytes of a name; a longer one is left out."""


@dataclass(frozen=True, eq=False)
class NameCounts:
    """The exact counts of all names, and the act that they are for; inside the room only."""

    names: list[str]
    counts: NDArray[np.int64]
    act: FrequentNames


@dataclass(frozen=True)
class FrequentNames:
    """The act: everything about it that is public.

    Args:
        sigma: of the noise on every count.
        threshold: T.
        squared: S.
        max_rows: k.
        delta: the theorem's.
        most: how many names are kept.
    """

    sigma: Fraction
    threshold: int
    squared: Fraction
    max_rows: int
    delta: Fraction
    most: int

    @classmethod
    def planned(cls, curator: Curator, spend: Spend, delta: Fraction, most: int) -> FrequentNames:
        """The noise and the threshold that a price and a delta buy."""
        privacy = curator.privacy
        squared = privacy.sensitivity(Norms.table()).l2_squared
        sigma = gaussian_sigma(squared, curator.price(spend))
        return cls(
            sigma, least_threshold(sigma, privacy.max_rows, delta), squared, privacy.max_rows, delta, most
        )

    @property
    def event(self) -> events.Event:
        """What it costs, by the theorem."""
        return events.ZCDP(self.squared / (2 * self.sigma**2), self.delta)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("frequent", self.sigma, self.threshold, self.squared, self.most)

    def exact(self, rows: Rows) -> NameCounts:
        """All names and their counts, in the order of their spelling."""
        names, counts = rows.all_names()
        short = sorted((n, c) for n, c in zip(names, counts.tolist(), strict=True) if _is_short(n) and c)
        return NameCounts([n for n, _ in short], np.array([c for _, c in short], dtype=np.int64), self)

    def said(self, held: NameCounts, noise: NDArray[np.int64]) -> list[NDArray[Any]]:
        """What is released: names as padded bytes, and their noisy counts, the largest first."""
        noisy = held.counts + noise
        above = np.flatnonzero(noisy >= self.threshold)
        order = sorted(above.tolist(), key=lambda i: (-int(noisy[i]), held.names[i]))[: self.most]
        texts = np.zeros((self.most, WIDTH), dtype=np.uint8)
        counts = np.zeros(self.most, dtype=np.int64)
        for place, i in enumerate(order):
            spelled = np.frombuffer(held.names[i].encode(), dtype=np.uint8)
            texts[place, : len(spelled)] = spelled
            counts[place] = noisy[i]
        return [texts, counts]


def least_threshold(sigma: Fraction, max_rows: int, delta: Fraction) -> int:
    """The theorem's T, rounded up; one more, for the rounding of the logarithm and the root."""
    return max_rows + ceil(float(sigma) * sqrt(2 * log(max_rows / delta)) * (1 + 1e-9)) + 1


def frequent_names(
    curator: Curator,
    spend: Spend,
    delta: Fraction,
    *,
    most: int = 300,
    note: str = "",
    request: str | None = None,
    run: str | None = None,
) -> dict[str, int]:
    """The names that many rows carry, with their noisy counts.

    Privacy: the theorem above; charged in the transaction that draws the noise.

    Args:
        curator: guards rows of an open domain, with a budget that has a delta.
        spend: an epsilon, Budget or Cost.
        delta: what the act takes of the delta that the budget keeps for such acts.
        most: how many names to keep.
        note: words kept in the ledger.
        request, run: as in `Curator.select`.
    """
    if not isinstance(curator.domain, OpenDomain):
        raise UnsupportedQuery("names are found in an open domain: open the table with hr.OpenDomain()")
    if curator.ledger.currency != "rho" or not 0 < delta < 1:
        raise UnsupportedQuery("names are found with a budget that has a delta above 0")
    act = FrequentNames.planned(curator, spend, delta, most)

    def draw(held: NameCounts) -> list[NDArray[Any]]:
        return act.said(held, discrete_gaussian(act.sigma, held.counts.size, curator._entropy))

    question = f"frequent names:{act.digest}:{act.event.to_json()!r}"
    texts, counts = curator._act(
        act.event, lambda: act.exact(curator._rows), draw, question, note=note, request=request, run=run
    )
    spelled = [bytes(t).rstrip(b"\0").decode() for t in texts]
    return {name: int(n) for name, n in zip(spelled, counts, strict=True) if n}


def _is_short(name: str) -> bool:
    return 0 < len(name.encode()) <= WIDTH and "\0" not in name
