"""What a server has open of a dataset: curator, session, a reading, and how old the data file was then."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.mechanisms.session.reading import SessionReading
    from hedgerow.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class OpenedDataset:
    """A dataset that has a budget: its curator, and its session once it was learned.

    Args:
        curator: the owner's.
        session: None until something was learned.
        reading: what is read off it.
        seen: the last change of the data file when it was opened.
        until: what is closed at the end.
    """

    curator: Curator
    session: OpenSession | None
    reading: SessionReading | None
    seen: int | None
    until: ExitStack

    @property
    def ledger(self) -> Ledger:
        """The dataset's."""
        return self.curator.ledger


def last_change(data: Path) -> int | None:
    """When a file, or the newest file of a folder, was last written."""
    with suppress(OSError):
        if data.is_dir():
            return max((f.stat().st_mtime_ns for f in data.rglob("*.parquet")), default=None)
        return data.stat().st_mtime_ns
    return None
