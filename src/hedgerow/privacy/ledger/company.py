"""Company: which of a ledger's lines somebody else wrote, in another process or through another handle."""

from __future__ import annotations

from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.store import Store


class Company:
    """What one holder of a ledger knows of others who write it.

    Args:
        store: the ledger's lines.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._done = self._doing = store.head()
        self._theirs = -1

    def met(self) -> int:
        """Look at the newest line; the number of the newest that others are known to have written.

        It is one's own if it is the last that was committed, or is being committed just now. A line in the
        place of one's own is theirs: what is written in a turn may be lost before that ends.
        """
        newest = self._store.newest()
        mine = [own.hash for own in (self._doing, self._done) if own.seq == newest]
        if not mine or (there := self._store.at(newest)) is None or there.hash not in mine:
            self._theirs = newest
        return self._theirs

    def writes(self, head: Line) -> None:
        """All lines up to this one are known, and it is about to be committed."""
        self._doing = head

    def wrote(self) -> None:
        """It is committed."""
        self._done = self._doing
