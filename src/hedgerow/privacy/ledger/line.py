"""One line of a ledger: public text, a commitment to secret state, and the hash that chains them."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as stored
from typing import Any

FORMAT = 1
GROWING = 2  # of ledgers of growing data, which versions before it refuse to open
NEWER = "open it with the version that wrote it, or a newer one: pip install --upgrade hedgerow"
GENESIS = bytes(32)


def canonical(value: object) -> str:
    """Write JSON in the one form that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(data: bytes) -> str:
    """SHA-256 in hex, for things that are public anyway."""
    return hashlib.sha256(data).hexdigest()


def commit_to(nonce: bytes, state: bytes | None) -> bytes:
    """Commit to secret state; without the nonce a low-entropy threshold could be found by search."""
    return hashlib.sha256(nonce + (state or b"")).digest()


def chain(previous: bytes, text: str, commitment: bytes) -> bytes:
    """Hash a line onto the chain."""
    return hashlib.sha256(previous + text.encode() + commitment).digest()


@dataclass(frozen=True, slots=True)
class Line:
    """One stored line: public text, the commitment to its secret state, and the chain hash over both."""

    seq: int
    text: str
    commitment: bytes
    hash: bytes
    answer: bytes | None = None
    nonce: bytes | None = stored(default=None, repr=False)
    state: bytes | None = stored(default=None, repr=False)

    @classmethod
    def after(
        cls, previous: bytes, fields: Mapping[str, Any], answer: bytes | None, state: bytes | None
    ) -> Line:
        """Chain new public fields and secret state after a hash."""
        text, nonce = canonical(fields), secrets.token_bytes(32)
        commitment = commit_to(nonce, state)
        return cls(fields["seq"], text, commitment, chain(previous, text, commitment), answer, nonce, state)

    def field(self, name: str) -> Any:
        """One of the public fields: kind, account, parent, request, run, ..."""
        return json.loads(self.text)[name]
