"""Guard: the sparse vectors that vouch for learned answers of one accuracy, run after run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.runs.one_sided import OneSidedRun, ask_both, best_share, planned
from hedgerow.curator.runs.one_sided_plan import reach
from hedgerow.curator.runs.sparse_vector_plan import RESERVED, plan
from hedgerow.errors import LedgerError, RunClosed
from hedgerow.privacy.budget import Cost
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.runs.sparse_vector import SparseVectorRun
    from hedgerow.mechanisms.session.log import Log
    from hedgerow.mechanisms.session.price import Goal
    from hedgerow.queries.query import Query

_EXPECTED = Fraction(1, 3)  # of alpha: how far off answers may be that should rarely trip


@dataclass(eq=False)
class Guard:
    """Comparisons that certify `goal` for every answer they let pass, over the whole session.

    Under `add_remove` these are two one-sided runs, of which only the one that trips is drawn and paid again;
    run j of each side certifies alpha at beta_j = (beta / 2) / (j (j + 1)), and these add up to beta. Under
    `replace` it is one ordinary AboveThreshold of |error|, run j at beta / (j (j + 1)); see
    `two_sided_threshold`. Here beta is the goal's times `share`: the shares of all guards add up to less than
    1, so all that they certify with a confidence of at least c holds at once with probability c.

    Args:
        goal: what is certified.
        price: of one run.
        questions: about how many will be asked.
        log: where openings are written down.
        number: tells this guard from the session's others.
        debt, saved, share: see below.
    """

    goal: Goal
    price: Cost
    questions: int
    log: Log
    number: int
    debt: Fraction = Fraction(0)  # what directly measured answers must still make up for
    saved: Fraction = Fraction(0)  # what certified answers would have cost, less what trips did
    share: Fraction = Fraction(1)  # of beta: all guards of a session keep it together
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
        return run.remaining == 0

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

    def open(self, payer: Curator) -> Iterator[Cost]:
        """Open every closed side, at the payer's cost; says what each of them cost when it is open."""
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
            yield self.price

    def refresh(self) -> None:
        """See what other processes did to the runs; one whose account was closed must be opened anew."""
        for side, run in list(self._runs.items()):
            try:
                run.refresh()
            except LedgerError:
                del self._runs[side]

    def resume(self, line: dict[str, Any]) -> None:
        """Take up a run that an earlier process opened, if it came to be opened."""
        side, j = line["side"], line["j"]
        self._count[side] = max(j, self._count.get(side, 0))
        self._runs.pop(side, None)
        ledger = self.log.curator.ledger
        if any(True for _ in ledger.replay(RESERVED + self._label(side, j))):
            try:
                self._runs[side] = self._open(self.log.payer(line["account"]), line)
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
        beta = self.goal.beta * self.share
        whole = beta if side == "absolute" else beta / 2
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
        made = planned(payer, 0, self.price, side=side, denominator=ONE, share=Fraction(line["share"]))
        made = made.reaching(self.goal.alpha, self._beta(side, j))
        return OneSidedRun(payer, made, self._label(side, j), note)

    def _two_sided_threshold(self, payer: Curator, j: int) -> Fraction:
        """The highest T, in rows, with which an ordinary run certifies alpha at beta_j."""
        delta = payer.privacy.sensitivity(Norms.query(ONE)).l1
        run = plan("above_threshold", self.price, delta, 0, ONE)
        scales = run.threshold_scale, run.query_scale
        return Fraction(two_sided_threshold(self.goal.alpha * ONE, *scales, self._beta("absolute", j)), ONE)


def two_sided_threshold(alpha: Fraction, b1: Fraction, b2: Fraction, beta: Fraction) -> int:
    """The highest T with which AboveThreshold certifies alpha: all "below" of a run at once, at 1 - beta.

    All in lattice steps. Let v_i be the difference |answer - estimate| on the lattice, z and nu_i discrete
    Laplace noise of scales b1 and b2; "below" means v_i + nu_i < T + z. An estimate is off the lattice by at
    most half a step, so alpha is missed only where v_i > E = floor(alpha - 1/2).

    *No union over questions.* Let t be the place of the first question with v_t > E: whoever asks may choose
    it in view of what was said. If it is "above" the run is over and has certified nothing wrong; so
    something wrong is certified only if the run comes to t and t is "below", that is, z - nu_t >= v_t - T + 1
    >= r with r = E + 2 - T. The noise nu_t is drawn after t was chosen, independent of z and of all that was
    said. So P(wrong) = E[1{the run comes to t} P(z - nu_t >= v_t - T + 1 | z, what was said)] <=
    P(z - nu >= r) with z and nu of their own laws: that "below" answers before t speak for a large z is in
    the indicator.

    *The tail.* Let b = max(b2, 2 b1) and p = e^(-1/b). P(-nu >= s) <= p^s for all integers s, so
    P(z - nu >= r) <= p^r E[e^(z/b)], and with p1 = e^(-1/b1) <= p^2 the mean is
    (1 - p1)^2 / ((1 - p1/p)(1 - p1 p)) <= (1 + p)^2 / (1 + p + p^2) <= 4/3. So r >= b ln(4 / (3 beta)) is
    enough, however many questions there are.
    """
    error = floor(alpha - Fraction(1, 2))
    return error + 2 - reach(max(b2, 2 * b1), beta * Fraction(3, 4))
