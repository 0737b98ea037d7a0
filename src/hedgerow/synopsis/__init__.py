"""What people take home. Importing the room makes every kind of synopsis loadable."""

from hedgerow.synopsis.measured import AnswersSynopsis, LocalSynopsis, TablesSynopsis
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

__all__ = ["AnswersSynopsis", "LocalSynopsis", "ModelSynopsis", "Provenance", "Synopsis", "TablesSynopsis"]
