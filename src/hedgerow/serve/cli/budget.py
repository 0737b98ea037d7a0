"""`hedgerow budget`: a dataset's budget and the ledger of everything that was charged to it."""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.serve.cli.failure import FAILED
from hedgerow.serve.cli.options import BudgetOptions, Data, DataOrLedger, Force, Json, LedgerFile, spelled_out
from hedgerow.serve.cli.terminal import emit, say, screen

if TYPE_CHECKING:
    import hedgerow as hr
    from hedgerow.service.accounts import Part

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose account: one word.", show_default=False)]

app = typer.Typer(
    help="A dataset's budget, and the ledger of what was charged to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_NARROW = 100  # columns of a terminal


@app.command("init")
@spelled_out
def init(
    data: Data,
    whom: BudgetOptions,
    epsilon: Annotated[str, typer.Option(help="What may be spent in all.", show_default=False)],
    delta: Annotated[str, typer.Option(help="The promise's delta; 0 for a pure promise.")] = "1e-9",
    schema: Annotated[
        Path | None, typer.Option(help="The confirmed schema, if it says how the CSV file is written.")
    ] = None,
    json: Json = False,
) -> None:
    """Give DATA a budget, for good.

    It is written beside the data, in DATA.hedgerow.db, with whom it protects; `release` charges it. It
    belongs to the rows, whatever schema reads them.
    """
    from hedgerow.service import budgeting

    dataset = whom.dataset(data, delta=delta, schema=schema)
    with budgeting.begin(dataset, epsilon) as opened:
        _show_state(opened, dataset.path, json, [f"{data.name} now has a budget, in {dataset.path}."])


@app.command("show")
def show(
    data: DataOrLedger,
    lines: Annotated[
        bool, typer.Option("--lines", help="Every line of the ledger too, by release and session.")
    ] = False,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Say what may be spent, what was, on what, what is left, and what that still buys."""
    from hedgerow.service import budgeting, runs, wire
    from hedgerow.service.places import open_ledger

    with open_ledger(data, ledger, readonly=True) as opened:
        if json:
            emit(wire.budget(opened) | wire.ledger_lines(opened))
            return
        to = screen()
        for sentence in budgeting.sentences(opened, budgeting.pairs_beside(data)):
            to.print(sentence, soft_wrap=not to.is_terminal)
        if held := runs.words(opened):
            to.print(f"{held[0].upper()}{held[1:]}.", soft_wrap=True)
        if lines:
            _show_lines(opened)


def _show_lines(opened: hr.Ledger) -> None:
    """Every line under the headline of what it belongs to."""
    from rich.table import Table

    from hedgerow.service.lines import lines_of
    from hedgerow.service.spendings import spendings

    to, explained = screen(), {line.seq: line for line in lines_of(opened)}
    narrow = to.width < _NARROW  # then the words need the room more than the columns do
    for spending in spendings(opened):
        to.print()
        to.print(spending.words(opened.budget), style="bold", soft_wrap=True)
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for name in ("line", "time (UTC)", "cost", *(() if narrow else ("spent so far",))):
            table.add_column(name, justify="right" if name == "line" else "left", no_wrap=True)
        table.add_column("what happened", ratio=1)
        for line in (explained[seq] for seq in spending.lines):
            time, spent = (line.time[:10], ()) if narrow else (line.time, (line.spent,))
            words = line.words.replace(f" (account {line.account})", "")
            table.add_row(str(line.seq), time, "" if line.cost == "-" else line.cost, *spent, words)
        to.print(table)


@app.command("allot")
def allot(
    data: DataOrLedger,
    name: Name,
    epsilon: Annotated[str, typer.Option(help="How much of the budget is theirs.", show_default=False)],
    note: Annotated[str, typer.Option(help="Words to keep with it.")] = "",
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Set a part of DATA's budget aside for somebody, who can then spend that much and no more.

    It is reserved: nobody else can spend it, until `budget settle DATA NAME` takes back what is left. They
    ask with `hedgerow ask DATA SQL --as NAME`.
    """
    from hedgerow.service import accounts
    from hedgerow.service.places import open_ledger

    with open_ledger(data, ledger) as opened:
        _show_parts(opened, [accounts.allot(opened, name, epsilon, note)], json)


@app.command("limit")
def limit(
    data: DataOrLedger,
    name: Name,
    epsilon: Annotated[str, typer.Option(help="How much they may spend in all.", show_default=False)],
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Let somebody spend up to so much of DATA's budget, with nothing set aside.

    Limits may add up to more than there is: the budget is the cap of all of them.
    """
    from hedgerow.service import accounts
    from hedgerow.service.places import open_ledger

    with open_ledger(data, ledger) as opened:
        _show_parts(opened, [accounts.limit(opened, name, epsilon)], json)


@app.command("list")
def list_(data: DataOrLedger, ledger: LedgerFile = None, json: Json = False) -> None:
    """List whose parts of DATA's budget were set aside, and what they spent."""
    from hedgerow.service import accounts
    from hedgerow.service.places import open_ledger

    with open_ledger(data, ledger, readonly=True) as opened:
        _show_parts(opened, accounts.parts(opened), json)


@app.command("raise")
def raise_(
    data: DataOrLedger,
    epsilon: Annotated[str, typer.Option(help="The new total; more than before.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger for good.", show_default=False)],
    delta: Annotated[
        str | None, typer.Option(help="The new delta; if not given, as before or twice the first one.")
    ] = None,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Give DATA a larger budget, for a recorded reason.

    Once answers were given, whoever raises may have seen them. The promise covers that: its delta becomes
    twice the first one unless another is given, and a part of the new epsilon pays for it.
    """
    from hedgerow.errors import HedgerowError
    from hedgerow.service import budgeting
    from hedgerow.service.places import open_ledger

    if not reason.strip():
        raise HedgerowError("a budget is raised for a reason: say --reason")
    with open_ledger(data, ledger) as opened:
        words = budgeting.enlarge(opened, epsilon, delta, reason)
        _show_state(opened, _path(data, ledger), json, [f"The budget was raised: {reason.strip()}", *words])


@app.command("years")
def years(
    data: DataOrLedger,
    number: Annotated[
        int, typer.Argument(metavar="YEARS", min=1, help="How many; more than before.", show_default=False)
    ],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger for good.", show_default=False)],
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Declare that rows of more years may come to DATA that grow yearly, for a recorded reason.

    What the rows of one year are promised stays as it is. The promise of a lifetime is for more years, and so
    it is larger; once answers were given, its delta covers that whoever raised it may have seen them.
    """
    from hedgerow.errors import HedgerowError
    from hedgerow.service.places import open_ledger

    if not reason.strip():
        raise HedgerowError("a declared number of years is raised for a reason: say --reason")
    with open_ledger(data, ledger) as opened:
        opened.raise_years(number, reason)
        said = f"The promise of a lifetime is for {number} years: {reason.strip()}"
        _show_state(opened, _path(data, ledger), json, [said])


@app.command("settle")
def settle(
    data: DataOrLedger,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Whose account; if not given, what sessions hold.")
    ] = None,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Take back what an account did not spend, or what sessions have set aside.

    With a name, that account is closed for good. Without one: a session of given accuracy sets aside the
    worst that its next question can cost, and one that was killed leaves that behind. Safe at any time: a
    session that is in use sets aside what it needs again.
    """
    from hedgerow.service import accounts, budgeting
    from hedgerow.service.places import open_ledger

    with open_ledger(data, ledger) as opened:
        if name is not None:
            _show_parts(opened, [accounts.settle(opened, name)], json)
            return
        closed = budgeting.give_back(opened)
        said = "What sessions had set aside came back." if closed else "Nothing was set aside."
        _show_state(opened, _path(data, ledger), json, [said])


@app.command("verify")
def verify(
    data: DataOrLedger,
    receipt: Annotated[
        Path | None, typer.Option(help="A receipt.json that the ledger must still agree with.")
    ] = None,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Check the ledger, and that it agrees with a receipt; exit code 1 if it is refuted.

    Walks the chain of hashes and does all sums again. DATA may also be what `export` wrote.
    """
    from hedgerow.service import budgeting

    outcome = budgeting.check(data, ledger, receipt)
    if json:
        emit({"ok": outcome.ok, "lines": outcome.entries, "problems": list(outcome.problems)})
    elif outcome.ok:
        also = " The receipt agrees with it." if receipt else ""
        screen().print(outcome.describe() + also)
    if not outcome.ok:
        raise typer.Exit(say(outcome.describe(), FAILED))


@app.command("moved")
def moved(
    data: Data,
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger for good.", show_default=False)],
    receipt: Annotated[
        Path | None, typer.Option(help="The newest receipt.json; the one beside the data if not given.")
    ] = None,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Go on with a ledger in a database that was promoted or restored.

    What the receipt says was spent beyond it is set aside for good.
    """
    from hedgerow.service import moving
    from hedgerow.service.dataset import Dataset

    dataset = Dataset(data, ledger)
    with moving.go_on(dataset, receipt, reason) as opened:
        _show_state(opened, dataset.path, json, [f"The ledger goes on: {reason.strip()}"])


@app.command("export")
def export(
    data: DataOrLedger,
    out: Annotated[Path | None, typer.Option(help="The file to write; standard output if not given.")] = None,
    answers: Annotated[bool, typer.Option("--answers", help="Include the released answers.")] = False,
    ledger: LedgerFile = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write the ledger's public side as JSON."""
    from hedgerow.release.writing import refuse_existing, whole
    from hedgerow.service.places import open_ledger

    if out is not None:
        refuse_existing(out, force=force, ledger=_path(data, ledger))
    with open_ledger(data, ledger, readonly=True) as opened:
        content = opened.export(answers=answers)
    if out is None:
        emit(content)
        return
    with whole(out) as draft:
        draft.write_text(jsons.dumps(content, indent=1) + "\n", "utf-8")
    if json:
        emit({"file": str(out), "lines": len(content["entries"])})
    else:
        screen().print(f"Wrote {len(content['entries'])} lines to {out}.", soft_wrap=True)


def _path(data: Path, ledger: str | None) -> Any:
    from hedgerow.service.places import find_ledger

    return find_ledger(data, ledger)


def _show_parts(ledger: hr.Ledger, parts: list[Part], json: bool) -> None:
    from hedgerow.release.numerals import rest

    budget = ledger.budget
    if json:
        left = ledger.budget.part(ledger.remaining())
        emit({"accounts": [part.to_json(budget) for part in parts], "remaining": {"epsilon": left.epsilon}})
        return
    to = screen()
    for part in parts:
        to.print(part.words(budget), soft_wrap=True)
    if not parts:
        to.print("Nobody has a part of this budget: `hedgerow budget allot` sets one aside.")
    to.print(f"Left for everybody else: {rest(ledger.remaining(), budget)}.")


def _show_state(ledger: hr.Ledger, path: Any, json: bool, first: list[str]) -> None:
    from hedgerow.service import budgeting, wire

    if json:
        emit({"file": str(path)} | wire.budget(ledger))
        return
    to = screen()
    for sentence in [*first, *budgeting.sentences(ledger)]:
        to.print(sentence, soft_wrap=True)
