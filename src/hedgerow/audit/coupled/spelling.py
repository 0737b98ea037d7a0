"""What a result says, as plain atoms: so that two results can be compared, and attacked, number by number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.table import Rows, Table
from hedgerow.curator.runs.one_sided import OneSidedRun
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.privacy.ledger.ledger import Entry, Ledger, Receipt

Atom = tuple[str, Any]

_PLAIN = (bool, int, float, complex, str, bytes, Fraction, np.generic, type(None))
_INSIDE = (Curator, Ledger, Table, Rows, SparseVectorRun, OneSidedRun)  # the curator's own, met at the door
_PAPERS = (Receipt, Entry)  # the ledger's, whose lines are compared one by one
_CODE = (FunctionType, MethodType, ModuleType, type)
_NAME = re.compile(r"(?<=[- ])(?:[0-9a-f]{12}|[0-9a-f]{16})(?![0-9a-f.])")
_MOST = 1 << 18  # atoms of one result


class Names:
    """Labels that code draws at random, numbered as they appear: the same in two runs that do the same."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def spell(self, text: str) -> str:
        """A text whose random labels (words that end in 12 or 16 hexadecimal digits) are numbers instead."""
        return _NAME.sub(lambda m: f"name-{self._known.setdefault(m[0], len(self._known))}", text)


def spelled(thing: Any, names: Names | None = None) -> list[Atom]:
    """All that a result says, each piece with the path to it; arrays are one piece."""
    found: list[Atom] = []
    for atom in _walk(thing, "result", set(), names or Names()):
        found.append(atom)
        if len(found) == _MOST:
            break
    return found


def numbers(thing: Any) -> list[Any]:
    """All that a result says, without paths, arrays number by number: an output for a statistical audit."""
    said: list[Any] = []
    for _, atom in spelled(thing):
        if isinstance(atom, np.ndarray):
            said += atom.ravel().tolist()
        else:
            said.append(float(atom) if isinstance(atom, Fraction) else atom)
    return said


def same(one: Any, two: Any) -> bool:
    """Whether two atoms say the same, to the last bit."""
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if isinstance(one, float) and isinstance(two, float):
        return one == two or (one != one and two != two)
    return type(one) is type(two) and bool(one == two)


def _walk(thing: Any, path: str, above: set[int], names: Names) -> Iterator[Atom]:
    if isinstance(thing, str):
        yield path, names.spell(thing)
    elif isinstance(thing, _PLAIN) or (isinstance(thing, np.ndarray) and thing.dtype != object):
        yield path, thing
    elif isinstance(thing, (*_INSIDE, *_PAPERS, *_CODE)) or id(thing) in above:
        return
    else:
        for name, part in _parts(thing):
            yield from _walk(part, f"{path}{name}", above | {id(thing)}, names)


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping) and not hasattr(thing, "__dict__"):
        for key in thing:
            yield f"[{key!r}:key]", key if isinstance(key, _PLAIN) else repr(key)
            yield f"[{key!r}]", thing[key]
    elif isinstance(thing, (list, tuple, np.ndarray)):
        yield ".length", len(thing)
        yield from ((f"[{i}]", part) for i, part in enumerate(thing))
    elif isinstance(thing, AbstractSet):
        yield ".set", sorted(map(repr, thing))
    elif is_dataclass(thing):
        yield from ((f".{f.name}", getattr(thing, f.name, None)) for f in fields(thing))
    elif hasattr(thing, "__dict__"):
        yield from ((f".{name}", part) for name, part in vars(thing).items())
