"""What the page about connecting says works as printed."""

from __future__ import annotations

import pytest
from sqlalchemy.dialects import registry

from pages import ROOT, blocks

registry.register("hedgerow", "hedgerow.client.alchemy", "HedgerowDialect")  # as its entry point does
pytestmark = pytest.mark.xdist_group("clients")
EXAMPLES = blocks(ROOT / "docs/connect.md", "py")


def test_there_are_examples():
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(code, server, token, monkeypatch, capsys):
    monkeypatch.setenv("HEDGEROW_TOKEN", token)
    here = code.replace("127.0.0.1:8765", server.url.split("//")[1]).replace("TOKEN", token)
    exec(compile(here, "connect.md", "exec"), {})
    assert capsys.readouterr().out
