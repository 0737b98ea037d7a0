"""The audit tells the famous mistakes from the sound algorithms.

SVT 1 and 2 are refuted with probability at most 1e-6 each. The others are refuted with a margin: over many
runs of this size the found epsilon is nearly six deviations above the claim (noise reused in the released
value), or more.
"""

from __future__ import annotations

import json

import pytest

from hedgerow.audit import command
from hedgerow.audit.controls import controls
from hedgerow.audit.coupled.planted import planted
from sizes import size

SAMPLES = size(120_000, 300_000)
PATIENCE = 600.0  # seconds: never what ends the sampling
CONTROLS = {control.name: control for control in controls()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTROLS)
def test_exactly_the_wrong_ones_are_refuted(name):
    finding = CONTROLS[name].run(SAMPLES, PATIENCE, None)
    assert finding.refuted == CONTROLS[name].wrong, str(finding)


def test_every_control_runs_and_few_samples_refute_no_sound_one():
    findings = {name: control.run(1000, PATIENCE, None) for name, control in CONTROLS.items()}
    assert not [name for name, finding in findings.items() if finding.refuted and not CONTROLS[name].wrong]


def test_there_are_six_published_sparse_vectors_and_fourteen_planted_bugs():
    assert [c.wrong for c in CONTROLS.values()] == [False, False, *[True] * 18]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(command, "controls", lambda: [CONTROLS["charge skipped"], CONTROLS["float Laplace"]])
    monkeypatch.setattr(command, "planted", lambda: planted()[:2])


def test_the_command_prints_rows_and_exits_with_one_on_refutation(quick, capsys, tmp_path):
    picture = tmp_path / "p.svg"
    code = command.main(["--controls", "--json", "--samples", "20000", "--plot", str(picture)])
    rows = json.loads(capsys.readouterr().out)["findings"]
    assert code == 1
    assert {"name", "claimed", "found", "refuted"} <= set(rows[0])
    assert all(row["refuted"] for row in rows)
    assert picture.read_text().startswith("<svg")


def test_the_command_exits_with_zero_when_nothing_is_refuted(monkeypatch, capsys):
    monkeypatch.setattr(command, "audits", lambda *_, **__: [])
    monkeypatch.setattr(command, "exact_findings", lambda *_: [command.ledger_finding()])
    assert command.main(["--all"]) == 0
    assert "ledger replay" in capsys.readouterr().out
