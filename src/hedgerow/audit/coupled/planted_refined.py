"""Mistakes in refining a weaker answer: each is charged as the difference of two epsilons, and costs more."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.curator.noise.noise import discrete_laplace
from hedgerow.curator.noise.refined import refined_laplace
from hedgerow.privacy.event import RefinedLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator


def _refined(curator: Curator, numbers: Callable[[NDArray[np.int64]], Any], draw: Callable[..., Any]) -> Any:
    """A table measured, then refined to half the noise in somebody's own way."""
    weaker = curator.measure(("a",), 1, request="weaker")
    line, scale = curator.ledger.newest, weaker.noise.scale
    event = RefinedLaplace(curator.privacy.sensitivity(_norms(curator)).l1, scale / 2, scale, Fraction(line))
    exact = lambda: [numbers(curator._rows.tables([("a",)])[("a",)])]  # noqa: E731
    drawn = lambda held: [draw(held[0], weaker.values, event, curator._entropy)]  # noqa: E731
    return weaker.values, curator._act(event, exact, drawn, "refine:planted", request=event.request)


def _norms(curator: Curator) -> Any:
    from hedgerow.curator.statistics.target import statistic_of

    return statistic_of(("a",), curator.domain).norms


def _lawful(exact: Any, said: Any, event: RefinedLaplace, entropy: Any) -> Any:
    return exact + refined_laplace(said - exact, [event.weaker_scale], event.weaker_scale, entropy)


def fresh_noise(curator: Curator) -> Any:
    """The closer answer has noise of its own, as if it had been paid for whole."""
    return _refined(
        curator, lambda table: table, lambda x, said, e, entropy: x + _laplace(e.scale, x, entropy)
    )


def _laplace(scale: Fraction, like: Any, entropy: Any) -> Any:
    return discrete_laplace(scale, like.size, entropy).reshape(like.shape)


def other_numbers(curator: Curator) -> Any:
    """The weaker answer is another question's."""
    return _refined(curator, lambda table: table[::-1].copy(), _lawful)


def other_answer(curator: Curator) -> Any:
    """The noise is drawn given something else than what was said."""
    return _refined(
        curator, lambda table: table, lambda x, said, e, entropy: _lawful(x, said + 1, e, entropy)
    )


def less_noise(curator: Curator) -> Any:
    """A step further down the chain than was paid for."""

    def draw(exact: Any, said: Any, event: RefinedLaplace, entropy: Any) -> Any:
        return exact + refined_laplace(said - exact, [event.weaker_scale], event.weaker_scale / 3, entropy)

    return _refined(curator, lambda table: table, draw)


REFINED = {
    "a closer answer with noise of its own at the price of the difference": fresh_noise,
    "another question's answer refined": other_numbers,
    "noise refined from something that was not said": other_answer,
    "refined further than was paid for": less_noise,
}
