"""Query: a linear question, weights in [0, 1] over the table of a few attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.argument import finite, numbers, once
from hedgerow.queries.domain.encoding import text_of
from hedgerow.queries.norms import Norms as Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.valued import Fine

ONE = 1 << 20
"""Weights are integers in units of 1/ONE, so that exact answers are exact integers on every engine."""

_DENSE_LIMIT = 1 << 27


@dataclass(frozen=True, eq=False)
class Query:
    """A linear question: weights in [0, 1] over the cells of some attributes, and a map to the user's unit.

    The value people see is `scale * sum(weight of each row) + offset`. Weights come either as one array over
    the table (`dense`) or as one factor per attribute (`factors`), whose product is never stored; at most one
    factor may be fractional. Build queries with `Query.where` and `Query.of`.

    A sum of numbers is `fine`: rows weigh what their own values say, and the weights over cells are those of
    rows in the middle of their bins, for whoever has tables and no rows.
    """

    attributes: tuple[str, ...]
    shape: tuple[int, ...]
    factors: tuple[NDArray[np.int64], ...] | None = None
    dense: NDArray[np.int64] | None = None
    scale: float = 1.0
    offset: float = 0.0
    name: str = ""
    fine: Fine | None = None

    def __post_init__(self) -> None:
        """Refuse weights outside [0, 1] and freeze them: sensitivity is read off them once."""
        if (self.factors is None) == (self.dense is None) or len(self.attributes) != len(self.shape):
            raise UnsupportedQuery("a query has either factors or dense weights, over one axis per attribute")
        finite("a query's scale", self.scale)
        finite("a query's offset", self.offset)
        if self.fine is not None:
            _refuse_fine(self.fine, self.attributes, self.shape)
        if self.dense is not None:
            object.__setattr__(self, "dense", _frozen(self.dense, self.shape))
            return
        assert self.factors is not None
        if len(self.factors) != len(self.shape):
            raise DomainMismatch("a query has one factor per attribute")
        frozen = tuple(_frozen(f, (n,)) for f, n in zip(self.factors, self.shape, strict=True))
        if sum(int(f.max(initial=0)) > 1 for f in frozen) > 1:
            raise UnsupportedQuery("at most one factor of a query may hold more than zeros and ones")
        object.__setattr__(self, "factors", frozen)

    @classmethod
    def where(
        cls,
        domain: Domain,
        conditions: Mapping[str, Any] | None = None,
        *,
        weights: Mapping[str, Any] | None = None,
        scale: float = 1.0,
        name: str = "",
    ) -> Query:
        """Count the rows that meet every condition, each weighted by `weights` of at most one attribute.

        A condition is a level, a list of levels, a boolean mask over the levels, or a function of a level's
        decoded value. Levels without a value (missing, and `other` of numbers and dates) meet no function and
        are never passed to one; name them: `{"age": None}` is the missing level.

        >>> from hedgerow.queries.domain.domain import Domain
        >>> Query.where(Domain({"sex": ["F", "M"], "age": 5}), {"sex": "F", "age": [3, 4]}).largest == ONE
        True
        """
        for given in (conditions, weights):
            if given is not None and not isinstance(given, Mapping):
                raise UnsupportedQuery("conditions and weights are given by attribute: {name: ...}")
        _finite(domain)
        masks = {a: _mask(domain, a, c) for a, c in (conditions or {}).items()}
        for a, w in (weights or {}).items():
            fixed = _fixed(w, (domain[a].size,))
            masks[a] = fixed * masks[a] if a in masks else fixed
        if len(weights or {}) > 1:
            raise UnsupportedQuery("a product query takes weights on one attribute; use Query.of for more")
        names = domain.order(masks)
        factors = [masks[a] for a in names]
        if not weights:  # all factors are 0/1: put the lattice's unit on the first one
            factors = [f * ONE if i == 0 else f for i, f in enumerate(factors)]
        return cls(names, domain.shape_of(names), factors=tuple(factors), scale=scale, name=name)

    @classmethod
    def of(
        cls, domain: Domain, attributes: Sequence[str], weights: Any, *, scale: float = 1.0, name: str = ""
    ) -> Query:
        """A query from an array of weights in [0, 1] over the table of `attributes`, axes in that order."""
        attributes = list(attributes) if isinstance(attributes, Iterable) else attributes
        names = _finite(domain).order(attributes)
        once(attributes)
        array = _fixed(weights, domain.shape_of(attributes))
        array = array.transpose([list(attributes).index(a) for a in names]).copy()
        return cls(names, array.shape, dense=array, scale=scale, name=name)

    @classmethod
    def total(cls) -> Query:
        """How many rows there are."""
        return cls((), (), factors=(), name="total")

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """All weights over the table, in units of 1/ONE."""
        if self.dense is not None:
            return self.dense
        cells = prod(self.shape)
        if cells > _DENSE_LIMIT:
            raise RangeTooLarge(
                f"the table behind this query has {cells:,} cells, more than {_DENSE_LIMIT:,}"
            )
        out = np.full((1,) * len(self.shape), 1 if self.factors else ONE, dtype=np.int64)
        for axis, factor in enumerate(self.factors or ()):
            out = out * factor.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        out = out.reshape(self.shape)
        out.setflags(write=False)
        return out

    @property
    def most(self) -> NDArray[np.int64]:
        """The most that a row of each cell can weigh, in units of 1/ONE: what sensitivity follows from."""
        return self.weights if self.fine is None else self.fine.most(self.attributes, self.shape)

    @property
    def off(self) -> NDArray[np.int64]:
        """How far the weight of a row can be from that of its cell."""
        if self.fine is not None and self.fine.value.cuts:
            return np.asarray(np.maximum(self.most - self.weights, self.weights))
        low = self.fine is not None and self.fine.value.digits[1] < 62  # lower digits may be any
        return self.most if low else self.most - self.weights

    @cached_property
    def largest(self) -> int:
        """The most that a row can weigh, in units of 1/ONE."""
        if self.fine is not None:
            return self.fine.largest(self.attributes, self.shape)
        if self.factors is not None:
            return prod(int(f.max(initial=0)) for f in self.factors) if self.factors else ONE
        return int(self.weights.max(initial=0))

    @cached_property
    def counts(self) -> bool:
        """Whether every weight is 0 or 1, so that exact answers are whole numbers."""
        if self.fine is not None:
            return False
        if self.factors is not None:
            large = [f for f in self.factors if int(f.max(initial=0)) > 1]  # at most one is
            nothing = any(int(f.max(initial=0)) == 0 for f in self.factors)
            return nothing or not self.factors or bool(large and np.isin(large[0], (0, ONE)).all())
        return bool(np.isin(self.weights, (0, ONE)).all())

    @property
    def denominator(self) -> int:
        """Lattice steps per row: 1 for a count, ONE for fractional weights."""
        return 1 if self.counts else ONE

    @property
    def norms(self) -> Norms:
        """What one row can change, in lattice steps."""
        return Norms.query(self.largest // (ONE // self.denominator))

    def apply(self, marginal: NDArray[Any]) -> Any:
        """The answer on a table of the attributes: lattice steps from integers, counts from floats."""
        table = np.asarray(marginal).reshape(self.shape)
        if np.issubdtype(table.dtype, np.integer):
            weights = self.weights // (ONE // self.denominator)
            _check_overflow(int(np.abs(table).sum(dtype=np.int64)), self.denominator)
            return int((table.astype(np.int64) * weights).sum())
        value = table
        if self.factors is None:
            return float((table * self.weights).sum()) / ONE
        for factor in reversed(self.factors):  # contract the last axis first: no array of the table's size
            value = value @ factor.astype(np.float64)
        return float(value) / (ONE if self.factors else 1)

    def to_unit(self, counts: Any) -> Any:
        """A count in the unit of the question."""
        return self.scale * counts + self.offset

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked, whatever it is called."""
        kind = "factors" if self.factors is not None else "weights"
        h = hashlib.sha256(repr((kind, self.attributes, self.shape, self.scale, self.offset)).encode())
        for array in self.factors if self.factors is not None else (self.weights,):
            h.update(np.ascontiguousarray(array).tobytes())
        if self.fine is not None:
            h.update(self.fine.digest)
        return h.hexdigest()

    def __repr__(self) -> str:
        return f"Query({self.name or ' x '.join(self.attributes) or 'total'})"


@dataclass(frozen=True, eq=False)
class SparseQuery:
    """A linear question about a few named elements of any universe: {element: weight in [0, 1]}.

    >>> SparseQuery.of({"oak": 1, "ash": 0.5}).largest == ONE
    True
    """

    weights: Mapping[Hashable, int]
    scale: float = 1.0
    offset: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse weights outside [0, 1] and elements that read alike, and keep a copy that nobody changes."""
        if not isinstance(self.weights, Mapping):
            raise UnsupportedQuery("a sparse query is a mapping of names to weights; see SparseQuery.of")
        finite("a query's scale", self.scale)
        finite("a query's offset", self.offset)
        weights = dict(self.weights)
        if not all(isinstance(w, int) and 0 <= w <= ONE for w in weights.values()):
            raise UnsupportedQuery("weights must lie between 0 and 1, in units of 1/ONE")
        texts = {text_of(e): w for e, w in weights.items()}
        if len(texts) < len(weights):
            raise UnsupportedQuery("two elements of a sparse query read alike as text")
        object.__setattr__(self, "weights", MappingProxyType(weights))
        object.__setattr__(self, "_texts", MappingProxyType(texts))

    @property
    def texts(self) -> Mapping[str, int]:
        """The weights by each element's canonical text, which is what rows are matched by."""
        texts: Mapping[str, int] = self.__dict__["_texts"]
        return texts

    @cached_property
    def by_text(self) -> SparseQuery:
        """The same query with every element written as its canonical text: 5 and "5" are one name."""
        if all(type(element) is str for element in self.weights):
            return self
        return SparseQuery(cast(Mapping[Hashable, int], self.texts), self.scale, self.offset, self.name)

    @classmethod
    def of(cls, weights: Mapping[Hashable, float], *, scale: float = 1.0, name: str = "") -> SparseQuery:
        """A sparse query from weights in [0, 1]; elements that are not named weigh nothing."""
        if not isinstance(weights, Mapping):
            raise UnsupportedQuery("a sparse query is a mapping of names to weights")
        values = _fixed(list(weights.values()), (len(weights),))
        fixed = {e: int(w) for e, w in zip(weights, values, strict=True) if w}
        return cls(fixed, scale=scale, name=name)

    @property
    def largest(self) -> int:
        """The largest weight, in units of 1/ONE."""
        return max(self.weights.values(), default=0)

    @property
    def counts(self) -> bool:
        """Whether every weight is 0 or 1."""
        return all(w == ONE for w in self.weights.values())

    @property
    def denominator(self) -> int:
        """Lattice steps per row."""
        return 1 if self.counts else ONE

    @property
    def norms(self) -> Norms:
        """What one row can change, in lattice steps."""
        return Norms.query(self.largest // (ONE // self.denominator))

    def to_unit(self, counts: Any) -> Any:
        """A count in the unit of the question."""
        return self.scale * counts + self.offset

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        items = sorted(self.texts.items())
        return hashlib.sha256(repr((items, self.scale, self.offset)).encode()).hexdigest()


def _frozen(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A copy of whole weights in [0, ONE] that nobody can change any more."""
    given = np.asarray(array)
    if given.shape != tuple(shape):
        raise DomainMismatch(f"the weights have shape {given.shape}, the table has shape {tuple(shape)}")
    if given.dtype != np.bool_ and not np.issubdtype(given.dtype, np.integer):
        raise UnsupportedQuery("a query's weights are whole numbers in units of 1/ONE; see Query.of")
    if given.size and not 0 <= int(given.min()) <= int(given.max()) <= ONE:
        raise UnsupportedQuery("weights must lie between 0 and 1; put the unit into `scale`")
    copy = given.astype(np.int64)
    copy.setflags(write=False)
    return copy


def _finite(domain: Any) -> Domain:
    """A declared domain; names without end have no tables to put weights on."""
    if not hasattr(domain, "shape_of"):
        raise DomainMismatch("a query is about the attributes of a Domain; about names ask a SparseQuery")
    return cast("Domain", domain)


def _refuse_fine(fine: Any, attributes: tuple[str, ...], shape: tuple[int, ...]) -> None:
    """What rows are worth is read off rows: only a class of this house may say it."""
    from hedgerow.queries.valued import Fine

    if type(fine) is not Fine:
        raise UnsupportedQuery("what rows are worth is made by compiling SQL")
    fine.check(attributes, shape)


def _fixed(given: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Weights in [0, 1] as integers in units of 1/ONE, rounded to nearest."""
    weights = numbers("a query's weights", given)
    if weights.shape != shape:
        raise DomainMismatch(f"the weights have shape {weights.shape}, the table has shape {shape}")
    if not ((weights >= 0) & (weights <= 1)).all():
        raise UnsupportedQuery("weights must lie between 0 and 1; put the unit into `scale`")
    return np.rint(weights * ONE).astype(np.int64)


def _mask(domain: Domain, name: str, condition: Any) -> NDArray[np.int64]:
    """A 0/1 vector over an attribute's levels from a level, a list of levels, a mask or a predicate."""
    attribute = domain[name]
    if isinstance(condition, np.ndarray) and condition.dtype == np.bool_:
        if condition.shape != (attribute.size,):
            raise DomainMismatch(f"the mask for {name!r} has {condition.size} entries, not {attribute.size}")
        return condition.astype(np.int64)
    mask = np.zeros(attribute.size, dtype=np.int64)
    if isinstance(condition, Callable):  # type: ignore[arg-type]
        values = attribute.decode(range(attribute.size))
        return np.array([v is not None and bool(condition(v)) for v in values], dtype=np.int64)
    several = isinstance(condition, (list, tuple, set, frozenset, range))
    for level in condition if several else [condition]:
        try:
            mask[attribute.code(level)] = 1
        except DomainMismatch as error:
            raise DomainMismatch(f"attribute {name!r}: {error}") from None
    return mask


def _check_overflow(rows: int, denominator: int) -> None:
    if rows * denominator >= 1 << 62:
        raise RangeTooLarge("the exact answer would pass 64-bit integers")
