"""Layout: where the cells of a table, or of a product of levels, lie in the array of all cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Index = NDArray[np.int64]

TILE = 1 << 16
"""Trailing attributes of at most this many cells form a tile; runs inside a tile are listed once."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The runs of cells behind a table over some attributes, possibly of some of their levels only.

    Run r of tile b begins at `bases[b] + starts[r]` and belongs to table cell `offsets[b] + places[r]`. With
    `rows` the cells of a run belong to consecutive table cells, otherwise all of them to one. A table of
    fewer levels keeps, cell by cell, the order in which the whole table is summed: equal to the last bit.
    """

    shape: tuple[int, ...]
    bases: Index
    offsets: Index
    starts: Index
    places: Index
    lengths: Index
    rows: bool

    @cached_property
    def single(self) -> bool:
        """Whether every run is one cell."""
        return bool((self.lengths == 1).all())

    @cached_property
    def touched(self) -> int:
        """How many cells the runs hold."""
        return len(self.bases) * int(self.lengths.sum())


def layout(shape: Sequence[int], axes: Sequence[int], levels: Sequence[Index | None] | None = None) -> Layout:
    """The layout of the table over `axes` (increasing) of an array of `shape`, restricted to `levels`."""
    chosen: dict[int, Index | None] = dict(zip(axes, levels or [None] * len(axes), strict=True))
    sizes = {a: shape[a] if v is None else len(v) for a, v in chosen.items()}
    strides = [prod(shape[a + 1 :]) for a in range(len(shape))]
    steps = {a: prod(sizes[c] for c in axes if c > a) for a in axes}
    split = len(shape) - 1
    while split > 0 and strides[split - 1] * shape[split - 1] <= TILE:
        split -= 1

    def spread(start: int, stop: int) -> tuple[Index, Index]:
        cells, places = np.zeros(1, np.int64), np.zeros(1, np.int64)
        a = start
        while a < stop:
            last = a
            if a in chosen:
                picked = chosen[a]
                level = np.arange(shape[a]) if picked is None else picked
                places = np.add.outer(places, np.arange(len(level)) * steps[a]).reshape(-1)
            else:  # a stretch of free attributes counts as one
                while last + 1 < stop and last + 1 not in chosen:
                    last += 1
                level = np.arange(prod(shape[a : last + 1]))
                places = np.repeat(places, len(level))
            cells = np.add.outer(cells, level * strides[last]).reshape(-1)
            a = last + 1
        return cells, places

    bases, offsets = spread(0, split)
    rest, begin, place, lengths = _runs(shape, chosen, split)
    starts, places = spread(split, rest)
    return Layout(
        tuple(sizes[a] for a in axes),
        bases,
        offsets,
        np.add.outer(starts, begin).ravel(),
        np.add.outer(places, place).ravel(),
        np.tile(lengths, len(starts)),
        len(shape) - 1 in chosen,
    )


def _runs(
    shape: Sequence[int], chosen: dict[int, Index | None], split: int
) -> tuple[int, Index, Index, Index]:
    """The trailing axes that form contiguous runs: the first of them, and each run's start, place, length."""
    rest, length = len(shape), 1
    zero = np.zeros(1, np.int64)
    rows = rest - 1 in chosen
    while rest > split and (rest - 1 in chosen) == rows and chosen.get(rest - 1) is None:
        rest -= 1
        length *= shape[rest]
    picked = chosen.get(rest - 1) if rest > split and rows else None
    if picked is None:
        return rest, zero, zero, np.array([length], np.int64)
    gaps = np.flatnonzero(picked[1:] != picked[:-1] + 1) + 1  # runs of consecutive levels end there
    first = np.concatenate([zero[: len(picked)], gaps])
    many = np.concatenate([gaps, [len(picked)]])[: len(first)] - first
    return rest - 1, picked[first] * length, first * length, many * length
