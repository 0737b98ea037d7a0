"""`hedgerow serve`: many analysts, one budget - a server for datasets of this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.options import (
    Delimiter,
    Json,
    LedgerFile,
    Select,
    Table,
    TextEncoding,
    Whom,
    data_path,
)
from hedgerow.serve.cli.terminal import emit, in_utf8, say, screen

if TYPE_CHECKING:
    from hedgerow.service.config import Config

StateFolder = Annotated[
    Path | None,
    typer.Option(
        "--state",
        envvar="HEDGEROW_STATE",
        show_envvar=False,
        help="The state folder; .hedgerow beside the first DATA if not given.",
    ),
]


@dataclass(frozen=True)
class ServedOptions:
    """What is said of DATA; the fields are those of a dataset in hedgerow.toml."""

    schema: Annotated[Path | None, typer.Option(help="The confirmed schema of the one DATA.")] = None
    table: Table = None
    query: Select = None
    epsilon: Annotated[str | None, typer.Option(help="The budget that is made if there is none.")] = None
    delta: Annotated[str | None, typer.Option(help="Its delta: 1e-9 if not given, 0 is pure.")] = None
    unit: Annotated[str | None, typer.Option(help="The column that names a person, of a new budget.")] = None
    max_rows: Annotated[int | None, typer.Option(min=1, help="How many rows of each person are used.")] = None
    neighbours: Whom = None
    encoding: TextEncoding = None
    delimiter: Delimiter = None
    learn: Annotated[
        str | None, typer.Option(help="Spend so much epsilon on learning, once, if nothing was learned yet.")
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """What was said, as plain data."""
        said = {name: v.value if isinstance(v, Enum) else v for name, v in vars(self).items()}
        return {name: str(v) if isinstance(v, Path) else v for name, v in said.items() if v is not None}


@dataclass(frozen=True)
class ListenOptions:
    """How the server listens; the fields are those of [server] in hedgerow.toml."""

    ledger: LedgerFile = None
    state: StateFolder = None
    host: Annotated[str | None, typer.Option(help="The address; 127.0.0.1 if not given.")] = None
    port: Annotated[int | None, typer.Option(help="The port; 8765 if not given, 0 is any free one.")] = None
    wire_port: Annotated[
        str | None, typer.Option(help="The port of the PostgreSQL protocol, or off; 5433 if not given.")
    ] = None
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate, to speak TLS.")] = None
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None

    @property
    def given(self) -> dict[str, Any]:
        """What was said, as plain data."""
        said = {name: str(v) if isinstance(v, Path) else v for name, v in vars(self).items()}
        wire = self.wire_port
        return said | {"wire_port": int(wire) if wire is not None and wire.isdigit() else wire}


def serve(
    listening: ListenOptions,
    served: ServedOptions,
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA",
            help="Files, or postgresql://... with --table.",
            show_default=False,
            parser=data_path,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="HEDGEROW_CONFIG", show_envvar=False, help="A configuration file, hedgerow.toml."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the configuration, and do not serve.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Serve a made-up population, and learn it.")] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen anywhere without TLS: tokens can then be overheard.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    json: Json = False,
) -> None:
    """Serve DATA to many analysts, over HTTP.

    Prints one line when it is ready. Nothing is spent by itself: learning is the owner's act.
    """
    from hedgerow.errors import HedgerowError

    made = _config(config, data or [], served.given, demo).with_server(**listening.given)
    made = replace(made, insecure=insecure).check()
    if not made.datasets and not made.state.exists() and config is None:
        raise HedgerowError("there is nothing to serve: name DATA, a --config, or --demo")
    if check:
        _checked(made, json)
        return
    try:
        from hedgerow.serve.http.running import serve as run
    except ImportError:
        raise HedgerowError("serving needs more packages: pip install 'hedgerow[serve]'") from None
    run(made, lambda event, words: _ready(event, words, json, no_browser), json_log=json)


def _config(file: Path | None, data: list[Path], given: dict[str, Any], demo: bool) -> Config:
    """What is to be served: the file's datasets, the command's, the demo's."""
    from hedgerow.errors import HedgerowError
    from hedgerow.release.population import MAX_ROWS, UNIT
    from hedgerow.service.address import absolute
    from hedgerow.service.config import Config, DatasetSettings

    made = Config() if file is None else Config.load(file)
    if demo:
        data = [*data, _demo()]
        given = {"epsilon": "2", "learn": "1", "unit": UNIT, "max_rows": MAX_ROWS} | given
    if given and not data:
        raise HedgerowError(f"--{next(iter(given)).replace('_', '-')} is about DATA, and none is named")
    if "schema" in given and len(data) > 1:
        raise HedgerowError("--schema is for one DATA: name each dataset's own in a --config")
    if ("table" in given or "query" in given) and len(data) > 1:
        raise HedgerowError("--table and --query are for one DATA: name each dataset's own in a --config")
    sets = [DatasetSettings(absolute(path), **given) for path in data]
    return Config(made.server, made.limits, (*made.datasets, *sets))


def _demo() -> Path:
    """A made-up population, in a folder of its own."""
    from hedgerow.release.population import Population

    folder = Path("hedgerow-demo")
    folder.mkdir(exist_ok=True)
    data = folder / "people.csv"
    if not data.exists():
        people = Population(20_000, 2024)
        people.write(data)
        people.domain().save(folder / "schema.yaml")
    return data


def _checked(config: Config, json: bool) -> None:
    names = [dataset.called for dataset in config.datasets]
    if json:
        emit({"ok": True, "datasets": names, "state": str(config.state)})
    else:
        screen().print(
            f"The configuration is good: {', '.join(names) or 'no dataset'}; state in {config.state}."
        )


def _ready(event: dict[str, Any], words: list[str], json: bool, no_browser: bool) -> None:
    """The one line on stdout; the rest is for people, on stderr."""
    import json as js

    in_utf8()
    line, wire = f"Hedgerow is ready at {event['url']}", event["wire"]
    if wire is not None:
        line += f" (PostgreSQL {wire['host']}:{wire['port']})"
    line = js.dumps(event) if json else line
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    if json:
        return
    for line in words:
        say(line)
    secrets = [f"The owner's link, good once and for an hour:\n  {event['owner_link']}"]
    if event["owner_token"]:
        asking = f"curl -H 'Authorization: Bearer {event['owner_token']}' {event['url']}/v1/datasets"
        secrets.append(f"The owner's token, shown once:\n  {event['owner_token']}\nTo try it:\n  {asking}")
    for secret in secrets:  # as they are copied: without a full stop
        typer.echo(secret, err=True)
    if sys.stdout.isatty() and not no_browser:
        import webbrowser

        webbrowser.open(event["owner_link"])
