"""Frozen descriptions of one private act, sufficient for accounting and nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

from hedgerow.errors import BadValue
from hedgerow.privacy.rational import exact


@dataclass(frozen=True)
class Event:
    """One private act; each subclass is one kind, and `kind` is its name in files."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in (field.name for field in fields(self)):
            value = exact(getattr(self, name))
            if name.split("_")[-1] in ("scale", "sigma") and value <= 0 and name != "value_scale":
                raise BadValue(f"{owner} needs a positive {name}, not {value}.")
            if value < 0:
                raise BadValue(f"{owner} needs a {name} that is not negative, not {value}.")
            if name == "delta" and value >= 1:
                raise BadValue(f"{owner} needs a delta below 1, not {value}.")
            object.__setattr__(self, name, value)

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """The simple acts this one is made of, each with how often it happens."""
        yield self, 1

    def describe(self) -> str:
        """The act in one sentence, for people."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The act as JSON data: its kind, and every rational as "p/q"."""
        return {"kind": self.kind} | {f.name: _text(getattr(self, f.name)) for f in fields(self)}


def _text(value: Fraction) -> str:
    """A rational as "p/q"."""
    return f"{value.numerator}/{value.denominator}"


def short(value: Fraction) -> str:
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
            f"Discrete Laplace noise of scale {short(self.scale)} on answers of L1 sensitivity "
            f"{short(self.sensitivity)} (epsilon {short(self.epsilon)})."
        )


@dataclass(frozen=True)
class RefinedLaplace(Event):
    """Discrete Laplace noise drawn given a weaker answer's: with that one it costs what it alone would.

    Args:
        sensitivity: L1, in steps of the noise's lattice; the weaker answer's too.
        scale: of the noise that is left.
        weaker_scale: of the weaker answer's noise.
        line: of the weaker answer in the ledger. It is refined once: `request` is the only id that may do it.

    >>> RefinedLaplace(1, 4, 10, 7).epsilon
    Fraction(3, 20)
    """

    kind: ClassVar[str] = "refined_laplace"
    OWN: ClassVar[str] = "refined line "
    sensitivity: Fraction
    scale: Fraction
    weaker_scale: Fraction
    line: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scale < self.weaker_scale or self.line.denominator != 1:
            raise BadValue("A refined answer has less noise than the weaker one, which has a line.")

    @property
    def epsilon(self) -> Fraction:
        """What is paid beside the weaker answer: together they lose sensitivity / scale."""
        return self.sensitivity / self.scale - self.sensitivity / self.weaker_scale

    @property
    def request(self) -> str:
        """The request id of the act: no two acts can have it, so no answer is refined twice."""
        return f"{self.OWN}{self.line}"

    def describe(self) -> str:
        return (
            f"The answer of line {self.line} refined to discrete Laplace noise of scale {short(self.scale)} "
            f"(epsilon {short(self.epsilon)} more)."
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
            f"Discrete Gaussian noise of sigma {short(self.sigma)} on answers of squared L2 sensitivity "
            f"{short(self.sensitivity_squared)} (rho {short(self.rho)})."
        )


@dataclass(frozen=True)
class _OfEpsilon(Event):
    """An act whose only parameter is epsilon."""

    words: ClassVar[str] = ""
    epsilon: Fraction

    def describe(self) -> str:
        return f"{self.words} with epsilon {short(self.epsilon)}."


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
class RandomizedRecord(_OfEpsilon):
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
        return f"A private act with epsilon {short(self.epsilon)} and delta {short(self.delta)}."


@dataclass(frozen=True)
class ZCDP(Event):
    """Anything that is delta-approximate rho-zero-concentrated differentially private."""

    kind: ClassVar[str] = "zcdp"
    rho: Fraction
    delta: Fraction = Fraction(0)

    def describe(self) -> str:
        tail = f" and delta {short(self.delta)}" if self.delta else ""
        return f"A concentrated private act with rho {short(self.rho)}{tail}."


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
