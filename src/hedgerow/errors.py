"""Every error Hedgerow raises on purpose: one sentence each, never a value read from rows.

Each class has a `code`, one word by which programs tell errors apart, and each error may have a `hint`: what
to do about it, where the sentence does not say so itself.
"""

from __future__ import annotations

from errno import EACCES, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOLCK, ENOSPC, EPERM, EROFS, ESTALE, ETIMEDOUT
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget


class HedgerowError(Exception):
    """The base of all of Hedgerow's errors.

    Args:
        message: the sentence.
        hint: what to do about it.

    `position` is the line and column of a statement, both from 1, where an error is about a place in one.

    >>> BudgetExceeded("nothing remains").code
    'budget_refused'
    """

    code: ClassVar[str] = "bad_input"
    position: tuple[int, int] | None = None

    def __init__(self, message: object = "", *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def worded(self, message: str) -> Self:
        """The same error in other words, with all that programs read off it."""
        other = type(self)(message)
        other.__dict__.update(self.__dict__)
        return other


class BudgetExceeded(HedgerowError):
    """A charge was refused; nothing was computed and nothing was charged.

    Args:
        message, hint: as in `HedgerowError`.
        needed: what was asked for, as a `Budget`, where that is known.
        remaining: what could have been spent, likewise.
        affordable: whether the budget would have allowed it, and only who asked did not.
    """

    code = "budget_refused"

    def __init__(
        self,
        message: object = "",
        *,
        hint: str | None = None,
        needed: Budget | None = None,
        remaining: Budget | None = None,
        affordable: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.needed, self.remaining, self.affordable = needed, remaining, affordable


class LimitExceeded(BudgetExceeded):
    """A charge was refused by the limit of whoever asks; the dataset's budget would have allowed it."""

    code = "limit_refused"


class UnsupportedQuery(HedgerowError):
    """The question cannot be asked, or this release cannot answer it."""


class UnsupportedSQL(UnsupportedQuery):
    """The SQL is more than this dialect can say."""

    code = "unsupported_sql"


class BadSQL(UnsupportedQuery):
    """The text is not SQL that can be read."""

    code = "bad_sql"


class CutsBin(UnsupportedQuery):
    """A comparison cuts a bin in two; the sentence says the nearest edges."""

    code = "cuts_bin"


class BadValue(HedgerowError, ValueError):
    """A number or an option is none that may stand there; also a ValueError, as Python would say it."""


class DomainMismatch(HedgerowError):
    """A schema, query or table speaks of attributes or levels that do not fit."""


class NamesOnly(DomainMismatch, UnsupportedQuery):
    """An open domain of names was asked what only declared columns can answer."""


class UnknownColumn(DomainMismatch):
    """A name is no attribute of the schema."""

    code = "unknown_column"


class UnknownLevel(DomainMismatch):
    """A value is no declared level of its attribute."""

    code = "unknown_level"


class UnknownTable(HedgerowError):
    """A statement names a table that is not here."""

    code = "unknown_table"


class RangeTooLarge(HedgerowError):
    """The work asked for grows past a stated limit; the message says the size."""

    code = "too_large"


class UnknownName(HedgerowError, KeyError):
    """Nothing here has this name; also a KeyError, as Python would say it."""

    __str__ = Exception.__str__  # a KeyError would quote its sentence


class OutOfRange(HedgerowError, IndexError):
    """A number is that of nothing here; also an IndexError, which ends Python's loops."""


class UnknownEvent(HedgerowError):
    """An accountant was given a private act that it has no theorem for."""


class RunClosed(HedgerowError):
    """A sparse-vector run has reported all that it was paid for; open another one to go on."""


class NotPermitted(HedgerowError):
    """The system does not let this user read or write a file; trying again does not help."""

    code = "not_permitted"


class StorageUnavailable(HedgerowError):
    """A disk is full, or a file cannot be reached just now; the same may work later."""

    code = "storage_unavailable"


class NotPrinted(HedgerowError):
    """What was asked for is done and paid for, and only its result could not be printed: do not repeat it."""

    code = "not_printed"


class NotLearned(HedgerowError):
    """Nothing was learned of the dataset yet, and whoever asks may not pay for that."""

    code = "not_learned"


class NoToken(HedgerowError):
    """A request came without a token, or with one that is not, or no longer, good."""

    code = "no_token"


class NotFound(HedgerowError):
    """There is no such thing here."""

    code = "not_found"


class Frozen(HedgerowError):
    """The owner has frozen the dataset: it is not asked until it is thawed."""

    code = "frozen"


class RateLimited(HedgerowError):
    """Somebody asks faster than they may; the same may work a little later."""

    code = "rate_limited"


class Starting(HedgerowError):
    """The server, or the dataset, is not ready yet, or is ending; the same may work a little later."""

    code = "starting"


class Unreachable(HedgerowError):
    """No server answers where one should."""

    code = "unreachable"


class LedgerError(HedgerowError):
    """The ledger cannot be opened as asked, or its chain does not verify."""


class LedgerUnavailable(LedgerError, StorageUnavailable):
    """The ledger cannot be reached just now: another process holds it, or its disk is full or away."""

    code = "ledger_unavailable"


class LedgerNotPermitted(LedgerError, NotPermitted):
    """The system does not let this user read or write the ledger."""

    code = "not_permitted"


class RequestReused(LedgerError):
    """A request id came back with another question or from another analyst."""

    code = "request_reused"


class SourceError(HedgerowError):
    """The owner's data source cannot be read as the schema says; speaks of columns, never of values."""


class LinesInDoubt(SourceError):
    """Where rows of a CSV file end cannot be told, unless its owner vouches that it follows RFC 4180."""


class DataChanged(LedgerError, SourceError):
    """The data file is not the one that was opened, or that a run began with.

    `began` is the mark of the blocks that a run began with, where data grow.
    """

    code = "data_changed"
    began: bytes | None = None


def missing(path: Path) -> HedgerowError:
    """There is no such file; where its folder is missing too, its disk may be away and come back."""
    if path.absolute().parent.exists():
        return HedgerowError(f"there is no file {str(path)!r}")
    hint = "see that the disk of its folder is mounted"
    return StorageUnavailable(f"there is no file {str(path)!r}, nor its folder", hint=hint)


_FORBIDDEN = frozenset({EACCES, EPERM, EROFS})
_PASSING = frozenset({EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOLCK, ENOSPC, ESTALE, ETIMEDOUT})


def of_system(error: OSError, what: str) -> HedgerowError:
    """What the system said about a file, as an error that tells what may pass from what must be changed.

    Args:
        error: what the system raised.
        what: the beginning of the sentence, which names the file.

    >>> str(of_system(OSError(ENOSPC, "No space left on device"), "the file 'out.csv' cannot be written"))
    "the file 'out.csv' cannot be written: no space left on device"
    """
    kind: type[HedgerowError] = HedgerowError
    if error.errno in _FORBIDDEN:
        kind = NotPermitted
    elif error.errno in _PASSING:
        kind = StorageUnavailable
    return kind(f"{what}: {(error.strerror or 'no reason given').lower()}")
