"""What all commands share: how they print, how they fail, how they show progress.

Only light modules are imported here at load time, so that `--help` is quick.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hedgerow.errors import BudgetExceeded, HedgerowError

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT, REFUSED, INTERRUPTED = 2, 3, 130

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
Confidence = Annotated[float, typer.Option(help="How often each error bound must hold.")]

# Whichever library the installed typer builds on, these are its errors.
_UsageError, _ClickException = typer.BadParameter.__mro__[1:3]


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
        sys.exit(guarded(run))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C means the same under every version of the library below."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def guarded(run: Callable[[], Any]) -> int:
    """The exit code of a command; what went wrong is said on stderr."""
    try:
        code = run()
        sys.stdout.flush()
        return _interrupted() if code == INTERRUPTED else code if isinstance(code, int) else 0
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except _UsageError as error:
        return _usage(error)
    except _ClickException as error:
        return say(error.format_message(), BAD_INPUT)  # type: ignore[attr-defined]
    except BudgetExceeded as error:
        advice = "spend less, or let the owner raise it with `hedgerow budget raise`"
        return say(f"{str(error).rstrip('.')}; {advice}", REFUSED)
    except HedgerowError as error:
        return say(str(error), BAD_INPUT)
    except OSError as error:
        name = f" {error.filename!r}" if error.filename else ""
        return say(f"the file{name} cannot be used: {(error.strerror or str(error)).lower()}", BAD_INPUT)
    except MemoryError:
        return say("there is not enough memory for this", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()


def _interrupted() -> int:
    return say("Interrupted; every charge that was made is in the ledger", INTERRUPTED)


def _usage(error: Any) -> int:
    """A command that was typed wrongly: one sentence, and where to look."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help())
        return BAD_INPUT
    path = context.command_path if context is not None else "hedgerow"
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    return say(f"{said} (see `{path} --help`)", BAD_INPUT)


def say(text: str, code: int = BAD_INPUT) -> int:
    """One sentence on stderr; returns the exit code."""
    text = " ".join(text.split())
    typer.echo(f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}", err=True)
    return code


def emit(data: Any) -> None:
    """One JSON object on stdout."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def screen() -> Console:
    """Where text and tables are printed; wide enough for tables when nobody looks."""
    from rich.console import Console

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
