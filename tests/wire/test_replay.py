"""What tools sent once goes on working: what its log had, replayed by router and catalogue."""

from __future__ import annotations

import json

import pytest

from hedgerow.service.catalogue import Catalogue
from services import said, wire_people

FILES = sorted(said.FOLDER.glob("*.json"))


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    return wire_people.domain(tmp_path_factory.mktemp("domain"))


@pytest.fixture(scope="module")
def catalogue(domain):
    made = Catalogue("people", domain)
    yield made
    made.close()


def test_every_tool_has_its_fixture():
    assert [path.stem for path in FILES] == sorted(said.TOOLS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_tool_sent_becomes_what_it_became(path, domain, catalogue):
    for sent in json.loads(path.read_text())["statements"]:
        assert said.replayed(sent["sql"], sent["values"], domain, catalogue) == sent["became"], sent["sql"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_that_a_tool_sends_by_itself_is_refused(path):
    """What is refused here is what a test asks for because it is: to write, and to see all rows."""
    wanted = {"0A000", "25006"}
    sent = json.loads(path.read_text())["statements"]
    refused = {s["sql"]: s["became"]["refused"] for s in sent if "refused" in s["became"]}
    assert set(refused.values()) <= wanted
    assert not [sql for sql in refused if "pg_" in sql or "information_schema" in sql], refused
