"""The doors of the site, walked from an empty folder by copying: what their pages say to type works."""

from __future__ import annotations

import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hedgerow.serve.cli.commands import app
from pages import ROOT, blocks
from sizes import FULL

DOORS = {"research.md": 4, "analyst.md": 4, "engineer.md": 5}


def typed(page: str) -> list[list[str]]:
    """The commands of a page, one after the other."""
    lines = [x for block in blocks(ROOT / "docs" / page, "console") for x in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("hedgerow ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder; the doors share the demo that each of them makes first."""
    return tmp_path_factory.mktemp("doors")


@pytest.mark.parametrize("page", DOORS)
def test_a_door_names_commands_and_options_that_there_are(page):
    commands = typed(page)
    assert len(commands) == DOORS[page]
    for words in commands:
        command, rest = get_command(app), list(words)
        while hasattr(command, "commands"):
            command = command.commands[rest.pop(0)]
        known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        assert {word for word in rest if word.startswith("--")} <= known, words


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="walked at full size: `make verify GROUP=core`")
@pytest.mark.parametrize("page", DOORS)
def test_a_door_can_be_walked_by_copying(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    commands = typed(page)
    assert len(commands) == DOORS[page]
    assert commands[0][0] == "demo"
    for words in commands:
        if words[0] == "demo" and (folder / "demo").exists():
            continue
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
