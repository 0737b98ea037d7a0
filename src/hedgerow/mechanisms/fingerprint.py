"""What a release is known by when it is asked for again: the text of its parameters, the same for ever."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any

_FIRST = "the default of the version that introduced it"


def later(default: Any, *, first: Any = ...) -> Any:
    """A parameter that an earlier version did not have: releases that do not use it are known as before.

    Not for what enters a sensitivity, a noise law or a price: that is an ordinary field, which always counts.

    Args:
        default: what it is unless said.
        first: what it was in the version that introduced it, if the default has changed; this never does.
    """
    return field(default=default, metadata={_FIRST: default if first is ... else first})


def fingerprint(mechanism: Any, *public: object) -> str:
    """A mechanism's parameters, and other public things that a release depends on, as text.

    Every ordinary field counts always; one made by `later` where it is not what it was at first.
    """
    held = {f: getattr(mechanism, f.name) for f in fields(mechanism)}
    counted = (f for f, value in held.items() if _FIRST not in f.metadata or f.metadata[_FIRST] != value)
    own = f"{type(mechanism).__qualname__}({', '.join(f'{f.name}={held[f]!r}' for f in counted)})"
    return f"({', '.join([own, *map(repr, public)])})" if public else own
