"""Failure: why a command did not do what it was asked, for people, for programs and for cron."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from hedgerow.errors import BudgetExceeded, HedgerowError, of_system

DEBUG = "HEDGEROW_DEBUG"
FAILED, BAD_INPUT, REFUSED, UNREACHABLE, FORBIDDEN, INTERRUPTED = 1, 2, 3, 4, 5, 130

EXIT = {
    "internal": FAILED,
    "budget_refused": REFUSED,
    "ledger_unavailable": UNREACHABLE,
    "storage_unavailable": UNREACHABLE,
    "not_permitted": FORBIDDEN,
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


@dataclass(frozen=True)
class Failure:
    """What went wrong, and what to do about it.

    Args:
        words: one sentence, without a full stop.
        code: one word for programs.
        hint: what to do, if the sentence does not say so.
    """

    words: str
    code: str = "bad_input"
    hint: str | None = None

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return EXIT.get(self.code, BAD_INPUT)

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure that an error is."""
        if isinstance(error, (KeyboardInterrupt, typer.Abort)):
            return INTERRUPTION
        if isinstance(error, _UsageError):
            words = _usage(error)
            if words.endswith("is not readable"):  # typer looks at the files that are named before we do
                return cls(words, "not_permitted")
            return cls(words, hint=f"see `{_path(error)} --help`")
        if isinstance(error, _ClickException):
            return cls(error.format_message())  # type: ignore[attr-defined]
        if isinstance(error, BudgetExceeded):
            less = "" if str(error).lower().startswith("nothing") else "spend less, or "
            raising = f"{less}let the owner raise it with `hedgerow budget raise`"
            return cls(str(error), error.code, error.hint or raising)
        if isinstance(error, HedgerowError):
            return cls(str(error), error.code, error.hint)
        if isinstance(error, OSError):
            name = f"the file {error.filename!r}" if error.filename else "a file, or standard output,"
            return cls.of(of_system(error, f"{name} cannot be used"))
        if isinstance(error, MemoryError):
            return cls("there is not enough memory for this", hint="ask for fewer or smaller tables")
        return cls(_unforeseen(error), "internal")

    def to_json(self) -> dict[str, Any]:
        """What a program is told."""
        words, hint = sentence(self.words), self.hint and sentence(self.hint)
        return {"error": words, "exit_code": self.exit_code, "code": self.code, "hint": hint}


INTERRUPTION = Failure("Interrupted; every charge that was made is in the ledger", "interrupted")


def sentence(text: str) -> str:
    """One line with a full stop; its first word gets a capital if it is a word, and no name of a file."""
    text = " ".join(text.split())
    if re.match(r"[^\W\d_]+[,:;]?(\s|$)", text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


def _usage(error: Any) -> str:
    """A command that was typed wrongly, in plain words."""
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    for words, plain in _PLAINER.items():
        said = said.replace(words, plain)
    return str(said)


def _path(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else "hedgerow"


def _unforeseen(error: BaseException) -> str:
    """A fault of Hedgerow's own: where it is, and not the error's words, which might quote a row."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
    return (
        f"Hedgerow met an error of its own ({type(error).__name__}{where}), please report it; every charge "
        f"that was made is in the ledger, and with {DEBUG}=1 in the environment Python's own words are shown"
    )
