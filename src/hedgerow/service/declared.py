"""Declared: a schema column by column, as an owner looks it over: what is kept, and what is left out.

A draft is made from PRIVATE rows and is for the owner's eyes alone: it is made when it is asked for, sent to
whoever asked, and kept nowhere. What the owner confirms becomes public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue

if TYPE_CHECKING:
    from hedgerow.curator.drafting.draft import Draft
    from hedgerow.curator.drafting.inspector import Inspection
    from hedgerow.queries.domain.domain import Domain

KINDS = ("levels", "edges", "dates")


@dataclass(frozen=True)
class DeclaredColumn:
    """One column as it is declared.

    Args:
        name: of the column.
        kind: `levels`, `edges` of bins, or `dates`.
        values: the levels, the edges, or first day, day after the last, and step.
        other: whether values that are none of these have a level of their own, or its name.
        missing: whether empty values have one; `usual` also for words such as NA.
        step: between two numbers that are next to each other; None where there is none.
        note: PRIVATE, what the draft noticed.
        private: PRIVATE, exact counts of what does not fit.

    >>> DeclaredColumn("sex", "levels", ("F", "M"), other=True).to_schema()
    {'levels': ['F', 'M'], 'other': True}
    """

    name: str
    kind: str
    values: tuple[str, ...]
    other: bool | str = False
    missing: bool | str = False
    step: str | None = None
    note: str | None = None
    private: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, name: str, held: dict[str, Any], note: str | None, private: str | None) -> DeclaredColumn:
        """From an attribute of a schema file."""
        rest = {"other": held.get("other", False), "missing": held.get("missing", False)}
        if "dates" in held:
            days = held["dates"]
            values = tuple(str(days[part]) for part in ("start", "stop", "by"))
            return cls(name, "dates", values, note=note, private=private, **rest)
        kind = "edges" if "edges" in held else "levels"
        step = None if held.get("step") is None else f"{held['step']:g}"
        values = tuple(f"{v:.12g}" if isinstance(v, float) else str(v) for v in held.get(kind, ()))
        return cls(name, kind, values, step=step, note=note, private=private, **rest)

    def to_schema(self) -> dict[str, Any]:
        """As a schema file has it."""
        held: dict[str, Any]
        if self.kind == "dates":
            if len(self.values) != 3:
                raise BadValue(f"{self.name!r} has a first day, a day after the last, and a step")
            held = {"dates": dict(zip(("start", "stop", "by"), self.values, strict=True))}
        elif self.kind == "edges":
            held = {"edges": [_number(v, self.name) for v in self.values]}
            held |= {"step": _number(self.step, self.name)} if self.step else {}
        else:
            held = {"levels": list(self.values)}
        return held | {k: v for k, v in (("other", self.other), ("missing", self.missing)) if v}


@dataclass(frozen=True)
class Proposal:
    """PRIVATE, for the owner alone: a drafted schema, and why columns were left out of it.

    Args:
        columns: those that are proposed.
        left_out: the others, each with the reason.
        unit: the column that seems to name people, and how many rows nearly all of them have.
        rows: how many rows were read.
        words: what else the owner should know.
    """

    columns: tuple[DeclaredColumn, ...] = field(repr=False)
    left_out: dict[str, str] = field(repr=False)
    unit: tuple[str, int] | None = field(repr=False)
    rows: int = field(repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, found: Draft, fit: Inspection | None, words: Sequence[str]) -> Proposal:
        """From a draft, and how the rows fit it."""
        assert found.domain is not None
        counts = {} if fit is None else {f.name: _misfit(f.missing, f.outside) for f in fit.fits}
        held = found.domain.to_schema()["attributes"]
        columns = [
            DeclaredColumn.read(name, a, _first(found.notes.get(name)), counts.get(name))
            for name, a in held.items()
        ]
        left_out = {name: _first(why) or "" for name, why in found.skipped.items()}
        return cls(tuple(columns), left_out, found.unit, found.rows, tuple(words))


def declared(domain: Domain) -> tuple[DeclaredColumn, ...]:
    """The columns of a schema that is there."""
    return tuple(DeclaredColumn.read(n, a, None, None) for n, a in domain.to_schema()["attributes"].items())


def text(columns: Sequence[DeclaredColumn]) -> str:
    """A schema file of columns, not confirmed yet."""
    import yaml

    if not columns:
        raise BadValue("a schema has at least one column")
    if len({c.name for c in columns}) != len(columns):
        raise BadValue("a column is declared twice")
    held = {"confirmed": False, "attributes": {c.name: c.to_schema() for c in columns}}
    made: str = yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return made


def _number(given: str | None, name: str) -> int | float:
    try:
        value = float(given or "")
    except ValueError:
        raise BadValue(f"{given!r} is no number: the bins of {name!r} have numbers for edges") from None
    return int(value) if value.is_integer() else value


def _first(words: str | None) -> str | None:
    """What was noticed, without how a schema file or a command would say what to do about it."""
    return None if words is None else words.split("; if it ")[0].split(": say --")[0]


def _misfit(missing: int, outside: int) -> str:
    """How many rows have no value, or one that is not declared."""
    parts = [f"{n:,} {what}" for n, what in ((missing, "empty"), (outside, "elsewhere")) if n]
    return ", ".join(parts) or "every row fits"
