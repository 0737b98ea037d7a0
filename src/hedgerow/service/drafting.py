"""Drafting: a schema made of noise alone, which anybody may see; every act of it is charged to the dataset.

What it goes by is public: the columns' names, and what was released. First how many cells of every column
are of which kind (`CellKinds`, one act for all columns); then for numbers and dates a few quantiles on public
grids (`RankErrors`, the exponential mechanism, an act each), and for words the names that many rows share
(`frequent_names`). Each act has its own theorem and line in the ledger; together they cost what was said, by
composition, as the ledger adds up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from hedgerow.curator.curator import Curator
from hedgerow.curator.drafting.guess import MOST_LEVELS, SINGLE, calendar, stepped
from hedgerow.curator.rows.files import FileEngine
from hedgerow.curator.rows.table import Table
from hedgerow.curator.statistics.frequent_names import frequent_names
from hedgerow.curator.statistics.ranks import PARTS, RankErrors
from hedgerow.errors import BudgetExceeded, DomainMismatch, HedgerowError
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.queries.domain import cell_kinds as kinds
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.domain.encoding import kind_of
from hedgerow.queries.domain.lattice import exact
from hedgerow.queries.domain.round_edges import plain, round_down, round_edges, round_up, share_of
from hedgerow.release.numerals import amount, rest
from hedgerow.service.prospect import KINDS_NOTE

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.measurement import Measurement
    from hedgerow.service.dataset import Dataset, Step

_VOTES = Fraction(1, 10)  # of the price: what kinds of cells there are; the columns share the rest
_SURE = 4  # a count so many sigmas above 0 is one
_MOST_OF = 0.8  # of the cells that are there
_ENDS = (5, PARTS - 5)  # thousandths below the ends of a range
_INSIDE = tuple(range(100, PARTS, 100))
_FINE = 400  # cells of a grid inside a range
_MOST = 1 << 39
_YEARS = (1850, 2101)
_ROOM = Fraction(1, 4)  # of a column's price: the ends
_DELTA = Fraction(1, 2)  # of the delta that is left for such acts
# By how much, in units of the choice's own noise, an edge is preferred to the next one outwards: between rows
# and beyond them all edges have one score. Little against the rows between two edges of a useful column.
_LEAN, _REACH = Fraction(1, 3), 20
_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid)([\W_]|$))|[a-z]I[dD]$")


@dataclass(frozen=True)
class PrivateDraft:
    """A schema drafted by charged acts.

    Args:
        domain: the attributes; None when no column can be one.
        skipped: columns left out, each with the reason; of public or released things only.
        spent: what it cost.
        rows: about how many rows there are, as released with the kinds.
    """

    domain: Domain | None
    skipped: dict[str, str]
    spent: Cost
    rows: float


@dataclass
class _Votes:
    """Noisy counts of one column's kinds of cells."""

    counts: Mapping[str, float]
    sigma: float

    def sure(self, kind: str) -> float:
        """A count that is above its noise, or nothing."""
        count = self.counts[kind]
        return count if count > _SURE * self.sigma else 0.0

    @property
    def said(self) -> float:
        return sum(self.sure(kind) for kind in kinds.KINDS if kind != kinds.NOTHING)

    def mostly(self, *some: str) -> bool:
        """Whether nearly all cells that are there are of some kinds."""
        held = sum(self.sure(kind) for kind in some)
        return held > 0 and held >= _MOST_OF * self.said


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

    def draft(self) -> PrivateDraft:
        """Charge, act by act, and put together what came out."""
        if not self.dataset.has_ledger:
            raise HedgerowError(
                f"a private draft is charged to the budget of {self.dataset.data.name!r}, and it has none "
                "yet: make one with `hedgerow budget init`"
            )
        columns, skipped = self._columns()
        votes_of = Domain({name: kinds.CellKinds() for name in columns})
        with self._curator(votes_of) as first:
            price = first.price(self.epsilon)
            if not price <= first.left:
                left = rest(first.ledger.remaining(), first.ledger.budget)
                whole = amount(first.ledger.budget.part(price), first.ledger.budget)
                raise BudgetExceeded(f"a draft for {whole} was asked for, and there is {left}")
            held = first.measure_all([(name,) for name in columns], price.share(_VOTES), note=KINDS_NOTE)
            votes = {name: _voted(m) for name, m in zip(columns, held, strict=True)}
            delta = first.left.delta * _DELTA / max(len(columns), 1)
            pure = first.ledger.currency == "epsilon"
        each = price.share((1 - _VOTES) / max(len(columns), 1))
        attributes: dict[str, Attribute] = {}
        for done, name in enumerate(columns):
            self.step(f"Drafting {name!r} from noise", done / len(columns))
            found = self._column(name, votes[name], each, Fraction(0) if pure else delta)
            if isinstance(found, Attribute):
                attributes[name] = found
            else:
                skipped[name] = found
        rows = max((sum(v.counts.values()) for v in votes.values()), default=0.0)
        return PrivateDraft(Domain(attributes) if attributes else None, skipped, price, rows)

    def _columns(self) -> tuple[list[str], dict[str, str]]:
        """The columns that may be attributes, by their names and types alone."""
        reading = {k: getattr(self.dataset, k) for k in ("encoding", "delimiter", "multiline")}
        schema = FileEngine(self.dataset.data, **reading).schema()
        unit = self.dataset.settings(None).unit
        skipped: dict[str, str] = {}
        for column in schema:
            if schema.names.count(column.name) > 1 or not column.name.strip():
                skipped[column.name] = "its name is empty or comes twice"
            elif column.name == unit:
                skipped[column.name] = "it names the people who are protected"
            elif kind_of(column.type) == "other":
                skipped[column.name] = "its values are neither text, numbers, dates nor booleans"
            elif _ID.search(column.name):
                skipped[column.name] = "it is called an identifier"
        columns = [name for name in schema.names if name not in skipped]
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
            encoding=self.dataset.encoding,
            delimiter=self.dataset.delimiter,
            multiline=self.dataset.multiline,
        )
        with self.dataset.curator(table, known) as curator:
            yield curator

    def _column(self, name: str, votes: _Votes, price: Cost, delta: Fraction) -> Attribute | str:
        """An attribute for one column, by its kinds of cells and whatever its price buys."""
        decimals = (kinds.WHOLE, *kinds.DECIMALS)
        for format in (f for f in kinds.FORMATS if written.is_time(f)):
            if votes.mostly(format):
                return Bins(list(range(25)), format=format, missing=written.USUAL)
        if votes.mostly(kinds.TRUTH):
            return Categorical([False, True], format=written.BOOLEAN, other=True, missing=written.USUAL)
        if votes.mostly(kinds.DATE):
            return self._dates(name, None, price)
        if (day := _day_format(votes)) is not None:
            return self._dates(name, day, price)
        for mark, marked in ((None, ()), (",", (kinds.COMMA,)), (".", (kinds.GROUPED,))):
            if votes.mostly(*decimals, *marked) and (not marked or votes.sure(marked[0])):
                return self._numbers(name, _step_of(votes, marked), price, mark)
            if not marked and votes.mostly(*decimals):
                break
        if not votes.said:
            return "no kind of cell is common enough to be seen through the noise"
        return self._levels(name, price, delta, votes.said)

    def _dates(self, name: str, format: str | None, price: Cost) -> Attribute:
        """A calendar between two years."""
        first, last = _YEARS
        grid = Dates(f"{first}-01-01", f"{last}-01-01", "year", format=format, missing=written.USUAL)
        with self._curator(Domain({name: grid})) as curator:
            ends = self._choices(curator, name, _ENDS, price, _LEAN)
        low, high = min(ends), max(ends)
        last_year = grid.edge_array[max(high - 1, low)]
        return calendar(grid.edge_array[low], last_year, format=format, missing=written.USUAL)

    def _numbers(self, name: str, step: Fraction | None, price: Cost, mark: str | None) -> Attribute:
        """Bins that follow noisy quantiles: the range on a coarse grid, then the inside on a fine one."""
        options: dict[str, Any] = {"missing": written.USUAL} | ({"decimal": mark} if mark else {})
        coarse = Bins(_ladder(step), **options)
        with self._curator(Domain({name: coarse})) as curator:
            ends = sorted(self._choices(curator, name, _ENDS, price.share(_ROOM), _LEAN))
        last = len(coarse.edges) - 1
        low, high = (exact(coarse.edges[i]) for i in (max(ends[0] - 1, 0), min(ends[1] + 1, last)))
        width = round_up(float(high - low) / _FINE)
        width = max(width, step or width)
        fine = Bins(_steps(low, high, width), **options)
        with self._curator(Domain({name: fine})) as curator:
            shares, lean = (_ENDS[0], *_INSIDE, _ENDS[1]), min(_LEAN, Fraction(_REACH, len(fine.edges)))
            chosen = sorted(self._choices(curator, name, shares, price.share(1 - _ROOM), lean))
        places = [exact(fine.edges[i]) for i in chosen]
        return _binned(places, shares, width, step, options)

    def _choices(
        self, curator: Curator, name: str, shares: tuple[int, ...], price: Cost, lean: Fraction
    ) -> list[int]:
        """Edges with about so many thousandths below them, an act each."""
        told = f"where {name!r} has a share of its values below, for a private draft of the schema"
        each = price.share(Fraction(1, len(shares)))
        epsilon = selection_epsilon(each, bounded_range=True)
        found = []
        for share in shares:
            moves = curator.privacy.sensitivity(RankErrors(name, share).norms).l1
            side = (2 * share > PARTS) - (2 * share < PARTS)
            inwards = side * min(ceil(lean * 2 * moves / epsilon), _MOST)
            found.append(curator.select(RankErrors(name, share, inwards), each, note=told))
        return found

    def _levels(self, name: str, price: Cost, delta: Fraction, said: float) -> Attribute | str:
        """The names that many rows share."""
        if not delta:
            return "names are found with a budget that has a delta, and this one is pure"
        told = f"values of {name!r} that many rows share, for a private draft of the schema"
        with self._curator(OpenDomain(name)) as curator:
            found = frequent_names(curator, price, delta, most=MOST_LEVELS, note=told)
        levels = sorted(
            v for v, n in found.items() if n >= self.least and v.strip().lower() not in written.WORDS
        )
        if not levels:
            return "no value of it is shared by enough rows to be shown"
        if 2 * sum(found[v] for v in levels) < said:
            return "the values that may be shown are those of less than half of the rows"
        other = "other"
        while other in levels:
            other = f"({other})"
        return Categorical(levels, other=True if other == "other" else other, missing=written.USUAL)


def _voted(measured: Measurement) -> _Votes:
    values = [float(v) for v in measured.counts.ravel()]
    return _Votes(dict(zip(kinds.KINDS, values, strict=True)), measured.noise.variance**0.5)


def _day_format(votes: _Votes) -> str | None:
    """The format that most days are written in; if some must be day first, all are."""
    for format in (f for f in kinds.FORMATS if written.is_day(f)):
        swapped = format.replace("%m/%d", "%d/%m")  # which a cell is only if it cannot be the other
        if swapped != format and swapped in kinds.FORMATS and votes.mostly(format, swapped):
            return swapped if votes.sure(swapped) else format
        if votes.mostly(format):
            return format
    return None


def _step_of(votes: _Votes, marked: tuple[str, ...]) -> Fraction | None:
    """What nearly all numbers are multiples of; None if that is too fine to say."""
    if marked and votes.sure(marked[0]):
        return Fraction(1, 100)
    finest = 0
    for place, kind in enumerate(kinds.DECIMALS):
        if votes.sure(kind) > 0:
            finest = place + 1
    return None if finest == len(kinds.DECIMALS) else Fraction(1, 10**finest)


def _ladder(step: Fraction | None) -> list[int | float]:
    """Edges for numbers of any size: 12 in every power of ten, on both sides of 0."""
    least, most = (0 if step == 1 else -4), 11
    mantissas = [Fraction(m) for m in ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "7", "8", "9")]
    sizes = sorted({m * Fraction(10) ** e for e in range(least, most) for m in mantissas})
    if step is not None:
        sizes = [s for s in sizes if (s / step).denominator == 1]
    return [plain(-s) for s in reversed(sizes)] + [0] + [plain(s) for s in sizes]


def _steps(low: Fraction, high: Fraction, width: Fraction) -> list[int | float]:
    first, last = low // width, -(-high // width)
    return [plain(i * width) for i in range(int(first), int(max(last, first + 1)) + 1)]


def _binned(
    places: list[Fraction],
    shares: tuple[int, ...],
    width: Fraction,
    step: Fraction | None,
    options: dict[str, Any],
) -> Bins:
    """Bins from quantiles on a grid, between the first and the last of them."""
    low, high = places[0], max(places[-1], places[0] + width)
    size = step or round_down(float(max(places[-3] - places[2], width)) / PARTS)
    if step == 1 and high - low < SINGLE:
        return stepped(list(range(int(low), int(high) + 1)), size, **options)
    quantiles = [(0.0, float(low)), *((s / PARTS, float(p)) for s, p in zip(shares, places, strict=True))]
    mass = share_of([*quantiles, (1.0, float(high))])
    edges = round_edges(float(low), float(high - size), max(size, width / 2) if step != 1 else size, mass)
    return stepped(edges, size, **options)
