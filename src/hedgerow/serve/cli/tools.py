"""`hedgerow audit` and `hedgerow bench`: the project's own checks, for whoever wants to see them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.serve.cli.options import Json
from hedgerow.serve.cli.terminal import emit


def audit(
    everything: Annotated[bool, typer.Option("--all", help="Audit every exported mechanism.")] = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Audit mechanisms that are wrong on purpose.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Replay mechanisms' histories on neighbouring tables.")
    ] = False,
    ledger: Annotated[Path | None, typer.Option(help="Replay a ledger with independent arithmetic.")] = None,
    reconstruct: Annotated[
        bool, typer.Option("--reconstruct", help="Recover hidden rows from exact answers, and from ours.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option(help="Outputs to draw from each data set, or neighbours.", min=10)
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for everything.", min=1)] = 480.0,
    plot: Annotated[
        Path | None, typer.Option(help="Write claimed and found epsilon as an SVG picture.")
    ] = None,
    json: Json = False,
) -> None:
    """Try to refute claimed privacy; exit code 1 if anything is refuted, as the controls must be."""
    from hedgerow.service import auditing

    asked = {"all": everything, "controls": controls, "replay": replay, "reconstruct": reconstruct}
    code = auditing.audit(
        asked | {"ledger": ledger is not None},
        samples=samples,
        time_limit=time_limit,
        picture=plot,
        ledger=ledger,
        emit=emit if json else None,
    )
    if code:
        raise typer.Exit(code)


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which benchmarks; all if none is named.")] = None,
    json: Json = False,
) -> None:
    """Run the benchmarks of a source checkout beside their peers; writes docs/benchmarks.md."""
    from importlib import import_module

    from hedgerow.errors import HedgerowError

    sys.path.insert(0, str(Path.cwd()))
    try:
        runner = import_module("benchmarks.__main__")
    except ModuleNotFoundError:
        raise HedgerowError(
            "benchmarks run in a source checkout: go to the folder that holds benchmarks/"
        ) from None
    unknown = sorted(set(names or []) - set(runner.modules()))
    if unknown:
        raise HedgerowError(f"there is no benchmark {unknown[0]!r}; there is {', '.join(runner.modules())}")
    if json:
        emit({n: import_module(f"benchmarks.{n}").run() for n in names or runner.modules()})
    else:
        runner.main(names or [])
