"""Which engine reads a source: a file, a frame, a database, or an engine that somebody brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hedgerow.curator.rows.csv_file import way_of
from hedgerow.curator.rows.duckdb import DuckDBEngine
from hedgerow.curator.rows.engine import Engine
from hedgerow.curator.rows.files import FileEngine, LaterFile, is_csv
from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.curator.rows.row_cache import RowCache
from hedgerow.curator.rows.star import StarEngine
from hedgerow.curator.rows.unit import Unit
from hedgerow.errors import DomainMismatch, SourceError
from hedgerow.queries.argument import one_of, text
from hedgerow.queries.domain.domain import Domain, OpenDomain

_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class FileOptions:
    """What is said of files, see `Table.open`."""

    encoding: str | None = None
    delimiter: str | None = None
    multiline: bool = False
    watch: Callable[[float | None], None] | None = None
    later: bool = False

    @property
    def of_csv(self) -> dict[str, Any]:
        """What is about CSV text alone."""
        return {"encoding": self.encoding, "delimiter": self.delimiter, "multiline": self.multiline}

    @property
    def said(self) -> bool:
        """Whether anything of it was said that only a file can follow."""
        return self.later or any(self.of_csv.values())


def engine_of(
    source: Any,
    domain: Domain | OpenDomain,
    unit: Unit | None,
    engine: str,
    options: FileOptions,
    *,
    table: str | None = None,
    query: str | None = None,
    kept: RowCache | None = None,
) -> tuple[Engine, Path | None]:
    """The engine for a source, and the file that was named, if it is one.

    A file whose rows are kept was looked into before, in this state and for this schema.
    """
    one_of("engine", engine, "auto", "duckdb", "memory")
    text("table", table)
    text("query", query)
    column = None if unit is None else unit.column
    if isinstance(source, str) and source.startswith(_POSTGRES):
        return _database(source, engine, options, table, query, column), None
    if table is not None or query is not None:
        raise SourceError("`table` and `query` are for databases: postgresql://...")
    if isinstance(source, (str, Path)):
        later = options.later or (kept is not None and kept.path.exists())
        return _file(source, engine, options, later=later), Path(source).absolute()
    if is_spark(source):
        if engine != "auto" or options.said:
            raise SourceError("Spark reads its DataFrames itself: leave `engine` and options of files out")
        from hedgerow.curator.rows.spark import SparkEngine

        return SparkEngine(source), None
    if isinstance(source, Engine):
        if engine != "auto" or options.said:
            raise SourceError("an engine of one's own reads as it was made: leave options of files out")
        if isinstance(source, StarEngine) and (wrong := source.refused(column)):
            raise DomainMismatch(wrong)
        return source, None
    kind = DuckDBEngine if engine == "duckdb" else MemoryEngine
    moments = domain.moments if isinstance(domain, Domain) else ()
    return kind(_columns(source, domain), column, None if unit is None else unit.type, moments), None


def is_spark(source: Any) -> bool:
    """Whether a source is a DataFrame of Spark, classic or Connect, by its class alone."""
    kinds = ((kind.__module__, kind.__name__) for kind in type(source).__mro__)
    return any(module.startswith("pyspark.sql") and name == "DataFrame" for module, name in kinds)


def _file(source: str | Path, engine: str, options: FileOptions, *, later: bool) -> Engine:
    if engine == "memory":
        raise SourceError("files have an engine of their own: leave `engine` out")
    look = partial(FileEngine, source, **options.of_csv, watch=options.watch)
    if not later or not Path(source).is_file():
        return look()
    way = way_of(options.encoding, multiline=options.multiline) if is_csv(source) else ""
    return LaterFile(source, look, repr(tuple(options.of_csv.values())), way)


def _database(
    url: str, engine: str, options: FileOptions, table: str | None, query: str | None, unit: str | None
) -> Engine:
    from hedgerow.curator.rows.postgres import PostgresEngine

    if engine != "auto" or any(options.of_csv.values()):
        raise SourceError("rows in PostgreSQL have an engine of their own: leave options of files out")
    return PostgresEngine(url, table=table, query=query, unit=unit)


def _columns(source: Any, domain: Domain | OpenDomain) -> Any:
    """A frame or a mapping as it is; names of an open domain, in any iterable, as its one column."""
    frame = isinstance(source, Mapping) or hasattr(source, "columns") or hasattr(source, "schema")
    if frame or isinstance(domain, Domain):
        return source
    if not isinstance(source, Iterable):
        raise SourceError("names are read from a file, a frame or a list of them")
    return {domain.column: list(source)}
