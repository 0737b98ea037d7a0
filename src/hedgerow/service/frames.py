"""Frames: an answer as a table for other programs - CSV, Arrow, Parquet - each number with its bounds."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.synopsis.frame import Frame, FrameColumn, LabelColumn

if TYPE_CHECKING:
    import pyarrow as pa

CSV, ARROW, PARQUET = (
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet",
)
MEDIA = (CSV, ARROW, PARQUET)
_FORMULA = r"(?s)^([=@\t\r]|[-+].*[^0-9.eE+-])"  # signed numbers are none


def table(answer: dict[str, Any]) -> pa.Table:
    """The rows of an answer, as `wire.answered` gives it: NAME, NAME_low, NAME_high, NAME_source.

    >>> number = {"value": 1.0, "error": 2.0, "low": -1.0, "high": 3.0, "source": "learned"}
    >>> table({"columns": ["n"], "rows": [{"n": number}]}).column_names
    ['n', 'n_low', 'n_high', 'n_source']
    """
    import pyarrow as pa

    made: dict[str, Any] = {}
    for name in answer["columns"]:
        cells = [row[name] for row in answer["rows"]]
        if cells and isinstance(cells[0], dict):
            made[name] = pa.array([cell["value"] for cell in cells], pa.float64())
            for part in ("low", "high"):
                made[f"{name}_{part}"] = pa.array([cell.get(part) for cell in cells], pa.float64())
            made[f"{name}_source"] = pa.array([cell["source"] for cell in cells], pa.string())
        else:
            made[name] = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.table(made)


def frame(answer: dict[str, Any]) -> Frame:
    """The same as columns that can be printed, written and drawn.

    Args:
        answer: an answer, as `wire.answered` gives it.

    >>> number = {"value": 1.0, "error": None, "source": "learned"}
    >>> len(frame({"columns": ["sex", "n"], "rows": [{"sex": "F", "n": number}]}))
    1
    """
    made: list[LabelColumn | FrameColumn] = []
    for name in answer["columns"]:
        cells = [row[name] for row in answer["rows"]]
        if cells and isinstance(cells[0], dict):
            parts = ([float("nan") if c.get(k) is None else c[k] for c in cells] for k in ("value", "error"))
            values, errors = (np.array(part, dtype=np.float64) for part in parts)
            made.append(FrameColumn(name, values, errors, [str(cell["source"]) for cell in cells]))
        else:
            made.append(LabelColumn(name, ["NULL" if cell is None else str(cell) for cell in cells]))
    return Frame(tuple(made))


def without_formulas(table: pa.Table) -> pa.Table:
    """The table with a quote before each text that a spreadsheet would take for a formula.

    >>> import pyarrow as pa
    >>> without_formulas(pa.table({"=a": ["=1+1", "-3", "-x", "F"]})).to_pydict()
    {"'=a": ["'=1+1", '-3', "'-x", 'F']}
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [
        pc.if_else(pc.match_substring_regex(c, _FORMULA), pc.binary_join_element_wise("'", c, ""), c)
        if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)
        else c
        for c in table.columns
    ]
    return pa.table(columns, [f"'{n}" if re.match(_FORMULA, n) else n for n in table.column_names])


def encoded(frame: pa.Table, media: str) -> bytes:
    """A table as bytes of a media type."""
    import pyarrow as pa

    out = io.BytesIO()
    if media == CSV:
        from pyarrow import csv

        csv.write_csv(frame, out)
    elif media == PARQUET:
        from pyarrow import parquet

        parquet.write_table(frame, out)
    else:
        with pa.ipc.new_stream(out, frame.schema) as stream:
            stream.write_table(frame)
    return out.getvalue()


def accepted(header: str) -> str | None:
    """The first of the media types that a caller takes and this can write; None for JSON."""
    for part in header.split(","):
        media = part.split(";")[0].strip().lower()
        if media in MEDIA:
            return media
        if media in ("application/json", "*/*", "application/*"):
            return None
    return None
