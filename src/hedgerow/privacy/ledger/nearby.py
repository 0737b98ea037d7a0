"""Ledgers that lie near data: known by their names, and by what they hold if they are called otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from hedgerow.privacy.ledger.sqlite import is_ledger

SUFFIX = ".hedgerow.db"
_MOST = 2000  # files looked into, and folders looked through, in one place
_DEEP = 4  # folders within each other that stand for a moment, such as 2026/11/16
_SECTOR = 512  # the files of SQLite are made of these


def cache_folder(ledger: Path) -> Path:
    """The folder beside a ledger for what may be deleted at any time, DATA.hedgerow.cache."""
    text = str(ledger.resolve())
    return Path(f"{text.removesuffix('.db') if text.endswith(SUFFIX) else text}.cache")


def ledger_path(data: str | os.PathLike[str]) -> Path:
    """Where a dataset's ledger is: beside the data, whatever links lead there; a ledger's path is itself."""
    path = Path(data)
    text = str(path.resolve() if path.is_symlink() or path.name in ("", "..") else data)
    return Path(text if text.endswith(SUFFIX) else f"{text.rstrip('/')}{SUFFIX}")


def ledgers_in(folder: Path) -> Iterator[Path]:
    """The ledgers in a folder, however they are called."""
    named, others = _parted(folder)
    yield from named
    held = _held()
    for file in others[:_MOST] if held else ():
        with suppress(OSError):
            status = file.stat()
            if not S_ISREG(status.st_mode) or not status.st_size or status.st_size % _SECTOR:
                continue
            if (status.st_dev, status.st_ino) not in held:
                if is_ledger(file):
                    yield file
            elif os.path.exists(f"{file}-wal"):  # SQLite's: it is opened by SQLite, which drops no locks
                yield file


def ledgers_before(path: Path, links: Iterable[Path]) -> Iterator[Path]:
    """The ledgers in folders that links may have led to before, by their names.

    Args:
        path: where the links lead now.
        links: their names; folders within them may be links as well.
    """
    spots = {path.parent: Path()}  # a folder that may have been another one, and the way on from there
    for link in links:
        for turn in (above for above in link.parents if above.is_symlink()):
            onward = link.parent.relative_to(turn)
            spots |= {turn: onward, turn.resolve(): onward}
    for spot, onward in spots.items():
        for folder in _alike(spot):
            yield from _parted(folder / onward)[0]


def _alike(folder: Path) -> list[Path]:
    """The folders beside one, and beside those above it as long as they are numbered, as dates are."""
    top, depth = folder.parent, 1
    while depth < _DEEP and any(sign.isdigit() for sign in top.name):
        top, depth = top.parent, depth + 1
    found = [top]
    for _ in range(depth):
        found = sorted((inner for outer in found for inner in _folders(outer)), reverse=True)[:_MOST]
    return found


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _parted(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files that are called like ledgers, and the others."""
    with suppress(OSError):
        files = sorted(folder.iterdir())
        named = [file for file in files if file.name.endswith(SUFFIX)]
        return named, [file for file in files if not file.name.endswith(SUFFIX)]
    return [], []


def _held() -> set[tuple[int, int]]:
    """The files that this process has open: closing one a second time would drop the locks on it.

    Nothing if the system does not say which.
    """
    found: set[tuple[int, int]] = set()
    with suppress(OSError):
        for name in os.listdir("/dev/fd"):
            with suppress(OSError):
                status = os.fstat(int(name))
                found.add((status.st_dev, status.st_ino))
    return found
