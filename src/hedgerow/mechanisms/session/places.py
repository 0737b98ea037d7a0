"""Places: in which lines of the ledger a session's answers are, by question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AnswerPlaces:
    """Numbers of lines by the hashes of their questions; whoever reads a line there sees whose answer it is.

    Args:
        keys: hashes in order.
        lines: the line of each.

    >>> places = AnswerPlaces()
    >>> places.add(7, ["how many?"])
    >>> places.settled().find("how many?"), places.find("how many?")
    ([7], [])
    """

    def __init__(
        self, keys: NDArray[np.uint64] | None = None, lines: NDArray[np.int64] | None = None
    ) -> None:
        self._keys = np.zeros(0, np.uint64) if keys is None else keys
        self._lines = np.zeros(0, np.int64) if lines is None else lines
        self._new: list[tuple[int, int]] = []

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> AnswerPlaces:
        """The inverse of `arrays`."""
        return cls(arrays["keys"], arrays["lines"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was settled."""
        return {"keys": self._keys, "lines": self._lines}

    def add(self, line: int, keys: Iterable[str]) -> None:
        """Note one more line; it is found once that is settled."""
        self._new += [(_hash(key), line) for key in keys]

    def settled(self) -> AnswerPlaces:
        """All places, old and newly noted, in an order that can be searched."""
        new = np.array(self._new, dtype=np.uint64).reshape(-1, 2)
        keys = np.concatenate([self._keys, new[:, 0]])
        lines = np.concatenate([self._lines, new[:, 1].astype(np.int64)])
        order = np.argsort(keys, kind="stable")
        return AnswerPlaces(keys[order], lines[order])

    def find(self, key: str) -> list[int]:
        """The settled lines that may answer a question, in order."""
        wanted = np.uint64(_hash(key))
        first, last = (int(np.searchsorted(self._keys, wanted, side=side)) for side in ("left", "right"))
        return sorted(set(self._lines[first:last].tolist()))


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())
