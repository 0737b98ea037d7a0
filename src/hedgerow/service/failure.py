"""Failure: why something was not done, as one sentence, one word and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import floor, log10
from pathlib import Path
from typing import Self

from hedgerow.errors import (
    BudgetExceeded,
    DataChanged,
    HedgerowError,
    LedgerError,
    LedgerUnavailable,
    NotPermitted,
    RequestReused,
    SourceError,
    StorageUnavailable,
    of_system,
)

DEBUG = "HEDGEROW_DEBUG"
OWN_FAULT = "Hedgerow met an error of its own; the server's log says where."
"""What others than owners are told of a fault of Hedgerow's own."""
_OF_FILES = (LedgerError, StorageUnavailable, SourceError, OSError)


@dataclass(frozen=True)
class Failure:
    """What went wrong, and what to do about it.

    Args:
        words: one sentence, without a full stop.
        code: one word for programs.
        hint: what to do, if the sentence does not say so.
        cause: the error that it is, if there was one.
    """

    words: str
    code: str = "bad_input"
    hint: str | None = None
    cause: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def told(self) -> str:
        """One sentence with what to do about it; a server's hint begins with a capital, and goes on here."""
        if not self.hint:
            return self.words
        word = re.match(r"[A-Z][a-z]*\b", self.hint)
        hint = self.hint[0].lower() + self.hint[1:] if word else self.hint
        return f"{self.words.removesuffix('.')}; {hint}"

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """The failure that an error is."""
        if isinstance(error, BudgetExceeded):
            left = getattr(error.remaining, "epsilon", 0.0)
            most = (
                f"spend at most epsilon {_down(left)}, or " if 0 < left < float("inf") else "spend less, or "
            )
            less = "" if "nothing is left" in str(error).lower() else most
            raising = f"{less}let the owner raise it with `hedgerow budget raise`"
            return cls(str(error), error.code, error.hint or raising, error)
        if isinstance(error, HedgerowError):
            return cls(str(error), error.code, error.hint, error)
        if isinstance(error, OSError):
            name = f"the file {error.filename!r}" if error.filename else "a file, or standard output,"
            return cls.of(of_system(error, f"{name} cannot be used"))
        if isinstance(error, MemoryError):
            return cls("there is not enough memory for this", hint="ask for fewer or smaller tables")
        return cls(_unforeseen(error), "internal")


def owners_only(error: BaseException) -> bool:
    """Whether it says something about files or the system, which is for owners and the log only."""
    if isinstance(error, NotPermitted):
        return error.hint is None  # our own refusals say what to do
    return isinstance(error, _OF_FILES) and not isinstance(error, RequestReused | DataChanged)


def for_others() -> LedgerUnavailable:
    """What others are told then."""
    return LedgerUnavailable("this cannot be done just now", hint="ask again later, or tell the owner")


def sentence(text: str) -> str:
    """One line with a full stop; its first word gets a capital if it is a word, and no name of a file."""
    text = " ".join(text.split())
    if re.match(r"[^\W\d_]+[,:;]?(\s|$)", text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


def _down(epsilon: float) -> str:
    """In four digits, and no more than it is."""
    step = 10.0 ** (floor(log10(epsilon)) - 3)
    return f"{floor(epsilon / step) * step:.4g}"


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
