"""`hedgerow query` and `hedgerow sample`: what a released synopsis says, free of charge."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

import hedgerow as hr
from hedgerow.serve.cli.options import Force, Json, Released, Sql
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, in_utf8, screen, table_of

Confidence = Annotated[float, typer.Option(help="How often each error bound must hold.")]


class Format(Enum):
    """How an answer is printed or written."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    parquet = "parquet"


def query(
    synopsis: Released,
    sql: Sql,
    confidence: Confidence = 0.95,
    format: Annotated[
        Format | None, typer.Option(help="How; as the ending of --out says, or a table, if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; standard output if not given.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the answer too: a .svg, .png or .html file.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Answer SQL from a released synopsis, free of charge.

    In csv, json and parquet each number NAME has NAME_low, NAME_high and NAME_source beside it.
    """
    from hedgerow.errors import HedgerowError
    from hedgerow.service import exporting, wire
    from hedgerow.service.released import released_in

    if not 0 < confidence < 1:
        raise HedgerowError(f"a confidence lies between 0 and 1, not at {confidence:g}")
    form = None if format is None else format.value
    if json and form not in (None, "json") and out is None:
        raise HedgerowError("--json prints JSON: leave --format out, or say --out")
    if form == "parquet" and out is None:
        raise HedgerowError("a Parquet file has no place on a screen: say --out")
    released = hr.Synopsis.load(released_in(synopsis) or synopsis)
    question = hr.sql(released.domain, sql, unit=released.receipt.settings.unit)
    answer = released.answer(question, confidence=confidence)
    if plot is not None:
        exporting.draw(answer, plot, force=force)
    if out is not None:
        form = exporting.write(answer, out, form, force=force)
    files = {"file": out and str(out), "format": form, "plot": plot and str(plot)}
    if json:
        emit(wire.released(sql, answer, released) | {k: v for k, v in files.items() if v and k != "format"})
    elif out is None and form not in (None, "table"):
        in_utf8()
        typer.echo(exporting.rendered(answer, form), nl=False)
    else:
        _show(answer, released, shown=out is None)
        for made in (out, plot):
            if made is not None:
                screen().print(f"Wrote {made}.", soft_wrap=True)


def _show(answer: Any, released: hr.Synopsis, *, shown: bool) -> None:
    to = screen()
    if shown:
        to.print(table_of(answer))
        if answer.has_numbers:
            to.print(answer.words)
        for note in answer.notes:
            to.print(f"Note: {note}")
    if not released.private:
        to.print("NOT PRIVATE: this synopsis was made with test randomness or a simulated ledger.")
    if released.claims:
        to.print("Private if an author's claim is true: its receipt names the lines.")


def sample(
    synopsis: Released,
    rows: Annotated[
        int | None, typer.Option(min=0, help="How many; the released total if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The CSV file to write; standard output if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For the same rows again.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw synthetic rows from a released synopsis, free of charge."""
    from hedgerow.errors import HedgerowError, UnsupportedQuery
    from hedgerow.release.rows import write_rows
    from hedgerow.release.writing import refuse_existing, whole
    from hedgerow.service.released import released_in

    released = hr.Synopsis.load(released_in(synopsis) or synopsis)
    if "sample" not in released.can:
        raise UnsupportedQuery(f"this synopsis cannot give rows; it can {', '.join(sorted(released.can))}")
    if json and out is None:
        raise HedgerowError("with --json, say --out: rows and JSON cannot share standard output")
    count = max(0, round(released.total)) if rows is None else rows
    if out is None:
        in_utf8()
    else:
        refuse_existing(out, force=force)
    with (
        progress(json or out is None) as step,
        nullcontext(sys.stdout) if out is None else whole(out) as target,
    ):
        write_rows(released, count, target, seed=seed, step=step)
    if json:
        emit({"file": str(out), "rows": count, "private": released.private})
    elif out is not None:
        screen().print(f"Wrote {count:,} synthetic rows to {out}.", soft_wrap=True)
