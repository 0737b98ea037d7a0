"""Randomness that repeats itself, for tests and made-up rows: nothing of it passes for private."""

from __future__ import annotations

import builtins
import hashlib
from contextvars import Token
from typing import Any

from hedgerow.curator.noise import noise


class SeededEntropy:
    """A repeatable stream of bytes (SHAKE-256 in counter mode). Everything drawn from it is NOT private.

    Hand it to `Curator(..., entropy=...)`, or use it as a context: curators made inside draw from it.

    >>> SeededEntropy(1).bytes(4) == SeededEntropy(1).bytes(4)
    True
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = str(seed).encode()
        self._block = 0
        self._ready = b""
        self._tokens: list[Token[Any]] = []

    def bytes(self, n: int) -> builtins.bytes:
        """The next n bytes of the stream."""
        while len(self._ready) < n:
            block = self._seed + b":" + str(self._block).encode()
            self._ready += hashlib.shake_256(block).digest(max(1 << 16, n))
            self._block += 1
        out, self._ready = self._ready[:n], self._ready[n:]
        return out

    def __enter__(self) -> SeededEntropy:
        self._tokens.append(noise.chosen_entropy.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        noise.chosen_entropy.reset(self._tokens.pop())
