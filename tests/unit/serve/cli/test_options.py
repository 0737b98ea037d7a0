"""A shared option is declared once: it appears, and arrives, at every command that takes its group."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from hedgerow.serve.cli.commands import app
from hedgerow.serve.cli.options import BudgetOptions, CsvOptions, DataOptions, spelled_out
from hedgerow.service.dataset import Dataset

TAKES = {
    "release": DataOptions,
    "ask": DataOptions,
    "budget init": BudgetOptions,
    "schema infer": CsvOptions,
    "schema check": CsvOptions,
}


@pytest.mark.parametrize("path", TAKES)
def test_commands_take_every_option_of_their_group(path):
    command = get_command(app)
    for name in path.split():
        command = command.commands[name]
    assert {f.name for f in fields(TAKES[path])} <= {p.name for p in command.params}


def test_options_about_data_are_what_a_dataset_takes():
    options, takes = ({f.name for f in fields(group)} for group in (DataOptions, Dataset))
    assert options | {"data", "schema", "tell"} == takes


def test_a_new_option_is_one_field():
    @dataclass(frozen=True)
    class More(CsvOptions):
        quote: Annotated[str, typer.Option(help="A new one.")] = "'"

    heard = []

    def command(name: str, more: More, last: int = 3) -> None:
        heard.append((name, more, last))

    command.__annotations__["more"] = More
    tried = typer.Typer()
    tried.command()(spelled_out(command))
    assert CliRunner().invoke(tried, ["x", "--quote", "|", "--delimiter", ";"]).exit_code == 0
    assert heard == [("x", More(delimiter=";", quote="|"), 3)]
