"""Asking: what a question to private rows costs and whether it may be asked, the same at every door."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from hedgerow.curator.curator import Curator
from hedgerow.errors import (
    BadValue,
    BudgetExceeded,
    HedgerowError,
    NotLearned,
    RequestReused,
)
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.session.explain import Explanation
from hedgerow.mechanisms.session.foresee import foresee
from hedgerow.mechanisms.session.price import refuse_accuracy
from hedgerow.mechanisms.session.session import Session
from hedgerow.privacy.budget import Cost
from hedgerow.queries.sql.stages.text import sql as compiled
from hedgerow.release.numerals import amount
from hedgerow.service import accounts
from hedgerow.service.learning import Learning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.curator.rows.table import Table
    from hedgerow.mechanisms.session.foresee import Foresight
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger.entry import Settings
    from hedgerow.privacy.ledger.receipt import Receipt
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question
    from hedgerow.queries.staged import Staged
    from hedgerow.service.dataset import Dataset, Step
    from hedgerow.synopsis.answer import Answer

__all__ = ["Answered", "Ask", "Desk", "Explanation", "FirstQuestion", "Visit", "not_learned"]


@dataclass(frozen=True)
class Ask:
    """A question as a person or a program puts it, whatever the door.

    Args:
        sql: one SELECT statement.
        params: values for ? in order, or for $1, $2: numbers, texts, truth values, null.
        within: how far off counts may be, as a part of all rows.
        within_count: the same as a number of rows.
        confidence: how sure to be.
        spend: whether it may cost something; if not, it is refused where it might.
        max_epsilon: the most that it may cost.
        request: an id; the same question with the same id is one question, asked twice.

    >>> Ask("SELECT COUNT(*) FROM t", within=0.01).spend
    False
    """

    sql: str
    params: tuple[Any, ...] = ()
    within: float | None = None
    within_count: float | None = None
    confidence: float | None = None
    spend: bool = False
    max_epsilon: float | None = None
    request: str | None = None

    def __post_init__(self) -> None:
        for name in ("within", "within_count", "confidence", "max_epsilon"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, (int, float, type(None))):
                raise BadValue(f"`{name}` is a number, not a {type(given).__name__}")
        if not isinstance(self.sql, str) or not isinstance(self.spend, bool):
            raise BadValue("a question is `sql`, a text, and `spend`, true or false")
        request = self.request
        if request is not None and not (isinstance(request, str) and request and request.isprintable()):
            raise BadValue("a request id is printable text")
        if self.max_epsilon is not None and not self.max_epsilon >= 0:
            raise BadValue("`max_epsilon` is 0 or more")
        refuse_accuracy(self.within, self.within_count, self.confidence)

    @classmethod
    def of(cls, data: Any) -> Ask:
        """From plain data, as a program sends it; a name that is none of these is refused."""
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or not isinstance(data.get("sql"), str):
            raise BadValue('a question is an object with at least "sql", a text')
        if unknown := sorted(map(str, data.keys() - names)):
            raise BadValue(f"a question has no {unknown[0]!r}; it has {', '.join(sorted(names))}")
        params = data.get("params") or ()
        if not isinstance(params, (list, tuple)):
            raise BadValue("`params` is a list")
        return cls(**data | {"params": tuple(params)})

    def meant(self, domain: Domain, unit: str | None) -> Question | Staged:
        """What is asked of these columns; refused in one sentence if it cannot be."""
        return compiled(domain, self.sql, unit=unit, params=self.params)

    @property
    def wish(self) -> dict[str, Any]:
        """How good the answer must be."""
        return {"within": self.within, "within_count": self.within_count, "confidence": self.confidence}

    @property
    def bound(self) -> str:
        """What a request id is bound to."""
        return repr((self.sql, *self.wish.values(), *([self.params] if self.params else [])))

    def foreseen(self, curator: Curator, learning: Cost) -> Foresight:
        """What it would do as the first of all questions; refuses what would be refused after learning."""
        sure = Session.confidence if self.confidence is None else self.confidence
        meant = self.meant(*_columns(curator))
        return foresee(curator, learning, meant, self.within, self.within_count, sure)


@dataclass(frozen=True)
class Answered:
    """An answer, and what is said beside it.

    Args:
        ask: the question.
        answer: the answer.
        learning: what learning cost on the way to it.
        budget: the dataset's.
        left: what remains of it.
        private: False for simulations.
        receipt: what the ledger says now; None where it was not looked at.
    """

    ask: Ask
    answer: Answer
    learning: Cost
    budget: Budget
    left: Cost
    private: bool
    receipt: Receipt | None


class Desk:
    """Where a dataset that was learned is asked: its session, and who pays. A server keeps one open.

    Any number of threads may ask it. They wait for the ledger first and for the session then: a thread that
    asks the session itself meanwhile waits the other way round, and may wait for good.

    Args:
        session: the dataset's session.
        payer: whose budget pays.
        learning: what was paid just now to open it, if anything: it counts towards what a question may cost.
    """

    def __init__(self, session: OpenSession, payer: Curator, learning: Cost | None = None) -> None:
        self.session, self.payer = session, payer
        self.learning = Cost.zero(payer.ledger.currency) if learning is None else learning

    @classmethod
    def open(cls, curator: Curator) -> Desk:
        """The desk of a dataset that was learned; nothing is ever paid for here."""
        if Learning().known(curator)[1] is None:
            raise not_learned()
        return cls(Learning().open(curator), curator)

    def explain(self, ask: Ask, *, later: bool = False) -> Explanation:
        """What asking would do, from public things only.

        Args:
            ask: the question.
            later: whether others come first, which may change what this one costs.
        """
        with self.payer.ledger.alone():
            meant = ask.meant(*_columns(self.payer))
            if later:
                both: list[Explanation] = self.session.explain([meant, meant], **ask.wish)
                return both[-1]
            said: Explanation = self.session.explain(meant, **ask.wish)
            return said

    def ask(self, ask: Ask) -> Answered:
        """The answer; what might cost more than `ask` allows is refused, and nothing is charged.

        The most that it may cost is known before, from what is public: no refusal depends on a row. Nobody
        else asks between that and the answer, so it costs no more; without an accuracy it is free anyway.
        """
        with self.payer.ledger.turn():
            meant = ask.meant(*_columns(self.payer))
            if not ask.spend or ask.max_epsilon is not None:
                self.refuse(ask, self.explain(ask))
            if ask.request is not None:
                self._bind(ask)
            answer = self.session.ask(meant, **ask.wish)
            payer, ledger = self.payer, self.payer.ledger
            left, receipt = payer.left, ledger.receipt()
            return Answered(ask, answer, self.learning, ledger.budget, left, payer.private, receipt)

    def refuse(self, ask: Ask, expected: Explanation) -> None:
        """Refuse what may cost more than a question allows, before anything is done."""
        if expected.cost.cost.is_zero:
            return
        known: Any = {
            "needed": expected.cost,
            "remaining": self.payer.remaining,
            "affordable": expected.affordable,
        }
        budget = self.payer.ledger.budget
        price = f"this question may cost up to {amount(expected.cost, budget)}"
        if not ask.spend:
            hint = "let it spend, or ask without an accuracy, which is free"
            raise BudgetExceeded(f"{price}, and it was asked not to spend", hint=hint, **known)
        both = budget.part(self.learning + expected.cost.cost)
        if ask.max_epsilon is not None and not both.epsilon <= ask.max_epsilon:
            hint = "allow more, or ask for less accuracy"
            raise BudgetExceeded(
                f"{price}, more than the epsilon {ask.max_epsilon:g} allowed", hint=hint, **known
            )

    def refuse_reused(self, asks: Sequence[Ask]) -> None:
        """Refuse a list in which a request id stands for two questions, before the first of it is asked."""
        bound: dict[str, str] = {}
        for ask in asks:
            if ask.request is None:
                continue
            if bound.setdefault(ask.request, ask.bound) != ask.bound:
                raise RequestReused(f"the request id {ask.request!r} is used for two questions")
            self.payer.ledger.recall(f"asked: {ask.request}", ask.bound, self.payer.account)

    def _bind(self, ask: Ask) -> None:
        """A request id belongs to one question, asked by one account; durable once anything is charged."""
        question, who = ask.bound, self.payer.account
        words = "A request id was bound to its question"
        try:
            self.payer.ledger.record(
                account=who, analyst=who, request=f"asked: {ask.request}", question=question, note=words,
                durable=False,
            )  # fmt: skip
        except RequestReused as error:
            raise error.worded(
                f"the request id {ask.request!r} was already used for another question or by another analyst"
            ) from None


def _columns(curator: Curator) -> tuple[Domain, str | None]:
    """The declared columns of a curator's rows, and the one that names people."""
    unit = curator.table.unit
    return finite(curator), unit.column if unit else None


def not_learned() -> NotLearned:
    """The refusal of a question that only learning could answer."""
    return NotLearned(
        "nothing was learned of this dataset yet, and this question may not pay for that",
        hint="let the owner pay for learning first, once: by asking, or at a server by a job to learn",
    )


@dataclass(frozen=True)
class FirstQuestion:
    """What the question would do that pays for learning: nothing was charged, and nothing opened.

    Args:
        foresight: what learning and the question cost.
        budget: the dataset's.
        anew: whether something was learned before.
    """

    foresight: Foresight
    budget: Budget
    anew: bool

    @property
    def words(self) -> str:
        """What it would do, as a sentence."""
        asked = (
            "With --anew this is like a first question:"
            if self.anew
            else "This dataset has not been asked yet:"
        )
        return f"{asked} the first question pays for learning what rows look like."

    @property
    def costs(self) -> str:
        """What it would cost, as a sentence or two."""
        return self.foresight.words(self.budget)


@dataclass(frozen=True)
class Visit:
    """One question to a dataset that nobody keeps open; the first one of all pays for learning.

    Args:
        dataset: the rows, their schema and their ledger.
        ask: the question.
        learning: how it is learned, if it was not.
        step: told what is being done.
        account: whose account pays; the owner's if None. Only the owner pays for learning.
    """

    dataset: Dataset
    ask: Ask
    learning: Learning = Learning()  # noqa: RUF009 - it is frozen
    step: Step = field(default=lambda words, part: None, repr=False)
    account: str | None = None

    def explain(self) -> Explanation | FirstQuestion:
        """What asking would do; a budget is for good, and explaining makes none."""
        known, table = self._open()
        if not self.dataset.has_ledger:
            with self._trial(table, known) as trial:
                return self._first_question(trial)
        with self.dataset.curator(table, known) as curator:
            if self.learning.known(curator)[1] is None:
                return self._first_question(curator)
            self.step("Learning", None)
            payer = curator if self.account is None else accounts.payer(curator, self.account)
            with self.learning.open(curator, self._first, self.step) as session:
                return Desk(session.share(payer), payer).explain(self.ask)

    def answer(self) -> Answered:
        """The answer; what can be refused is refused before anything is charged, or a budget made."""
        known, table = self._open()
        if not self.dataset.has_ledger:
            self._refuse_unpaid()
            with self._trial(table, known) as trial:
                self.learning.refuse(trial, self.learning.price(trial), self._first)
        with self.dataset.curator(table, known) as curator:
            payer = curator if self.account is None else accounts.payer(curator, self.account)
            if not (self.ask.spend and payer is curator) and self.learning.known(curator)[1] is None:
                self._refuse_unpaid()
            before = curator.ledger.spent(curator.account)
            self.step("Learning", None)
            session = self.learning.open(curator, self._first, self.step)
            after = curator.ledger.spent(curator.account)
            paid = after.beyond(before)  # it is less when somebody gave a reserve back meanwhile
            with session:
                try:
                    return Desk(session.share(payer), payer, paid).ask(self.ask)
                except HedgerowError as error:  # which only learning could lead to: it was paid
                    if paid.is_zero:
                        raise
                    budget = curator.ledger.budget
                    said = f"Learning cost {amount(budget.part(paid), budget)}, and serves later questions"
                    raise error.worded(f"{said}, but this one is refused: {error}") from None

    def _first(self, curator: Curator, learning: Cost) -> Foresight:
        """What learning and the question would do; more than the question may cost is refused."""
        found, budget = self.ask.foreseen(curator, learning), curator.ledger.budget
        both, most = budget.part(found.cost), self.ask.max_epsilon
        if most is not None and not both.epsilon <= most:
            raise BudgetExceeded(
                f"learning and this question cost {amount(both, budget)}, and epsilon {most:g} is allowed",
                hint="allow more",
                needed=both,
                remaining=curator.remaining,
                affordable=found.affordable,
            )
        return found

    def _open(self) -> tuple[Settings, Table]:
        domain = self.dataset.domain
        known, table = self.dataset.open(domain, self.learning.epsilon, later=True)
        unit = table.unit.column if table.unit else None
        self.ask.meant(domain, unit)  # refuse before a ledger is made
        self.dataset.refuse_put_back()
        return known, table

    @contextmanager
    def _trial(self, table: Table, known: Settings) -> Iterator[Curator]:
        """A curator whose ledger is in memory: what a new budget would do, before one is made."""
        trial = Curator(table, known.budget, ":memory:", known.neighbours)
        with trial.ledger:
            yield trial

    def _first_question(self, curator: Curator) -> FirstQuestion:
        curator.table.look()
        found = self.ask.foreseen(curator, self.learning.price(curator))
        return FirstQuestion(found, curator.ledger.budget, self.learning.anew)

    def _refuse_unpaid(self) -> None:
        if not self.ask.spend or self.account is not None:
            raise not_learned()
