"""Every error Hedgerow raises on purpose: one sentence each, never a value read from rows."""

from __future__ import annotations


class HedgerowError(Exception):
    """The base of all of Hedgerow's errors."""


class BudgetExceeded(HedgerowError):
    """The ledger refused a charge; nothing was computed and nothing was charged."""


class UnsupportedQuery(HedgerowError):
    """The question cannot be asked, or this release cannot answer it."""


class BadValue(HedgerowError, ValueError):
    """A number or an option is none that may stand there; also a ValueError, as Python would say it."""


class DomainMismatch(HedgerowError):
    """A schema, query or table speaks of attributes or levels that do not fit."""


class RangeTooLarge(HedgerowError):
    """The work asked for grows past a stated limit; the message says the size."""


class UnknownEvent(HedgerowError):
    """An accountant was given a private act that it has no theorem for."""


class RunClosed(HedgerowError):
    """A sparse-vector run has reported all that it was paid for; open another one to go on."""


class LedgerError(HedgerowError):
    """The ledger cannot be opened as asked, or its chain does not verify."""


class RequestReused(LedgerError):
    """A request id came back with another question or from another analyst."""


class SourceError(HedgerowError):
    """The owner's data source cannot be read as the schema says; speaks of columns, never of values."""
