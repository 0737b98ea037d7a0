"""The loops over a hypothesis's weights. A negative weight is a deep one (see `weights`): it counts as zero.

A layout lists the cells of a table as runs: run r of tile b begins at `bases[b] + starts[r]` and belongs to
the table's cell `offsets[b] + places[r]`. In a *block* all cells of a run share one table cell; in a *row*
consecutive cells belong to consecutive table cells. Loops that change weights return the sum of what they
touched, before and after.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from hedgerow.compiled import njit
from hedgerow.queries.query import ONE

_FAST = {"reassoc", "nnan", "nsz", "contract"}  # sums may be vectorised; there is no NaN to respect


@njit(cache=True, nogil=True, fastmath=_FAST)
def sum_blocks(w, bases, offsets, starts, places, length, out):
    for b in range(len(bases)):
        for r in range(len(starts)):
            first = bases[b] + starts[r]
            run = w[first : first + length]
            total = 0.0
            for k in range(length):
                total += run[k] if run[k] > 0.0 else 0.0
            out[offsets[b] + places[r]] += total


@njit(cache=True, nogil=True)
def sum_short_blocks(w, bases, offsets, starts, places, length, out):
    """`sum_blocks` for runs too short for the vectorised loop: four sums at a time."""
    for b in range(len(bases)):
        for r in range(len(starts)):
            first = bases[b] + starts[r]
            run = w[first : first + length]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            k = 0
            while k + 4 <= length:
                s0 += run[k] if run[k] > 0.0 else 0.0
                s1 += run[k + 1] if run[k + 1] > 0.0 else 0.0
                s2 += run[k + 2] if run[k + 2] > 0.0 else 0.0
                s3 += run[k + 3] if run[k + 3] > 0.0 else 0.0
                k += 4
            while k < length:
                s0 += run[k] if run[k] > 0.0 else 0.0
                k += 1
            out[offsets[b] + places[r]] += (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True, fastmath=_FAST)
def sum_rows(w, bases, offsets, starts, places, lengths, out):
    for b in range(len(bases)):
        for r in range(len(starts)):
            first, place, n = bases[b] + starts[r], offsets[b] + places[r], lengths[r]
            run, cells = w[first : first + n], out[place : place + n]
            for k in range(n):
                cells[k] += run[k] if run[k] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def sum_singles(w, bases, offsets, starts, places, out):
    """Rows of one cell each: added in the same order as `sum_rows` does, but in a register."""
    for b in range(len(bases)):
        cells, at, total = w[bases[b] :], -1, 0.0
        for r in range(len(starts)):
            place = offsets[b] + places[r]
            if place != at:
                if at >= 0:
                    out[at] = total
                at, total = place, out[place]
            v = cells[starts[r]]
            total += v if v > 0.0 else 0.0
        if at >= 0:
            out[at] = total


@njit(cache=True, nogil=True)
def dot(table, weights):
    """Sum of weight * cell, one after the other: the same bits wherever the arrays lie."""
    total = 0.0
    for k in range(len(table)):
        total += table[k] * weights[k]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def multiply_runs(w, bases, starts, lengths, factor):
    """`scale_runs` for when the sum is already known."""
    for b in range(len(bases)):
        for r in range(len(starts)):
            first, n = bases[b] + starts[r], lengths[r]
            run = w[first : first + n]
            for k in range(n):
                run[k] *= factor


@njit(cache=True, nogil=True, fastmath=_FAST)
def multiply_singles(w, bases, starts, factor):
    for b in range(len(bases)):
        cells = w[bases[b] :]
        for r in range(len(starts)):
            cells[starts[r]] *= factor


@njit(cache=True, nogil=True, fastmath=_FAST)
def scale_runs(w, bases, starts, lengths, factor):
    before, after = 0.0, 0.0
    for b in range(len(bases)):
        old, new = 0.0, 0.0
        for r in range(len(starts)):
            first, n = bases[b] + starts[r], lengths[r]
            run = w[first : first + n]
            for k in range(n):
                v = run[k]
                u = v * factor
                run[k] = u
                old += v if v > 0.0 else 0.0
                new += u if u > 0.0 else 0.0
        before += old
        after += new
    return before, after


@njit(cache=True, nogil=True, fastmath=_FAST)
def scale_blocks(w, bases, offsets, starts, places, length, factors):
    before, after = 0.0, 0.0
    one = w.dtype.type(1.0)
    for b in range(len(bases)):
        old, new = 0.0, 0.0
        for r in range(len(starts)):
            factor = factors[offsets[b] + places[r]]
            if factor == one:
                continue
            first = bases[b] + starts[r]
            run = w[first : first + length]
            for k in range(length):
                v = run[k]
                u = v * factor
                run[k] = u
                old += v if v > 0.0 else 0.0
                new += u if u > 0.0 else 0.0
        before += old
        after += new
    return before, after


@njit(cache=True, nogil=True, fastmath=_FAST)
def scale_rows(w, bases, offsets, starts, places, lengths, factors):
    before, after = 0.0, 0.0
    for b in range(len(bases)):
        old, new = 0.0, 0.0
        for r in range(len(starts)):
            first, place, n = bases[b] + starts[r], offsets[b] + places[r], lengths[r]
            run, cells = w[first : first + n], factors[place : place + n]
            for k in range(n):
                v = run[k]
                u = v * cells[k]
                run[k] = u
                old += v if v > 0.0 else 0.0
                new += u if u > 0.0 else 0.0
        before += old
        after += new
    return before, after


@njit(cache=True, nogil=True, fastmath=_FAST)
def dot_cells(w, weights):
    """Sum of weight * w over all cells, weights in units of 1/ONE."""
    total = 0.0
    for lo in range(0, len(w), 1 << 14):
        part, cells = w[lo : lo + (1 << 14)], weights[lo : lo + (1 << 14)]
        value = 0.0
        for k in range(len(part)):
            value += (part[k] if part[k] > 0.0 else 0.0) * np.float64(cells[k])
        total += value
    return total / ONE


@njit(cache=True, nogil=True, fastmath=_FAST)
def tilt_cells(w, weights, step):
    """w *= exp(step * weight) over all cells; stretches where every weight is 0 or 1 take no exponentials."""
    before, after = 0.0, 0.0
    kind = w.dtype.type
    whole, one = kind(exp(step)), kind(1.0)
    for lo in range(0, len(w), 1 << 12):
        part, cells = w[lo : lo + (1 << 12)], weights[lo : lo + (1 << 12)]
        bits = np.int64(0)
        for k in range(len(part)):
            bits |= cells[k] & (ONE - 1)
        old, new = 0.0, 0.0
        for k in range(len(part)):
            v = part[k]
            factor = kind(exp(step * (cells[k] / ONE))) if bits else whole if cells[k] else one
            u = v * factor
            part[k] = u
            old += v if v > 0.0 else 0.0
            new += u if u > 0.0 else 0.0
        before += old
        after += new
    return before, after


@njit(cache=True, nogil=True, fastmath=_FAST)
def dot_places(w, places, weights):
    """Sum of weight * w over the listed cells."""
    total = 0.0
    for k in range(len(places)):
        v = w[places[k]]
        total += (v if v > 0.0 else 0.0) * weights[k]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def tilt_places(w, places, weights, step):
    """w *= exp(step * weight) over the listed cells."""
    before, after = 0.0, 0.0
    whole = exp(step)
    for k in range(len(places)):
        v = w[places[k]]
        u = v * (whole if weights[k] == 1.0 else exp(step * weights[k]))
        w[places[k]] = u
        before += v if v > 0.0 else 0.0
        after += u if u > 0.0 else 0.0
    return before, after


@njit(cache=True, nogil=True, fastmath=_FAST)
def has_deeper(w, floor):
    """Whether some deep weight is below `floor`, so that one bit no longer says how deep it is."""
    found = False
    for lo in range(0, len(w), 1 << 14):
        part = w[lo : lo + (1 << 14)]
        for k in range(len(part)):
            found |= (part[k] < 0.0) & (-part[k] < floor)
        if found:
            return True
    return False


@njit(cache=True, nogil=True)
def settle(w, depth, shift, half):
    """Multiply all weights by 2^shift, bring their sizes back to [2^-half, 2^half], and return their sum.

    A weight of level L stands for |w| * 2^(-2 half L); level 0 is positive, others are negative and hold
    L - 1 in `depth` (an empty array while no level passes 1). All factors are powers of two: no rounding.
    """
    up, low, high = 2.0 ** (2 * half), 2.0**-half, 2.0**half
    down, moved = 2.0 ** (-2 * half), 2.0**shift
    total, part = 0.0, 0.0
    for i in range(len(w)):
        if i & 4095 == 0:
            total += part
            part = 0.0
        v = np.float64(w[i])
        size = abs(v) * moved
        if v > 0.0 and size >= low:
            w[i] = size
            part += size
        elif v != 0.0:
            level = 0 if v > 0.0 else 1 + (np.int64(depth[i]) if len(depth) else 0)
            while size < low:
                size *= up
                level += 1
            while size > high and level > 0:
                size *= down
                level -= 1
            w[i] = size if level == 0 else -size
            if len(depth):
                depth[i] = max(level - 1, 0)
            part += size if level == 0 else 0.0
    return total + part


@njit(cache=True, nogil=True)
def systematic(w, scale, start, out):
    """Cells hit by the points start, start + 1, ... on the line where a cell is w * scale long."""
    reached, point, last = 0.0, start, 0
    k = 0
    for lo in range(0, len(w), 1 << 12):
        part = w[lo : lo + (1 << 12)]
        inside = 0.0  # sums of stretches, so that the error does not grow with the number of cells
        for j in range(len(part)):
            if part[j] > 0.0:
                inside += part[j] * scale
                last = lo + j
                while k < len(out) and point < reached + inside:
                    out[k] = last
                    k += 1
                    point = start + k
        reached += inside
    while k < len(out):  # the line fell short of the last points by rounding
        out[k] = last
        k += 1


@njit(cache=True, nogil=True)
def wright_omega(u):
    """The solution x > 0 of x + log(x) = u, to double precision, for any finite u."""
    if u < -30.0:
        return exp(u)  # x is below 1e-13: the linear term is lost in rounding
    x = exp(u) / (1.0 + exp(u)) if u < 1.0 else u - log(u)
    for _ in range(8):  # Newton in log(x): f(t) = exp(t) + t - u, convex and increasing
        change = (u - x - log(x)) / (1.0 + x)
        x *= exp(change)
        if abs(change) < 1e-15:
            break
    return x


@njit(cache=True, nogil=True)
def proximal(m, y, precision, multiplier, x):
    """Per cell the x with log(x/m) = precision (y - x) + multiplier; returns its sum and that sum's slope."""
    total, slope = 0.0, 0.0
    for i in range(len(m)):
        if m[i] > 0.0:
            omega = wright_omega(log(precision * m[i]) + precision * y[i] + multiplier)
            x[i] = omega / precision
            total += x[i]
            slope += x[i] / (1.0 + omega)
        else:
            x[i] = 0.0
    return total, slope
