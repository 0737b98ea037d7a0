"""Belief: what a session has learned so far - counts, how far off they seem, and the hypothesis behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from math import hypot, inf, prod, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hedgerow.mechanisms.session.calibration import Spread
from hedgerow.mechanisms.session.in_runs import are_wide, length
from hedgerow.mechanisms.session.pooled import GroupedSum, Pooled, numbers_of
from hedgerow.mechanisms.session.price import width
from hedgerow.mechanisms.session.row_numbers import Numbers, total_variance
from hedgerow.mechanisms.session.smallest import SMALL, smallest
from hedgerow.queries.moments import BinMoments, WithinBins
from hedgerow.queries.query import ONE
from hedgerow.synopsis.measured_bars import ROOM
from hedgerow.synopsis.table_sums import KeptTables
from hedgerow.synopsis.unseen import unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.query import Query
    from hedgerow.queries.readings import Linear
    from hedgerow.synopsis.learned import Learned

    Floats = NDArray[np.float64]
    Arrays = dict[str, NDArray[Any]]

_KEPT = 1 << 24  # cells of all tables kept
_SPILLED = 0.5  # of a sum's deviation: so far it may be displaced without mattering


class Belief(ABC):
    """A hypothesis that answers in counts; everything in it follows from released values.

    The error of a learned number is taken to have the variance a n Var(w): n Var(w) is the variance of the
    sum of the weights of n rows drawn from the hypothesis, a a factor for questions about so many attributes
    with so large a variance. The factors are found by drawing rows from the hypothesis, measuring those with
    noise of the same law, and fitting that. Small tables are kept, and answers are read off them: with those
    of a snapshot there is no need of the hypothesis.

    Args:
        domain: the declared attributes.
        numbers: what is known without the hypothesis.
        behind: gives the hypothesis and what it was fitted to, when they are needed.
        spread: the factors, if they were found already.
        tables: learned counts that were read off the hypothesis before.
        moments: what was measured of numbers within their bins.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        domain: Domain,
        numbers: Numbers,
        behind: Callable[[], Any],
        spread: Spread | None = None,
        tables: Mapping[tuple[str, ...], Floats] | None = None,
        moments: BinMoments | None = None,
    ) -> None:
        self.domain = domain
        self.numbers = numbers
        self._load = behind
        self._spread = spread
        self._tables = dict(tables or {})
        self._large = KeptTables(self._made)
        self.moments = moments

    @property
    def within(self) -> WithinBins | None:
        """What was measured of numbers within their bins."""
        return None if self.moments is None else WithinBins(self.moments, self.table)

    @property
    def total(self) -> float:
        """The number of rows: public, or measured."""
        return self.numbers.total

    @property
    def version(self) -> int:
        """How many tables were learned since priming."""
        return self.numbers.version

    @property
    def spread(self) -> Spread:
        """The factors a."""
        if self._spread is None:
            self._spread = self._found_spread()
        return self._spread

    @property
    def stamp(self) -> tuple[int, bool]:
        """Changes when there is more to be kept in a snapshot."""
        return self.version, self._spread is not None

    @cached_property
    def _behind(self) -> Any:
        return self._load()

    @property
    @abstractmethod
    def learned(self) -> Learned:
        """The hypothesis and what it was fitted to, as a synopsis takes them."""

    def copied(self) -> Self:
        """The same with arrays of its own: whoever reads it waits for nobody who goes on learning."""
        arrays: Arrays = {}
        data = self.pack(arrays)
        return type(self).unpack(self.domain, data, {name: np.array(a) for name, a in arrays.items()})

    @abstractmethod
    def _found_spread(self) -> Spread: ...

    @abstractmethod
    def _marginal(self, attributes: tuple[str, ...]) -> Floats: ...

    @abstractmethod
    def _answer(self, query: Query) -> float: ...

    @abstractmethod
    def _learn(self, measurement: Measurement) -> tuple[float, Sequence[Measurement]] | None:
        """Fit one more table: the total then, and all measurements; None if it does not fit."""

    @abstractmethod
    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        """What is behind it, as plain data."""

    @staticmethod
    @abstractmethod
    def _unpack(domain: Domain, data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The inverse of `_pack`."""

    def table(self, attributes: tuple[str, ...]) -> Floats:
        """Learned counts over some attributes, in the domain's order; they are kept, large ones a while."""
        if attributes in self._tables:
            return self._tables[attributes]
        if self.domain.cells(attributes) > SMALL:
            return self._large.table(attributes)
        made = self._made(attributes)
        while self._tables and sum(t.size for t in self._tables.values()) + made.size > _KEPT:
            self._tables.pop(next(iter(self._tables)))
        self._tables[attributes] = made
        return made

    def _made(self, attributes: tuple[str, ...]) -> Floats:
        return self._marginal(attributes) * self.total if attributes else np.array(self.total)

    def count(self, query: Query) -> float:
        """The learned count of one query, in rows: from its table when that is small."""
        if query.factors is None or prod(query.shape) <= SMALL:
            counted = float(query.apply(self.table(query.attributes)))
        else:
            counted = self._answer(query) * self.total
        if query.fine is not None and self.within is not None:  # that was by the middles of bins
            counted += self.within.adds(query)
        return counted

    def counts(self, queries: Sequence[Query]) -> Floats:
        """The learned counts of many queries."""
        return np.array([self.count(q) for q in queries], dtype=np.float64)

    def learn(self, measurement: Measurement) -> bool:
        """Fit one more measured table; says whether it fits into the hypothesis."""
        now = self._learn(measurement)
        if now is None:
            return False
        total, measurements = now
        variance = total_variance(self.numbers.rows, measurements)
        self.numbers = replace(self.numbers, total=total, total_variance=variance, version=self.version + 1)
        self._tables.clear()
        self._large = KeptTables(self._made)
        return True

    def notes(self, sets: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        """What is said beside answers about some sets of attributes."""
        return ()

    def variance(self, order: int, count: Any, squares: Any) -> Any:
        """The indicative variance of learned counts.

        Args:
            order: how many attributes they are about.
            count: sums of weights.
            squares: sums of squared weights.
        """
        drawn = np.maximum(squares - count * count / self.total, 1.0 if order else 0.0)
        alone = self.spread.at(order, drawn) * drawn if order else 0.0
        return alone + ROOM**2 * self.numbers.total_variance * (count / self.total) ** 2

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its indicative half-width."""
        table = self.table(attributes)
        summed = self._summed(attributes, table, weights)
        if summed is not None:
            return summed[0], width(confidence, numbers) * summed[1]
        known = [i for i, a in enumerate(attributes) if a in self.thin]
        off = min(self._off(attributes, table, weights), self._by_measured(attributes, table, weights))
        off = hypot(off, *(unseen(table, weights, i) for i in known))
        return float((table * weights).sum()), width(confidence, numbers) * off

    @property
    def readings(self) -> Linear:
        """What weighted counts are read by, one by one."""
        return self.linear

    def _off(self, attributes: tuple[str, ...], table: Floats, weights: Floats) -> float:
        """The standard deviation of a weighted count by factors, and by what was measured of thin numbers."""
        largest = float(np.abs(weights).max(initial=0.0)) or 1.0  # factors are known for weights up to 1
        count, squares = float((table * weights).sum()), float((table * (weights / largest) ** 2).sum())
        off = largest * sqrt(self.variance(len(attributes), count / largest, squares))
        off = max(off, self._in_runs(attributes, weights))
        if len(attributes) == 1 and attributes[0] in self.thin:  # as far off as what was measured of it
            mean = float(weights.mean())  # that of all levels is the number of rows, which is known better
            own = self.thin[attributes[0]] * sqrt(float(((weights - mean) ** 2).sum()))
            off = max(off, hypot(own, mean * sqrt(self.numbers.total_variance)))
        return off

    def _by_measured(self, attributes: tuple[str, ...], table: Floats, weights: Floats) -> float:
        """The standard deviation of a count by what was measured of its table; infinite without that.

        Factors are means over tables of as many attributes, of which some have far less noise than others.
        """
        largest = float(weights.max(initial=0.0))
        if not ((weights == 0.0) | (weights == largest)).all() or any(a in self.thin for a in attributes):
            return inf
        pooled = self.counted(attributes)
        if pooled is None:
            return inf
        return pooled.off(table, weights, self.total, sqrt(self.numbers.total_variance))

    def form(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]:
        """All groups of a form at once, with their indicative half-widths."""
        if any(a in self.thin for a in form.attributes):
            return self._each(form, confidence, numbers)
        table = self.table(form.attributes)
        largest = prod(float(np.abs(f.weights).max(initial=0.0)) for f in form.factors) or 1.0
        squared = tuple(
            f if f.weights.dtype == np.bool_ else replace(f, weights=f.weights.astype(np.float64) ** 2)
            for f in form.factors
        )
        counts, squares = form.evaluate(table), replace(form, factors=squared).evaluate(table)
        off = largest * np.sqrt(self.variance(len(form.attributes), counts / largest, squares / largest**2))
        held = form.attributes in self.spread.runs and form.groups * table.size <= _KEPT
        if held and are_wide(form):
            runs = [self._in_runs(form.attributes, form.weights(g)) for g in range(form.groups)]
            off = np.maximum(off, runs)
        if form.groups * table.size <= _KEPT and self.counted(form.attributes) is not None:
            own = [self._by_measured(form.attributes, table, form.weights(g)) for g in range(form.groups)]
            off = np.minimum(off, own)
        if form.groups * table.size <= _KEPT:
            for g in range(form.groups):
                summed = self._summed(form.attributes, table, form.weights(g))
                if summed is None:
                    break
                counts[g], off[g] = summed
        return counts, width(confidence, numbers) * off

    def _summed(
        self, attributes: tuple[str, ...], table: Floats, weights: Floats
    ) -> tuple[float, float] | None:
        """The sum of a number over all rows and its deviation, by all tables of it; None of other counts.

        A table without negative cells is displaced where they are many and rows few, such as in a long tail,
        and large values weigh most there; what was measured is not, and how far off it is is known, where
        factors found by other weights say too little (1.7 times, of months). How many rows have the number is
        the model's: so a sum, its count and what is between them fit each other.
        """
        if len(attributes) > 1:
            return self._summed_in_groups(attributes, table, weights)
        known = self.known.get(attributes[0]) if attributes else None
        if known is None or attributes[0] in self.thin or not known.sums(weights):
            return None
        there = known.there
        rows, off = float((table * there).sum()), self._off(attributes, table, there)
        count, off = known.weighted(weights, rows, off)
        return count, ROOM * off

    def _summed_in_groups(
        self, attributes: tuple[str, ...], table: Floats, weights: Floats
    ) -> tuple[float, float] | None:
        """The same of rows of groups, where those may be displaced: by what is known better."""
        if any(a in self.thin for a in attributes):
            return None
        made = GroupedSum.of(self.domain, attributes, table, weights, self.pooled)
        if made is None:
            return None
        off = self._off(attributes, table, weights)
        if made.spilled <= _SPILLED * off:
            return None
        believed = float((table * weights).sum()), hypot(off, made.spilled)
        means = np.broadcast_to(made.means, made.weights.shape)
        drawn = float((means**2 * made.rows).sum())
        rows = sqrt(self.variance(len(attributes), float((means * made.rows).sum()), drawn))
        value, far = made.weighted(rows)
        return min(believed, (value, ROOM * far), key=lambda x: x[1])

    def _each(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]:
        """The same, one group after another."""
        found = [
            self.linear(form.attributes, form.weights(g), confidence, numbers) for g in range(form.groups)
        ]
        return np.array([count for count, _ in found]), np.array([off for _, off in found])

    @cached_property
    def thin(self) -> Mapping[str, float]:
        """Numbers whose rows are hidden by the noise of their own tables, and its standard deviation."""
        return {}

    @cached_property
    def known(self) -> Mapping[str, Pooled]:
        """The tables of numbers, by all that was measured of them; none where that is not normal."""
        return {}

    def pooled(self, attributes: tuple[str, ...]) -> Pooled | None:
        """A table by all that was measured of it, whose noise is normal; None if there is none."""
        return None

    def counted(self, attributes: tuple[str, ...]) -> Pooled | None:
        """The same of the smallest tables, for errors of counts, which need no hypothesis."""
        return None

    def error(self, query: Query, count: float, confidence: float, numbers: int = 1) -> float:
        """The indicative half-width of one query's learned count, in rows."""
        off = sqrt(self.variance(len(query.attributes), count, count))
        if query.attributes in self.spread.runs and (query.factors is None or prod(query.shape) <= SMALL):
            off = max(off, self._in_runs(query.attributes, query.weights / ONE))
        if self.counted(query.attributes) is not None:
            off = min(
                off, self._by_measured(query.attributes, self.table(query.attributes), query.weights / ONE)
            )
        return width(confidence, numbers) * off

    def _in_runs(self, attributes: tuple[str, ...], weights: Floats) -> float:
        """The standard deviation of a count of many levels of a number, whose errors add up; else 0."""
        each = self.spread.runs.get(attributes, 0.0)
        return each * length(self.domain, attributes, weights) if each else 0.0

    # -- as plain data ------------------------------------------------------------------------------------

    def pack(self, arrays: Arrays) -> dict[str, Any]:
        """As plain data, with arrays: the numbers, tables of few attributes, and the hypothesis."""
        names, runs = self._written, list[Any]()
        arrays |= {f"table {i}": self.table(attributes) for i, attributes in enumerate(names)}
        if self._spread is not None:
            arrays |= {"sizes": self._spread.sizes, "factors": self._spread.factors}
            runs = [[list(names), each] for names, each in self._spread.runs.items()]
        numbers = asdict(self.numbers) | {"most_rows": repr(self.numbers.most_rows)}
        own: dict[str, Any] = {} if self.moments is None else {"moments": self.moments.to_json(arrays)}
        arrays |= {f"known {i}": known.counts for i, known in enumerate(self.known.values())}
        own |= {"thin": dict(self.thin), "runs": runs}
        own |= {"known": {name: known.variance for name, known in self.known.items()}}
        counted = [(a, found) for a in names if (found := self.counted(a)) is not None]
        arrays |= {f"counted {i}": found.counts for i, (_, found) in enumerate(counted)}
        own["counted"] = [[list(a), found.variance] for a, found in counted]
        return own | {"kind": self.kind, "numbers": numbers, "tables": names, "behind": self._pack(arrays)}

    @classmethod
    def unpack(cls, domain: Domain, data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `pack`; the arrays of the hypothesis are looked up when it is needed."""
        most_rows = float(data["numbers"]["most_rows"])
        numbers = Numbers(**data["numbers"] | {"most_rows": most_rows})
        tables = {tuple(names): arrays[f"table {i}"] for i, names in enumerate(data["tables"])}
        runs = {tuple(names): float(each) for names, each in data["runs"]}
        spread = Spread(arrays["sizes"], arrays["factors"], runs) if "sizes" in arrays else None
        moments = BinMoments.from_json(domain, data["moments"], arrays) if "moments" in data else None
        made = cls(
            domain, numbers, lambda: cls._unpack(domain, data["behind"], arrays), spread, tables, moments
        )
        if "thin" in data:  # known without the hypothesis
            made.__dict__["thin"] = data["thin"]
        if "known" in data:
            made.__dict__["known"] = {
                name: Pooled(arrays[f"known {i}"], variance, numbers_of(domain[name]))
                for i, (name, variance) in enumerate(data["known"].items())
            }
        if "counted" in data:
            pooled = (
                (tuple(names), Pooled(arrays[f"counted {i}"], variance))
                for i, (names, variance) in enumerate(data["counted"])
            )
            made.__dict__["_counted"] = dict.fromkeys(made._written) | dict(pooled)
        return made

    @cached_property
    def _written(self) -> list[tuple[str, ...]]:
        """The tables that a snapshot has."""
        return smallest(self.domain)
