"""Options that several commands share, each declared once; groups of them are spelled out for typer.

A command takes a group as one parameter: a new option of all commands that open data is a new field here.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from hedgerow.service.address import as_path

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset


def data_path(text: str) -> Path:
    """DATA: a file, which is looked at as every file that is named, or the address of a database."""
    made = as_path(text)
    if made.exists() and not os.access(made, os.R_OK):
        raise typer.BadParameter(f"{text!r} is not readable")
    return made


class Neighbours(Enum):
    """Which two datasets must look alike."""

    add_remove = "add_remove"
    replace = "replace"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="The data: a CSV or Parquet file, or postgresql://... with --table.",
        show_default=False,
        parser=data_path,
    ),
]
DataOrLedger = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="The data, or its ledger.", show_default=False, parser=data_path),
]
Table = Annotated[str | None, typer.Option(metavar="NAME", help="Of a database: the table with the rows.")]
Select = Annotated[
    str | None,
    typer.Option("--query", metavar="SELECT", help="Of a database: columns and rows of one of its tables."),
]
Released = Annotated[
    Path, typer.Argument(metavar="SYNOPSIS", help="A file that `release` wrote.", show_default=False)
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", help="The confirmed schema file; schema.yaml beside the data, else here, if not given."
    ),
]
Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.", show_default=False)]
Whom = Annotated[
    Neighbours | None, typer.Option(help="add_remove: one person more or fewer; replace: one exchanged.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Workload = Annotated[
    str,
    typer.Option(
        help="What must be answered well: marginals:2, conjunctions:2, ranges:1, prefixes:1, parities:2, "
        "or named tables, marginals:age,sex;region."
    ),
]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Whose account pays, as `budget allot` set it aside."),
]
LedgerFile = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="HEDGEROW_LEDGER",
        show_envvar=False,
        metavar="PATH",
        help="The ledger, if not beside the data: a file, or postgresql://...; HEDGEROW_LEDGER in the "
        "environment says the same.",
    ),
]
TextEncoding = Annotated[
    str | None, typer.Option(help="Text encoding of a CSV file, if not UTF-8 (for example cp1252).")
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the fields of a CSV file: a character, or tab.")
]
UnitColumn = Annotated[
    str | None, typer.Option(help="The column that names a person; without it, each row is protected.")
]
OlderLedger = Annotated[
    str | None,
    typer.Option(
        "--older-than-receipt",
        metavar="REASON",
        help="Use a ledger older than what was charged to it, and set that aside: why.",
    ),
]


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is read."""

    encoding: TextEncoding = None
    delimiter: Delimiter = None
    multiline: Annotated[
        bool,
        typer.Option(
            "--multiline", help="The CSV file follows RFC 4180, and quoted cells of it hold line breaks."
        ),
    ] = False


@dataclass(frozen=True)
class BudgetOptions(CsvOptions):
    """Whom a dataset's budget protects, and where its rows and its ledger lie."""

    table: Table = None
    query: Select = None
    unit: UnitColumn = None
    max_rows: Annotated[int | None, typer.Option(min=1, help="How many rows of each person are used.")] = None
    neighbours: Whom = None
    ledger: LedgerFile = None
    new_ledger: Annotated[
        str | None,
        typer.Option(
            metavar="REASON", help="Make a new ledger although an earlier one of this data is known: why."
        ),
    ] = None

    def dataset(self, data: Path, **more: Any) -> Dataset:
        """The dataset that these options and the data name."""
        from hedgerow.serve.cli.terminal import say
        from hedgerow.service.dataset import Dataset

        given = {name: v.value if isinstance(v, Enum) else v for name, v in vars(self).items()}
        return Dataset(data, **given, **more, tell=say)


@dataclass(frozen=True)
class DataOptions(BudgetOptions):
    """All that a command says of data which it opens; the fields are those of `Dataset`."""

    delta: Annotated[
        str | None,
        typer.Option(help="Delta of the budget that is made if there is none: 1e-9 if not given, 0 is pure."),
    ] = None
    same_rows: Annotated[
        bool, typer.Option("--same-rows", help="The data file was written again, with the same rows: go on.")
    ] = False
    require_budget: Annotated[
        bool,
        typer.Option(
            "--require-budget",
            envvar="HEDGEROW_REQUIRE_BUDGET",
            show_envvar=False,
            help="Refuse data without a budget instead of making one; "
            "HEDGEROW_REQUIRE_BUDGET=1 says the same.",
        ),
    ] = False
    first: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="BLOCK",
            help="Of data that grow: the first block to ask, by name, number or day.",
        ),
    ] = None
    last: Annotated[
        str | None, typer.Option("--to", metavar="BLOCK", help="The last one; the newest if not given.")
    ] = None
    older: Annotated[
        str | None,
        typer.Option(
            "--older-than-receipt",
            metavar="REASON",
            help="Go on with a ledger older than what was charged to it, and set that aside: why.",
        ),
    ] = None


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """A command each of whose parameters is one option: a group is replaced by its fields.

    They come after the command's own options, and before `--json`.
    """
    own: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            shared += _parameters(parameter.annotation)
        else:
            own.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        taken = {name: [given.pop(f.name) for f in fields(group)] for name, group in groups.items()}
        made = {name: group(*taken[name]) for name, group in groups.items()}
        command(**given, **made)

    last = [p for p in own if p.name == "json"]
    ordered = [*(p for p in own if p not in last), *shared, *last]
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in ordered}
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    """A group's options: its own first, then those of the group that it extends."""
    hints = get_type_hints(group, include_extras=True)
    declared = [name for level in group.__mro__[:-1] for name in level.__annotations__]
    defaults = {f.name: inspect.Parameter.empty if f.default is MISSING else f.default for f in fields(group)}
    only = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(n, only, default=defaults[n], annotation=hints[n]) for n in declared]
