"""What a hypothesis owes: the distribution it believes in, moved as it says, against brute force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from hedgerow.learning.hypothesis import Fit, Hypothesis, TableHypothesis
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.query import ONE, Query, SparseQuery
from hedgerow.testing.contracts.check import Check, Suite, require

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
NAMES = [f"name {i}" for i in range(12)]
CLOSE = 1e-9
ROUNDS = 12

HYPOTHESIS = Suite("a hypothesis")
TABLES = Suite("a hypothesis")


class Probe:
    """A hypothesis with questions that reach each of its elements, whatever these are."""

    def __init__(
        self, make: Callable[[], Hypothesis[Any]], units: list[Any], ask: Callable[..., Any]
    ) -> None:
        self.make, self.units, self._ask = make, units, ask

    def cells(self, hypothesis: Hypothesis[Any]) -> NDArray[np.float64]:
        """What it believes of every element, asked one by one."""
        return np.array([hypothesis.answer(unit) for unit in self.units])

    def questions(self, seed: int = 3) -> list[tuple[Any, NDArray[np.float64]]]:
        """Questions, each with its weights over the elements; some count, some weigh."""
        random, found = Generator(PCG64(seed)), []
        for t in range(ROUNDS):
            found.append(self._ask(random, counts=t % 2 == 0))
        return found


def _table_question(random: Generator, *, counts: bool) -> tuple[Query, NDArray[np.float64]]:
    names = [str(n) for n in random.permutation(DOMAIN.names)[: int(random.integers(1, 4))]]
    shape = DOMAIN.shape_of(names)
    weights = random.integers(0, 2, shape) if counts else np.rint(random.random(shape) * 16) / 16
    query = Query.of(DOMAIN, names, weights)
    spread = (query.weights / ONE).reshape([DOMAIN[a].size if a in query.attributes else 1 for a in DOMAIN])
    return query, np.broadcast_to(spread, DOMAIN.shape).ravel()


def _names_question(random: Generator, *, counts: bool) -> tuple[SparseQuery, NDArray[np.float64]]:
    weights = np.zeros(len(NAMES))
    some = random.choice(len(NAMES), 3, replace=False)
    weights[some] = 1.0 if counts else np.rint(random.random(3) * 16) / 16
    return SparseQuery.of({n: float(w) for n, w in zip(NAMES, weights, strict=True) if w}), weights


def hypothesis_checks(make: Callable[[Domain], TableHypothesis]) -> list[Check]:
    """The checks of a hypothesis over a declared domain.

    Args:
        make: the hypothesis of a domain before it has learned anything.
    """
    every = [Query.where(DOMAIN, dict(zip(DOMAIN, c, strict=True))) for c in np.ndindex(*DOMAIN.shape)]
    probe = Probe(lambda: make(DOMAIN), every, _table_question)
    return [*HYPOTHESIS.checks(probe), *TABLES.checks(make)]


def check_hypothesis(make: Callable[[Domain], TableHypothesis]) -> None:
    """Try a hypothesis over a declared domain; see `hypothesis_checks`."""
    for check in hypothesis_checks(make):
        check()


def names_hypothesis_checks(make: Callable[[int], Hypothesis[SparseQuery]]) -> list[Check]:
    """The checks of a hypothesis over names without end.

    Args:
        make: the hypothesis of so many names, whichever they are, before it has learned anything.
    """
    every = [SparseQuery.of({name: 1.0}) for name in NAMES]
    return HYPOTHESIS.checks(Probe(lambda: make(len(NAMES)), every, _names_question))


def check_names_hypothesis(make: Callable[[int], Hypothesis[SparseQuery]]) -> None:
    """Try a hypothesis over names; see `names_hypothesis_checks`."""
    for check in names_hypothesis_checks(make):
        check()


@HYPOTHESIS.promises("it believes in a distribution, and an answer is the mean weight of a row")
def _mean(probe: Probe) -> None:
    hypothesis = probe.make()
    for query, weights in probe.questions():
        cells = probe.cells(hypothesis)
        require(cells.min() >= 0 and abs(cells.sum() - 1) < CLOSE, "its elements do not add up to one")
        require(abs(hypothesis.answer(query) - weights @ cells) < CLOSE, "an answer is not the mean weight")
        hypothesis.tilt(query, 0.7)


@HYPOTHESIS.promises("asking changes nothing, and the same question gets the same bits")
def _asking(probe: Probe) -> None:
    quiet, busy = probe.make(), probe.make()
    for query, _ in probe.questions():
        probe.cells(busy)
        require(quiet.answer(query) == busy.answer(query), "what was asked before changes an answer")
        quiet.tilt(query, -0.4)
        busy.tilt(query, -0.4)


@HYPOTHESIS.promises("a tilt multiplies every weight by exp(step * weight), up to normalisation")
def _tilt(probe: Probe) -> None:
    hypothesis = probe.make()
    for t, (query, weights) in enumerate(probe.questions()):
        step = (-1) ** t * (0.1 + t / 5)
        wanted = probe.cells(hypothesis) * np.exp(step * weights)
        hypothesis.tilt(query, step)
        found = probe.cells(hypothesis)
        require(np.abs(found - wanted / wanted.sum()).max() < CLOSE, "a tilt moved it elsewhere")


@HYPOTHESIS.promises("an update moves its answer towards the value, and says which way")
def _update(probe: Probe) -> None:
    hypothesis = probe.make()
    for t, (query, weights) in enumerate(probe.questions()):
        before = hypothesis.answer(query)
        if np.ptp(weights) == 0:
            continue  # nothing can move it
        value = 0.9 if t % 3 else 0.02
        said = hypothesis.update(query, value, 0.2)
        moved = hypothesis.answer(query) - before
        require(said == (-1 if value < before else 1), f"it says {said} although {before} was to be {value}")
        require(moved * said > 0, "an update moved its answer the other way, or not at all")


@HYPOTHESIS.promises("its bound on updates is a number above zero that falls as alpha grows")
def _bound(probe: Probe) -> None:
    hypothesis = probe.make()
    many, few = hypothesis.update_bound(0.01), hypothesis.update_bound(0.2)
    require(0 < few <= many, f"B(0.2) is {few} and B(0.01) is {many}")


@TABLES.promises("its tables are sums of its cells, axes in the order asked for, and are the caller's own")
def _tables(make: Callable[[Domain], TableHypothesis]) -> None:
    hypothesis = make(DOMAIN)
    hypothesis.tilt(Query.where(DOMAIN, {"a": 1, "c": 2}), 1.5)
    hypothesis.tilt(Query.where(DOMAIN, {"b": 0}), -0.5)
    whole = hypothesis.marginal(DOMAIN.names)
    require(
        whole.shape == DOMAIN.shape and abs(whole.sum() - 1) < CLOSE, "the whole table is no distribution"
    )
    for names in (("a",), ("c", "a"), ("b", "c"), ("c", "b", "a")):
        rest = tuple(i for i, name in enumerate(DOMAIN) if name not in names)
        held = [name for name in DOMAIN if name in names]
        wanted = whole.sum(axis=rest).transpose([held.index(name) for name in names])
        found = hypothesis.marginal(names)
        require(found.shape == wanted.shape, f"the table {names} has shape {found.shape}")
        require(np.abs(found - wanted).max() < CLOSE, f"the table {names} is no sum of cells")
        if found.flags.writeable:
            found[:] = 0.0
        require(hypothesis.marginal(names).sum() > 0.5, "writing to a table that it returned changes it")


@TABLES.promises("a fit comes near what was measured, and takes the number of rows from it")
def _fit(make: Callable[[Domain], TableHypothesis]) -> None:
    hypothesis = make(DOMAIN)
    counts = {("a", "b"): np.array([[500, 20], [0, 180], [100, 200]]), ("c",): np.array([600, 0, 300, 100])}
    law = Noise("gaussian", Fraction(2))
    fit = hypothesis.fit([Measurement(names, n.astype(np.int64), law) for names, n in counts.items()])
    require(
        isinstance(fit, Fit) and fit.misfit < 4.0, f"the misfit is {fit.misfit}, four times what noise is"
    )
    require(
        abs(hypothesis.total - 1000) < 30, f"it stands for {hypothesis.total:.4g} rows, not for about 1000"
    )
    for names, wanted in counts.items():
        off = np.abs(hypothesis.total * hypothesis.marginal(names) - wanted).max()
        require(off < 20, f"a cell of {names} is {off:.4g} rows off, ten standard deviations")


@TABLES.promises("it makes up as many rows as asked for, of its own levels, the same for the same seed")
def _sample(make: Callable[[Domain], TableHypothesis]) -> None:
    hypothesis = make(DOMAIN)
    hypothesis.tilt(Query.where(DOMAIN, {"a": 1}), 9.0)
    rows = hypothesis.sample(600, seed=5)
    require(set(rows) == set(DOMAIN), "made-up rows have other columns")
    for name, codes in rows.items():
        require(
            len(codes) == 600 and codes.min() >= 0 and codes.max() < DOMAIN[name].size, f"codes of {name}"
        )
        require(np.array_equal(codes, hypothesis.sample(600, seed=5)[name]), "a seed gives other rows again")
    # it believes 0.9998 in a = 1: fewer than 550 of 600 have probability below 1e-100
    require((rows["a"] == 1).sum() > 550, "made-up rows do not follow what it believes")
