"""Learning: what a first question pays for, once, and the session that all doors of a dataset share then."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hedgerow.errors import BudgetExceeded, HedgerowError
from hedgerow.mechanisms.session.core import begun_sessions
from hedgerow.mechanisms.session.session import Session
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import OWNER
from hedgerow.release.numerals import amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.progress import Progress
    from hedgerow.mechanisms.session.foresee import Foresight
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.service.dataset import Step

    First = Callable[[Curator, Cost], Foresight]

_PRICE = "hedgerow ask: price"  # ledgers hold it
_LEAST = Fraction(1, 10**4)  # of the budget: less is what rounding left behind


@dataclass(frozen=True)
class Learning:
    """How a dataset is learned when it is asked for the first time, or anew.

    Args:
        epsilon: what learning spends; half of what remains if None.
        anew: learn again, and pay again, although something was learned.
    """

    epsilon: str | None = None
    anew: bool = False

    def price(self, curator: Curator) -> Cost:
        """What learning costs: what was said, or half of what remains; crumbs of a budget teach nothing."""
        if self.epsilon is not None:
            return curator.price(self.epsilon)
        left = curator.price()
        if left.amount < curator.ledger.budget.cost.amount * _LEAST:
            raise BudgetExceeded("Nothing is left of this dataset's budget to learn from.")
        return left.share(Fraction(1, 2))

    def known(self, curator: Curator) -> tuple[int, Session | None]:
        """The number of the next session, and the newest one whose learning was paid for.

        What was learned under another schema cannot answer under this one; learning again must be said.
        """
        number, found = 0, None
        while (kept := curator.ledger.recall(f"{_PRICE}{_of(curator, number)}", "ask")) is not None:
            session = _session(curator, number, kept.answer or b"")
            found = session if session.begun(curator) else found
            number += 1
        named = rf"ask{_of(curator)}( \d+)?"
        if number and found is None and not self.anew and begun_sessions(curator, named):
            raise HedgerowError(
                "the schema is not the one under which this dataset was asked before, and what was learned "
                "then cannot answer: go back to that schema, or learn again with --anew, "
                f"{self._again(curator)}"
            )
        return number, None if self.anew else found

    def open(self, curator: Curator, first: First | None = None, step: Step | None = None) -> OpenSession:
        """The dataset's one session; its price is decided by whoever asks first.

        Nobody else decides one meanwhile; a price that was written down and never paid binds nobody.

        Args:
            curator: who pays for learning.
            first: what the first question would do, to be refused before learning is paid.
            step: told how far learning is.
        """
        ledger = curator.ledger
        with ledger.alone():
            number, session = self.known(curator)
            if session is None:
                price = self.price(curator)
                self.refuse(curator, price, first)
                said = json.dumps(price.to_json()).encode()
                ledger.record(said, request=f"{_PRICE}{_of(curator, number)}", question="ask")
                session = _session(curator, number, said)
            elif self.epsilon is not None:
                raise HedgerowError(
                    "--epsilon is for the first question, and this dataset has been asked before; leave it "
                    "out, or learn again with --anew"
                )
            return session.open(curator, watch=None if step is None else watching(step))

    def refuse(self, curator: Curator, price: Cost, first: First | None) -> None:
        """Refuse, before learning is paid, what cannot be paid or read, or could only be refused after it."""
        curator.table.look()
        if first is not None:
            first(curator, price).refuse(curator)
        curator.ledger.check(price, curator.account)

    def _again(self, curator: Curator) -> str:
        """What learning again would cost."""
        budget = curator.ledger.budget
        try:
            part = amount(budget.part(self.price(curator)), budget)
        except BudgetExceeded:
            return "for which nothing is left of its budget"
        return f"which costs {part}" + (", half of what remains" if self.epsilon is None else "")


def watching(step: Step) -> Callable[[Progress], None]:
    """Tell in words how far a model is, and how far off it still seems."""

    def watch(progress: Progress) -> None:
        about = "" if progress.error is None else f": tables about {progress.error:.1%} off"
        step(f"Learning{about}", progress.step / max(progress.steps, 1))

    return watch


def _of(curator: Curator, number: int = 0) -> str:
    """What tells sessions apart: of ranges of blocks the account that pays for one, and their number."""
    whose = "" if curator.account == OWNER else f" of {curator.account}"
    return f"{whose} {number}" if number else whose


def _session(curator: Curator, number: int, price: bytes) -> Session:
    budget = curator.ledger.budget.part(Cost.from_json(json.loads(price)))
    return Session(budget=budget, name=f"ask{_of(curator, number)}")
