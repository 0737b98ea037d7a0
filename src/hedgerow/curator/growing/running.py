"""RunningRun: running totals over blocks; charged whole when opened, a block drawn once when it has come.

Privacy: Theorem 4 of docs/privacy/growing.md. The charge is made here, in the transaction that opens the run;
the noise of a day is drawn in the transaction that keeps its answer, and never again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.forgetting import forgetting
from hedgerow.curator.statistics.running import step
from hedgerow.curator.statistics.statistics import TableOf
from hedgerow.errors import LedgerError, RunClosed, UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.bounds.running import running_norm_squared
from hedgerow.privacy.budget import Cost, gaussian_sigma
from hedgerow.privacy.ledger.entry import OWNER, Entry
from hedgerow.privacy.rational import exact
from hedgerow.queries.measurement import Noise, pack, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.growing.growing import Growing


@dataclass(frozen=True)
class RunningPlan:
    """What a run was opened with: the first block, how many blocks, which table, and the noise."""

    first: int
    horizon: int
    attributes: tuple[str, ...]
    sigma: Fraction

    @property
    def law(self) -> Noise:
        """The noise of one answer, in steps."""
        return Noise("gaussian", self.sigma)

    def packed(self) -> bytes:
        """As it is kept in the ledger."""
        told = {
            "first": self.first,
            "horizon": self.horizon,
            "attributes": self.attributes,
            "sigma": str(self.sigma),
        }
        return json.dumps(told).encode()

    @classmethod
    def unpacked(cls, data: bytes | None) -> RunningPlan:
        """From the ledger."""
        told = json.loads(data or b"{}")
        return cls(told["first"], told["horizon"], tuple(told["attributes"]), exact(told["sigma"]))


@dataclass
class RunningRun:
    """Open running totals of a table over blocks.

    Args:
        growing: the blocks.
        label: the run's name in the ledger; one that it knows is continued, free.
        attributes: of the table whose totals are wanted; none for the number of rows.
        horizon: for how many blocks, those to come included.
        price: what all of them cost together; needed where the run is new.
        first: the block that a new run begins with; the newest if None.
    """

    growing: Growing
    label: str
    attributes: tuple[str, ...]
    horizon: int
    price: Cost | None = None
    first: int | None = None
    released: list[NDArray[np.int64]] = field(default_factory=list, init=False)
    plan: RunningPlan = field(init=False)
    private: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._held: list[Any] = []  # exact counts of the blocks so far: they never leave this room
        self.plan = self._opened()

    def _opened(self) -> RunningPlan:
        """The plan that the ledger knows, or a new one, charged whole."""
        ledger, domain = self.growing.ledger, self.growing.domain
        if self.attributes:
            TableOf(domain.order(self.attributes))
        question = f"running totals of {self.attributes} over {self.horizon} blocks @{domain.fingerprint}"
        known = ledger.recall(self.label, question, OWNER)
        if known is not None:
            return RunningPlan.unpacked(known.answer)
        if self.price is None or self.growing.ended:
            raise UnsupportedQuery(
                "running totals are opened with a price, and not after what was seen was lost"
            )
        first = self._first()
        norms = TableOf(tuple(self.attributes)).norms
        squared = ledger.settings.privacy.sensitivity(norms).l2_squared * running_norm_squared(self.horizon)
        plan = RunningPlan(first, self.horizon, self.attributes, gaussian_sigma(squared, self.price))
        event = events.Gaussian(squared, plan.sigma)
        with ledger.transaction() as together:
            scope = self.growing.reach(first, self.horizon)
            together.allot(self.label, cost_of(event, ledger.currency), note=self.growing.words, scope=scope)
            entry = together.charge(
                event, lambda: (plan.packed(), None), account=self.label, request=self.label,
                question=question, run=self.label,
            )  # fmt: skip
        return RunningPlan.unpacked(entry.answer)

    def _first(self) -> int:
        """The first block: the one that was asked for, or the newest."""
        newest = max(len(self.growing.blocks), 1)
        if self.first is not None and not 1 <= self.first <= newest:
            raise UnsupportedQuery(
                f"totals begin with one of the blocks 1 to {newest}, not with {self.first!r}"
            )
        return newest if self.first is None else self.first

    def advance(self) -> int:
        """Draw the answers of the blocks that have come; how many days there are now."""
        days = min(len(self.growing.blocks) - self.plan.first + 1, self.horizon)
        while len(self.released) < days:
            self.released.append(self._day(len(self.released) + 1))
        return len(self.released)

    def _day(self, day: int) -> NDArray[np.int64]:
        """The answer of one day: the one that is kept, or a new one."""
        ledger, request = self.growing.ledger, f"{self.label}: day {day}"
        curator = self._curator(self.plan.first + day - 1)
        test = not curator.real_noise  # what it draws must not pass for private when it is read again
        question, note = f"day {day}", "NOT PRIVATE, test randomness." if test else ""
        question += ": test randomness" if test else ""
        known = ledger.recall(request, question, OWNER)
        self.private = curator.private
        if known is not None:
            return self._said(known)
        if self.growing.ended:
            raise RunClosed(
                "what was seen was lost, so units may be in several blocks: the totals have ended"
            )
        with forgetting(self._held):
            while len(self._held) < day:
                self._held.append(self._counts(self.plan.first + len(self._held)))
            exact_step = step(np.array(self._held[:day]), self.horizon)
            with ledger.transaction() as together:
                known = together.recall(request, question, OWNER)
                if known is None:
                    drawn = exact_step + curator._noise(self.plan.law, exact_step)
                    known = together.record(
                        pack([drawn]), account=self.label, request=request, question=question, note=note,
                        run=self.label,
                    )  # fmt: skip
        return self._said(known)

    def _curator(self, block: int) -> Curator:
        """The curator of one block, paying from the run's account, which is for it."""
        try:
            return self.growing.curator(block, block, account=self.label)
        except LedgerError as error:
            raise RunClosed(f"the totals were not paid for beyond this: {error}") from None

    def _counts(self, block: int) -> NDArray[np.int64]:
        names = self.growing.domain.order(self.plan.attributes)
        return TableOf(names).exact(self._curator(block)._rows)

    @staticmethod
    def _said(entry: Entry) -> NDArray[np.int64]:
        assert entry.answer is not None
        return np.asarray(unpack(entry.answer)[0], dtype=np.int64)
