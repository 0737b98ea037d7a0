"""One paper, one file: frozen public parameters, bodies that mirror the algorithm boxes."""
