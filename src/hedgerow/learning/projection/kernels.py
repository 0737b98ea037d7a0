"""The loops of a projection: many small tables of one array of cells, and back.

`places[t, x]` is where cell x is summed for table t, among all tables' cells one after another.
"""

from __future__ import annotations

from hedgerow.compiled import njit


@njit(cache=True, nogil=True)
def sum_tables(cells, places, out):
    """Add every cell to its place in every table."""
    for t in range(places.shape[0]):
        for x in range(places.shape[1]):
            out[places[t, x]] += cells[x]


@njit(cache=True, nogil=True)
def spread_tables(tables, places, out):
    """Add to every cell what is in its place in every table."""
    for t in range(places.shape[0]):
        for x in range(places.shape[1]):
            out[x] += tables[places[t, x]]
