"""Learned: what a release learned - the hypothesis, what it was fitted to, and how far off it seems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.factored.factored import FactoredHypothesis, Zeros
from hedgerow.learning.factored.resolution import Node, Resolutions
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.moments import BinMoments
from hedgerow.queries.packing import pack_strategy, unpack_strategy
from hedgerow.queries.strategies.coarse import GroupBlock
from hedgerow.queries.strategies.strategy import ResidualStrategy
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.beyond import Beyond
from hedgerow.synopsis.reconciled import Reconciled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a release learned: the hypothesis, what it was fitted to, and how far off it seems.

    Args:
        hypothesis: the fitted model.
        measurements: everything noisy that it was fitted to.
        spread: the variance of an unmeasured cell's error, in units of its count.
        corrected: whether full tables among the measurements pull the model's answers towards them.
        moments: what was measured of numbers within their bins.
        reconciled: measured residuals that tables are read from, if there are any.
        beyond: how far larger tables than those were found to be off, if they were looked at.
    """

    hypothesis: FactoredHypothesis
    measurements: tuple[Measurement, ...]
    spread: float
    corrected: bool = False
    moments: BinMoments | None = None
    reconciled: Reconciled | None = None
    beyond: Beyond | None = None

    def table(self, names: tuple[str, ...]) -> Floats:
        """A table in rows: the model's, or where residuals were measured, as they have it."""
        model, held = self.hypothesis, self.reconciled
        if held is None:
            return model.marginal(names) * model.total
        return held.read(model.domain, names, lambda: model.marginal(names) * model.total)

    def settled(self) -> Learned:
        """The same with a hypothesis as from a file: answers must not depend on how it was fitted."""
        return replace(self, hypothesis=self.hypothesis.restored())

    def pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """As plain data; numbers go into `arrays`."""
        h = self.hypothesis

        def put(array: Any) -> str:
            name = f"a{len(arrays)}"
            arrays[name] = np.asarray(array)
            return name

        own = {} if self.moments is None else {"moments": self.moments.to_json(arrays)}
        return (
            own
            | {
                "total": h.total,
                "cells": h.cells,
                "whole": h.whole,
                "spread": self.spread,
                "corrected": self.corrected,
                "resolutions": [[put(m) for m in chain] for chain in h.resolutions.maps],
                "potentials": [[[list(n) for n in nodes], put(t)] for nodes, t in h.potentials.items()],
                "fixed": [[[list(n) for n in nodes], put(t)] for nodes, t in h.fixed.items()],
                "zeros": [[list(z.attributes), put(z.possible)] for z in h.zeros],
                "measurements": [_pack_measurement(m, put, arrays) for m in self.measurements],
            }
            | ({} if self.reconciled is None else {"reconciled": self.reconciled.pack(arrays)})
            | ({} if self.beyond is None else {"beyond": self.beyond.pack()})
        )

    @classmethod
    def unpack(cls, domain: Domain, body: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Learned:
        """The inverse of `pack`."""

        def tables(items: list[Any]) -> dict[tuple[Node, ...], Floats]:
            return {tuple((int(a), int(r)) for a, r in nodes): arrays[name] for nodes, name in items}

        hypothesis = FactoredHypothesis.restore(
            domain,
            Resolutions(tuple(tuple(arrays[m] for m in chain) for chain in body["resolutions"])),
            tables(body["potentials"]),
            tables(body["fixed"]),
            total=float(body["total"]),
            cells=float(body["cells"]),
            whole=bool(body.get("whole", False)),
            zeros=[Zeros(tuple(names), arrays[name]) for names, name in body["zeros"]],
        )
        measured = tuple(_unpack_measurement(m, arrays) for m in body["measurements"])
        told = body.get("moments")
        moments = None if told is None else BinMoments.from_json(domain, told, arrays)
        held = body.get("reconciled")  # files of earlier versions have none
        reconciled = None if held is None else Reconciled.unpack(domain, measured, held, arrays)
        known = float(body["spread"]), bool(body["corrected"])
        return cls(hypothesis, measured, *known, moments, reconciled, Beyond.unpack(body.get("beyond")))


def _pack_measurement(measurement: Measurement, put: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    groups = None
    attributes = measurement.attributes
    if measurement.workload is not None:
        block = measurement.workload.blocks[0]
        assert isinstance(block, GroupBlock)
        attributes, groups = block.attributes, [put(g) for g in block.groups]
    held = {}
    if isinstance(measurement.strategy, ResidualStrategy):
        held = {"strategy": pack_strategy(measurement.strategy, arrays)}
    return (
        held
        | {
            "attributes": list(attributes),
            "groups": groups,
            "values": put(measurement.values),
            "noise": measurement.noise.to_json(),
            "private": measurement.private,
        }
        | ({"claims": list(measurement.claims)} if measurement.claims else {})
    )


def _unpack_measurement(data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Measurement:
    names, noise = tuple(data["attributes"]), Noise.from_json(data["noise"])
    values, private = arrays[data["values"]], bool(data["private"])
    if "strategy" in data:
        return Measurement((), values, noise, None, private, unpack_strategy(data["strategy"], arrays))
    if data["groups"] is None:
        return Measurement(names, values, noise, None, private, claims=tuple(data.get("claims", ())))
    block = GroupBlock(names, tuple(arrays[g].astype(np.int64) for g in data["groups"]))
    return Measurement((), values, noise, Workload([block], name=" x ".join(names)), private)
