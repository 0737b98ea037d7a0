"""Cards: what they refuse, what they defer, and the mechanisms that other packages bring."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.audit.registry import AUDITS, audits
from hedgerow.audit.stand import Stand
from hedgerow.errors import HedgerowError
from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.mechanisms.task import Task
from hedgerow.privacy.budget import Privacy
from hedgerow.release import catalogue
from hedgerow.release.plan.recommended import recommend
from hedgerow.serve.cli.commands import app

DOMAIN = hr.Domain({"a": 3, "b": 2})
RHO, PURE = hr.Budget(epsilon=1, delta=1e-9), hr.Budget(epsilon=1)
WIDE = hr.Domain({f"x{i}": 100 for i in range(20)})

THEIRS = '''
from dataclasses import dataclass
import hedgerow as hr
from hedgerow.mechanisms.card import Card

@dataclass(frozen=True)
class TheirNoise(hr.LaplaceBaseline):
    """Laplace noise, as somebody else would have it. Privacy and accuracy: LaplaceBaseline's."""

def audits(auditor):
    auditor.one_act(auditor.workload("ones"))

CARD = Card(
    name="TheirNoise", home="their_noise", kind="offline", words="noise of theirs", when="never",
    command="their-noise", takes=frozenset({"run"}), audits=audits,
)
'''


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """Install a package of somebody else's: a folder on the path with a module and its entry points."""

    def install(module: str = THEIRS, points: str = "TheirNoise = their_noise:CARD"):
        (tmp_path / "their_noise.py").write_text(module)
        info = tmp_path / "their_noise-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-noise\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[hedgerow.mechanisms]\n{points}\n")
        monkeypatch.syspath_prepend(tmp_path)
        cards.guests.cache_clear()
        return tmp_path

    yield install
    cards.guests.cache_clear()
    sys.modules.pop("their_noise", None)
    vars(hr).pop("TheirNoise", None)


def task(domain=DOMAIN, workload=None, budget=RHO, neighbours="add_remove") -> Task:
    return Task.of(domain, 1000, workload or hr.marginals(domain, 2), budget, neighbours)


REFUSED = {
    "delta": (
        task(budget=PURE),
        "delta above 0",
        {"GaussianBaseline", "Factorization", "Projection", "BoostQueries"},
    ),
    "replace": (task(), "neighbours 'replace'", {"RandomizedResponse"}),
    "attributes": (
        task(workload=[hr.Query.total()]),
        "at least one attribute",
        {"AdaptiveRelease", "OfflineMW"},
    ),
    "names": (task(), "names without end", {"SparseProject", "SparseMW"}),
    "cells": (
        task(WIDE, hr.marginals(WIDE, 1)),
        "cells, more than",
        {"HistogramRelease", "Projection", "OfflineMW", "OnlineMW"},
    ),
    "counting": (
        task(workload=[hr.Query.of(DOMAIN, ["a"], [0.0, 0.5, 1.0])]),
        "count rows",
        {"SmallDB"},
    ),
    "tables": (
        task(WIDE, hr.marginals(WIDE, [WIDE.names[:5]])),
        "a table of the workload has",
        {"GaussianBaseline", "LaplaceBaseline", "Factorization", "RandomizedResponse"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("need", REFUSED)
def test_a_card_refuses_in_one_sentence_what_it_is_not_for(need):
    asked, words, names = REFUSED[need]
    if need == "tables":  # the first reason is told
        asked = task(asked.domain, asked.asked, RHO, "replace")
    said = {name for name in HOMES if words in (cards.own(name).refusal(asked) or "")}
    assert said == names
    for name in said:
        with pytest.raises(HedgerowError, match=f"^{name} cannot be used here: ") as caught:
            cards.own(name).check(asked)
        assert "\n" not in str(caught.value)
        assert caught.value.code == ("too_large" if need in ("cells", "tables") else "bad_input")


def test_what_a_card_defers_is_there():
    """Functions that are named by a path are found, for every card that has them."""
    names = Task.of(hr.OpenDomain(), 1000, None, RHO, sparsity=1, queries=1)
    for name in HOMES:
        card = cards.own(name)
        about = names if card.open_ended else task(neighbours="replace")
        if card.theorem is not None:
            assert callable(card.theorem.rule(about))
        if card.error is not None:
            assert card.error(about) > 0.0


def test_a_mechanism_of_another_package_joins_front_door_planner_and_command_line(guest, monkeypatch):
    folder = guest()
    monkeypatch.chdir(folder)
    assert hr.TheirNoise().run is None
    assert "TheirNoise" in dir(hr)
    made = hr.plan(DOMAIN, 1000, hr.marginals(DOMAIN, 1), RHO, simulate=False)
    assert made["TheirNoise"].refused is None
    assert "their-noise: noise of theirs" in CliRunner().invoke(app, ["release", "--help"]).stdout
    (folder / "people.csv").write_text("a,b\n" + "0,1\n1,0\n2,1\n" * 9)
    (folder / "schema.yaml").write_text("confirmed: true\nattributes: {a: [0, 1, 2], b: [0, 1]}\n")
    command = ["release", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out"]
    done = CliRunner().invoke(app, [*command, "--mechanism", "their-noise"])
    assert done.exit_code == 0, done.output
    assert hr.Synopsis.load(folder / "out/synopsis.hedgerow").provenance.mechanism == "TheirNoise"


AUDIT = """
from hedgerow.audit.registry import AUDITS, audits, exported
assert "TheirNoise" in exported() and not set(exported()) - set(AUDITS)
print([f.refuted for f in audits([1.0], 1000, 20.0, only=["TheirNoise"])])
"""


def test_a_mechanism_of_another_package_is_audited_with_the_others(guest):
    """False alarm 1e-6."""
    source = os.path.dirname(os.path.dirname(hr.__file__))
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(guest()), source])}
    done = subprocess.run(
        [sys.executable, "-c", AUDIT], env=known, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[False, False]", done.stderr  # what passes the door, and what is returned


def test_a_mechanism_of_another_package_that_spends_more_than_it_is_told_is_caught(guest, monkeypatch):
    dearer = """\
    def release(self, curator, workload):
        curator.ledger.check = lambda *_: None  # which would have refused
        return hr.LaplaceBaseline(epsilon=3 * self.epsilon).release(curator, workload)

def audits"""
    guest(THEIRS.replace("\ndef audits", f"\n{dearer}"))
    monkeypatch.setitem(AUDITS, "TheirNoise", [])
    card = cards.card("TheirNoise")
    card.audits(Stand(card))
    with pytest.raises(HedgerowError, match="cost more than it was given"):
        list(audits([1.0], 1000, 20.0, only=["TheirNoise"]))


LEFT_OUT = {
    "broken": ("raise OSError('not here')", "TheirNoise = their_noise:CARD", "does not load"),
    "no card": ("CARD = 7", "TheirNoise = their_noise:CARD", "no Card"),
    "another name": (THEIRS, "OtherNoise = their_noise:CARD", "called 'TheirNoise'"),
    "one of ours": (THEIRS.replace("TheirNoise", "SmallDB"), "SmallDB = their_noise:CARD", "taken"),
    "the curator": (THEIRS.replace("TheirNoise", "Curator"), "Curator = their_noise:CARD", "taken"),
    "a taken command": (THEIRS.replace("their-noise", "laplace"), "TheirNoise = their_noise:CARD", "taken"),
    "a bad command": (THEIRS.replace("their-noise", "--all"), "TheirNoise = their_noise:CARD", "no name"),
}


@pytest.mark.parametrize("why", LEFT_OUT)
def test_a_guest_that_cannot_be_used_is_left_out_and_ours_go_on(guest, why):
    module, points, words = LEFT_OUT[why]
    guest(module, points)
    with pytest.warns(UserWarning, match="is left out") as caught:
        assert cards.guests() == {}
    told = [str(w.message) for w in caught if w.category is UserWarning]  # garbage warns too
    assert words in told[0]
    assert [card.name for card in cards.every()] == list(HOMES)
    assert hr.Curator.__module__.startswith("hedgerow.")


def test_no_code_of_another_package_runs_for_a_mechanism_of_ours(guest):
    """It would run beside the rows."""
    guest("raise OSError('it ran')")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for command, card in catalogue.own().items():
            assert catalogue.mechanism(command) is card
            assert getattr(hr, card.name) is card.load()
        recommend(DOMAIN, hr.marginals(DOMAIN, 1), RHO, Privacy())
    with (
        pytest.warns(UserWarning, match="it ran"),
        pytest.raises(HedgerowError, match="no mechanism 'magic'"),
    ):
        catalogue.mechanism("magic")


def test_a_name_that_nobody_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchRelease'"):
        _ = hr.NoSuchRelease
    with pytest.raises(HedgerowError, match="no mechanism 'NoSuchRelease'; there is Gauss"):
        cards.card("NoSuchRelease")
