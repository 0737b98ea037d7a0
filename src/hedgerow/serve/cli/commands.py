"""All commands, put together: each is loaded and built when it is called, or when all are listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_group

import hedgerow
from hedgerow.serve.cli.options import spelled_out
from hedgerow.serve.cli.terminal import Commands

HOMES = {
    "demo": "demo.demo",
    "plan": "plan.plan",
    "release": "release.release",
    "query": "query.query",
    "ask": "ask.ask",
    "shell": "shell.shell",
    "sample": "query.sample",
    "describe": "describe.describe",
    "serve": "serve.serve",
    "append": "append.append",
    "backup": "copies.backup",
    "restore": "copies.restore",
    "cache": "copies.cache",
    "audit": "tools.audit",
    "bench": "tools.bench",
    "schema": "schema.app",
    "token": "token.app",
    "budget": "budget.app",
}
"""Where each command, or group of commands, is: a file of this folder, and what it is called there."""
_FOLDER = "hedgerow.serve.cli"
_WITH_GUESTS = ("plan", "release")  # their help names the mechanisms of other packages


class CommandsByName(Mapping[str, Any]):
    """The commands as the library wants them, each built when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in HOMES:
            raise KeyError(name)
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(HOMES)

    def __len__(self) -> int:
        return len(HOMES)


class AllCommands(Commands):
    """The whole command line; whoever calls one command waits for no other."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = CommandsByName()

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in order."""
        return list(HOMES)


@cache
def _built(name: str) -> Any:
    """One command, or group of them, as if it were registered with the others."""
    file, _, called = HOMES[name].partition(".")
    found = getattr(import_module(f"{_FOLDER}.{file}"), called)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        guests = import_module(f"{_FOLDER}.release").WithGuests if name in _WITH_GUESTS else None
        alone.command(name, cls=guests)(spelled_out(found))
    return get_group(alone).commands[name]


app = typer.Typer(
    name="hedgerow",
    cls=AllCommands,
    help="Differentially private answers to many statistical questions, from one budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks would show local variables
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hedgerow {hedgerow.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
