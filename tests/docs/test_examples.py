"""The examples run, and print what their page says they print, but for digits."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, blocks
from services.notebooks import jupyter, marimo

FOLDER = ROOT / "examples"
PAGE = ROOT / "docs" / "examples.md"
SMALL: dict[str, dict[str, Any]] = {
    "classify_income": {"rows": 2000},
    "audit_a_mechanism": {"samples": 20_000},
    "reconstruct_rows": {"people": 60, "answers": 200},
}
BY_THEMSELVES = ("serve_and_ask", "spark_release")  # need a service: below, and in tests/scale
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if "marimo" not in p.stem)


def shape(line: str) -> str:
    """A line without its digits."""
    return re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", line.strip())


def on_the_page() -> set[str]:
    return {shape(line) for block in blocks(PAGE, "text") for line in block.splitlines()}


@pytest.mark.parametrize("name", [s for s in SCRIPTS if s not in BY_THEMSELVES])
def test_a_script_prints_what_its_page_says(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / f"{name}.py"))["main"](**SMALL.get(name, {}))
    said = [shape(line) for line in capsys.readouterr().out.splitlines()]
    if name == "classify_income":
        assert said.pop().startswith("This fit spent epsilon #")  # its receipt, with digests
    assert set(said) <= on_the_page()
    assert said
    assert not list(tmp_path.iterdir())


def test_the_server_of_the_example_answers_and_ends(capsys):
    pytest.importorskip("uvicorn", reason="pip install 'hedgerow[serve]'")
    runpy.run_path(str(FOLDER / "serve_and_ask.py"))["main"]()
    assert [shape(line) for line in capsys.readouterr().out.splitlines()] == [
        "F: # ± # (learned)",
        "M: # ± # (learned)",
        "# and older: # ± # (measured)",
        "left to spend: epsilon #",
        "the server ended with #",
    ]


def test_the_dashboards_show_what_they_say(monkeypatch):
    seen = jupyter(FOLDER / "dashboard.ipynb")
    assert "<table" in seen[0]._repr_html_()
    assert "<svg" in seen[1].svg()
    assert list(seen[2].columns) == ["female", "male"]
    assert seen[3].startswith("average age ")
    names = marimo(FOLDER / "dashboard_marimo.py", monkeypatch)
    assert len(names["groups"].value) == len(names["average"].value) == 6


def test_every_example_is_on_the_page_and_the_page_names_no_other():
    named = set(re.findall(r"examples/([\w.]+\.(?:py|ipynb))", PAGE.read_text()))
    assert named == {p.name for p in FOLDER.iterdir() if p.suffix in (".py", ".ipynb")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_how_it_is_run_and_is_short(name):
    text = Path(FOLDER / f"{name}.py").read_text()
    assert f"python examples/{name}.py" in text
    assert len(text.splitlines()) <= 80
