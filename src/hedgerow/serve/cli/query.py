"""`hedgerow query` and `hedgerow sample`: what a released synopsis says, free of charge."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

import hedgerow as hr
from hedgerow.serve.cli.options import Force, Json, Released, Sql
from hedgerow.serve.cli.terminal import emit, in_utf8, progress, screen, table_of

Confidence = Annotated[float, typer.Option(help="How often each error bound must hold.")]


def query(
    synopsis: Released,
    sql: Sql,
    confidence: Confidence = 0.95,
    json: Json = False,
) -> None:
    """Answer SQL from a released synopsis, free of charge."""
    from hedgerow.errors import HedgerowError
    from hedgerow.service import wire

    if not 0 < confidence < 1:
        raise HedgerowError(f"a confidence lies between 0 and 1, not at {confidence:g}")
    released = hr.Synopsis.load(synopsis)
    question = hr.sql(released.domain, sql, unit=released.receipt.settings.unit)
    answer = released.answer(question, confidence=confidence)
    if json:
        emit(wire.released(sql, answer, released))
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
    from hedgerow.release.writing import whole
    from hedgerow.service.publication import refuse_existing

    released = hr.Synopsis.load(synopsis)
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
