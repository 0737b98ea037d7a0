"""What people take home. Importing the room makes every kind of synopsis loadable."""

from hedgerow.synopsis.dense import DenseSynopsis, GuaranteedSynopsis
from hedgerow.synopsis.distribution import DistributionSynopsis
from hedgerow.synopsis.measured import AnswersSynopsis, LocalSynopsis, TablesSynopsis
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.small import SmallSynopsis
from hedgerow.synopsis.strategy import MatrixSynopsis, ResidualSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

__all__ = [
    "AnswersSynopsis",
    "DenseSynopsis",
    "DistributionSynopsis",
    "GuaranteedSynopsis",
    "LocalSynopsis",
    "MatrixSynopsis",
    "ModelSynopsis",
    "Provenance",
    "ResidualSynopsis",
    "SmallSynopsis",
    "Synopsis",
    "TablesSynopsis",
]
