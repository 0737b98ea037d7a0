"""Groups of tests: which folder belongs to which, what each may cost, and what each did cost.

`make verify GROUP=audit` runs one group at full size. At the end of every run a table says how many CPU
seconds each group used (a test's own and those of the processes it waited for) and how many it may use.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import pytest

from sizes import FULL

_SLACK = 1.5  # machines differ; a group that takes this many times its share wants to shrink


@dataclass(frozen=True)
class Group:
    """Tests that are run and paid for together.

    Args:
        share: CPU seconds allowed in `make test`.
        verify: the GROUP of `make verify` that they belong to.
        paths: patterns of files below `tests/`; the first group with a pattern that fits has the test.
    """

    share: float
    verify: str
    paths: tuple[str, ...]


GROUPS = {
    "border": Group(70, "core", ("border/*", "replay/*")),
    "numbers": Group(80, "core", ("numbers/*", "coverage/*")),
    "sql": Group(80, "sql", ("sql/*", "unit/queries/sql/*")),
    "server": Group(80, "server", ("server/*",)),
    "kills": Group(75, "faults", ("kills/*",)),
    "console": Group(120, "console", ("console/*", "browser/*")),
    "clients": Group(90, "wire", ("clients/*", "wire/*")),
    "scale": Group(90, "scale", ("scale/*",)),
    "docs": Group(50, "core", ("docs/*",)),
    "audit": Group(380, "audit", ("audit/*",)),
    "faults": Group(60, "faults", ("faults/*",)),
    "core": Group(560, "core", ("*",)),
}  # audit, faults and core are what there was: 1,000 together


def group_of(nodeid: str) -> str:
    """The group of a test, by its file."""
    path = nodeid.split("::")[0].removeprefix("tests/")
    return next(name for name, group in GROUPS.items() if any(fnmatch(path, p) for p in group.paths))


def pytest_addoption(parser: pytest.Parser) -> None:
    names = sorted({g.verify for g in GROUPS.values()})
    parser.addoption("--group", choices=names, help="Only the tests of one group of `make verify`.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--group")
    if wanted:
        out = [i for i in items if GROUPS[group_of(i.nodeid)].verify != wanted]
        config.hook.pytest_deselected(items=out)
        items[:] = [i for i in items if GROUPS[group_of(i.nodeid)].verify == wanted]


def _cpu() -> float:
    return sum(os.times()[:4])


_stamp = _cpu()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Every phase of a test tells what it cost since the phase before; workers send that home."""
    global _stamp
    report = yield
    now = _cpu()
    report.cpu_seconds, _stamp = now - _stamp, now
    return report


_used: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: Any) -> None:
    _used[group_of(report.nodeid)] += getattr(report, "cpu_seconds", 0.0)


def _over(name: str) -> bool:
    return not FULL and _used[name] > _SLACK * GROUPS[name].share


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _used:
        return
    terminalreporter.section("CPU seconds by group")
    for name in sorted(_used, key=lambda n: -_used[n]):
        allowed = "" if FULL else f" of {GROUPS[name].share:.0f}"
        late = f"   OVER: {_SLACK} times its share is the most" if _over(name) else ""
        terminalreporter.write_line(f"{name:10}{_used[name]:8.0f}{allowed}{late}")
    terminalreporter.write_line(f"{'together':10}{sum(_used.values()):8.0f}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus == 0 and any(_over(name) for name in _used):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
