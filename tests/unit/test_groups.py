"""The tests' own house: every file has a group with a share, and every dependency a tested version."""

import re
import tomllib
from pathlib import Path

import groups

ROOT = Path(__file__).parent.parent.parent


def test_every_test_file_belongs_to_a_group_by_its_folder():
    assert groups.group_of("tests/audit/test_exact.py::test_x") == "audit"
    assert groups.group_of("tests/unit/queries/sql/test_sql_fuzz.py::test_x[a::b]") == "sql"
    assert groups.group_of("tests/border/test_csv.py") == "border"
    assert groups.group_of("tests/unit/test_groups.py") == "core"


def test_shares_leave_room_within_what_all_tests_may_take():
    assert sum(group.share for group in groups.GROUPS.values()) <= 1_800


def test_every_dependency_has_a_version_that_was_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(d for name in extras if name != "peers" for d in extras[name])]
    pinned = {
        _plain(line.split("==")[0])
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    assert {_plain(re.split(r"[<>=\[ ]", d)[0]) for d in wanted} <= pinned | {"hedgerow"}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
