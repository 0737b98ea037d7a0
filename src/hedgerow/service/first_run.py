"""The first run after an install: loops are compiled then, and whoever waits is told why."""

from __future__ import annotations

import sys

from hedgerow.compiled import before_compiling


def tell_of_compiling() -> None:
    """On a terminal, a line before the first loops are compiled: it takes seconds in which nothing moves."""
    if sys.stderr.isatty():
        before_compiling(_tell)


def _tell() -> None:
    sys.stderr.write("Compiling loops for this machine: some seconds, once after an install ...\n")
    sys.stderr.flush()
