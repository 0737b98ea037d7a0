"""What `hedgerow` offers, for editors and type checkers."""

from hedgerow import audit as audit
from hedgerow import errors as errors
from hedgerow import primitives as primitives
from hedgerow import testing as testing
from hedgerow.curator.curator import Curator as Curator
from hedgerow.curator.table import Table as Table
from hedgerow.errors import BudgetExceeded as BudgetExceeded
from hedgerow.errors import DomainMismatch as DomainMismatch
from hedgerow.errors import HedgerowError as HedgerowError
from hedgerow.errors import LedgerError as LedgerError
from hedgerow.errors import RangeTooLarge as RangeTooLarge
from hedgerow.errors import RunClosed as RunClosed
from hedgerow.errors import SourceError as SourceError
from hedgerow.errors import UnsupportedQuery as UnsupportedQuery
from hedgerow.mechanisms.baselines import GaussianBaseline as GaussianBaseline
from hedgerow.mechanisms.baselines import HistogramRelease as HistogramRelease
from hedgerow.mechanisms.baselines import LaplaceBaseline as LaplaceBaseline
from hedgerow.mechanisms.baselines import RandomizedResponse as RandomizedResponse
from hedgerow.privacy.budget import Budget as Budget
from hedgerow.privacy.ledger import Ledger as Ledger
from hedgerow.privacy.receipt import Receipt as Receipt
from hedgerow.queries.attribute import Attribute as Attribute
from hedgerow.queries.attribute import Bins as Bins
from hedgerow.queries.attribute import Categorical as Categorical
from hedgerow.queries.attribute import Dates as Dates
from hedgerow.queries.attribute import bins as bins
from hedgerow.queries.attribute import dates as dates
from hedgerow.queries.domain import Domain as Domain
from hedgerow.queries.domain import OpenDomain as OpenDomain
from hedgerow.queries.measurement import Measurement as Measurement
from hedgerow.queries.measurement import Noise as Noise
from hedgerow.queries.query import Query as Query
from hedgerow.queries.query import SparseQuery as SparseQuery
from hedgerow.queries.question import Question as Question
from hedgerow.queries.sql import sql as sql
from hedgerow.queries.workload import Workload as Workload
from hedgerow.queries.workload import conjunctions as conjunctions
from hedgerow.queries.workload import marginals as marginals
from hedgerow.queries.workload import parities as parities
from hedgerow.queries.workload import prefixes as prefixes
from hedgerow.queries.workload import ranges as ranges
from hedgerow.synopsis import Synopsis as Synopsis
from hedgerow.synopsis.answer import Answer as Answer

__version__: str
