"""Company: which of a ledger's lines somebody else wrote, in another process or through another handle."""

from __future__ import annotations


class Company:
    """What one holder of a ledger knows of others who write it.

    Args:
        newest: the number of the newest line when it was opened.
    """

    def __init__(self, newest: int) -> None:
        self._mine = newest
        self._theirs = -1

    def met(self, newest: int) -> int:
        """See which line is the newest now; the newest that others are known to have written."""
        if newest > self._mine:
            self._theirs = max(self._theirs, newest)
        return self._theirs

    def wrote(self, newest: int) -> None:
        """The newest line is one's own, and all before it are known."""
        self._mine = max(self._mine, newest)
