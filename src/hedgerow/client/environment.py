"""Secrets: what the environment says, or a file that it names."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.errors import of_system


def secret(name: str) -> str | None:
    """A secret from the environment, or from the file that NAME_FILE names; never from the command line."""
    file = os.environ.get(f"{name}_FILE")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise of_system(error, f"the file of {name}_FILE cannot be read") from None
    return os.environ.get(name) or None
