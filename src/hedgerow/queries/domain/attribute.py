"""Attribute: a declared, finite list of levels that a column's values are mapped to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import DomainMismatch, UnknownLevel
from hedgerow.queries.domain import encoding, written

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Hierarchy = Mapping[str, Mapping[str, Sequence[Any]]]

_LEVELS = (str, int, float, bool, np.integer, np.floating, np.bool_, Decimal, dt.date, dt.time, np.datetime64)
_MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Attribute:
    """A finite list of levels, with an optional `other` level and an optional missing level at the end.

    A value that names no level goes to `other` if declared, else to the missing level if declared, else to
    the last level; numbers and dates outside their bins are clipped unless `other` is declared. Null, NaN and
    the empty string go to the missing level if declared, else to `other`, else to the last level.

    Args:
        other: declare a level for values outside the domain (a string names it).
        missing: declare a level for missing values; `usual`, or a list of words, says which cells beside
            empty ones are missing (`written.WORDS`: NA, N/A, NULL, none, `-` and others).
        hierarchy: coarser views, `{"chapter": {"circulatory": ["I10", "I21"], ...}}`; levels that no group
            claims form the group "other".
        format: how text is written: `number` or `boolean` for levels (4.0 is 4; yes, Y and TRUE are true),
            a time like `%H:%M` for bins of hours, a day like `%d.%m.%Y` for dates.
        decimal: what stands before the decimals of numbers, `,` or `.`, where the other one may stand between
            thousands.
    """

    other: bool | str = False
    missing: bool = False
    hierarchy: Hierarchy = field(default_factory=dict)
    format: str | None = None
    decimal: str | None = None
    words: str | tuple[Any, ...] = field(default=(), init=False)

    ordered: ClassVar[bool] = False
    accepts: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        """Refuse options of another kind, as a hand-written schema may have them."""
        if not isinstance(self.missing, bool):  # the words that mean it, beside empty cells
            object.__setattr__(self, "words", written.words_of(self.missing))
            object.__setattr__(self, "missing", True)
        if not isinstance(self.other, (bool, str)):
            raise DomainMismatch(f"`other` is true, false or the level's name, not {self.other!r}")
        tree = self.hierarchy
        if not isinstance(tree, Mapping) or not all(isinstance(view, Mapping) for view in tree.values()):
            raise DomainMismatch("`hierarchy` is a mapping of views, each a mapping of groups to levels")
        if self.format is not None and not (isinstance(self.format, str) and self._is_format(self.format)):
            raise DomainMismatch(f"`format` {self.format!r} is none of {self.formats}")
        if self.decimal is not None and (self.decimal not in (",", ".") or not self.takes_decimal):
            raise DomainMismatch("`decimal` is `,` or `.`, for numbers in bins")

    formats: ClassVar[str] = "any kind"
    takes_decimal: ClassVar[bool] = False

    def _is_format(self, format: str) -> bool:
        return False

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """What each proper level is worth in a sum, without `other` and missing."""
        raise NotImplementedError

    @property
    def examples(self) -> tuple[Any, ...]:
        """What a synthetic row holds for each proper level."""
        return self.values

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One printable name per level."""
        names = [*self._value_labels, *([self._other_label] if self.other else [])]
        return tuple([*names, _MISSING] if self.missing else names)

    @property
    def _value_labels(self) -> tuple[str, ...]:
        return tuple(encoding.text_of(v) for v in self.values)

    @property
    def _other_names(self) -> tuple[tuple[str, ...], ...]:
        """More names that levels are found by."""
        return ()

    @property
    def _other_label(self) -> str:
        return self.other if isinstance(self.other, str) else "other"

    @property
    def size(self) -> int:
        """How many levels there are, `other` and missing included."""
        return len(self.values) + bool(self.other) + self.missing

    @property
    def other_code(self) -> int | None:
        """The code of the `other` level, if declared."""
        return len(self.values) if self.other else None

    @property
    def missing_code(self) -> int | None:
        """The code of the missing level, if declared."""
        return self.size - 1 if self.missing else None

    @property
    def _null_code(self) -> int:
        return self.size - 1  # missing if declared, else other, else the last level

    @property
    def _outside_code(self) -> int:
        return self.size - 1 if self.other_code is None else self.other_code

    @property
    def column(self) -> str | None:
        """The column that is read, where it has another name than the attribute."""
        return None

    @property
    def outside_becomes(self) -> str:
        """Where a value goes that names no level, in words for the owner."""
        return self.labels[self._outside_code]

    def encode(self, values: Any) -> NDArray[np.int32]:
        """Level codes of a column (list, NumPy, pandas, polars or Arrow); never fails on a value."""
        return self._encode_arrow(encoding.to_arrow(values))

    def _encode_arrow(self, array: pa.Array) -> NDArray[np.int32]:
        raise NotImplementedError

    def _read(self, array: pa.Array) -> pa.Array:
        """The cells without declared words for nothing, and plainly written."""
        array = written.without(array, self.words) if self.words else array
        return array if self.format is None and self.decimal is None else self._plain(array)

    def _plain(self, array: pa.Array) -> pa.Array:
        raise NotImplementedError

    def decode(self, codes: Any) -> NDArray[Any]:
        """One representative value per code: the level itself, a bin's middle, a period's first day."""
        table = np.empty(self.size, dtype=object)
        table[: len(self.values)] = self.examples
        if self.other:
            table[len(self.values)] = None if self.ordered else self._other_label
        return np.asarray(table[np.asarray(codes)], dtype=object)

    def code(self, value: Any) -> int:
        """The code of one declared level, by label or decoded value; DomainMismatch if there is none."""
        text = encoding.text_of(value)
        held = tuple(map(encoding.text_of, self.examples))
        for names in (self._value_labels, self.labels, held, *self._other_names):
            if text in names:
                return names.index(text)
        if value is None and self.missing:
            return self.size - 1
        shown = repr(value)[:80].splitlines()[0]
        raise UnknownLevel(f"{shown} is not a declared level; the levels are {_some(self.labels)}")

    @property
    def calendar(self) -> tuple[str, ...]:
        """Views that need no declaration; dates have some."""
        return ()

    def groups(self, name: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The groups of one declared hierarchy and the group of every level."""
        if name not in self.hierarchy:
            raise DomainMismatch(
                f"no hierarchy {name!r} is declared; there is {_some(tuple(self.hierarchy))}"
            )
        names = list(self.hierarchy[name])
        parent = np.full(self.size, -1, dtype=np.int32)
        for g, group in enumerate(names):
            for level in self.hierarchy[name][group]:
                code = self.code(level)
                if parent[code] >= 0:
                    raise DomainMismatch(f"hierarchy {name!r} puts level {self.labels[code]!r} in two groups")
                parent[code] = g
        if (parent < 0).any():
            names.append("other")
            parent[parent < 0] = len(names) - 1
        return tuple(names), parent

    def check_column(self, arrow_type: pa.DataType, *, untyped: bool) -> str | None:
        """Why a column of this type does not fit, or None; `untyped` text (CSV) may hold anything."""
        kind = encoding.kind_of(arrow_type)
        if kind == "null" or kind in self.accepts or (kind == "text" and untyped):
            return None
        return f"holds {kind} values, but the schema declares {self.describe()}"

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        raise NotImplementedError

    def to_schema(self) -> Any:
        """The attribute as plain data for a YAML or JSON schema."""
        schema = self._body()
        if self.other:
            schema["other"] = self.other
        if self.missing:
            schema["missing"] = (list(self.words) if isinstance(self.words, tuple) else self.words) or True
        schema |= {k: v for k, v in (("format", self.format), ("decimal", self.decimal)) if v is not None}
        if self.hierarchy:
            schema["hierarchy"] = {n: {g: list(v) for g, v in gs.items()} for n, gs in self.hierarchy.items()}
        return schema

    def _body(self) -> dict[str, Any]:
        raise NotImplementedError

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Attribute) and self.to_schema() == rhs.to_schema()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.size, self.labels))

    def _check_hierarchy(self) -> None:
        for name in self.hierarchy:
            self.groups(name)


@dataclass(frozen=True, eq=False)
class Categorical(Attribute):
    """Named levels, in the declared order.

    >>> Categorical(["F", "M"], missing=True).encode(["M", None, "?"]).tolist()
    [1, 2, 2]
    """

    levels: Sequence[Any] = ()
    accepts: ClassVar[frozenset[str]] = frozenset({"text", "integer", "float", "boolean", "date"})
    formats: ClassVar[str] = "`number` and `boolean`"

    def __init__(self, levels: Sequence[Any], **options: Any) -> None:
        if not isinstance(levels, Iterable):
            raise DomainMismatch("levels are given as a list")
        object.__setattr__(self, "levels", tuple(levels))
        if any(not isinstance(v, _LEVELS) or v != v for v in self.levels):
            raise DomainMismatch("a level is a text, a number, a date or a truth value; see also `missing`")
        super().__init__(**options)
        texts = self._value_labels
        if not texts and not self.other and not self.missing:
            raise DomainMismatch("an attribute needs at least one level")
        if len(set(texts)) < len(texts):
            twice = next(t for i, t in enumerate(texts) if t in texts[:i])
            raise DomainMismatch(f"the level {twice!r} is declared twice: take one of them out")
        if self.other and self._other_label in texts:
            raise DomainMismatch(
                f"the level {self._other_label!r} is declared both as a level and as `other`"
            )
        if self.missing and _MISSING in self.labels[:-1]:
            raise DomainMismatch(
                f"a level is called {_MISSING!r}, as the level for missing values is: rename it"
            )
        self._check_hierarchy()

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The declared levels."""
        return tuple(self.levels)

    @cached_property
    def _lowest(self) -> int | None:
        """The first level when the levels are consecutive integers (then codes are a subtraction).

        They lie below 2^63 - 1, which stands for all larger numbers of a column.
        """
        whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in self.levels)
        if not self.levels or not whole:
            return None
        first, end = int(self.levels[0]), int(self.levels[0]) + len(self.levels)
        fits = first >= -(2**63) and end < 2**63
        return first if fits and list(self.levels) == list(range(first, end)) else None

    def _is_format(self, format: str) -> bool:
        return format in (written.NUMBER, written.BOOLEAN)

    def _plain(self, array: pa.Array) -> pa.Array:
        spelled = written.numbers_spelled if self.format == written.NUMBER else written.truths_spelled
        return spelled(array)

    def _encode_arrow(self, array: pa.Array) -> NDArray[np.int32]:
        return encoding.encode_levels(
            self._read(array), self._value_labels, self._lowest, self._null_code, self._outside_code
        )

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        return f"{len(self.values)} named levels"

    def _body(self) -> dict[str, Any]:
        return {"levels": list(self.levels)}


def _some(names: tuple[str, ...], limit: int = 8) -> str:
    shown = ", ".join(repr(n) for n in names[:limit])
    return (shown or "none") + (f" and {len(names) - limit} more" if len(names) > limit else "")
