"""A small search over neighbours: the patterns that known mistakes fall to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hedgerow.audit.rehearsal import NamesWorld, World
from hedgerow.queries.domain.domain import Domain, OpenDomain

Pair = tuple[list[int], list[int]]
Change = tuple[list[tuple[int]], list[tuple[int]]]
Names = tuple[NamesWorld, NamesWorld]

DOMAIN = Domain({"a": 3, "b": 2})
TRIO = Domain({"a": 3, "b": 2, "c": 2})


def neighbouring_answers(queries: int, *, step: int = 1, levels: Sequence[int] = (0,)) -> list[Pair]:
    """Exact answers to a stream of questions on neighbouring data sets, each moved by at most `step`.

    All shifted together; all but the last together and the last against them; the first half up and the rest
    down (the patterns that break sparse vectors); only one question; every third against the others; each
    around several levels.

    >>> neighbouring_answers(3)[1]
    ([0, 0, 1], [1, 1, 0])
    """
    k, pairs = queries, []
    for base in levels:
        flat = [base] * k
        up = base + step
        half = k // 2
        pairs += [
            (flat, [up] * k),
            ([base] * (k - 1) + [up], [up] * (k - 1) + [base]),
            (flat, [up] * half + [base - step] * (k - half)),
            ([up] * half + [base] * (k - half), [base] * half + [up] * (k - half)),
            (flat, [up] + [base] * (k - 1)),
            ([up if i % 3 == 2 else base for i in range(k)], [base if i % 3 == 2 else up for i in range(k)]),
        ]
    return pairs


def neighbouring_tables(
    relation: Literal["add_remove", "replace"], max_rows: int = 1
) -> list[tuple[World, World]]:
    """Small tables that differ in one unit: a row more, a row less, the first row, a swap, a whole person.

    With `max_rows` above 1 rows belong to people, the changed person has as many rows as count, all in one
    cell, or ten times that many (one big change, of which bounding must leave `max_rows`).
    """
    crowd = [(0, 0), (1, 1), (2, 0), (1, 1)]
    k = max_rows
    here, there = (0, 0), (2, 1)

    def world(changed: Sequence[tuple[int, int]]) -> World:
        return World.of(DOMAIN, crowd, changed, relation, max_rows)

    if relation == "add_remove":
        pairs = [(world([]), world([here] * k)), (world([there] * k), world([]))]
        empty = World.of(DOMAIN, [], [], relation, max_rows)
        pairs.append((empty, World.of(DOMAIN, [], [here] * k, relation, max_rows)))
        if k > 1:
            pairs.append((world([]), world([here] * 10 * k)))
        return pairs
    pairs = [(world([here] * k), world([there] * k)), (world([here] * k), world([(0, 1)] * k))]
    if k > 1:
        pairs += [(world([here] * 10 * k), world([there] * 10 * k)), (world([here]), world([there] * k))]
    return pairs


def neighbouring_trios(
    relation: Literal["add_remove", "replace"], max_rows: int = 1
) -> list[tuple[World, World]]:
    """Tables of three attributes that differ in one unit, with enough rows for an adaptive mechanism to act.

    Two of the attributes hang together, so that there is something to choose; the changed person is in a cell
    that is empty otherwise, or moves rows between the likeliest choices.
    """
    crowd = [(i % 3, int(i % 3 == 0), (i // 3) % 2) for i in range(45)]
    k, odd, even = max_rows, (2, 1, 1), (0, 0, 0)

    def world(changed: Sequence[tuple[int, int, int]]) -> World:
        return World.of(TRIO, crowd, changed, relation, max_rows)

    if relation == "add_remove":
        return [(world([]), world([odd] * k)), (world([]), world([even] * k))]
    return [(world([odd] * k), world([even] * k)), (world([(0, 1, 0)] * k), world([odd] * k))]


def neighbouring_levels(relation: Literal["add_remove", "replace"]) -> list[tuple[World, World]]:
    """Tables of one attribute with three levels, that differ in one row."""
    domain, crowd = Domain({"a": 3}), [(0,), (0,), (1,)]
    added: list[Change] = [([], [(0,)]), ([], [(2,)])]
    changes: list[Change] = added if relation == "add_remove" else [([(0,)], [(1,)])]
    return [
        (World.of(domain, crowd, before, relation, 1), World.of(domain, crowd, after, relation, 1))
        for before, after in changes
    ]


def neighbouring_names(relation: Literal["add_remove", "replace"], max_rows: int = 1) -> list[Names]:
    """Small tables of names that differ in one unit: a name more, a name swapped, a whole person's names."""
    crowd, k = [("oak",), ("ash",), ("oak",)], max_rows

    def world(*changed: str) -> NamesWorld:
        return NamesWorld.of(OpenDomain(), crowd, [(name,) for name in changed], relation, max_rows)

    if relation == "add_remove":
        many = 5 * k if k > 1 else 1
        return [(world(), world(*["oak"] * k)), (world(), world(*["yew"] * many))]
    return [(world(*["oak"] * k), world(*["yew"] * k)), (world(*["elm"] * k), world(*["ash"] * k))]
