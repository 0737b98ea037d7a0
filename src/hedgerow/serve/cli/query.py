"""`hedgerow query` and `hedgerow sample`: what a released synopsis says, free of charge."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.serve.cli.release import Force
from hedgerow.serve.cli.terminal import Confidence, Json, emit, in_utf8, progress, screen

Released = Annotated[
    Path, typer.Argument(metavar="SYNOPSIS", help="A file that `release` wrote.", show_default=False)
]


def query(
    synopsis: Released,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.", show_default=False)],
    confidence: Confidence = 0.95,
    json: Json = False,
) -> None:
    """Answer SQL from a released synopsis, free of charge."""
    from hedgerow.errors import HedgerowError
    from hedgerow.queries.sql.statement import sql as compiled
    from hedgerow.synopsis import Synopsis

    if not 0 < confidence < 1:
        raise HedgerowError(f"a confidence lies between 0 and 1, not at {confidence:g}")
    released = Synopsis.load(synopsis)
    question = compiled(released.domain, sql, unit=released.receipt.settings.unit)
    answer = released.answer(question, confidence=confidence)
    if json:
        emit({"sql": sql, **rows_of(answer), "confidence": confidence, "source": answer.source,
              "cached": False, "simultaneous": answer.simultaneous, "cost": None,
              "notes": list(answer.notes), "private": released.private,
              "receipt": point_of(released.receipt)})  # fmt: skip
        return
    to = screen()
    to.print(table_of(answer))
    if answer.source == "learned":
        to.print(
            f"Error bounds are meant to hold with {confidence:.4g} confidence for each number; as they come"
        )
        to.print("from a learned model, they are indicative only.")
    else:
        to.print(f"Error bounds hold with {confidence:.4g} confidence for each number ({answer.source}).")
    for note in answer.notes:
        to.print(f"Note: {note}")
    if not released.private:
        to.print("NOT PRIVATE: this synopsis was made with test randomness or a simulated ledger.")


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
    from hedgerow.release.writing import whole
    from hedgerow.service.publication import refuse_existing
    from hedgerow.synopsis import Synopsis

    released = Synopsis.load(synopsis)
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


def rows_of(answer: Any) -> dict[str, Any]:
    """An answer's columns and rows as plain data; each number with its error bound and its source."""
    result = answer.table
    rows = []
    for labels, values, errors in zip(
        result.groups, result.values.tolist(), result.errors.tolist(), strict=True
    ):
        row: dict[str, Any] = {}
        for column in result.show:
            if column.aggregate:
                row[column.name] = _cell(values[column.index], errors[column.index], answer.source)
            else:
                row[column.name] = labels[column.index]
        rows.append(row)
    return {"columns": list(result.columns), "rows": rows}


def table_of(answer: Any) -> Any:
    """An answer as a table for the screen."""
    from rich.table import Table

    from hedgerow.release.numerals import bound, signed

    result = answer.table
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in result.show:
        if column.aggregate:
            table.add_column(column.name, justify="right")
            table.add_column("±", justify="right", style="dim")
        else:
            table.add_column(column.name)
    for labels, values, errors in zip(
        result.groups, result.values.tolist(), result.errors.tolist(), strict=True
    ):
        cells: list[str] = []
        for column in result.show:
            if column.aggregate:
                value, error = values[column.index], errors[column.index]
                cells += [signed(value, error), bound(error)]
            else:
                cells.append(str(labels[column.index]))
        table.add_row(*cells)
    return table


def _cell(value: float, error: float, source: str) -> dict[str, Any]:
    """A number of an answer, and between which two it lies, where that is known."""
    told: dict[str, Any] = {"value": _finite(value), "error": _finite(error)}
    if isfinite(value) and isfinite(error):
        told |= {"low": value - error, "high": value + error}
    return told | {"source": source}


def point_of(receipt: Any) -> dict[str, Any]:
    """The line of the ledger that a receipt was given for."""
    return {"seq": receipt.seq, "head": receipt.head}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
