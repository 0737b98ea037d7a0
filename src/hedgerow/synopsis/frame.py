"""Frame: the numbers of an answer as named columns - groups first, each number with its bounds and source."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import HedgerowError
from hedgerow.figures import NULL, bound, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis.answer import Answer

    Floats = NDArray[np.float64]

_SHOWN = 40  # rows of a table on a page
_BEFORE = "± "
_LABEL = (("text-align:left;padding:0.2em 1em 0.2em 0", ""),)  # notebooks differ in their own
_NUMBER = (
    ("text-align:right;padding:0.2em 0", ""),
    ("text-align:left;color:#7d877f;padding:0.2em 1em 0.2em 0.4em", _BEFORE),
)


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """A column of labels: a group, or the number of a question; `NULL` where there is no value."""

    name: str
    values: Sequence[str]


@dataclass(frozen=True, eq=False)
class FrameColumn:
    """A column of numbers, how far off each may be, and where each comes from."""

    name: str
    values: Floats
    errors: Floats
    sources: Sequence[str]
    ends: tuple[Floats, Floats] | None = None

    @property
    def low(self) -> Floats:
        """Where each may begin."""
        return self.values - self.errors if self.ends is None else self.ends[0]

    @property
    def high(self) -> Floats:
        """Where each may end."""
        return self.values + self.errors if self.ends is None else self.ends[1]


@dataclass(frozen=True, eq=False)
class Frame:
    """An answer as columns, in the order in which they were asked for.

    >>> import numpy as np
    >>> n = FrameColumn("n", np.array([12.0, 30.0]), np.array([2.0, 3.0]), ["measured"] * 2)
    >>> Frame((LabelColumn("sex", ["F", "M"]), n)).text().splitlines()
    ['sex     n    ±', 'F    12.0  2.0', 'M    30.0  3.0']
    """

    columns: tuple[LabelColumn | FrameColumn, ...]

    @classmethod
    def of(cls, answer: Answer) -> Frame:
        """The columns of an answer: of its statement, of its table, or one number for each question."""
        if answer.table is not None:
            return cls(tuple(_of_result(answer)))
        values, errors = _flat(answer.value, answer.error)
        sources = _sources(answer, len(values))
        if answer.axes is not None and np.ndim(answer.value) == len(answer.axes):
            sizes = [len(labels) for _, labels in answer.axes]
            places = np.indices(sizes).reshape(len(sizes), len(values))
            groups = [
                LabelColumn(name, [labels[i] for i in place])
                for (name, labels), place in zip(answer.axes, places.tolist(), strict=True)
            ]
            return cls((*groups, FrameColumn("count", values, errors, sources)))
        ends = None if answer.ends is None else _flat(answer.low, answer.high)
        only = FrameColumn("value", values, errors, sources, ends)
        if np.ndim(answer.value) == 0:
            return cls((only,))
        return cls((LabelColumn("question", [str(i) for i in range(len(values))]), only))

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    @property
    def groups(self) -> list[LabelColumn]:
        """The columns of labels."""
        return [c for c in self.columns if isinstance(c, LabelColumn)]

    @property
    def numbers(self) -> list[FrameColumn]:
        """The columns of numbers."""
        return [c for c in self.columns if isinstance(c, FrameColumn)]

    def data(self) -> dict[str, list[Any]]:
        """Plain columns: NAME, NAME_low, NAME_high and NAME_source for a number; None where there is none."""
        out: dict[str, list[Any]] = {}
        for column in self.columns:
            if isinstance(column, LabelColumn):
                out[_free(column.name, out)] = [None if v == NULL else v for v in column.values]
                continue
            name = _free(column.name, out)
            ends = ((name, column.values), (f"{name}_low", column.low), (f"{name}_high", column.high))
            for end, values in ends:
                out[_free(end, out)] = [v if np.isfinite(v) else None for v in values.tolist()]
            out[_free(f"{name}_source", out)] = list(column.sources)
        return out

    # -- other libraries' tables --------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """A pyarrow table."""
        import pyarrow as pa

        kinds = {name: pa.float64() for name in self._float_names()}
        arrays = {name: pa.array(v, kinds.get(name, pa.string())) for name, v in self.data().items()}
        return pa.table(arrays)

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        pandas = _library("pandas")
        floats = self._float_names()
        held = {n: np.array(v, dtype=np.float64) if n in floats else v for n, v in self.data().items()}
        return pandas.DataFrame(held)

    def to_polars(self) -> Any:
        """A polars data frame."""
        polars = _library("polars")
        kinds = dict.fromkeys(self._float_names(), polars.Float64)
        held = self.data()
        return polars.DataFrame(held, schema={name: kinds.get(name, polars.String) for name in held})

    def _float_names(self) -> set[str]:
        """The names of columns that hold numbers, though all of them may be missing."""
        names = list(self.data())
        kinds = [kind for c in self.columns for kind in ("s" if isinstance(c, LabelColumn) else "fffs")]
        return {name for name, kind in zip(names, kinds, strict=True) if kind == "f"}

    # -- text ---------------------------------------------------------------------------------------------

    @property
    def heads(self) -> list[str]:
        """The names over the columns that people see: a number is followed by its bound."""
        return [
            name for c in self.columns for name in ([c.name] if isinstance(c, LabelColumn) else [c.name, "±"])
        ]

    def cells(self) -> Iterator[list[str]]:
        """The rows that people see."""
        for i in range(len(self)):
            row: list[str] = []
            for c in self.columns:
                if isinstance(c, LabelColumn):
                    row.append(str(c.values[i]))
                else:
                    row += [signed(c.values[i], c.errors[i]), bound(c.errors[i])]
            yield row

    def text(self, most: int | None = None) -> str:
        """A table for a screen."""
        rows = [self.heads, *self._first(most)]
        left = [side for c in self.columns for side in ("<" if isinstance(c, LabelColumn) else ">>")]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.heads))]
        lines = [
            "  ".join(f"{cell:{s}{w}}" for cell, s, w in zip(r, left, widths, strict=True)) for r in rows
        ]
        more = len(self) - (len(rows) - 1)
        return "\n".join(
            [*(line.rstrip() for line in lines), *([f"... and {more:,} more rows"] if more else [])]
        )

    def markdown(self) -> str:
        """A table in Markdown."""
        right = [
            side for c in self.columns for side in (["---"] if isinstance(c, LabelColumn) else ["---:"] * 2)
        ]
        safe = [
            [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row]
            for row in [self.heads, *self.cells()]
        ]
        lines = [safe[0], right, *safe[1:]]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def csv(self) -> str:
        """All columns as CSV; a cell without a number is empty."""
        file, held = io.StringIO(), self.data()
        out = csv.writer(file, lineterminator="\n")
        out.writerow(held)
        out.writerows(zip(*held.values(), strict=True))
        return file.getvalue()

    def html(self) -> str:
        """A table for a notebook: labels to the left, numbers to the right, bounds paler beside them."""
        sides = [s for c in self.columns for s in (_LABEL if isinstance(c, LabelColumn) else _NUMBER)]

        def line(cells: Sequence[str], tag: str) -> str:
            made = (
                f'<{tag} style="{style}">{before}{escape(cell)}</{tag}>'
                for cell, (style, before) in zip(cells, sides, strict=True)
            )
            return f"<tr>{''.join(made)}</tr>"

        shown = self._first(_SHOWN)
        more = len(self) - len(shown)
        also = f"<p>… and {more:,} more rows: <code>.to_pandas()</code> has them all.</p>" if more else ""
        heads = ["" if head == "±" else head for head in self.heads]
        body = "".join(line(cells, "td") for cells in shown)
        head = line(heads, "th").replace(_BEFORE, "")
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{also}"

    def _first(self, most: int | None) -> list[list[str]]:
        """So many rows; one more than that is no reason to leave one out."""
        short = most is not None and len(self) > most + 1
        return [
            row for row, _ in zip(self.cells(), range(most if short and most else len(self)), strict=False)
        ]


def sources_of(answer: Answer, column: int) -> list[str]:
    """The source of each number in a column of an answer's table, by its index into the aggregates."""
    groups, width = answer.table.values.shape
    return _sources(answer, groups * width)[column::width]


def _of_result(answer: Answer) -> Iterator[LabelColumn | FrameColumn]:
    result = answer.table
    for column in result.show:
        if not column.aggregate:
            yield LabelColumn(column.name, [labels[column.index] for labels in result.groups])
            continue
        values, errors = result.values[:, column.index], result.errors[:, column.index]
        low, high = (end[:, column.index] for end in result.ends)
        yield FrameColumn(column.name, values, errors, sources_of(answer, column.index), (low, high))


def _flat(value: Any, error: Any) -> tuple[Floats, Floats]:
    values = np.asarray(value, dtype=np.float64)
    errors = np.broadcast_to(np.asarray(error, dtype=np.float64), values.shape)
    return values.ravel(), errors.ravel()


def _sources(answer: Answer, many: int) -> list[str]:
    """The source of each number; the answer's own where they are not told apart."""
    each = [] if answer.sources is None else np.asarray(answer.sources).ravel().tolist()
    return each if len(each) == many else [answer.source] * many


def _free(name: str, taken: dict[str, Any]) -> str:
    """A name that no column has yet: SQL may give one twice."""
    number, made = 2, name
    while made in taken:
        number, made = number + 1, f"{name}_{number}"
    return made


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise HedgerowError(
            f"{name} is not installed: `pip install {name}`, or take `.to_arrow()`, which needs nothing more"
        ) from None
