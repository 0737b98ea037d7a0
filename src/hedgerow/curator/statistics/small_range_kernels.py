"""The loop over all small databases: how much of the range has each utility, without storing any of it.

A small database is a multiset of `size` places. Places that no query tells apart are one type; a multiset
of types weighs as much as the number of multisets of places that it stands for. Weights are whole numbers of
any length: they are kept modulo 2^64 (integers wrap around by themselves) and modulo as many primes below
2^31 as their length needs, and put together afterwards by the Chinese remainder theorem.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def count_levels(ranks, member, counted, starts, chosen, size, tables, residues, primes, counts, more):
    """Add the weight of every multiset that begins with `chosen` to its level's count.

    Multisets are visited as ascending sequences of types. A query f that counts s of the places has rank
    `ranks[f, s]`; a multiset's level is its largest rank. For the prefix of length d, `held[d]` says how many
    places each query counts, `low[d]` and `high[d]` which rank it has now and after one more.

    Args:
        ranks: per query and number of counted places (one column more than can be reached).
        member: 0/1, a row per type, a column per query.
        counted, starts: the same as lists: type e is in the queries counted[starts[e]:starts[e + 1]].
        chosen: the types of the prefix, ascending; shorter than `size`.
        size: places in a multiset.
        tables: per type and times it is there, how many multisets of its places; modulo 2^64.
        residues: the same modulo each prime.
        primes: odd primes below 2^31.
        counts: per level, modulo 2^64; added to.
        more: per level and prime; added to.
    """
    types, queries = member.shape
    held = np.zeros((size + 1, queries), dtype=ranks.dtype)
    low = np.zeros((size + 1, queries), dtype=ranks.dtype)
    high = np.zeros((size + 1, queries), dtype=ranks.dtype)
    path = np.zeros(size + 1, dtype=np.int64)  # the last type of each prefix, and how often it is there
    run = np.zeros(size + 1, dtype=np.int64)
    weight = np.ones(size + 1, dtype=np.uint64)  # of all types before the last one
    rest = np.ones((size + 1, len(primes)), dtype=np.int64)
    low[0], high[0] = ranks[:, 0], ranks[:, 1]
    plain = len(primes) == 0 and tables.max() == 1
    after = np.zeros(size + 1, dtype=np.int64)  # the type to try next
    base, d = len(chosen), 0
    while True:
        if d < base:
            e = chosen[d]
            after[d] = types
        elif d == size - 1:
            now, then = low[d], high[d]
            for e in range(after[d], types):
                level = then[0] if member[e, 0] != 0 else now[0]
                for f in range(queries):  # both are read, then one is taken: this loop runs in vectors
                    one, two = now[f], then[f]
                    level = max(level, two if member[e, f] != 0 else one)
                if plain:
                    counts[level] += np.uint64(1)
                else:
                    _weigh(tables, residues, primes, path, run, weight, rest, d, e, level, counts, more)
            after[d] = types
            e = types
        else:
            e = after[d]
        if e == types:
            d -= 1
            if d < base:
                return
            continue
        if d >= base:
            after[d] = e + 1
        for f in range(queries):  # one array at a time: vectors again
            one, two = low[d, f], high[d, f]
            low[d + 1, f] = two if member[e, f] != 0 else one
        for f in range(queries):
            high[d + 1, f] = high[d, f]
        for f in range(queries):
            held[d + 1, f] = held[d, f]
        for i in range(starts[e], starts[e + 1]):
            f = counted[i]
            s = held[d, f] + 1
            held[d + 1, f] = s
            high[d + 1, f] = ranks[f, s + 1]
        if not plain:
            _extend(tables, residues, primes, path, run, weight, rest, d, e)
        d += 1
        after[d] = e


@njit(cache=True, nogil=True)
def _extend(tables, residues, primes, path, run, weight, rest, d, e):
    """The weight of a prefix with one more type e: a type that is complete is multiplied in."""
    again = d > 0 and path[d] == e
    path[d + 1], run[d + 1] = e, run[d] + 1 if again else 1
    done = d > 0 and not again
    weight[d + 1] = weight[d] * tables[path[d], run[d]] if done else weight[d]
    for j in range(len(primes)):
        rest[d + 1, j] = rest[d, j] * residues[path[d], run[d], j] % primes[j] if done else rest[d, j]


@njit(cache=True, nogil=True)
def _weigh(tables, residues, primes, path, run, weight, rest, d, e, level, counts, more):
    """Count a multiset whose last type is e."""
    again = d > 0 and path[d] == e
    times = run[d] + 1 if again else 1
    done = d > 0 and not again
    counts[level] += (weight[d] * tables[path[d], run[d]] if done else weight[d]) * tables[e, times]
    for j in range(len(primes)):
        w = rest[d, j] * residues[path[d], run[d], j] % primes[j] if done else rest[d, j]
        more[level, j] = (more[level, j] + w * residues[e, times, j]) % primes[j]


def primes_for(bits: int) -> NDArray[np.int64]:
    """Primes below 2^31 whose product with 2^64 has more than `bits` bits."""
    found: list[int] = []
    p = (1 << 31) - 1
    while 64 + 30 * len(found) <= bits:
        if all(p % q for q in range(3, 46342, 2)):
            found.append(p)
        p -= 2
    return np.array(found, dtype=np.int64)


def multiset_numbers(
    places: list[int], size: int, primes: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """C(n + c - 1, c) for every type's n places and every c up to `size`, modulo 2^64 and the primes."""
    exact = [[comb(n + c - 1, c) for c in range(size + 1)] for n in places]
    wrapped = np.array([[v % 2**64 for v in row] for row in exact], dtype=np.uint64)
    shape = (len(places), size + 1, len(primes))
    rest = [[[v % int(p) for p in primes] for v in row] for row in exact]
    return wrapped, np.array(rest, dtype=np.int64).reshape(shape)


def put_together(
    wrapped: NDArray[np.uint64], rest: NDArray[np.int64], primes: NDArray[np.int64]
) -> list[int]:
    """The whole numbers behind residues, by the Chinese remainder theorem."""
    values, modulus = [int(v) for v in wrapped], 1 << 64
    for j, p in enumerate(primes.tolist()):
        inverse = pow(modulus, -1, p)
        values = [v + modulus * ((int(r) - v) * inverse % p) for v, r in zip(values, rest[:, j], strict=True)]
        modulus *= p
    return values
