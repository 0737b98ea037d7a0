"""The compiled loops of `encoding`, in a module of their own so that the room imports without a compiler."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

import numpy as np

from hedgerow.compiled import njit


@njit(cache=True, nogil=True)
def shift(values, lowest, size, outside, out):
    """Codes of consecutive integer levels."""
    for i in range(len(values)):
        code = np.int64(values[i]) - lowest
        out[i] = code if 0 <= code < size else outside


@njit(cache=True, nogil=True)
def digitize_into(values, edges, nan_code, low_code, high_code, out):
    """Codes of half-open bins, by bisection."""
    last = len(edges) - 1
    for i in range(len(values)):
        v = values[i]
        if np.isnan(v):
            out[i] = nan_code
        elif v < edges[0]:
            out[i] = low_code
        elif v >= edges[last]:
            out[i] = last - 1 if v == edges[last] else high_code
        else:
            lo, hi = 0, last
            while hi - lo > 1:
                mid = (lo + hi) // 2
                if v >= edges[mid]:
                    lo = mid
                else:
                    hi = mid
            out[i] = lo
