"""Writing: a file appears whole under its name or not at all, and what goes wrong names it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.errors import HedgerowError, of_system


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
