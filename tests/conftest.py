"""Settings for all tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import sizes
from hedgerow.curator.runs import comparison
from hedgerow.serve.cli import progress
from services.postgres import Cluster, end_shared, shared

pytest_plugins = ["groups"]

# Compiled loops build on first use and machines are shared: a test is not slow because its first call was.
# Examples are the same in every run: a change is judged by what it changes. At full size they are new.
settings.register_profile(
    "hedgerow",
    deadline=None,
    derandomize=not sizes.FULL,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("hedgerow")

# What tests read on standard error does not depend on how busy the machine is.
progress.LATE = 3600.0


@pytest.fixture(scope="session")
def size() -> Callable[[Any, Any], Any]:
    """`size(small, full)`: how large a test is, in `make test` and in `make verify`."""
    return sizes.size


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL cluster, started once; tests that need it carry xdist_group("postgres")."""
    yield shared()
    end_shared()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session, started once; tests that need it carry xdist_group("spark")."""
    from services import spark as service

    yield service.shared()
    service.end_shared()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise in any sparse vector: what is said depends on rows and updates only."""
    monkeypatch.setattr(
        comparison, "_noise", lambda plan, scale, size, entropy: np.zeros(size, dtype=np.int64)
    )


@pytest.fixture
def people_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command line in a folder with people.csv, 2,000 rows of `sex` and `k`, and its schema.yaml."""
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    people = zip(rng.choice(["F", "M"], 2000), rng.integers(0, 3, 2000), strict=True)
    Path("people.csv").write_text("sex,k\n" + "".join(f"{sex},{k}\n" for sex, k in people))
    Path("schema.yaml").write_text("attributes:\n  sex: [F, M]\n  k: [0, 1, 2]\n")
    return lambda *args: CliRunner().invoke(app, list(args))
