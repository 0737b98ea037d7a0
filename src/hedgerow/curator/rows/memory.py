"""The in-memory engine: pandas, polars and Arrow frames, or a mapping of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.engine import BATCH_ROWS
from hedgerow.curator.rows.parquet_files import spelled_out
from hedgerow.curator.rows.unit_ids import spell, spell_objects, type_of
from hedgerow.errors import SourceError
from hedgerow.queries.domain.encoding import is_object, to_arrow, typed_arrow

if TYPE_CHECKING:
    import pyarrow as pa

IDS = "(unit ids)"
"""A column beside the frame's own: ids that the unit's column may not tell apart.

Those of objects are spelled already, as bytes; those of a typed column are text, see `_ids`.
"""


class MemoryEngine:
    """Rows held by the caller's own frame.

    Args:
        frame: the rows.
        unit, unit_type: the column that names units, and the declared type of its objects.
        moments: the columns whose hours are read.
    """

    untyped = False
    in_memory = True
    written: int | None = None

    def __init__(
        self,
        frame: Any,
        unit: str | None = None,
        unit_type: str | None = None,
        moments: Collection[str] = (),
    ) -> None:
        self._table, self.untyped = arrow_table(frame, unit, unit_type, moments)

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._table.schema

    def check(self, columns: Sequence[str]) -> None:
        """A frame that is broken as a whole is refused before anything is asked."""
        check_text(self._table.select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns."""
        yield from self._table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


def check_text(table: pa.Table) -> None:
    """Refuse columns whose memory is broken; what single cells hold is no matter, see `_readable`."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not all(map(_is_sound, column.chunks)):
            raise SourceError(f"column {name!r} is broken inside; make the frame anew")


def _is_sound(array: pa.Array) -> bool:
    """Whether every cell can be looked at: text and bytes lie where they should, whatever they are."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return _is_sound(array.dictionary)
    try:  # Arrow also judges values (no date64 within a day), but those are single cells' matter
        array.validate(full=type_of(array.type) in ("text", "binary"))
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return False
    return True


def arrow_table(
    frame: Any, unit: str | None = None, unit_type: str | None = None, moments: Collection[str] = ()
) -> tuple[pa.Table, bool]:
    """Any frame as an Arrow table, and whether its text columns may hold anything (mixed objects).

    Cells that are no text are missing. Ids that would be lost so are in a column of their own, IDS.
    """
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    columns = {} if isinstance(frame, pa.Table) else _columns(frame)
    table = frame if isinstance(frame, pa.Table) else _table(columns, moments)
    ids: pa.Array | pa.ChunkedArray | None = None
    if unit in columns and typed_arrow(columns[unit]) is None:
        ids = spell_objects(columns[unit], "text" if _is_text(columns[unit]) else unit_type)
    elif table.column_names.count(unit) == 1:
        ids = _ids(table.column(unit))
    table = pa.table([_readable(column) for column in table.columns], schema=table.schema)
    if unit is not None and IDS in table.column_names:
        raise SourceError(f"a column is called {IDS!r}: give it another name")
    table = table if ids is None else table.append_column(IDS, ids)
    return table, any(map(_is_untyped, columns.values()))


def _table(columns: dict[str, Any], moments: Collection[str]) -> pa.Table:
    import pyarrow as pa

    arrays = {}
    for name, column in columns.items():
        try:
            arrays[name] = to_arrow(column, timed=name in moments)
        except SystemError:  # text of NumPy that is no Unicode
            raise SourceError(f"column {name!r} is broken inside; make the frame anew") from None
    if len({len(array) for array in arrays.values()}) > 1:
        raise SourceError("the columns do not have the same length: each has one value for every row")
    return pa.table(arrays)


def _columns(frame: Any) -> dict[str, Any]:
    """The columns of a frame or a mapping by name."""
    if hasattr(frame, "collect") and type(frame).__module__.startswith("polars"):
        frame = frame.collect()
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise SourceError(
            f"a {type(frame).__name__} is not a table; give a file, a frame or a mapping of columns"
        )
    names = list(frame if isinstance(frame, Mapping) else frame.columns)
    if len({str(name) for name in names}) < len(names):
        twice = next(str(name) for i, name in enumerate(names) if str(name) in map(str, names[:i]))
        raise SourceError(f"two columns are called {twice!r}: rename one")
    columns = {str(name): frame[name] for name in names}
    return {name: c if hasattr(c, "__len__") else list(c) for name, c in columns.items()}


def _is_text(column: Any) -> bool:
    """Whether it is a column of text, of pandas or NumPy."""
    dtype = getattr(column, "dtype", None)
    return getattr(dtype, "kind", "") == "U" or str(dtype).startswith("str")


def _is_untyped(column: Any) -> bool:
    polars = type(column).__module__.startswith("polars")
    return is_object(column) and not polars


def _ids(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The ids of a typed column in which `_readable` makes some cells missing, as text; None if it does not.

    An id that is no text, or no day, is still one person's in all its rows.
    """
    import pyarrow as pa

    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if type_of(plain) != "text" and not pa.types.is_date64(plain):
        return None
    chunks = [_id_chunk(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks, chunks[0].type if chunks else pa.string())


def _id_chunk(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(_readable_chunk(array).indices, _id_chunk(array.dictionary))
    if pa.types.is_date64(array.type):
        return spell(array).cast(pa.string())
    return spelled_out(array) if _is_sound(array.cast(pa.large_binary())) else array


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in which what Arrow does not allow is missing, and the rest stays.

    That is text which is not UTF-8, codes without a level, and a date64 within a day: readers differ in what
    they make of it.
    """
    import pyarrow as pa

    return pa.chunked_array([_readable_chunk(chunk) for chunk in column.chunks], column.type)


def _readable_chunk(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        held, levels = array.dictionary, _readable_chunk(array.dictionary)
        codes = pc.cast(array.indices, pa.int64(), safe=False)  # those beyond it become negative
        least, most = pc.min_max(codes).as_py().values()
        if levels is held and (least is None or 0 <= least <= most < len(levels)):
            return array
        known = pc.and_(pc.greater_equal(codes, 0), pc.less(codes, len(levels)))
        codes = pc.if_else(known, array.indices, pa.scalar(None, array.indices.type))
        return pa.DictionaryArray.from_arrays(codes, levels, ordered=array.type.ordered)
    if pa.types.is_date64(array.type):
        whole = pc.equal(pc.cast(array, pa.date32(), safe=False).cast(pa.date64()), array)
        return pc.if_else(whole, array, pa.scalar(None, array.type))
    if type_of(array.type) != "text" or _is_sound(array):
        return array
    cells = array.cast(pa.large_binary())
    if not _is_sound(cells):
        return array  # for `check_text` to refuse
    return pa.array([_text(cell) for cell in cells.to_pylist()], array.type)


def _text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None
