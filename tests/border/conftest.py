"""The neighbour property through the real reader: what one unit's cells do to everybody's tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows

KEY = bytes(range(32))


@dataclass(frozen=True)
class Movement:
    """How far exact counts move when a unit is added: the largest L1 over all tables, and the largest fall.

    `refused` is the sentence at opening, where there is one; then nothing moves. `counts` are those with the
    unit.
    """

    l1: int = 0
    fall: int = 0
    refused: str | None = None
    counts: dict[Any, Any] = field(default_factory=dict)


def counts(source: Any, domain: Any, **options: Any) -> dict[Any, Any] | str:
    """Every exact table (or all names) of a source, or the sentence with which it is refused when opened."""
    try:
        table = hr.Table.open(source, domain, **options)
    except hr.HedgerowError as refused:
        return str(refused)
    rows = Rows(table, KEY)  # from here on nothing may fail
    if isinstance(domain, hr.OpenDomain):
        return dict(zip(*map(list, rows.all_names()), strict=True))
    cliques = [c for k in range(len(domain) + 1) for c in combinations(domain.names, k)]
    return dict(rows.tables(cliques))


def move(with_unit: Any, without_unit: Any, domain: Any, **options: Any) -> Movement:
    """What adding one unit does; a source that is refused with the unit moves nothing.

    Args:
        with_unit, without_unit: the same rows with and without those of one unit.
        domain, options: as in `Table.open`.
    """
    after, before = counts(with_unit, domain, **options), counts(without_unit, domain, **options)
    if isinstance(after, str):
        return Movement(refused=after)
    assert not isinstance(before, str), f"only without the unit: {before}"
    if isinstance(domain, hr.OpenDomain):
        changes = [np.array([after.get(name, 0) - before.get(name, 0) for name in {*after, *before}])]
    else:
        changes = [after[clique] - before[clique] for clique in before]
    largest = max(int(np.abs(change).sum()) for change in changes)
    return Movement(largest, max(int(-change.min(initial=0)) for change in changes), None, after)


@pytest.fixture(scope="session")
def movement() -> Callable[..., Movement]:
    """`movement(with_unit, without_unit, domain, **options)`: see `move`."""
    return move


@pytest.fixture(scope="session")
def exact() -> Callable[..., Any]:
    """`exact(source, domain, **options)`: every exact table, or the sentence of a refusal."""
    return counts
