"""Domain: the declared, public attributes that rows are read through; OpenDomain: names without end."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, HedgerowError, UnknownColumn, of_system
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates, bins
from hedgerow.queries.domain.hours import Hours
from hedgerow.queries.domain.joined import JoinedTable
from hedgerow.queries.domain.lookup import lookups_of
from hedgerow.queries.domain.schema_file import read_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray


_KINDS = ("levels", "edges", "bins", "dates", "hours")
_OPTIONS = ("other", "missing", "hierarchy", "format", "decimal", "whole", "step")
_BESIDE = ("attributes", "confirmed", "csv", "lookups", "tables")
_SUCH = {
    "levels": "`levels: [a, b]`",
    "edges": "`edges: [0, 18, 65]`",
    "bins": "`bins: [start, stop, width]`",
    "dates": "`dates: {start: 2020-01-01, stop: 2025-01-01, by: month}`",
    "hours": "`hours: {of: pickup}`",
}
_MOST_LEVELS = 1 << 27


class Domain(Mapping[str, Attribute]):
    """The finite set of possible rows: named attributes, each with declared levels.

    A domain is public knowledge that the data's owner declares; it is never inferred from rows.

    Args:
        attributes: name -> Attribute, list of levels, or a number k for the levels 0..k-1.
        lookups: name -> public table for JOINs in SQL, see `Lookup.of`; no part of what a domain is.
        tables: tables beside the facts, `JoinedTable`s, that SQL may name; what they hold is not kept here.

    >>> domain = Domain({"sex": ["F", "M"], "age": bins(0, 100, 5)})
    >>> domain.shape, domain.size
    ((2, 20), 40)
    """

    def __init__(
        self, attributes: Mapping[str, Any], lookups: Mapping[str, Any] | None = None, tables: Any = None
    ) -> None:
        if not isinstance(attributes, Mapping):
            raise DomainMismatch("a domain is declared by a mapping of attributes' names to their levels")
        if not attributes:
            raise DomainMismatch("a domain needs at least one attribute")
        self._attributes = {str(name): _attribute(str(name), spec) for name, spec in attributes.items()}
        _refuse_hours(self._attributes)
        self.lookups = {} if lookups is None else lookups_of(lookups)
        joined = () if tables is None else JoinedTable.declared(tables, files=False)
        self.tables = {table.name: replace(table, source=None) for table in joined}

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a schema from a YAML or JSON file."""
        return cls.from_schema(read_schema(path))

    @classmethod
    def from_schema(cls, schema: Any) -> Domain:
        """Build a domain from plain data: `{"attributes": {...}}` or the attributes themselves.

        A `confirmed: true/false` beside them is the owner's mark on a schema file, and no attribute; beside
        `attributes` may stand `csv`, `lookups` and `tables` too, and nothing else.
        """
        body = schema.get("attributes", schema) if isinstance(schema, dict) else None
        if body is schema and isinstance(schema, dict) and isinstance(schema.get("confirmed"), bool):
            body = {name: spec for name, spec in schema.items() if name != "confirmed"}
        if not isinstance(body, dict):
            raise DomainMismatch(
                "a schema is a mapping of attribute names to their levels: `hedgerow schema infer` writes one"
            )
        if None in body:
            raise DomainMismatch("an attribute needs a name; put the words null and ~ into quotes")
        for key in schema if body is schema.get("attributes") else ():
            if key not in _BESIDE:
                raise DomainMismatch(f"a schema has no {key!r} beside `attributes`{_near(key, _BESIDE)}")
        beside = schema if body is schema.get("attributes") else {}
        return cls(body, beside.get("lookups"), beside.get("tables"))

    def to_schema(self) -> dict[str, Any]:
        """The domain as plain data, as `load` reads it."""
        held = {name: one.to_schema() for name, one in self.lookups.items()}
        joined = {name: one.to_schema() for name, one in self.tables.items()}
        return self._declared() | ({"lookups": held} if held else {}) | ({"tables": joined} if joined else {})

    def _declared(self) -> dict[str, Any]:
        return {"attributes": {name: a.to_schema() for name, a in self.items()}}

    def save(self, path: str | Path) -> None:
        """Write the schema as YAML, or as JSON when the name ends so."""
        import yaml

        schema = self.to_schema()
        as_json = str(path).endswith(".json")
        text = (
            json.dumps(schema, indent=2, default=str)
            if as_json
            else yaml.safe_dump(schema, sort_keys=False, allow_unicode=True)
        )
        if not isinstance(path, str | PathLike) or not str(path):
            raise DomainMismatch("a schema is saved to the path of a file")
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise of_system(error, f"the file {str(path)!r} cannot be written") from None

    def __getitem__(self, name: str) -> Attribute:
        if not isinstance(name, str):
            raise DomainMismatch("an attribute is called by its name, which is a text")
        try:
            return self._attributes[name]
        except KeyError:
            hint = _near(name, self._attributes) or f"; there is {', '.join(self._attributes)}"
            raise UnknownColumn(f"there is no attribute {name!r}{hint}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and list(self.items()) == list(other.items())

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{name}: {a.size}' for name, a in self.items())})"

    def _repr_html_(self) -> str:
        left = 'style="text-align:left;padding-right:1em"'
        rows = "".join(
            f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(attribute.describe())}</td></tr>"
            for name, attribute in self.items()
        )
        return f"<table>{rows}</table>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names in order."""
        return tuple(self._attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every attribute."""
        return tuple(a.size for a in self._attributes.values())

    @property
    def size(self) -> int:
        """The number of possible rows |X|, an exact integer of any size."""
        return prod(self.shape)

    @property
    def fingerprint(self) -> str:
        """A digest of the schema, the same for equal domains."""
        text = json.dumps(self._declared(), sort_keys=False, default=str, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def index(self, name: str) -> int:
        """The position of an attribute."""
        self[name]
        return self.names.index(name)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the attributes are read from, each once, in order."""
        return tuple(dict.fromkeys(a.column or name for name, a in self._attributes.items()))

    def place(self, name: str) -> int:
        """Where among `columns` the one is that an attribute is read from."""
        return self.columns.index(self[name].column or name)

    def hours_of(self, column: str) -> str | None:
        """The attribute that holds the hours of a column of moments, whatever the case of its name."""
        held = ((name, a.of or name) for name, a in self._attributes.items() if isinstance(a, Hours))
        return next((name for name, of in held if of.casefold() == column.casefold()), None)

    @property
    def moments(self) -> frozenset[str]:
        """The columns whose hours are read."""
        held = self._attributes.items()
        return frozenset(a.of or name for name, a in held if isinstance(a, Hours))

    def order(self, names: Iterable[str]) -> tuple[str, ...]:
        """The given attributes without repeats, in the domain's order."""
        if not isinstance(names, Iterable):
            raise DomainMismatch("attributes are given as a list of their names")
        wanted = list(names)
        for name in wanted:
            self[name]
        kept = set(wanted)
        return tuple(name for name in self if name in kept)

    def shape_of(self, names: Iterable[str]) -> tuple[int, ...]:
        """The shape of the table over some attributes."""
        if not isinstance(names, Iterable):
            raise DomainMismatch("attributes are given as a list of their names")
        return tuple(self[name].size for name in names)

    def cells(self, names: Iterable[str]) -> int:
        """The number of cells of the table over some attributes."""
        return prod(self.shape_of(names))

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some of the attributes."""
        return Domain({name: self[name] for name in names})

    def encode(self, frame: Any) -> dict[str, NDArray[np.int32]]:
        """Level codes of every attribute of a frame or mapping of columns."""
        columns: dict[str, Any] = {}
        with suppress(LookupError, TypeError, ValueError):
            columns = {name: frame[name] for name in self.columns if isinstance(frame[name], Iterable)}
        if len(columns) < len(self.columns):
            wanted = ", ".join(self.columns)
            raise DomainMismatch(f"what is encoded is a frame, or a mapping, with the columns {wanted}")
        return {name: a.encode(columns[a.column or name]) for name, a in self.items()}

    def decode(self, codes: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Representative values of coded columns."""
        return {name: self[name].decode(column) for name, column in codes.items()}


@dataclass(frozen=True)
class OpenDomain:
    """A universe of names without a declared list: words, URLs, product codes of any length.

    Args:
        column: the column that holds the names, when rows come from a table.
    """

    column: str = "name"

    @property
    def size(self) -> float:
        """Infinite: anything may be a name."""
        return float("inf")

    def to_schema(self) -> dict[str, Any]:
        """Plain data."""
        return {"open": self.column}


def _attribute(name: str, spec: Any) -> Attribute:
    """One attribute from its schema entry; errors name the attribute."""
    try:
        return _build(spec)
    except HedgerowError as error:
        raise DomainMismatch(f"attribute {name!r}: {error}") from None
    except TypeError:
        raise DomainMismatch(
            f"attribute {name!r}: the schema entry has an option that does not exist"
        ) from None


def _refuse_hours(attributes: Mapping[str, Attribute]) -> None:
    """Refuse hours of one column twice, and hours by another zone than its days."""
    seen: set[str] = set()
    for name, one in attributes.items():
        if not isinstance(one, Hours):
            continue
        of = one.of or name
        beside = attributes.get(of)
        if isinstance(beside, Dates) and beside.zone != one.zone:
            raise DomainMismatch(f"attribute {name!r}: hours are read in the zone of the days of {of!r}")
        if of.casefold() in seen:
            raise DomainMismatch(f"attribute {name!r}: the hours of {of!r} are declared twice")
        seen.add(of.casefold())


def _build(spec: Any) -> Attribute:
    """The attribute that a schema entry, or a caller, declares."""
    if isinstance(spec, Attribute):
        return spec
    if isinstance(spec, int) and not isinstance(spec, bool):
        if not 1 <= spec <= _MOST_LEVELS:
            raise DomainMismatch(f"needs at least one level, and at most {_MOST_LEVELS:,}")
        return Categorical(range(spec))
    if isinstance(spec, (list, tuple, range)):
        return Categorical(spec)
    if not isinstance(spec, dict):
        raise DomainMismatch("is declared by a list of levels, a number of levels, or a mapping")
    options = dict(spec)
    for key in options:
        if key not in (*_KINDS, *_OPTIONS):
            raise DomainMismatch(f"does not know the option {key!r}{_near(key, (*_KINDS, *_OPTIONS))}")
    kinds = [k for k in _KINDS if k in options]
    if len(kinds) != 1:
        raise DomainMismatch("needs exactly one of `levels`, `edges`, `bins`, `dates` and `hours`")
    for key in ("whole", "step"):
        if key in options and kinds[0] not in ("edges", "bins"):
            raise DomainMismatch(f"has `{key}`, which is for `edges` and `bins` alone")
    kind, body = kinds[0], options.pop(kinds[0])
    try:
        if kind == "levels":
            return Categorical(range(body) if isinstance(body, int) else body, **options)
        if kind == "edges":
            return Bins(body, **options)
        if kind == "dates":
            return Dates(**body, **options)
        if kind == "hours":
            return Hours(
                **({} if body is True else body if isinstance(body, dict) else {"of": body}), **options
            )
        return bins(**body, **options) if isinstance(body, dict) else bins(*body, **options)
    except (TypeError, ValueError):
        raise DomainMismatch(f"has a malformed `{kind}` entry: write {_SUCH[kind]}") from None


def _near(name: object, names: Iterable[str]) -> str:
    """A hint at the name that was meant, if one is near."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
