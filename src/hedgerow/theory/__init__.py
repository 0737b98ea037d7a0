"""The theory under one name: bounds by paper, accountants, events, experts, constructions, VC dimensions.

Everything here is a function of public numbers. What reads rows is a mechanism, and is not here.
"""

from hedgerow.learning import experts
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.hypothesis import multiplicative_weights
from hedgerow.learning.sparse.sparse import SparseHypothesis
from hedgerow.mechanisms.online.idc import IDC
from hedgerow.privacy import accountant as accountants
from hedgerow.privacy import events
from hedgerow.privacy.bounds.noise import gaussian_union, ntz_projection, rows_needed
from hedgerow.privacy.bounds.running import (
    running_coefficients,
    running_factor,
    running_norm_squared,
    running_weights,
)
from hedgerow.queries import complexity
from hedgerow.queries.complexity import (
    vc_conjunctions,
    vc_dimension,
    vc_intervals,
    vc_rectangles,
    vc_sparse,
)
from hedgerow.release.plan.winners import winners
from hedgerow.theory import br11, dr14, drv10, reconstruction, w3, w12

__all__ = [
    "IDC",
    "DenseHypothesis",
    "SparseHypothesis",
    "accountants",
    "br11",
    "complexity",
    "dr14",
    "drv10",
    "events",
    "experts",
    "gaussian_union",
    "multiplicative_weights",
    "ntz_projection",
    "reconstruction",
    "rows_needed",
    "running_coefficients",
    "running_factor",
    "running_norm_squared",
    "running_weights",
    "vc_conjunctions",
    "vc_dimension",
    "vc_intervals",
    "vc_rectangles",
    "vc_sparse",
    "w3",
    "w12",
    "winners",
]
