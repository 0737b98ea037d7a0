"""What the page about connecting says works as printed, and the tests that it names are there."""

from __future__ import annotations

import re

import pytest
from sqlalchemy.dialects import registry

from pages import ROOT, blocks
from services import module

registry.register("hedgerow", "hedgerow.client.alchemy", "HedgerowDialect")  # as its entry point does
pytestmark = pytest.mark.xdist_group("clients")
PAGE = ROOT / "docs/connect.md"
EXAMPLES = blocks(PAGE, "py")
NEEDS = {"asyncpg": "asyncpg", "pyodbc": "pyodbc", "adbc": "adbc_driver_postgresql"}


def test_there_are_examples():
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(code, server, token, monkeypatch, capsys):
    for word, name in NEEDS.items():
        if word in code:
            module(name, name)
    monkeypatch.setenv("HEDGEROW_TOKEN", token)
    port = str(server.event["wire"]["port"])
    here = code.replace("127.0.0.1:8765", server.url.split("//")[1]).replace("5433", port)
    here = here.replace("USER", "ann").replace("TOKEN", token)
    exec(compile(here, "connect.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_test_that_the_page_names_is_there():
    for title, file in (("## DB-API", "test_dbapi.py"), ("## SQLAlchemy", "test_alchemy.py")):
        part = PAGE.read_text().split(title, 1)[1].split("\n## ", 1)[0]
        named = set(re.findall(r"`(test_\w+)`", part))
        written = set(re.findall(r"^def (test_\w+)", (ROOT / "tests/clients" / file).read_text(), re.M))
        assert named <= written
        assert written - named <= {"test_the_entry_point_is_declared"}
