"""SmallSynopsis: a few made-up rows that stand for all, with the bound they were chosen for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.privacy.bounds import prop_4_4
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, pack_workload, unpack_measurement, unpack_workload
from hedgerow.synopsis.cells import BoundedSynopsis, ProvenBound, rows_off
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload


@dataclass(frozen=True, eq=False)
class SmallDatabase(ProvenBound):
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
    parts: ClassVar[float] = 2.0

    @property
    def law(self) -> Noise | None:
        """The law of the measured number of rows."""
        return None if self.measured is None else self.measured.noise

    def bound(self, confidence: float) -> float:
        """How far off, in rows, any query of the workload may be: all of them at once."""
        return small_bound(
            self.total, self.law, self.alpha, self.epsilon, self.log_range, self.sensitivity, confidence
        )


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
    off = rows_off(total, law, beta)
    return prop_4_4(total + off, alpha, epsilon, log_range, beta, sensitivity=sensitivity, total_off=off)


@dataclass(frozen=True, eq=False, repr=False)
class SmallSynopsis(BoundedSynopsis):
    """A small database, scaled to the number of rows.

    The queries it was chosen for are within [DR14] Prop. 4.4's bound, all at once; of any other question only
    what is trivially true can be said.
    """

    small: SmallDatabase | None = None
    kind: ClassVar[str] = "small"

    @property
    def _theorem(self) -> SmallDatabase:
        assert self.small is not None
        return self.small

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The number of rows, where that was measured."""
        return () if self._theorem.measured is None else (self._theorem.measured,)

    @property
    def total(self) -> float:
        """The number of rows that the small database stands for."""
        return float(self._theorem.total)

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        small, shape = self._theorem, self.domain.shape_of(names)
        places = [small.codes[self.domain.index(a)] for a in names]
        size = small.codes.shape[1]
        flat = np.ravel_multi_index(places, shape) if names else np.zeros(size, dtype=np.int64)
        counts = np.bincount(flat, minlength=self.domain.cells(names)).reshape(shape)
        return np.asarray(counts * (small.total / size))

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Rows of the small database, each as often as the others, in random order."""
        number = self._how_many(rows, seed)
        size, random = self._theorem.codes.shape[1], Generator(PCG64(seed))
        order = random.permutation(size)
        chosen = order[np.arange(number) % size]
        random.shuffle(chosen)
        return self._spread({a: self._theorem.codes[i][chosen] for i, a in enumerate(self.domain)}, seed)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        small = self._theorem
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
