"""[BR11] Blum and Roth, sparse queries: theorems as functions."""

from __future__ import annotations

from hedgerow.privacy.bounds.composition import (
    thm_2_10,
)
from hedgerow.privacy.bounds.online import (
    cor_3_11_rows,
    cor_4_12,
    thm_3_5,
    thm_3_8,
)
from hedgerow.privacy.bounds.online import (
    sparse_mw as thm_3_3_at_3_5,
)
from hedgerow.privacy.bounds.online import (
    sparse_project_size as alg_2_size,
)
from hedgerow.privacy.bounds.online import (
    sparse_variables as thm_3_5_size,
)
from hedgerow.privacy.bounds.online import (
    thm_3_3_idc as thm_3_3,
)
from hedgerow.privacy.bounds.online import (
    thm_4_9_sparse as thm_4_9,
)
from hedgerow.privacy.bounds.online import (
    thm_4_9_sparse_rows as thm_4_9_rows,
)
from hedgerow.privacy.bounds.sparse import (
    cor_3_11,
    cor_4_2_size,
    cor_4_7,
    cor_4_12_rows,
    lemma_4_6,
    lemma_4_8,
    thm_3_8_rows,
)
from hedgerow.privacy.bounds.sparse import (
    thm_3_3_idc_rows as thm_3_3_rows,
)
from hedgerow.queries.literals import (
    conjunction_count as remark_3_10,
)

__all__ = [
    "alg_2_size",
    "cor_3_11",
    "cor_3_11_rows",
    "cor_4_2_size",
    "cor_4_7",
    "cor_4_12",
    "cor_4_12_rows",
    "lemma_4_6",
    "lemma_4_8",
    "remark_3_10",
    "thm_2_10",
    "thm_3_3",
    "thm_3_3_at_3_5",
    "thm_3_3_rows",
    "thm_3_5",
    "thm_3_5_size",
    "thm_3_8",
    "thm_3_8_rows",
    "thm_4_9",
    "thm_4_9_rows",
]
