"""Line editing: history and completion at a prompt, by the standard library's readline where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.serve.cli.completion import DELIMITERS, Completion

_MOST = 2000  # lines of history


def history_file() -> Path:
    """Where what was typed is kept, for whoever typed it."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "hedgerow" / "shell_history"


@contextmanager
def edited_lines(completion: Completion) -> Iterator[None]:
    """While this lasts, `input` edits lines, completes words and remembers what was typed before."""
    try:
        import readline
    except ImportError:  # a system without it: lines are read as they come
        yield
        return
    file = history_file()
    with suppress(OSError):
        readline.read_history_file(file)
    found: list[str] = []

    def complete(word: str, state: int) -> str | None:
        if state == 0:
            found[:] = completion.of(readline.get_line_buffer()[: readline.get_begidx()], word)
        return found[state] if state < len(found) else None

    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(complete)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)
        readline.set_history_length(_MOST)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.write_history_file(file)
            file.chmod(0o600)
