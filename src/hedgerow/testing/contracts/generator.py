"""What a base generator owes boosting for queries: an answer to every question, near those it was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.generators.base_generator import BaseGenerator, Generated, SampledAnswers
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE
from hedgerow.queries.workload import marginals
from hedgerow.testing.contracts.check import Check, Suite, require

DOMAIN = Domain({"a": 3, "b": 2})
COUNTS = np.array([3.0, 0.0, 3.0, 3.0, 0.0, 3.0])
ROWS = 12
TOLERANCE = 0.5

Make = Callable[[], BaseGenerator]
GENERATOR = Suite("a base generator")


def generator_checks(make: Make, questions: tuple[Any, ...] | None = None) -> list[Check]:
    """The checks of a base generator.

    Args:
        make: the generator.
        questions: what it answers, over attributes `a` of three levels and `b` of two; tables if None. Of
            questions that are no queries each needs `values(counts)`, over the attribute `a`.
    """
    return GENERATOR.checks(make, tuple(marginals(DOMAIN, 2)) if questions is None else questions)


def check_generator(make: Make, questions: tuple[Any, ...] | None = None) -> None:
    """Try a base generator; see `generator_checks`."""
    for check in generator_checks(make, questions):
        check()


def truth(questions: tuple[Any, ...]) -> Any:
    """The answers of a small table to some questions."""
    if hasattr(questions[0], "weights"):
        return np.array([(q.weights.ravel() / ONE * COUNTS).sum() for q in questions])
    levels = COUNTS.reshape(3, 2).sum(axis=1).astype(np.int64)
    return np.array([float(q.values(levels)) for q in questions])


def _samples(questions: tuple[Any, ...]) -> list[SampledAnswers]:
    found = []
    for seed in range(4):
        random = Generator(PCG64(seed))
        places = np.sort(random.choice(len(questions), 3, replace=False))
        noisy = truth(questions)[places] + random.uniform(-0.8 * TOLERANCE, 0.8 * TOLERANCE, 3)
        found.append(SampledAnswers(places, noisy, TOLERANCE, float(ROWS), number=seed))
    return found


@GENERATOR.promises("it is a base generator, and says among how many synopses it chooses")
def _is_one(make: Make, questions: tuple[Any, ...]) -> None:
    require(isinstance(make(), BaseGenerator), "it lacks something of hedgerow.extending.BaseGenerator")
    at_work = make().begin(DOMAIN, questions)
    require(isinstance(at_work.draws, bool), "`draws` is no bool")
    require(at_work.range(ROWS) > 0, "the logarithm of how many synopses there may be is above zero")


@GENERATOR.promises("it answers every question, and those it was shown within the tolerance")
def _answers(make: Make, questions: tuple[Any, ...]) -> None:
    at_work = make().begin(DOMAIN, questions)
    at_work.range(ROWS)
    for sample in _samples(questions):
        found = at_work.generate(sample)
        require(isinstance(found, Generated), "it returns no Generated although one fits")
        assert found is not None
        require(found.answers.shape == (len(questions),), "it does not answer every question")
        require(bool(np.isfinite(found.answers).all()), "an answer is no number")
        off = float(np.abs(found.answers[sample.places] - sample.answers).max())
        require(off <= TOLERANCE + 1e-6, f"a question that it was shown is {off:.4g} rows off")


@GENERATOR.promises("a table that it shows is a database: counts that are not negative, in every cell")
def _tables(make: Make, questions: tuple[Any, ...]) -> None:
    at_work = make().begin(DOMAIN, questions)
    at_work.range(ROWS)
    for sample in _samples(questions):
        found = at_work.generate(sample)
        if found is not None and found.table is not None:
            require(found.table.shape == (DOMAIN.size,), "its table has not one number for each cell")
            require((found.table >= 0).all(), "its table has a negative count")


@GENERATOR.promises("it changes nothing of what it is given")
def _given(make: Make, questions: tuple[Any, ...]) -> None:
    at_work = make().begin(DOMAIN, questions)
    at_work.range(ROWS)
    sample = _samples(questions)[0]
    before = sample.answers.copy(), sample.places.copy()
    at_work.generate(sample)
    same = np.array_equal(sample.answers, before[0]) and np.array_equal(sample.places, before[1])
    require(same, "it wrote to its sample")


@GENERATOR.promises("where nothing fits it returns nothing, or what the mechanism will not believe")
def _nothing(make: Make, questions: tuple[Any, ...]) -> None:
    at_work = make().begin(DOMAIN, questions)
    at_work.range(ROWS)
    far = SampledAnswers(np.arange(3), np.full(3, 100.0 * ROWS), TOLERANCE, float(ROWS))
    found = at_work.generate(far)
    require(found is None or found.answers.shape == (len(questions),), "it fails where nothing fits")
