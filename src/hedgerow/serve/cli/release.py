"""`hedgerow release`: private rows in, public files out."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli import signals
from hedgerow.serve.cli.options import LedgerFile, NewLedger, OlderThanReceipt, RequireBudget
from hedgerow.serve.cli.terminal import (
    Data,
    Delimiter,
    Encoding,
    Json,
    Multiline,
    SameRows,
    emit,
    printing,
    progress,
    say,
    screen,
)

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset


class Neighbours(Enum):
    """Which two datasets must look alike."""

    add_remove = "add_remove"
    replace = "replace"


Unit = Annotated[
    str | None, typer.Option(help="The column that names a person; without it, each row is protected.")
]
MaxRows = Annotated[int | None, typer.Option(min=1, help="How many rows of each person are used.")]
Whom = Annotated[
    Neighbours | None, typer.Option(help="add_remove: one person more or fewer; replace: one exchanged.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


def release(
    data: Data,
    schema: Annotated[Path, typer.Option(help="The confirmed schema file.", show_default=False)],
    epsilon: Annotated[str | None, typer.Option(help="What this release spends.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Spend all that remains of the budget, instead of --epsilon.")
    ] = False,
    delta: Annotated[
        str | None,
        typer.Option(help="Delta of the budget that is made if there is none: 1e-9 if not given, 0 is pure."),
    ] = None,
    workload: Annotated[
        str,
        typer.Option(
            help="What must be answered well: marginals:2, conjunctions:2, ranges:1, prefixes:1, parities:2, "
            "or named tables, marginals:age,sex;region."
        ),
    ] = "marginals:2",
    mechanism: Annotated[
        str,
        typer.Option(
            help="auto, adaptive, gaussian, laplace, factorization, projection, histogram or "
            "randomized-response."
        ),
    ] = "auto",
    objective: Annotated[
        str | None,
        typer.Option(help="adaptive: mean (of tables' errors, if not given) or max (of any cell's)."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.01, help="adaptive: about how much processor time a model may take.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(min=1, help="adaptive: about how many megabytes a model may take.")
    ] = None,
    prior: Annotated[
        Path | None, typer.Option(help="adaptive: a synopsis of public data to start from.")
    ] = None,
    unit: Unit = None,
    max_rows: MaxRows = None,
    neighbours: Whom = None,
    rows: Annotated[
        int | None, typer.Option(min=0, help="How many synthetic rows; the released total if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write; DATA's name with -release if not given.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    multiline: Multiline = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier release in the folder.")] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Leave an unfinished release of the same plan, and pay anew.")
    ] = False,
    same_rows: SameRows = False,
    ledger: LedgerFile = None,
    require_budget: RequireBudget = False,
    new_ledger: NewLedger = None,
    older_than_receipt: OlderThanReceipt = None,
    json: Json = False,
) -> None:
    """Release private statistics of DATA and charge its budget.

    Writes synopsis.hedgerow, synthetic.csv, report.html and receipt.json. The budget lies beside the data, in
    DATA.hedgerow.db; if there is none yet, one of the size of --epsilon is made, and that is said. It belongs
    to the rows: a release under another schema is charged to it like any other. A release that would pass it
    is refused with exit code 3, and nothing is charged; so is, with exit code 2, one whose ledger is lost, or
    older than a receipt of it that lies in --out or beside the data. A release that was interrupted goes on,
    and pays nothing twice, when the same command is given again - unless the data file has changed: then
    --same-rows goes on and --anew begins anew - but for randomized-response, which is made and paid for anew.
    """
    from hedgerow.service.dataset import Dataset
    from hedgerow.service.publication import Publication

    folder = out if out is not None else Path(f"{data.name.split('.')[0] or 'data'}-release")
    dataset = Dataset(
        data=data,
        ledger=ledger,
        delta=delta,
        unit=unit,
        max_rows=max_rows,
        neighbours=neighbours.value if neighbours else None,
        encoding=encoding,
        delimiter=delimiter,
        multiline=multiline,
        same_rows=same_rows,
        require_budget=require_budget,
        new_ledger=new_ledger,
        older=older_than_receipt,
        tell=say,
    )
    _refuse_unsaid(dataset, epsilon, everything, json)
    try:
        with progress(json) as step:
            done = Publication(
                dataset=dataset,
                schema=schema,
                out=folder,
                epsilon=epsilon,
                workload=workload,
                mechanism=mechanism,
                objective=objective,
                seconds=seconds,
                memory=memory,
                prior=prior,
                rows=rows,
                force=force,
                anew=anew,
                step=step,
            ).publish()
    except KeyboardInterrupt:
        _tell_unfinished(dataset)
        raise
    signals.ignore()  # it is complete, and an interruption would say that it goes on
    with printing(f"the release is complete in {str(folder)!r}: given again, it would be paid again"):
        _show(done, json)


def _refuse_unsaid(dataset: Dataset, epsilon: str | None, everything: bool, json: bool) -> None:
    """Spend all that remains only if that was said, or is said now."""
    from hedgerow.errors import HedgerowError
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.release.numerals import rest, used_up

    if epsilon is not None and everything:
        raise HedgerowError(
            "--epsilon says what to spend, and --all to spend all that remains: leave one out"
        )
    if epsilon is not None or everything or not dataset.has_ledger:
        return
    with Ledger.open(dataset.path, create=False) as ledger:
        left, budget = ledger.remaining(), ledger.budget
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
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.service import runs

    with suppress(HedgerowError), Ledger.open(dataset.path, create=False) as ledger:
        if held := runs.words(ledger):
            say(held)


def _show(done: Any, json: bool) -> None:
    from hedgerow.errors import UnsupportedQuery
    from hedgerow.release.numerals import amount, bound, rest

    receipt = done.synopsis.receipt
    budget = receipt.settings.budget
    left = budget.part(budget.cost - receipt.spent)
    if json:
        emit(
            {
                "folder": str(done.folder),
                "files": list(done.files),
                "mechanism": done.synopsis.provenance.mechanism,
                "workload": done.workload,
                "private": done.synopsis.private,
                "cost": {"epsilon": done.synopsis.cost.epsilon, "delta": done.synopsis.cost.delta},
                "remaining": {"epsilon": left.epsilon, "delta": left.delta},
                "synthetic_rows": done.synthetic,
                "mean_error": done.error,
                "resumed": done.resumed,
                "receipt": receipt.to_json(),
            }
        )
        return
    to = screen()
    if done.resumed:
        to.print("Went on with a release that was not finished; nothing was paid twice.")
    mechanism = done.synopsis.provenance.mechanism
    to.print(f"Released {done.workload} by {mechanism} for {amount(done.synopsis.cost, budget)}.")
    to.print(f"The dataset's budget is {amount(budget)}; left: {rest(budget.cost - receipt.spent, budget)}.")
    if done.error is not None:
        part = ""
        with suppress(UnsupportedQuery):  # the number of rows may not be among what was released
            part = f" ({100 * done.error / max(done.synopsis.total, 1.0):.2g}% of the rows)"
        learned = ", indicative as it is learned" if done.synopsis.source == "learned" else ""
        to.print(f"Stated error: {bound(done.error)} rows{part} on average, with 0.95 confidence{learned}.")
    for name in done.files:
        to.print(f"  {done.folder / name}", soft_wrap=True)
