"""`hedgerow schema`: propose a schema, and check one, on the owner's side of the wall."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.serve.cli.options import CsvOptions, Data, Json, LedgerFile, spelled_out
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, say, screen

app = typer.Typer(help="Propose a schema, and check one.", no_args_is_help=True, rich_markup_mode=None)


@app.command("infer")
@spelled_out
def infer(
    data: Data,
    reading: CsvOptions,
    out: Annotated[Path, typer.Option(help="The schema file to write.")] = Path("schema.yaml"),
    least: Annotated[
        int, typer.Option(min=1, help="Propose a value as a level only if so many rows carry it.")
    ] = 20,
    unit: Annotated[
        str | None, typer.Option(help="The column that names a person: it is no attribute.")
    ] = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="Draft from noise alone, charged to the data's budget; with --epsilon."
        ),
    ] = False,
    epsilon: Annotated[str | None, typer.Option(help="What a --private draft spends.")] = None,
    ledger: LedgerFile = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    json: Json = False,
) -> None:
    """Propose a schema for DATA; this READS PRIVATE ROWS.

    The file is the owner's alone, and nothing is released from it, until the owner has confirmed it. What was
    noticed lies beside it, for the owner alone. With --private nobody needs to look: it is made of noise, by
    acts that are charged to the data's budget, and may be public as it is.
    """
    if private or epsilon is not None:
        _draft_privately(data, vars(reading), out, least, unit, private and epsilon, ledger, force, json)
        return
    _propose(data, vars(reading), out, least, unit, force, json)


def _propose(
    data: Path, reading: dict[str, Any], out: Path, least: int, unit: str | None, force: bool, json: bool
) -> None:
    from hedgerow.release.schema import proposal_text
    from hedgerow.release.writing import whole
    from hedgerow.service import inspecting

    _room(out, force)
    with progress(json) as step:
        found = inspecting.propose(data, least, reading, step, say, unit)
    assert found.domain is not None
    with whole(out) as draft:
        draft.write_text(proposal_text(found.domain, str(out), found.csv), encoding="utf-8")
    beside = out.with_name(f"{out.stem}.owner.txt")
    with whole(beside, 0o600) as draft:
        draft.write_text(inspecting.owner_notes(found, out), encoding="utf-8")
    if json:
        emit(
            {
                "file": str(out),
                "confirmed": False,
                "csv": {name: value for name, value in found.csv.items() if value},
                "attributes": {name: a.to_schema() for name, a in found.domain.items()},
                "left_out": found.skipped,
                "to_keep": found.keep,
                "look_at": found.notes,
                "unit": found.unit and {"column": found.unit[0], "max_rows": found.unit[1] or None},
                "owner_file": str(beside),
            }
        )
    say(
        f"WARNING: {out} was read off PRIVATE ROWS and is not public; correct it, then confirm it with "
        f"`hedgerow schema check {out} --confirm`, and nothing can be released from it before that"
    )
    if not json:
        _show_draft(found, out, beside)


def _draft_privately(
    data: Path,
    reading: dict[str, Any],
    out: Path,
    least: int,
    unit: str | None,
    epsilon: Any,
    ledger: str | None,
    force: bool,
    json: bool,
) -> None:
    from hedgerow.errors import HedgerowError
    from hedgerow.release.numerals import amount
    from hedgerow.release.schema import private_text
    from hedgerow.release.writing import whole
    from hedgerow.service.dataset import Dataset
    from hedgerow.service.drafting import Drafter

    if not epsilon:
        raise HedgerowError("--private drafts from noise and --epsilon says what it may cost: give both")
    if unit is not None:
        raise HedgerowError("whom a private draft protects is what the data's budget says: leave --unit out")
    _room(out, force)
    dataset = Dataset(data, ledger=ledger, **reading, tell=say)
    with progress(json) as step:
        found = Drafter(dataset, epsilon, least, step).draft()
    budget = dataset.left()[1]
    cost = amount(budget.part(found.spent), budget)
    if found.domain is None:
        raise HedgerowError(
            f"no column could be drafted from noise, and {cost} was spent: spend more, or write a schema "
            "by hand"
        )
    with whole(out) as draft:
        draft.write_text(private_text(found.domain, cost, reading), encoding="utf-8")
    if json:
        emit(
            {
                "file": str(out),
                "confirmed": True,
                "attributes": {name: a.to_schema() for name, a in found.domain.items()},
                "left_out": found.skipped,
                "rows": round(found.rows),
            }
        )
        return
    to = screen()
    to.print(_attributes(found.domain))
    for name, why in found.skipped.items():
        to.print(f"Left out {name!r}: {why}.")
    made_of = f"made of noise and the names of columns for {cost}"
    to.print(f"Wrote {out}, {made_of}: it may be public.", soft_wrap=True)


def _room(out: Path, force: bool) -> None:
    """See that a schema can be written there."""
    from hedgerow.errors import HedgerowError
    from hedgerow.release.writing import writable

    if out.exists() and not force:
        raise HedgerowError(f"the file {str(out)!r} is there already: choose another --out, or --force")
    folder = out.absolute().parent
    if not folder.exists():
        raise HedgerowError(f"there is no folder {str(folder)!r} for --out: make it, or choose another")
    writable(folder)


def _show_draft(found: Any, out: Path, beside: Path) -> None:
    from hedgerow.service.inspecting import unit_words

    to = screen()
    to.print(_attributes(found.domain))
    for name, why in found.skipped.items():
        to.print(f"Left out {name!r}: {why}.")
    for name, what in found.notes.items():
        to.print(f"Look at {name!r}: {what}.")
    if found.unit is not None:
        words = unit_words(found)
        to.print(f"{words}.", soft_wrap=True)
    to.print(f"Wrote {out}, not confirmed.", soft_wrap=True)
    keeps = ", with the line that would keep each column that is left out" if found.keep else ""
    to.print(f"What was noticed is in {beside}, for the owner alone{keeps}.", soft_wrap=True)


@app.command("check")
@spelled_out
def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema file.", show_default=False)],
    reading: CsvOptions,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="Data to check it against (reads private rows)."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that names a person; what the ledger says if not given.")
    ] = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Mark the file as confirmed: it may be public.")
    ] = False,
    ledger: LedgerFile = None,
    json: Json = False,
) -> None:
    """Check a schema, and confirm one that was proposed.

    With DATA, count what does not fit it: these counts are PRIVATE, for the owner's eyes. A schema that
    most values of a column fall outside of is not confirmed, and the exit code is 1.
    """
    from hedgerow.release.schema import Schema
    from hedgerow.service import inspecting
    from hedgerow.service.places import protected_unit, read_by

    found, fit = Schema.load(schema), None
    if data is not None:
        with progress(json) as step:
            whose = unit or protected_unit(data, ledger)
            how = read_by(found, data, vars(reading))
            fit = inspecting.fit(found.domain, data, whose, how, step, found.tables)
    strangers = inspecting.misfits(fit)
    if confirm and not found.confirmed and not strangers:
        found.confirm()
        found = Schema.load(schema)
    if json:
        emit(_as_json(found, fit, strangers))
    else:
        _show(found, fit, strangers)
    if strangers:
        names = ", ".join(map(repr, strangers))
        say(
            f"WARNING: most values fall outside what the schema declares for {names}: compare the spelling "
            "of its levels, or the range of its bins, with the data"
            + ("; if it is meant so, set `confirmed: true` in the file yourself" if confirm else "")
        )
        raise typer.Exit(1)


def _show(found: Any, fit: Any, strangers: list[str]) -> None:
    to = screen()
    to.print(_attributes(found.domain))
    cells = found.domain.size
    many = f"{len(found.domain)} attribute{'s' * (len(found.domain) != 1)}"
    to.print(f"{many}, {cells:,} possible rows." if cells < 10**15 else f"{many}, {cells:.1e} possible rows.")
    if fit is not None:
        _show_fit(to, fit, found.domain)
    if strangers:
        to.print(f"DOES NOT FIT: most values are outside of {', '.join(map(repr, strangers))}.")
    elif found.confirmed:
        to.print("Confirmed: it may be public.")
    if not found.confirmed:
        to.print("NOT CONFIRMED: proposed from private rows.")


def _attributes(domain: Any) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("attribute", "is", "levels", "other", "missing", "hierarchies"):
        table.add_column(name, overflow="fold")
    for name, a in domain.items():
        table.add_row(
            name,
            a.describe(),
            str(a.size),
            (a.other if isinstance(a.other, str) else "yes") if a.other else "-",
            "yes" if a.missing else "-",
            ", ".join(a.hierarchy) or "-",
        )
    return table


def _show_fit(to: Any, fit: Any, domain: Any) -> None:
    from rich.table import Table

    from hedgerow.service.inspecting import unread_words

    to.print()
    lines = f" in {fit.reading.lines:,} lines" if fit.reading else ""
    to.print(f"PRIVATE, for the owner's eyes only: exact counts over {fit.rows:,} rows{lines}.")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, side in (("attribute", "left"), ("outside", "right"), ("of them clamped", "right"),
                       ("unreadable", "right"), ("become", "left"), ("missing", "right"),
                       ("become ", "left")):  # fmt: skip
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for f in fit.fits:
        clamped = f.below + f.above if domain[f.name].other_code is None else 0
        outside = (_part(f.outside, fit.rows), _part(clamped, fit.rows), f"{f.unread:,}")
        becomes = domain[f.name].outside_becomes if f.outside else ""
        missing = (_part(f.missing, fit.rows), f.missing_becomes if f.missing else "")
        table.add_row(f.name, *outside, becomes, *missing)
    to.print(table)
    if words := unread_words(fit.reading):
        to.print(f"{words}.", soft_wrap=True)
    if fit.unused:
        to.print(f"Columns that the schema leaves out: {', '.join(map(repr, fit.unused))}.")
    to.print()


def _part(some: int, rows: int) -> str:
    """A number of rows, and which part of all that is."""
    return f"{some:,}" if not some else f"{some:,} ({100 * some / rows:.2g}%)"


def _as_json(found: Any, fit: Any, strangers: list[str]) -> dict[str, Any]:
    domain = found.domain
    out: dict[str, Any] = {
        "schema": str(found.path),
        "confirmed": found.confirmed,
        "possible_rows": str(domain.size),
        "attributes": {
            name: {"is": a.describe(), "levels": a.size, "other": bool(a.other), "missing": a.missing}
            for name, a in domain.items()
        },
    }
    if fit is not None:
        out["PRIVATE_for_the_owner"] = {
            "rows": fit.rows,
            "lines": fit.reading and fit.reading.lines,
            "cells_not_read": fit.reading and fit.reading.unread,
            "first_line_not_read": fit.reading and fit.reading.first,
            "outside": {f.name: f.outside for f in fit.fits},
            "unreadable": {f.name: f.unread for f in fit.fits},
            "below": {f.name: f.below for f in fit.fits},
            "above": {f.name: f.above for f in fit.fits},
            "outside_becomes": {f.name: domain[f.name].outside_becomes for f in fit.fits},
            "missing": {f.name: f.missing for f in fit.fits},
            "do_not_fit": strangers,
            "unused_columns": list(fit.unused),
        }
    return out
