"""The client alone: what `hedgerow-client` packs is enough, and says what it is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "packaging" / "client" / "pyproject.toml"
CODE = """
import hedgerow as hr, hedgerow.dbapi
there = ("http://127.0.0.1:1/people", "hr_1_x")
print(hr.connect(*there), hr.connect_async(*there))
try:
    hr.connect(*there, tries=1).budget()
except hr.Unreachable as error:
    print(error.code)
for name in ("Domain", "Session", "nothing"):
    try:
        getattr(hr, name)
    except AttributeError as error:
        print(error)
"""


def test_the_files_that_are_packed_work_by_themselves(tmp_path):
    project = tomllib.loads(PROJECT.read_text())
    for source, target in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items():
        here, there = (PROJECT.parent / source).resolve(), tmp_path / target
        there.parent.mkdir(exist_ok=True)
        shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{CODE}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    here = "<Hedgerow at http://127.0.0.1:1/people>"
    lacks = [
        f"{name!r} is not in the client alone: pip install hedgerow"
        for name in ("Domain", "Session", "nothing")
    ]
    assert done.stdout.splitlines() == [f"{here} {here}", "unreachable", *lacks]


def test_versions_and_entry_points_are_those_of_the_whole():
    whole, alone = (tomllib.loads(path.read_text())["project"] for path in (ROOT / "pyproject.toml", PROJECT))
    for part in ("version", "requires-python", "license", "entry-points"):
        assert whole[part] == alone[part]
