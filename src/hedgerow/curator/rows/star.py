"""StarEngine: facts with the columns of tables beside them, joined in this room.

A row of the facts gets the one row of its unit in each table about units, and the one row of its key in each
public table; what is not found is missing. A unit that has several rows in a table about units has the one of
them whose values come first as text: a function of that unit's rows alone. So each row that leaves here
depends on one unit, and bounding comes after (docs/tables.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.engine import Engine, reading
from hedgerow.curator.rows.files import FileEngine, refuse_absent
from hedgerow.curator.rows.memory import IDS, MemoryEngine
from hedgerow.curator.rows.plain import plain_table, readable_parts
from hedgerow.curator.rows.unit_ids import refusal, spell
from hedgerow.errors import DomainMismatch, SourceError
from hedgerow.queries.domain.encoding import as_text, kind_of
from hedgerow.queries.domain.joined import JoinedTable

if TYPE_CHECKING:
    import pyarrow as pa


class StarEngine(Engine):
    """Facts and the tables beside them, as one source of rows.

    Args:
        facts: the facts: a file, a frame, or an engine.
        unit: the column of the facts that names the protected unit.
        tables: what is joined to them.
        unit_type: the declared type of ids in columns of objects.
        options: of CSV facts: encoding, delimiter, multiline.

    >>> facts = {"who": [1, 1, 2], "what": ["x", "y", "x"]}
    >>> people = JoinedTable("people", {"who": [1, 2], "sex": ["F", "M"]}, "who", "who")
    >>> star = StarEngine(facts, "who", [people])
    >>> [batch.num_rows for batch in star.batches(["what", "sex"])]
    [3]
    """

    def __init__(
        self,
        facts: Any,
        unit: str | None,
        tables: Sequence[JoinedTable],
        *,
        unit_type: str | None = None,
        **options: Any,
    ) -> None:
        for table in tables:
            if why := table.refused(unit):
                raise DomainMismatch(why)
            if isinstance(table.source, StarEngine):
                raise DomainMismatch(
                    f"the table {table.name!r} is joined already: join its tables to the facts"
                )
        if isinstance(facts, StarEngine) and (why := facts.refused(unit)):
            raise DomainMismatch(why)
        self._facts = _opened(facts, unit, unit_type, **options)
        self._parts = [
            _Part(table, _opened(table.source, table.key, unit_type), unit_type) for table in tables
        ]
        held = [n for n in self._facts.schema().names if n != IDS]
        refuse_absent([t.on for t in tables], held, untyped=self._facts.untyped)
        self._unit = unit
        self.identity = getattr(self._facts, "identity", None)
        self.way: str = getattr(self._facts, "way", "")
        self.untyped = any(engine.untyped for engine in self._engines)
        self.in_memory = all(getattr(engine, "in_memory", False) for engine in self._engines)
        for part in self._parts:
            if twice := sorted(set(part.brings) & set(held)):
                raise DomainMismatch(
                    f"column {twice[0]!r} is in {part.table.name!r} and elsewhere: rename one"
                )
            held += part.brings

    def refused(self, unit: str | None) -> str | None:
        """Why it may not be read where `unit` is protected, or None: tables about others were joined."""
        if unit == self._unit:
            return None
        here, there = (f"unit={name!r}" if name else "no unit" for name in (self._unit, unit))
        return f"the tables were joined for {here}, and the table is opened with {there}: say the same twice"

    @property
    def written(self) -> int | None:
        """When the newest of the files was changed; None where one of the tables is no file."""
        times = [e.written for e in self._engines]
        return None if any(t is None for t in times) else max(t for t in times if t is not None)

    @property
    def _engines(self) -> list[Engine]:
        return [self._facts, *(part.engine for part in self._parts)]

    def schema(self) -> pa.Schema:
        """Columns of the facts, then those that the tables bring."""
        import pyarrow as pa

        fields = list(self._facts.schema())
        return pa.schema([*fields, *(part.field(n) for part in self._parts for n in part.brings)])

    def check(self, columns: Sequence[str]) -> None:
        """What is broken as a whole is refused before anything is asked; each table by its own columns."""
        brought = {name for part in self._parts for name in part.brings}
        own = [*(n for n in columns if n not in brought), *(p.table.on for p in self._parts)]
        self._facts.check(list(dict.fromkeys(own)))
        for part in self._parts:
            part.engine.check([part.table.key, *(n for n in part.brings if n in columns)])
            part.look()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All facts with what is joined to them."""
        import pyarrow as pa

        brought = {name: part for part in self._parts for name in part.brings}
        held = self._facts.schema().names
        used = list(dict.fromkeys(brought[n] for n in columns if n in brought))
        keys = {part: self._key(part, held) for part in used}
        own = list(dict.fromkeys([*(n for n in columns if n not in brought), *keys.values()]))
        read = list(dict.fromkeys([*own, *([self._unit] if self._unit else [])]))
        for part in used:
            part.look()
        for found in self._facts.batches(read):
            batch = self._named(found)
            places = {part: part.places(batch.column(read.index(keys[part]))) for part in used}
            arrays = [
                brought[n].take(n, places[brought[n]]) if n in brought else batch.column(read.index(n))
                for n in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))

    def _key(self, part: _Part, held: Sequence[str]) -> str:
        """The column of the facts that a part is found by: ids of objects have one of their own."""
        return IDS if part.table.on == self._unit and IDS in held else part.table.on

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without lines of a CSV file in which the unit's cell cannot be read: they could be anybody's."""
        if self._unit is None or getattr(self._facts, "reading", None) is None:
            return batch
        return batch.filter(batch.column(self._unit).is_valid())


class _Part:
    """One joined table, read once: its keys, each with one row."""

    def __init__(self, table: JoinedTable, engine: Engine, unit_type: str | None) -> None:
        self.table, self.engine = table, engine
        schema = engine.schema()
        refuse_absent([table.key], [n for n in schema.names if n != IDS], untyped=engine.untyped)
        self._ids = IDS if IDS in schema.names else table.key
        why = refusal(schema.field(table.key).type, unit_type) if self._ids != IDS else None
        if why:
            raise DomainMismatch(f"column {table.key!r} of the table {table.name!r} {why}")
        readable = [n for n in schema.names if kind_of(schema.field(n).type) != "other"]
        self.brings = [n for n in readable if n not in (IDS, table.key)]
        self._rows: pa.Table | None = None
        self._keys: Any = None

    def field(self, name: str) -> pa.Field:
        """A column that it brings."""
        return self.engine.schema().field(name)

    def look(self) -> None:
        """Read it, and keep one row for each key; a public table with a key twice is refused."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._rows is not None:
            return
        columns = list(dict.fromkeys([self.table.key, self._ids, *self.brings]))
        with reading():
            found = list(self.engine.batches(columns))
        schema = pa.schema([self.engine.schema().field(name) for name in columns])
        rows = plain_table([part for batch in found for part in readable_parts(batch)], schema)
        ids = pa.chunked_array([spell(c) for c in rows.column(self._ids).chunks], pa.large_binary())
        texts = [pc.fill_null(_text(rows.column(n)), "\0") for n in self.brings]
        order = pa.table(
            [ids, *texts, pa.array(range(len(rows)), pa.int64())], [str(i) for i in range(len(texts) + 2)]
        )
        order = order.filter(pc.is_valid(order.column(0)))
        order = order.sort_by([(name, "ascending") for name in order.column_names[:-1]])
        kept = _firsts(order.column(0))
        if self.table.public and len(kept) < len(order):
            raise SourceError(f"the public table {self.table.name!r} has a key in more than one row")
        order = order.take(pa.array(kept, pa.int64()))
        self._keys = order.column(0).combine_chunks()
        self._rows = rows.take(order.column(order.num_columns - 1)).combine_chunks()

    def places(self, keys: pa.Array) -> pa.Array:
        """Where the row of each key is; null where there is none."""
        import pyarrow.compute as pc

        return pc.index_in(spell(keys), value_set=self._keys)

    def take(self, name: str, places: pa.Array) -> pa.Array:
        """A column, as it is joined."""
        assert self._rows is not None
        taken = self._rows.column(name).take(places)
        return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    long = pa.large_string()
    return pa.chunked_array([as_text(chunk).cast(long) for chunk in column.chunks], long)


def _firsts(ids: pa.ChunkedArray) -> list[int]:
    """The places where a sorted column begins a new value."""
    values = ids.to_pylist()
    return [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]


def _opened(source: Any, key: str | None, unit_type: str | None, **options: Any) -> Engine:
    if isinstance(source, Engine):
        return source
    if isinstance(source, str | Path):
        return FileEngine(source, **options)
    return MemoryEngine(source, key, unit_type)
