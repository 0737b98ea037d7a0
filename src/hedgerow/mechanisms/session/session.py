"""Session: questions asked one after another, answered from what the session has learned so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from hedgerow.curator.curator import Curator
from hedgerow.curator.spender import Spend
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.progress import Progress
from hedgerow.mechanisms.session.core import Core, is_begun
from hedgerow.mechanisms.session.open_session import OpenSession, number
from hedgerow.mechanisms.session.price import refuse_accuracy
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.rational import exact


@dataclass(frozen=True)
class Session:
    """An online session: measure all small tables once, learn from them, answer anything, certify on request.

    Privacy: priming measures every table of at most three attributes by the discrete Gaussian mechanism
    ([CKS20] Thm 4; Laplace [GRS09] under a pure budget), or runs the adaptive release when the domain is
    too large for that: one-way tables, distances of pairs of many levels to independence, residuals of
    pairs at the strategy's exact norms, or tables that are chosen where those were mostly noise, distances
    of some tables to what is answered; answers from what was learned are post-processing. With an accuracy
    given, a learned answer is compared with the rows by two one-sided sparse vectors (the theorem of
    `curator.runs.one_sided`; AboveThreshold [DR14] under `replace`), each paid when it is opened and again
    after it trips; a question that trips is measured with its own noise, and asked again at a closer
    accuracy it is refined by a fresh measurement (`session.chain`). What is asked, measured and opened
    depends on released values only, so the ledger's filter composes all of it, concurrently open runs too
    ([VZ23], [L22]). Accuracy: all certified answers of a session that state a confidence of c or more hold
    at once with probability c, `measured` ones each with theirs; `learned` ones have an indicative error.
    Charged in `Curator.measure_all` and when a sparse vector is opened.

    Args:
        epsilon: what priming spends; all that remains of the budget if None and no accuracy is given.
        budget: the same as a `Budget`.
        within: how far off answers may be, as a part of all rows: then priming spends what that needs.
        within_count: the same, as a number of rows.
        confidence: how sure a session of given accuracy is.
        questions: about how many different questions are expected; only moves costs.
        cells: the largest domain that is held as a weight for every cell.
        name: tells sessions on one dataset apart; the same name and parameters continue a session.

    >>> Session(within=0.01).confidence
    0.999
    """

    epsilon: float | None = None
    budget: Budget | None = None
    within: float | None = None
    within_count: float | None = None
    confidence: float = 0.999
    questions: int = 10_000
    cells: int = 1 << 22
    name: str = ""

    citations: ClassVar[tuple[str, ...]] = ("CKS20", "BS16", "DR14", "VZ23", "L22")

    def open(self, curator: Curator, *, watch: Callable[[Progress], None] | None = None) -> OpenSession:
        """Open the session, or continue it when the ledger knows it, free.

        Args:
            curator: who pays for priming; others join with `OpenSession.share`.
            watch: told how far learning is, where that takes a while.
        """
        finite(curator)
        plan = self._checked()
        return OpenSession(Core(plan, curator, plan._name(curator), watch), curator)

    def begun(self, curator: Curator) -> bool:
        """Whether the ledger knows this session as one that was paid for: continuing it costs nothing."""
        finite(curator)
        return is_begun(curator, self._checked()._name(curator))

    def spend(self) -> Spend:
        """What priming was given."""
        return self.budget if self.budget is not None else self.epsilon

    def _checked(self) -> Session:
        """The session with plain numbers, or a refusal."""
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise UnsupportedQuery("`budget` is a Budget; an epsilon goes into `epsilon`")
        if self.epsilon is not None and self.budget is not None:
            raise UnsupportedQuery("give a session an epsilon or a budget, not both")
        plain = {name: number(name, getattr(self, name)) for name in ("within", "within_count", "confidence")}
        refuse_accuracy(**plain)
        if (
            type(self.questions) is not int
            or self.questions < 1
            or type(self.cells) is not int
            or self.cells < 1
        ):
            raise UnsupportedQuery("`questions` and `cells` are whole numbers, 1 or more")
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise UnsupportedQuery("a session's name is printable text")
        return replace(self, **plain)  # type: ignore[arg-type]

    def _name(self, curator: Curator) -> str:
        """The session's name in the ledger: everything public that it depends on, and whether noise is real.

        Amounts are exact numbers: 1 and 1.0 are one session, and so is a budget after a raised delta.
        """
        numbers = [
            None if x is None else str(exact(x)) for x in (self.epsilon, self.within, self.within_count)
        ]
        spend = None if self.budget is None else Cost(self.budget.currency, self.budget.cost.amount).to_json()
        rest = (str(exact(self.confidence)), self.questions, self.cells, self.name)
        about = (numbers, spend, rest, finite(curator).fingerprint, curator.account, curator.real_noise)
        digest = hashlib.sha256(repr(about).encode()).hexdigest()
        return f"session {self.name + ' ' if self.name else ''}{digest[:12]}"
