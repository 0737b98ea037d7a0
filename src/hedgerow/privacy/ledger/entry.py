"""What the ledger's lines say: settings, entries, and the account that each entry leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from hedgerow.errors import BadValue, LedgerError, UnknownEvent
from hedgerow.privacy.budget import GRAIN, Budget, Cost, Currency, Neighbours, Privacy, exact
from hedgerow.privacy.event import Event
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.line import FORMAT, GROWING, NEWER, Line
from hedgerow.privacy.ledger.profile import Profile, Scope, checked, within

OWNER = "owner"
YEARS = "hedgerow: years"
"""The run of the lines that raise the declared number of years."""
LOST = "lost lines "
"""How the names of accounts begin that hold what lines spent which are lost."""
SPELLING = 2  # of unit ids, for new ledgers; those that say nothing have 1
_NULL_UNITS = ("drop", "row")
_GROWING = (None, "confined", "shared", "yearly")


@dataclass(frozen=True)
class Growth:
    """How data grow, for a new ledger; see `Settings`."""

    growing: str = "confined"
    years: int | None = None
    reserve: str = "0"


@dataclass(frozen=True)
class Settings:
    """What a ledger was opened for, fixed for its life except that the budget can be raised.

    Args:
        ledger: the ledger's random id.
        budget: what may be spent in all, as of when these settings were read.
        neighbours: "add_remove" or "replace".
        unit: the column that names the protected unit, or None when each row is one.
        max_rows: the most rows that one unit contributes.
        null_units: rows without a unit id are left out ("drop") or each is a unit of its own ("row").
        unit_type: the declared type of unit ids in columns of objects.
        spelling: the version of the unit ids' spelling.
        simulation: whether the ledger lives in memory only.
        growing: how blocks of rows are charged: "confined" (each has the whole budget, as a unit's rows
            count in its first block only), "shared" (they add up), "yearly" (the rows of a year of
            arrival have it); None where rows do not grow.
        years: of how many years of arrival a person's rows may be, for the promise of a lifetime.
        reserve: the part of a block's budget that only questions over several blocks may use, as "p/q".

    >>> Settings("7f", Budget(epsilon=1)).neighbours
    'add_remove'
    """

    ledger: str
    budget: Budget
    neighbours: Neighbours = "add_remove"
    unit: str | None = None
    max_rows: int = 1
    null_units: str = "drop"
    simulation: bool = False
    unit_type: str | None = None
    spelling: int = SPELLING
    growing: str | None = None
    years: int | None = None
    reserve: str = "0"

    def __post_init__(self) -> None:
        Privacy(self.neighbours, self.max_rows)
        if (self.growing, self.years, self.reserve) != (None, None, "0"):
            self._check_growing()
        if self.null_units not in _NULL_UNITS:
            raise BadValue(f"Rows without a unit id are 'drop' or 'row', not {self.null_units!r}.")
        if self.unit is not None and not isinstance(self.unit, str):
            raise BadValue(f"A unit is the name of a column, not {self.unit!r}.")

    def _check_growing(self) -> None:
        if self.growing not in _GROWING:
            raise BadValue(f"Data grow 'confined', 'shared' or 'yearly', not {self.growing!r}.")
        if self.growing is not None and self.neighbours != "add_remove":
            raise BadValue(
                "Growing data are protected under 'add_remove' only: a swap would change two blocks."
            )
        if self.years is not None and (self.growing != "yearly" or self.years < 1):
            raise BadValue("A number of years, 1 or more, is declared for data that grow 'yearly'.")
        if not 0 <= exact(self.reserve) < 1 or (exact(self.reserve) and self.growing != "confined"):
            raise BadValue("A reserve for ranges is a part below 1 of the budget of 'confined' blocks.")

    @property
    def cells(self) -> bool:
        """Whether blocks or years are each held to the budget by themselves."""
        return self.growing in ("confined", "yearly")

    @property
    def counted(self) -> str:
        """What counts over confined blocks are counts of, for whoever reads an answer; else nothing."""
        if self.growing != "confined" or self.unit is None:
            return ""
        return f"Each {self.unit} is counted in the block in which it first appeared."

    @property
    def counts(self) -> tuple[str, ...]:
        """Which rows of people are counted, for whoever reads an answer; nothing where rows are protected."""
        if self.unit is None:
            return ()
        rows = f"{self.max_rows} rows" if self.max_rows > 1 else "one row"
        most = f"At most {rows} of each {self.unit} {'are' if self.max_rows > 1 else 'is'} counted."
        return (most, self.counted) if self.counted else (most,)

    @property
    def privacy(self) -> Privacy:
        """Whom the promise protects."""
        return Privacy(self.neighbours, self.max_rows)

    def refuse_other(self, asked: Mapping[str, object]) -> None:
        """Raise LedgerError when a value asked for is neither None nor what is here."""
        for name, value in asked.items():
            here = getattr(self, name)
            if value is not None and value != here:
                raise LedgerError(f"The ledger was made with {name} {here!r}, not {value!r}.")

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON data, exact."""
        later: dict[str, Any] = {"unit_type": self.unit_type, "spelling": self.spelling}
        if self.growing is not None:
            later |= {"growing": self.growing, "years": self.years, "reserve": self.reserve}
        return {
            "format": FORMAT if self.growing is None else GROWING,
            "grain": str(GRAIN),
            "ledger": self.ledger,
            "currency": self.budget.currency,
            "budget": self.budget.to_json(),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "max_rows": self.max_rows,
            "null_units": self.null_units,
            "simulation": self.simulation,
        } | (later if self.spelling > 1 else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` wrote."""
        form = (
            FORMAT if data.get("growing") is None else GROWING
        )  # earlier versions would charge it otherwise
        if data["format"] != form or data["grain"] != str(GRAIN):
            raise LedgerError(
                f"The ledger has format {data['format']}, and this version reads {FORMAT}.", hint=NEWER
            )
        budget = Budget.from_json(data["budget"])
        if data["currency"] != budget.currency:
            raise LedgerError(f"The ledger counts {data['currency']}, but its budget {budget.currency}.")
        names = ("ledger", "neighbours", "unit", "max_rows", "null_units", "simulation")
        later = {"unit_type": data.get("unit_type"), "spelling": data.get("spelling", 1)}
        if later["spelling"] not in (1, SPELLING):
            raise LedgerError(
                "The ledger spells unit ids in a way that only a newer version knows.", hint=NEWER
            )
        grows = {name: data[name] for name in ("growing", "years", "reserve") if name in data}
        return cls(budget=budget, **{name: data[name] for name in names}, **later, **grows)


@dataclass(frozen=True)
class Account:
    """An account as its newest line leaves it.

    Of growing data the owner's has a profile, and what it has spent is the largest sum in it. Any other one
    has a scope: the blocks or years that its money was set aside for.
    """

    name: str
    parent: str | None
    limit: Cost
    spent: Cost
    closed: bool = False
    profile: Profile | None = None
    scope: Scope | None = None

    @property
    def remaining(self) -> Cost:
        return self.limit - self.spent

    def within(self, scope: Scope | None = None) -> Cost:
        """What remains for some blocks or years; for all that there are if None."""
        if self.profile is None or (scope is None and not self.profile.last):
            return self.remaining
        return self.limit - self.profile.most(self.profile.scope(scope))

    def lacking(self, cost: Cost, scope: Scope | None = None) -> Cost:
        """What it is short of to pay a cost."""
        return cost.beyond(self.within(scope))

    def range_for(self, asked: Scope | None) -> Scope | None:
        """The blocks or years of money that is set aside from it; refused if they are not its own."""
        if self.profile is not None:
            return self.profile.scope(asked)
        if self.scope is None:
            return None
        if asked is not None and not within(asked, self.scope):
            raise LedgerError(f"The account {self.name!r} is not for those blocks.")
        return asked or self.scope

    def paying(self, cost: Cost, scope: Scope | None = None, *, back: bool = False) -> Account:
        """Itself after a payment for some blocks or years, or after it came back."""
        if self.profile is None:
            return replace(self, spent=self.spent - cost if back else self.spent + cost)
        profile = self.profile.charged(scope or self.profile.everything, cost, back=back)
        return replace(self, profile=profile, spent=profile.most())

    @classmethod
    def after(cls, line: Line) -> Account:
        """Read the account off its newest line."""
        with _legible(line):
            data = json.loads(line.text)
            limit, spent = grains_from(data["limit"]), grains_from(data["spent"])
            held = data.get("profile")
            profile = None if held is None else Profile.from_json(held, limit.currency)
            own = data.get("scope") if data["parent"] is not None else None
            scope = None if own is None else checked(own)
            return cls(data["account"], data["parent"], limit, spent, data["kind"] == "close", profile, scope)


@dataclass(frozen=True)
class Raise:
    """What a line says that raised the budget.

    Args:
        budget: the new one, as the line puts it.
        index: the order it is stated at; None for a first promise, and in lines of earlier versions.
        seen: whether anything had been paid for before.
    """

    budget: Budget
    index: int | None
    seen: bool

    @classmethod
    def read(cls, line: Line) -> Raise:
        """Decode a stored line."""
        with _legible(line):
            data = json.loads(line.text)
            return cls.told(data["details"], grains_from(data["spent"]))

    @classmethod
    def told(cls, details: Mapping[str, Any], spent: Cost) -> Raise:
        """From what the line holds beside its totals, and the owner's total at it."""
        index = details.get("index")
        if index is not None and (isinstance(index, bool) or not isinstance(index, int) or index < 1):
            raise ValueError("The orders of raises are numbered from 1 on.")
        seen = spent.currency == "rho" and not spent.is_zero  # pure promises are the same either way
        return cls(Budget.from_json(details), index, seen)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, decoded.

    Args:
        seq: its number; line 0 holds the settings.
        time: when its transaction began, UTC, in whole seconds.
        kind: open, charge, note, allot, close, return, raise; under a limit also limit, grow and shrink;
            of growing data block, ended and years.
        account: whose money it is about.
        parent: the account that one was allotted from.
        analyst: who asked.
        request: the request id, if the asker gave one.
        question: the SHA-256 of the question that the request id is bound to.
        run: the label of the mechanism's run that it belongs to.
        event: the private act.
        words: the act in words.
        note: what the writer added.
        cost: what the line moves.
        spent: the account's total after it.
        limit: what the account may spend.
        details: what only this kind of line has.
        answer: the released answer.
        content_type: the answer's media type.
        hash: the chain hash, in hex.
        state: secret state that the mechanism wants back after a restart.
        replayed: whether the answer comes from an earlier call with the same request id.
        profile: of growing data what every block or year was charged, in lines of the owner's account.
        scope: the first and last block or year that its amount is for.
    """

    seq: int
    time: str
    kind: str
    account: str
    parent: str | None
    analyst: str
    request: str | None
    question: str | None
    run: str | None
    event: Event
    words: str
    note: str
    cost: Cost
    spent: Cost
    limit: Cost
    details: Mapping[str, Any]
    answer: bytes | None
    content_type: str | None
    hash: str
    state: bytes | None = field(default=None, repr=False)
    replayed: bool = False
    profile: Mapping[str, Any] | None = field(default=None, repr=False)
    scope: Sequence[int | None] | None = None

    @classmethod
    def read(cls, line: Line) -> Entry:
        """Decode a stored line."""
        with _legible(line):
            data = json.loads(line.text)
            released = data.pop("answer")
            for name in ("cost", "spent", "limit"):
                data[name] = grains_from(data[name])
            return cls(
                **(data | {"event": from_json(data["event"])}),
                answer=line.answer,
                content_type=released and released["type"],
                hash=line.hash.hex(),
                state=line.state,
            )


@contextmanager
def _legible(line: Line) -> Iterator[None]:
    """Say which line cannot be read."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, UnknownEvent) as error:
        raise LedgerError(f"Line {line.seq} of the ledger cannot be read.") from error


def named(what: str, name: str) -> str:
    """A name that looks the same to SQLite, JSON and people."""
    if not isinstance(name, str) or not name or not name.isprintable():
        given = repr(name) if isinstance(name, str) else f"a {type(name).__name__}"
        raise LedgerError(f"The {what} must be printable text, not {given}.")
    return name


def grains_of(cost: Cost) -> dict[str, str]:
    """A cost in whole grains, as text: JSON readers lose integers of this size."""
    amount, delta = cost.grains
    return {cost.currency: str(amount)} | ({"delta": str(delta)} if cost.currency == "rho" else {})


def grains_from(data: Mapping[str, str]) -> Cost:
    """The cost that `grains_of` wrote."""
    currency = "rho" if "rho" in data else "epsilon"
    return _cost(cast(Currency, currency), int(data[currency]), int(data.get("delta", 0)))


@lru_cache(maxsize=1 << 10)
def _cost(currency: Currency, amount: int, delta: int) -> Cost:
    """Lines beside each other repeat the same few costs."""
    return Cost.of_grains(currency, amount, delta)
