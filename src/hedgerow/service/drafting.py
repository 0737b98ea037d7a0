"""Drafting: a schema made of noise alone, which anybody may see; every act of it is charged to the dataset.

What it goes by is public: the columns' names and types, and what was released. First how many cells of every
column are of which kind (`CellKinds`, one act for all columns); then for numbers and dates a few quantiles on
public grids (`RankErrors`, the exponential mechanism, an act each), and for words the names that many rows
share (`frequent_names`). Each act has its own theorem and line in the ledger; together they cost what was
said, by composition, as the ledger adds up. Acts have request ids of the draft that they are of: one that was
interrupted goes on with what it has paid for, and one that was finished is the same again, free.

Privacy. Rows are read by those acts and by nothing else; the names and types are the file's, and whoever
drafts declares them to be public. Which acts come next, on which grids, how far an end leans and which
columns are left out unasked are functions of counts of kinds and of chosen ends, so of what the ledger
holds (adaptive composition), and of the columns' names; a lean is a public number, and moves no score's
sensitivity. Steps, bins, the ends that a column has by nature, names of levels, whether a column seems to
number its rows, and the reasons of columns left out are post-processing. So no sentence of a draft says
more about a row than its acts do. What could be refused is refused before the first act, or leaves one
column out: a schema comes of whatever was paid for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from hedgerow.curator.curator import Curator
from hedgerow.curator.drafting.identifiers import ends_in_id
from hedgerow.curator.drafting.named import MOST_LEVELS
from hedgerow.curator.drafting.numbered import CODES
from hedgerow.curator.drafting.proposed import other_beside
from hedgerow.curator.rows.csv_file import way_of
from hedgerow.curator.rows.files import FileEngine
from hedgerow.curator.rows.table import Table
from hedgerow.curator.statistics.frequent_names import frequent_names
from hedgerow.curator.statistics.ranks import PARTS, RankErrors
from hedgerow.errors import BudgetExceeded, DomainMismatch, HedgerowError
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.domain import cell_kinds as kinds
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.domain.encoding import kind_of
from hedgerow.queries.domain.lattice import exact
from hedgerow.release.numerals import amount, rest
from hedgerow.service.column_plans import (
    DayColumn,
    NumberColumn,
    Plan,
    Votes,
    WordColumn,
    counts_rows,
    decided,
    voted,
)
from hedgerow.service.natural_ends import NaturalEnds
from hedgerow.service.prospect import KINDS_NOTE

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset, Step

_VOTES = Fraction(1, 10)  # of the price: what kinds of cells there are; the columns share the rest
ENDS = (5, PARTS - 5)  # thousandths below the ends of a range
_INSIDE = tuple(range(100, PARTS, 100))
_MOST = 1 << 39
_ROOM = Fraction(1, 4)  # of a column's price: the ends
_DELTA = Fraction(1, 2)  # of the delta that is left for such acts
# By how much, in units of the choice's own noise, an edge is preferred to the next one outwards: between rows
# and beyond them all edges have one score. Little against the rows between two edges of a useful column.
_LEAN, _REACH = Fraction(1, 3), Fraction(20)
# What all rows together weigh in a choice, in the same units. Where a lean over all edges is more than half
# of it, it would draw ends past the rows: then ends lean to where values usually are, and by so little that
# all rows outweigh the way there. Where rows weigh next to nothing, nothing is chosen or charged.
_AWAY, _FAINT = 150, 8
_METHOD = 4  # which way of drafting a draft is of: its acts are no others' of the same file
_ID = re.compile(
    r"(?i:(^|[\W_])(id|uuid|guid)([\W_]|$))|[a-z]I[dD]$|^id(?=[A-Z])|"
    r"(?i:^(row[\W_]?(names?|id|num(ber)?|nr|no|index)|unnamed: ?\d+)$)"
)
"""Names that say that every row has its own: identifiers, and what programs put before rows."""
_LOST = "its range would be lost in noise at this price: spend more, or draft fewer columns"
_ROWS = "its numbers run evenly over as many as there are rows: it looks like an identifier"


@dataclass(frozen=True)
class PrivateDraft:
    """A schema drafted by charged acts.

    Args:
        domain: the attributes; None when no column can be one.
        skipped: columns left out, each with the reason; of public or released things only.
        spent: what it cost now: nothing for what was paid for before.
        rows: about how many rows there are, as released with the kinds.
    """

    domain: Domain | None
    skipped: dict[str, str]
    spent: Cost
    rows: float


@dataclass
class Drafter:
    """Drafts a dataset's schema from noise.

    Args:
        dataset: the rows and their ledger.
        epsilon: what the draft may cost.
        least: as many rows must seem to share a value for it to be a level, beyond the threshold of privacy.
        step: told how far it is.
    """

    dataset: Dataset
    epsilon: str
    least: int = 20
    step: Step = field(default=lambda words, part: None, repr=False)
    _name: str = field(default="", init=False, repr=False)

    def draft(self) -> PrivateDraft:
        """Charge, act by act, and put together what came out."""
        if not self.dataset.has_ledger:
            raise HedgerowError(
                f"a private draft is charged to the budget of {self.dataset.data.name!r}, and it has none "
                "yet: make one with `hedgerow budget init`"
            )
        self.dataset.refuse_put_back()
        columns, skipped = self._columns()
        self._name = self._named(columns)
        votes_of = Domain({name: kinds.CellKinds() for name in columns})
        with self._curator(votes_of) as first:
            price = first.price(self.epsilon, self._request("kinds"))
            lines = [e for e in first.ledger.replay(self._name) if e.kind == "charge"]
            paid = sum((e.cost for e in lines), Cost.zero(price.currency))
            rest_of = Cost(price.currency, max(price.amount - paid.amount, Fraction(0)))
            if not rest_of <= first.left:
                left = rest(first.ledger.remaining(), first.ledger.budget)
                whole = amount(first.ledger.budget.part(price), first.ledger.budget)
                raise BudgetExceeded(f"a draft for {whole} was asked for, and there is {left}")
            held = first.measure_all(
                [(name,) for name in columns],
                price.share(_VOTES),
                request=self._request("kinds"),
                run=self._name,
                note=KINDS_NOTE,
            )
            votes = {name: voted(m) for name, m in zip(columns, held, strict=True)}
            deltas = [e.cost.delta for e in lines if e.cost.delta]  # as it was when it began
            delta = deltas[0] if deltas else first.left.delta * _DELTA / max(len(columns), 1)
            pure = first.ledger.currency == "epsilon"
        named = set() if pure else {name for name in votes if CODES.search(name)}  # names cost a delta
        plans = self._readable({name: decided(v, code=name in named) for name, v in votes.items()})
        needy = [
            name for name, plan in plans.items() if isinstance(plan, DayColumn | NumberColumn | WordColumn)
        ]
        each = price.share((1 - _VOTES) / max(len(needy), 1))
        rows = sum(sum(v.counts.values()) for v in votes.values()) / max(len(votes), 1)
        found = self._grids(plans, each, votes, rows) | self._words(
            plans, each, Fraction(0) if pure else delta
        )
        made = {name: found.get(name, plan) for name, plan in plans.items()}
        attributes = {name: a for name, a in made.items() if isinstance(a, Attribute)}
        skipped |= {name: why for name, why in made.items() if isinstance(why, str)}
        return PrivateDraft(Domain(attributes) if attributes else None, skipped, rest_of, rows)

    def _named(self, columns: list[str]) -> str:
        """What a draft is known by: its price, its columns, and the file as it is now."""
        about = self.dataset.data.stat()
        way = way_of(self.dataset.encoding, multiline=self.dataset.multiline)
        said = repr((_METHOD, str(self.epsilon), columns, about.st_size, about.st_mtime_ns, way))
        return f"draft {hashlib.sha256(said.encode()).hexdigest()[:16]}"

    def _request(self, act: str) -> str:
        return f"{self._name}: {act}"

    def _columns(self) -> tuple[list[str], dict[str, str]]:
        """The columns that may be attributes, by their names and types alone."""
        schema = FileEngine(self.dataset.data, **self.dataset.said).schema()
        unit = self.dataset.settings(None).unit
        skipped: dict[str, str] = {}
        for column in schema:
            if schema.names.count(column.name) > 1 or not column.name.strip():
                skipped[column.name] = "its name is empty or comes twice"
            elif column.name == unit:
                skipped[column.name] = "it names the people who are protected"
            elif kind_of(column.type) == "other":
                skipped[column.name] = "its values are neither text, numbers, dates nor booleans"
            elif _ID.search(column.name) or ends_in_id(column.name):
                skipped[column.name] = "it is called an identifier"
        columns = [name for name in schema.names if name not in skipped]
        _refuse_a_row(schema.names)
        if not columns:
            raise DomainMismatch("no column of the data can be an attribute by its name and type")
        return columns, skipped

    @contextmanager
    def _curator(self, domain: Domain | OpenDomain) -> Iterator[Curator]:
        """A curator of the dataset's rows behind some domain, charging its ledger."""
        known = self.dataset.settings(None)
        table = Table.open(
            self.dataset.data,
            domain,
            unit=known.unit,
            max_rows=known.max_rows if known.unit else None,
            unit_type=known.unit_type,
            **self.dataset.said,
        )
        with self.dataset.curator(table, known) as curator:
            yield curator

    def _readable(self, plans: Mapping[str, Plan]) -> dict[str, Plan]:
        """The plans, but for those that a column's type refuses: what is charged for must be of use."""
        file = FileEngine(self.dataset.data, **self.dataset.said)
        schema, kept = file.schema(), dict(plans)
        for name, plan in plans.items():
            asked = plan.grid() if isinstance(plan, DayColumn | NumberColumn) else plan
            if isinstance(asked, Attribute) and asked.check_column(
                schema.field(name).type, untyped=file.untyped
            ):
                kept[name] = "the type of its column is another than that of its values"
        return kept

    def _grids(
        self, plans: Mapping[str, Plan], price: Cost, votes: Mapping[str, Votes], rows: float
    ) -> dict[str, Attribute | str]:
        """Calendars and bins: ranges on coarse grids, then, of numbers, the inside on fine ones."""
        coarse = {name: p.grid() for name, p in plans.items() if isinstance(p, DayColumn | NumberColumn)}
        if not coarse:
            return {}
        made: dict[str, Attribute | str] = {}
        fine: dict[str, Bins] = {}
        with self._curator(Domain(coarse)) as curator:
            for done, (name, grid) in enumerate(coarse.items()):
                self.step(f"Drafting {name!r} from noise", done / len(coarse) / 2)
                plan = plans[name]
                assert isinstance(plan, DayColumn | NumberColumn)
                part = price.share(_ROOM) if isinstance(plan, NumberColumn) else price
                weight = _weight(curator, votes[name].said, part, ENDS)
                if weight < _FAINT:
                    made[name] = _LOST
                    continue
                far = 2 * _LEAN * len(grid.edges) > weight
                lean = min(_LEAN, weight / _AWAY) if far else _LEAN
                chosen = self._choices(curator, name, ENDS, part, lean, plan.usual if far else None)
                if isinstance(plan, NumberColumn):
                    fine[name] = plan.fine(grid, sorted(chosen), name)
                else:
                    made[name] = _of_use(plan.calendar, grid, sorted(chosen))
        return made | self._insides(plans, fine, price.share(1 - _ROOM), votes, rows) if fine else made

    def _insides(
        self,
        plans: Mapping[str, Plan],
        fine: Mapping[str, Bins],
        price: Cost,
        votes: Mapping[str, Votes],
        rows: float,
    ) -> dict[str, Attribute | str]:
        """Bins of numbers whose ranges are known, by deciles on grids of equal steps."""
        made: dict[str, Attribute | str] = {}
        shares = (ENDS[0], *_INSIDE, ENDS[1])
        with self._curator(Domain(dict(fine))) as curator:
            for done, (name, grid) in enumerate(fine.items()):
                self.step(f"Drafting {name!r} from noise", (1 + done / len(fine)) / 2)
                weight = _weight(curator, votes[name].said, price, shares)
                lean = min(_LEAN, min(_REACH, weight / 2) / len(grid.edges))
                chosen = self._choices(curator, name, shares, price, lean)
                plan, places = plans[name], [exact(grid.edges[i]) for i in sorted(chosen)]
                assert isinstance(plan, NumberColumn)
                own = counts_rows(plan, places, shares, rows)
                width = min(exact(b) - exact(a) for a, b in pairwise(grid.edges))
                ends = NaturalEnds(tuple(places), shares, width, weight, lean)
                made[name] = _ROWS if own else _of_use(plan.binned, ends, name)
        return made

    def _words(self, plans: Mapping[str, Plan], price: Cost, delta: Fraction) -> dict[str, Attribute | str]:
        """The levels of every column of words."""
        words = {name: plan for name, plan in plans.items() if isinstance(plan, WordColumn)}
        found: dict[str, Attribute | str] = {}
        for done, (name, plan) in enumerate(words.items()):
            self.step(f"Drafting {name!r} from noise", done / len(words))
            found[name] = self._levels(name, price, delta, plan.said)
        return found

    def _choices(
        self,
        curator: Curator,
        name: str,
        shares: tuple[int, ...],
        price: Cost,
        lean: Fraction,
        around: int | None = None,
    ) -> list[int]:
        """Edges with about so many thousandths below them, an act each."""
        told = f"where {name!r} has a share of its values below, for a private draft of the schema"
        each = price.share(Fraction(1, len(shares)))
        epsilon = selection_epsilon(each, bounded_range=True)
        found = []
        for share in shares:
            moves = curator.privacy.sensitivity(RankErrors(name, share).norms).l1
            side = (2 * share > PARTS) - (2 * share < PARTS) if around is None else 1
            inwards = side * min(ceil(lean * 2 * moves / epsilon), _MOST)
            act = self._request(f"{'inside' if len(shares) > len(ENDS) else 'ends'} {share} {name}")
            score = RankErrors(name, share, inwards, around)
            found.append(curator.select(score, each, note=told, request=act, run=self._name))
        return found

    def _levels(self, name: str, price: Cost, delta: Fraction, said: float) -> Attribute | str:
        """The names that many rows share."""
        if not delta:
            return "names are found with a budget that has a delta, and this one is pure"
        told = f"values of {name!r} that many rows share, for a private draft of the schema"
        with self._curator(OpenDomain(name)) as curator:
            act = self._request(f"levels {name}")
            found = frequent_names(
                curator, price, delta, most=MOST_LEVELS, note=told, request=act, run=self._name
            )
        levels = sorted(
            v for v, n in found.items() if n >= self.least and v.strip().lower() not in written.WORDS
        )
        if not levels:
            return "no value of it is shared by enough rows to be shown"
        if 2 * sum(found[v] for v in levels) < said:
            return "the values that may be shown are those of less than half of the rows"
        return _of_use(Categorical, levels, other=other_beside(levels), missing=written.USUAL)


def _weight(curator: Curator, said: float, price: Cost, shares: tuple[int, ...]) -> Fraction:
    """What all values of a column together weigh in each of some choices, in units of its noise."""
    epsilon = selection_epsilon(price.share(Fraction(1, len(shares))), bounded_range=True)
    score = RankErrors("", ENDS[1])
    moves = curator.privacy.sensitivity(score.norms).l1
    return Fraction(max(said, 0.0)) * score.norms.l1 * epsilon / (2 * moves)


def _of_use(make: Callable[..., Attribute], *given: Any, **options: Any) -> Attribute | str:
    """An attribute of what was released; why there is none, where a schema cannot have it.

    It was paid for, so one column that a schema cannot have must not take the others with it.
    """
    try:
        made = make(*given, **options)
        Domain.from_schema({"attributes": {"a": made.to_schema()}})
    except DomainMismatch as error:
        return f"what was released of it makes no attribute: {error}"
    return made


def _refuse_a_row(names: list[str]) -> None:
    """Refuse a file whose first line seems to be somebody's row: the names of columns are made public."""
    found = [kinds.KINDS[code] for code in kinds.CellKinds().encode(names).tolist()]
    never = {kinds.DATE, kinds.COMMA, *kinds.DECIMALS, *kinds.FORMATS}
    numbers = sum(kind in (kinds.WHOLE, kinds.GROUPED, kinds.CODE) for kind in found)  # a year is a name
    if never & set(found) or 2 * numbers > len(names):
        raise DomainMismatch(
            "the first line of the data seems to be a row and not the names of the columns, which a draft "
            "makes public: put the names above it"
        )
