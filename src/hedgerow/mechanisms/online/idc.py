"""IDC: an update rule with a bound B(alpha), and a sparse vector, make an interactive mechanism [BR11].

An iterative database construction ([BR11] Def. 3.1, 3.2) is a hypothesis that needs at most B(alpha) updates,
each on a query where it is wrong by alpha, with an answer that is right to alpha, before it is right on every
query. A numeric sparse vector finds such queries and answers them; the rest is answered by the hypothesis.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.curator.rows.source import begin_run, recall_run
from hedgerow.curator.runs.sparse_vector_plan import SparseVectorPlan, plan
from hedgerow.curator.statistics.sketch import RowsOfNames
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.mechanism import guarded
from hedgerow.mechanisms.online.conversation import Conversation
from hedgerow.mechanisms.online.terms import OnlineTerms, Total
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Budget, Cost, exact
from hedgerow.queries.argument import finite, number, text
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE, Norms, Query
from hedgerow.synopsis.online import OnlineNamesSynopsis, OnlineSynopsis
from hedgerow.synopsis.synopsis import Provenance
from hedgerow.synopsis.transcript import Call, Transcript

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator, NoiseChoice
    from hedgerow.curator.spender import Spend

TOTAL_SHARE = Fraction(1, 20)
"""The part of the price, and of beta, that counting the rows takes where their number is not public."""

_PAPER = Fraction(65, 162)  # rho of NumericSparse's pure form: c ((8e/9)^2 + (e/9)^2) / 2 at e = epsilon/c
_UP = 1 + Fraction(1, 2**38)  # the price is rounded down again on its way to e


@dataclass(frozen=True)
class IDC:
    """What interactive mechanisms share: prices, the total, terms, the sparse vector, and going on later.

    Privacy: rows are met by `Curator.sparse_vector` (NumericSparse, [DR14] Thm 3.25 and 3.27; proof for
    discrete noise in `curator.runs.comparison`) and, where their number is not public, by one measurement of
    it; both charge in the transaction that draws. Everything else is post-processing. Accuracy: [DR14] Thm
    4.14 and 4.15, [BR11] Thm 3.3, with T = 2 alpha; tuned mode: the tails of the noise that was used.

    Args:
        alpha: theorem mode: answers are within 3 alpha N, all at once.
        beta: the probability that some error bound fails.
        queries: k, how many questions there will be: needed in theorem mode; tuned mode is laid out for it.
        epsilon: what the run spends; all that remains of the curator's budget if None.
        delta: 0 or more for the paper's pure or (epsilon, delta) form; None for what the ledger counts in.
        budget: the spend as a `Budget`, where an epsilon does not say it.
        updates: tuned mode: c, how many updates the budget is divided by.
        threshold: tuned mode: T in rows.
        rows: the number of rows, where it may be declared; never read from the rows themselves.
        run: a name for the run: opening it again goes on with it, free.
    """

    alpha: float | None = None
    beta: float = 0.05
    queries: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    budget: Budget | None = None
    updates: int | None = None
    threshold: float | None = None
    rows: float | None = None
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("BR11", "DR14", "HR10")

    def open(self, curator: Curator) -> Conversation:
        """Charge the curator and open the run, or go on with it if the ledger knows its name.

        Refuses, before anything is charged, parameters that do not fit; in theorem mode also, before the
        sparse vector is opened, a theorem that says nothing for so few rows.
        """
        guarded(curator)
        self._check()
        c = self._count(curator)
        label = self.run or f"{type(self).__name__}-{secrets.token_hex(8)}"
        kept, question = f"{label}: terms", self._fingerprint
        known = recall_run(curator, kept, question)
        prices = Prices.of(self, curator, c) if known is None else Prices.read(known.answer or b"")
        made = prices.plan(curator, c)
        if known is None:
            if prices.total is None:
                self._terms(curator, made, self._known_total(curator))  # refuse before a word is written
            whole = cost_of(made.event, curator.ledger.currency)
            curator.ledger.check(whole if prices.total is None else whole + prices.total, curator.account)
            entry = begin_run(curator, prices.text(), request=kept, question=question)
            prices = Prices.read(entry.answer or b"")  # of two that open a run at once the first one's hold
            made = prices.plan(curator, c)
        total = self._known_total(curator) if prices.total is None else self._measured(curator, prices, label)
        terms = self._terms(curator, made, total)
        vector = curator.sparse_vector(
            terms.threshold,
            prices.vector,
            method="numeric_sparse",
            count=c,
            delta=prices.delta,
            run=label,
            note=f"{type(self).__name__}, {'theorem' if self.alpha else 'tuned'} mode",
        )
        cost = cost_of(vector.plan.event, curator.ledger.currency)
        cost = cost if prices.total is None else cost + prices.total
        start = partial(self._hypothesis, curator, terms.total)
        part = curator.ledger.budget.part(cost)
        return Conversation(start, vector, terms, part, partial(self._synopsis, curator, part, total))

    # -- what an instance says ----------------------------------------------------------------------------

    def _hypothesis(self, curator: Curator, total: float) -> Any:
        """The hypothesis before any update; refuses a domain it cannot hold."""
        raise NotImplementedError

    def _bound(self, curator: Curator, alpha: float) -> int:
        """c = ceil(B(alpha))."""
        raise NotImplementedError

    def _synopsis(
        self, curator: Curator, cost: Budget, total: Total, hypothesis: Any, calls: Iterable[Call]
    ) -> OnlineSynopsis | OnlineNamesSynopsis:
        """What a run takes home: nothing here meets the rows."""
        law = None if total.measured is None else total.measured.noise
        said = Transcript.of(calls, self.beta, total.off, law)
        parameters = {k: v for k, v in asdict(self).items() if v is not None and k != "budget"}
        signed = Provenance(
            type(self).__name__, parameters, cost, curator.receipt, curator.private, self.citations
        )
        measured = () if total.measured is None else (total.measured,)
        kind = OnlineSynopsis if isinstance(curator.domain, Domain) else OnlineNamesSynopsis
        return kind.of(curator.domain, signed, hypothesis, said, measured)  # type: ignore[arg-type]

    # -- inside -------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that do not fit together."""
        if (self.alpha is None) == (self.updates is None):
            raise UnsupportedQuery("give alpha (theorem mode) or updates (tuned mode), one of the two")
        if self.epsilon is not None and self.budget is not None:
            raise UnsupportedQuery("give a mechanism an epsilon or a budget, not both")
        if self.delta is not None and self.epsilon is None:
            raise UnsupportedQuery("a delta comes with an epsilon: the two are one promise")
        for name in ("alpha", "delta", "rows"):
            number(name, 1 if getattr(self, name) is None else getattr(self, name))
        finite("threshold", 0 if self.threshold is None else self.threshold)
        exact(1 if self.epsilon is None else self.epsilon)
        text("the name of a run", self.run)
        if not isinstance(self.budget, Budget | None):
            raise UnsupportedQuery("a budget is given as hedgerow.Budget(epsilon=..., delta=...)")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise UnsupportedQuery("delta lies between 0 and 1")
        if not 0 < number("beta", self.beta) < 1:
            raise UnsupportedQuery("beta lies between 0 and 1")
        if self.rows is not None and not 0 < self.rows < 2**53:
            raise UnsupportedQuery("a declared number of rows is above 0")
        if self.queries is not None and (type(self.queries) is not int or not 1 <= self.queries < 1 << 53):
            raise UnsupportedQuery("queries is a whole number, 1 or more")
        if self.alpha is None:
            if type(self.updates) is not int or not 1 <= self.updates < 1 << 53:
                raise UnsupportedQuery("updates is a whole number, 1 or more")
            return
        if not 0 < self.alpha < 1 / 3:
            raise UnsupportedQuery("the theorem promises 3 alpha of the rows, which says something below 1/3")
        if self.queries is None or self.threshold is not None:
            raise UnsupportedQuery("theorem mode needs queries=, and sets the threshold itself")

    def _count(self, curator: Curator) -> int:
        """c; also refuses a domain that the hypothesis cannot hold."""
        if self.alpha is not None:
            return self._bound(curator, self.alpha)
        self._bound(curator, 0.1)
        assert self.updates is not None
        return self.updates

    def _known_total(self, curator: Curator) -> Total:
        """The public number of rows, or else the declared one."""
        public = curator.rows
        return Total(max(1.0, float(self.rows or 0) if public is None else float(public)))

    def _measured(self, curator: Curator, prices: Prices, label: str) -> Total:
        """Count the rows with noise, once; from then on that number is N."""
        target = Query.total() if isinstance(curator.domain, Domain) else RowsOfNames()
        noise: NoiseChoice = "laplace" if self.delta is not None else "auto"
        found = curator.measure(
            target, prices.total, noise=noise, request=f"{label}: total", note=type(self).__name__
        )
        beta = float(TOTAL_SHARE) * self.beta
        off = found.noise.half_width(1 - beta)
        return Total(max(1.0, float(found.values.ravel()[0]) / found.noise.denominator), off, beta, found)

    def _terms(self, curator: Curator, made: SparseVectorPlan, total: Total) -> OnlineTerms:
        if self.alpha is None:
            return OnlineTerms.tuned(self.beta, self.queries, total, made, self.threshold)
        assert self.queries is not None
        share = 1 if not total.beta else float(1 - TOTAL_SHARE)
        said = self.delta is not None or curator.ledger.currency == "epsilon"  # else the plan says it
        epsilon = share * self.epsilon if said and self.epsilon is not None else None
        return OnlineTerms.theorem(
            self.alpha, self.beta, self.queries, total, made, epsilon, float(self.delta or 0)
        )

    @property
    def _fingerprint(self) -> str:
        """What a run's name is bound to: everything but the name."""
        return repr((type(self).__name__, sorted((k, v) for k, v in asdict(self).items() if k != "run")))


@dataclass(frozen=True)
class Prices:
    """What a run pays, fixed when it is first opened: what remains of a budget is another amount later.

    Args:
        vector: the sparse vector's price: a Cost, or the epsilon of its (epsilon, delta) form.
        delta: of that form, else 0.
        total: the price of counting the rows, None when their number is public or declared.
    """

    vector: Cost | Fraction
    delta: Fraction
    total: Cost | None

    @classmethod
    def of(cls, mechanism: IDC, curator: Curator, c: int) -> Prices:
        """Divide what the mechanism spends."""
        counted = mechanism.rows is None and curator.rows is None
        share = TOTAL_SHARE if counted else Fraction(0)
        currency = curator.ledger.currency
        if mechanism.delta is None or (mechanism.delta == 0 and currency == "epsilon"):
            spend: Spend = mechanism.epsilon if mechanism.budget is None else mechanism.budget
            price = curator.price(spend)
            price = Cost(currency, price.amount)
            rest = price - price.share(share)
            return cls(rest, Fraction(0), price.share(share) if counted else None)
        whole = exact(mechanism.epsilon or 0)
        epsilon, small = whole * (1 - share), whole * share
        total = Cost(currency, small if currency == "epsilon" else small**2 / 2) if counted else None
        if mechanism.delta:
            return cls(epsilon, exact(mechanism.delta), total)
        return cls(Cost("rho", _PAPER * epsilon**2 / c * _UP), Fraction(0), total)

    def plan(self, curator: Curator, c: int) -> SparseVectorPlan:
        """The noise that this buys; the threshold comes later."""
        sensitivity = curator.privacy.sensitivity(Norms.query(ONE)).l1
        paper = not isinstance(self.vector, Cost)
        price = Cost.zero(curator.ledger.currency) if paper else self.vector
        epsilon = self.vector if paper else None
        return plan("numeric_sparse", price, sensitivity, 0, ONE, count=c, epsilon=epsilon, delta=self.delta)  # type: ignore[arg-type]

    def text(self) -> bytes:
        """As the ledger keeps it."""
        vector = self.vector.to_json() if isinstance(self.vector, Cost) else str(self.vector)
        total = None if self.total is None else self.total.to_json()
        return json.dumps({"vector": vector, "delta": str(self.delta), "total": total}).encode()

    @classmethod
    def read(cls, text: bytes) -> Prices:
        """The inverse of `text`."""
        data = json.loads(text)
        vector, total = data["vector"], data["total"]
        return cls(
            Fraction(vector) if isinstance(vector, str) else Cost.from_json(vector),
            Fraction(data["delta"]),
            None if total is None else Cost.from_json(total),
        )
