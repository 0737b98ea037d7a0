"""What a refined answer must satisfy: it is drawn given the weaker one, of the same exact numbers, once.

Refining costs the difference of two epsilons only as the end of a chain: one draw of the declared law, from
what was said before, about numbers that are the same on this table as they were then. Written a second time,
from the ledger's lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.audit.coupled.tape import Met, Played
from hedgerow.privacy.event import Laplace, RefinedLaplace


def unlawful_refining(played: Played) -> Iterator[str]:
    """Sentences about refined answers that are not what was paid for."""
    paid = [
        seq for seq, line in enumerate(played.lines, 1) if line[0] == "charge" and "sparse" not in line[4]
    ]
    acts = [met for met in played.met if met.plan is None and met.drawn is not None]
    known, refined = dict(zip(paid, acts, strict=False)), set[int]()
    for met in acts:
        if isinstance(met.event, RefinedLaplace):
            line = int(met.event.line)
            if line in refined:
                yield f"the answer of line {line} is refined twice"
            refined.add(line)
            yield from (f"{met.told}: {words}" for words in _wrong(met, met.event, known, line))


def _wrong(met: Met, event: RefinedLaplace, known: dict[int, Met], line: int) -> Iterator[str]:
    weaker = known.get(line)
    if weaker is None or not isinstance(weaker.event, Laplace | RefinedLaplace):
        yield f"line {line} holds no answer with Laplace noise"
        return
    noise = (weaker.event.sensitivity, weaker.event.scale)
    if noise != (event.sensitivity, event.weaker_scale):
        yield "the weaker answer has other noise than what was declared"
    exact, before, said = _numbers(met.exact), _numbers(weaker.exact), _numbers(weaker.said)
    if not np.array_equal(exact, before):
        yield "the weaker answer is of other exact numbers"
    draws = [d for d in met.draws if d.law == "refined_laplace"]
    if len(draws) != 1 or len(met.draws) != 1:
        yield "a refined answer was declared, and not drawn as one"
        return
    parts, step, offsets, drawn = draws[0].about
    rate = sum((1 / part for part in parts), Fraction(0))
    if rate != 1 / event.weaker_scale or rate + 1 / step != 1 / event.scale:
        yield "noise of another scale was drawn than what was declared"
    if not np.array_equal(offsets, said - exact):
        yield "the noise was not drawn given the weaker answer's"
    if not np.array_equal(_numbers(met.drawn), exact + drawn):
        yield "what was released is not the exact value plus its own draws"


def _numbers(values: Any) -> Any:
    """The one array of an act, flat."""
    return np.ravel(values[0] if isinstance(values, list) else values)
