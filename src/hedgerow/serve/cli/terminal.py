"""What all commands share: how they print, how they fail, how they show progress.

Only light modules are imported here at load time, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer.core import TyperGroup

import hedgerow
from hedgerow.errors import NotPrinted
from hedgerow.serve.cli import signals
from hedgerow.serve.cli.failure import BAD_INPUT, DEBUG, INTERRUPTED, INTERRUPTION, CommandFailure, sentence

if TYPE_CHECKING:
    from rich.console import Console

_BEGAN: ContextVar[tuple[datetime, float]] = ContextVar("began", default=(datetime.now(UTC), monotonic()))


class Commands(TyperGroup):
    """A group of commands whose failures are one sentence on stderr and an exit code."""

    def main(  # type: ignore[override]
        self, args: Any = None, prog_name: str | None = None, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        settings = {"prog_name": prog_name or "hedgerow", "standalone_mode": False, **extra}
        run = partial(super().main, args=args, **settings)
        if not standalone_mode:
            return run()
        _BEGAN.set((datetime.now(UTC), monotonic()))
        sys.exit(guarded(run, json="--json" in (sys.argv[1:] if args is None else args)))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C means the same under every version of the library below."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def guarded(run: Callable[[], Any], *, json: bool = False) -> int:
    """The exit code of a command; what went wrong is said on stderr, and to machines on stdout too."""
    try:
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return _fail(INTERRUPTION, json) if code == INTERRUPTED else code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        _hush()  # the reader of a pipe has had enough, and is content
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.ctx.get_help())  # type: ignore[union-attr]
            return BAD_INPUT
        failure = INTERRUPTION if signals.heard() else CommandFailure.of(error)
        if failure.code == "internal" and os.environ.get(DEBUG):
            raise
        return _fail(failure, json)


def _fail(failure: CommandFailure, json: bool) -> int:
    """Say what went wrong; a program that asked for JSON gets it as JSON, and only that."""
    if failure == INTERRUPTION:
        signals.ignore()
    try:
        if json and sys.stdout is not None:
            _print(failure.to_json())
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # nobody reads it, or it has no room
        _hush()
    words = failure.told
    return say(words, failure.exit_code)


def _hush() -> None:
    """What is still to be written to stdout goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, code: int = BAD_INPUT) -> int:
    """One sentence on stderr, if anybody reads it; returns the exit code."""
    with suppress(OSError):
        typer.echo(sentence(text), err=True)
    return code


def emit(data: dict[str, Any]) -> None:
    """A command's result as one JSON object on stdout: with when it began, how long it took, the version."""
    began, clock = _BEGAN.get()
    time = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    _print(data | {"time": time, "duration": round(monotonic() - clock, 3), "version": hedgerow.__version__})


@contextmanager
def printing(done: str) -> Iterator[None]:
    """Print the result of what is paid for; a stream without room is no reason to try, and pay, again.

    Args:
        done: half a sentence that says where the result lies.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        why = (error.strerror or "no reason given").lower()
        raise NotPrinted(f"the result cannot be printed ({why}), but {done}") from None


def _print(data: dict[str, Any]) -> None:
    from hedgerow.service.wire import text

    in_utf8()
    typer.echo(text(data))


def in_utf8() -> None:
    """From now on stdout is UTF-8, as files for other programs are, whatever the terminal's own encoding."""
    _reconfigure(encoding="utf-8", errors="surrogateescape")


def _reconfigure(**settings: str) -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(**settings)


def screen() -> Console:
    """Where text and tables are printed; wide enough for tables when nobody looks."""
    from rich.console import Console

    _reconfigure(errors="replace")  # a terminal without a sign shows a question mark
    settings: Any = {"highlight": False, "markup": False, "emoji": False}  # labels are text, not markup
    plain = Console(**settings)
    return plain if plain.is_terminal else Console(**settings, width=140)


def _columns_of(frame: Any) -> Any:
    """Columns that came from a server, as a table for the screen."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, after in zip(frame.heads, [*frame.heads[1:], ""], strict=True):
        side: Literal["left", "right"] = "right" if "±" in (head, after) else "left"
        table.add_column(head, justify=side, style="dim" if head == "±" else None)
    for cells in frame.cells():
        table.add_row(*cells)
    return table


def table_of(answer: Any) -> Any:
    """An answer as a table for the screen."""
    from rich.table import Table

    from hedgerow.release.numerals import bound, signed

    if getattr(answer, "table", None) is None:
        return _columns_of(answer)
    result = answer.table
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in result.show:
        if column.aggregate:
            table.add_column(column.name, justify="right")
            table.add_column("±", justify="right", style="dim")
        else:
            table.add_column(column.name)
    for labels, values, errors in zip(
        result.groups, result.values.tolist(), result.errors.tolist(), strict=True
    ):
        cells: list[str] = []
        for column in result.show:
            if column.aggregate:
                value, error = values[column.index], errors[column.index]
                cells += [signed(value, error), bound(error)]
            else:
                cells.append(str(labels[column.index]))
        table.add_row(*cells)
    return table
