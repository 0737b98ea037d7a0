"""The loops of rows that are brought to their goals: counting them, and changing one value at a time."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import njit


@njit(cache=True, nogil=True)
def count(rows, places, gaps):
    """Add every row to its cell of every table that rows count in."""
    for i in range(len(rows)):
        x = rows[i]
        for p in places:
            gaps[p[0] + x[p[1]] * p[2] + x[p[3]] * p[4] + x[p[5]] * p[6]] += p[7]


@njit(cache=True, nogil=True)
def move(rows, order, turn, attribute, levels, gaps, view, scores, at):
    """Give every row the level that is best for all tables together, where that is better than its own."""
    starts, own = view[0], view[1]
    first, first_step, second, second_step, counts = view[2], view[3], view[4], view[5], view[6]
    number, aims, moved = len(starts), counts.sum(), 0
    for k in range(len(order)):
        x = rows[order[(k + turn) % len(order)]]
        now, over = x[attribute], 0.0
        for j in range(number):
            at[j] = starts[j] + x[first[j]] * first_step[j] + x[second[j]] * second_step[j]
            over += gaps[at[j] + now * own[j]]
        if over <= 0.5 * aims:
            continue
        scores[:levels] = 0.0
        for j in range(number):
            for v in range(levels):
                scores[v] += gaps[at[j] + v * own[j]]
        best = np.argmin(scores[:levels])
        if over - scores[best] > aims:
            for j in range(number):
                gaps[at[j] + now * own[j]] -= counts[j]
                gaps[at[j] + best * own[j]] += counts[j]
            x[attribute] = best
            moved += 1
    return moved
