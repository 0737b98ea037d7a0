"""Settings for all tests."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from hedgerow.curator import comparison

# Compiled loops build on first use and machines are shared: a test is not slow because its first call was.
# Examples are the same in every run: a change is judged by what it changes. At full size they are new.
settings.register_profile(
    "hedgerow",
    deadline=None,
    derandomize=os.environ.get("HEDGEROW_FULL") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("hedgerow")


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise in any sparse vector: what is said depends on rows and updates only."""
    monkeypatch.setattr(
        comparison, "_noise", lambda plan, scale, size, entropy: np.zeros(size, dtype=np.int64)
    )
