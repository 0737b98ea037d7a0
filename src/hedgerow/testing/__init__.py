"""For tests: randomness that repeats itself, and contracts for what other people add to the house.

Nothing here is private: what is drawn from a seeded source is marked, and contracts make up their own rows.
"""

from hedgerow.testing.entropy import SeededEntropy, seeded

__all__ = ["SeededEntropy", "contracts", "seeded"]


def __getattr__(name: str) -> object:
    if name == "contracts":  # they use all rooms, and rooms that audit use this one
        from importlib import import_module

        return import_module("hedgerow.testing.contracts")
    raise AttributeError(f"module 'hedgerow.testing' has no attribute {name!r}")
