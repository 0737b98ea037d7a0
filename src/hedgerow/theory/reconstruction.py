"""[DN03] Dinur and Nissim: how many answers of which accuracy give rows away, and what epsilon allows."""

from __future__ import annotations

from hedgerow.audit.reconstruction import Hidden, Recovered, reconstruct, recover
from hedgerow.privacy.bounds.reconstruction import (
    all_subsets_wrong,
    answers_needed,
    error_that_hides,
    least_error,
    most_right,
    right_bits,
    unfit,
)

__all__ = [
    "Hidden",
    "Recovered",
    "all_subsets_wrong",
    "answers_needed",
    "error_that_hides",
    "least_error",
    "most_right",
    "reconstruct",
    "recover",
    "right_bits",
    "unfit",
]
