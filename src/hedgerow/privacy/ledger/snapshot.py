"""A private copy of a ledger's files, for readers who may write neither the ledger nor its folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_TRIES = 100


class Snapshot:
    """A ledger's file as it was at one moment, with the log beside it, in a folder of the reader's own.

    Args:
        path: the ledger's file.
        companions: the suffixes of the files beside it that belong to it.
    """

    def __init__(self, path: Path, companions: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hedgerow-")  # mode 0700
        self._pid = os.getpid()
        self.path = Path(self._folder.name) / "ledger"
        self._files = [(Path(f"{path}{suffix}"), f"{self.path}{suffix}") for suffix in ("", *companions)]
        try:
            self._copy()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copy."""
        if self._pid == os.getpid():
            self._folder.cleanup()

    def _copy(self) -> None:
        """Copy until nothing was written meanwhile."""
        for _ in range(_TRIES):
            before = self._stamps()
            for (source, target), stamp in zip(self._files, before, strict=True):
                Path(target).unlink(missing_ok=True)
                if stamp is not None:
                    with suppress(FileNotFoundError):  # then it is no longer what it was
                        shutil.copyfile(source, target)
            if self._stamps() == before:
                return
        raise OSError(0, "it is written without a pause")

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        """Which files are there, and when each was last changed; the ledger's own must be."""
        found: list[tuple[int, int, int] | None] = []
        for source, _ in self._files:
            try:
                status = source.stat()
            except FileNotFoundError:
                if not found:
                    raise
                found.append(None)
            else:
                found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        return found
