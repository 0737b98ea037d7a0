"""Synopses that are measurements and nothing else: tables, answers, local reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.curator.noise.local import LocalReports
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.block import ProductBlock
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.queries.query import ONE
from hedgerow.synopsis.sampling import TreeModel
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.block import Block
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.query import Query

_LISTED = 1 << 22  # weights of listed queries that are combined


@dataclass(frozen=True, eq=False, repr=False)
class TablesSynopsis(Synopsis):
    """Noisy contingency tables; a question is answered from the measured tables that contain its attributes.

    Gaussian tables that hold the question are averaged with inverse-variance weights; with Laplace noise
    the one table of least variance answers.
    """

    tables: tuple[Measurement, ...] = ()
    kind: ClassVar[str] = "tables"

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy tables."""
        return self.tables

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its error bound."""
        estimates = self._estimates(attributes)
        value = sum(c * float((t * weights).sum()) for t, _, c, _ in estimates)
        if len(estimates) == 1:
            _, noise, _, copies = estimates[0]
            return float(value), noise.half_width(confidence, np.repeat(weights.ravel(), copies), numbers)
        norm = float(np.sqrt((weights**2).sum()))
        proxies = (c * c * float(noise.scale / noise.denominator) ** 2 * n for _, noise, c, n in estimates)
        law = Noise(
            "gaussian", Fraction(sqrt(sum(proxies)) * norm)
        )  # the sum of Gaussians, on a finer lattice
        return float(value), law.half_width(confidence, (1.0,), numbers) if law.scale else 0.0

    def _estimates(self, attributes: tuple[str, ...]) -> list[tuple[NDArray[np.float64], Noise, float, int]]:
        """Estimated tables of `attributes` with their noise, weight and summed cells, from all that fit."""
        found = []
        for m in self.tables:
            if set(attributes) <= set(m.attributes):
                kept = [m.attributes.index(a) for a in attributes]
                out = tuple(i for i in range(len(m.attributes)) if i not in kept)
                copies = prod(m.counts.shape[i] for i in out)
                left = [m.attributes[i] for i in range(len(m.attributes)) if i not in out]
                table = np.asarray(m.counts.sum(axis=out)).transpose([left.index(a) for a in attributes])
                found.append((table, m.noise, copies))
        if not found:
            held = "; ".join(" x ".join(m.attributes) for m in self.tables[:6])
            raise UnsupportedQuery(f"no released table holds {' x '.join(attributes)}; there is {held} ...")
        if any(noise.family != "gaussian" for _, noise, _ in found):
            table, noise, copies = min(found, key=lambda f: f[1].variance * f[2])
            return [(table, noise, 1.0, copies)]
        precision = np.array([1.0 / (noise.variance * copies) for _, noise, copies in found])
        shares = precision / precision.sum()
        return [(t, noise, float(c), copies) for (t, noise, copies), c in zip(found, shares, strict=True)]

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        return np.asarray(sum(c * t for t, _, c, _ in self._estimates(names)))

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows, drawn along the tree of the strongest measured pairs [CL68]."""
        number = self._how_many(rows, seed)
        codes = TreeModel.of(self.domain, {m.attributes for m in self.tables}, self._table).sample(
            number, seed
        )
        return self._spread(codes, seed)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {"tables": [pack_measurement(m, arrays) for m in self.tables]}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> TablesSynopsis:
        return cls(domain, provenance, tuple(unpack_measurement(m, arrays) for m in body["tables"]))


@dataclass(frozen=True, eq=False, repr=False)
class AnswersSynopsis(Synopsis):
    """Noisy answers to a fixed list of queries, and whatever follows from those about one table.

    A query of the list has the answer that was measured. Anything else is the combination of measured answers
    of least variance, which is least squares: from runs of levels, say, all counts of levels follow.
    """

    answers: Measurement | None = None
    kind: ClassVar[str] = "answers"

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy answers."""
        return (self._measured,)

    @property
    def _measured(self) -> Measurement:
        assert self.answers is not None
        return self.answers

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        workload = self._measured.workload
        assert workload is not None
        places = self.__dict__.setdefault("_places", {})
        if not places:
            places.update({q.digest: i for i, q in enumerate(workload)})
        if query.digest not in places:
            return super()._query(query, confidence, numbers)
        value = self._measured.counts[places[query.digest]]
        error = self._measured.noise.half_width(confidence, (1.0,), numbers)
        return float(query.to_unit(value)), abs(query.scale) * error

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count from the answers about one table, and its error bound."""
        workload = self._measured.workload
        assert workload is not None
        found = []
        for block, answers in zip(workload.blocks, self._apart, strict=True):
            if set(attributes) <= set(block.attributes):
                shape = self.domain.shape_of(block.attributes)
                kept = [n if a in attributes else 1 for a, n in zip(block.attributes, shape, strict=True)]
                order = [attributes.index(a) for a in block.attributes if a in attributes]
                asked = np.asarray(weights, dtype=np.float64).transpose(order).reshape(kept)
                mix = combination(block, np.broadcast_to(asked, shape))
                if mix is not None:
                    found.append((float(mix @ mix), float(mix @ answers), mix))
        if not found:
            raise UnsupportedQuery("this does not follow from the answers that this synopsis holds")
        _, value, mix = min(found, key=lambda f: f[0])
        return value, self._measured.noise.half_width(confidence, mix, numbers)

    @property
    def _apart(self) -> list[NDArray[np.float64]]:
        """The answers block by block."""
        workload, flat = self._measured.workload, self._measured.counts.reshape(-1).copy()
        assert workload is not None
        if workload._order is not None:
            flat[workload._order] = self._measured.counts
        return np.split(flat, workload._starts[1:-1])

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {"answers": pack_measurement(self._measured, arrays)}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> AnswersSynopsis:
        return cls(domain, provenance, unpack_measurement(body["answers"], arrays))


@lru_cache(maxsize=4)
def _inverse(block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights of listed queries, and what takes wished weights to coefficients."""
    matrix = np.stack([block.query(i).weights.reshape(-1) / ONE for i in range(len(block))])
    return matrix, np.asarray(np.linalg.pinv(matrix.T, rcond=1e-12), dtype=np.float64)


def combination(block: Block, weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The smallest coefficients c with c'A = weights, where A are a block's questions; None if none are.

    That is A (A'A)^-1 weights, and for questions of one attribute (A'A)^-1 is a few differences: runs of
    levels and prefixes are the covariances of a random walk, tied down at both ends or at one.
    """
    if not isinstance(block, ProductBlock):
        if len(block) * weights.size > _LISTED:
            return None
        matrix, inverse = _inverse(block)
        mix = inverse @ weights.reshape(-1)
        return mix if np.allclose(mix @ matrix, weights.reshape(-1), rtol=0.0, atol=1e-9) else None
    for i, axis in enumerate(block.axes):
        w, n = np.moveaxis(weights, i, -1), axis.levels
        if axis.kind == "literals" and n > 2:
            w = (w - (n - 2) / (2 + n * (n - 2)) * w.sum(axis=-1, keepdims=True)) / 2.0
        elif axis.kind in ("prefixes", "ranges"):
            first = w[..., :1] if axis.kind == "prefixes" else 0.0 * w[..., :1]
            w = -np.diff(np.concatenate([first, w, 0.0 * first], axis=-1), 2)
            w = w if axis.kind == "prefixes" else w / (n + 1)
        weights = np.moveaxis(w, -1, i)
    mix = block.apply(weights)
    return np.where(np.abs(mix) > 1e-12 * np.abs(mix).max(initial=0.0), mix, 0.0)  # sums of differences


@dataclass(frozen=True, eq=False, repr=False)
class LocalSynopsis(Synopsis):
    """Randomised records; linear questions are answered by the unbiased estimator."""

    reports: LocalReports | None = None
    kind: ClassVar[str] = "local"

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """An unbiased weighted count and Hoeffding's bound."""
        assert self.reports is not None
        return self.reports.estimate(attributes, weights, 1.0 - (1.0 - confidence) / numbers)

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        assert self.reports is not None
        return self.reports.table(names)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        assert self.reports is not None
        arrays["reports"] = self.reports.codes
        r = self.reports
        return {"epsilon": str(r.epsilon), "max_rows": r.max_rows, "by": r.by}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> LocalSynopsis:
        plan = LocalReports.plan(domain, Fraction(body["epsilon"]), int(body["max_rows"]), body["by"])
        return cls(domain, provenance, plan.filled(arrays["reports"]))
