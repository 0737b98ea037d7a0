"""Sparse-vector runs as events: what their noise scales and counts come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hedgerow.errors import BadValue
from hedgerow.privacy.event import Event, Laplace, Pure, short


@dataclass(frozen=True)
class SparseVector(Event):
    """A sparse-vector run with discrete Laplace noise, any number of "below"; scales in lattice steps.

    `count` is the most "above" it may report, `refreshed` 1 if each of them draws a new noisy threshold, 0 if
    one serves all; with a `value_scale` above 0 every "above" also releases a value with noise of that scale.
    """

    kind: ClassVar[str] = "sparse_vector"
    sensitivity: Fraction
    threshold_scale: Fraction
    query_scale: Fraction
    value_scale: Fraction = Fraction(0)
    count: Fraction = Fraction(1)
    refreshed: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole_number("count", self.count)
        if self.refreshed not in (0, 1):
            raise BadValue("SparseVector is refreshed (1) or not (0).")

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """What the proof in `curator.runs.sparse_vector` makes of it: pure acts, and Laplace noise."""
        once, each = self.sensitivity / self.threshold_scale, 2 * self.sensitivity / self.query_scale
        if self.refreshed:
            yield Pure(once + each), int(self.count)
        else:
            yield Pure(once + self.count * each), 1
        if self.value_scale:
            yield Laplace(self.sensitivity, self.value_scale), int(self.count)

    def describe(self) -> str:
        epsilon = _together(self.leaves())
        values = " with their values" if self.value_scale else ""
        return f"A sparse vector of at most {self.count} above{values} (epsilon {short(epsilon)} in all)."


@dataclass(frozen=True)
class GaussianSparseVector(Event):
    """A sparse-vector run with discrete Gaussian noise: at most `length` questions and `count` "above".

    Its Renyi divergence is in `curator.runs.sparse_vector`; `delta` is what a ledger turns it into
    epsilon with.
    """

    kind: ClassVar[str] = "gaussian_sparse_vector"
    sensitivity: Fraction
    threshold_sigma: Fraction
    query_sigma: Fraction
    length: Fraction
    count: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole_number("count", self.count)
        _whole_number("length", self.length)
        if not self.delta:
            raise BadValue("GaussianSparseVector needs a delta above 0.")

    @property
    def rho(self) -> Fraction:
        """The zCDP part of one "above": threshold moved by the sensitivity, question by twice that."""
        return self.sensitivity**2 * (1 / (2 * self.threshold_sigma**2) + 2 / self.query_sigma**2)

    def describe(self) -> str:
        return (
            f"A sparse vector with Gaussian noise, at most {self.count} above among {self.length} questions "
            f"(rho {short(self.rho)} for each above, delta {short(self.delta)})."
        )


@dataclass(frozen=True)
class OneSidedSparseVector(Event):
    """A one-sided sparse vector: any number of "below", one trip, geometric noise; scales in lattice steps.

    The theorem is in `curator.runs.one_sided`: its privacy loss lies in an interval of length `range`, of
    which at most `epsilon` is on one side of zero.

    >>> act = OneSidedSparseVector(1, 10, 20)
    >>> act.epsilon, act.range
    (Fraction(3, 20), Fraction(1, 5))
    """

    kind: ClassVar[str] = "one_sided_sparse_vector"
    sensitivity: Fraction
    threshold_scale: Fraction
    query_scale: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The pure privacy loss."""
        return self.sensitivity * (1 / self.threshold_scale + 1 / self.query_scale)

    @property
    def range(self) -> Fraction:
        """The length of the interval that holds the privacy loss."""
        return self.sensitivity * (1 / self.threshold_scale + 2 / self.query_scale)

    def describe(self) -> str:
        return (
            f"A one-sided sparse vector of one above (epsilon {short(self.epsilon)}, "
            f"bounded range {short(self.range)})."
        )


@dataclass(frozen=True)
class PairedSparseVector(Event):
    """A sparse vector by the theorem of `curator.runs.paired`: any number of "below"; in lattice steps.

    `shift` is how far a question's noise must reach: twice the sensitivity, or once if all answers move one
    way; `count` and `refreshed` are those of `SparseVector`.

    >>> [act.epsilon for act, _ in PairedSparseVector(1, 2, 10, 20, 3, 0).leaves()]
    [Fraction(2, 5)]
    """

    kind: ClassVar[str] = "paired_sparse_vector"
    sensitivity: Fraction
    shift: Fraction
    threshold_scale: Fraction
    query_scale: Fraction
    count: Fraction = Fraction(1)
    refreshed: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole_number("count", self.count)
        if self.refreshed not in (0, 1):
            raise BadValue("PairedSparseVector is refreshed (1) or not (0).")

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """epsilon1 + c epsilon2 for one threshold, or c times epsilon1 + epsilon2."""
        once, each = self.sensitivity / self.threshold_scale, self.shift / self.query_scale
        if self.refreshed:
            yield Pure(once + each), int(self.count)
        else:
            yield Pure(once + self.count * each), 1

    def describe(self) -> str:
        epsilon = _together(self.leaves())
        return f"A sparse vector of at most {self.count} above (epsilon {short(epsilon)} in all)."


def _whole_number(name: str, value: Fraction) -> None:
    if value.denominator != 1 or value < 1:
        raise BadValue(f"A sparse vector needs a whole {name} of at least 1, not {value}.")


def _together(leaves: Iterator[tuple[Event, int]]) -> Fraction:
    """The epsilons of pure acts and Laplace noise, added up."""
    each = (act.epsilon * times for act, times in leaves if isinstance(act, Pure | Laplace))
    return sum(each, Fraction(0))
