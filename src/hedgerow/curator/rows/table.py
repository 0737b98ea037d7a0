"""Table: an opaque handle to private rows. It has no public reads; only the curator can open it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.curator.rows import unit_ids, values
from hedgerow.curator.rows.coding import Bound, Coded, coded_rows, kept_values
from hedgerow.curator.rows.counted_names import CountedNames
from hedgerow.curator.rows.engine import Engine, counted_by, reading, summed_by
from hedgerow.curator.rows.files import FileEngine, LaterFile, refuse_absent
from hedgerow.curator.rows.memory import IDS
from hedgerow.curator.rows.opening import FileOptions, engine_of
from hedgerow.curator.rows.plain import readable_parts
from hedgerow.curator.rows.row_cache import RowCache
from hedgerow.curator.rows.sums import NumberSums, ProductSum, RowSum, TableCounts, WeightSum
from hedgerow.curator.rows.unit import NullUnits, Unit
from hedgerow.errors import DomainMismatch, RangeTooLarge
from hedgerow.privacy.ledger.entry import SPELLING
from hedgerow.queries.domain.days import zone_is_known
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.domain.encoding import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.csv_rows import Reading
    from hedgerow.curator.rows.name_sums import NameSum
    from hedgerow.queries.valued import Valued

CELL_LIMIT = 1 << 28
_KEEP_ROWS_BYTES = 1 << 28
_KEEP_TABLES_BYTES = 1 << 28


class Table:
    """Private rows behind a declared domain.

    Open one with `Table.open`; hand it to a `Curator`. A table never shows a row, a count or a value.
    """

    def __init__(
        self,
        engine: Engine,
        domain: Domain | OpenDomain,
        unit: Unit | None,
        location: Path | None,
        *,
        same_rows: bool = False,
        named: Path | None = None,
        cache: RowCache | None = None,
    ) -> None:
        self.domain = domain
        self.unit = unit
        self.location = location
        self.named = named or location
        self.same_rows = same_rows
        self._engine = engine
        self._cache = cache
        if isinstance(engine, LaterFile):
            engine.check_opened = self._check_columns
        else:
            self._check_columns()

    @classmethod
    def open(
        cls,
        source: Any,
        domain: Domain | OpenDomain,
        *,
        unit: str | None = None,
        max_rows: int | None = None,
        null_units: NullUnits = "drop",
        unit_type: str | None = None,
        engine: Literal["auto", "duckdb", "memory"] = "auto",
        table: str | None = None,
        query: str | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
        multiline: bool = False,
        watch: Callable[[float | None], None] | None = None,
        same_rows: bool = False,
        later: bool = False,
        cache: bool = True,
    ) -> Table:
        """Open a CSV or Parquet file, a frame, a mapping of columns, a PostgreSQL table, or an `Engine`.

        Args:
            source: the rows; with an `OpenDomain` also any iterable of names. Frames are those of pandas,
                polars and Arrow, databases are `postgresql://...`. An engine of one's own is a
                `hedgerow.extending.Engine`, and takes no option about files.
            domain: the declared domain.
            unit: the column that names the person (or household, or device) a row belongs to.
            max_rows: how many rows of each unit are used; needed with `unit`.
            null_units: what happens to rows whose unit is missing, `drop` or `row`.
            unit_type: the type of unit ids in a column of objects (a list, a pandas object column): `text`,
                `integer`, `decimal`, `boolean`, `date`, `datetime`, `binary` or `uuid`. A value of another
                type is no id. Unless declared, each value goes by its own type. Other columns have a type:
                floating-point ones cannot name units (but under a ledger of an earlier version, with `v1`).
            engine: what reads a frame, `memory` unless said otherwise; files have their own.
            table: of a database, with or without its schema.
            query: in place of `table` a SELECT of columns and rows of one table, decided row by row.
            encoding: of a CSV file's text; UTF-8 or what its byte order mark says, unless said otherwise.
            delimiter: of a CSV file; what splits its header into most names, unless said otherwise.
            multiline: the owner's word that a CSV file follows RFC 4180: quoted cells may run over lines,
                also where a stray quote would do the same, and a backslash is a character like others.
            watch: told the part of the rows read so far (None: unknown), for the owner's progress bar.
            same_rows: take a file that was written again for the one that earlier runs began with.
            later: look into a file only when rows are needed, and say only then what is wrong with it.
            cache: keep the coded rows of a large CSV file beside it, for its owner alone, see `RowCache`.
        """
        if not isinstance(domain, (Domain, OpenDomain)):
            raise DomainMismatch("a table is opened with a Domain or an OpenDomain; see Domain.load")
        bound = Unit.declared(unit, max_rows, null_units, unit_type)
        options = FileOptions(encoding, delimiter, multiline, watch, later)
        kept = RowCache.of(source, domain, bound, options.of_csv) if cache else None
        made, named = engine_of(source, domain, bound, engine, options, table=table, query=query, kept=kept)
        place = named and named.resolve()
        return cls(made, domain, bound, place, same_rows=same_rows, named=named, cache=kept)

    def look(self) -> None:
        """Look into a file that was left for later: what is wrong with it is said now."""
        self._engine.schema()

    @property
    def in_memory(self) -> bool:
        """Whether the rows are a frame of the caller's; a source that does not say so is none."""
        return getattr(self._engine, "in_memory", False)

    @property
    def written(self) -> bytes | None:
        """When the data file was last changed, as a run's first line keeps it; None where it is no file.

        Of a CSV file it also says how it is read: the same bytes are other rows in another encoding.
        """
        time, way = self._engine.written, getattr(self._engine, "way", "")
        return None if time is None else f"{time}/{way}".removesuffix("/").encode()

    @property
    def _reading(self) -> Reading | None:
        """How a CSV file was read: for its owner, and nobody else."""
        return self._engine.reading if isinstance(self._engine, FileEngine | LaterFile) else None

    def _check_columns(self) -> None:
        """Every declared column is there and of a type that fits: one sentence to the owner if not."""
        schema = self._engine.schema()
        names = self.domain.columns if isinstance(self.domain, Domain) else (self.domain.column,)
        wanted = [*names, *([self.unit.column] if self.unit else [])]
        held = [name for name in schema.names if name != IDS]
        refuse_absent(wanted, held, untyped=self._engine.untyped)
        if isinstance(self.domain, Domain):
            for name, attribute in self.domain.items():
                column = attribute.column or name
                if wrong := attribute.check_column(schema.field(column).type, untyped=self._engine.untyped):
                    raise DomainMismatch(f"column {column!r} {wrong}")
        elif kind_of(schema.field(self.domain.column).type) == "other":
            raise DomainMismatch(f"column {self.domain.column!r} holds no names: they are text or numbers")
        for name in wanted:
            zone = getattr(schema.field(name).type, "tz", None)
            if zone is not None and not zone_is_known(zone):
                raise DomainMismatch(f"column {name!r} has times in a zone that is not known here, {zone!r}")
        spelled = IDS in schema.names and unit_ids.type_of(schema.field(IDS).type) == "binary"  # of objects
        ids = schema.field(self.unit.column).type if self.unit and not spelled else None
        if self.unit and ids is not None and (wrong := unit_ids.refusal(ids, self.unit.type)):
            raise DomainMismatch(f"column {self.unit.column!r} {wrong}")
        self._engine.check(list(dict.fromkeys(wanted)))

    def __repr__(self) -> str:
        unit = f", unit={self.unit.column!r}, max_rows={self.unit.max_rows}" if self.unit else ""
        return f"Table({self.domain!r}{unit})"

    def __reduce__(self) -> Any:
        raise TypeError("a table of private rows cannot be pickled")


class Rows:
    """Exact integers about bounded rows; made by the curator for itself and shown to nobody else."""

    def __init__(self, table: Table, key: bytes, spelling: int = SPELLING) -> None:
        self._table = table
        self._key = key
        self._spelling = spelling
        self._codes: list[NDArray[Any]] | None = None
        self._own: list[values.Remainders] = []  # beside those codes, where they were bounded
        self._sums: dict[tuple[Any, ...], NDArray[np.int64]] = {}
        self._tables: OrderedDict[tuple[str, ...], NDArray[np.int64]] = OrderedDict()
        self._held = 0  # bytes of those tables
        self._lock = threading.RLock()  # one reader at a time: engines and caches are shared
        self.exact: dict[bytes, NDArray[np.int64]] = {}  # of answers about a frame, see `curator.refining`

    @cached_property
    def _named(self) -> CountedNames:
        """Of an open domain: counts of its names."""
        return CountedNames()

    @property
    def domain(self) -> Domain:
        """The finite domain the rows are coded in."""
        if not isinstance(self._table.domain, Domain):
            raise DomainMismatch("this table has an open domain of names; it has no contingency tables")
        return self._table.domain

    def tables(self, cliques: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], NDArray[np.int64]]:
        """Exact contingency tables, all that are not cached in one pass over the rows."""
        for clique in cliques:
            if self.domain.cells(clique) > CELL_LIMIT:
                raise RangeTooLarge(
                    f"the table {' x '.join(clique)} has {self.domain.cells(clique):,} cells, more than "
                    f"{CELL_LIMIT:,}: ask about fewer attributes, or declare fewer levels"
                )
        wanted = dict.fromkeys(cliques)
        with self._lock:
            new = [c for c in wanted if c not in self._tables]
            found = {c: self._tables[c] for c in wanted if c in self._tables}
            if new:
                found |= self._counted(new)
            for clique in wanted:
                self._remember(clique, found[clique])
            return found

    def _counted(self, cliques: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], NDArray[np.int64]]:
        """Tables counted where the rows are, if the engine can, or in one pass over its batches."""
        if self._codes is None:
            own = counted_by(self._table._engine, self.domain, cliques, self._bound)
            if own is not None:
                return own
        places = tuple(tuple(self.domain.index(a) for a in c) for c in cliques)
        return dict(zip(cliques, self.summed(TableCounts(self.domain.shape, places)), strict=True))

    def summed(self, work: RowSum) -> list[NDArray[np.int64]]:
        """Sums over all rows, made where the rows are if the engine can."""
        with self._lock:
            if self._codes is None:
                found = summed_by(self._table._engine, self.domain, work, self._bound)
                if found is not None:
                    return found
            if work.numbers:
                return work(Coded(codes, own) for codes, own in self._with_values(work.numbers))
            return work(Coded(codes, {}) for codes in self._batches())

    def _remember(self, clique: tuple[str, ...], table: NDArray[np.int64]) -> None:
        """A cache of tables bounded in bytes, the least recently used out first."""
        table.setflags(write=False)
        self._held += table.nbytes - (self._tables[clique].nbytes if clique in self._tables else 0)
        self._tables[clique] = table
        self._tables.move_to_end(clique)
        while self._held > _KEEP_TABLES_BYTES and self._tables:
            self._held -= self._tables.popitem(last=False)[1].nbytes

    def count_where(self, attributes: Sequence[str], factors: Sequence[NDArray[np.int64]]) -> int:
        """The exact sum over rows of a product of per-attribute weights, without a table."""
        places = tuple(self.domain.index(a) for a in attributes)
        return ProductSum.whole(self.summed(ProductSum(places, tuple(factors))))

    def weighed(self, attributes: tuple[str, ...], value: Valued) -> NDArray[np.int64]:
        """For every cell over some attributes the exact sum of what its rows are worth."""
        key = (attributes, value.digest, value.most.tobytes())  # what was kept may weigh no more than asked
        with self._lock:
            if key not in self._sums:
                (made,) = self.summed(WeightSum(self.domain, attributes, value))
                values.keep(self._sums, key, made, _KEEP_TABLES_BYTES)
            return self._sums[key]

    def remainder_sums(self, names: Sequence[str]) -> dict[tuple[str, str], NDArray[np.int64]]:
        """What numbers are beyond the middles of their bins, summed by the levels of every attribute."""
        work = NumberSums(self.domain, tuple(names))
        return dict(zip(work.keys, self.summed(work), strict=True))

    def names(self, elements: Iterable[str]) -> dict[str, int]:
        """How many rows carry each of some names of an open domain."""
        with self._lock:
            return self._named.of(self, elements)

    def all_names(self) -> tuple[list[str], NDArray[np.int64]]:
        """Every name of an open domain that some row carries, and how many do."""
        with self._lock:
            return self._named.all(self)

    def summed_names(self, work: NameSum) -> list[NDArray[np.int64]]:
        """Sums over all rows' names, made where the rows are if the engine can."""
        with self._lock:
            return self._named.summed(self, work)

    def records(self) -> tuple[NDArray[np.int64], list[NDArray[Any]]]:
        """Each row's unit (0, 1, ...) and the coded columns, for local randomisers."""
        nothing = np.zeros((len(self.domain), 0), dtype=np.uint8)
        with self._lock:
            codes = np.concatenate([nothing, *self._batches()], axis=1)
        if self._table.unit is None:
            return np.arange(codes.shape[1], dtype=np.int64), list(codes)
        return self._owner, list(codes)

    def units(self) -> int:
        """The number of protected units, which is public under `replace` and private otherwise."""
        if not isinstance(self._table.domain, Domain):
            with self._lock:
                return self._named.units(self)
        if self._table.unit is None:
            return int(self.tables([()])[()])
        owners, _ = self.records()
        return int(owners.max(initial=-1)) + 1

    # -- reading ------------------------------------------------------------------------------------------

    def _batches(self) -> Iterator[NDArray[Any]]:
        """Coded rows, a batch at a time; kept in memory when they are small or had to be bounded."""
        if self._codes is not None:
            yield from self._codes
            return
        if self._table.unit is not None:
            self._codes = [self._bounded()]
            yield from self._codes
            return
        kept: list[NDArray[Any]] | None = []
        size = 0
        for codes in (rows.codes for rows in self._coded(())):
            size += codes.nbytes
            if size > _KEEP_ROWS_BYTES:
                kept = None
            elif kept is not None:
                kept.append(codes)
            yield codes
        self._codes = kept

    def _coded(self, names: Sequence[str]) -> Iterator[Coded]:
        """All rows, with their own numbers in some attributes; parsed once where the data has a cache."""
        cache = self._table._cache if self._spelling == SPELLING else None
        if cache is None or not cache.is_current:
            return self._parsed(names)
        return cache.read() or cache.write(self._parsed(cache.numbers))

    def _parsed(self, names: Sequence[str]) -> Iterator[Coded]:
        unit = self._table.unit
        columns = [*self.domain.columns, *([] if unit is None else [self._ids_column(unit)])]
        spelling = None if unit is None else self._spelling
        for batch in self._read(columns):
            yield coded_rows(self.domain, batch, names, spelling)

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the engine; whoever wrote it, no error of it quotes a row."""
        with reading():
            for batch in self._table._engine.batches(columns):
                yield from map(self._named_rows, readable_parts(batch))

    def _with_values(self, names: Sequence[str]) -> Iterator[tuple[NDArray[Any], values.Remainders]]:
        """Coded rows with their own numbers, read in one pass: engines may give rows in any order."""
        if self._table.unit is not None:
            codes = list(self._batches())  # bounding reads both
            yield from zip(codes, self._own, strict=True)
            return
        for rows in self._coded(names):
            yield rows.codes, rows.numbers

    @property
    def _bound(self) -> Bound | None:
        unit = self._table.unit
        return None if unit is None else Bound(unit, self._key, self._spelling)

    def _bounded(self) -> NDArray[Any]:
        """All coded rows after contribution bounding."""
        assert self._bound is not None
        rows = self._coded(values.binned(self.domain))
        codes, self._owner, own = kept_values(self.domain, rows, self._bound)
        self._own = [own]
        return codes

    def _named_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch, its last column the unit's, without lines in which that cell cannot be read.

        A line that could be anybody's must not count as a person of its own, as one without a name may.
        """
        if self._table._reading is None or self._table.unit is None:
            return batch
        return batch.filter(batch.column(batch.num_columns - 1).is_valid())

    def _ids_column(self, unit: Unit) -> str:
        """The column that ids are read from: objects have one of their own, which version 1 does not know."""
        own = self._spelling > 1 and IDS in self._table._engine.schema().names
        return IDS if own else unit.column
