"""BaseGenerator: the protocol of a base synopsis generator ([DRV10] Def. 4.1) that sees what is released.

To write one's own, give an object `begin(domain, questions)`; what it returns says in `range(rows)` among how
many synopses it chooses, and makes one of a round's sampled, noisy answers in `generate`. A synopsis answers
*every* question of the workload. All of it is post-processing: whatever a generator does, it cannot cost more
privacy than the round that it was given.

**Its promise.** Def. 4.1 wants a synopsis within lambda for 1/2 + eta of the mass of any distribution that k
questions were sampled from, except with probability beta. A generator has to promise none of this. With
probability 1 - beta/2 all true answers are within `tolerance` of the noisy ones; the mechanism looks whether
a synopsis answers the sampled questions within `tolerance` of them too, and counts a round as failed if not.
So what passes is within lambda = 2 tolerance on all sampled questions, and eta follows from k: by [DRV10]
Lemma 5.1 from the number of synopses that it might have been, e^range, or from the mass of the questions that
were not sampled ([MO03]), where `range` is infinite. `range` is the only word of a generator that is taken on
trust, and nothing but the stated error rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampledAnswers:
    """What a round hands to a generator: all of it is released, or public.

    Args:
        places: which questions of the workload were sampled, without repeats.
        answers: their noisy answers, in rows.
        tolerance: how far from these the true ones are at most, with the round's share of 1 - beta.
        total: the number of rows, public or measured.
        number: the round, from 0.
        size: n', the rows of a small database, where the generator `draws` one; 0 if its fit is the synopsis.
        apart: how far such a database may move a sampled answer, as a fraction of the rows.
    """

    places: NDArray[np.int64]
    answers: Floats
    tolerance: float
    total: float
    number: int = 0
    size: int = 0
    apart: float = 0.0

    def __post_init__(self) -> None:
        """What a synopsis is held against afterwards stays as it is."""
        self.places.setflags(write=False)
        self.answers.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Generated:
    """A synopsis: an answer in rows to every question of the workload, and the database behind it if any.

    Args:
        answers: one for each question, in the workload's order.
        table: non-negative numbers over all cells of the domain, flat; None if it is no database.
    """

    answers: Floats
    table: Floats | None = None


class Generating(Protocol):
    """A generator at work on one workload."""

    @property
    def draws(self) -> bool:
        """Whether it draws small databases of n' rows: then n' is chosen for it, and its range follows."""
        ...

    def range(self, rows: int) -> float:
        """The logarithm of how many different synopses it may return; infinite where nobody has counted.

        Refuses, before a round is charged, more rows than it can work with.
        """
        ...

    def generate(self, sample: SampledAnswers) -> Generated | None:
        """A synopsis that answers the sampled questions within the tolerance; None if there is none."""
        ...


@runtime_checkable
class BaseGenerator(Protocol):
    """A base synopsis generator: how it begins."""

    def begin(self, domain: Domain, questions: tuple[Any, ...]) -> Generating:
        """Get ready for a workload of different questions; refuses what it cannot answer."""
        ...
