"""Kept rows: what lies beside a data file so that it is not parsed again, for its owner to see and remove."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import missing


@dataclass(frozen=True)
class KeptRows:
    """Coded rows beside a data file.

    Args:
        folder: where they lie.
        files: how many files they are, or were.
        bytes: how long these are together.
        cleared: whether they were removed.
        on: whether they are kept at all.
    """

    folder: str
    files: int
    bytes: int
    cleared: bool
    on: bool

    @property
    def words(self) -> str:
        """One line for the owner."""
        if self.cleared:
            return f"Removed {self.files} from {self.folder}"
        state = "" if self.on else "; no more are kept, HEDGEROW_ROW_CACHE is off"
        if not self.files:
            return f"No coded rows are kept in {self.folder}{state}"
        return f"PRIVATE: coded rows, {self.bytes:,} bytes, in {self.folder}; may be deleted any time{state}"

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def held(data: Path) -> KeptRows:
    """What is kept of a data file's rows."""
    from hedgerow.curator.rows import row_cache

    if not data.exists():
        raise missing(data)
    files = row_cache.files_of(data)
    size = sum(file.stat().st_size for file in files)
    folder = str(row_cache.folder_of(data.resolve()))
    return KeptRows(folder, len(files), size, False, row_cache.is_switched_on())


def clear(data: Path) -> KeptRows:
    """Remove it."""
    from hedgerow.curator.rows import row_cache

    before = held(data)
    return KeptRows(before.folder, row_cache.clear(data), before.bytes, True, before.on)
