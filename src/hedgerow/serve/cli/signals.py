"""Signals: SIGTERM ends a command as Ctrl-C does, wherever it is heard; loads nothing but signals."""

from __future__ import annotations

import signal
import sys
from typing import Any

_ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
_AGAIN = 0.01  # seconds after which an interruption that was swallowed is raised again

_heard = False
_number = 0


def listen() -> None:
    """From now on every signal that ends a process raises KeyboardInterrupt; what was ignored stays so."""
    for number in _ENDS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    sys.unraisablehook = _raise_again


def heard() -> bool:
    """Whether a signal came: whatever error follows it is its consequence."""
    return _heard


def forgiven() -> bool:
    """Forget a Ctrl-C, which at a prompt ends a question and not the command; says whether it was one."""
    global _heard
    if _number == signal.SIGINT:
        _heard = False
    return not _heard


def ignore() -> None:
    """What is left to do is quick and must be done: listen no more."""
    for number in (*_ENDS, signal.SIGALRM):
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, frame: Any) -> None:
    global _heard, _number
    _heard, _number = True, number if number in _ENDS else _number
    raise KeyboardInterrupt


def _raise_again(unraisable: Any) -> None:
    """Where Python can raise nothing (a destructor, a callback from C), an interruption would be lost."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    else:
        sys.__unraisablehook__(unraisable)
