"""Failures in PostgreSQL's words: a SQLSTATE, a sentence, a hint, a place."""

from __future__ import annotations

from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.service import wire
from hedgerow.service.failure import OWN_FAULT, for_others, owners_only

STATES = {
    "bad_sql": "42601",
    "bad_input": "22023",
    "unknown_column": "42703",
    "unknown_level": "22023",
    "unknown_table": "42P01",
    "unsupported_sql": "0A000",
    "cuts_bin": "0A000",
    "too_large": "54000",
    "not_learned": "55000",
    "frozen": "55000",
    "data_changed": "55000",
    "request_reused": "55000",
    "budget_refused": "53400",
    "limit_refused": "53400",
    "rate_limited": "53400",
    "not_permitted": "42501",
    "no_token": "28P01",
    "not_found": "3D000",
    "starting": "57P03",
    "ledger_unavailable": "57P03",
    "storage_unavailable": "57P03",
    "protocol_violation": "08P01",
    "read_only": "25006",
    "cancelled": "57014",
    "shutdown": "57P01",
    "no_cursor": "34000",
    "no_statement": "26000",
    "failed_transaction": "25P02",
}
"""The SQLSTATE of each error's code; others are XX000."""


class ProtocolViolation(HedgerowError):
    """What came is not the protocol."""

    code = "protocol_violation"


class ReadOnly(HedgerowError):
    """A statement would write."""

    code = "read_only"


class Cancelled(HedgerowError):
    """The statement was cancelled by whoever asked; what was charged stays charged."""

    code = "cancelled"


class NoCursor(HedgerowError):
    """A portal was named that is not open."""

    code = "no_cursor"


class NoStatement(HedgerowError):
    """A prepared statement was named that is none."""

    code = "no_statement"


class FailedTransaction(HedgerowError):
    """A statement in this transaction failed before."""

    code = "failed_transaction"


def fields(
    error: BaseException, owner: bool, sql: str = "", text: str = "", severity: str = "ERROR"
) -> dict[str, Any]:
    """The fields of an error message; what the system said is for owners and the log only.

    Args:
        error: what was raised.
        owner: whether an owner is told.
        sql: what was sent, to say where in it.
        text: the statement in it that the error is about.
        severity: ERROR, or FATAL where the connection ends.
    """
    if owners_only(error) and not owner:
        error = for_others()
    told = wire.error(error)["error"]
    code, words, hint, at = (told[name] for name in ("code", "message", "hint", "position"))
    if not owner and not isinstance(error, HedgerowError):
        words = OWN_FAULT
    made = {"S": severity, "V": severity, "C": STATES.get(code, "XX000"), "M": words, "H": hint}
    before = sql.find(text) if text else -1
    return made | ({} if at is None or before < 0 else {"P": before + _place(text, at)})


def _place(sql: str, at: dict[str, int]) -> int:
    """The number of a character, from 1."""
    lines = sql.split("\n")
    return sum(len(line) + 1 for line in lines[: at["line"] - 1]) + at["column"]
