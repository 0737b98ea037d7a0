"""The notebooks among the examples run: cell after cell, and what a cell ends with shows itself."""

from __future__ import annotations

import re

import pytest

from pages import ROOT
from services.notebooks import jupyter, marimo

pytestmark = pytest.mark.xdist_group("clients")


@pytest.fixture(autouse=True)
def environment(server, token, monkeypatch):
    monkeypatch.setenv("HEDGEROW_URL", f"{server.url}/people")
    monkeypatch.setenv("HEDGEROW_TOKEN", token)


def test_the_jupyter_notebook():
    seen = jupyter(ROOT / "examples/ask_a_server.ipynb")
    assert seen[0] == ["sex", "k"]
    assert seen[1]._repr_html_().count("<svg") == 3
    assert list(seen[2].columns) == ["sex", "n", "n_low", "n_high", "n_source"]
    assert re.search(r"\. Left to spend: epsilon [\d.]+\.$", seen[3])


def test_the_marimo_notebook(monkeypatch):
    names = marimo(ROOT / "examples/ask_a_server_marimo.py", monkeypatch)
    assert names["groups"].groups == [("F",), ("M",)]
    assert names["left"] > 0
