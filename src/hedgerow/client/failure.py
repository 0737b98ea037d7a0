"""Failures: what a server refused, as the error that it would have been here."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hedgerow import errors
from hedgerow.errors import BudgetExceeded, HedgerowError, NotPermitted, Unreachable


class Price(NamedTuple):
    """What something cost, or what remains.

    >>> Price(0.1, 0.0)
    Price(epsilon=0.1, delta=0.0)
    """

    epsilon: float
    delta: float

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> Price | None:
        """From a server's words; None where it was free."""
        return None if data is None else cls(data["epsilon"], data["delta"])


_KINDS = {kind.code: kind for kind in reversed(list(vars(errors).values()))
          if isinstance(kind, type) and issubclass(kind, HedgerowError)}  # fmt: skip


def refusal(status: int, body: bytes) -> HedgerowError:
    """The error that a reply holds.

    Args:
        status: the reply's.
        body: what it says.

    >>> refusal(402, b'{"error": {"code": "budget_refused", "message": "Nothing is left."}}')
    BudgetExceeded('Nothing is left.')
    """
    try:
        told = json.loads(body)["error"]
        kind = _KINDS.get(told["code"])
        error = _of_code(str(told["message"]), told) if kind is None else kind(str(told["message"]))
        error.hint = told.get("hint")
        if at := told.get("position"):
            error.position = (at["line"], at["column"])
        if isinstance(error, BudgetExceeded):
            needed, remaining = (Price.of(told.get(name)) for name in ("needed", "remaining"))
            error.__dict__ |= {"needed": needed, "remaining": remaining}
            error.affordable = bool(told.get("affordable"))
        return error
    except (ValueError, KeyError, TypeError, AttributeError):
        lost = NotPermitted if status in (401, 403) else Unreachable
        return lost(f"the server replied {status}, and not as Hedgerow would")


def _of_code(message: str, told: dict[str, Any]) -> HedgerowError:
    """An error of a code that this version has no class for, such as a fault of the server's own."""
    error = Unreachable(message)
    error.__dict__["code"] = str(told["code"])
    return error
