"""Errors that are propagated through the second stage hold as often as they say.

The first stage is simulated: exact tables of public rows, with Laplace noise as at epsilon 1 and half-
widths that hold exactly as often as was asked. A run is one statement with fresh noise, and it hits if all
of its numbers lie within their bounds where they are to hold at once, else if one of them, chosen by
chance, does. So hits of N runs are at least binomial with probability 0.95. A class fails below the
quantile of 10^-8 of that law: 20 classes raise a false alarm with probability at most 2 * 10^-7.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import log
from typing import Any

import numpy as np
import pytest
import worlds
from scipy.stats import binom

from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.question import Question, Result
from hedgerow.queries.sql.stages.two_stages import TwoStages
from sizes import size

CONFIDENCE = 0.95
EPSILON = 1.0
KINDS = sorted({s.kind for s in worlds.corpus()})


class Held:
    """An answer as the second stage needs it."""

    def __init__(self, table: Result) -> None:
        self.table = table


class Noisy:
    """Exact answers with noise, and half-widths that hold as often as they say."""

    def __init__(self, world: worlds.World, rng: np.random.Generator, narrower: float = 1.0) -> None:
        self.world, self.rng, self.narrower = world, rng, narrower
        levels = {a: world.domain[a].size for a in world.domain}
        self.tables = exact_tables(world.columns, levels, world.domain)

    def asked(self, confidence: float, simultaneous: bool) -> Callable[[Sequence[Question]], list[Held]]:
        """Answers questions with this confidence for each number, or for all of an answer."""
        return lambda questions: [Held(self._one(q, confidence, simultaneous)) for q in questions]

    def exact(self, questions: Sequence[Question]) -> list[Held]:
        """The same without noise."""
        return [Held(q.evaluate(self.tables)) for q in questions]

    def _one(self, question: Question, confidence: float, simultaneous: bool) -> Result:
        """Laplace noise on every form, each with its own half-width: b log(numbers / beta)."""
        forms = np.stack([f.evaluate(self.tables(f.attributes)) for f in question.forms])
        worth = [
            max((float(np.abs(f.weights).max()) for f in form.factors), default=1.0)
            for form in question.forms
        ]
        scale = np.array(worth)[:, None] * len(forms) / EPSILON * np.ones_like(forms)
        numbers = forms.size if simultaneous else len(forms)
        width = scale * log(numbers / (1.0 - confidence))
        return question.combine(
            forms + self.rng.laplace(0.0, scale), self.narrower * width, confidence=confidence
        )


def hits(kind: str, runs: int, seed: int, narrower: float = 1.0) -> tuple[int, int]:
    """How many runs of a class hit, of how many; statements without a bounded number are left out."""
    chance = random.Random(seed)
    hit = asked = 0
    statements = [s for s in worlds.corpus() if s.kind == kind]
    rng = np.random.default_rng(seed)  # one for all worlds: runs are independent
    noisy = {s.world: Noisy(worlds.world(s.world), rng, narrower) for s in statements}
    while asked < runs and statements:
        statement = chance.choice(statements)
        found = _run(noisy[statement.world], statement, chance)
        if found is None:
            statements.remove(statement)
            continue
        hit, asked = hit + found, asked + 1
    return hit, asked


def _run(noisy: Noisy, statement: worlds.Statement, chance: random.Random) -> bool | None:
    """Whether one run hits; None where no number of the statement has a bound."""
    try:
        staged = TwoStages(noisy.world.domain, statement.text, noisy.world.unit, statement.params)
        terms = staged.terms(CONFIDENCE, simultaneous=False)
        made, _ = staged.answered(noisy.asked(terms.confidence, terms.simultaneous))
        true, _ = _with_constants(staged, made.values).answered(noisy.exact)
    except Exception as error:  # rows are not shown, and what counts people has no exact table here
        if type(error).__module__ != "hedgerow.errors":
            raise
        return None
    known = _inside(made.result, true.result)
    if not known:
        return None
    return all(known) if terms.simultaneous else chance.choice(known)


def _with_constants(staged: TwoStages, values: tuple[tuple[Any, ...], ...]) -> TwoStages:
    return TwoStages(staged.domain, staged.text, staged.unit, staged.params, values)


def _inside(shown: Result, true: Result) -> list[bool]:
    """For each shown number with a bound whether the truth, of the same labels, lies inside."""
    truth = dict(zip(true.groups, true.values, strict=True))
    out = []
    for labels, values, errors in zip(shown.groups, shown.values, shown.errors, strict=True):
        if labels not in truth:
            continue
        for value, error, exact in zip(values, errors, truth[labels], strict=True):
            if np.isfinite(error) and np.isfinite(value) and np.isfinite(exact):
                out.append(bool(abs(value - exact) <= error + 1e-9 * (1.0 + abs(exact))))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_errors_hold_as_often_as_they_say(kind: str) -> None:
    hit, runs = hits(kind, size(40, 2_000), seed=1)
    if not runs:
        pytest.skip("no number of this class has a bound: levels are public")
    assert hit >= binom.ppf(1e-8, runs, CONFIDENCE)


def test_narrower_errors_would_be_seen() -> None:
    hit, runs = hits("groups", 60, seed=2, narrower=0.2)
    assert hit < binom.ppf(1e-8, runs, CONFIDENCE)
