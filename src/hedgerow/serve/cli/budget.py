"""`hedgerow budget`: a dataset's budget and the ledger of everything that was charged to it."""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.serve.cli.failure import FAILED
from hedgerow.serve.cli.options import LedgerFile, NewLedger
from hedgerow.serve.cli.release import Force, MaxRows, Neighbours, Unit, Whom
from hedgerow.serve.cli.terminal import Data, Delimiter, Encoding, Json, Multiline, emit, say, screen

app = typer.Typer(
    help="A dataset's budget, and the ledger of what was charged to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_NARROW = 100  # columns of a terminal

DataOrLedger = Annotated[
    Path, typer.Argument(metavar="DATA", help="The data, or its ledger file.", show_default=False)
]


@app.command("init")
def init(
    data: Data,
    epsilon: Annotated[str, typer.Option(help="What may be spent in all.", show_default=False)],
    delta: Annotated[str, typer.Option(help="The promise's delta; 0 for a pure promise.")] = "1e-9",
    unit: Unit = None,
    max_rows: MaxRows = None,
    neighbours: Whom = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    multiline: Multiline = False,
    ledger: LedgerFile = None,
    new_ledger: NewLedger = None,
    json: Json = False,
) -> None:
    """Give DATA a budget, for good.

    It is written beside the data, in DATA.hedgerow.db, with whom it protects; `release` charges it. It
    belongs to the rows, whatever schema reads them.
    """
    from hedgerow.curator.rows.files import is_csv
    from hedgerow.curator.rows.inspection import Inspector, unread_words
    from hedgerow.errors import HedgerowError, LedgerError
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.service.dataset import Dataset, make_budget, refuse_missing

    refuse_missing(data, ledger)
    if (unit is None) != (max_rows is None):
        raise HedgerowError("--unit and --max-rows come together: whose rows, and how many of them")
    dataset = Dataset(data, ledger, new_ledger=new_ledger)
    path = dataset.path
    if dataset.has_ledger:
        raise LedgerError(
            f"the data {data.name!r} has a budget already, in {path}; `hedgerow budget raise` makes it larger"
        )
    made = make_budget(epsilon, delta)
    dataset.refuse_put_back()
    if unit or is_csv(data) or encoding or delimiter or multiline:  # told before the budget is bound to it
        look = Inspector(data, encoding=encoding, delimiter=delimiter, multiline=multiline)
        if unit:
            look.refuse_absent(unit)
        if words := unread_words(look.reading):
            say(words)
    who = (neighbours or Neighbours.add_remove).value
    whom: Any = {"neighbours": who, "unit": unit, "max_rows": max_rows}
    with Ledger.open(path, budget=made, **whom, data=data, reason=new_ledger) as opened:
        _show_state(opened, path, json, [f"{data.name} now has a budget, in {path}."])


@app.command("show")
def show(data: DataOrLedger, ledger: LedgerFile = None, json: Json = False) -> None:
    """Say what was spent on what, and what remains."""
    from rich.table import Table

    from hedgerow.service import runs
    from hedgerow.service.lines import lines_of

    with _open(data, ledger, readonly=True) as opened:
        lines = lines_of(opened)
        if json:
            known = [(u.run, opened.budget.part(u.holds)) for u in runs.unfinished(opened)]
            told = [{"run": run, "epsilon": _number(b.epsilon), "delta": b.delta} for run, b in known]
            emit(_state(opened) | {"unfinished": told, "lines": [line.to_json() for line in lines]})
            return
        to = screen()
        for sentence in _sentences(opened):
            to.print(sentence)
        if held := runs.words(opened):
            to.print(f"{held[0].upper()}{held[1:]}.", soft_wrap=True)
        if opened.currency == "rho" and not opened.spent().is_zero:
            to.print(
                "The ledger adds up rho, which grows like epsilon squared: parts in epsilon do not add up."
            )
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        narrow = to.width < _NARROW  # then the words need the room more than the columns do
        for name in ("line", "time (UTC)", "cost", *(() if narrow else ("spent so far",))):
            table.add_column(name, justify="right" if name == "line" else "left", no_wrap=True)
        table.add_column("what happened", ratio=1)
        for line in lines:
            time, spent = (line.time[:10], ()) if narrow else (line.time, (line.spent,))
            table.add_row(str(line.seq), time, line.cost, *spent, line.words)
        to.print()
        to.print(table)


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
    from hedgerow.release.numerals import amount
    from hedgerow.service.dataset import make_budget

    if not reason.strip():
        raise HedgerowError("a budget is raised for a reason: say --reason")
    path = _path(data, ledger)
    with _open(data, ledger) as opened:
        larger = make_budget(epsilon, opened.next_delta if delta is None else delta)
        old = opened.budget
        if larger.currency != old.currency:
            raise HedgerowError("a budget with delta 0 stays so, and one with a delta keeps one")
        if larger.epsilon < old.epsilon or larger.delta_exact < old.delta_exact or larger.promises(old):
            raise HedgerowError(
                f"a budget is only ever raised, and {amount(larger)} is not more than {amount(old)}"
            )
        try:
            opened.raise_budget(larger, reason)
        except ValueError as error:
            raise HedgerowError(str(error)) from None
        first = [f"The budget was raised: {reason.strip()}", *_price_of_raising(opened, old)]
        _show_state(opened, path, json, first)


@app.command("settle")
def settle(data: DataOrLedger, ledger: LedgerFile = None, json: Json = False) -> None:
    """Give back what sessions have set aside.

    A session of given accuracy sets aside the worst that its next question can cost; one that was killed
    leaves that behind. Safe at any time: a session that is in use sets aside what it needs again.
    """
    from hedgerow.mechanisms.session.log import give_back

    path = _path(data, ledger)
    with _open(data, ledger) as opened:
        closed = give_back(opened)
        said = "What sessions had set aside came back." if closed else "Nothing was set aside."
        _show_state(opened, path, json, [said])


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
    from hedgerow.errors import HedgerowError
    from hedgerow.privacy.ledger.ledger import verify_export

    given = _receipt(receipt) if receipt is not None else None
    if data.suffix == ".json":
        try:
            outcome = verify_export(_json_file(data), given)
        except RecursionError:
            raise HedgerowError(f"the file {str(data)!r} is nested too deeply for an export") from None
    else:
        with _open(data, ledger, readonly=True) as opened:
            outcome = opened.verify(given)
    if json:
        emit({"ok": outcome.ok, "lines": outcome.entries, "problems": list(outcome.problems)})
    elif outcome.ok:
        also = " The receipt agrees with it." if given else ""
        screen().print(outcome.describe() + also)
    if not outcome.ok:
        raise typer.Exit(say(outcome.describe(), FAILED))


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
    from hedgerow.release.writing import whole
    from hedgerow.service.publication import refuse_existing

    if out is not None:
        refuse_existing(out, force=force, ledger=_path(data, ledger))
    with _open(data, ledger, readonly=True) as opened:
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


def _path(data: Path, ledger: Path | None) -> Path:
    from hedgerow.service.dataset import find_ledger

    return find_ledger(data, ledger)


def _open(data: Path, ledger: Path | None, *, readonly: bool = False) -> Any:
    """The ledger of DATA, or DATA itself if it is one; an auditor may have no right to write."""
    from hedgerow.errors import LedgerError, missing
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.service.dataset import refuse_unnamed

    path = _path(data, ledger)
    if not path.absolute().parent.exists():
        raise missing(path)
    if not path.exists() and ledger is None and not data.exists():
        raise LedgerError(f"there is no file {str(data)!r}, and no ledger {str(path)!r} beside it")
    if not path.exists():
        refuse_unnamed(data, path)
        raise LedgerError(
            f"the data {data.name!r} has no budget yet: there is no {path}; make one with `hedgerow budget "
            "init`, or name its ledger with --ledger"
        )
    return Ledger.open(path, create=False, readonly=readonly)


def _state(ledger: Any) -> dict[str, Any]:
    settings, budget = ledger.settings, ledger.budget
    parts = {
        "budget": budget,
        "spent": budget.part(ledger.spent()),
        "remaining": budget.part(ledger.remaining()),
    }
    return {
        "ledger": settings.ledger,
        "currency": ledger.currency,
        "neighbours": settings.neighbours,
        "unit": settings.unit,
        "max_rows": settings.max_rows,
        "raised_after_answers": bool(budget.raise_delta),
        **{name: {"epsilon": _number(b.epsilon), "delta": b.delta} for name, b in parts.items()},
    }


def _sentences(ledger: Any) -> list[str]:
    from hedgerow.release.numerals import amount, rest

    settings, budget = ledger.settings, ledger.budget
    spent = ledger.spent()
    whom = f"each {settings.unit}, with at most {settings.max_rows} rows" if settings.unit else "each row"
    how = "one more or fewer" if settings.neighbours == "add_remove" else "one exchanged for another"
    recorded = ledger.recorded_budget
    earlier = (
        f"An earlier version raised it to {amount(recorded)}, as if that had been promised at the start; the "
        "budget above is what it keeps."
    )
    return [
        f"Budget: {amount(budget)}. It protects {whom} ({how}).",
        *([] if recorded.promises(budget) else [earlier]),
        f"Spent: {'nothing' if spent.is_zero else amount(budget.part(spent), budget)}. "
        f"Left: {rest(ledger.remaining(), budget)}.",
    ]


def _price_of_raising(ledger: Any, old: Any) -> list[str]:
    """What it costs that somebody who may have seen answers raised the budget; nothing if none were given."""
    from hedgerow.privacy.budget import epsilon_of
    from hedgerow.release.numerals import small

    budget, first = ledger.budget, ledger.first_budget
    if not budget.raise_delta:
        return []
    worth = epsilon_of(budget.cost.amount, first.conversion_delta)
    delta = small(budget.delta)
    became = f"stays {delta}" if budget.delta == old.delta else f"is {delta} instead of {small(old.delta)}"
    return [
        "Answers had been given before, and the promise covers that whoever raised it may have seen them: "
        f"delta {became}, and epsilon {small(budget.epsilon)} buys what {small(worth)} would have bought "
        "if promised at the start."
    ]


def _show_state(ledger: Any, path: Path, json: bool, first: list[str]) -> None:
    if json:
        emit({"file": str(path)} | _state(ledger))
        return
    to = screen()
    for sentence in [*first, *_sentences(ledger)]:
        to.print(sentence, soft_wrap=True)


def _number(value: float) -> float | None:
    return value if value != float("inf") else None


def _json_file(path: Path) -> Any:
    from hedgerow.errors import HedgerowError, of_system

    try:
        return jsons.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HedgerowError(f"there is no file {str(path)!r}") from None
    except OSError as error:
        raise of_system(error, f"the file {str(path)!r} cannot be read") from None
    except (ValueError, RecursionError):
        raise HedgerowError(f"{str(path)!r} cannot be read as JSON") from None


def _receipt(path: Path) -> Any:
    from hedgerow.errors import HedgerowError
    from hedgerow.privacy.ledger.receipt import Receipt

    try:
        return Receipt.from_json(_json_file(path))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise HedgerowError(f"{str(path)!r} is not a receipt") from None
