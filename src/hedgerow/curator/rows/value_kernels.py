"""The compiled loop of `values`, in a module of its own so that the room imports without a compiler."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

from hedgerow.compiled import njit


@njit(cache=True, nogil=True)
def add_weights(out, cells, weights):
    """Add whole weights to their cells."""
    for i in range(len(cells)):
        out[cells[i]] += weights[i]
