"""What two runs of one history on neighbouring tables must satisfy: the same in public, and near in private.

Acts are compared one by one given the same past, which is what composition needs. For noise on a vector the
joint L1 distance (Laplace) or squared L2 distance (Gaussian) is within what the charge says; for choices
and sparse vectors no score and no difference moves by more than declared, and those of one-sided runs all
move one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.laws import CHOICES, one_sided, parts
from hedgerow.audit.coupled.names import distant_names
from hedgerow.audit.coupled.spelling import same
from hedgerow.audit.coupled.tape import Met, Played
from hedgerow.curator.statistics.frequent_names import NameCounts
from hedgerow.curator.statistics.small_range import Levels
from hedgerow.privacy import events

Unchecked = set[str]


def differences(one: Played, two: Played, unchecked: Unchecked) -> Iterator[str]:
    """What tells two tables apart although the same was said; `unchecked` collects kinds of acts."""
    if two.departure:
        yield two.departure
        return
    if one.error != two.error:
        yield "one table ends in an error and the other not, or in another one"
    if len(one.met) != len(two.met):
        yield f"{len(one.met)} acts on one table, {len(two.met)} on the other: rows decide what is done"
    yield from _distances(one, two, unchecked)
    yield from _lines(one, two)
    yield from _results(one, two)


def _distances(one: Played, two: Played, unchecked: Unchecked) -> Iterator[str]:
    ways: set[int] = set()
    for number, (here, there) in enumerate(zip(one.met, two.met, strict=False)):
        if here.drawn is None or there.drawn is None:
            if (here.drawn is None) != (there.drawn is None):
                yield f"act {number + 1} ({here.told}): drawn on one table only"
            continue
        found = _compared(here, there, ways) if here.plan else _measured(here, there, unchecked)
        yield from (f"act {number + 1} ({here.told}): {words}" for words in found)
    if len(ways) > 1:
        yield "one-sided comparisons move both ways"


def _measured(here: Met, there: Met, unchecked: Unchecked) -> Iterator[str]:
    if isinstance(here.exact, NameCounts) and isinstance(here.event, events.ZCDP):
        yield from distant_names(here.event, here.exact, there.exact)
        return
    pieces = list(zip(parts(here), parts(there), strict=False))
    if not pieces:
        unchecked.add("claimed act" if isinstance(here.exact, Mapping) else here.event.kind)
    for (leaf, times, x, _), (_, _, y, _) in pieces:
        if isinstance(leaf, events.Laplace | events.Gaussian | events.RefinedLaplace):
            yield from _far(leaf, times, x, y)
        elif isinstance(leaf, events.Exponential | events.PermuteAndFlip | events.ReportNoisyMax):
            yield from _choices(here, there, x, y)
        elif isinstance(leaf, events.RandomizedRecord):
            yield from _units(x, y)
        else:
            unchecked.add(leaf.kind)


def _far(
    leaf: events.Laplace | events.Gaussian | events.RefinedLaplace, times: int, x: Any, y: Any
) -> Iterator[str]:
    moves = _moves(x, y)
    if moves is None:
        yield "as many numbers as rows decide"
    elif isinstance(leaf, events.Gaussian):
        found = sum(m * m for m in moves)
        if times != 1 or found > leaf.sensitivity_squared:
            yield f"squared L2 distance {found}, {leaf.sensitivity_squared} was declared"
    elif times == 1:
        if sum(moves) > leaf.sensitivity:
            yield f"L1 distance {sum(moves)}, {leaf.sensitivity} was declared"
    elif len(moves) != times or max(moves) > leaf.sensitivity:  # so many mechanisms of one number each
        yield f"one of {len(moves)} numbers moves by {max(moves, default=0)}, {leaf.sensitivity} was declared"


def _choices(here: Met, there: Met, x: Any, y: Any) -> Iterator[str]:
    declared = [{d.about[1] for d in m.draws if d.law in CHOICES} for m in (here, there)]
    if declared[0] != declared[1]:
        yield "another sensitivity is declared on the other table"
    moves = _moves(_scores(x), _scores(y))
    if moves is None:
        yield "as many candidates as rows decide"
    elif max(moves, default=0) > min(declared[0], default=Fraction(0)):
        yield f"a score moves by {max(moves)}, {min(declared[0], default=0)} was declared"


def _scores(exact: Any) -> Any:
    """The scores; of small databases, each query's distances, of which the score is a maximum."""
    if isinstance(exact, Levels):
        return np.array(exact.values, dtype=object)[exact._ranks[:, : exact.size + 1]]
    return exact


def _compared(here: Met, there: Met, ways: set[int]) -> Iterator[str]:
    asked = here.drawn[3]
    moves = here.exact[:asked].astype(object) - there.exact[:asked].astype(object)
    declared = here.event.sensitivity  # type: ignore[attr-defined]
    most = max((abs(int(m)) for m in moves), default=0)
    if most > declared:
        yield f"a difference moves by {most}, {declared} was declared"
    side = one_sided(here)
    ways.update(1 if side * m > 0 else -1 for m in moves if side and m)


def _moves(x: Any, y: Any) -> list[int] | None:
    """By how much each number moves, without a sign; None if there are not as many of them."""
    one, two = (np.asarray(v) for v in (x, y))
    if one.shape != two.shape:
        return None
    return [abs(int(a) - int(b)) for a, b in zip(one.ravel().tolist(), two.ravel().tolist(), strict=True)]


def _units(x: Any, y: Any) -> Iterator[str]:
    """Randomised response reads units: all but one have the same records."""
    one, two = _records(*x), _records(*y)
    if max((one - two).total(), (two - one).total()) > 1:
        yield "the records of more than one unit are different"
    if one.total() != two.total():
        yield "the number of reports tells the number of units"


def _records(owners: NDArray[np.int64], columns: list[NDArray[Any]]) -> Counter[Any]:
    units: dict[int, list[tuple[int, ...]]] = {}
    for owner, *row in zip(owners.tolist(), *(c.tolist() for c in columns), strict=True):
        units.setdefault(owner, []).append(tuple(row))
    return Counter(tuple(sorted(rows)) for rows in units.values())


def _lines(one: Played, two: Played) -> Iterator[str]:
    if len(one.lines) != len(two.lines):
        yield f"{len(one.lines)} ledger lines on one table, {len(two.lines)} on the other"
    for number, (here, there) in enumerate(zip(one.lines, two.lines, strict=False)):
        if here != there:
            what = next(i for i, (a, b) in enumerate(zip(here, there, strict=True)) if a != b)
            yield f"ledger line {number + 1} differs: {here[what][:60]!r} and {there[what][:60]!r}"
            return


def _results(one: Played, two: Played) -> Iterator[str]:
    if len(one.result) != len(two.result):
        yield "what is returned has another form on the other table"
    for (path, here), (other, there) in zip(one.result, two.result, strict=False):
        if path != other or not same(here, there):
            yield f"what is returned differs although the same was released: {path}"
            return
