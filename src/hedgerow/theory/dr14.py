"""[DR14] Dwork and Roth, chapter 4 and what it stands on: theorems as functions, fractions of the rows."""

from __future__ import annotations

from hedgerow.learning.experts import (
    update_bound as thm_4_10,
)
from hedgerow.privacy.bounds.offline import (
    prop_4_4,
    prop_4_4_best,
    sauer_shelah,
    thm_4_5,
    thm_4_5_queries,
    thm_4_5_rows,
    thm_4_6,
    thm_4_8,
    thm_4_9,
    thm_4_9_rows,
)
from hedgerow.privacy.bounds.offline import (
    selection_off as thm_3_11,
)
from hedgerow.privacy.bounds.offline import (
    small_db_size as lemma_4_3,
)
from hedgerow.privacy.bounds.online import (
    above_threshold_alpha as thm_3_24,
)
from hedgerow.privacy.bounds.online import (
    above_threshold_queries as thm_3_24_queries,
)
from hedgerow.privacy.bounds.online import (
    numeric_sparse_alpha as thm_3_28,
)
from hedgerow.privacy.bounds.online import (
    thm_4_14,
    thm_4_14_rows,
    thm_4_15,
    thm_4_15_rows,
)
from hedgerow.queries.complexity import (
    vc_dimension as def_4_2,
)

__all__ = [
    "def_4_2",
    "lemma_4_3",
    "prop_4_4",
    "prop_4_4_best",
    "sauer_shelah",
    "thm_3_11",
    "thm_3_24",
    "thm_3_24_queries",
    "thm_3_28",
    "thm_4_5",
    "thm_4_5_queries",
    "thm_4_5_rows",
    "thm_4_6",
    "thm_4_8",
    "thm_4_9",
    "thm_4_9_rows",
    "thm_4_10",
    "thm_4_14",
    "thm_4_14_rows",
    "thm_4_15",
    "thm_4_15_rows",
]
