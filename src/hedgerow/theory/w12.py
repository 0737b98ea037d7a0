"""[W12] Wang's lecture 12: the bounds of experts and of offline private multiplicative weights."""

from __future__ import annotations

from hedgerow.learning.experts import (
    linear_rate as thm_12_4_rate,
)
from hedgerow.learning.experts import (
    linear_regret as thm_12_4,
)
from hedgerow.learning.experts import (
    perfect_expert_mistakes as lemma_12_1,
)
from hedgerow.learning.experts import (
    weighted_majority_mistakes as lemma_12_2,
)
from hedgerow.privacy.bounds.offline import (
    cor_12_5,
    thm_12_6,
    thm_12_6_alpha,
    thm_12_6_rows,
)

__all__ = [
    "cor_12_5",
    "lemma_12_1",
    "lemma_12_2",
    "thm_12_4",
    "thm_12_4_rate",
    "thm_12_6",
    "thm_12_6_alpha",
    "thm_12_6_rows",
]
