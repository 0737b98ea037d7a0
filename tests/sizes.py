"""How large a test is: small in `make test`, full in `make verify`. One place decides, for all tests."""

import os
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("HEDGEROW_FULL") == "1"


def size(small: T, full: T) -> T:
    """The size for this run."""
    return full if FULL else small
