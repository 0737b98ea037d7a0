"""DenseSynopsis: answers from a hypothesis that holds every cell, learned or with a theorem behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.privacy.bounds import selection_off, thm_12_6
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, pack_workload, unpack_measurement, unpack_workload
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.cells import BoundedSynopsis, ProvenBound, rows_off
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.synopsis.answer import Source


@dataclass(frozen=True, eq=False, repr=False)
class DenseSynopsis(ModelSynopsis):
    """A learned distribution over all cells; its errors are indicative only."""

    kind: ClassVar[str] = "dense"
    left_over: ClassVar[float] = 4.0  # mechanisms of other kinds: their errors were not looked at as closely

    @classmethod
    def of_hypothesis(
        cls,
        hypothesis: DenseHypothesis,
        measurements: Sequence[Measurement],
        provenance: Provenance,
        *,
        spread: float = 1.0,
    ) -> DenseSynopsis:
        """A synopsis of what was learned.

        Args:
            hypothesis: the fitted distribution over all cells.
            measurements: everything noisy that it was fitted to.
            provenance: how it came to be.
            spread: the variance of an unmeasured cell's error, in units of its count.
        """
        held: Any = settled(hypothesis)
        return cls(hypothesis.domain, provenance, Learned(held, tuple(measurements), spread))

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        measured = [pack_measurement(m, arrays) for m in self.measurements]
        hypothesis: Any = self.hypothesis
        arrays["cells"] = hypothesis.cells()
        return {"total": self.total, "spread": self._learned.spread, "measurements": measured}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> DenseSynopsis:
        return cls(domain, provenance, _learned(domain, body, arrays))


@dataclass(frozen=True, eq=False)
class Guarantee(ProvenBound):
    """What [W12] Thm 12.6 says of a run, with its constants.

    Args:
        alpha: the accuracy asked for.
        rounds: T, how many rounds there might have been.
        stopped: whether the run ended because the worst query was measured to be right.
        epsilon: of every choice.
        sensitivity: of a count.
        noise: the laws that queries were measured by.
        total: the law of the measured number of rows; None where it is public.
        rows: that number; at least one, also where there are no rows.
        workload: the queries.
    """

    alpha: float
    rounds: int
    stopped: bool
    epsilon: float
    sensitivity: float
    noise: tuple[Noise, ...]
    total: Noise | None
    rows: float
    workload: Workload
    parts: ClassVar[float] = 3.0

    @property
    def law(self) -> Noise | None:
        """The law of the measured number of rows."""
        return self.total

    def bound(self, confidence: float) -> float:
        """How far off, in rows, any query of the workload may be: all of them at once."""
        beta = (1.0 - confidence) / self.parts
        chosen = selection_off(len(self.workload), self.epsilon, beta / self.rounds, self.sensitivity)
        chosen += 1.0  # scores compare estimates rounded to whole rows
        measured = max(law.half_width(1.0 - beta, numbers=self.rounds) for law in self.noise)
        found = thm_12_6(self.alpha, chosen, measured, rows_off(self.rows, self.total, beta), self.rows)
        # A run that stopped has seen that its worst query is right, whether or not it had to stop.
        return 2.0 * self.alpha * self.rows + chosen + measured if self.stopped else found


@dataclass(frozen=True, eq=False, repr=False)
class GuaranteedSynopsis(BoundedSynopsis, DenseSynopsis):
    """A distribution over all cells whose answers to a workload are within a theorem's bound, all at once."""

    guarantee: Guarantee | None = None
    kind: ClassVar[str] = "guaranteed"
    source: ClassVar[Source] = "measured"

    @property
    def _theorem(self) -> Guarantee:
        assert self.guarantee is not None
        return self.guarantee

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        given = self._theorem
        numbers = [given.alpha, given.rounds, given.stopped, given.epsilon, given.sensitivity]
        laws = [[n.to_json() for n in given.noise], None if given.total is None else given.total.to_json()]
        held = {"numbers": numbers, "laws": laws, "workload": pack_workload(given.workload, arrays)}
        return super()._pack(arrays) | held

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> GuaranteedSynopsis:
        noise = tuple(Noise.from_json(law) for law in body["laws"][0])
        total = None if body["laws"][1] is None else Noise.from_json(body["laws"][1])
        workload = unpack_workload(body["workload"], arrays)
        alpha, rounds, stopped, epsilon, sensitivity = body["numbers"]
        rows = float(body["total"])
        given = Guarantee(alpha, rounds, stopped, epsilon, sensitivity, noise, total, rows, workload)
        return cls(domain, provenance, _learned(domain, body, arrays), given)


def settled(hypothesis: DenseHypothesis) -> DenseHypothesis:
    """The hypothesis as it will be read from a file: what is answered now is what is answered then."""
    return DenseHypothesis.of_cells(hypothesis.domain, hypothesis.cells(), total=hypothesis.total)


def _learned(domain: Domain, body: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learned:
    hypothesis: Any = DenseHypothesis.of_cells(domain, arrays["cells"], total=float(body["total"]))
    measured = tuple(unpack_measurement(m, arrays) for m in body["measurements"])
    return Learned(hypothesis, measured, float(body["spread"]))
