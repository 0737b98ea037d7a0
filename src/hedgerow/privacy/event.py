"""Frozen descriptions of one private act, sufficient for accounting and nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

from hedgerow.errors import BadValue, UnknownEvent
from hedgerow.privacy.rational import exact


@dataclass(frozen=True)
class Event:
    """One private act; each subclass is one kind, and `kind` is its name in files."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = exact(getattr(self, field.name))
            _check(type(self).__name__, field.name, value)
            object.__setattr__(self, field.name, value)

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """The simple acts this one is made of, each with how often it happens."""
        yield self, 1

    def describe(self) -> str:
        """The act in one sentence, for people."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The act as JSON data: its kind, and every rational as "p/q"."""
        return {"kind": self.kind} | {f.name: _text(getattr(self, f.name)) for f in fields(self)}


def _check(owner: str, name: str, value: Fraction) -> None:
    """Refuse a parameter that no private act has."""
    if name.split("_")[-1] in ("scale", "sigma") and value <= 0 and name != "value_scale":
        raise BadValue(f"{owner} needs a positive {name}, not {value}.")
    if value < 0:
        raise BadValue(f"{owner} needs a {name} that is not negative, not {value}.")
    if name == "delta" and value >= 1:
        raise BadValue(f"{owner} needs a delta below 1, not {value}.")


def _text(value: Fraction) -> str:
    """A rational as "p/q"."""
    return f"{value.numerator}/{value.denominator}"


def _short(value: Fraction) -> str:
    """A rational for people: exact when short, else six digits."""
    return str(value) if len(str(value)) <= 12 else f"{float(value):.6g}"


@dataclass(frozen=True)
class Laplace(Event):
    """Discrete Laplace noise: L1 sensitivity and scale, both counted in steps of the noise's lattice.

    >>> Laplace(1, 10).describe()
    'Discrete Laplace noise of scale 10 on answers of L1 sensitivity 1 (epsilon 1/10).'
    """

    kind: ClassVar[str] = "laplace"
    sensitivity: Fraction
    scale: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The pure privacy loss, sensitivity / scale."""
        return self.sensitivity / self.scale

    def describe(self) -> str:
        return (
            f"Discrete Laplace noise of scale {_short(self.scale)} on answers of L1 sensitivity "
            f"{_short(self.sensitivity)} (epsilon {_short(self.epsilon)})."
        )


@dataclass(frozen=True)
class Gaussian(Event):
    """Discrete Gaussian noise: squared L2 sensitivity and sigma, counted in steps of the noise's lattice.

    >>> Gaussian(1, 10).rho
    Fraction(1, 200)
    """

    kind: ClassVar[str] = "gaussian"
    sensitivity_squared: Fraction
    sigma: Fraction

    @property
    def rho(self) -> Fraction:
        """The zCDP loss, sensitivity^2 / (2 sigma^2) [CKS20, Thm 4]."""
        return self.sensitivity_squared / (2 * self.sigma**2)

    def describe(self) -> str:
        return (
            f"Discrete Gaussian noise of sigma {_short(self.sigma)} on answers of squared L2 sensitivity "
            f"{_short(self.sensitivity_squared)} (rho {_short(self.rho)})."
        )


@dataclass(frozen=True)
class _OfEpsilon(Event):
    """An act whose only parameter is epsilon."""

    words: ClassVar[str] = ""
    epsilon: Fraction

    def describe(self) -> str:
        return f"{self.words} with epsilon {_short(self.epsilon)}."


@dataclass(frozen=True)
class Exponential(_OfEpsilon):
    """A choice by the exponential mechanism: epsilon-bounded range, so eps^2/8 zCDP."""

    kind: ClassVar[str] = "exponential"
    words: ClassVar[str] = "A choice by the exponential mechanism"


@dataclass(frozen=True)
class PermuteAndFlip(_OfEpsilon):
    """A choice by permute-and-flip: pure epsilon, not bounded range."""

    kind: ClassVar[str] = "permute_and_flip"
    words: ClassVar[str] = "A choice by permute-and-flip"


@dataclass(frozen=True)
class ReportNoisyMax(_OfEpsilon):
    """A choice by report-noisy-max: pure epsilon, not bounded range."""

    kind: ClassVar[str] = "report_noisy_max"
    words: ClassVar[str] = "A choice by report-noisy-max"


@dataclass(frozen=True)
class RandomizedResponse(_OfEpsilon):
    """Randomised response of a whole record: pure epsilon."""

    kind: ClassVar[str] = "randomized_response"
    words: ClassVar[str] = "Randomised response"


@dataclass(frozen=True)
class Pure(_OfEpsilon):
    """Anything that is epsilon-differentially private."""

    kind: ClassVar[str] = "pure"
    words: ClassVar[str] = "A pure private act"


@dataclass(frozen=True)
class BoundedRange(_OfEpsilon):
    """Anything of epsilon-bounded range: its privacy loss lies in an interval of length epsilon."""

    kind: ClassVar[str] = "bounded_range"
    words: ClassVar[str] = "A private act of bounded range"


@dataclass(frozen=True)
class Approximate(Event):
    """Anything that is (epsilon, delta)-differentially private."""

    kind: ClassVar[str] = "approximate"
    epsilon: Fraction
    delta: Fraction

    def describe(self) -> str:
        return f"A private act with epsilon {_short(self.epsilon)} and delta {_short(self.delta)}."


@dataclass(frozen=True)
class ZCDP(Event):
    """Anything that is delta-approximate rho-zero-concentrated differentially private."""

    kind: ClassVar[str] = "zcdp"
    rho: Fraction
    delta: Fraction = Fraction(0)

    def describe(self) -> str:
        tail = f" and delta {_short(self.delta)}" if self.delta else ""
        return f"A concentrated private act with rho {_short(self.rho)}{tail}."


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
        epsilon = sum((act.epsilon * times for act, times in self.leaves()), Fraction(0))  # type: ignore[attr-defined]
        values = " with their values" if self.value_scale else ""
        return f"A sparse vector of at most {self.count} above{values} (epsilon {_short(epsilon)} in all)."


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
            f"(rho {_short(self.rho)} for each above, delta {_short(self.delta)})."
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
            f"A one-sided sparse vector of one above (epsilon {_short(self.epsilon)}, "
            f"bounded range {_short(self.range)})."
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
        epsilon = sum((act.epsilon * times for act, times in self.leaves()), Fraction(0))  # type: ignore[attr-defined]
        return f"A sparse vector of at most {self.count} above (epsilon {_short(epsilon)} in all)."


def _whole_number(name: str, value: Fraction) -> None:
    if value.denominator != 1 or value < 1:
        raise BadValue(f"A sparse vector needs a whole {name} of at least 1, not {value}.")


@dataclass(frozen=True)
class Nothing(Event):
    """An act that reads no row and costs nothing: an allotment, a note."""

    kind: ClassVar[str] = "nothing"

    def leaves(self) -> Iterator[tuple[Event, int]]:
        return iter(())

    def describe(self) -> str:
        return "Nothing was read."


@dataclass(frozen=True)
class Repeat(Event):
    """One act done several times in sequence, adaptively or not.

    >>> Repeat(Pure("1/10"), 3).describe()
    '3 times: A pure private act with epsilon 1/10.'
    """

    kind: ClassVar[str] = "repeat"
    event: Event
    times: int

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise BadValue(f"Repeat needs an event, not a {type(self.event).__name__}.")
        object.__setattr__(self, "times", _whole(self.times))

    def leaves(self) -> Iterator[tuple[Event, int]]:
        if self.times:
            for leaf, count in self.event.leaves():
                yield leaf, count * self.times

    def describe(self) -> str:
        return f"{self.times} times: {self.event.describe()}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "event": self.event.to_json(), "times": self.times}


@dataclass(frozen=True)
class Together(Event):
    """Several acts in sequence, adaptively or not, counted as one."""

    kind: ClassVar[str] = "together"
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not all(isinstance(event, Event) for event in self.events):
            raise BadValue("Together needs a sequence of events.")

    def leaves(self) -> Iterator[tuple[Event, int]]:
        for event in self.events:
            yield from event.leaves()

    def describe(self) -> str:
        if not self.events:
            return Nothing().describe()
        return " Then: ".join(event.describe() for event in self.events)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "events": [event.to_json() for event in self.events]}


def _whole(times: object) -> int:
    """A number of times: a whole number, not negative."""
    if isinstance(times, bool) or not isinstance(times, Integral) or int(times) < 0:
        raise BadValue(f"An act happens a whole number of times, not {times!r}.")
    return int(times)


_SIMPLE: tuple[type[Event], ...] = (
    Laplace,
    Gaussian,
    Exponential,
    PermuteAndFlip,
    ReportNoisyMax,
    RandomizedResponse,
    Pure,
    BoundedRange,
    Approximate,
    ZCDP,
    SparseVector,
    GaussianSparseVector,
    OneSidedSparseVector,
    PairedSparseVector,
    Nothing,
)
_KINDS = {cls.kind: cls for cls in _SIMPLE}


def from_json(data: Mapping[str, Any]) -> Event:
    """The event that `to_json` wrote.

    Args:
        data: the JSON object; an unknown kind or a wrong field is refused with UnknownEvent.

    >>> from_json({"kind": "pure", "epsilon": "1/2"})
    Pure(epsilon=Fraction(1, 2))
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    try:
        if kind == Repeat.kind:
            return Repeat(from_json(data["event"]), data["times"])
        if kind == Together.kind:
            return Together(tuple(from_json(event) for event in data["events"]))
        if kind in _KINDS:
            return _KINDS[kind](**{name: value for name, value in data.items() if name != "kind"})
    except (KeyError, TypeError, ValueError) as wrong:
        raise UnknownEvent(f"The event of kind {kind!r} cannot be read: {wrong}") from None
    raise UnknownEvent(f"There is no event of kind {kind!r}.")
