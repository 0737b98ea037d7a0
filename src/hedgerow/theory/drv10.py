"""[DRV10] Dwork, Rothblum and Vadhan, boosting and composition: theorems as functions."""

from __future__ import annotations

from hedgerow.privacy.bounds.boosting import (
    claim_4_4,
    claim_6_3,
    lemma_4_2,
    lemma_5_1,
    thm_3_3,
    thm_4_1,
    thm_4_1_rounds,
    thm_5_2,
    thm_5_2_rows,
    thm_5_3,
    thm_5_3_rows,
    thm_5_4,
    thm_5_4_rows,
    thm_5_5,
    thm_5_5_rows,
    thm_6_1,
    thm_6_1_gamma,
    thm_6_1_rounds,
    thm_6_1_smoothness,
)
from hedgerow.privacy.bounds.composition import (
    lemma_3_2,
    thm_3_1,
    thm_3_3_epsilon,
)

__all__ = [
    "claim_4_4",
    "claim_6_3",
    "lemma_3_2",
    "lemma_4_2",
    "lemma_5_1",
    "thm_3_1",
    "thm_3_3",
    "thm_3_3_epsilon",
    "thm_4_1",
    "thm_4_1_rounds",
    "thm_5_2",
    "thm_5_2_rows",
    "thm_5_3",
    "thm_5_3_rows",
    "thm_5_4",
    "thm_5_4_rows",
    "thm_5_5",
    "thm_5_5_rows",
    "thm_6_1",
    "thm_6_1_gamma",
    "thm_6_1_rounds",
    "thm_6_1_smoothness",
]
