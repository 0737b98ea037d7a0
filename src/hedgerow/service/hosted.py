"""Hosted: one dataset at a server - in which state it is, and how many people ask it at once.

Two ways lead to an answer. What needs no row is read off a copy of what was learned (`free`), by any number
of threads, and shares no lock with the rest. What may compare, measure or cost goes through one thread, the
lane, one question after the other; doors answer it at the next point of a grid of times (see `grid.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.curator.rows.closed import changed, closed
from hedgerow.errors import (
    BudgetExceeded,
    DataChanged,
    HedgerowError,
    LedgerUnavailable,
    LimitExceeded,
    NotLearned,
    NotPermitted,
)
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.session.reading import SessionReading
from hedgerow.privacy.budget import Cost
from hedgerow.queries.sql.tables import refuse_other
from hedgerow.service import accounts, budgeting, freezing
from hedgerow.service.asking import Answered, Ask, Desk, not_learned
from hedgerow.service.learning import Learning
from hedgerow.service.opened import Leaving, OpenedDataset, Pace, Remainders, end_session, last_change, settle
from hedgerow.service.people import account_for, accounts_of, begin_account

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.explain import Explanation
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.service.config import DatasetSettings
    from hedgerow.service.tokens import Token
    from hedgerow.synopsis.answer import Answer
    from hedgerow.synopsis.model import ModelSynopsis

T = TypeVar("T")

STATES = ("setup", "unlearned", "ready", "frozen", "data_changed")
_IDLE, _LOOK = 2.0, 1.0  # seconds until what was set aside is given back; between looks at data and others
CHANGED = "The data file has changed since this was learned; the answer is about the rows as they were then."


class Hosted:
    """One dataset at a server.

    Args:
        settings: what it was configured as.
    """

    def __init__(self, settings: DatasetSettings) -> None:
        self.settings, self.name = settings, settings.called
        self.dataset = settings.dataset()
        self._lane = ThreadPoolExecutor(1, f"lane of {self.name}")
        self._opened: OpenedDataset | None = None
        self._why: HedgerowError | None = None
        self._changed, self._seen = False, -1
        self._looks, self._glances = Pace(_LOOK), Pace(_LOOK)
        self._frozen = False
        self._left, self._leaving = Remainders(), Leaving()
        self._idle: threading.Timer | None = None

    # -- states -------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """setup, unlearned, ready, frozen or data_changed."""
        opened = self._opened
        if opened is None or self._frozen or opened.reading is None:
            if opened is not None or isinstance(self._why, LedgerUnavailable):
                self._glance()
            return "setup" if opened is None else "frozen" if self._frozen else "unlearned"
        return "data_changed" if self._has_changed(opened) else "ready"

    @property
    def words(self) -> str | None:
        """Why it cannot be asked, for its owner."""
        return None if self._why is None else str(self._why)

    @property
    def domain(self) -> Domain:
        """What may be asked about; only of a dataset that is set up, as proposals are private."""
        return finite(self.opened.curator)

    @property
    def opened(self) -> OpenedDataset:
        """What is open; refused while the dataset is being set up."""
        if isinstance(self._why, LedgerUnavailable):
            self._glance()
            raise self._why
        if self._opened is None:
            raise NotLearned(
                "this dataset is not set up yet", hint="let the owner confirm its schema and give it a budget"
            )
        return self._opened

    def reopen(self) -> None:
        """See what there is now: a schema, a budget, something learned, other rows."""
        self.in_lane(self.reopen_here).result()

    def forget(self) -> None:
        """What somebody has left is read again: the budget is another one."""
        self._left.clear()

    def in_lane(self, work: Callable[[], T]) -> Future[T]:
        """Do something that charged questions wait for."""
        return self._lane.submit(work)

    def close(self) -> None:
        """Wait for the question that is being answered, give back what was set aside, close the ledger."""
        if self._idle is not None:
            self._idle.cancel()
        self._lane.submit(self._shut).result()
        self._lane.shutdown()

    def reopen_here(self) -> None:
        """The same for whoever is in the lane. What was open is closed later: somebody may be reading it."""
        before, fresh, why = self._opened, None, None
        end_session(before)
        until = ExitStack()
        try:
            domain = self.dataset.domain
            if self.settings.epsilon is not None and not self.dataset.has_ledger:
                budgeting.begin(self.dataset, str(self.settings.epsilon)).close()
            if not self.dataset.has_ledger:
                raise HedgerowError("this dataset has no budget yet: give it one")
            seen = last_change(self.dataset.data)
            known, table = self.dataset.open(domain, None, later=True)
            self.dataset.refuse_put_back()
            curator = until.enter_context(self.dataset.curator(table, known))
            self._frozen = freezing.is_frozen(curator.ledger)
            session, reading = self._session(curator)
            fresh = OpenedDataset(curator, session, reading, seen, until)
            self._changed = reading is not None and session is None
        except HedgerowError as error:
            until.close()
            why = error
        self._opened, self._why = fresh, why
        self._left.clear()
        if before is not None:
            self._leaving.add(before.until)

    def _session(self, curator: Curator) -> tuple[OpenSession | None, SessionReading | None]:
        """The dataset's session if it was learned; of a file that has changed since only what can be read."""
        if Learning().known(curator)[1] is None:
            return None, None
        try:
            session = Learning().open(curator)
            return session, SessionReading.of(session)
        except DataChanged as error:
            shut = type(curator)(closed(curator.table, error.began), None, curator.ledger)
            return None, SessionReading.of(Learning().open(shut))

    def _shut(self) -> None:
        opened, self._opened = self._opened, None
        self._left.clear()
        end_session(opened)
        if opened is not None:
            opened.until.close()
        self._leaving.close()

    def _has_changed(self, opened: OpenedDataset) -> bool:
        """Whether the data file was written since it was opened; looked at once a second."""
        if not self._changed and self._looks.due():
            self._changed = last_change(self.dataset.data) != opened.seen
        return self._changed

    # -- asking -------------------------------------------------------------------------------------------

    def free(self, ask: Ask, who: Token) -> Answered | None:
        """The answer, if it needs no row and so costs nothing; None if it must be asked in the lane."""
        opened, reading = self._readable()
        own = self._with_accuracy(ask)
        return self._given(opened, reading.free(self._meant(own), own.bound, **own.wish), ask, who)

    def again(self, ask: Ask, who: Token) -> Answered | None:
        """The same, if the same words got it before and the ledger is here: quick enough to wait for."""
        opened, reading = self._readable()
        known = None if opened.ledger.path is None else reading.again(self._with_accuracy(ask).bound)
        return self._given(opened, known, ask, who)

    def _meant(self, ask: Ask) -> Any:
        unit, domain = self.opened.curator.table.unit, self.domain
        meant = ask.meant(domain, unit.column if unit else None)
        refuse_other(ask.sql, self.name, (*domain.lookups, *domain.tables))
        return meant

    def _given(self, opened: OpenedDataset, answer: Answer | None, ask: Ask, who: Token) -> Answered | None:
        """An answer that cost nothing, with what is said beside it."""
        if answer is None:
            return None
        if self.state == "data_changed":
            answer = replace(answer, notes=(*answer.notes, CHANGED))
        ledger, nothing = opened.ledger, Cost.zero(opened.ledger.currency)
        with ledger.still():
            # others may have said something else; not where the rows have changed, and nobody may ask them
            if opened.session is not None and opened.reading is not None and opened.reading.behind:
                return None
            left = self._left.of(ledger, self._account(who))
            return Answered(ask, answer, nothing, ledger.budget, left, opened.curator.private, None)

    def foretell(self, ask: Ask) -> Explanation | None:
        """What asking would do, where that needs no turn of the session; None where it does."""
        reading = self._readable()[1]
        return None if reading.behind else reading.foretell(self._meant(ask), **self._with_accuracy(ask).wish)

    def ask(self, ask: Ask, who: Token) -> Answered:
        """The answer, charged if it must be; for the lane."""
        self.refuse_spending(ask, who)
        with self._telling() as opened, opened.ledger.turn():
            if self._catch_up() and (given := self.free(ask, who)) is not None:
                return given
            desk = self._desk(who, open_account=ask.spend)
            try:
                return self._asked(desk, ask, who)
            except BudgetExceeded as error:
                if isinstance(error, LimitExceeded) or not ask.spend:
                    raise
                self._give_back()  # what others have set aside and do not use
                return self._asked(desk, ask, who)

    @contextmanager
    def _telling(self) -> Iterator[OpenedDataset]:
        """A stretch in the lane after which readers may know what was answered, as it is in the ledger."""
        try:
            yield self._readable()[0]
            settle(self._opened)
        finally:
            self._after()

    def _catch_up(self) -> bool:
        """Follow what other processes did, who ask, learn and freeze; for the lane. Whether they did."""
        opened = self._opened
        if opened is None or opened.ledger.elsewhere <= self._seen:
            return False
        self._seen, self._frozen = opened.ledger.newest, freezing.is_frozen(opened.ledger)
        if opened.session is not None:
            opened.session.follow()
        elif opened.reading is None and Learning().known(opened.curator)[1] is not None:
            self.reopen_here()
        self._after()
        return True

    def _glance(self) -> None:
        """Let the lane look, once a second, whether others thawed or learned what cannot be asked here."""
        if self._glances.due():
            with suppress(RuntimeError):  # the lane is closed
                self._lane.submit(self.reopen_here if self._opened is None else self._catch_up)

    def ask_all(self, asks: Sequence[Ask], who: Token) -> list[Answered]:
        """All answers, or one refusal before anything is charged; for the lane."""
        for ask in asks:
            self.refuse_spending(ask, who)
        with self._telling() as opened, opened.ledger.turn():  # what was refused or not stays so to the end
            desk = self._desk(who, open_account=any(ask.spend for ask in asks))
            desk.refuse_reused([self._own(ask, who) for ask in asks])
            self._refuse_together(desk, asks)
            return [self._asked(desk, ask, who) for ask in asks]

    def explain(self, ask: Ask, who: Token) -> Explanation:
        """What asking would do, from what is public; for the lane."""
        try:
            return self._desk(who, open_account=False).explain(self._with_accuracy(ask))
        finally:
            self._after()

    def _asked(self, desk: Desk, ask: Ask, who: Token) -> Answered:
        """Ask at a desk."""
        return replace(desk.ask(self._own(ask, who)), ask=ask)

    def _own(self, ask: Ask, who: Token) -> Ask:
        """A question as it is asked here; request ids of one person, account or not, are nobody else's."""
        own, account = self._with_accuracy(ask), self._account(who)
        if account == "owner" or ask.request is None:
            return own
        return replace(own, request=f"{account}: {ask.request}")

    def refuse_spending(self, ask: Ask, who: Token) -> None:
        """Refuse a question that may cost from somebody who may not spend."""
        if ask.spend and not who.spends:
            raise NotPermitted(
                "this token may not spend: only what was learned is answered",
                hint='ask with "spend": false, or put the question to the owner for approval',
            )

    def synopsis(self) -> ModelSynopsis:
        """All that was learned, as a file to take home."""
        opened, reading = self._readable()
        return reading.synopsis(opened.ledger.receipt())

    def _readable(self) -> tuple[OpenedDataset, SessionReading]:
        opened = self.opened
        self.refuse_frozen()
        if opened.reading is None:
            self._glance()
            raise not_learned()
        return opened, opened.reading

    def refuse_frozen(self) -> None:
        """Refuse whatever is asked of a dataset that its owner has frozen."""
        if self._frozen:
            self._glance()
            raise freezing.frozen()

    def _desk(self, who: Token, *, open_account: bool) -> Desk:
        opened, _ = self._readable()
        if opened.session is None or self._has_changed(opened):
            raise changed()
        curator, account = opened.curator, self._account(who)
        if account == "owner":
            return Desk(opened.session, curator)
        if not accounts_of(opened.ledger, account):
            if not open_account:
                return Desk(opened.session, curator)
            begin_account(opened.ledger, account)
        payer = curator.child(account_for(opened.ledger, account, curator.scope))
        return Desk(opened.session.share(payer), payer)

    def _account(self, who: Token) -> str:
        return "owner" if who.owns else who.name

    def _with_accuracy(self, ask: Ask) -> Ask:
        default = self.settings.within
        if default is None or not ask.spend or ask.within is not None or ask.within_count is not None:
            return ask
        return replace(ask, within=default)

    def _refuse_together(self, desk: Desk, asks: Sequence[Ask]) -> None:
        """Refuse a list that could cost more than there is, or more than it may, before the first of it."""
        found = [desk.explain(self._with_accuracy(ask), later=i > 0) for i, ask in enumerate(asks)]
        ledger, total = desk.payer.ledger, Cost.zero(desk.payer.ledger.currency)
        for ask, expected in zip(asks, found, strict=True):
            desk.refuse(ask, expected)
            total = total + expected.cost.cost
        if not total <= desk.payer.left:
            ledger.check(total, desk.payer.account)

    def _after(self) -> None:
        """After a question in the lane: readers learn what was learned; later, reserves are given back."""
        opened = self._opened
        if opened is None or opened.session is None or opened.reading is None:
            return
        if opened.reading.stale:
            self._opened = replace(opened, reading=SessionReading.of(opened.session, opened.reading))
        self._left.clear()
        if self._idle is not None:
            self._idle.cancel()
        self._idle = threading.Timer(_IDLE, self._rest)
        self._idle.daemon = True
        self._idle.start()

    def _rest(self) -> None:
        with suppress(RuntimeError):  # the lane is closed
            self._lane.submit(self._give_back)

    def _give_back(self) -> None:
        end_session(self._opened)
        self._left.clear()

    # -- what owners do -----------------------------------------------------------------------------------

    def stop(self, reason: Any) -> None:
        """Answer nothing from now on, not even what waits in the lane; the ledger is told after it."""
        freezing.words(reason, frozen=True)
        _ = self.opened
        self._frozen = True

    def freeze(self, reason: Any, *, frozen: bool) -> None:
        """Freeze or thaw the dataset, for a reason that the ledger keeps; for the lane."""
        ledger = self.opened.ledger
        try:
            freezing.note(ledger, reason, frozen=frozen)
        finally:
            self._frozen = freezing.is_frozen(ledger)

    def same_rows(self, reason: str) -> None:
        """The owner's word that a data file that was written again has the same rows; for the lane."""
        if not isinstance(reason, str) or not reason.strip():
            raise HedgerowError("say why the rows are the same: the ledger keeps that")
        own, self.dataset = self.dataset, replace(self.dataset, same_rows=True)
        try:
            self.reopen_here()
            self.opened.ledger.record(note=f"The same rows, says the owner: {reason.strip()}")
        finally:
            self.dataset = own

    def limit(self, name: str, epsilon: Any) -> None:
        """Let an analyst spend so much in all; for the lane."""
        accounts.limit(self.opened.ledger, name, epsilon)
        self._left.clear()
