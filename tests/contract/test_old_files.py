"""Ledgers, synopses and schemas that earlier versions wrote open, verify and go on."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger

FIXTURES = Path(__file__).parent.parent / "fixtures"
VERSIONS = sorted(p.parent.name for p in FIXTURES.glob("*/facts.json"))
_spec = importlib.util.spec_from_file_location("write", FIXTURES / "write.py")
assert _spec is not None
assert _spec.loader is not None
write = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(write)


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what one version wrote, with the times and modes that a checkout does not keep."""
    copy = tmp_path / "old"
    shutil.copytree(FIXTURES / request.param, copy)
    (copy / "people.csv.hedgerow.db").chmod(0o600)
    os.utime(copy / "people.csv", ns=(write.WRITTEN, write.WRITTEN))
    return copy


@pytest.fixture
def facts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "facts.json").read_text())


def test_there_are_files_of_an_earlier_version():
    assert "0.1.0" in VERSIONS


def test_an_old_ledger_verifies_with_its_receipt_and_has_spent_what_it_had(folder, facts):
    with Ledger.open(folder / "people.csv.hedgerow.db", create=False) as kept:
        assert kept.verify(hr.Receipt.from_json(facts["ledger"]["receipt"])).ok
        spent = kept.spent()
        assert [str(spent.amount), str(spent.delta)] == facts["ledger"]["spent"]
        assert kept.newest + 1 == facts["ledger"]["lines"]


def test_an_old_session_goes_on_with_what_it_said_and_pays_nothing_twice(folder, facts):
    curator = write.open_people(folder)
    before = curator.ledger.spent()
    said = write.converse(curator)
    for text, values in said.items():
        np.testing.assert_allclose(values, facts["ledger"][text], rtol=1e-9, err_msg=text)
    assert curator.ledger.spent() == before
    session = write.SESSION.open(curator)
    new = session.ask("SELECT COUNT(*) FROM t WHERE town = 'south'")
    assert np.isfinite(new.value)
    assert curator.ledger.verify().ok


def test_an_old_sparse_vector_run_and_allotment_go_on(folder, facts):
    curator = write.open_people(folder)
    run = curator.sparse_vector(100, 0.2, method="sparse", count=3, run="above")
    before = curator.ledger.spent()
    assert len(run.ask(hr.Query.total()).above) == 1  # above or below, as the noise has it
    curator.child("ann").measure(("sex",), 0.1)
    assert curator.ledger.spent() == before  # paid from what was set aside for her
    curator.measure(("k",), 0.05)
    assert curator.ledger.verify(hr.Receipt.from_json(facts["ledger"]["receipt"])).ok


def test_every_old_synopsis_answers_as_it_did(folder, facts):
    for name, fact in facts["synopses"].items():
        synopsis = hr.Synopsis.load(folder / f"{name}.hedgerow")
        assert synopsis.kind == fact["kind"]
        np.testing.assert_allclose(write.answers(name, synopsis), fact["answers"], rtol=1e-9, err_msg=name)


def test_every_kind_of_synopsis_is_among_the_newest_old_files(folder):
    newest = json.loads((FIXTURES / VERSIONS[-1] / "facts.json").read_text())
    import hedgerow.synopsis  # noqa: F401  (fills the list of kinds)

    kinds = {kind for kind in hr.Synopsis.kinds if kind}
    assert {fact["kind"] for fact in newest["synopses"].values()} >= kinds


def test_digests_that_name_questions_in_ledgers_do_not_change(facts):
    assert write.digests() == facts["digests"]


def test_acts_are_written_as_they_were(facts):
    now = write.events()
    assert {kind: now[kind] for kind in facts["events"]} == facts["events"]


def test_runs_are_known_by_what_they_were_known_by():
    """A mechanism that asks otherwise on purpose has a new folder of files written."""
    newest = json.loads((FIXTURES / VERSIONS[-1] / "facts.json").read_text())
    assert write.lines() == newest["lines"]


def test_an_old_schema_reads_as_it_did(folder):
    assert hr.Domain.load(folder / "schema.yaml").shape == (2, 4, 3, 3)


def test_what_was_saved_as_an_old_release_has_a_receipt_that_its_ledger_knows(folder):
    released = hr.Synopsis.load(folder / "people.hedgerow")
    with Ledger.open(folder / "people.csv.hedgerow.db", create=False) as kept:
        assert kept.verify(released.receipt).ok
