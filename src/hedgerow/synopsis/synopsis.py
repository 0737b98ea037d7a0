"""Synopsis: what people take home - a released, public object that answers questions for free."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.bibliography import ENTRIES
from hedgerow.errors import HedgerowError, UnsupportedQuery, of_system
from hedgerow.figures import small
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.receipt import Receipt
from hedgerow.queries.argument import between, number, whole
from hedgerow.queries.asked import AnyQuestion, Meant, WholeTable, named_table, understood
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.pieces import Statement, read
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.question import Question
from hedgerow.queries.staged import Staged
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer, Source
from hedgerow.synopsis.in_stages import one_by_one
from hedgerow.synopsis.limits import MeasuredTable, told_limits
from hedgerow.synopsis.spread import bin_means, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.plot import Plot
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.within import Within

FORMAT = 1
_MOST_ROWS = 10**10  # more would not be held; they are drawn in parts

# What reading a file raises that is cut short, or was never one of ours.
_MALFORMED = (
    *(OSError, EOFError, LookupError, TypeError, ValueError, AttributeError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RecursionError),
)


@dataclass(frozen=True)
class Provenance:
    """How a synopsis came to be: mechanism, public parameters, cost, and the ledger's receipt."""

    mechanism: str
    parameters: dict[str, Any]
    cost: Budget
    receipt: Receipt
    private: bool
    citations: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "cost": self.cost.to_json(),
            "receipt": self.receipt.to_json(),
            "private": self.private,
            "citations": list(self.citations),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Provenance:
        """The inverse of `to_json`."""
        return cls(
            data["mechanism"],
            data["parameters"],
            Budget.from_json(data["cost"]),
            Receipt.from_json(data["receipt"]),
            bool(data["private"]),
            tuple(data["citations"]),
        )


@dataclass(frozen=True, eq=False)
class Synopsis(ABC):
    """A public summary of private rows. Answering from it costs nothing; it holds nothing secret.

    `can` says what it is able to do: `answer`, `table`, `sample`.
    """

    domain: Domain
    provenance: Provenance

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Synopsis]]] = {}
    source: ClassVar[Source] = "measured"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.kind and Synopsis.kinds.setdefault(cls.kind, cls) is not cls:
            raise TypeError(f"two classes of synopses are called {cls.kind!r}: files name their class by it")

    # -- what it can do -----------------------------------------------------------------------------------

    @property
    def can(self) -> frozenset[str]:
        """What this synopsis is able to do: to answer, and what its class has a way of."""
        tables = {"table"} if type(self)._table is not Synopsis._table else set()
        rows = {"sample"} if type(self).sample is not Synopsis.sample else set()
        return frozenset({"answer"} | tables | rows)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Everything noisy that was released, with its noise."""
        return ()

    @property
    def private(self) -> bool:
        """False when made with test randomness or a simulated ledger; see also `claims`."""
        return self.provenance.private

    @property
    def claims(self) -> tuple[int, ...]:
        """Lines of its ledger, up to its receipt, that are private if what their authors claim is true.

        What the dataset has spent, and so what this and all before it promise together, rests on them.
        """
        return self.receipt.claims

    @property
    def receipt(self) -> Receipt:
        """The ledger's receipt at the time of release."""
        return self.provenance.receipt

    @property
    def cost(self) -> Budget:
        """What the release spent."""
        return self.provenance.cost

    @property
    def within(self) -> Within | None:
        """What was measured of numbers within their bins, if anything was."""
        return None

    @property
    def total(self) -> float:
        """The released number of rows."""
        return self.linear((), np.array(1.0), 0.95)[0]

    def answer(self, question: AnyQuestion, *, confidence: float = 0.95, simultaneous: bool = False) -> Any:
        """Answer any question with an `Answer`; a list of anything but queries gets a list of answers.

        Args:
            question: SQL text, a compiled statement, a query, attribute names (a whole table), a workload, or
                a list of these.
            confidence: how often the error bound must hold.
            simultaneous: make the bound hold for all numbers of an answer at once.
        """
        if not 0.0 < number("a confidence", confidence) < 1.0:
            raise UnsupportedQuery("a confidence lies between 0 and 1")
        asked = understood(self.domain, question, self.receipt.settings.unit)
        if isinstance(asked, list):
            return [self._answer(a, confidence, simultaneous) for a in asked]
        return self._answer(asked, confidence, simultaneous)

    def _answer(self, asked: Meant, confidence: float, simultaneous: bool) -> Answer:
        if isinstance(asked, WholeTable):
            found = self._answer(asked.workload, confidence, simultaneous)
            value, error = asked.shaped(found.value), asked.shaped(found.error)
            return replace(found, value=value, error=error, axes=asked.named)
        if isinstance(asked, Staged):
            return one_by_one(asked, self._answer, confidence, simultaneous, self._readings(), self.within)
        if isinstance(asked, Question):
            found = self._ask(asked, confidence, simultaneous or Statement(asked).selects)
        elif isinstance(asked, Query):
            found = Answer(*self._query(asked, confidence, 1), confidence, self.source)
        else:
            numbers = len(asked) if simultaneous else 1
            values, errors = self._workload(asked, confidence, numbers)
            found = Answer(values, errors, confidence, self.source, simultaneous=simultaneous)
        also = (*self._notes(asked), *self.receipt.settings.counts)
        return replace(found, notes=(*found.notes, *also))

    def limits(self, question: AnyQuestion, *, confidence: float = 0.95) -> tuple[Any, Any]:
        """Between which numbers the truth lies by the measured tables alone, in the question's unit.

        Unlike the error of a learned answer this holds whatever the rows are, and is often far wider.

        Args:
            question: a query, SQL that counts rows, names, a workload, queries: a pair as answers are shaped.
            confidence: how often the limits of each number hold.
        """
        between("a confidence", confidence)
        asked = read(self.domain, question, self.receipt.settings.unit)
        return told_limits(self.kind, self._measured_tables, asked, confidence)

    @cached_property
    def _measured_tables(self) -> list[MeasuredTable]:
        """What limits are read from."""
        return list(MeasuredTable.all_of(self.measurements))

    def _notes(self, question: Query | Workload | Question) -> tuple[str, ...]:
        """Sentences that belong to the answer."""
        return ()

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """All values and errors; whole tables are read at once, their cells all having the same error."""
        if workload.is_tables and "table" in self.can:
            firsts = [self._query(b.query(0), confidence, numbers)[1] for b in workload.blocks]
            errors = [np.full(len(b), e) for b, e in zip(workload.blocks, firsts, strict=True)]
            return workload.evaluate(self._table), np.concatenate(errors)
        return self._one_by_one(workload, confidence, numbers)

    def _one_by_one(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        pairs = [self._query(q, confidence, numbers) for q in workload]
        values, each = (np.array(x, dtype=np.float64) for x in zip(*pairs, strict=True))
        return values, each

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        for name in query.attributes:
            self.domain[name]
        value, error = self.linear(query.attributes, query.weights / ONE, confidence, numbers)
        if query.fine is not None:  # rows' own numbers are no more than this from the middles of their bins
            error += sum(map(abs, self.linear(query.attributes, query.off / ONE, confidence, numbers)))
        return float(query.to_unit(value)), abs(query.scale) * error

    def _ask(self, question: Question, confidence: float, simultaneous: bool) -> Answer:
        """A compiled SQL statement, answered through its linear forms."""
        result = question.answer(self._readings(), confidence, simultaneous=simultaneous, within=self.within)
        notes = (*question.notes, *result.endless)
        shown: Any = {"simultaneous": simultaneous, "notes": notes, "table": result}
        return Answer(result.value, result.error, confidence, self.source, **shown)

    def table(self, attributes: str | Iterable[str]) -> NDArray[np.float64]:
        """Released counts over an attribute, or over some, axes in the given order."""
        if "table" not in self.can:
            raise UnsupportedQuery(f"a {self.kind} synopsis holds no tables; ask `answer` for numbers")
        asked = named_table(self.domain, attributes)
        return asked.shaped(self._table(self.domain.order(asked.attributes))).copy()

    def to_pandas(self, attributes: str | Iterable[str], *, confidence: float = 0.95) -> Any:
        """Released counts over an attribute, or over some, as a pandas data frame: a row for each cell.

        Args:
            attributes: their names, in the order of the columns.
            confidence: how often `count_low` and `count_high` must hold the true count of a cell.
        """
        return self._cells(attributes, confidence).to_pandas()

    def plot(self, attributes: str | Iterable[str], *others: str, confidence: float = 0.95) -> Plot:
        """A picture of released counts over one attribute or two.

        Args:
            attributes, others: their names.
            confidence: how often the whiskers, or the band, must hold the true count.
        """
        return self._cells((str(attributes), *others) if others else attributes, confidence).plot()

    def _cells(self, attributes: str | Iterable[str], confidence: float) -> Answer:
        found: Answer = self.answer(named_table(self.domain, attributes).attributes, confidence=confidence)
        return found

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows as decoded columns; as many as the released total unless said.

        Args:
            rows: how many.
            seed: for the same rows again; sampling reads only what is public.
        """
        can = ", ".join(sorted(self.can))
        raise UnsupportedQuery(f"a {self.kind} synopsis cannot sample rows; it can {can}")

    def _spread(self, codes: Mapping[str, Any], seed: int | None) -> dict[str, NDArray[Any]]:
        """Drawn rows as decoded columns, numbers spread within their bins."""
        return spread(self.domain, codes, seed, partial(bin_means, self))

    def _how_many(self, rows: Any, seed: Any) -> int:
        """How many rows to sample: the released total unless said; also refuses what is no seed."""
        if seed is not None:
            whole("a seed", seed, 0, (1 << 128) - 1)
        return max(0, round(self.total)) if rows is None else whole("a number of rows", rows, 0, _MOST_ROWS)

    @abstractmethod
    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count over the table of some attributes, and its error bound."""

    def _readings(self) -> Linear:
        return self.linear

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        raise UnsupportedQuery(f"a {self.kind} synopsis holds no tables")

    def citation(self) -> str:
        """The sources of the mechanism, ready to be cited."""
        return "\n".join(f"[{key}] {ENTRIES[key]}" for key in self.provenance.citations)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._words})"

    @property
    def _words(self) -> str:
        """What it is, in a few words."""
        mark = ", private if an author's claim is true" if self.claims else ""
        mark = mark if self.private else ", NOT PRIVATE"
        whole = self.receipt.settings.budget.delta
        delta = f", delta {small(whole)}" if whole else ""
        return f"{self.provenance.mechanism} for epsilon {self.cost.epsilon:.4g}{delta}{mark}"

    def _repr_html_(self) -> str:
        can = ", ".join(f"<code>.{name}()</code>" for name in sorted(self.can))
        table = self.domain._repr_html_() if isinstance(self.domain, Domain) else ""
        return f"<p><b>{escape(type(self).__name__)}</b>: {escape(self._words)}; {can}</p>{table}"

    # -- files --------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the synopsis to a file that `Synopsis.load` reads; it holds only what is public."""
        arrays: dict[str, NDArray[Any]] = {}
        body = self._pack(arrays)
        head = {
            "hedgerow_synopsis": FORMAT,
            "kind": self.kind,
            "domain": self.domain.to_schema(),
            "provenance": self.provenance.to_json(),
            "body": body,
        }
        if not isinstance(path, str | PathLike) or not str(path):
            raise HedgerowError("a synopsis is saved to the path of a file")
        with zipfile.ZipFile(path, "w") as out:
            for name, data in _files(head, arrays):  # without a date: the same synopsis is the same file
                out.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)

    @staticmethod
    def load(path: str | Path) -> Synopsis:
        """Read a synopsis from a file."""
        if not isinstance(path, str | PathLike):
            raise HedgerowError("a synopsis is loaded from the path of a file")
        try:
            with zipfile.ZipFile(path) as source:
                head = json.loads(source.read("synopsis.json"))
                arrays = {
                    name[:-4]: np.load(io.BytesIO(source.read(name)), allow_pickle=False)
                    for name in source.namelist()
                    if name.endswith(".npy")
                }
            if (head["hedgerow_synopsis"], head["kind"] in Synopsis.kinds) == (FORMAT, True):
                return _unpacked(head, arrays)
        except FileNotFoundError:
            raise HedgerowError(f"there is no file {str(path)!r}") from None
        except PermissionError as error:
            raise of_system(error, f"the file {str(path)!r} cannot be read") from None
        except (*_MALFORMED, HedgerowError):
            raise HedgerowError(
                f"{str(path)!r} is not a synopsis file", hint="a release's is called synopsis.hedgerow"
            ) from None
        raise HedgerowError(
            f"{str(path)!r} was written by another version of Hedgerow",
            hint="load it with that one",
        )

    @abstractmethod
    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """The rest as plain data, numbers into `arrays`."""

    @classmethod
    @abstractmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Synopsis:
        """The inverse of `_pack`."""


def _files(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Iterator[tuple[str, str | bytes]]:
    """The names and contents of what is in a synopsis file."""
    yield "synopsis.json", json.dumps(head, indent=1, default=str)
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        yield f"{name}.npy", buffer.getvalue()


def _unpacked(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Synopsis:
    """The synopsis that was saved."""
    schema = head["domain"]
    domain: Any = OpenDomain(schema["open"]) if "open" in schema else Domain.from_schema(schema)
    provenance = Provenance.from_json(head["provenance"])
    return Synopsis.kinds[head["kind"]]._unpack(domain, provenance, head["body"], arrays)
