"""Guard: the sparse vectors that vouch for learned answers of one accuracy, run after run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.one_sided import OneSidedRun, ask_both, best_share, planned
from hedgerow.curator.sparse_vector_plan import RESERVED
from hedgerow.errors import LedgerError, RunClosed
from hedgerow.privacy.budget import Cost
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.sparse_vector import SparseVectorRun
    from hedgerow.mechanisms.session_log import Log
    from hedgerow.mechanisms.session_price import Goal
    from hedgerow.queries.query import Query

_EXPECTED = Fraction(1, 3)  # of alpha: how far off answers may be that should rarely trip


@dataclass(eq=False)
class Guard:
    """Comparisons that certify `goal` for every answer they let pass, over the whole session.

    Under `add_remove` these are two one-sided runs, of which only the one that trips is drawn and paid again;
    run j of each side certifies alpha at beta_j = (beta / 2) / (j (j + 1)), and these add up to beta. Under
    `replace` it is one ordinary AboveThreshold of |error| over at most `questions` questions, run j at
    beta / (j (j + 1)).

    Args:
        goal: what is certified.
        price: of one run.
        questions: about how many will be asked.
        log: where openings are written down.
        number: tells this guard from the session's others.
    """

    goal: Goal
    price: Cost
    questions: int
    log: Log
    number: int
    debt: Fraction = Fraction(0)  # what directly measured answers must still make up for
    saved: Fraction = Fraction(0)  # what certified answers would have cost since the last trip
    _runs: dict[str, Any] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    @property
    def sides(self) -> tuple[str, ...]:
        """One-sided runs where answers all move the same way, else one run for both directions."""
        add_remove = self.log.curator.privacy.neighbours == "add_remove"
        return ("over", "under") if add_remove else ("absolute",)

    @property
    def closed(self) -> list[str]:
        """The sides that must be opened before anything is compared."""
        return [s for s in self.sides if s not in self._runs or self._is_closed(self._runs[s])]

    def _is_closed(self, run: OneSidedRun | SparseVectorRun) -> bool:
        if isinstance(run, OneSidedRun):
            return run.closed
        return run.remaining == 0 or run.asked >= self.questions

    @property
    def opening(self) -> Cost:
        """What opening the closed sides costs now."""
        cost = Cost.zero(self.price.currency)
        for _ in self.closed:
            cost = cost + self.price
        return cost

    @property
    def runs(self) -> int:
        """How many runs there have been."""
        return sum(self._count.values())

    def open(self, payer: Curator) -> None:
        """Open every closed side, at the payer's cost."""
        for side in self.closed:
            j = self._count.get(side, 0) + 1
            line: dict[str, Any] = {
                "do": "run",
                "guard": self.number,
                "side": side,
                "j": j,
                "account": payer.account,
            }
            if side != "absolute":
                error = float(self.goal.alpha * _EXPECTED)
                beta = self._beta(side, j)
                line["share"] = str(best_share(payer, self.price, self.goal.alpha, beta, error=error))
            self.log.write(line)
            self._count[side] = j
            self._runs[side] = self._open(payer, line)

    def resume(self, line: dict[str, Any]) -> None:
        """Take up a run that an earlier process opened, if it came to be opened."""
        side, j = line["side"], line["j"]
        self._count[side] = max(j, self._count.get(side, 0))
        self._runs.pop(side, None)
        ledger = self.log.curator.ledger
        if any(True for _ in ledger.replay(RESERVED + self._label(side, j))):
            account = line["account"]
            payer = self.log.curator
            try:
                self._runs[side] = self._open(
                    payer if account == payer.account else payer.child(account), line
                )
            except LedgerError:  # its account is closed: the side must be opened anew
                return

    def compare(self, queries: Sequence[Query], estimates: Any) -> tuple[int, list[str]]:
        """How many questions were decided, and which sides the last of them tripped."""
        try:
            if self.sides == ("absolute",):
                said = self._runs["absolute"].ask_all(list(queries), np.asarray(estimates), side="absolute")
                return len(said), ["absolute"] if said.above.any() else []
            both = ask_both(self._runs["over"], self._runs["under"], list(queries), estimates)
            return both.asked, [s for s, hit in (("over", both.over), ("under", both.under)) if hit]
        except (LedgerError, RunClosed):
            self._runs.clear()  # an account was closed, or another process moved the run on
            raise

    # -- inside -------------------------------------------------------------------------------------------

    def _beta(self, side: str, j: int) -> Fraction:
        whole = self.goal.beta if side == "absolute" else self.goal.beta / 2
        return whole / (j * (j + 1))

    def _label(self, side: str, j: int) -> str:
        return f"{self.log.name}: guard {self.number} {side} {j}"

    def _open(self, payer: Curator, line: dict[str, Any]) -> Any:
        side, j = line["side"], line["j"]
        note = f"Session: comparisons, {side}, run {j}"
        if side == "absolute":
            return payer.sparse_vector(
                self._two_sided_threshold(payer, j),
                self.price,
                denominator=ONE,
                run=self._label(side, j),
                note=note,
            )
        plan = planned(payer, 0, self.price, side=side, denominator=ONE, share=Fraction(line["share"]))
        plan = plan.reaching(self.goal.alpha, self._beta(side, j))
        return OneSidedRun(payer, plan, self._label(side, j), note)

    def _two_sided_threshold(self, payer: Curator, j: int) -> Fraction:
        """T with T + z - nu <= alpha for all questions of the run, except with probability beta_j.

        AboveThreshold's noise has scales 2 Delta/eps and 4 Delta/eps; half of beta_j is for z, half for the
        smallest of the nu. A discrete Laplace tail is at most e^(-t/b).
        """
        from hedgerow.curator.sparse_vector_plan import plan

        delta = payer.privacy.sensitivity(Norms.query(ONE)).l1
        event = plan("above_threshold", self.price, delta, 0, ONE)
        beta = float(self._beta("absolute", j))
        reach = float(event.threshold_scale) * log(2.0 / beta)
        reach += float(event.query_scale) * log(2.0 * self.questions / beta)
        return self.goal.alpha - Fraction(reach / ONE).limit_denominator(1 << 20) - Fraction(2, ONE)
