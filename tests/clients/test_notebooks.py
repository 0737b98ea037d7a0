"""The notebooks among the examples run: cell after cell, and what a cell ends with shows itself."""

from __future__ import annotations

import ast
import json
import runpy
import sys
import types
from typing import Any

import pytest

from pages import ROOT

pytestmark = pytest.mark.xdist_group("clients")


@pytest.fixture(autouse=True)
def environment(server, token, monkeypatch):
    monkeypatch.setenv("HEDGEROW_URL", f"{server.url}/people")
    monkeypatch.setenv("HEDGEROW_TOKEN", token)


def shown(code: str, names: dict[str, Any]) -> Any:
    """What a cell ends with, as Jupyter would show it."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_jupyter_notebook():
    cells = json.loads((ROOT / "examples/ask_a_server.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)  # kept without what somebody's server said
    names: dict[str, Any] = {}
    seen = [shown("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    assert seen[0] == ["sex", "k"]
    assert seen[1]._repr_html_().count("<svg") == 3
    assert list(seen[2].columns) == ["sex", "n", "n_low", "n_high", "n_source"]
    words, left = seen[3]
    assert words
    assert left > 0


class Cells:
    """In the place of marimo's App, where marimo is not installed: runs cells in order, by their names."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def cell(self, made: Any) -> Any:
        wanted = made.__code__.co_varnames[: made.__code__.co_argcount]
        given = made(*(self.names[name] for name in wanted))
        line = ast.parse((ROOT / "examples/ask_a_server_marimo.py").read_text())
        body = next(f for f in line.body if isinstance(f, ast.FunctionDef) and f.lineno == _first(made))
        returned = [name.id for name in ast.walk(body.body[-1]) if isinstance(name, ast.Name)]
        self.names |= dict(zip(returned, given, strict=True))
        return made


def _first(made: Any) -> int:
    return int(made.__code__.co_firstlineno) + 1  # after its decorator


def test_the_marimo_notebook(monkeypatch):
    path = str(ROOT / "examples/ask_a_server_marimo.py")
    try:
        import marimo  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("marimo")
        monkeypatch.setattr(stand_in, "App", Cells, raising=False)
        monkeypatch.setitem(sys.modules, "marimo", stand_in)
        names = runpy.run_path(path)["app"].names
    else:
        names = runpy.run_path(path)["app"].run()[1]
    assert names["groups"].groups == [("F",), ("M",)]
    assert names["left"] > 0
