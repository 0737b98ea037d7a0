"""GuestAct: a private act of somebody else's - its own noise, drawn by our samplers, charged as it claims.

Privacy: the author's claim, and nothing else. It is on the ledger's line, which is written in the same
transaction that draws, before anybody sees what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from hedgerow.curator.noise import noise
from hedgerow.curator.statistics.claimed import is_whole, plain, quietly
from hedgerow.curator.statistics.statistics import fingerprint
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.event import Event
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.privacy.rational import Number, exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.noise.noise import Entropy
    from hedgerow.curator.spender import Spend
    from hedgerow.privacy.budget import Cost, Privacy
    from hedgerow.queries.domain.domain import Domain

Guest = TypeVar("Guest", bound=type)
Clique = tuple[str, ...]

_CLAIMS: dict[type, Claim] = {}


class Coins:
    """Exact noise from the curator's own source: the only randomness that an act should use."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def laplace(self, scale: Number, size: int) -> NDArray[np.int64]:
        """Discrete Laplace noise, P(z) ~ exp(-|z| / scale)."""
        return noise.discrete_laplace(exact(scale), size, self._entropy)

    def gaussian(self, sigma: Number, size: int) -> NDArray[np.int64]:
        """Discrete Gaussian noise, P(z) ~ exp(-z^2 / 2 sigma^2)."""
        return noise.discrete_gaussian(exact(sigma), size, self._entropy)

    def geometric(self, scale: Number, size: int) -> NDArray[np.int64]:
        """Noise that is never negative, P(z) ~ exp(-z / scale) for z = 0, 1, ..."""
        return noise.geometric(exact(scale), size, self._entropy)

    def below(self, n: int, size: int) -> NDArray[np.int64]:
        """Uniform numbers from 0 to n - 1."""
        return noise.uniform_below(n, size, self._entropy)

    def heads(self, gamma: Number, size: int) -> NDArray[np.bool_]:
        """Coins that are true with probability exp(-gamma)."""
        return noise.bernoulli_exp(Fraction(exact(gamma)), size, self._entropy)


class GuestAct(Protocol):
    """What an act of one's own has: a frozen dataclass of public values, and these."""

    @property
    def tables(self) -> Sequence[Clique]:
        """The exact tables it reads, each named by its attributes in the domain's order."""
        ...

    def event(self, price: Cost, privacy: Privacy) -> Event:
        """What it is charged as - `Pure`, `ZCDP`, `Approximate`, ... - for at most a price.

        Args:
            price: what it may cost, in the ledger's currency.
            privacy: whom the ledger protects: `privacy.sensitivity(norms)` says how far a unit moves things.
        """
        ...

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """How many whole numbers it returns, by the domain alone."""
        ...

    def draw(
        self, tables: Mapping[Clique, NDArray[np.int64]], event: Event, coins: Coins
    ) -> NDArray[np.int64]:
        """What is released of some tables, at the event's price, for any tables at all."""
        ...


def claimed_act(*, author: str, proof: str) -> Callable[[Guest], Guest]:
    """Enter a class on the list of acts that may be carried out, on its author's word; see `GuestAct`.

    Args:
        author: who claims that it is as private as it is charged for; kept in the ledger.
        proof: why it is, in words; kept in the ledger.
    """

    def enter(kind: Guest) -> Guest:
        frozen = is_dataclass(kind) and getattr(kind, "__dataclass_params__").frozen  # noqa: B009
        if not isinstance(kind, type) or not frozen:
            raise UnsupportedQuery("an act of one's own is a frozen dataclass of public values")
        _CLAIMS[kind] = Claim(author, proof, kind.__name__)
        return kind

    return enter


def carry_out(
    curator: Curator,
    act: GuestAct,
    spend: Spend = None,
    *,
    request: str | None = None,
    note: str = "",
    run: str | None = None,
) -> NDArray[np.int64]:
    """Carry out an act of one's own: charged, drawn and kept in one transaction, then returned.

    Privacy: what the act's author claims; the ledger's line says so. No message depends on rows: an act that
    fails on the real tables, or returns something else than it declared, has returned zeros, and is charged.

    Args:
        curator: whose rows it reads.
        act: an instance of a class that `claimed_act` has entered.
        spend: an epsilon, Budget or Cost; all that remains if None.
        request, note, run: as in `Curator.measure_all`.
    """
    return Carried.of(curator, act).out(spend, request=request, note=note, run=run)


@dataclass(frozen=True, eq=False)
class Carried:
    """An act with its claim, in front of a curator."""

    curator: Curator
    act: Any
    claim: Claim
    cliques: tuple[Clique, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, curator: Curator, act: Any) -> Carried:
        """Refuse what is no registered act or does not fit the domain."""
        claim, domain = _CLAIMS.get(type(act)), curator._domain
        if claim is None:
            raise UnsupportedQuery("an act of one's own is entered with hedgerow.extending.claimed_act first")
        cliques = tuple(tuple(names) for names in act.tables)
        if any(domain.order(clique) != clique for clique in cliques):
            raise DomainMismatch("a table is named by its attributes, in the domain's order")
        shape = act.shape(domain)
        if not isinstance(shape, tuple) or any(type(n) is not int or n < 1 for n in shape):
            raise UnsupportedQuery(f"the shape of {claim.about} is a tuple of whole numbers, 1 or more")
        return cls(curator, act, claim, cliques, shape)

    def out(self, spend: Spend, **known: Any) -> NDArray[np.int64]:
        """Charge and draw."""
        price = self.curator.price(spend, known["request"])
        event = self.act.event(price, self.curator.privacy)
        if isinstance(event, Event):
            event = from_json(event.to_json())  # one of ours: what the line says is what it costs
        if not isinstance(event, Event) or not cost_of(event, price.currency) <= price:
            raise UnsupportedQuery(f"{self.claim.about} is charged as an event that costs at most its price")
        facts = {"event": event.to_json(), "question": self._digest(event)}
        claim = Claim(self.claim.author, self.claim.proof, self.claim.about, facts)
        rows = self.curator._rows
        return self.curator._act(
            event,
            lambda: rows.tables(self.cliques),
            lambda held: [self._drawn(held, event)],
            f"act:{self._digest(event)}",
            claims=(claim,),
            **known,
        )[0]

    def _drawn(self, held: Mapping[Clique, NDArray[np.int64]], event: Event) -> NDArray[np.int64]:
        tables = MappingProxyType({clique: held[clique].copy() for clique in self.cliques})

        def drawn() -> Any:
            with np.errstate(all="ignore"):  # a warning would be a message too
                return self.act.draw(tables, event, Coins(self.curator._entropy))

        found = quietly(drawn)
        return found.astype(np.int64) if is_whole(found, self.shape) else np.zeros(self.shape, dtype=np.int64)

    def _digest(self, event: Event) -> str:
        kind = type(self.act)
        parts = [plain(getattr(self.act, f.name)) for f in fields(self.act)]
        said = (self.claim.author, self.claim.proof, repr(self.cliques), repr(event.to_json()))
        return fingerprint("act", f"{kind.__module__}.{kind.__qualname__}", *said, *parts)
