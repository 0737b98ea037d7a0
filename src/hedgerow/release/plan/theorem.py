"""What each mechanism's accuracy theorem promises for a task, what it must be given, and the rows for more.

A promise is what the mechanism itself would state when it is run: its rule is its card's. Where it counts the
rows with noise, the promise covers the count that it may get.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, RangeTooLarge
from hedgerow.privacy import bounds

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Card, Rule, Stated
    from hedgerow.mechanisms.task import Task

_STEPS = 8  # towards the rows at which a bound that grows like their root is a part of them


@dataclass(frozen=True)
class TheoremPromise:
    """A theorem's error as a fraction of the rows, if constants are hidden, and the rows it needs.

    Args:
        theorem: which one.
        fraction: the error; infinite where the theorem does not speak.
        order_of: whether constants are hidden: then nothing is promised.
        rows_needed: the rows at which the fraction is the task's `within`.
        parameters: what the mechanism must be given for it.
        refused: why the theorem's mechanism cannot be run here, or None.
    """

    theorem: str
    fraction: float
    order_of: bool
    rows_needed: float
    parameters: dict[str, Any]
    refused: str | None = None


def promise(card: Card, task: Task) -> TheoremPromise | None:
    """What a mechanism's theorem says for a task; None where nothing is proved."""
    theorem = card.theorem
    if theorem is None:
        return None
    hidden, n = theorem.hides(task), float(task.rows)
    try:
        rule = theorem.rule(task)
        said = rule(n)
        needed = _few_steps(rule, said, task) if theorem.slow else _rows_needed(rule, task.within)
    except RangeTooLarge as error:
        return TheoremPromise(theorem.words, inf, hidden, inf, {}, str(error))
    except HedgerowError:
        return None
    return TheoremPromise(theorem.words, said.error / n, hidden, needed, said.parameters)


def _rows_needed(rule: Rule, within: float) -> float:
    def fraction(n: float) -> float:
        try:
            return rule(n).error / n
        except HedgerowError:  # only so many rows can be run
            return inf

    return bounds.rows_needed(fraction, within)


def _few_steps(rule: Rule, said: Stated, task: Task) -> float:
    """The same by a few steps n -> error(n) / within, for a rule that takes its time."""
    n = said.error / task.within
    for _ in range(_STEPS):
        last, n = n, rule(n).error / task.within
        if n >= last * (1.0 - 1e-6):
            break
    return n
