"""`hedgerow plan`: what every mechanism would do, before any private row is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.options import Force, Json, Whom, Workload
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, screen

if TYPE_CHECKING:
    import hedgerow as hr

_PLOTS = (".svg", ".html", ".json")


SchemaPath = Annotated[Path, typer.Option(help="The schema file.", show_default=False)]
Rows = Annotated[int, typer.Option(min=1, help="About how many rows there are.", show_default=False)]
Epsilon = Annotated[str | None, typer.Option(help="What may be spent; 1 if nothing is said.")]
Error = Annotated[
    float | None, typer.Option(help="In place of --epsilon: find it for answers so many rows off.")
]
Within = Annotated[float | None, typer.Option(help="The same as a part of the rows, such as 0.01.")]
Drawn = Annotated[
    Path | None,
    typer.Option(help="Write errors against epsilon, rows and queries as .svg, .html or .json."),
]


Every = Annotated[
    bool, typer.Option("--all", help="Show every mechanism that was compared, and not the best alone.")
]


def plan(
    schema: SchemaPath,
    rows: Rows,
    workload: Workload = "marginals:2",
    epsilon: Epsilon = None,
    error: Error = None,
    within: Within = None,
    delta: Annotated[str, typer.Option(help="Delta of the budget; 0 is pure.")] = "1e-9",
    neighbours: Whom = None,
    max_rows: Annotated[int, typer.Option(min=1, help="How many rows of each person are used.")] = 1,
    plot: Drawn = None,
    no_simulate: Annotated[
        bool, typer.Option("--no-simulate", help="Leave out what has to be tried on made-up populations.")
    ] = False,
    every: Every = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict error, time and memory of every mechanism, and recommend one.

    Needs a schema and about how many rows there are; reads no data and charges nothing. Mechanisms whose
    error depends on the data are tried on made-up populations of the same shape. What each of them is says
    `hedgerow release --help`.
    """
    from hedgerow.errors import UnsupportedQuery
    from hedgerow.release.catalogue import workload as named
    from hedgerow.release.plan.plan import plan as make_plan
    from hedgerow.release.schema import Schema
    from hedgerow.release.writing import refuse_existing, writable
    from hedgerow.service.dataset import make_budget

    if plot is not None and plot.suffix not in _PLOTS:
        raise UnsupportedQuery(f"a plot is written as {', '.join(_PLOTS[:2])} or {_PLOTS[2]}")
    domain = Schema.load(schema).domain
    asked = named(domain, workload)
    if epsilon is not None and (error is not None or within is not None):
        raise UnsupportedQuery("--epsilon says what to spend, --error and --within ask for it: leave one out")
    budget = make_budget("1" if epsilon is None else epsilon, delta)
    if plot is not None:
        refuse_existing(plot, force=force, option="--plot")
        writable(plot.absolute().parent)
    with progress(json) as step:
        made = make_plan(
            domain,
            rows,
            asked,
            budget,
            neighbours=neighbours.value if neighbours else "add_remove",
            max_rows=max_rows,
            simulate=not no_simulate,
            error=error,
            within=within,
            step=step,
        )
        if plot is not None:
            from hedgerow.release.plan.curve import write

            step("Drawing", None)
            write(made.chart(), plot)
    _show(made, json, plot, every=every)


def _show(made: hr.Plan, json: bool, plot: Path | None, *, every: bool) -> None:
    from hedgerow.service.forecast import Forecast

    forecast = Forecast.of_plan(made)
    if json:
        picture = {} if plot is None else {"plot": str(plot)}
        emit(made.to_json() | {"forecast": forecast.to_json()} | picture)
        return
    to = screen()
    to.print(made.title)
    for line in made.said:
        to.print(line)
    if made.command:
        to.print(f"On the command line: hedgerow release DATA --mechanism {made.command}", soft_wrap=True)
    to.print(f"All of it would buy {forecast.words}.")
    if plot is not None:
        to.print(f"  {plot}", soft_wrap=True)
    if every:
        to.print(_grid(made))
    else:
        to.print(f"{len(made.table()):,} mechanisms were compared: --all shows them.")


def _grid(made: hr.Plan) -> Any:
    """All that was compared."""
    from rich.table import Table

    from hedgerow.release.plan.table import HEADS

    grid = Table(box=None, pad_edge=False)
    for head in HEADS:
        last = head == HEADS[-1]
        grid.add_column(head, no_wrap=not last, overflow="fold", min_width=24 if last else None)
    for cells in made.table():
        grid.add_row(*cells)
    return grid
