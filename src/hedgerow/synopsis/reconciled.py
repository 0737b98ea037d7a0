"""Reconciled: residuals that tables are read from where they were measured, beside the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.residuals.basis import Names, subsets
from hedgerow.learning.residuals.noisy import STEP, NoisyResiduals
from hedgerow.learning.residuals.nonnegative import cut, outermost
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.synopsis.limits import MeasuredTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

_SWEEPS = 4  # over the margins that a table is brought to
_LARGEST = 1 << 22  # cells of a table that is brought to its margins


@dataclass(frozen=True, eq=False)
class Reconciled:
    """Residuals of a model moved towards what was measured, and made to agree.

    Args:
        evidence: what was measured.
        parts: the residuals that tables are built from; none where the model itself is the best estimate.
        tables: the largest tables that they hold.
        rakes: whether the model's other tables are brought to those inside them.
        doubts: of every residual, the part of its noise that is in the tables, and the mean square of biases;
            none in files of earlier versions.
    """

    evidence: NoisyResiduals
    parts: Mapping[Names, Floats]
    tables: tuple[Names, ...]
    rakes: bool
    doubts: Mapping[Names, tuple[float, float]] = field(default_factory=dict)

    def table(self, names: Names) -> Floats | None:
        """A table in rows, if it is held; attributes of two levels or more, in the domain's order."""
        if not self.parts or not all(s in self.parts for s in subsets(names)):
            return None
        if names and not any(set(names) <= set(t) for t in self.tables):
            return None
        return cut(self.evidence.basis.table(names, self.parts))

    def raked(self, names: Names, table: Floats) -> Floats:
        """A model's table brought to the tables inside it, one after another: iterative proportional fitting.

        Each step is the nearest distribution, by relative entropy, that has that margin.
        """
        inside = [t for t in self._inside(names) if t]
        if not self.rakes or not inside or table.size > _LARGEST:
            return table
        total = float(table.sum())
        for _ in range(_SWEEPS if len(inside) > 1 else 1):
            for t in inside:
                out = tuple(i for i, a in enumerate(names) if a not in t)
                goal = self.table(t)
                assert goal is not None
                goal = goal * (total / max(float(goal.sum()), 1e-300))
                now = table.sum(axis=out)
                ratio = np.divide(goal, now, out=np.ones_like(goal), where=now > 0.0)
                table = table * np.expand_dims(ratio, out)
        return table * (total / max(float(table.sum()), 1e-300))

    def _inside(self, names: Names) -> list[Names]:
        """The largest held tables over some of these attributes."""
        found = {tuple(a for a in names if a in t) for t in self.tables}
        kept = [t for t in found if not any(set(t) < set(other) for other in found)]
        return sorted(kept, key=lambda t: (len(t), t))

    # -- tables as they are asked for ---------------------------------------------------------------------

    def read(self, domain: Domain, names: Names, modelled: Callable[[], Floats]) -> Floats:
        """A table in rows: from the residuals where they are held, else the model's, brought to them."""
        order = domain.order(names)
        real = tuple(a for a in order if a in self.evidence.basis.sizes)
        table = self.table(real)
        if table is None:
            axes = [names.index(a) for a in order]
            shaped = modelled().reshape(domain.shape_of(names))  # the total comes as a list of one
            given = shaped.transpose(axes).reshape([domain[a].size for a in real])
            table = self.raked(real, given) if self.parts else given
        table = table.reshape([domain[a].size for a in order])
        return np.ascontiguousarray(table.transpose([order.index(a) for a in names]))

    def whole(self, domain: Domain, names: Names) -> MeasuredResiduals | None:
        """A table as it was measured, if all its residuals were."""
        real = tuple(a for a in domain.order(names) if a in self.evidence.basis.sizes)
        if not real or not self.evidence.holds(real):
            return None
        return MeasuredResiduals(self.evidence, domain, tuple(names), real)

    def measured_tables(self) -> Iterator[MeasuredTable]:
        """The largest tables whose residuals were measured.

        Noise of cells is correlated. A sum with weights c has the variance sum over S of d_S^2 |c_S|^2, up to
        the spread of S, and |c|^2 is the sum of the same |c_S|^2: so it is at most that of independent noise
        of the largest variance of any S.
        """
        evidence, basis = self.evidence, self.evidence.basis
        for t in outermost([s for s in evidence.values if s and evidence.holds(s)]):
            variance = max(evidence.deviations[s] ** 2 * basis.spread(s, t) for s in subsets(t))
            groups = tuple(np.arange(basis.sizes[a]) for a in t)
            noise = Noise("gaussian", Fraction(max(variance**0.5, 4.0)))  # a sum, on a finer lattice
            yield MeasuredTable(t, groups, basis.table(t, evidence.values), noise)

    # -- files --------------------------------------------------------------------------------------------

    def pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """As plain data; numbers go into `arrays`. The evidence follows from the measurements."""
        held: list[list[Any]] = []
        for s, values in self.parts.items():
            name = f"r{len(held)}"
            arrays[name] = np.asarray(values)
            held.append([list(s), name])
        tables = [list(t) for t in self.tables]
        doubts = [[list(s), *two] for s, two in self.doubts.items()]
        known = {"doubts": doubts} if doubts else {}
        return {"parts": held, "tables": tables, "rakes": self.rakes, "rows": self.evidence.rows} | known

    @classmethod
    def unpack(
        cls,
        domain: Domain,
        measurements: Sequence[Measurement],
        body: dict[str, Any],
        arrays: Mapping[str, NDArray[Any]],
    ) -> Reconciled:
        """The inverse of `pack`."""
        evidence = NoisyResiduals.of(domain, measurements, body["rows"])
        parts = {tuple(s): arrays[name] for s, name in body["parts"]}
        doubts = {tuple(s): (float(g), float(b)) for s, g, b in body.get("doubts", ())}
        return cls(evidence, parts, tuple(tuple(t) for t in body["tables"]), bool(body["rakes"]), doubts)


@dataclass(frozen=True, eq=False)
class MeasuredResiduals:
    """A table rebuilt from measured residuals: its noise is known exactly, for every weighted sum of cells.

    Args:
        evidence: the residuals.
        domain: whose attributes they are.
        names: the table's attributes, as they were asked for.
        real: those of more than one level, in the domain's order.
    """

    evidence: NoisyResiduals
    domain: Domain
    names: Names
    real: Names

    @cached_property
    def counts(self) -> Floats:
        """The noisy cells."""
        order = self.domain.order(self.names)
        table = self.evidence.basis.table(self.real, self.evidence.values)
        table = table.reshape([self.domain[a].size for a in order])
        return np.ascontiguousarray(table.transpose([order.index(a) for a in self.names]))

    @property
    def variance(self) -> float:
        """Of one cell: all have the same, since contrasts are as long at every level."""
        return self.evidence.variance(self.real)

    def half_width(self, confidence: float, weights: Floats, numbers: int) -> float:
        """How far a weighted sum of cells may be off.

        Sums of independent discrete Gaussians are sub-Gaussian with their variances added [CKS20, Cor. 17].
        """
        return _width(*self._law(weights), confidence, numbers)

    def deviation(self, weights: Floats) -> float:
        """The standard deviation of a weighted sum of cells."""
        return self._law(weights)[0]

    def cell_width(self, confidence: float, numbers: int) -> float:
        """How far a cell may be off."""
        return _width(*self.evidence.law(self.real), confidence, numbers)

    def _law(self, weights: Floats) -> tuple[float, bool]:
        order = self.domain.order(self.names)
        given = np.asarray(weights, dtype=np.float64).transpose([self.names.index(a) for a in order])
        return self.evidence.law(self.real, given.reshape([self.domain[a].size for a in self.real]))


def _width(deviation: float, normal: bool, confidence: float, numbers: int) -> float:
    """By the normal law and a step of the lattice, where that is fine; else as of a number of whole rows."""
    if deviation <= 0.0:
        return 0.0
    if normal:
        return deviation * (STEP - NormalDist().inv_cdf((1.0 - confidence) / numbers / 2.0))
    return Noise("gaussian", Fraction(max(deviation, 1e-9))).half_width(confidence, (1.0,), numbers)
