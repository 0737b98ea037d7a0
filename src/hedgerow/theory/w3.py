"""[W3] Wang's lecture 3: the bounds of noise, randomised response, histograms and Hedge, in rows."""

from __future__ import annotations

from hedgerow.learning.experts import (
    hedge_regret as thm_1_5,
)
from hedgerow.privacy.bounds.noise import (
    histogram_union as histogram,
)
from hedgerow.privacy.bounds.noise import (
    laplace_union as thm_3_8,
)
from hedgerow.privacy.bounds.noise import (
    response_union as randomized_response,
)
from hedgerow.privacy.bounds.online import (
    above_threshold_alpha as above_threshold,
)

__all__ = [
    "above_threshold",
    "histogram",
    "randomized_response",
    "thm_1_5",
    "thm_3_8",
]
