"""`hedgerow release`: private rows in, public files out."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from hedgerow.release import catalogue
from hedgerow.serve.cli import signals
from hedgerow.serve.cli.options import Data, DataOptions, Json, SchemaFile, Workload
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, printing, say, screen

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset

Epsilon = Annotated[str | None, typer.Option(help="What this release spends.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Spend all that remains of the budget, instead of --epsilon.")
]
MechanismName = Annotated[
    str,
    typer.Option(help=f"auto: what suits the workload and the budget; {catalogue.listed(catalogue.own())}."),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help=f"{catalogue.takers('objective')}: mean (of tables' errors, if not given) or max (of any "
        "cell's)."
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        min=0.01, help=f"{catalogue.takers('seconds')}: about how much processor time a model may take."
    ),
]
Memory = Annotated[
    float | None,
    typer.Option(min=1, help=f"{catalogue.takers('memory')}: about how many megabytes a model may take."),
]
Prior = Annotated[
    Path | None,
    typer.Option(help=f"{catalogue.takers('prior')}: a synopsis of public data to start from."),
]
SyntheticRows = Annotated[
    int | None, typer.Option(min=0, help="How many synthetic rows; the released total if not given.")
]
Expected = Annotated[
    int | None,
    typer.Option(
        min=1, help="About how many rows there are, as anybody may know: for what is said before spending."
    ),
]
Out = Annotated[
    Path | None, typer.Option(help="The folder to write; DATA's name with -release if not given.")
]
Replace = Annotated[bool, typer.Option("--force", help="Replace an earlier release in the folder.")]
PayAnew = Annotated[
    bool, typer.Option("--anew", help="Leave an unfinished release of the same plan, and pay anew.")
]


Anyway = Annotated[
    bool, typer.Option("--anyway", help="Release although the price buys noise and nothing else.")
]


class WithGuests(TyperCommand):
    """A command whose help also names the mechanisms that other packages brought."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """They are looked for here, so that nothing waits for them but this help."""
        if guests := catalogue.guests():
            formatter.write_paragraph()
            formatter.write_text(f"Mechanisms of other packages: {catalogue.listed(guests)}.")


def release(
    data: Data,
    opening: DataOptions,
    schema: SchemaFile = None,
    epsilon: Epsilon = None,
    everything: Everything = False,
    workload: Workload = "marginals:2",
    mechanism: MechanismName = "auto",
    objective: Objective = None,
    seconds: Seconds = None,
    memory: Memory = None,
    prior: Prior = None,
    rows: SyntheticRows = None,
    expect: Expected = None,
    out: Out = None,
    force: Replace = False,
    anew: PayAnew = False,
    anyway: Anyway = False,
    json: Json = False,
) -> None:
    """Release private statistics of DATA and charge its budget.

    Writes synopsis.hedgerow, synthetic.csv, report.html and receipt.json. The budget lies beside the data, in
    DATA.hedgerow.db; if there is none yet, one of the size of --epsilon is made, and that is said. It belongs
    to the rows: a release under another schema is charged to it like any other. A release that would pass it
    is refused with exit code 3, and nothing is charged; so is, with exit code 2, one whose ledger is lost, or
    older than a receipt of it that lies in --out or beside the data, or one that would be noise alone
    (--anyway). A release that was interrupted goes on, and pays nothing twice, when the same command is given
    again - unless the data file has changed: then --same-rows goes on and --anew begins anew - but for a
    mechanism that is said to be paid anew.
    """
    from hedgerow.service.publication import Publication

    folder = out if out is not None else Path(f"{data.name.split('.')[0] or 'data'}-release")
    dataset = opening.dataset(data, schema=schema)
    _refuse_unsaid(dataset, epsilon, everything, json)
    try:
        with progress(json) as step:
            done = Publication(
                dataset=dataset, out=folder, epsilon=epsilon, workload=workload, mechanism=mechanism,
                objective=objective, seconds=seconds, memory=memory, prior=prior, rows=rows, expected=expect,
                force=force, anew=anew, anyway=anyway, step=step,
                foretell=(lambda words: None) if json else (lambda words: screen().print(f"{words}.")),
            ).publish()  # fmt: skip
    except KeyboardInterrupt:
        _tell_unfinished(dataset)
        raise
    signals.ignore()  # it is complete, and an interruption would say that it goes on
    with printing(f"the release is complete in {str(folder)!r}: given again, it would be paid again"):
        _show(done, json)


def _refuse_unsaid(dataset: Dataset, epsilon: str | None, everything: bool, json: bool) -> None:
    """Spend all that remains only if that was said, or is said now."""
    from hedgerow.errors import HedgerowError
    from hedgerow.release.numerals import rest, used_up

    if epsilon is not None and everything:
        raise HedgerowError(
            "--epsilon says what to spend, and --all to spend all that remains: leave one out"
        )
    if epsilon is not None or everything or not dataset.has_ledger:
        return
    left, budget = dataset.left()
    if used_up(left, budget):
        return  # which is refused as what it is
    if not json and _somebody_is_there():
        asks = f"No --epsilon was given: spend all that remains, {rest(left, budget)}?"
        if typer.confirm(asks, default=False, err=True):
            return
    raise HedgerowError(
        "say with --epsilon what this release may spend, or --all to spend all that remains, "
        f"{rest(left, budget)}"
    )


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _tell_unfinished(dataset: Dataset) -> None:
    """Say how a release that was interrupted goes on, if it had begun."""
    from hedgerow.errors import HedgerowError

    with suppress(HedgerowError):
        if held := dataset.unfinished():
            say(held)


def _show(done: Any, json: bool) -> None:
    from hedgerow.errors import UnsupportedQuery
    from hedgerow.release.numerals import amount, bound, rest
    from hedgerow.service import wire
    from hedgerow.service.forecast import Forecast

    if json:
        emit(wire.published(done))
        return
    to, receipt = screen(), done.synopsis.receipt
    budget = receipt.settings.budget
    if done.resumed:
        to.print("Went on with a release that was not finished; nothing was paid twice.")
    mechanism = done.synopsis.provenance.mechanism
    to.print(f"Released {done.workload} by {mechanism} for {amount(done.synopsis.cost, budget)}.")
    left = rest(budget.cost - receipt.spent, budget)
    to.print(f"The dataset's budget is {amount(budget)}; left: {left}.")
    if left != "nothing":
        to.print(f"What is left buys {Forecast.after(done.synopsis).words}.")
    if done.error is not None:
        part = ""
        with suppress(UnsupportedQuery):  # the number of rows may not be among what was released
            share = done.error / max(done.synopsis.total, 1.0)
            part = f" ({100 * share:.2g}% of the rows)" if share < 1 else " (more than all rows)"
        learned = ", indicative as it is learned" if done.synopsis.source == "learned" else ""
        to.print(f"Stated error: {bound(done.error)} rows{part} on average, with 0.95 confidence{learned}.")
    for name in done.files:
        to.print(f"  {done.folder / name}", soft_wrap=True)
