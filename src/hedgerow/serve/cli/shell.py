"""`hedgerow shell`: many questions to private data or to a release, one prompt."""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli import signals
from hedgerow.serve.cli.completion import Completion
from hedgerow.serve.cli.failure import INTERRUPTED, CommandFailure
from hedgerow.serve.cli.line_editing import edited_lines
from hedgerow.serve.cli.options import As, DataOptions, Json, SchemaFile, data_path
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.statements import cut, says_something
from hedgerow.serve.cli.terminal import in_utf8, say, screen, table_of
from hedgerow.service.address import is_remote

if TYPE_CHECKING:
    from hedgerow.service.stay import Stay, Told

SURE, USUAL = 0.999, 0.95  # how often errors hold with an accuracy, and without one
PROMPT, MORE = "hedgerow> ", "     ...> "
HELP = {
    ".schema": "columns, levels and bins",
    ".budget": "what may still be spent, and what that buys",
    ".explain SQL": "what a question would do and cost, without asking it",
    ".within X": "the accuracy of counts from now on: rows (50), or a part of them (0.01); off for none",
    ".spend on|off": "whether questions may cost anything; off at first",
    ".plot FILE": "draw the last answer: .svg, .png or .html",
    ".save FILE": "write the last answer: .csv, .json, .md, .parquet or .txt",
    ".timing on|off": "whether to say how long an answer took",
    ".help": "this list",
    ".quit": "leave; so does the end of the input",
}


def shell(
    thing: Annotated[
        Path,
        typer.Argument(
            metavar="DATA|SYNOPSIS|URL",
            help="The data, a file or folder that `release` wrote, or http://HOST/DATASET at a server.",
            show_default=False,
            parser=data_path,
        ),
    ],
    opening: DataOptions,
    command: Annotated[
        str | None, typer.Option("-c", "--command", metavar="SQL", help="Ask this, and leave.")
    ] = None,
    schema: SchemaFile = None,
    account: As = None,
    json: Json = False,
) -> None:
    """Ask DATA, a release or a server one question after another; statements end with a semicolon.

    The session stays open, so that an answer from what was learned takes milliseconds. Questions cost nothing
    unless `.spend on` was said; the cost of one is told before it is asked. Without a terminal, statements
    are read from standard input to its end; with --json each of them gets one object on a line. The exit code
    is that of the last error. `.help` lists the commands.
    """
    with _remote(str(thing)) if is_remote(thing) else _here(opening, thing, schema, account) as stay:
        talk = Shell(stay, thing, json=json)
        if command is not None:
            talk.read(command, last=True)
        elif sys.stdin.isatty() and not json:
            talk.converse()
            return
        else:
            talk.read(sys.stdin.read(), last=True)
    if talk.code:
        raise typer.Exit(talk.code)


def _here(opening: DataOptions, thing: Path, schema: Path | None, account: str | None) -> Stay:
    from hedgerow.service.stay import stay_at

    return stay_at(opening.dataset(thing, schema=schema), account)


def _remote(url: str) -> Stay:
    from hedgerow.serve.cli.remote_stay import RemoteStay

    return RemoteStay(url)


class Shell:
    """One conversation: what was set, what was answered last, and what went wrong last."""

    def __init__(self, stay: Stay, thing: Path, *, json: bool = False) -> None:
        self.stay, self.thing, self.json = stay, thing, json
        self.within: float | None = None
        self.spend, self.timing, self.code = False, False, 0
        self.last: Told | None = None
        self.over = False
        self.commands: dict[str, Callable[[str], None]] = {
            ".schema": self._schema,
            ".budget": self._budget,
            ".explain": self._explain,
            ".within": self._within,
            ".spend": self._spend,
            ".plot": self._plot,
            ".save": self._save,
            ".timing": self._timing,
            ".help": self._help,
            ".quit": self._quit,
            ".exit": self._quit,
        }

    # -- reading ------------------------------------------------------------------------------------------

    def read(self, text: str, *, last: bool = False) -> str:
        """Carry out what has ended in a text; the rest is given back, or carried out if it is the last."""
        held = ""
        for line in text.splitlines():
            if not says_something(held) and line.strip().startswith("."):
                self._guarded(self._dot, line.strip())
            else:
                done, held = cut(f"{held}\n{line}" if held else line)
                for statement in done:
                    self._guarded(self._ask, statement)
            if self.over:
                return ""
        if last and says_something(held):
            self._guarded(self._ask, held.strip())
            return ""
        return held if says_something(held) else ""

    def converse(self) -> None:
        """Prompt, read, answer, until the end of the input."""
        self.timing = True
        with edited_lines(self._completion()):
            screen().print(
                f"{self.thing}: `.help` lists what can be done here, `.quit` leaves.", soft_wrap=True
            )
            if not self.stay.learned:
                screen().print(
                    "Nothing was learned yet: `.spend on`, and the first question pays for it, once."
                )
            held = ""
            while not self.over:
                try:
                    line = input(MORE if held else PROMPT)
                except EOFError:
                    screen().print()
                    return
                except KeyboardInterrupt:
                    if not signals.forgiven():
                        raise
                    screen().print()
                    held = ""
                    continue
                held = self.read(f"{held}\n{line}" if held else line)

    def _completion(self) -> Completion:
        columns = {column.name: column.levels for column in self.stay.description.columns}
        names = [name.split()[0] for name in HELP]
        return Completion(columns, ["t"], names)

    def _guarded(self, act: Callable[[str], None], given: str) -> None:
        """Carry one thing out; what goes wrong is said, and the conversation goes on."""
        try:
            act(given)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if signals.heard() and not signals.forgiven():
                raise
            failure = self._failure(error)
            self.code = failure.exit_code
            if self.code == INTERRUPTED and not sys.stdin.isatty():
                raise
            if self.json:
                self._emit(failure.to_json())
            say(failure.told)

    def _failure(self, error: BaseException) -> CommandFailure:
        """What went wrong; what to do about it is said in the words of this prompt."""
        failure = CommandFailure.of(error)
        hints = {
            "budget_refused": "`.spend on` lets it, or `.within off` asks without an accuracy, which is free",
            "not_learned": "`.spend on`, and ask again; `.explain` says what that costs",
        }
        hint = failure.hint if self.spend else hints.get(failure.code, failure.hint)
        return replace(failure, hint=hint)

    # -- questions ----------------------------------------------------------------------------------------

    def _question(self, sql: str) -> Any:
        from hedgerow.service.asking import Ask

        rows = self.within is not None and self.within >= 1
        accuracy: Any = {"within_count" if rows else "within": self.within}
        return Ask(sql, spend=self.spend, **accuracy)

    def _ask(self, sql: str) -> None:
        question = self._question(sql)
        if self.spend and not self.json:
            expected = self.stay.explain(question)
            if expected.costs:
                screen().print(expected.sentences[-1], style="dim", soft_wrap=True)
        began = perf_counter()
        if self.stay.learned:
            told = self.stay.ask(question, lambda words, part: None)
        else:
            with progress(self.json) as step:
                told = self.stay.ask(question, step)
        took = perf_counter() - began
        self.last = told
        if self.json:
            self._emit(told.plain)
            return
        to = screen()
        to.print(table_of(told.answer))
        for sentence in told.sentences:
            to.print(sentence, style="dim", soft_wrap=not to.is_terminal)
        if self.timing:
            to.print(f"{1000 * took:,.0f} ms", style="dim")
        to.print()

    def _explain(self, rest: str) -> None:
        if not rest.strip(" ;"):
            raise _wrong(".explain SQL says what that question would do and cost")
        told = self.stay.explain(self._question(rest.rstrip(" ;")))
        self._say(told.plain, told.sentences)

    # -- dot commands -------------------------------------------------------------------------------------

    def _dot(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        act = self.commands.get(name.rstrip(";"))
        if act is None:
            raise _wrong(f"there is no command {name!r}; `.help` lists them")
        act(rest.strip())

    def _schema(self, rest: str) -> None:
        from hedgerow.serve.cli.describe import columns_table

        found = self.stay.description
        if self.json:
            self._emit(found.to_json())
            return
        screen().print(columns_table(found))
        screen().print()

    def _budget(self, rest: str) -> None:
        told = self.stay.budget()
        self._say(told.plain, told.sentences)

    def _within(self, rest: str) -> None:
        given = rest.rstrip(";").removesuffix("%")
        try:
            value = None if given in ("off", "") else float(given) / (100 if "%" in rest else 1)
        except ValueError:
            value = -1.0
        if value is not None and not 0 < value < float("inf"):
            raise _wrong(".within takes a number of rows (50), a part of them (0.01), or off")
        self.within = value
        words = "off"
        if value is not None:
            words = f"{value:,.6g} rows" if value >= 1 else f"{100 * value:.4g}% of all rows"
            words += f", with {SURE:g} confidence ({USUAL:g} without one); each answer says its own"
        self._say({"within": value}, (f"Accuracy of counts from now on: {words}.",))

    def _spend(self, rest: str) -> None:
        self.spend = _on(".spend", rest, self.spend)
        words = "may cost something" if self.spend else "cost nothing"
        self._say({"spend": self.spend}, (f"Questions {words} from now on.",))

    def _timing(self, rest: str) -> None:
        self.timing = _on(".timing", rest, self.timing)
        self._say(
            {"timing": self.timing}, (f"How long an answer took is {'told' if self.timing else 'not told'}.",)
        )

    def _plot(self, rest: str) -> None:
        from hedgerow.service import exporting

        path = self._file(".plot", rest)
        exporting.draw(self._answer(), path)
        self._say({"file": str(path)}, (f"Wrote {path}.",))

    def _save(self, rest: str) -> None:
        from hedgerow.service import exporting

        path = self._file(".save", rest)
        form = exporting.write(self._answer(), path)
        self._say({"file": str(path), "format": form}, (f"Wrote {path}.",))

    def _help(self, rest: str) -> None:
        wide = max(map(len, HELP))
        self._say({"commands": HELP}, tuple(f"{name:<{wide}}  {words}" for name, words in HELP.items()))

    def _quit(self, rest: str) -> None:
        self.over = True

    # -- saying -------------------------------------------------------------------------------------------

    def _answer(self) -> Any:
        if self.last is None:
            raise _wrong("nothing was answered yet: ask first, then draw or save the answer")
        return self.last.answer

    @staticmethod
    def _file(command: str, rest: str) -> Path:
        if not rest.rstrip(";"):
            raise _wrong(f"{command} needs the name of a file")
        path = Path(rest.rstrip(";").strip("'\"")).expanduser()
        if path.exists():
            raise _wrong(f"the file {str(path)!r} is there already: choose another name")
        return path

    def _say(self, plain: dict[str, Any], sentences: tuple[str, ...]) -> None:
        if self.json:
            self._emit(plain)
            return
        to = screen()
        for sentence in sentences:
            to.print(sentence, soft_wrap=not to.is_terminal)

    @staticmethod
    def _emit(data: dict[str, Any]) -> None:
        """One object on one line."""
        from hedgerow.service.wire import plain

        in_utf8()
        typer.echo(jsons.dumps(plain(data), ensure_ascii=False, default=str))


def _on(command: str, rest: str, now: bool) -> bool:
    chosen = {"on": True, "off": False, "": not now}.get(rest.rstrip(";").lower())
    if chosen is None:
        raise _wrong(f"{command} is on or off")
    return chosen


def _wrong(words: str) -> Exception:
    from hedgerow.errors import HedgerowError

    return HedgerowError(words)
