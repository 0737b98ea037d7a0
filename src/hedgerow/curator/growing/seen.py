"""Seen: which units blocks have had, by keyed tags, and how many rows of each were accepted.

A block's part is the secret state of its line in the ledger, with the digest of its file. Tags have 128 bits;
what two units with one tag would mean is in docs/privacy/growing.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.failure import RESTORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARK, _PERSON, _WIDTH = b"hedgerow block 1", b"hedgerow seen", 16
_DIGEST = 32
_UNREAD = "What a block has seen cannot be read in the ledger."


@dataclass(frozen=True, eq=False)
class Seen:
    """Units and their accepted rows.

    Args:
        tags: sorted, each once.
        rows: how many rows of each unit were accepted.
    """

    tags: NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, dtype=f"S{_WIDTH}"), repr=False)
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)

    def of(self, tags: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """How many rows of some units were accepted before; 0 for units that were never seen."""
        if not len(self.tags):
            return np.zeros(len(tags), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.tags, tags), len(self.tags) - 1)
        return np.where(self.tags[places] == tags, self.rows[places], 0)

    def with_more(self, other: Seen) -> Seen:
        """What both have seen, rows added up."""
        return Seen.counted(np.concatenate([self.tags, other.tags]), np.concatenate([self.rows, other.rows]))

    @classmethod
    def counted(cls, tags: NDArray[np.bytes_], rows: NDArray[np.int64]) -> Seen:
        """Tags that may come several times, with the rows of each."""
        known, places = np.unique(tags, return_inverse=True)
        total = np.zeros(len(known), dtype=np.int64)
        np.add.at(total, places.ravel(), rows)
        return cls(known, total)

    def packed(self, digest: bytes) -> bytes:
        """The state of a block's line."""
        head = _MARK + digest + len(self.tags).to_bytes(8, "little")
        return head + self.tags.tobytes() + self.rows.astype("<u4").tobytes()

    @classmethod
    def unpacked(cls, state: bytes | None) -> tuple[bytes, Seen]:
        """The digest of a block's file and the units that it had, from the state of its line."""
        start = len(_MARK) + _DIGEST + 8
        if state is None or len(state) < start or not state.startswith(_MARK):
            raise LedgerError(_UNREAD, hint=RESTORE)
        digest = state[len(_MARK) : start - 8]
        units = int.from_bytes(state[start - 8 : start], "little")
        if len(state) != start + units * (_WIDTH + 4):
            raise LedgerError(_UNREAD, hint=RESTORE)
        tags = np.frombuffer(state, f"S{_WIDTH}", units, start)
        rows = np.frombuffer(state, "<u4", units, start + units * _WIDTH).astype(np.int64)
        return digest, cls(tags, rows)

    @classmethod
    def in_all(cls, states: Iterable[bytes | None]) -> Seen:
        """What several blocks have seen together."""
        seen = [cls.unpacked(state)[1] for state in states]
        if not seen:
            return cls()
        return cls.counted(np.concatenate([s.tags for s in seen]), np.concatenate([s.rows for s in seen]))


def tags_of(key: bytes, names: Sequence[bytes]) -> NDArray[np.bytes_]:
    """A tag for each unit id."""

    def tag(name: bytes) -> bytes:
        return hashlib.blake2b(name, key=key, digest_size=_WIDTH, person=_PERSON).digest()

    return np.array([tag(name) for name in names], dtype=f"S{_WIDTH}")
