"""Notebooks without their programs: cells run in order, and what a cell ends with is given back."""

from __future__ import annotations

import ast
import json
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest


def shown(code: str, names: dict[str, Any]) -> Any:
    """What a cell ends with, as Jupyter would show it."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def jupyter(path: Path) -> list[Any]:
    """What the cells of a Jupyter notebook end with; it is kept without what somebody saw."""
    cells = json.loads(path.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    names: dict[str, Any] = {}
    return [shown("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]


def marimo(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the cells of a marimo notebook define, by marimo or in its absence by `Cells`."""
    try:
        import marimo  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("marimo")
        monkeypatch.setattr(stand_in, "App", lambda: Cells(path), raising=False)
        monkeypatch.setattr(stand_in, "md", str, raising=False)
        monkeypatch.setitem(sys.modules, "marimo", stand_in)
        found: dict[str, Any] = runpy.run_path(str(path))["app"].names
    else:
        found = runpy.run_path(str(path))["app"].run()[1]
    return found


class Cells:
    """In the place of marimo's App, where marimo is not installed: runs cells in order, by their names."""

    def __init__(self, path: Path) -> None:
        self._code = ast.parse(path.read_text())
        self.names: dict[str, Any] = {}

    def cell(self, made: Any) -> Any:
        """Run a cell with the names it wants, and keep those that it returns."""
        wanted = made.__code__.co_varnames[: made.__code__.co_argcount]
        given = made(*(self.names[name] for name in wanted))
        first = int(made.__code__.co_firstlineno) + 1  # after its decorator
        body = next(f for f in self._code.body if isinstance(f, ast.FunctionDef) and f.lineno == first)
        returned = [name.id for name in ast.walk(body.body[-1]) if isinstance(name, ast.Name)]
        self.names |= dict(zip(returned, given, strict=True))
        return made
