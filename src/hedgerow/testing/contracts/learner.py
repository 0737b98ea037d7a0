"""What a base learner owes boosting for people: models from released sums, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.learners.additive import Additive, sigmoid
from hedgerow.learning.learners.base_learner import BaseLearner, Evidence, Sums
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.strategies.column import LARGEST_FACTOR, Column
from hedgerow.testing.contracts.check import Check, Suite, require

DOMAIN = Domain({"age": bins(0, 100, 10), "job": 3, "town": 2})
ROWS = 2000
DEVIATION = 2.0

Make = Callable[[], BaseLearner]
LEARNER = Suite("a base learner")


def learner_checks(make: Make) -> list[Check]:
    """The checks of a base learner.

    Args:
        make: the learner.
    """
    return LEARNER.checks(make)


def check_learner(make: Make) -> None:
    """Try a base learner; see `learner_checks`."""
    LEARNER.check(make)


class School:
    """Made-up rows whose class follows from age and job, and what a learner is told about them."""

    def __init__(self, seed: int = 1) -> None:
        random = Generator(PCG64(seed))
        self.codes = {name: random.integers(0, DOMAIN[name].size, ROWS) for name in DOMAIN}
        odds = 0.8 * (self.codes["age"] - 4.5) + 2.0 * (self.codes["job"] == 1) - 0.7
        self.sides = (random.random(ROWS) < sigmoid(odds)).astype(np.int64)
        self._random = random

    def evidence(self) -> Evidence:
        counts = {}
        for name, codes in self.codes.items():
            by_side = [np.bincount(codes[self.sides == s], minlength=DOMAIN[name].size) for s in (0, 1)]
            counts[name] = np.stack(by_side).astype(np.float64) + np.rint(
                self._random.normal(0, DEVIATION, (2, 1))
            )
        return Evidence(dict(DOMAIN.items()), counts, DEVIATION**2)

    def sums(self, model: Additive, columns: Any, number: int) -> Sums:
        """What a round would release: sum of (y - p) times the factor in every cell, with noise."""
        residual = self.sides - sigmoid(model.margin(self.codes))
        values = []
        for column in columns:
            codes = self.codes[column.attribute]
            exact = np.bincount(column.cells[codes], residual * column.factors[codes], minlength=column.size)
            values.append(exact + self._random.normal(0, DEVIATION, column.size))
        return Sums(values, DEVIATION, number)

    def right(self, model: Additive) -> float:
        return float(((model.margin(self.codes) > 0) == self.sides).mean())


def _course(make: Make, school: School) -> tuple[Additive, list[Additive]]:
    """The first model and those after each round."""
    learner = make()
    course = learner.begin(school.evidence())
    model, seen = course.first, list[Additive]()
    for number in range(learner.rounds):
        model = course.step(model, school.sums(model, course.columns(model), number))
        seen.append(model)
    return course.first, seen


@LEARNER.promises("it is a base learner, of a whole number of rounds")
def _is_one(make: Make) -> None:
    learner = make()
    require(isinstance(learner, BaseLearner), "it lacks something of hedgerow.extending.BaseLearner")
    require(type(learner.rounds) is int and learner.rounds >= 1, f"it wants {learner.rounds!r} rounds")


@LEARNER.promises("what it asks for are columns of declared features, with factors no larger than it says")
def _columns(make: Make) -> None:
    learner, school = make(), School()
    largest = getattr(learner, "largest", LARGEST_FACTOR)
    course = learner.begin(school.evidence())
    model = course.first
    for number in range(min(3, learner.rounds)):
        columns = list(course.columns(model))
        for column in columns:
            require(isinstance(column, Column), "it asks for something else than a Column")
            require(column.attribute in DOMAIN, f"it asks for {column.attribute!r}, which is no feature")
            require(len(column.cells) == DOMAIN[column.attribute].size, "a column does not fit its feature")
            require(column.largest <= largest, f"a factor is {column.largest}, it said at most {largest}")
        model = course.step(model, school.sums(model, columns, number))


@LEARNER.promises("every model is finite, and over declared features")
def _models(make: Make) -> None:
    first, models = _course(make, School())
    for model in (first, *models):
        require(isinstance(model, Additive), "a model is no Additive")
        require(np.isfinite(model.intercept), "an intercept is no number")
        for name, table in model.tables.items():
            require(
                name in DOMAIN and table.shape == (DOMAIN[name].size,), f"the table of {name!r} does not fit"
            )
            require(bool(np.isfinite(table).all()), f"a number of {name!r} is none")


@LEARNER.promises("the same released numbers make the same model, and two courses do not disturb each other")
def _repeats(make: Make) -> None:
    margins = []
    for _ in range(2):
        school = School()
        _, models = _course(make, school)
        margins.append(models[-1].margin(school.codes))
    require(np.array_equal(margins[0], margins[1]), "the same numbers made another model")


@LEARNER.promises("it learns what is plain to see: better than always saying the commoner class")
def _learns(make: Make) -> None:
    school = School()
    _, models = _course(make, school)
    common = max(school.sides.mean(), 1 - school.sides.mean())
    right = school.right(models[-1])
    require(right > common + 0.05, f"it is right on {right:.0%} of rows, and {common:.0%} have one class")


@LEARNER.promises("sums that are nothing but noise, or absurd, end in a model all the same")
def _absurd(make: Make) -> None:
    learner, school = make(), School()
    course = learner.begin(school.evidence())
    model = course.first
    for number, size in enumerate((0.0, 1e9, -1e9)[: learner.rounds]):
        columns = list(course.columns(model))
        model = course.step(model, Sums([np.full(c.size, size) for c in columns], DEVIATION, number))
        finite = all(bool(np.isfinite(table).all()) for table in model.tables.values())
        require(finite and np.isfinite(model.intercept), "a model has something that is no number")
