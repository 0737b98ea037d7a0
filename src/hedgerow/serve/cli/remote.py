"""Asking a server from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.client.client import Client, connect
from hedgerow.errors import HedgerowError
from hedgerow.serve.cli.terminal import emit, screen, table_of

if TYPE_CHECKING:
    from hedgerow.client.served import ServedAnswer
    from hedgerow.service.asking import Ask


def at(url: str) -> Client:
    """The dataset at http://HOST/DATASET; the token comes from the environment.

    Args:
        url: its address.
    """
    found = connect(url)
    if found.named is None:
        raise HedgerowError(f"a dataset at a server is http://HOST/DATASET, not {url!r}")
    return found


def ask(url: str, question: Ask, *, explain: bool, json: bool) -> None:
    """Put a question to a server, and print what it says.

    Args:
        url: http://HOST/DATASET.
        question: the question.
        explain: ask only what asking would do.
        json: print the server's own reply.
    """
    wish = question.wish | {"max_epsilon": question.max_epsilon, "request": question.request}
    with at(url) as there:
        if explain:
            told = there.explain(question.sql, question.params, spend=question.spend, **wish)
            emit(told) if json else screen().print(told["words"])
            return
        answer = there.ask(question.sql, question.params, spend=question.spend, **wish)
    if json:
        emit(answer.to_json())
        return
    from hedgerow.service.frames import frame

    to = screen()
    to.print(table_of(frame(answer.to_json())))
    for said in (meaning(answer), price(answer), *(f"Note: {note}" for note in answer.notes)):
        to.print(said)


def meaning(answer: ServedAnswer) -> str:
    """What the errors of an answer mean.

    Args:
        answer: the answer.
    """
    hold = "are meant to hold" if answer.source == "learned" else "hold"
    return f"Error bounds {hold} with {answer.confidence:.4g} confidence ({answer.source})."


def price(answer: ServedAnswer) -> str:
    """What asking cost, and what is left.

    Args:
        answer: the answer.
    """
    cost, left = answer.cost, answer.remaining
    said = "Asking was free." if cost is None else f"Asking cost epsilon {cost.epsilon:.4g}."
    return said if left is None else f"{said} Left to spend: epsilon {left.epsilon:.4g}."
