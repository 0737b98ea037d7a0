"""Stay: a dataset or a release that is kept open while one person asks it many questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.sql.stages.text import sql
from hedgerow.release.numerals import amount, rest
from hedgerow.service import accounts, budgeting, describing, wire
from hedgerow.service.asking import Desk, FirstQuestion, not_learned
from hedgerow.service.learning import Learning
from hedgerow.service.released import released_in
from hedgerow.synopsis import Synopsis

if TYPE_CHECKING:
    from hedgerow.service.asking import Answered, Ask
    from hedgerow.service.dataset import Dataset, Step
    from hedgerow.service.describing import Description
    from hedgerow.synopsis.answer import Answer
    from hedgerow.synopsis.frame import Frame

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Told:
    """What was answered or explained: for programs, and as sentences.

    Args:
        plain: plain data, in the shape that every door has.
        sentences: what is said below the numbers.
        answer: the numbers, if there are any.
        costs: whether it did, or would, cost anything.
    """

    plain: wire.Plain
    sentences: tuple[str, ...]
    answer: Answer | Frame | None = None
    costs: bool = False


class Stay(ABC):
    """What a person asks: a dataset, or a release of one."""

    @property
    @abstractmethod
    def description(self) -> Description:
        """What may be asked about, from what is public."""

    @property
    @abstractmethod
    def learned(self) -> bool:
        """Whether questions can be answered right away; if not, the first one takes a while, and costs."""

    @abstractmethod
    def ask(self, ask: Ask, step: Step) -> Told:
        """The answer to a question.

        Args:
            ask: the question.
            step: told what is being done, where that takes a while.
        """

    @abstractmethod
    def explain(self, ask: Ask) -> Told:
        """What asking would do, from public things only.

        Args:
            ask: the question.
        """

    @abstractmethod
    def budget(self) -> Told:
        """What may still be spent here."""

    @abstractmethod
    def close(self) -> None:
        """Leave everything as whoever comes next expects it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ReleaseStay(Stay):
    """A release, which answers free of charge.

    Args:
        file: the synopsis file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._synopsis: Any = Synopsis.load(file)

    @property
    def description(self) -> Description:
        """What the release holds."""
        return describing.of_synopsis(self._file)

    @property
    def learned(self) -> bool:
        """It is what was learned."""
        return True

    def ask(self, ask: Ask, step: Step) -> Told:
        """The answer; a release is as accurate as it is."""
        if ask.within is not None or ask.within_count is not None:
            raise UnsupportedQuery(
                "a release cannot be made more accurate than it is: an accuracy is for private data, whose "
                "budget pays for it",
                hint="leave the accuracy out, with `.within off`",
            )
        confidence = _CONFIDENCE if ask.confidence is None else ask.confidence
        asked = sql(
            self._synopsis.domain, ask.sql, params=ask.params, unit=self._synopsis.receipt.settings.unit
        )
        answer = self._synopsis.answer(asked, confidence=confidence)
        plain = wire.released(ask.sql, answer, self._synopsis)
        return Told(plain, (*_notes(answer), "It was free."), answer)

    def explain(self, ask: Ask) -> Told:
        """A question is read and answered, which is free."""
        self.ask(ask, lambda words, part: None)
        said = "It is answered from the release, free."
        return Told(
            {"source": self._synopsis.source, "cost": None, "affordable": True, "words": said}, (said,)
        )

    def budget(self) -> Told:
        """What the release cost, and that asking it costs nothing."""
        budget = self._synopsis.receipt.settings.budget
        said = f"Asking a release is free; making it cost {amount(self._synopsis.cost, budget)}."
        return Told({"cost": wire.price(self._synopsis.cost), "words": said}, (said,))

    def close(self) -> None:
        """Nothing is open."""


class DataStay(Stay):
    """Private rows, their ledger open, and what was learned of them ready to answer.

    Args:
        dataset: the rows, their schema and their ledger.
        account: whose account pays; the owner's if None.
    """

    def __init__(self, dataset: Dataset, account: str | None = None) -> None:
        self._dataset, self._account = dataset, account
        with ExitStack() as opened:
            known, table = dataset.open(dataset.domain, None, later=True)
            dataset.refuse_put_back()
            self._curator = opened.enter_context(dataset.curator(table, known))
            own = self._curator
            self._payer = own if account is None else accounts.payer(own, account)
            self._desk: Desk | None = None
            if Learning().known(self._curator)[1] is not None:
                session = opened.enter_context(Learning().open(self._curator))
                self._desk = Desk(session.share(self._payer), self._payer)
            self._opened = opened.pop_all()

    @property
    def description(self) -> Description:
        """What was declared of the rows."""
        return describing.of_dataset(self._dataset)

    @property
    def learned(self) -> bool:
        """Whether learning was paid for."""
        return self._desk is not None

    def ask(self, ask: Ask, step: Step) -> Told:
        """The answer; the first question of all pays for learning, if it may spend."""
        if self._desk is not None:
            return self._told(self._desk.ask(ask))
        if not ask.spend or self._account is not None:
            raise not_learned()
        step("Learning", None)
        ledger, who = self._curator.ledger, self._curator.account
        before = ledger.spent(who)
        session = self._opened.enter_context(Learning().open(self._curator, ask.foreseen, step))
        paid = ledger.spent(who).beyond(before)
        self._desk = Desk(session, self._curator)
        return self._told(Desk(session, self._curator, paid).ask(ask))

    def explain(self, ask: Ask) -> Told:
        """What asking would do and cost."""
        if self._desk is None:
            self._curator.table.look()
            price = Learning().price(self._curator)
            first = FirstQuestion(ask.foreseen(self._curator, price), self._curator.ledger.budget, False)
            return Told(wire.first_question(first), (first.words, first.costs), costs=True)
        found = self._desk.explain(ask)
        said, costs = [found.words], not found.cost.cost.is_zero
        if costs:
            too_much = "" if found.affordable else ", which is more than is left"
            price_words = amount(found.cost, self._curator.ledger.budget)
            said.append(f"It may cost up to {price_words.partition(', delta')[0]}{too_much}.")
        return Told(wire.explained(found), tuple(said), costs=costs)

    def budget(self) -> Told:
        """The dataset's budget, or the part of it that pays here."""
        ledger = self._curator.ledger
        plain = wire.budget(ledger, self._account)
        if self._account is not None:
            part = accounts.part_of(ledger, self._account)
            return Told(plain, (part.words(ledger.budget),))
        return Told(plain, tuple(budgeting.sentences(ledger, budgeting.pairs_beside(self._dataset.data))))

    def close(self) -> None:
        """Write down what was said, and give back what was set aside."""
        self._opened.close()

    def _told(self, given: Answered) -> Told:
        budget, answer = given.budget, given.answer
        said = list(_notes(answer))
        if not given.learning.is_zero:
            said.append(f"Learning what rows look like, once, cost {_epsilon(budget.part(given.learning))}.")
        left = rest(given.left, budget).partition(", delta")[0]
        cost = "It was free" if answer.cost is None else f"It cost {_epsilon(answer.cost)}"
        said.append(f"{cost}; {left} is left.")
        return Told(wire.answered(given), tuple(said), answer, answer.cost is not None)


def _epsilon(part: Any) -> str:
    return amount(part).partition(", delta")[0]


def _notes(answer: Answer) -> tuple[str, ...]:
    return (answer.words, *(f"Note: {note}" for note in answer.notes))


def stay_at(dataset: Dataset, account: str | None = None) -> Stay:
    """A release, if that is what was named, or private rows.

    Args:
        dataset: what was named.
        account: whose account pays for questions to private rows.
    """
    file = released_in(dataset.data)
    return DataStay(dataset, account) if file is None else ReleaseStay(file)
