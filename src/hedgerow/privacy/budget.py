"""What may be spent, what was spent, and whom it protects; exact, and rounded against the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.errors import BadValue
from hedgerow.privacy.calibration import (
    GRAIN,
    epsilon_of,
    float_down,
    float_up,
    gaussian_sigma,
    grain_down,
    grain_up,
    laplace_scale,
    rho_of,
    selection_epsilon,
)
from hedgerow.privacy.rational import Number, exact

if TYPE_CHECKING:
    from hedgerow.plot import Plot
    from hedgerow.queries.query import Norms

__all__ = [
    "GRAIN",
    "Budget",
    "Cost",
    "Currency",
    "Neighbours",
    "Privacy",
    "Sensitivity",
    "epsilon_of",
    "exact",
    "gaussian_sigma",
    "laplace_scale",
    "rho_of",
    "selection_epsilon",
]

Currency = Literal["epsilon", "rho"]
Neighbours = Literal["add_remove", "replace"]
_LEAST, _MOST = Fraction(1, 10**24), Fraction(10**12)  # beyond, grains and floats mean nothing
_FIELDS = ("epsilon_exact", "rho_exact", "conversion_delta", "event_delta", "raise_delta")
FOR_EVENTS = Fraction(1, 10)  # the part of a budget's delta that (epsilon, delta) events may use


@dataclass(frozen=True)
class Cost:
    """An amount of epsilon, or of (rho, delta), in whole multiples of 1/GRAIN; off-grain values round up.

    Args:
        currency: "epsilon" (pure) or "rho".
        amount: how much of it.
        delta: the deltas of (epsilon, delta) events; 0 in the epsilon currency.

    >>> Cost("epsilon", 0.1) * 10 == Cost("epsilon", 1)
    True
    """

    currency: Currency
    amount: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.currency not in ("epsilon", "rho"):
            raise BadValue(f"A cost is counted in 'epsilon' or 'rho', not in {self.currency!r}.")
        amount, delta = grain_up(exact(self.amount)), grain_up(exact(self.delta))
        if amount < 0 or delta < 0:
            raise BadValue("A cost must not be negative.")
        if delta and self.currency == "epsilon":
            raise BadValue("A cost in pure epsilon has no delta.")
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "delta", delta)

    @classmethod
    def zero(cls, currency: Currency) -> Cost:
        """Nothing, in that currency."""
        return _ZERO.get(currency) or cls(currency, Fraction(0))

    @classmethod
    def of_grains(cls, currency: Currency, amount: int, delta: int = 0) -> Cost:
        """A cost from its whole numbers of grains, as ledgers store it."""
        return cls(currency, Fraction(amount, GRAIN), Fraction(delta, GRAIN))

    @property
    def grains(self) -> tuple[int, int]:
        """The amount and the delta as whole numbers of grains."""
        amount, delta = self.amount, self.delta  # both denominators divide GRAIN
        return (
            amount.numerator * (GRAIN // amount.denominator),
            delta.numerator * (GRAIN // delta.denominator),
        )

    @property
    def is_zero(self) -> bool:
        """Whether it is nothing at all."""
        return not self.amount and not self.delta

    def __add__(self, other: Cost) -> Cost:
        self._same(other)
        return Cost(self.currency, self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        self._same(other)
        return Cost(self.currency, self.amount - other.amount, self.delta - other.delta)

    def __mul__(self, times: int) -> Cost:
        if isinstance(times, bool) or not isinstance(times, int):
            return NotImplemented
        return Cost(self.currency, self.amount * times, self.delta * times)

    __rmul__ = __mul__

    def __le__(self, other: Cost) -> bool:
        self._same(other)
        return self.amount <= other.amount and self.delta <= other.delta

    def __ge__(self, other: Cost) -> bool:
        return other <= self

    def beyond(self, other: Cost) -> Cost:
        """What is in it beyond another cost, nothing where it is less."""
        self._same(other)
        amount, delta = self.amount - other.amount, self.delta - other.delta
        return Cost(self.currency, max(amount, Fraction(0)), max(delta, Fraction(0)))

    def share(self, fraction: Number) -> Cost:
        """A part of it, rounded down to the grain."""
        part = exact(fraction)
        if not 0 <= part <= 1:
            raise BadValue(f"A share lies between 0 and 1, not at {fraction}.")
        return Cost(self.currency, grain_down(self.amount * part), grain_down(self.delta * part))

    def split(self, *weights: Number) -> list[Cost]:
        """Parts in proportion to the weights, each rounded down to the grain; together at most the whole.

        >>> [str(part.amount) for part in Cost("epsilon", 1).split(1, 1, 1)]
        ['1/3', '1/3', '1/3']
        """
        exacts = [exact(weight) for weight in weights]
        total = sum(exacts, Fraction(0))
        if total <= 0 or min(exacts) < 0:
            raise BadValue("A cost is split by weights that are not negative and not all zero.")
        return [self.share(weight / total) for weight in exacts]

    def _same(self, other: Cost) -> None:
        if self.currency != other.currency:
            raise BadValue(f"A cost in {self.currency} cannot meet a cost in {other.currency}.")

    def to_json(self) -> dict[str, Any]:
        """The cost as JSON data, exact."""
        amount, delta = self.grains
        return {"currency": self.currency, "amount": str(amount), "delta": str(delta), "grain": str(GRAIN)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cost:
        """The cost that `to_json` wrote."""
        grain = int(data["grain"])
        return cls(
            data["currency"], Fraction(int(data["amount"]), grain), Fraction(int(data["delta"]), grain)
        )


_ZERO: dict[Currency, Cost] = {"epsilon": Cost("epsilon", Fraction(0)), "rho": Cost("rho", Fraction(0))}


@dataclass(frozen=True, init=False, repr=False)
class Budget:
    """What a dataset may spend in all: (epsilon, delta), pure epsilon when delta is 0, or rho and delta.

    Nine tenths of delta turn rho into epsilon, one tenth is kept for (epsilon, delta) events. Of a budget
    that was raised after answers were seen, a part of the nine tenths pays for that (`raising.py`).

    Args:
        epsilon: the promise in epsilon; above 0.
        delta: the promise in delta; at least 0 and below 1.
        rho: the promise in rho instead of epsilon; above 0.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    >>> Budget(epsilon=1).cost
    Cost(currency='epsilon', amount=Fraction(1, 1), delta=Fraction(0, 1))
    """

    epsilon_exact: Fraction | None
    rho_exact: Fraction | None
    conversion_delta: Fraction
    event_delta: Fraction
    raise_delta: Fraction

    def __init__(
        self, epsilon: Number | None = None, delta: Number = 0, *, rho: Number | None = None
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise BadValue("A budget is given by exactly one of epsilon and rho.")
        name, given = ("epsilon", epsilon) if rho is None else ("rho", rho)
        amount, d = exact(given), exact(delta)  # type: ignore[arg-type]
        if amount <= 0:
            raise BadValue(f"A budget needs a positive {name}, not {given}.")
        if not _LEAST <= amount <= _MOST:
            raise BadValue(f"A budget needs {name} from {float(_LEAST):g} to {float(_MOST):g}.")
        if not 0 <= d < 1:
            raise BadValue(f"A budget needs a delta of at least 0 and below 1, not {delta}.")
        self._set(
            amount if rho is None else None,
            amount if rho is not None else None,
            d - d * FOR_EVENTS,
            d * FOR_EVENTS,
        )

    def _set(
        self,
        epsilon: Fraction | None,
        rho: Fraction | None,
        conversion: Fraction,
        events: Fraction,
        raises: Fraction = Fraction(0),
    ) -> None:
        for name, value in zip(_FIELDS, (epsilon, rho, conversion, events, raises), strict=True):
            object.__setattr__(self, name, value)

    @property
    def currency(self) -> Currency:
        """What the ledger sums: epsilon when the promise is pure, else rho."""
        return "epsilon" if self.rho_exact is None and not self.delta_exact else "rho"

    @property
    def delta_exact(self) -> Fraction:
        """The promise in delta, exactly."""
        return self.conversion_delta + self.event_delta + self.raise_delta

    @property
    def epsilon(self) -> float:
        """Epsilon, never understated; infinite for rho with delta 0."""
        if self.epsilon_exact is not None:
            return float_up(self.epsilon_exact)
        assert self.rho_exact is not None
        return epsilon_of(self.rho_exact, self.conversion_delta)

    @property
    def delta(self) -> float:
        """Delta, never understated."""
        return float_up(self.delta_exact)

    @property
    def rho(self) -> float:
        """The rho that may be spent, never overstated; 0 when the promise is pure."""
        if self.rho_exact is not None:
            return float_down(self.rho_exact)
        assert self.epsilon_exact is not None
        return float_down(rho_of(self.epsilon_exact, self.conversion_delta))

    @property
    def cost(self) -> Cost:
        """The capacity that a ledger holds for this budget, rounded down to the grain."""
        if self.currency == "epsilon":
            assert self.epsilon_exact is not None
            return Cost("epsilon", grain_down(self.epsilon_exact))
        if self.rho_exact is not None:
            rho = grain_down(self.rho_exact)
        else:
            assert self.epsilon_exact is not None
            rho = rho_of(self.epsilon_exact, self.conversion_delta)
        return Cost("rho", rho, grain_down(self.event_delta))

    def part(self, cost: Cost) -> Budget:
        """The part of this budget that `cost` makes up: what was spent, or what remains; may be nothing.

        >>> Budget(epsilon=1).part(Cost("epsilon", "1/4"))
        Budget(epsilon=0.25)
        """
        if not isinstance(cost, Cost):
            raise BadValue(f"A part of a budget is a Cost, not a {type(cost).__name__}.")
        if cost.currency != self.currency:
            raise BadValue(f"This budget is counted in {self.currency}, not in {cost.currency}.")
        pure = cost.currency == "epsilon"
        part = object.__new__(Budget)
        part._set(
            cost.amount if pure else None,
            None if pure else cost.amount,
            self.conversion_delta,
            cost.delta,
            self.raise_delta,
        )
        return part

    def read_at(self, conversion: Fraction, events: Fraction | None = None) -> Budget:
        """The same promise with less of its delta turning rho into epsilon, or kept for events."""
        events = self.event_delta if events is None else events
        rest = self.delta_exact - conversion - events
        if min(conversion, events, rest) < 0:
            raise ValueError("What turns rho into epsilon, and what events may use, are parts of delta.")
        budget = object.__new__(Budget)
        budget._set(self.epsilon_exact, self.rho_exact, conversion, events, rest)
        return budget

    def promises(self, other: Budget) -> bool:
        """Whether it states the same as another one, however either uses its delta."""
        stated = (self.epsilon_exact, self.rho_exact, self.delta_exact)
        return stated == (other.epsilon_exact, other.rho_exact, other.delta_exact)

    def __repr__(self) -> str:
        first = f"epsilon={self.epsilon!r}" if self.epsilon_exact is not None else f"rho={self.rho!r}"
        return f"Budget({first}, delta={self.delta!r})" if self.delta_exact else f"Budget({first})"

    def _repr_html_(self) -> str:
        """Epsilon and delta: what rho amounts to is what people compare."""
        delta = f", delta {self.delta:.4g}" if self.delta_exact else ""
        return f"<b>epsilon {self.epsilon:.4g}</b>{delta}"

    def plot(self) -> Plot:
        """A picture of the promise: how well all results together tell whether one person is there."""
        from hedgerow.privacy.telling import telling

        return telling(self.epsilon, self.delta)

    def to_json(self) -> dict[str, Any]:
        """The budget as JSON data, exact."""
        names = _FIELDS if self.raise_delta else _FIELDS[:-1]
        values = (getattr(self, name) for name in names)
        return {
            name.removesuffix("_exact"): None if value is None else f"{value.numerator}/{value.denominator}"
            for name, value in zip(names, values, strict=True)
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Budget:
        """The budget that `to_json` wrote."""
        if (data["epsilon"] is None) == (data["rho"] is None):
            raise BadValue("A budget is given by exactly one of epsilon and rho.")
        epsilon, rho = (None if data[key] is None else exact(data[key]) for key in ("epsilon", "rho"))
        deltas = [exact(data[key]) for key in ("conversion_delta", "event_delta")]
        deltas.append(exact(data.get("raise_delta", 0)))
        if min(epsilon or rho or Fraction(0), *deltas) < 0 or sum(deltas) >= 1:
            raise BadValue("A budget needs amounts that are not negative and a delta below 1.")
        budget = object.__new__(cls)
        budget._set(epsilon, rho, *deltas)
        return budget


@dataclass(frozen=True)
class Sensitivity:
    """How far one protected unit can move an answer: L1, and squared L2, in lattice steps."""

    l1: Fraction
    l2_squared: Fraction


@dataclass(frozen=True)
class Privacy:
    """Whom the promise protects: the neighbouring relation and the rows one unit may have.

    This is the one place where a sensitivity is doubled for `replace` or multiplied by `max_rows`.

    Args:
        neighbours: "add_remove" (one unit more or less) or "replace" (one unit swapped for another).
        max_rows: the most rows that one unit contributes.

    >>> from hedgerow.queries.query import Norms
    >>> Privacy("replace", max_rows=3).sensitivity(Norms.table())
    Sensitivity(l1=Fraction(6, 1), l2_squared=Fraction(18, 1))
    """

    neighbours: Neighbours = "add_remove"
    max_rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, str) or self.neighbours not in ("add_remove", "replace"):
            raise BadValue("Neighbours are 'add_remove' or 'replace'.")
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or self.max_rows < 1:
            raise BadValue(f"A unit has at most a whole number of rows, 1 or more, not {self.max_rows!r}.")

    def sensitivity(self, norms: Norms) -> Sensitivity:
        """How far one unit can move an answer whose rows have these norms."""
        if norms.per_unit:
            return self._of_people(norms)
        k = self.max_rows
        l1, l2_squared = Fraction(norms.l1), Fraction(norms.l2_squared)
        if self.neighbours == "replace":
            swap_l1, swap_l2_squared = Fraction(norms.replace_l1), Fraction(norms.replace_l2_squared)
            # With one row per unit a swap is exactly a swap. With more, the two units may hold different
            # numbers of rows: at most k rows are each swapped or added, hence k times the larger norm.
            l1 = swap_l1 if k == 1 else max(l1, swap_l1)
            l2_squared = swap_l2_squared if k == 1 else max(l2_squared, swap_l2_squared)
        return Sensitivity(k * l1, k * k * l2_squared)

    def _of_people(self, norms: Norms) -> Sensitivity:
        """Numbers of units per group: a unit is in at most min(max_rows, groups) groups, once in each.

        A swap takes one unit out of that many groups and puts another into as many; a single number of units
        moves by one either way.
        """
        groups = min(self.max_rows, norms.l1)
        moves = 2 if self.neighbours == "replace" and norms.l1 > 1 else 1
        return Sensitivity(Fraction(moves * groups), Fraction(moves * groups))
