"""For those who add to the house: what is theirs to write, what it is given, and who vouches for it.

Everything that `docs/extending.md` uses is here or at the front door. What touches rows is taken on its
author's word, which is kept on the ledger's line; everything else is post-processing, or is proven here.
"""

from hedgerow.curator.guest_act import Coins, GuestAct, carry_out, claimed_act
from hedgerow.curator.rows.coding import Bound, Coded, coded, coded_rows, kept
from hedgerow.curator.rows.engine import CountingEngine, Engine, SummingEngine
from hedgerow.curator.rows.sums import RowSum
from hedgerow.curator.statistics.claimed import GuestStatistic, claimed_score, claimed_statistic
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.generators.base_generator import (
    BaseGenerator,
    Generated,
    Generating,
    SampledAnswers,
)
from hedgerow.learning.hypothesis import Fit, Hypothesis, TableHypothesis, multiplicative_weights
from hedgerow.learning.learners.additive import Additive
from hedgerow.learning.learners.base_learner import BaseLearner, Course, Evidence, Sums
from hedgerow.mechanisms.account import Purse
from hedgerow.mechanisms.card import Auditor, Card
from hedgerow.mechanisms.fingerprint import fingerprint, later
from hedgerow.mechanisms.mechanism import Mechanism, Release, Resumable, finite
from hedgerow.privacy import events
from hedgerow.privacy.budget import Cost, Privacy
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.store import Store
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.column import Column
from hedgerow.synopsis import (
    AnswersSynopsis,
    DenseSynopsis,
    Provenance,
    Synopsis,
    TablesSynopsis,
)

__all__ = [
    "Additive",
    "AnswersSynopsis",
    "Auditor",
    "BaseGenerator",
    "BaseLearner",
    "Bound",
    "Card",
    "Claim",
    "Coded",
    "Coins",
    "Column",
    "Cost",
    "CountingEngine",
    "Course",
    "DenseHypothesis",
    "DenseSynopsis",
    "Engine",
    "Evidence",
    "Fit",
    "Generated",
    "Generating",
    "GuestAct",
    "GuestStatistic",
    "Hypothesis",
    "Line",
    "Mechanism",
    "Norms",
    "Privacy",
    "Provenance",
    "Purse",
    "Release",
    "Resumable",
    "RowSum",
    "SampledAnswers",
    "Store",
    "SummingEngine",
    "Sums",
    "Synopsis",
    "TableHypothesis",
    "TablesSynopsis",
    "carry_out",
    "claimed_act",
    "claimed_score",
    "claimed_statistic",
    "coded",
    "coded_rows",
    "events",
    "fingerprint",
    "finite",
    "kept",
    "later",
    "multiplicative_weights",
]
