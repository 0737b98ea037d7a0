"""Workloads and measurements as plain data and named arrays, for files that outlive a program."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.block import Axis, Block, ListBlock, ProductBlock
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.query import Query, SparseQuery
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import Residual, ResidualStrategy
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Held = Mapping[str, NDArray[Any]]


def pack_measurement(measurement: Measurement, arrays: Arrays) -> dict[str, Any]:
    """A measurement as plain data; its numbers go into `arrays`."""
    workload = measurement.workload
    return {
        "attributes": list(measurement.attributes),
        "values": _put(measurement.values, arrays),
        "noise": measurement.noise.to_json(),
        "workload": None if workload is None else pack_workload(workload, arrays),
        "private": measurement.private,
    } | ({"claims": list(measurement.claims)} if measurement.claims else {})


def unpack_measurement(data: dict[str, Any], arrays: Held) -> Measurement:
    """The inverse of `pack_measurement`."""
    workload = None if data["workload"] is None else unpack_workload(data["workload"], arrays)
    noise, claims = Noise.from_json(data["noise"]), tuple(data.get("claims", ()))
    names, values = tuple(data["attributes"]), arrays[data["values"]]
    return Measurement(names, values, noise, workload, bool(data["private"]), claims=claims)


def pack_strategy(strategy: ResidualStrategy, arrays: Arrays) -> dict[str, Any]:
    """A strategy of residuals as plain data; scales and weights go into `arrays`."""
    return {
        "axes": [[a, x.levels, x.grading, _put(x.scales, arrays)] for a, x in strategy.axes.items()],
        "residuals": [[list(r.attributes), _put(r.weights, arrays)] for r in strategy.residuals],
    }


def unpack_strategy(data: dict[str, Any], arrays: Held) -> ResidualStrategy:
    """The inverse of `pack_strategy`."""
    axes = {a: Contrasts(int(n), grading, arrays[name]) for a, n, grading, name in data["axes"]}
    parts = (Residual(tuple(s), arrays[name].astype(np.int64)) for s, name in data["residuals"])
    return ResidualStrategy(axes, tuple(parts))


def pack_workload(workload: Workload, arrays: Arrays) -> dict[str, Any]:
    """A workload as plain data; weights of its own go into `arrays`."""
    order = workload._order
    return {
        "name": workload.name,
        "blocks": [_pack_block(b, arrays) for b in workload.blocks],
        "order": None if order is None else _put(order, arrays),
    }


def unpack_workload(data: dict[str, Any], arrays: Held) -> Workload:
    """The inverse of `pack_workload`."""
    order = None if data["order"] is None else arrays[data["order"]]
    return Workload([_unpack_block(b, arrays) for b in data["blocks"]], order=order, name=data["name"])


def pack_questions(questions: Workload | Sequence[SparseQuery]) -> str:
    """What was asked, as one line of text."""
    arrays: Arrays = {}
    if isinstance(questions, Workload):
        data: dict[str, Any] = {"workload": pack_workload(questions, arrays)}
    else:
        data = {"sparse": [[list(q.texts.items()), q.scale, q.offset, q.name] for q in questions]}
    data["shapes"] = [a.shape for a in arrays.values()]
    numbers = b"".join(a.astype("<i4").tobytes() for a in arrays.values())  # weights, places: below 2^31
    text = json.dumps(data, separators=(",", ":"), default=float).encode()
    return base64.b85encode(zlib.compress(len(text).to_bytes(8, "big") + text + numbers, 1)).decode()


def unpack_questions(text: str) -> Workload | list[SparseQuery]:
    """The inverse of `pack_questions`; elements of sparse queries come back as their canonical text."""
    held = zlib.decompress(base64.b85decode(text))
    end = 8 + int.from_bytes(held[:8], "big")
    data, flat = json.loads(held[8:end]), np.frombuffer(held[end:], dtype="<i4").astype(np.int64)
    if "sparse" in data:
        return [SparseQuery(dict(w), scale, offset, name) for w, scale, offset, name in data["sparse"]]
    arrays: Arrays = {}
    at = 0
    for i, shape in enumerate(data["shapes"]):
        size = int(np.prod(shape, dtype=np.int64))
        arrays[f"a{i}"], at = flat[at : at + size].reshape(shape), at + size
    return unpack_workload(data["workload"], arrays)


def _pack_block(block: Block, arrays: Arrays) -> dict[str, Any]:
    if isinstance(block, ProductBlock):
        return {"attributes": list(block.attributes), "axes": [[a.kind, a.levels] for a in block.axes]}
    queries = [_pack_query(block.query(i), arrays) for i in range(len(block))]
    return {"attributes": list(block.attributes), "queries": queries}


def _unpack_block(data: dict[str, Any], arrays: Held) -> Block:
    attributes = tuple(data["attributes"])
    if "axes" in data:
        return ProductBlock(attributes, tuple(Axis(kind, int(levels)) for kind, levels in data["axes"]))
    return ListBlock(attributes, tuple(_unpack_query(attributes, q, arrays) for q in data["queries"]))


def _pack_query(query: Query, arrays: Arrays) -> dict[str, Any]:
    weights = query.factors if query.factors is not None else (query.weights,)
    return {
        "product": query.factors is not None,
        "shape": list(query.shape),
        "weights": [_put(w, arrays) for w in weights],
        "scale": query.scale,
        "offset": query.offset,
        "name": query.name,
    }


def _unpack_query(attributes: tuple[str, ...], data: dict[str, Any], arrays: Held) -> Query:
    weights = tuple(arrays[name].astype(np.int64) for name in data["weights"])
    product = bool(data["product"])
    return Query(
        attributes,
        tuple(data["shape"]),
        factors=weights if product else None,
        dense=None if product else weights[0],
        scale=data["scale"],
        offset=data["offset"],
        name=data["name"],
    )


def _put(array: NDArray[Any], arrays: Arrays) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name
