"""Settings for all tests."""

from hypothesis import settings

# Compiled loops build on first use and machines are shared: a test is not slow because its first call was.
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")
