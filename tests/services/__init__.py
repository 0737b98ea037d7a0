"""What tests need beside Python: found on this machine, or a visible skip - on CI as root, a failure.

A service that takes long to start is started once: its fixture lives here, and tests that use it carry one
`xdist_group`.
"""

from __future__ import annotations

import importlib
import os
import shutil
from typing import Any, NoReturn

import pytest


def program(*names: str, package: str) -> str:
    """The path of a program by one of its names; a skip that says how to get it if there is none."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found:
        return found
    lacks(f"{names[0]} is not here: `make system` as root, or install {package}")


def module(name: str, package: str) -> Any:
    """A Python module; a skip that says how to get it if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacks(f"{name} is not here: pip install {package}")


def lacks(how: str) -> NoReturn:
    """Skip a test for want of something, visibly; on CI as root, where all can be had, fail."""
    if os.environ.get("CI") and os.geteuid() == 0:
        pytest.fail(how)
    pytest.skip(how)
