"""What all commands share: how they print, how they fail, how they show progress.

Only light modules are imported here at load time, so that `--help` is quick.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hedgerow.errors import BudgetExceeded, HedgerowError

if TYPE_CHECKING:
    from rich.console import Console

FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 1, 2, 3, 130
DEBUG = "HEDGEROW_DEBUG"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="The data: a CSV or Parquet file.", show_default=False)
]
Encoding = Annotated[
    str | None, typer.Option(help="Text encoding of a CSV file, if not UTF-8 (for example latin-1).")
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the fields of a CSV file: a character, or tab.")
]
Multiline = Annotated[
    bool,
    typer.Option(
        "--multiline", help="The CSV file follows RFC 4180, and quoted cells of it hold line breaks."
    ),
]
SameRows = Annotated[
    bool, typer.Option("--same-rows", help="The data file was written again, with the same rows: go on.")
]
Confidence = Annotated[float, typer.Option(help="How often each error bound must hold.")]

# Whichever library the installed typer builds on, these are its errors.
_UsageError, _ClickException = typer.BadParameter.__mro__[1:3]


_PLAINER = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is needed",
    "Input should be a valid number, unable to parse string as a number": "a number is needed",
    "Input should be greater than or equal to": "it must be at least",
}


class Commands(TyperGroup):
    """A group of commands whose failures are one sentence on stderr and an exit code."""

    def main(  # type: ignore[override]
        self, args: Any = None, prog_name: str | None = None, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        def run() -> Any:
            return super(Commands, self).main(
                args=args, prog_name=prog_name or "hedgerow", standalone_mode=False, **extra
            )

        if not standalone_mode:
            return run()
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
        return _interrupted(json) if code == INTERRUPTED else code if isinstance(code, int) else 0
    except BrokenPipeError:  # the reader of a pipe has had enough
        _hush()
        return FAILED
    except _UsageError as error:
        return _usage(error, json)
    except _ClickException as error:
        return _fail(error.format_message(), BAD_INPUT, json)  # type: ignore[attr-defined]
    except BudgetExceeded as error:
        less = "" if str(error).lower().startswith("nothing") else "spend less, or "
        advice = f"{less}let the owner raise it with `hedgerow budget raise`"
        return _fail(f"{str(error).rstrip('.')}; {advice}", REFUSED, json)
    except HedgerowError as error:
        return _fail(str(error), BAD_INPUT, json)
    except OSError as error:
        name = f" {error.filename!r}" if error.filename else ""
        said = (error.strerror or "no reason given").lower()
        return _fail(f"the file{name} cannot be used: {said}", BAD_INPUT, json)
    except MemoryError:
        return _fail("there is not enough memory for this: ask for fewer or smaller tables", BAD_INPUT, json)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(json)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _fail(_unforeseen(error), FAILED, json)


def _fail(text: str, code: int, json: bool) -> int:
    """Say what went wrong; a program that asked for JSON gets it as JSON."""
    text = _sentence(text)
    if json and sys.stdout is not None:
        try:
            emit({"error": text, "exit_code": code})
            sys.stdout.flush()
        except OSError:  # nobody reads it, or it has no room
            _hush()
    return say(text, code)


def _hush() -> None:
    """What is still to be written to stdout goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: Exception) -> str:
    """A fault of Hedgerow's own: where it is, and not the error's words, which might quote a row."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
    return (
        f"Hedgerow met an error of its own ({type(error).__name__}{where}), please report it; every charge "
        f"that was made is in the ledger, and with {DEBUG}=1 in the environment Python's own words are shown"
    )


def _interrupted(json: bool) -> int:
    return _fail("Interrupted; every charge that was made is in the ledger", INTERRUPTED, json)


def _usage(error: Any, json: bool) -> int:
    """A command that was typed wrongly: one sentence, and where to look."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help())
        return BAD_INPUT
    path = context.command_path if context is not None else "hedgerow"
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    for words, plain in _PLAINER.items():
        said = said.replace(words, plain)
    return _fail(f"{said} (see `{path} --help`)", BAD_INPUT, json)


def say(text: str, code: int = BAD_INPUT) -> int:
    """One sentence on stderr; returns the exit code."""
    typer.echo(_sentence(text), err=True)
    return code


def _sentence(text: str) -> str:
    """One line with a full stop; its first word gets a capital if it is a word, and no name of a file."""
    text = " ".join(text.split())
    if re.match(r"[^\W\d_]+[,:;]?(\s|$)", text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


def emit(data: Any) -> None:
    """One JSON object on stdout, in UTF-8; JSON has no infinity, which becomes null."""
    in_utf8()
    typer.echo(json.dumps(_plain(data), indent=2, ensure_ascii=False, default=str, allow_nan=False))


def _plain(data: Any) -> Any:
    if isinstance(data, float):
        return data if isfinite(data) else None
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    return [_plain(value) for value in data] if isinstance(data, (list, tuple)) else data


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


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float | None], None]]:
    """A progress bar on stderr, told what is being done and which part of it is done.

    The time left is measured, not promised: it appears once part of the work is done. Nothing is shown with
    --json or when stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda words, part: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def step(words: str, part: float | None) -> None:
        key = words.partition(":")[0]  # what follows a colon is news about the same work
        if key not in tasks:
            for task in tasks.values():
                bar.update(task, total=1.0, completed=1.0)
            tasks[key] = bar.add_task(words, total=None)
        bar.update(tasks[key], description=words)
        if part is not None:
            bar.update(tasks[key], total=1.0, completed=part)

    with bar:
        yield step
