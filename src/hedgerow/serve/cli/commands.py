"""All commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

import hedgerow
from hedgerow.serve.cli import (
    append,
    ask,
    budget,
    copies,
    demo,
    describe,
    plan,
    query,
    release,
    schema,
    serve,
    shell,
    token,
    tools,
)  # fmt: skip
from hedgerow.serve.cli.options import spelled_out
from hedgerow.serve.cli.terminal import Commands

app = typer.Typer(
    name="hedgerow",
    cls=Commands,
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


app.command("demo")(demo.demo)
app.add_typer(schema.app, name="schema")
app.command("plan", cls=release.WithGuests)(plan.plan)
app.command("release", cls=release.WithGuests)(spelled_out(release.release))
app.command("query")(query.query)
app.command("ask")(spelled_out(ask.ask))
app.command("shell")(spelled_out(shell.shell))
app.command("sample")(query.sample)
app.command("describe")(describe.describe)
app.command("serve")(spelled_out(serve.serve))
app.add_typer(token.app, name="token")
app.add_typer(budget.app, name="budget")
app.command("append")(spelled_out(append.append))
app.command("backup")(copies.backup)
app.command("restore")(copies.restore)
app.command("cache")(copies.cache)
app.command("audit")(tools.audit)
app.command("bench")(tools.bench)
