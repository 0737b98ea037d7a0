"""Attempts: how often somebody may fail to come in, for each address, in constant memory."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hedgerow.errors import NoToken, RateLimited

_PER_MINUTE = 20
_PLACES = 4096


class Attempts:
    """So many failures a minute for each address; then nothing is tried for it until some time has passed.

    Addresses share places by a keyed digest: whoever fails from many of them fills no memory, and cannot tell
    whose place is whose. A network's addresses (of IPv6 the first 64 bits) are one.

    Args:
        per_minute: how many, all at once if none was made before.
        clock: seconds that only grow.

    >>> attempts = Attempts(1)
    >>> with attempts.of("192.0.2.7"):
    ...     "may try"
    'may try'
    """

    def __init__(self, per_minute: int = _PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._failed = [(0.0, 0.0)] * _PLACES
        self._key, self._lock = secrets.token_bytes(16), threading.Lock()

    @contextmanager
    def of(self, address: str | None) -> Iterator[None]:
        """An attempt: refused after too many failures, and counted if it ends in NoToken."""
        place = self._place(address)
        if self._now(place) > self._most - 1:
            raise RateLimited(
                "too many attempts to come in from this address", hint="wait a minute, then try again"
            )
        try:
            yield
        except NoToken:
            with self._lock:
                self._failed[place] = self._now(place) + 1, self._clock()
            raise

    def _now(self, place: int) -> float:
        """How many failures still count."""
        failed, then = self._failed[place]
        return max(0.0, failed - (self._clock() - then) * self._most / 60)

    def _place(self, address: str | None) -> int:
        own = address or ""
        network = ":".join(own.split(":")[:4]) if own.count(":") > 1 else own
        digest = hashlib.blake2b(network.encode(), key=self._key, digest_size=8).digest()
        return int.from_bytes(digest) % _PLACES
