"""Waiting for what comes a moment later, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(what: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; an assertion that fails if it never does."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
