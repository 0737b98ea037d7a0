"""Asking a server from the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hedgerow.client.client import Client, connect
from hedgerow.errors import HedgerowError
from hedgerow.serve.cli.terminal import emit, screen

if TYPE_CHECKING:
    from hedgerow.client.served import ServedAnswer
    from hedgerow.service.asking import Ask


def is_remote(data: str) -> bool:
    """Whether DATA is a dataset at a server."""
    return re.match(r"https?:/", data) is not None


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
    to, cost, left = screen(), answer.cost, answer.remaining
    to.print(_table(answer))
    hold = "are meant to hold" if answer.source == "learned" else "hold"
    to.print(f"Error bounds {hold} with {answer.confidence:.4g} confidence ({answer.source}).")
    to.print("Asking was free." if cost is None else f"Asking cost epsilon {cost.epsilon:.4g}.")
    if left is not None:
        to.print(f"Left to spend: epsilon {left.epsilon:.4g}.")
    for note in answer.notes:
        to.print(f"Note: {note}")


def _table(answer: ServedAnswer) -> Any:
    from rich.table import Table

    from hedgerow.release.numerals import bound, signed

    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in answer.columns:
        made.add_column(name)
        if name in answer.measures:
            made.add_column("±", style="dim")
    for row in answer:
        cells: list[str] = []
        for name in answer.columns:
            cell = row[name]
            if isinstance(cell, dict):
                value, error = (float("nan") if cell[k] is None else cell[k] for k in ("value", "error"))
                cells += [signed(value, error), bound(error)]
            else:
                cells.append(str(cell))
        made.add_row(*cells)
    return made
