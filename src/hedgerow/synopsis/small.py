"""SmallSynopsis: a few made-up rows that stand for all, with the bound they were chosen for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.privacy.bounds import prop_4_4
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, pack_workload, unpack_measurement, unpack_workload
from hedgerow.queries.query import ONE
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload


@dataclass(frozen=True, eq=False)
class SmallDatabase:
    """A small database and what its bound follows from.

    Args:
        codes: level codes, one column per attribute of the domain.
        total: how many rows it stands for.
        measured: the measurement of that number; None where it is public.
        workload: the queries it was chosen for.
        alpha, epsilon, log_range, sensitivity: of [DR14] Prop. 4.4.
    """

    codes: NDArray[np.int64]
    total: int
    measured: Measurement | None
    workload: Workload
    alpha: float
    epsilon: float
    log_range: float
    sensitivity: float

    def total_off(self, beta: float) -> float:
        """How far the number of rows may be off, except with probability beta; it is at least one."""
        return _total_off(self.total, self._law, beta)

    @property
    def _law(self) -> Noise | None:
        return None if self.measured is None else self.measured.noise

    def bound(self, confidence: float) -> float:
        """How far off, in rows, any query of the workload may be: all of them at once."""
        return small_bound(
            self.total, self._law, self.alpha, self.epsilon, self.log_range, self.sensitivity, confidence
        )

    @cached_property
    def known(self) -> frozenset[tuple[tuple[str, ...], bytes]]:
        """The queries of the workload, by what they count."""
        return frozenset((q.attributes, _marks(q.weights / ONE)) for q in self.workload)


def small_bound(
    total: int,
    law: Noise | None,
    alpha: float,
    epsilon: float,
    log_range: float,
    sensitivity: float,
    confidence: float,
) -> float:
    """[DR14] Prop. 4.4 in rows for a total that is public, or was measured by this law."""
    beta = (1.0 - confidence) / (1.0 if law is None else 2.0)
    off = _total_off(total, law, beta)
    return prop_4_4(total + off, alpha, epsilon, log_range, beta, sensitivity=sensitivity, total_off=off)


def _total_off(total: int, law: Noise | None, beta: float) -> float:
    if law is None:
        return 1.0 if total <= 1 else 0.0
    return law.half_width(1.0 - beta) + 1.0


@dataclass(frozen=True, eq=False, repr=False)
class SmallSynopsis(Synopsis):
    """A small database, scaled to the number of rows.

    The queries it was chosen for are within [DR14] Prop. 4.4's bound, all at once; of any other question only
    what is trivially true can be said.
    """

    small: SmallDatabase | None = None
    kind: ClassVar[str] = "small"

    @property
    def can(self) -> frozenset[str]:
        """Answers, tables and rows."""
        return frozenset({"answer", "table", "sample"})

    @property
    def _small(self) -> SmallDatabase:
        assert self.small is not None
        return self.small

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The number of rows, where that was measured."""
        return () if self._small.measured is None else (self._small.measured,)

    @property
    def total(self) -> float:
        """The number of rows that the small database stands for."""
        return float(self._small.total)

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count, and a bound that holds for all queries of the workload at once."""
        small = self._small
        value = float((self._table(attributes) * weights).sum())
        reach = small.total + small.total_off((1.0 - confidence) / 2.0)  # like the bound: either may be used
        most = max(0.0, float(np.max(weights, initial=0.0))) * reach
        least = min(0.0, float(np.min(weights, initial=0.0))) * reach
        trivial = max(most - value, value - least)
        asked = (attributes, _marks(weights)) in small.known
        return value, min(small.bound(confidence), trivial) if asked else trivial

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """One by one: cells of a table do not all have the same trivial bound."""
        pairs = [self._query(q, confidence, numbers) for q in workload]
        values, errors = (np.array(x, dtype=np.float64) for x in zip(*pairs, strict=True))
        return values, errors

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        small, shape = self._small, self.domain.shape_of(names)
        places = [small.codes[self.domain.index(a)] for a in names]
        size = small.codes.shape[1]
        flat = np.ravel_multi_index(places, shape) if names else np.zeros(size, dtype=np.int64)
        counts = np.bincount(flat, minlength=self.domain.cells(names)).reshape(shape)
        return np.asarray(counts * (small.total / size))

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Rows of the small database, each as often as the others, in random order."""
        number = self._how_many(rows, seed)
        size, random = self._small.codes.shape[1], Generator(PCG64(seed))
        order = random.permutation(size)
        chosen = order[np.arange(number) % size]
        random.shuffle(chosen)
        return self.domain.decode({a: self._small.codes[i][chosen] for i, a in enumerate(self.domain)})

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        small = self._small
        arrays["codes"] = small.codes
        return {
            "total": small.total,
            "measured": None if small.measured is None else pack_measurement(small.measured, arrays),
            "workload": pack_workload(small.workload, arrays),
            "bound": [small.alpha, small.epsilon, small.log_range, small.sensitivity],
        }

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> SmallSynopsis:
        measured = None if body["measured"] is None else unpack_measurement(body["measured"], arrays)
        workload = unpack_workload(body["workload"], arrays)
        small = SmallDatabase(arrays["codes"], int(body["total"]), measured, workload, *body["bound"])
        return cls(domain, provenance, small)


def _marks(weights: NDArray[np.float64]) -> bytes | None:
    """The cells that a query counts; None for fractional weights, which no counting query has."""
    return np.packbits(np.asarray(weights) == 1.0).tobytes() if np.isin(weights, (0, 1)).all() else None
