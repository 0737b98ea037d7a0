"""Settings for all tests."""

import numpy as np
import pytest
from hypothesis import settings

from hedgerow.curator import sparse_vector

# Compiled loops build on first use and machines are shared: a test is not slow because its first call was.
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise in any sparse vector: what is said depends on rows and updates only."""
    monkeypatch.setattr(
        sparse_vector, "_noise", lambda plan, scale, size, entropy: np.zeros(size, dtype=np.int64)
    )
