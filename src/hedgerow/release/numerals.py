"""Numbers as people read them: no more digits than the error bound supports."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, isfinite
from typing import TYPE_CHECKING, Any

from hedgerow.figures import about, bound, signed, small
from hedgerow.privacy.share import percent, used_up

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget, Cost

__all__ = ["about", "amount", "bound", "expected", "meaning", "percent", "rest", "signed", "small", "used_up"]


def expected(error: Any) -> str:
    """The errors that an answer would have, as a sentence; empty where nothing is known of them.

    >>> expected(1234.0), expected([[321.0], [None], [4321.0]])
    ('About ± 1,240.', 'About ± 330 to ± 4,400; of 1 of 3 numbers the error is not known.')
    """
    every = list(_numbers(error))
    known = [e for e in every if e is not None]
    if not known:
        return ""
    low, high = bound(min(known)), bound(max(known))
    said = f"About ± {low}" if low == high else f"About ± {low} to ± {high}"
    left = len(every) - len(known)
    return f"{said}; of {left:,} of {len(every):,} numbers the error is not known." if left else f"{said}."


def _numbers(error: Any) -> Iterator[float | None]:
    if isinstance(error, list):
        for part in error:
            yield from _numbers(part)
    else:
        yield error


def amount(budget: Budget, whole: Budget | None = None) -> str:
    """A budget, or a part of one, in words; a part is stated at the delta of the whole.

    >>> from hedgerow.privacy.budget import Budget
    >>> amount(Budget(epsilon=1, delta=1e-9)), amount(Budget(epsilon=0.5))
    ('epsilon 1, delta 1e-9', 'epsilon 0.5')
    >>> amount(Budget(rho=1e-22, delta=1e-9))  # delta alone pays for it
    'rho 1e-22'
    """
    if not isfinite(budget.epsilon):
        return f"rho {small(budget.rho)}"
    if not budget.epsilon:
        return _crumb(budget)
    delta = (whole or budget).delta
    return f"epsilon {small(budget.epsilon)}" + (f", delta {small(delta)}" if delta else "")


def meaning(budget: Budget) -> str:
    """What an epsilon means, in a sentence.

    >>> from hedgerow.privacy.budget import Budget
    >>> meaning(Budget(epsilon=1))
    "Epsilon 1 means: what is released is at most 2.7 times as likely with a person's rows as without them."
    """
    epsilon = budget.epsilon
    if not isfinite(epsilon):
        return ""
    times = f"{exp(epsilon):.2g}" if epsilon < 5 else f"e^{small(epsilon)}"
    but = f", but for a chance of {small(budget.delta)}" if budget.delta else ""
    return (
        f"Epsilon {small(epsilon)} means: what is released is at most {times} times as likely with a "
        f"person's rows as without them{but}."
    )


def _crumb(budget: Budget) -> str:
    """So little that its delta alone pays for it: epsilon would read as 0, though something was spent."""
    if budget.rho:
        return f"rho {small(budget.rho)}"
    return f"delta {small(float(budget.event_delta))}" if budget.event_delta else "nothing"


def rest(left: Cost, budget: Budget) -> str:
    """What is left of a budget, in words; less than a millionth of it is nothing that could be used.

    >>> from hedgerow.privacy.budget import Budget, Cost
    >>> rest(Cost("epsilon", "1/4"), Budget(epsilon=1)), rest(Cost("epsilon", 0), Budget(epsilon=1))
    ('epsilon 0.25', 'nothing')
    """
    return "nothing" if used_up(left, budget) else amount(budget.part(left), budget)
