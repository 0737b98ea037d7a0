"""Slopes: how the numbers that a statement shows move with the released numbers that they are worked out of.

Post-processing of released numbers. The statement is run in many worlds at once, each with other numbers in
its tables: in one world for each released number that one is moved a little, which gives slopes; in a few
more all are moved at once, about as far as they may be off, which gives what slopes leave out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import HedgerowError
from hedgerow.queries.sql.stages.engine import engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.sql.stages.relation import Released

    Floats = NDArray[np.float64]

DRAWS = 32
"""Worlds in which all numbers are moved at once."""
_ROWS = 200_000  # of the tables of all worlds
_SECONDS = 2.0  # for all of them together: others wait for the engine meanwhile
_LITTLE = 1e-3  # of how far off a number may be: so far it is moved for its slope
_ZERO = 1e-7  # of a shown number's own size: a change that is none
_STAGE = re.compile(r"'(?:[^']|'')*'|\bFROM (s\d+) AS\b")
Tables = Mapping[str, dict[str, tuple[str, list[Any]]]]


@dataclass(frozen=True, eq=False)
class Slopes:
    """How shown numbers move, one row for each: those of the first row of the answer, of the second, ...

    Args:
        base: the numbers themselves; of what jumps or stands still, what it is made of.
        steep: by how much each moves with each released number, one column for each.
        bent: by how much more, at most, they moved when all of those were moved at once.
        known: whether that says how far off it is: nothing was missing in any world.
    """

    base: Floats
    steep: Floats
    bent: Floats
    known: NDArray[np.bool_]


def slopes(
    relation: Released,
    shown: Sequence[int],
    labels: Sequence[tuple[Any, ...]],
    tables: Tables,
    places: Sequence[tuple[str, str, int]],
    off: Floats,
) -> Slopes | None:
    """How some columns of a statement move, if its tables fit; None if it cannot be run in many worlds.

    Args:
        relation: the statement.
        shown: the places of the columns.
        labels: what tells the rows of the answer apart, in their order: the columns that are sure.
        tables: the released tables.
        places: of the released numbers: the table, the column and the row of each.
        off: about how far off each may be, as a standard deviation; not finite where that is not known.
    """
    rows, worlds = _lengths(tables), 1 + len(places) + DRAWS
    x = np.array([np.nan if (v := tables[t][c][1][row]) is None else v for t, c, row in places])
    sure = np.isfinite(off) & ~np.isnan(x)
    step = _LITTLE * np.where(sure & (off > 0), off, np.maximum(np.abs(np.nan_to_num(x)), 1.0))
    moves = np.zeros((worlds, len(places)))
    moves[1 : 1 + len(places)] = np.diag(step)
    moves[1 + len(places) :] = draws(len(places)) * np.where(sure, off, 0.0)
    found = _run(relation, shown, labels, _in_worlds(tables, rows, places, x, moves), worlds)
    if found is None:
        return None
    base, ones, all_ = found[0], found[1 : 1 + len(places)], found[1 + len(places) :]
    with np.errstate(invalid="ignore"):  # one without an end moves from it by no number
        moved = ones - base
    steep = np.where(np.isfinite(moved), moved / step[:, None], 0.0).T
    size = np.maximum(np.abs(base), 1e-300)
    gone = np.isnan(ones) | (np.abs(moved) > _ZERO * size)  # moved, or missing where it was not
    known = np.isfinite(base) & np.isfinite(all_).all(axis=0) & ~gone[~sure].any(axis=0)
    known &= np.isfinite(ones[sure]).all(axis=0)
    with np.errstate(invalid="ignore"):
        bent = np.abs(all_ - base - moves[1 + len(places) :] @ steep.T).max(axis=0)
    return Slopes(base, steep, np.nan_to_num(bent, nan=np.inf), known)


def fits(tables: Tables, places: Sequence[Any]) -> bool:
    """Whether tables are small enough to be held in many worlds."""
    return bool(places) and (1 + len(places) + DRAWS) * max(_lengths(tables).values()) <= _ROWS


def _lengths(tables: Tables) -> dict[str, int]:
    return {name: len(next(iter(columns.values()))[1]) for name, columns in tables.items()}


@cache
def draws(numbers: int) -> Floats:
    """Numbers of the logistic law with variance 1, `DRAWS` for each of some: the same ones whenever asked.

    They are no secret and hide nothing: they only say how far a curve is from its slope. Made by mixing the
    bits of their places (SplitMix64).
    """
    place = np.arange(1, DRAWS * numbers + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        place = (place ^ (place >> np.uint64(shift))) * np.uint64(factor)
    u = ((place ^ (place >> np.uint64(31))) >> np.uint64(11)).astype(np.float64)
    u = (u + 0.5) / 2.0**53
    return np.asarray(np.log(u / (1.0 - u)) * (np.sqrt(3.0) / np.pi)).reshape(DRAWS, numbers)


def _in_worlds(
    tables: Tables, rows: Mapping[str, int], places: Sequence[tuple[str, str, int]], x: Floats, moves: Floats
) -> dict[str, dict[str, tuple[str, list[Any]]]]:
    """The tables of all worlds, one below the other; what is missing is 0 in its own world."""
    worlds = len(moves)
    out: dict[str, dict[str, tuple[str, list[Any]]]] = {}
    for name, columns in tables.items():
        held = {c: v for c, v in columns.items() if not c.endswith(("_low", "_high"))}
        out[name] = {c: (kind, list(v) * worlds) for c, (kind, v) in held.items()}
        out[name]["w"] = ("BIGINT", np.repeat(np.arange(worlds), rows[name]).tolist())
    moved = x + moves
    for k, (table, column, row) in enumerate(places):
        values, many = out[table][column][1], rows[table]
        if np.isnan(x[k]):
            values[(1 + k) * many + row] = 0.0
        else:
            values[row::many] = moved[:, k].tolist()
    return out


def _run(
    relation: Released, shown: Sequence[int], labels: Sequence[tuple[Any, ...]], tables: Any, worlds: int
) -> Floats | None:
    """The shown numbers of every world; None if there are other rows in one, or rows that look the same."""
    sure = [f"c{i}" for i, out in enumerate(relation.columns) if out.sure]
    numbers = [f"c{i}_core" if relation.columns[i].outer else f"c{i}" for i in shown]
    ends = {
        name: "".join(f", {c} AS {c}_low, {c} AS {c}_high" for c in columns if re.fullmatch(r"n\d+", c))
        for name, columns in tables.items()
    }

    def own(found: re.Match[str]) -> str:
        name = found[1]
        return (
            found[0] if name is None else f"FROM (SELECT *{ends[name]} FROM {name} WHERE {name}.w = o.w) AS"
        )

    text = _STAGE.sub(own, relation.text)
    asked = ", ".join((*(f"z.{c}" for c in sure), *(f"try_cast(z.{c} AS DOUBLE)" for c in numbers)))
    try:
        with engine().holding(tables):
            every = f"SELECT o.w, {asked} FROM range({worlds}) AS o(w), LATERAL ({text}) AS z"
            found = engine().run(every, seconds=_SECONDS)
    except HedgerowError:
        return None
    place = {label: i for i, label in enumerate(labels)}
    if len(place) != len(labels) or len(found) != worlds * len(labels):
        return None
    first = 1 + len(sure)
    at = np.array([row[0] * len(labels) + place.get(row[1:first], -worlds * len(labels)) for row in found])
    if at.size and (at.min() < 0 or len(np.unique(at)) != len(at)):
        return None
    out = np.full((worlds * len(labels), len(numbers)), np.nan)
    out[at] = np.array([row[first:] for row in found], dtype=np.float64).reshape(len(found), len(numbers))
    return out.reshape(worlds, -1)
