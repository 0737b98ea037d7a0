"""What a column and a literal of SQL mean: values per declared level, and how the two compare."""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from hedgerow.errors import CutsBin, UnknownLevel, UnsupportedSQL
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.divided import OtherParts
from hedgerow.queries.domain.encoding import text_of
from hedgerow.queries.domain.refined import Cut, CutAt, places_inside
from hedgerow.queries.sql.near import near, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pair = tuple[NDArray[np.bool_], NDArray[np.bool_]]

Kind = Literal["text", "number", "boolean", "date", "bins", "periods"]
LARGEST = 1e18
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_WHOLE = re.compile(r"[+-]?\d+")
OPS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRROR = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Outside:
    """The value of the `other` level of numbers, dates and booleans: present, different from every level."""


OUTSIDE = _Outside()


@dataclass(frozen=True)
class Constant:
    """A literal: a number, text, a date, a boolean or NULL."""

    kind: Literal["number", "text", "date", "boolean", "null"]
    value: Any = None

    def __str__(self) -> str:
        return repr(self.value)[:60] if self.kind == "text" else text_of(self.value)


@dataclass(frozen=True, eq=False)
class SqlColumn:
    """A name in SQL: an attribute, or one of its hierarchies, as one value per level (None is NULL)."""

    name: str
    attribute: str
    body: Attribute
    hierarchy: str | None
    kind: Kind
    values: tuple[Any, ...]
    cut: Cut | None = None  # the levels are the parts of bins that a statement cuts
    others: OtherParts | None = None  # and of its `other` level

    @property
    def parts(self) -> Sequence[int]:
        """What tells the levels apart for whoever groups by them: the declared ones."""
        parts = range(self.size) if self.cut is None else self.cut.parent.tolist()
        return parts if self.others is None else [parts[k] for k in self.others.parent.tolist()]

    def of_parts(self, cut: Cut, body: Attribute) -> SqlColumn:
        """The same column over the parts of bins."""
        if self.hierarchy is None:
            return replace(SqlColumn.of(self.attribute, body), cut=cut)
        return replace(self, body=body, values=tuple(self.values[k] for k in cut.parent.tolist()), cut=cut)

    def of_others(self, parts: OtherParts, body: Attribute) -> SqlColumn:
        """The same column over the parts of an `other` level."""
        return replace(self, body=body, values=tuple(self.values[k] for k in parts.parent), others=parts)

    @classmethod
    def of(cls, attribute: str, body: Attribute, hierarchy: str | None = None) -> SqlColumn:
        """The column that an attribute, or its hierarchy, declares."""
        if hierarchy is not None:
            names, parent = body.groups(hierarchy)
            return cls(
                hierarchy, attribute, body, hierarchy, "text", tuple(names[g] for g in parent.tolist())
            )
        kind = _kind(body)
        values = _levels(body, kind)
        tail = (
            [None if body.ordered else body.labels[len(values)] if kind == "text" else OUTSIDE]
            if body.other
            else []
        )
        return cls(attribute, attribute, body, None, kind, (*values, *tail, *([None] * body.missing)))

    @property
    def size(self) -> int:
        """The number of the attribute's levels."""
        return len(self.values)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Where the value is not NULL."""
        return np.array([v is not None for v in self.values], dtype=np.bool_)

    @property
    def numeric(self) -> bool:
        """Whether it can be summed."""
        return self.kind in ("number", "bins")

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers, 0 where there is none."""
        good = [float(v) if isinstance(v, (int, float)) else 0.0 for v in self.values]
        return np.array(good, dtype=np.float64)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a value to be ordered or summed: neither NULL nor the `other` of numbers."""
        return np.array([v is not None and v is not OUTSIDE for v in self.values], dtype=np.bool_)

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """SQL's order of the levels (equal values share a rank), -1 for NULL; `other` comes last."""
        place = {
            v: i for i, v in enumerate(sorted({v for v in self.values if v is not None and v is not OUTSIDE}))
        }
        return np.array([-1 if v is None else place.get(v, len(place)) for v in self.values], dtype=np.int64)

    def read(self, constant: Constant) -> Constant:
        """A literal as cells of this column are read: in its format of dates, yes as true, true as 1."""
        if constant.kind == "text" and isinstance(self.body, Dates) and self.body.format is not None:
            return Constant("date", date_of(constant.value, self.body.format))
        if constant.kind == "boolean" and self.tells_truth:
            return Constant("number", int(constant.value))
        word = text_of(constant.value).strip().lower() if constant.kind in ("text", "number") else ""
        if self.kind == "boolean" and word in (*written.TRUE, *written.FALSE):
            return Constant("boolean", word in written.TRUE)
        return constant

    @property
    def tells_truth(self) -> bool:
        """Whether it holds 0 and 1, as programs write truth values."""
        known = {v for v in self.values if v is not None and v is not OUTSIDE}
        return self.kind == "number" and bool(known) and known <= {0, 1}

    def compare(self, op: str, constant: Constant) -> Pair:
        """Where `column op constant` is true and where it is false; neither where it is unknown (NULL)."""
        if constant.kind == "null":
            nowhere = np.zeros(self.size, dtype=np.bool_)
            return nowhere, nowhere
        if op in ("=", "<>") and self._is_other(constant):
            same = np.array([v is OUTSIDE for v in self.values], dtype=np.bool_)
            return (same, self.known) if op == "=" else (self.known, same)
        if self.kind == "bins":
            return self._split(op, _number(self, constant), f"{constant}")
        if self.kind == "periods":
            return self._periods(op, _date(self, constant))
        value = _CONVERT[self.kind](self, constant)
        if op in ("=", "<>"):
            same = self._level(value)
            rest = self.present & ~same
            return (same, rest) if op == "=" else (rest, same)
        compare = OPS[op]
        true = np.array([bool(k and compare(v, value)) for v, k in zip(self.values, self.known, strict=True)])
        return true, self.known & ~true

    def _is_other(self, constant: Constant) -> bool:
        """Whether text is the name by which the `other` level of numbers, dates or booleans is shown."""
        code = self.body.other_code
        return code is not None and OUTSIDE in self.values and constant.value == self.body.labels[code]

    def _level(self, value: Any) -> NDArray[np.bool_]:
        """The levels that have a value, which must be declared."""
        codes = self._codes.get(value)
        if codes is None:
            self._refuse_level(value)
        out = np.zeros(self.size, dtype=np.bool_)
        out[codes] = True
        return out

    def _refuse_level(self, value: Any) -> NoReturn:
        """Refuse what is no declared level, with what is near it: by value, where levels have an order."""
        spelled = text_of(value)[:60]
        if self.kind not in ("number", "date"):
            said, hint = repr(spelled), near(text_of(value), [text_of(v) for v in self._codes])
        else:
            said = repr(spelled) if isinstance(value, str) else spelled
            hint = nearest(None if isinstance(value, str) else value, list(self._codes))
        raise UnknownLevel(f"{said} is not a declared level of {self.name!r}; {hint}")

    @cached_property
    def _codes(self) -> dict[Any, list[int]]:
        out: dict[Any, list[int]] = {}
        for code, value in enumerate(self.values):
            if value is not None and value is not OUTSIDE:
                out.setdefault(value, []).append(code)
        return out

    def _split(self, op: str, c: Any, spelled: str) -> Pair:
        """A comparison with ordered bins, which must not cut one; values beyond the ends are clipped."""
        bins = self._bins
        if bins.stepped or op in ("=", "<>"):
            return self._on_lattice(op, c, spelled)
        edges, through = bins.edge_array, op in ("<=", ">")
        if c <= edges[0]:
            return self._up_to(op, 0)
        if c >= edges[-1]:
            return self._up_to(op, len(edges) - 1)
        at = int(np.searchsorted(edges, c, side="right")) - 1
        if edges[at] == c and not through:
            return self._up_to(op, at)
        return self._before(op, bins.lattice.below(c, through=through), c, spelled)

    def _before(self, op: str, first: int, c: Any, spelled: str) -> Pair:
        """A comparison that divides values before one of them; a bin that lies across it is cut."""
        lattice = self._bins.lattice
        below = int(np.searchsorted(lattice.low, first))
        if lattice.low[0] < first <= lattice.high[-1] and first not in lattice.low[below : below + 1]:
            self._cut(op, [first], c, spelled)
        return self._up_to(op, below)

    def _cut(self, op: str, places: list[int], c: Any, spelled: str) -> NoReturn:
        """Whoever compiles this is told which bins to cut, and what to say where that does not do."""
        words = f"the comparison {self.name} {op} {spelled} cuts a bin; {self._nearest(op, c)}"
        refusal = CutsBin(words)
        if not self._bins.lattice.declared:  # rounded numbers lie on either side of a cut by chance
            refusal.hint = f"declare a step of {self.name!r}: then comparisons may cut its bins"
            raise refusal
        raise CutAt(self.attribute, places_inside(self._bins.lattice, places), refusal)

    def _up_to(self, op: str, below: int) -> Pair:
        """The levels of the first bins, or of the others."""
        less = np.arange(self.size) < below
        true = less if op in ("<", "<=") else ~less
        return true & self.present, ~true & self.present

    def _on_lattice(self, op: str, c: Any, spelled: str) -> Pair:
        """A comparison of values with a step: bins are runs of them, so with step 1 `<= 39` is `< 40`."""
        lattice = self._bins.lattice
        if op in ("=", "<>"):
            same = np.zeros(self.size, dtype=np.bool_)
            k = lattice.place(c) if lattice.declared else lattice.nearest(c)
            if k is not None and lattice.low[0] <= k <= lattice.high[-1]:
                at = int(np.searchsorted(lattice.low, k, side="right")) - 1
                if lattice.half[at]:
                    self._cut(op, [k, k + 1], c, spelled)
                same[at] = True
            rest = self.present & ~same
            return (same, rest) if op == "=" else (rest, same)
        return self._before(op, lattice.below(c, through=op in ("<=", ">")), c, spelled)

    def _periods(self, op: str, day: dt.date) -> Pair:
        """A comparison with calendar periods: dates are whole days, so `<= d` is `< d + 1`."""
        c = day.toordinal() - dt.date(1970, 1, 1).toordinal()
        edges = self._bins.edge_array
        if op in ("<", ">=", "<=", ">"):
            return self._on_lattice(op, c, f"{day}")
        if not edges[0] <= c < edges[-1]:
            raise UnknownLevel(f"{day} lies outside the declared dates of {self.name!r}")
        return self._on_lattice(op, c, f"{day}")

    @property
    def _bins(self) -> Bins:
        assert isinstance(self.body, Bins)
        return self.body

    def _nearest(self, op: str, c: Any) -> str:
        """The two edges around a value, in the attribute's own spelling and for the operator used."""
        edges, lattice = self._bins.edge_array, self._bins.lattice
        if self.cut is not None:  # the declared ones
            edges, lattice = edges[[*self.cut.starts[: len(self.cut.whole.low)], -1]], self.cut.whole
        k = int(np.clip(np.searchsorted(edges, float(c), side="right"), 1, len(edges) - 1))
        low, high = (self._spell(e) for e in edges[k - 1 : k + 1])
        near = f"the nearest edges are {low} and {high}"
        if op in ("=", "<>"):
            if not self._bins.stepped and self.kind != "periods":
                return f"{near}, use them with >= and <"
            word = "BETWEEN" if op == "=" else "NOT BETWEEN"
            first, last = int(lattice.low[k - 1]), int(lattice.high[k - 1])
            return f"{near}: ask {word} {self._place(first)} AND {self._place(last)}"
        whole = {"<=": "<", ">": ">="}.get(op, op)  # a bin begins with its edge
        low, high = (f"'{e}'" if self.kind == "periods" else e for e in (low, high))
        return f"{near}: ask {whole} {low} or {whole} {high}"

    def _place(self, k: int) -> str:
        if self.kind == "periods":
            return f"'{dt.date(1970, 1, 1) + dt.timedelta(days=k)}'"
        return self._bins.lattice.spell(k)

    def _spell(self, edge: float) -> str:
        if self.kind == "periods":
            return (dt.date(1970, 1, 1) + dt.timedelta(days=int(edge))).isoformat()
        return text_of(float(edge))


def number_of(text: str) -> int | float:
    """The number a literal spells; UnsupportedSQL when it is none or too large."""
    if len(text) > 60 or not _NUMBER.fullmatch(text):
        raise UnsupportedSQL(f"the literal {text[:40]!r} is not a number")
    value = int(text) if text.lstrip("+-").isdigit() else float(text)
    if abs(value) > LARGEST:
        raise UnsupportedSQL(f"the number {text[:40]} is larger than {LARGEST:g}")
    return value


def date_of(text: str, format: str | None = None) -> dt.date:
    """The date a literal spells, as SQL writes dates or as a column does; UnsupportedSQL when it is none."""
    with suppress(ValueError):
        if _DATE.fullmatch(text):
            return dt.date.fromisoformat(text)
    with suppress(ValueError):
        if format is not None and len(text) <= 40:
            return dt.datetime.strptime(text.strip(), format).date()
    raise UnsupportedSQL(f"the literal {text[:40]!r} is not a date like 2024-12-31")


def _kind(body: Attribute) -> Kind:
    if isinstance(body, Dates):
        return "periods"
    if isinstance(body, Bins):
        return "bins"
    levels = body.values
    if levels and all(isinstance(v, (bool, np.bool_)) for v in levels):
        return "boolean"
    if levels and all(
        isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in levels
    ):
        return "number"
    if levels and all(isinstance(v, dt.date) and not isinstance(v, dt.datetime) for v in levels):
        return "date"
    return "text"


def _levels(body: Attribute, kind: Kind) -> Sequence[Any]:
    """The proper levels as plain Python values."""
    if kind == "number":
        return [int(v) if isinstance(v, (int, np.integer)) else float(v) for v in body.values]
    if kind == "boolean":
        return [bool(v) for v in body.values]
    return [text_of(v) for v in body.values] if kind == "text" else body.values


def _mismatch(column: SqlColumn, constant: Constant) -> NoReturn:
    words = {
        "bins": "numbers",
        "periods": "dates",
        "number": "numbers",
        "boolean": "booleans",
        "date": "dates",
    }
    held = words.get(column.kind, "text levels")
    raise UnsupportedSQL(f"{column.name!r} holds {held} and cannot be compared with {constant}")


def _number(column: SqlColumn, constant: Constant) -> Any:
    if column.kind == "number" and constant.kind == "text" and not _NUMBER.fullmatch(constant.value.strip()):
        column._refuse_level(constant.value)
    if constant.kind == "text" and _WHOLE.fullmatch(constant.value):
        return number_of(constant.value)
    return constant.value if constant.kind == "number" else _mismatch(column, constant)


def _text(column: SqlColumn, constant: Constant) -> Any:
    return constant.value if constant.kind == "text" else _mismatch(column, constant)


def _boolean(column: SqlColumn, constant: Constant) -> Any:
    return constant.value if constant.kind == "boolean" else _mismatch(column, constant)


def _date(column: SqlColumn, constant: Constant) -> Any:
    if constant.kind == "text":
        return date_of(constant.value)
    return constant.value if constant.kind == "date" else _mismatch(column, constant)


_CONVERT: dict[str, Callable[[SqlColumn, Constant], Any]] = {
    "text": _text,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
