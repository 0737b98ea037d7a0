"""Every mechanism that releases at once is reached from the command line, or refuses in its card's words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release import catalogue
from hedgerow.serve.cli.commands import app


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(3).integers(0, 2, (60, 2))
    Path("people.csv").write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in rows))
    Path("schema.yaml").write_text("confirmed: true\nattributes: {a: [0, 1], b: [0, 1]}\n")


@pytest.mark.parametrize("name", catalogue.own())
def test_every_offline_mechanism_is_reached_from_the_command_line(data, name):
    command = ["release", "people.csv", "--schema", "schema.yaml", "--epsilon", "4", "--out", "out"]
    done = CliRunner().invoke(app, [*command, "--neighbours", "replace", "--mechanism", name])
    card = catalogue.own()[name]
    if card.open_ended:
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"{card.name} cannot be used here: it is for names without end")
        assert not Path("people.csv.hedgerow.db").exists()  # refused before a ledger is made
        return
    assert done.exit_code == 0, done.output
    synopsis = hr.Synopsis.load("out/synopsis.hedgerow")
    assert synopsis.provenance.mechanism == card.name
    with Ledger.open(Path("people.csv.hedgerow.db"), create=False) as ledger:
        assert not ledger.spent().is_zero
        assert ledger.spent() <= ledger.budget.cost


def test_a_plan_says_how_to_release_what_it_recommends(data):
    options = ["--schema", "schema.yaml", "--rows", "60", "--no-simulate"]
    said = CliRunner().invoke(app, ["plan", *options]).stdout
    made = json.loads(CliRunner().invoke(app, ["plan", *options, "--json"]).stdout)
    assert catalogue.own()[made["command"]].name == made["recommended"]
    assert f"hedgerow release DATA --mechanism {made['command']}" in said
