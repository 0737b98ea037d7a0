"""The house plan: imports point one way, the front door is complete, and nobody uses ordinary randomness."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(hedgerow.__file__).parent
ROOMS = ("queries", "privacy", "curator", "learning", "synopsis", "mechanisms", "release", "audit", "serve")
GROUND = {"errors", "bibliography"}  # may be imported from everywhere
FRONT = {"__init__", "__main__", "primitives", "testing", "demo"}  # the front door and what stands beside it


def imports_of(path: Path) -> set[str]:
    """First components below `hedgerow` of everything a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "hedgerow" else [f"hedgerow.{a.name}" for a in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("hedgerow.")}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room):
    allowed = set(ROOMS[: ROOMS.index(room) + 1]) | GROUND
    if room in ("audit", "serve"):  # they stand outside and use what everyone may use
        allowed |= FRONT
    for path in (ROOT / room).rglob("*.py"):
        wrong = imports_of(path) - allowed
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_arrow_test_sees_an_arrow_that_points_the_wrong_way(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from hedgerow.curator.rows.table import Table\nfrom hedgerow import synopsis\n")
    assert imports_of(bad) == {"curator", "synopsis"}


def test_learning_never_names_epsilon():
    for path in (ROOT / "learning").rglob("*.py"):
        names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
        assert not {n for n in names if "epsilon" in n}, path


def test_the_front_door_opens_on_every_name_and_matches_its_stub():
    for name in hedgerow.__all__:
        assert getattr(hedgerow, name) is not None
    stub = (ROOT / "__init__.pyi").read_text()
    typed = set(re.findall(r"import (?:\w+) as (\w+)", stub)) | {"__version__"}
    assert typed == set(hedgerow.__all__)


def test_ordinary_randomness_and_print_stay_out_of_the_library():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in ("serve", "audit"):
            continue
        text = path.read_text()
        assert not re.search(r"np\.random\.|^import random\b|(?<![\w.])print\(", text, re.M), path


def test_only_sampling_of_public_models_uses_numpy_random():
    for room in ("queries", "privacy", "curator"):
        for path in (ROOT / room).rglob("*.py"):
            assert "numpy.random" not in path.read_text(), path


def test_importing_the_package_loads_nothing_heavy():
    code = "import hedgerow, sys; sys.exit(bool({'numpy', 'numba', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_doctests_hold():
    import doctest
    import importlib

    failed = 0
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(["hedgerow", *path.relative_to(ROOT).with_suffix("").parts])
        if name.endswith(("__init__", "__main__")):
            continue
        failed += doctest.testmod(importlib.import_module(name)).failed
    assert failed == 0
