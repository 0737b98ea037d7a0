"""What people take home. Importing the room imports all its files: every kind of synopsis is loadable."""

from importlib import import_module
from pkgutil import iter_modules

from hedgerow.synopsis.boosted import BoostedSynopsis
from hedgerow.synopsis.dense import DenseSynopsis, GuaranteedSynopsis
from hedgerow.synopsis.distribution import DistributionSynopsis
from hedgerow.synopsis.measured import AnswersSynopsis, LocalSynopsis, TablesSynopsis
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.online import OnlineNamesSynopsis, OnlineSynopsis
from hedgerow.synopsis.sketch import SketchSynopsis
from hedgerow.synopsis.small import SmallSynopsis
from hedgerow.synopsis.strategy import MatrixSynopsis, ResidualSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

__all__ = [
    "AnswersSynopsis",
    "BoostedSynopsis",
    "DenseSynopsis",
    "DistributionSynopsis",
    "GuaranteedSynopsis",
    "LocalSynopsis",
    "MatrixSynopsis",
    "ModelSynopsis",
    "OnlineNamesSynopsis",
    "OnlineSynopsis",
    "Provenance",
    "ResidualSynopsis",
    "SketchSynopsis",
    "SmallSynopsis",
    "Synopsis",
    "TablesSynopsis",
]

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
