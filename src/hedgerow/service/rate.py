"""Rate: how often each token may ask, as buckets that fill again with time."""

from __future__ import annotations

import threading
import time


class Rate:
    """So many questions a minute for each token, all at once if they were saved up.

    Args:
        per_minute: how many.

    >>> rate = Rate(2)
    >>> [rate.allows("ann") for _ in range(3)], rate.allows("bob")
    ([True, True, False], True)
    """

    def __init__(self, per_minute: int) -> None:
        self._most = per_minute
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allows(self, id: str, count: int = 1) -> bool:
        """Whether a token may ask so many questions now."""
        now = time.monotonic()
        with self._lock:
            left, then = self._left.get(id, (float(self._most), now))
            left = min(self._most, left + (now - then) * self._most / 60)
            enough = left >= min(count, self._most)
            self._left[id] = (left - count if enough else left), now
            return enough
