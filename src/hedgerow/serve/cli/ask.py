"""`hedgerow ask`: one question to private data, through a session that remembers and learns."""

from __future__ import annotations

import json as jsons
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.options import LedgerFile, NewLedger, OlderThanReceipt, RequireBudget
from hedgerow.serve.cli.query import point_of, rows_of, table_of
from hedgerow.serve.cli.release import MaxRows, Unit, Whom
from hedgerow.serve.cli.terminal import (
    Data,
    Delimiter,
    Encoding,
    Json,
    Multiline,
    SameRows,
    emit,
    printing,
    progress,
    say,
    screen,
)

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.foresee import Foresight
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.mechanisms.session.session import Session
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.ledger import Ledger

    First = Callable[[Curator, Cost], Foresight]

_PRICE = "hedgerow ask: price"
_LEAST = Fraction(1, 10**4)  # of the budget: less is what rounding left behind
_KEPT = "the answer is paid for and kept: ask the same without --anew and --epsilon, which is free"
_TOO_MUCH = ", which is more than is left"


def ask(
    data: Data,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.", show_default=False)],
    schema: Annotated[Path, typer.Option(help="The confirmed schema file.")] = Path("schema.yaml"),
    within: Annotated[
        float | None, typer.Option(help="How far off counts may be, as a part of all rows: 0.01 is 1%.")
    ] = None,
    within_count: Annotated[float | None, typer.Option(help="The same as a number of rows.")] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="How sure to be: 0.95 if not given, 0.999 when an accuracy is."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what asking would do and cost, and do not ask.")
    ] = False,
    epsilon: Annotated[
        str | None,
        typer.Option(help="What the first question spends on learning; half of what remains if not given."),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="Delta of the budget that is made if there is none: 1e-9 if not given, 0 is pure."),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Learn again, and pay again: for other rows or another schema.")
    ] = False,
    same_rows: SameRows = False,
    unit: Unit = None,
    max_rows: MaxRows = None,
    neighbours: Whom = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    multiline: Multiline = False,
    ledger: LedgerFile = None,
    require_budget: RequireBudget = False,
    new_ledger: NewLedger = None,
    older_than_receipt: OlderThanReceipt = None,
    json: Json = False,
) -> None:
    """Ask private DATA a question in SQL, here, without a server.

    The first question spends part of the dataset's budget on learning what rows look like; from then on a
    question costs nothing, unless it asks for an accuracy that what was learned cannot vouch for. The same
    question gets the same answer again, free. What was learned and said lies in DATA.hedgerow.db, and belongs
    to the data file as it was then, and to the schema: when the file has changed, --same-rows goes on; when
    either has, --anew learns again and pays again, from the same budget.
    """
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.foresee import foresee
    from hedgerow.mechanisms.session.price import refuse_accuracy
    from hedgerow.mechanisms.session.session import Session
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.sql.statement import sql as compiled
    from hedgerow.release.schema import Schema
    from hedgerow.service.dataset import Dataset

    refuse_accuracy(within, within_count, confidence)
    domain = Schema.load(schema).confirmed_domain()
    dataset = Dataset(
        data, ledger, delta, unit, max_rows, neighbours.value if neighbours else None, encoding, delimiter,
        multiline, same_rows, require_budget, new_ledger, older_than_receipt, tell=say,
    )  # fmt: skip
    known, table = dataset.open(domain, epsilon)
    compiled(domain, sql, unit=table.unit.column if table.unit else None)  # refuse before a ledger is made
    dataset.refuse_put_back()
    sure = Session.confidence if confidence is None else confidence
    first = partial(foresee, query=sql, within=within, within_count=within_count, confidence=sure)
    if not dataset.has_ledger:  # a budget is for good: neither explaining nor a refusal makes one
        trial = Curator(table, known.budget, ":memory:", known.neighbours)
        with trial.ledger:
            if explain:
                _unlearned(trial, epsilon, anew, json, first)
                return
            _refuse(trial, _price(trial, epsilon), first)
    with dataset.curator(table, known) as curator:
        if explain and _learned(curator, epsilon, anew)[1] is None:
            _unlearned(curator, epsilon, anew, json, first)
            return
        before = curator.ledger.spent()
        with progress(json) as step:
            step("Learning", None)
            session = _session(curator, epsilon, anew, first)
        after = curator.ledger.spent()  # less than before when somebody gave a reserve back meanwhile
        learning = after - before if before <= after else Cost.zero(after.currency)
        with session:
            if explain:
                _explained(session.explain(sql, within, within_count, confidence), json)
            else:
                with _told(learning, curator):
                    answer = session.ask(sql, within, within_count, confidence)
                with nullcontext() if epsilon is None and not anew else printing(_KEPT):
                    _answered(answer, sql, curator, learning, json)


@contextmanager
def _told(learning: Cost, curator: Curator) -> Iterator[None]:
    """A refusal that only learning could lead to says that learning was paid."""
    from hedgerow.errors import HedgerowError
    from hedgerow.release.numerals import amount

    try:
        yield
    except HedgerowError as error:
        if learning.is_zero:
            raise
        budget = curator.ledger.budget
        paid = f"Learning cost {amount(budget.part(learning), budget)}, and serves later questions"
        raise type(error)(f"{paid}, but this one is refused: {error}") from None


def _unlearned(curator: Curator, epsilon: str | None, anew: bool, json: bool, first: First) -> None:
    """What a first question would do: nothing is charged and nothing is opened."""
    found, part = first(curator, _price(curator, epsilon)), curator.ledger.budget.part
    both, question = part(found.cost), found.question and part(found.question).epsilon
    asked = "With --anew this is like a first question:" if anew else "This dataset has not been asked yet:"
    words = f"{asked} the first question pays for learning what rows look like."
    costs = found.words(curator.ledger.budget)
    if json:
        emit({"source": None, "cached": False, "confidence": None, "error": None,
              "learning": part(found.learning).epsilon, "question": question, "needs_rows": found.needs_rows,
              "cost": {"epsilon": both.epsilon, "delta": both.delta}, "affordable": found.affordable,
              "words": f"{words} {costs}"})  # fmt: skip
        return
    to = screen()
    to.print(words)
    to.print(costs)


def _price(curator: Curator, epsilon: str | None) -> Cost:
    """What learning costs: what was said, or half of what remains; crumbs of a budget teach nothing."""
    from hedgerow.errors import BudgetExceeded

    if epsilon is not None:
        return curator.price(epsilon)
    left = curator.price()
    if left.amount < curator.ledger.budget.cost.amount * _LEAST:
        raise BudgetExceeded("Nothing is left of this dataset's budget to learn from.")
    return left.share(Fraction(1, 2))


def _learned(curator: Curator, epsilon: str | None, anew: bool) -> tuple[int, Session | None]:
    """The number of the next session of the command line, and the newest one whose learning was paid for.

    What was learned under another schema cannot answer under this one; learning again must be said.
    """
    from hedgerow.errors import HedgerowError
    from hedgerow.mechanisms.session.core import begun_sessions

    number, found = 0, None
    while (kept := curator.ledger.recall(_numbered(_PRICE, number), "ask")) is not None:
        session = _numbered_session(curator.ledger, number, kept.answer or b"")
        found = session if session.begun(curator) else found
        number += 1
    if number and found is None and not anew and begun_sessions(curator, r"ask( \d+)?"):
        raise HedgerowError(
            "the schema is not the one under which this dataset was asked before, and what was learned then "
            f"cannot answer: go back to that schema, or learn again with --anew, {_again(curator, epsilon)}"
        )
    return number, None if anew else found


def _again(curator: Curator, epsilon: str | None) -> str:
    """What learning again would cost."""
    from hedgerow.errors import BudgetExceeded
    from hedgerow.release.numerals import amount

    budget = curator.ledger.budget
    try:
        part = amount(budget.part(_price(curator, epsilon)), budget)
    except BudgetExceeded:
        return "for which nothing is left of its budget"
    return f"which costs {part}" + (", half of what remains" if epsilon is None else "")


def _numbered(words: str, number: int) -> str:
    return f"{words} {number}" if number else words


def _numbered_session(ledger: Ledger, number: int, price: bytes) -> Session:
    from hedgerow.mechanisms.session.session import Session
    from hedgerow.privacy.budget import Cost

    return Session(
        budget=ledger.budget.part(Cost.from_json(jsons.loads(price))), name=_numbered("ask", number)
    )


def _session(curator: Curator, epsilon: str | None, anew: bool, first: First | None = None) -> OpenSession:
    """The dataset's one session of the command line; its price is decided by the first question.

    Nobody else decides one meanwhile; a price that was written down and never paid binds nobody.
    """
    from hedgerow.errors import HedgerowError

    ledger = curator.ledger
    with ledger.alone():
        number, session = _learned(curator, epsilon, anew)
        if session is None:
            price = _price(curator, epsilon)
            _refuse(curator, price, first)
            said = jsons.dumps(price.to_json()).encode()
            ledger.record(said, request=_numbered(_PRICE, number), question="ask")
            session = _numbered_session(ledger, number, said)
        elif epsilon is not None:
            raise HedgerowError(
                "--epsilon is for the first question, and this dataset has been asked before; leave it out, "
                "or learn again with --anew"
            )
        return session.open(curator)


def _refuse(curator: Curator, price: Cost, first: First | None) -> None:
    """Refuse, before learning is paid, what cannot be paid or could only be refused after it."""
    if first is not None:
        first(curator, price).refuse(curator)
    curator.ledger.check(price)


def _answered(answer: Any, sql: str, curator: Curator, learning: Cost, json: bool) -> None:
    from hedgerow.release.numerals import amount, rest

    budget = curator.ledger.budget
    if json:
        cost, left = answer.cost, curator.remaining
        emit({"sql": sql, **rows_of(answer), "confidence": answer.confidence, "source": answer.source,
              "cached": answer.cached, "simultaneous": answer.simultaneous,
              "cost": None if cost is None else {"epsilon": cost.epsilon, "delta": cost.delta},
              "learning": None if learning.is_zero else budget.part(learning).epsilon,
              "remaining": {"epsilon": left.epsilon, "delta": left.delta},
              "notes": list(answer.notes), "private": curator.private,
              "request": None, "receipt": point_of(curator.receipt)})  # fmt: skip
        return
    to = screen()
    to.print(table_of(answer))
    whose = "all numbers at once" if answer.simultaneous else "each number"
    hold, indicative = _hold(answer.source)
    again = ", as answered before" if answer.cached else ""
    to.print(
        f"Error bounds {hold} with {answer.confidence:.4g} confidence for {whose} "
        f"({answer.source}{indicative}{again})."
    )
    if not learning.is_zero:
        to.print(f"Learning what rows look like, once, cost {amount(budget.part(learning), budget)}.")
    to.print("Asking was free." if answer.cost is None else f"Asking cost {amount(answer.cost, budget)}.")
    to.print(f"Left of the dataset's budget: {rest(curator.ledger.remaining(), budget)}.")
    for note in answer.notes:
        to.print(f"Note: {note}")


def _hold(source: str) -> tuple[str, str]:
    """What error bounds do, by where they come from."""
    return ("are meant to hold", ", indicative only") if source == "learned" else ("hold", "")


def _explained(found: Any, json: bool) -> None:
    import numpy as np

    if json:
        error = np.asarray(found.error, dtype=np.float64)
        emit({"source": found.source, "cached": found.cached, "confidence": found.confidence,
              "error": None if np.isnan(error).any() else error.tolist(),
              "cost": {"epsilon": found.cost.epsilon, "delta": found.cost.delta},
              "affordable": found.affordable, "words": found.words})  # fmt: skip
        return
    to = screen()
    to.print(found.words)
    wide = float(np.max(found.error, initial=0.0))
    if np.isfinite(wide):
        hold, _ = _hold(found.source)
        to.print(f"Error bounds of up to {wide:,.4g} {hold} with {found.confidence:.4g} confidence.")
    if found.cost.epsilon:
        too_much = "" if found.affordable else _TOO_MUCH
        to.print(f"It would cost at most epsilon {found.cost.epsilon:.3g}{too_much}.")
