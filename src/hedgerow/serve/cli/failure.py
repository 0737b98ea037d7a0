"""Failures of a command: what was typed wrongly, and what the process ends with, for people and for cron."""

from __future__ import annotations

from typing import Any, Self

import typer

from hedgerow.service.failure import DEBUG, Failure, sentence

__all__ = ["DEBUG", "EXIT", "INTERRUPTION", "CommandFailure", "sentence"]

FAILED, BAD_INPUT, REFUSED, UNREACHABLE, FORBIDDEN, INTERRUPTED = 1, 2, 3, 4, 5, 130

EXIT = {
    "internal": FAILED,
    "budget_refused": REFUSED,
    "limit_refused": REFUSED,
    "ledger_unavailable": UNREACHABLE,
    "storage_unavailable": UNREACHABLE,
    "not_permitted": FORBIDDEN,
    "no_token": FORBIDDEN,
    "unreachable": UNREACHABLE,
    "starting": UNREACHABLE,
    "rate_limited": UNREACHABLE,
    "interrupted": INTERRUPTED,
}
"""The exit code of each error's code: 4 may pass by itself, all others that are not named here are 2."""

# Whichever library the installed typer builds on, these are its errors.
_UsageError, _ClickException = typer.BadParameter.__mro__[1:3]

_PLAINER = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is needed",
    "Input should be a valid number, unable to parse string as a number": "a number is needed",
    "Input should be greater than or equal to": "it must be at least",
}


class CommandFailure(Failure):
    """Why a command did not do what it was asked."""

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return EXIT.get(self.code, BAD_INPUT)

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """The failure that an error is, also one of the library that reads the command line."""
        if isinstance(error, (KeyboardInterrupt, typer.Abort)):
            return cls(_INTERRUPTED, "interrupted")
        if isinstance(error, _UsageError):
            words = _usage(error)
            if words.endswith("is not readable"):  # typer looks at the files that are named before we do
                return cls(words, "not_permitted")
            return cls(words, hint=f"see `{_path(error)} --help`")
        if isinstance(error, _ClickException):
            return cls(error.format_message())  # type: ignore[attr-defined]
        return super().of(error)

    def to_json(self) -> dict[str, Any]:
        """What a program is told."""
        words, hint = sentence(self.words), self.hint and sentence(self.hint)
        return {"error": words, "exit_code": self.exit_code, "code": self.code, "hint": hint}


_INTERRUPTED = "Interrupted; every charge that was made is in the ledger"
INTERRUPTION = CommandFailure(_INTERRUPTED, "interrupted")


def _usage(error: Any) -> str:
    """A command that was typed wrongly, in plain words."""
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    for words, plain in _PLAINER.items():
        said = said.replace(words, plain)
    return str(said)


def _path(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else "hedgerow"
