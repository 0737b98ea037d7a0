"""Where a ledger and its data lie, so that data under a new name does not begin a new budget unseen.

A guard against accidents and no part of the promise. A ledger notes itself, the data file and the links
that led to it, or the table of a database that says which it is, outside the chain of its lines. A new
ledger is refused for a file that another one knows, and for a link that led elsewhere when another one noted
it, as far as that one is found (`ledger_nearby`). A copied ledger is another file than the one it noted, so
what it noted says nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.copies import refuse_torn
from hedgerow.privacy.ledger.nearby import ledger_path, ledgers_before, ledgers_in
from hedgerow.privacy.ledger.sqlite import Place
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore

_GETVERSION = 0x80087601  # FS_IOC_GETVERSION: a number's files, one after the other, differ in it
_HOPS = 40


@dataclass(frozen=True)
class Data:
    """A data file or folder as somebody named it.

    Args:
        path: where it is.
        file: which file it is, however it is called.
        links: the names of links that led there.
    """

    path: Path
    file: str
    links: tuple[Path, ...]

    @classmethod
    def table(cls, identity: str, name: str) -> Data:
        """A table of a database, which is known by what the database says that it is."""
        return cls(Path(name), identity, ())

    @classmethod
    def named(cls, name: str | os.PathLike[str] | Data) -> Data | None:
        """What a name leads to, or None if it is no file or folder."""
        if isinstance(name, Data):
            return name
        try:
            path = Path(name).resolve(strict=True)
            return cls(path, file_identity(path), tuple(link for link in _names(name) if link != path))
        except (OSError, ValueError):
            return None

    def places(self) -> list[Place]:
        """What a ledger notes about it."""
        links = [("link", str(link), str(self.path)) for link in self.links]
        return [("data", str(self.path), self.file), *links]

    def known_to(self, places: list[Place]) -> bool:
        """Whether a ledger noted this file, or one of these links when it led elsewhere."""
        links = {str(link) for link in self.links}
        return any(
            (role == "data" and file == self.file)
            or (role == "link" and path in links and file != str(self.path))
            for role, path, file in places
        )


def note(store: SQLiteStore, data: Data | None, reason: str | None = None) -> None:
    """Note where ledger and data are now; a ledger that came from elsewhere is read through first.

    Data that it does not know, and another ledger near them does, need a reason: they would have two budgets.
    """
    held = set(store.places())
    now = [store.own, *(data.places() if data else [])]
    if data is not None and data.places()[0] not in held and reason is None:
        _refuse_another(data, Path(store.own[1]))
    if store.own not in held:
        refuse_torn(store)
    if not held.issuperset(now):
        store.note(now)


def refuse_known(data: Data, path: Path) -> None:
    """Refuse to make a ledger for data that another one near it knows."""
    if (other := knowing(data, path)) is not None:
        raise LedgerError(
            f"The data {str(data.path)!r} has a budget already, in the ledger {other}: go on with that one "
            f"(--ledger, or `ledger=`), or rename it to {path.name!r}, or give a reason for a new budget "
            "(--new-ledger, or `new_ledger=`)."
        )


def _refuse_another(data: Data, path: Path) -> None:
    """Refuse data that has a ledger and comes with one that was never theirs.

    Files that are written anew may get each other's numbers, so this asks for the name as well, and leaves
    the ledger alone that lies beside the data.
    """
    if path == ledger_path(data.path):
        return
    for other, places in _others(data, path):
        if data.places()[0] in places:
            raise LedgerError(
                f"The data {str(data.path)!r} has a budget already, in the ledger {other}, and {path} is "
                "another one: leave --ledger (`ledger=`) out or name the first, as two budgets for the same "
                "rows add up; or move it away if this one is to take its place."
            )


def knowing(data: Data, path: Path) -> Path | None:
    """A ledger near data that knows them, other than the one at `path`."""
    return next((other for other, places in _others(data, path) if data.known_to(places)), None)


def _others(data: Data, path: Path) -> Iterator[tuple[Path, list[Place]]]:
    """The ledgers near data, other than the one at `path`, with what each noted; not copies of ledgers."""
    for other in _near(data, path):
        if not other.is_file() or other.resolve() == path:
            continue
        with suppress(LedgerError), closing(SQLiteStore(other.resolve(), readonly=True)) as store:
            places = store.places()
            itself = {file for role, _, file in places if role == "ledger"}
            if store.own[2] in itself:
                yield other, places


def _near(data: Data, path: Path) -> Iterator[Path]:
    """The ledgers beside data, beside links to it, and in folders that such a link may have led to before."""
    own = (data.path.parent,) if data.path.is_absolute() else ()  # a table lies in no folder
    for folder in dict.fromkeys((*own, path.parent, *(link.parent for link in data.links))):
        yield from ledgers_in(folder)
    if data.links:
        yield from ledgers_before(data.path, data.links)


def file_identity(path: Path) -> str:
    """Which file this is: its number on its device, and which of the files that had the number in turn."""
    status = path.stat()
    age = bytearray(8)
    with suppress(OSError, ImportError):
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.ioctl(handle, _GETVERSION, age)
        finally:
            os.close(handle)
    return f"{status.st_dev}:{status.st_ino}:{age.hex()}"


def _names(name: str | os.PathLike[str]) -> Iterator[Path]:
    """A name made absolute, and those of the links that it leads through."""
    text = os.path.abspath(name)
    for _ in range(_HOPS):
        yield Path(text)
        if not os.path.islink(text):
            return
        text = os.path.abspath(os.path.join(os.path.dirname(text), os.readlink(text)))
