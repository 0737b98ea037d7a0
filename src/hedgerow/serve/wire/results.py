"""Results: rows of an answer as they are sent - picked from it, typed, written, or copied as a file."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.serve.wire import messages, values
from hedgerow.serve.wire.plans import Column, StatementPlan


@dataclass(frozen=True)
class StatementResult:
    """What a statement gave.

    Args:
        columns: what they are.
        rows: their values.
        tag: what is said when all were sent.
        notice: what is said beside them.
    """

    columns: tuple[Column, ...] | None
    rows: Sequence[Sequence[Any]]
    tag: str
    notice: str | None = None


def picked(plan: StatementPlan, told: dict[str, Any]) -> list[list[Any]]:
    """The rows of an answer, in the columns of a plan.

    Args:
        plan: which columns.
        told: the answer, as plain data.
    """
    names = told["columns"]
    return [[_part(row[names[int(at)]], part, told) for at, part in plan.picks] for row in told["rows"]]


def _part(cell: Any, part: str, told: dict[str, Any]) -> Any:
    if isinstance(cell, dict):
        return cell.get(part)
    return cell if part == "value" else told["source"] if part == "source" else None


def sized(columns: Sequence[tuple[str, int]]) -> tuple[Column, ...]:
    """Columns with the sizes of their types."""
    return tuple((name, kind, values.SIZES.get(kind, -1)) for name, kind in columns)


def forms(asked: Sequence[int], width: int) -> list[int]:
    """How each column is written: one form for all, or one for each; text unless said."""
    if len(asked) <= 1:
        return [asked[0] if asked else values.TEXT_FORM] * width
    return [*asked, *[values.TEXT_FORM] * (width - len(asked))][:width]


def sent(columns: Sequence[Column], rows: Iterable[Sequence[Any]], written: Sequence[int]) -> bytes:
    """Rows as messages."""
    return b"".join(
        messages.row(
            values.written(cell, kind, form)
            for cell, (_, kind, _), form in zip(row, columns, written, strict=True)
        )
        for row in rows
    )


def copied(result: StatementResult, form: str, header: bool) -> bytes:
    """Rows as the messages of COPY TO STDOUT.

    Args:
        result: the rows.
        form: text, csv or binary.
        header: whether names come first.
    """
    columns = result.columns or ()
    binary = form == "binary"
    head = messages.message("H", bytes([binary]), messages.int16(len(columns)),
                            messages.int16(int(binary)) * len(columns))  # fmt: skip
    cells = [[values.written(c, kind, int(binary)) for c, (_, kind, _) in zip(row, columns, strict=True)]
             for row in result.rows]  # fmt: skip
    if binary:
        parts = [b"PGCOPY\n\xff\r\n\0" + bytes(8)]
        for line in cells:
            parts.append(struct.pack("!h", len(line)) + b"".join(
                messages.int32(-1) if c is None else messages.int32(len(c)) + c for c in line))  # fmt: skip
        parts.append(messages.int16(-1))
        parts = [b"".join(parts[:2]), *parts[2:]]  # as PostgreSQL does: the head comes with the first row
    else:
        lines = [[None if c is None else c.decode() for c in line] for line in cells]
        names: list[list[str | None]] = [[name for name, _, _ in columns]] if header else []
        parts = [(_csv(line) if form == "csv" else _tabbed(line)).encode() for line in [*names, *lines]]
    return head + b"".join(messages.message("d", part) for part in parts) + messages.message("c")


def _csv(line: Sequence[str | None]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["" if cell is None else cell for cell in line])
    return out.getvalue()


def _tabbed(line: Sequence[str | None]) -> str:
    marks = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    return "\t".join("\\N" if c is None else "".join(marks.get(x, x) for x in c) for c in line) + "\n"
