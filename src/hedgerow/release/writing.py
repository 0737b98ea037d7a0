"""Writing: a file appears whole under its name or not at all, and what goes wrong names it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.errors import HedgerowError, of_system
from hedgerow.privacy.ledger.nearby import SUFFIX, ledger_path
from hedgerow.privacy.ledger.url import LedgerUrl, Where


@contextmanager
def naming(path: Path, hint: str | None = None) -> Iterator[None]:
    """What the system says while a file or folder is written is said of that, with what to do about it."""
    try:
        yield
    except BrokenPipeError:  # the reader of a pipe has had enough
        raise
    except OSError as error:
        kind = "folder" if path.is_dir() else "file"
        failed = of_system(error, f"the {kind} {str(path)!r} cannot be written")
        failed.hint = hint
        raise failed from None


@contextmanager
def whole(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A draft beside a file, which takes its name when it is done; a device or a pipe is written itself.

    Args:
        path: the file.
        mode: who may read and write a new one, as far as the umask allows; 0o600 is never widened.
    """
    target = path.resolve()
    if target.is_dir():
        raise HedgerowError(f"the file {str(path)!r} cannot be written, as it is a folder: name a file in it")
    with naming(path):
        if target.exists() and not target.is_file():
            yield path
            return
        draft = target.with_name(f".hedgerow-{secrets.token_hex(8)}{target.suffix}")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))  # as the umask says
            if target.exists() and mode != 0o600:
                shutil.copymode(target, draft)
            yield draft
            put(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def put(draft: Path, target: Path) -> None:
    """Give a draft its name once all of it is on the disk: nobody reads half of it under that name."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(target)


def same_file(path: Path, kept: Where) -> bool:
    """Whether two paths name one file, or will."""
    if isinstance(kept, LedgerUrl):
        return False
    return path.resolve() == kept.resolve() or (path.exists() and kept.exists() and path.samefile(kept))


def refuse_existing(path: Path, *, force: bool, option: str = "--out", ledger: Where | None = None) -> None:
    """Refuse to write over a file unless it is forced; data with a budget, and ledgers, whatever is said."""
    folders = [p for p in path.resolve().parents[:-1] if p.is_dir()] if path.suffix == ".parquet" else []
    own = SUFFIX in path.name or (ledger is not None and same_file(path, ledger))
    if own or any(os.path.lexists(ledger_path(p)) for p in (path, *folders)):
        raise HedgerowError(
            f"the file {str(path)!r} is data with a budget, or a ledger: it is not written over"
        )
    if path.is_file() and not force:
        raise HedgerowError(
            f"the file {str(path)!r} is there already: choose another {option}, or --force to replace it"
        )


def writable(folder: Path) -> None:
    """Make a folder if need be, and see that a file can be written there."""
    if folder.is_file():
        raise HedgerowError(f"the folder {str(folder)!r} cannot be written, as it is a file: choose another")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".hedgerow-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise of_system(error, f"the folder {str(folder)!r} cannot be written") from None
