"""The errors of PEP 249, each of them also the error of Hedgerow that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hedgerow import errors
from hedgerow.errors import HedgerowError


class Warning(Exception):
    """What PEP 249 has for warnings; never raised."""


class Error(Exception):
    """The base of all errors here; `code` and `hint` say what Hedgerow's own error says."""

    def __init__(self, message: object = "", code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.code, self.hint = code, hint


class InterfaceError(Error):
    """The interface was used in a way that it does not have."""


class DatabaseError(Error):
    """The server refused."""


class DataError(DatabaseError):
    """A value is none that the column declares."""


class OperationalError(DatabaseError):
    """The server, its budget or its data cannot be used just now, or not with this token."""


class IntegrityError(DatabaseError):
    """What PEP 249 has for broken keys; a request id that came back with another question."""


class InternalError(DatabaseError):
    """A fault of the server's own."""


class ProgrammingError(DatabaseError):
    """The statement cannot be read, or names what is not there."""


class NotSupportedError(DatabaseError):
    """The statement asks for what cannot be answered privately, or is beyond this dialect."""


_KINDS: tuple[tuple[type[HedgerowError], type[Error]], ...] = (
    (errors.UnknownLevel, DataError),
    (errors.UnknownColumn, ProgrammingError),
    (errors.BadSQL, ProgrammingError),
    (errors.UnsupportedQuery, NotSupportedError),
    (errors.RequestReused, IntegrityError),
    (errors.NotFound, ProgrammingError),
    (errors.DomainMismatch, ProgrammingError),
    (errors.RangeTooLarge, NotSupportedError),
)
_OPERATIONAL = [
    "budget_refused",
    "limit_refused",
    "not_permitted",
    "no_token",
    "not_learned",
    "frozen",
    "data_changed",
    "rate_limited",
    "starting",
    "ledger_unavailable",
    "storage_unavailable",
    "unreachable",
]


@contextmanager
def raised() -> Iterator[None]:
    """Errors of Hedgerow come out as those of PEP 249."""
    try:
        yield
    except HedgerowError as error:
        kind: type[Error] = next((to for of, to in _KINDS if isinstance(error, of)), ProgrammingError)
        if error.code in _OPERATIONAL:
            kind = OperationalError
        elif error.code == "internal":
            kind = InternalError
        raise kind(str(error), error.code, error.hint) from error
