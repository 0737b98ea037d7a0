"""Places: in which lines of the ledger a session's answers are, by question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MANY = 4096  # newly noted questions, which take more memory than those in order


class AnswerPlaces:
    """Numbers of lines by the hashes of their questions; whoever reads a line there sees whose answer it is.

    Args:
        keys: hashes in order.
        lines: the line of each.

    >>> places = AnswerPlaces()
    >>> places.add(7, ["how many?"])
    >>> places.settled().find("how many?"), places.find("how many?"), places.find("how few?")
    ([7], [7], [])
    """

    def __init__(
        self, keys: NDArray[np.uint64] | None = None, lines: NDArray[np.int64] | None = None
    ) -> None:
        whole = np.zeros(0, np.uint64) if keys is None else keys
        self._settled = whole, np.zeros(0, np.int64) if lines is None else lines
        self._new: dict[int, list[int]] = {}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> AnswerPlaces:
        """The inverse of `arrays`."""
        return cls(arrays["keys"], arrays["lines"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was settled."""
        return dict(zip(("keys", "lines"), self._settled, strict=True))

    def add(self, line: int, keys: Iterable[str]) -> None:
        """Note one more line."""
        for key in keys:
            self._new.setdefault(_hash(key), []).append(line)
        if len(self._new) > _MANY:
            self._settled = self.settled()._settled
            self._new = {}

    def settled(self) -> AnswerPlaces:
        """All places, old and newly noted, in an order that can be searched."""
        noted = [(key, line) for key, lines in self._new.items() for line in lines]
        new = np.array(noted, dtype=np.uint64).reshape(-1, 2)
        keys = np.concatenate([self._settled[0], new[:, 0]])
        lines = np.concatenate([self._settled[1], new[:, 1].astype(np.int64)])
        order = np.argsort(keys, kind="stable")
        return AnswerPlaces(keys[order], lines[order])

    def find(self, key: str, *, new: bool = True) -> list[int]:
        """The lines that may answer a question, in order.

        Args:
            key: the question's.
            new: also those that were noted newly, and are not settled.
        """
        wanted = _hash(key)
        noted = list(self._new.get(wanted, ())) if new else []  # read first: it may be settled meanwhile
        keys, lines = self._settled
        first, last = (int(np.searchsorted(keys, np.uint64(wanted), side=side)) for side in ("left", "right"))
        return sorted({*lines[first:last].tolist(), *noted})


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())
