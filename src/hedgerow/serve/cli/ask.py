"""`hedgerow ask`: one question to private data, through a session that remembers, or at a server."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.options import As, Data, DataOptions, Json, SchemaFile, Sql
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, printing, screen, table_of
from hedgerow.service import wire
from hedgerow.service.address import is_remote

if TYPE_CHECKING:
    from hedgerow.service.asking import Answered, Ask, Explanation, FirstQuestion
    from hedgerow.service.dataset import Dataset
    from hedgerow.service.learning import Learning

_KEPT = "the answer is paid for and kept: ask the same without --anew and --epsilon, which is free"


def ask(
    data: Data,
    sql: Sql,
    opening: DataOptions,
    schema: SchemaFile = None,
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
    spend: Annotated[
        bool | None,
        typer.Option(
            "--spend/--no-spend", help="Whether it may cost something; at a server not unless said."
        ),
    ] = None,
    max_epsilon: Annotated[
        float | None, typer.Option(help="The most that the question, and learning for it, may cost.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(metavar="ID", help="The same question with the same id is asked once.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="What the first question spends on learning; half of what remains if not given."),
    ] = None,
    account: As = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Learn again, and pay again: for other rows or another schema.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask private DATA a question in SQL, here without a server, or at one: http://HOST/DATASET.

    The first question spends part of the dataset's budget on learning what rows look like; from then on a
    question costs nothing, unless it asks for an accuracy that what was learned cannot vouch for. The same
    question gets the same answer again, free. What was learned and said lies in DATA.hedgerow.db, and belongs
    to the data file as it was then, and to the schema: when the file has changed, --same-rows goes on; when
    either has, --anew learns again and pays again, from the same budget.
    """
    from hedgerow.service.asking import Ask
    from hedgerow.service.learning import Learning

    there = is_remote(data)
    spends = not there if spend is None else spend
    question = Ask(sql, (), within, within_count, confidence, spends, max_epsilon, request)
    if there:
        from hedgerow.serve.cli import remote

        remote.ask(str(data), question, explain=explain, json=json)
    else:
        _ask_here(
            opening.dataset(data, schema=schema), question, Learning(epsilon, anew), account, explain, json
        )


def _ask_here(
    dataset: Dataset, question: Ask, learning: Learning, account: str | None, explain: bool, json: bool
) -> None:
    from hedgerow.service.asking import Answered, FirstQuestion, Visit

    with progress(json) as step:
        visit = Visit(dataset, question, learning, step, account)
        found = visit.explain() if explain else visit.answer()
    pays = learning.epsilon is not None or learning.anew
    with printing(_KEPT) if pays and not explain else nullcontext():
        if isinstance(found, Answered):
            _answered(found, json, account)
        elif isinstance(found, FirstQuestion):
            _unlearned(found, json)
        else:
            _explained(found, json)


def _unlearned(found: FirstQuestion, json: bool) -> None:
    if json:
        emit(wire.first_question(found))
        return
    to = screen()
    to.print(found.words)
    to.print(found.costs)


def _answered(given: Answered, json: bool, account: str | None) -> None:
    from hedgerow.release.numerals import amount, rest

    if json:
        emit(wire.answered(given))
        return
    answer, budget, to = given.answer, given.budget, screen()
    to.print(table_of(answer))
    if answer.has_numbers:
        to.print(answer.words)
    if not given.learning.is_zero:
        to.print(f"Learning what rows look like, once, cost {amount(budget.part(given.learning), budget)}.")
    to.print("Asking was free." if answer.cost is None else f"Asking cost {_paid(answer.cost, budget)}.")
    whose = "the dataset's budget" if account is None else f"{account}'s part of the budget"
    to.print(f"Left of {whose}: {rest(given.left, budget)}.")
    for note in answer.notes:
        to.print(f"Note: {note}")


def _paid(cost: Any, budget: Any) -> str:
    """A price, and which part of the budget it took: small prices add up to less than their epsilons do."""
    from hedgerow.release.numerals import amount, percent

    return f"{amount(cost, budget)}, {percent(cost.cost, budget)} of the whole budget"


def _hold(source: str) -> tuple[str, str]:
    """What error bounds do, by where they come from."""
    return ("are meant to hold", ", indicative only") if source == "learned" else ("hold", "")


def _explained(found: Explanation, json: bool) -> None:
    import numpy as np

    from hedgerow.release.numerals import bound

    if json:
        emit(wire.explained(found))
        return
    to = screen()
    to.print(found.words)
    errors = np.atleast_1d(np.asarray(found.error, dtype=np.float64)).ravel()
    bounded = errors[np.isfinite(errors)]
    if bounded.size:
        hold, _ = _hold(found.source)
        rest = errors.size - bounded.size
        also = f"; {rest:,} of {errors.size:,} numbers have none that is known" if rest else ""
        wide = f"Error bounds of up to {bound(float(bounded.max()))} {hold}"
        to.print(f"{wide} with {found.confidence:.4g} confidence{also}.")
    if found.cost.epsilon:
        too_much = "" if found.affordable else ", which is more than is left"
        to.print(f"It would cost at most epsilon {found.cost.epsilon:.3g}{too_much}.")
