"""What the pages about installing say is what the project has: versions, extras, the container's steps."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from dataclasses import fields

import hedgerow
from hedgerow.service.config import ServerSettings
from pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTAINER = (ROOT / "Containerfile").read_text()


def test_the_version_is_said_once_and_everywhere_the_same():
    assert PROJECT["version"] == hedgerow.__version__
    assert f"This is Hedgerow {hedgerow.__version__}." in (ROOT / "docs" / "versions.md").read_text()


def test_every_extra_has_its_weight_on_the_page():
    page = (ROOT / "docs" / "install.md").read_text()
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert named == set(PROJECT["optional-dependencies"]) - {"dev", "peers"}


def test_every_dependency_is_on_the_page():
    page = (ROOT / "docs" / "install.md").read_text().lower()
    for one in PROJECT["dependencies"]:
        assert re.match(r"[\w-]+", one)[0] in page, one


def test_the_pythons_that_are_claimed_are_those_of_the_page():
    assert PROJECT["requires-python"] == ">=3.11"
    claimed = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c}
    assert claimed == {"3.11", "3.12", "3.13"}


def test_the_container_uses_options_extras_ports_and_paths_that_exist():
    from typer.main import get_command

    from hedgerow.serve.cli.commands import app

    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", CONTAINER)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    commands = get_command(app).commands
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", CONTAINER, re.M)[1])
    warm = shlex.split(re.search(r"^RUN (hedgerow demo .*?) &&", CONTAINER, re.M)[1])
    for line in (entry, warm):
        known = {o for p in commands[line[1]].params for o in (*p.opts, *p.secondary_opts)}
        assert {word for word in line if word.startswith("--")} <= known
    port = next(f.default for f in fields(ServerSettings) if f.name == "port")
    assert f"EXPOSE {port} 5433" in CONTAINER
    assert f"127.0.0.1:{port}/readyz" in CONTAINER
    assert CONTAINER.index("USER hedgerow") < CONTAINER.index("ENTRYPOINT")
