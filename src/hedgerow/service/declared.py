"""Declared: a schema column by column, as an owner looks it over: what is kept, and what is left out.

A draft is made from PRIVATE rows and is for the owner's eyes alone: it is made when it is asked for, sent to
whoever asked, and kept nowhere. What the owner confirms becomes public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow.curator.drafting.guess import kind_of_attribute
from hedgerow.errors import BadValue
from hedgerow.release.schema import schema_text

if TYPE_CHECKING:
    from hedgerow.curator.drafting.draft import Draft
    from hedgerow.curator.drafting.glimpse import Glimpse
    from hedgerow.curator.drafting.inspector import Inspection
    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain

KINDS = ("levels", "edges", "dates")
OUT = "out"
USUAL = "usual"
EXTRAS = ("format", "decimal", "whole", "zone", "hours")  # how cells are written: kept as the draft found it
_MOST_BINS = 2000


@dataclass(frozen=True)
class DeclaredColumn:
    """One column as it is declared.

    Args:
        name: of the column.
        kind: `levels`, `edges` of bins, or `dates`.
        values: the levels, the edges, or first day, day after the last, and step.
        other: whether values that are none of these have a level of their own, or its name.
        missing: whether empty values have one; `usual` also for words such as NA, or for these words.
        step: between two numbers that are next to each other; None where there is none.
        extra: how its cells are written, where that is not plain.
        spaced: from where, to where and by how much even bins go, in place of edges.

    >>> DeclaredColumn("sex", "levels", ("F", "M"), other=True).to_schema()
    {'levels': ['F', 'M'], 'other': True}
    """

    name: str
    kind: str
    values: tuple[str, ...]
    other: bool | str = False
    missing: bool | str | tuple[str, ...] = False
    step: str | None = None
    extra: tuple[tuple[str, str], ...] = ()
    spaced: tuple[str, str, str] | None = None

    @classmethod
    def read(cls, name: str, held: dict[str, Any]) -> DeclaredColumn:
        """From an attribute of a schema file."""
        missing = held.get("missing", False)
        missing = tuple(map(str, missing)) if isinstance(missing, list) else missing
        rest = {"other": held.get("other", False), "missing": missing}
        days = held.get("dates", {})
        extra = tuple((k, str(v)) for k, v in (held | days).items() if k in EXTRAS)
        if days:
            values = tuple(str(days[part]) for part in ("start", "stop", "by"))
            return cls(name, "dates", values, extra=extra, **rest)
        if "hours" in held:
            body = {"hours": held["hours"].get("of", name), **held["hours"]}
            extra += tuple((k, str(v)) for k, v in body.items() if k in EXTRAS)
            return cls(name, "edges", tuple(map(str, range(25))), step="1", extra=extra, **rest)
        kind = "edges" if "edges" in held else "levels"
        step = None if held.get("step") is None else f"{held['step']:g}"
        values = tuple(f"{v:.12g}" if isinstance(v, float) else str(v) for v in held.get(kind, ()))
        return cls(name, kind, values, step=step, extra=extra, **rest)

    def to_schema(self) -> dict[str, Any]:
        """As a schema file has it."""
        held: dict[str, Any]
        extra: dict[str, Any] = {k: v for k, v in self.extra if k in EXTRAS}
        missing: Any = list(self.missing) if isinstance(self.missing, tuple) else self.missing
        if self.kind == "dates":
            if len(self.values) != 3:
                raise BadValue(f"{self.name!r} has a first day, a day after the last, and a step")
            zone = {"zone": extra.pop("zone")} if "zone" in extra else {}
            held = {"dates": dict(zip(("start", "stop", "by"), self.values, strict=True)) | zone}
        elif self.kind == "edges" and "hours" in extra:
            body = {"of": extra.pop("hours")} | ({"zone": extra.pop("zone")} if "zone" in extra else {})
            held = {"hours": body, "missing": missing}
        elif self.kind == "edges":
            values = even(*self.spaced, self.name) if self.spaced else self.values
            held = {"edges": [_number(v, self.name) for v in values]}
            held |= {"step": _number(self.step, self.name)} if self.step else {}
            held |= {"missing": missing} if self.step else {}  # bins with a step have one unless it is said
            extra |= {"whole": True} if extra.pop("whole", "") == "True" else {}
        else:
            held = {"levels": [self._level(v, extra.get("format")) for v in self.values]}
        return held | {k: v for k, v in (("other", self.other), ("missing", missing)) if v} | extra

    def _level(self, text: str, format: str | None) -> Any:
        """A level as its format has it: a number, a truth value, or a text."""
        if format == "number":
            return _number(text, self.name, "levels")
        return text.lower() == "true" if format == "boolean" else text


@dataclass(frozen=True)
class ColumnDraft:
    """One column while an owner looks it over: what it would be as each kind, and which of them is chosen.

    Args:
        name: of the column.
        kind: one of the choices, or `out`.
        choices: the column as each kind that it can be.
        note: PRIVATE, what was noticed, or why it was left out.
        misfit: PRIVATE, exact counts of what does not fit what was proposed.
        glimpse: PRIVATE, a few of its values.
    """

    name: str
    kind: str
    choices: dict[str, DeclaredColumn]
    note: str | None = field(default=None, repr=False)
    misfit: str | None = field(default=None, repr=False)
    glimpse: Glimpse | None = field(default=None, repr=False)

    @property
    def chosen(self) -> DeclaredColumn | None:
        """The column as it is declared; None if it is left out."""
        if self.kind == OUT:
            return None
        if self.kind not in KINDS or self.kind not in self.choices:
            raise BadValue(f"the column {self.name!r} has levels, bins or dates, or is left out")
        return self.choices[self.kind]


@dataclass(frozen=True)
class Proposal:
    """PRIVATE, for the owner alone: a drafted schema, and why columns were left out of it.

    Args:
        columns: those that can be asked about, proposed or left out.
        unusable: the others, each with the reason.
        unit: the column that seems to name people, and how many rows nearly all of them have.
        rows: how many rows were read.
        words: what else the owner should know.
        multiline: whether quoted cells of the CSV file hold line breaks.
    """

    columns: tuple[ColumnDraft, ...] = field(repr=False)
    unusable: dict[str, str] = field(repr=False)
    unit: tuple[str, int] | None = field(repr=False)
    rows: int = field(repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    multiline: bool = field(default=False, repr=False)

    @classmethod
    def of(cls, found: Draft, fit: Inspection | None, words: Sequence[str]) -> Proposal:
        """From a draft, and how the rows fit it."""
        assert found.domain is not None
        counts = {} if fit is None else {f.name: _misfit(f.missing, f.outside) for f in fit.fits}
        kept = dict(found.domain)
        left = {name: why for name, why in found.skipped.items() if name in found.glimpses}
        columns = []
        for name in (*kept, *left):
            glimpse = found.glimpses.get(name)
            ways = dict(glimpse.readings) if glimpse else {}
            kind = kind_of_attribute(kept[name]) if name in kept else OUT
            choices = {
                way: _read(name, a)
                for way, a in (ways | ({kind: kept[name]} if name in kept else {})).items()
            }
            choices.setdefault("levels", DeclaredColumn(name, "levels", (), other=True))
            note = _first(found.notes.get(name) if name in kept else left[name])
            columns.append(ColumnDraft(name, kind, choices, note, counts.get(name), glimpse))
        unusable = {name: _first(why) or "" for name, why in found.skipped.items() if name not in left}
        multiline = bool(found.csv.get("multiline"))
        return cls(tuple(columns), unusable, found.unit, found.rows, tuple(words), multiline)


def declared(domain: Domain) -> tuple[DeclaredColumn, ...]:
    """The columns of a schema that is there."""
    return tuple(_read(name, attribute) for name, attribute in domain.items())


def even(start: str, stop: str, width: str, name: str) -> tuple[str, ...]:
    """Edges of bins that are equally wide.

    >>> even("0", "1", "0.25", "x")
    ('0', '0.25', '0.5', '0.75', '1')
    """
    low, high, wide = (_number(given, name) for given in (start, stop, width))
    if not wide > 0 or not high > low or (high - low) / wide > _MOST_BINS:
        raise BadValue(f"bins of {name!r} go from a number up to a larger one, in at most {_MOST_BINS} steps")
    many = -int(-(high - low) // wide)
    return tuple(dict.fromkeys(f"{min(low + i * wide, high):.12g}" for i in range(many + 1)))


def in_order(edges: Sequence[str]) -> tuple[str, ...]:
    """Edges by their size, where all of them are numbers."""
    try:
        return tuple(sorted(edges, key=float))
    except ValueError:
        return tuple(edges)


def text(columns: Sequence[DeclaredColumn], csv: Mapping[str, Any]) -> str:
    """A schema file of columns, not confirmed yet.

    Args:
        columns: what is declared.
        csv: how the CSV file is written: encoding, delimiter and multiline.
    """
    if not columns:
        raise BadValue("a schema has at least one column")
    if len({c.name for c in columns}) != len(columns):
        raise BadValue("a column is declared twice")
    return schema_text({"attributes": {c.name: c.to_schema() for c in columns}}, csv)


def _read(name: str, attribute: Attribute) -> DeclaredColumn:
    return DeclaredColumn.read(name, attribute.to_schema())


def _number(given: str | None, name: str, what: str = "bins") -> int | float:
    try:
        value = float(given or "")
    except ValueError:
        raise BadValue(f"{given!r} is no number: the {what} of {name!r} are numbers") from None
    return int(value) if value.is_integer() else value


def _first(words: str | None) -> str | None:
    """What was noticed, without how a schema file or a command would say what to do about it."""
    return None if words is None else words.split("; if it ")[0].split(": say --")[0]


def _misfit(missing: int, outside: int) -> str:
    """How many rows have no value, or one that is not declared."""
    parts = [f"{n:,} {what}" for n, what in ((missing, "empty"), (outside, "elsewhere")) if n]
    return ", ".join(parts) or "every row fits"
