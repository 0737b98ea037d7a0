"""Attempts: how often somebody may fail to come in, for each address, in constant memory."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address

from hedgerow.errors import NoToken, RateLimited

_PER_MINUTE = 20
_PLACES = 4096


class Attempts:
    """So many failures a minute for each address; those after it are told to wait until some time has passed.

    Tokens are long and random, so this keeps noise down and no secret: whoever has a good one comes in,
    however often others failed from the same address. Addresses share places by a keyed digest: failing from
    many of them fills no memory, and nobody can tell whose place is whose. A network's addresses (of IPv6 the
    first 64 bits) are one.

    Args:
        per_minute: how many, all at once if none was made before.
        clock: seconds that only grow.

    >>> attempts = Attempts(1)
    >>> with attempts.of("192.0.2.7"):
    ...     "a good token"
    'a good token'
    """

    def __init__(self, per_minute: int = _PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._failed = [(0.0, 0.0)] * _PLACES
        self._key, self._lock = secrets.token_bytes(16), threading.Lock()

    @contextmanager
    def of(self, address: str | None) -> Iterator[None]:
        """An attempt: one that ends in NoToken is counted, and after too many of them in RateLimited."""
        try:
            yield
        except NoToken:
            place = self._place(address)
            with self._lock:
                failed = self._now(place)
                many = failed > self._most - 1
                if not many:
                    self._failed[place] = failed + 1, self._clock()
            if many:
                raise RateLimited(
                    "too many failed attempts to come in from this address",
                    hint="wait a minute, then try again",
                ) from None
            raise

    def _now(self, place: int) -> float:
        """How many failures still count."""
        failed, then = self._failed[place]
        return max(0.0, failed - (self._clock() - then) * self._most / 60)

    def _place(self, address: str | None) -> int:
        digest = hashlib.blake2b(_network(address).encode(), key=self._key, digest_size=8).digest()
        return int.from_bytes(digest) % _PLACES


def _network(address: str | None) -> str:
    """What is one address here: of IPv6 the first 64 bits, unless it is an IPv4 one written so.

    >>> _network("2001:db8::7"), _network("::ffff:192.0.2.7"), _network("fe80::7%eth0")
    ('2001:db8::/64', '192.0.2.7', 'fe80::/64')
    """
    own = (address or "").partition("%")[0]
    try:
        found = ip_address(own)
    except ValueError:
        return own
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Network((found, 64), strict=False))
    return str(getattr(found, "ipv4_mapped", None) or found)
