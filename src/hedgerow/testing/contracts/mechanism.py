"""What a mechanism owes: it pays for what it shows, says what it spent, and rows decide nothing else."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.table import Table
from hedgerow.errors import BudgetExceeded, HedgerowError
from hedgerow.mechanisms.mechanism import Release
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.workload import Workload, marginals
from hedgerow.synopsis.synopsis import Synopsis
from hedgerow.testing.contracts.check import Check, Suite, refused, require
from hedgerow.testing.entropy import seeded

DOMAIN = Domain({"sex": ["F", "M"], "age": bins(0, 30, 10, missing=True), "job": 3})
PURE, MIXED = Budget(epsilon=2), Budget(epsilon=2, delta=1e-6)

Make = Callable[..., Any]
MECHANISM = Suite("a mechanism")


class Stage:
    """What a mechanism is tried on.

    Args:
        make: makes the mechanism of parameters: `epsilon`, and `run` if it has one.
        workload: what it is asked to release.
        budget: what its curators may spend.
        neighbours: the relation they protect.
    """

    def __init__(self, make: Make, workload: Any, budget: Budget, neighbours: Any, replayed: int) -> None:
        self.make, self.budget, self.neighbours, self.replayed = make, budget, neighbours, replayed
        self.workload = marginals(DOMAIN, 2) if workload is None else workload

    def curator(self, ledger: Any = ":memory:", entropy: Any = None, rows: int = 400) -> Curator:
        random = Generator(PCG64(3))
        sex = random.integers(0, 2, rows)
        columns = {
            "sex": np.array(["F", "M"])[sex],
            "age": random.integers(0, 30, rows),
            "job": (sex + random.integers(0, 2, rows)) % 3,
        }
        return Curator(Table.open(columns, DOMAIN), self.budget, ledger, self.neighbours, entropy=entropy)

    def release(self, curator: Curator, **parameters: Any) -> Synopsis:
        made: Synopsis = self.make(**parameters).release(curator, self.workload)
        return made

    @property
    def named(self) -> bool:
        """Whether its releases can have a name."""
        try:
            self.make(run="name")
        except TypeError:
            return False
        return True


def mechanism_checks(
    make: Make,
    *,
    workload: Any = None,
    budget: Budget = MIXED,
    neighbours: str = "add_remove",
    replayed: int = 40,
) -> list[Check]:
    """The checks of a mechanism that releases at once.

    Args:
        make: makes it of keyword parameters: `epsilon`, and `run` if its releases can have a name.
        workload: what it is asked to release, over `DOMAIN` of this module; all pairs of attributes if None.
        budget: what its curators may spend; one that works in pure epsilon too is best checked twice.
        neighbours: `add_remove` or `replace`.
        replayed: on how many neighbouring tables its history is replayed.
    """
    return MECHANISM.checks(Stage(make, workload, budget, neighbours, replayed))


def check_mechanism(make: Make, **options: Any) -> None:
    """Try a mechanism; see `mechanism_checks`."""
    for check in mechanism_checks(make, **options):
        check()


@MECHANISM.promises("it is a mechanism, and takes nothing but a curator")
def _is_one(stage: Stage) -> None:
    require(isinstance(stage.make(), Release), "it has no `release(curator, workload)`")
    for other in (None, stage.curator().table, {"sex": ["F"]}):
        with refused("something that is no curator", HedgerowError):
            stage.make().release(other, stage.workload)


@MECHANISM.promises("it spends what it is told to and no more, and says so")
def _spends(stage: Stage) -> None:
    for told, most in (({}, stage.budget.epsilon), ({"epsilon": 0.5}, 0.5)):
        curator = stage.curator()
        synopsis = stage.release(curator, **told)
        spent = curator.spent.epsilon
        require(0 < spent <= most * (1 + 1e-9), f"it spent epsilon {spent}, of {most}")
        says = synopsis.cost.epsilon
        require(abs(says - spent) <= 1e-6 * spent, f"it spent epsilon {spent} and says {says}")


@MECHANISM.promises("what it cannot pay for is refused, and nothing is charged")
def _refuses(stage: Stage) -> None:
    curator = stage.curator()
    with refused("an epsilon beyond the budget", BudgetExceeded):
        stage.release(curator, epsilon=stage.budget.epsilon + 1)
    require(curator.spent.epsilon == 0, "it charged for a release that it refused")


@MECHANISM.promises("its ledger verifies by the receipt that its synopsis carries")
def _receipt(stage: Stage) -> None:
    curator = stage.curator()
    synopsis = stage.release(curator)
    outcome = curator.ledger.verify(synopsis.receipt)
    require(outcome.ok, outcome.describe())
    require(synopsis.claims == curator.ledger.claims(), "it does not say which lines rest on claims")


@MECHANISM.promises("what was drawn from test randomness or charged to a simulated ledger is not private")
def _marked(stage: Stage) -> None:
    require(not stage.release(stage.curator()).private, "a simulated ledger's synopsis passes for private")
    with tempfile.TemporaryDirectory() as folder:
        drawn = stage.release(stage.curator(Path(folder) / "a.db", seeded(1)))
        require(not drawn.private, "a synopsis of test randomness passes for private")
        real = stage.release(stage.curator(Path(folder) / "b.db"))
        require(real.private, "a synopsis of real noise and a real ledger says that it is not private")


@MECHANISM.promises("its synopsis answers what was asked, each number with an error, and says from where")
def _answers(stage: Stage) -> None:
    synopsis = stage.release(stage.curator())
    queries = Workload.of(stage.workload, DOMAIN)
    answer = synopsis.answer(queries)
    require(np.shape(answer.value) == (len(queries),), "it does not answer every query of its workload")
    require(bool(np.isfinite(answer.value).all()), "an answer is no number")
    require((np.asarray(answer.error) >= 0).all(), "an error is negative, or none")
    require(answer.source in ("measured", "learned", "certified"), f"its source is {answer.source!r}")


@MECHANISM.promises("a saved synopsis answers the same when it is loaded, and holds no secret")
def _saved(stage: Stage) -> None:
    curator = stage.curator()
    synopsis = stage.release(curator)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.hedgerow"
        synopsis.save(path)
        again = Synopsis.load(path)
        with zipfile.ZipFile(path) as archive:
            held = b"".join(archive.read(name) for name in archive.namelist())
    queries = Workload.of(stage.workload, DOMAIN)
    one, two = synopsis.answer(queries), again.answer(queries)
    same = np.array_equal(one.value, two.value) and np.array_equal(one.error, two.error)
    require(same, "it answers differently after loading")
    require((again.kind, again.receipt) == (synopsis.kind, synopsis.receipt), "it is another synopsis")
    secret = curator.ledger.row_key
    require(
        secret not in held and secret.hex().encode() not in held, "its file holds the ledger's secret key"
    )


@MECHANISM.promises("a release with a name is made once: the same again is free, another one is refused")
def _named(stage: Stage) -> None:
    if not stage.named:
        return
    curator = stage.curator()
    first = stage.release(curator, run="spring", epsilon=0.5)
    spent = curator.spent.epsilon
    again = stage.release(curator, run="spring", epsilon=0.5)
    require(curator.spent.epsilon == spent, "the same release was paid for twice")
    queries = Workload.of(stage.workload, DOMAIN)
    same = np.array_equal(first.answer(queries).value, again.answer(queries).value)
    require(same, "the same release has other answers")
    with refused("another epsilon under the same name", HedgerowError):
        stage.release(curator, run="spring", epsilon=0.25)


@MECHANISM.promises("rows decide nothing but what noise hides: one history fits neighbouring tables")
def _replayed(stage: Stage) -> None:
    from hedgerow.audit.coupled.replay import replay_neighbours

    found = replay_neighbours(
        lambda curator: stage.make().release(curator, stage.workload),
        DOMAIN,
        budget=stage.budget,
        relations=(stage.neighbours,),
        groups=((1, False), (3, True)),
        neighbours=stage.replayed,
    )
    require(found.ok, found.violations[0] if found.violations else "")
