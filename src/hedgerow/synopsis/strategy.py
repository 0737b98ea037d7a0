"""Synopses of measured strategies: answers by least squares, with errors that know every covariance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import MatrixStrategy, Residual, ResidualStrategy
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.sampling import TreeModel
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Arrays = dict[str, NDArray[Any]]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StrategySynopsis(Synopsis):
    """What measured strategies share: one vector of noisy whole numbers."""

    measured: Measurement | None = None
    kind: ClassVar[str] = ""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy numbers of the strategy."""
        return (self._measured,)

    @property
    def _measured(self) -> Measurement:
        assert self.measured is not None
        return self.measured

    def _width(self, norm: Any, confidence: float, numbers: int) -> Any:
        """The half width of a sum of the numbers' noise whose weights have this Euclidean norm.

        The tail of a weighted sum of independent discrete Gaussians depends on that norm alone, up to a
        lattice step of the largest weight, which the norm bounds.
        """
        return norm * self._measured.noise.half_width(confidence, (1.0,), numbers)

    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        arrays["values"] = self._measured.values
        return {"noise": self._measured.noise.to_json(), "private": self._measured.private}

    @staticmethod
    def _restored(body: dict[str, Any], arrays: Arrays, strategy: Any) -> Measurement:
        noise = Noise.from_json(body["noise"])
        return Measurement((), arrays["values"], noise, None, bool(body["private"]), strategy)


@dataclass(frozen=True, eq=False, repr=False)
class ResidualSynopsis(StrategySynopsis):
    """Noisy residuals. Every table over attributes measured together follows from them, and all tables agree.

    A table is rebuilt from the residuals of all its subsets, so two tables have the same margins by
    construction. Rows of the strategy are orthogonal: rebuilding is least squares, and a question's variance
    is a sum over its coordinates.
    """

    rows: int | None = None
    kind: ClassVar[str] = "residuals"

    @property
    def strategy(self) -> ResidualStrategy:
        """What was measured."""
        strategy = self._measured.strategy
        assert isinstance(strategy, ResidualStrategy)
        return strategy

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its error bound."""
        names = self._known(attributes)
        w = np.asarray(weights, dtype=np.float64).reshape(self.domain.shape_of(attributes))
        w = w.reshape(self.domain.shape_of(names))  # attributes of one level have no axis of their own
        value = float((self._rebuilt(names) * w).sum())
        for i, a in enumerate(names):
            w = self.strategy.axes[a].coefficients(w, i)
        norm = float(np.sqrt((w**2 * self._variances(names)).sum()))
        return value, float(self._width(norm, confidence, numbers))

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """Whole tables at once, with an error for every cell."""
        if not workload.is_tables:
            return super()._workload(workload, confidence, numbers)
        errors = [self._width(self.norms(b.attributes), confidence, numbers) for b in workload.blocks]
        return workload.evaluate(self._table), np.concatenate([e.reshape(-1) for e in errors])

    def norms(self, attributes: Sequence[str]) -> Floats:
        """The standard deviation of every cell of a table, in units of the noise of a measured number."""
        names = self._known(tuple(attributes))
        out = self._variances(names)
        for i, a in enumerate(names):
            out = self.strategy.axes[a].spread(out, i)
        return np.sqrt(out).reshape(self.domain.shape_of(attributes))

    def _table(self, names: tuple[str, ...]) -> Floats:
        return self._rebuilt(self._known(names)).reshape(self.domain.shape_of(names))

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows, drawn along the tree of the strongest measured pairs [CL68]."""
        number = self._how_many(rows, seed)
        tables = {r.attributes for r in self.strategy.residuals if r.attributes}
        return self._spread(TreeModel.of(self.domain, tables, self._table).sample(number, seed), seed)

    # -- inside -------------------------------------------------------------------------------------------

    def _known(self, attributes: tuple[str, ...]) -> tuple[str, ...]:
        """The attributes with more than one level, if their table was measured."""
        names = tuple(a for a in attributes if self.domain[a].size > 1)
        if names not in self.strategy.of and (names or self.rows is None):
            held = "; ".join(" x ".join(r.attributes) or "total" for r in self.strategy.residuals[-6:])
            raise UnsupportedQuery(f"no released table holds {' x '.join(attributes)}; there is {held} ...")
        return names

    def _slabs(self, names: tuple[str, ...]) -> Iterator[tuple[Residual | None, Any]]:
        """Every residual of a table's subsets, and where it goes among the table's coordinates."""
        for s in chain.from_iterable(combinations(names, k) for k in range(len(names) + 1)):
            place = tuple(slice(1, None) if a in s else 0 for a in names)
            yield self.strategy.of.get(s), place

    def _rebuilt(self, names: tuple[str, ...]) -> Floats:
        """The table of some attributes: totals first, then divided along one attribute after another."""
        strategy, values = self.strategy, self._measured.values
        out = np.empty(self.domain.shape_of(names))
        for r, place in self._slabs(names):
            if r is None:
                out[place] = self.rows
                continue
            numbers = values[strategy.places[r.attributes]].reshape(strategy.shape(r.attributes))
            out[place] = numbers / strategy.factors(r)
        for i, a in enumerate(names):
            out = strategy.axes[a].rebuild(out, i)
        return out

    def _variances(self, names: tuple[str, ...]) -> Floats:
        """The variance of every coordinate of a table, for noise of variance 1 on a measured number."""
        out = np.empty(self.domain.shape_of(names))
        for r, place in self._slabs(names):
            out[place] = 0.0 if r is None else 1.0 / self.strategy.factors(r).astype(np.float64) ** 2
        return out

    # -- files --------------------------------------------------------------------------------------------

    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        body = super()._pack(arrays) | {"rows": self.rows, "axes": [], "residuals": []}
        for name, axis in self.strategy.axes.items():
            arrays[f"scales{len(body['axes'])}"] = axis.scales
            body["axes"].append([name, axis.levels, axis.grading])
        for r in self.strategy.residuals:
            body["residuals"].append([list(r.attributes), r.weights.tolist()])
        return body

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: Arrays
    ) -> ResidualSynopsis:
        axes = {
            name: Contrasts(int(levels), grading, arrays[f"scales{i}"])
            for i, (name, levels, grading) in enumerate(body["axes"])
        }
        parts = [Residual(tuple(names), np.array(w, dtype=np.int64)) for names, w in body["residuals"]]
        strategy = ResidualStrategy(axes, tuple(parts))
        rows = None if body["rows"] is None else int(body["rows"])
        return cls(domain, provenance, cls._restored(body, arrays, strategy), rows)


@dataclass(frozen=True, eq=False, repr=False)
class MatrixSynopsis(StrategySynopsis):
    """A measured matrix: answers every question that is a combination of its rows."""

    kind: ClassVar[str] = "matrix"

    @property
    def strategy(self) -> MatrixStrategy:
        """What was measured."""
        strategy = self._measured.strategy
        assert isinstance(strategy, MatrixStrategy)
        return strategy

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its error bound."""
        column = self._columns(attributes, np.asarray(weights, dtype=np.float64))
        inverse = self.__dict__.get("_inverse")
        matrix = self.strategy.matrix.astype(np.float64)
        if inverse is None:
            inverse = self.__dict__["_inverse"] = np.linalg.pinv(matrix, rcond=1e-10)
        mix = column @ inverse
        if np.abs(mix @ matrix - column).max() > 1e-6 * max(1.0, np.abs(column).max()):
            raise UnsupportedQuery("this query does not follow from what was measured")
        norm = float(np.linalg.norm(mix))
        return float(mix @ self._measured.values), float(self._width(norm, confidence, numbers))

    def _columns(self, attributes: tuple[str, ...], weights: Floats) -> Floats:
        """A query's weight on every group of cells, if it has one weight on each and none elsewhere."""
        strategy = self.strategy
        if not set(attributes) <= set(strategy.attributes):
            raise UnsupportedQuery("this query is about attributes that were not measured")
        here = weights.reshape(
            [
                n if a in attributes else 1
                for a, n in zip(strategy.attributes, strategy.groups.shape, strict=True)
            ]
        )
        each = np.broadcast_to(here, strategy.groups.shape).reshape(-1)
        groups = strategy.groups.reshape(-1)
        column = np.zeros(strategy.matrix.shape[1])
        column[groups[groups >= 0]] = each[groups >= 0]
        if not np.array_equal(np.append(column, 0.0)[groups], each):
            raise UnsupportedQuery("this query does not follow from what was measured")
        return column

    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        arrays["groups"], arrays["matrix"] = self.strategy.groups, self.strategy.matrix
        return super()._pack(arrays) | {"attributes": list(self.strategy.attributes)}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: Arrays
    ) -> MatrixSynopsis:
        strategy = MatrixStrategy(tuple(body["attributes"]), arrays["groups"], arrays["matrix"])
        return cls(domain, provenance, cls._restored(body, arrays, strategy))
