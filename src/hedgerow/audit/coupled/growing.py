"""Growing data replayed: one history on two streams of blocks that differ in one unit, and what it was worth.

A mechanism appends blocks and asks as it likes. On the second stream it is told what was said on the first,
so that it lives through the same history. Every meeting of rows with noise is worth |D|^2 / (2 sigma^2), or
|D|_1 / b, for this pair of streams, D the difference of what met. The sum over all meetings must not pass
what the ledger says was spent, and nothing else may differ. It knows nothing of blocks and of who is confined
to which: the theorems of docs/privacy/growing.md say that it always holds.

Choices and sparse vectors are not heard here; on the rows of a range they are what they are on one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.spelling import Names, same, spelled
from hedgerow.audit.coupled.tape import KEY
from hedgerow.curator.curator import Curator
from hedgerow.curator.growing.growing import Growing
from hedgerow.curator.rows.table import Rows
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Noise
from hedgerow.testing import seeded

Stream = tuple[tuple[tuple[int, int], ...], ...]
"""Blocks of rows, each the number of a unit and the level of its only attribute."""

DOMAIN = Domain({"a": 3})
Mechanism = Callable[[Growing, Iterator[Any]], Any]


@dataclass
class Tape:
    """What met noise, and what was said."""

    said: list[NDArray[Any]] = field(default_factory=list)
    met: list[tuple[Noise, NDArray[Any]]] = field(default_factory=list)
    script: Tape | None = None

    def noise(self, law: Noise, values: NDArray[Any], drawn: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The noise of a meeting: drawn, or what makes it say what was said before."""
        self.met.append((law, values.copy()))
        if self.script is None:
            self.said.append(values + drawn())
        elif (
            len(self.met) <= len(self.script.said)
            and self.script.said[len(self.met) - 1].shape == values.shape
        ):
            self.said.append(self.script.said[len(self.met) - 1])
        else:
            raise AssertionError("The same history leads elsewhere: rows decide what is asked.")
        return np.asarray(self.said[-1] - values)


class ReplayedBlocks(Growing):
    """Blocks in memory whose curators are heard; the key is the same on every stream."""

    tape: Tape

    @property
    def _key(self) -> bytes:
        return KEY

    def curator(self, first: Any = None, last: Any = None, *, account: str = "owner") -> Curator:
        """The curator of a range, heard."""
        heard = _Heard(self.table(first, last), None, self.ledger, account=account)
        heard.tape = self.tape
        heard._rows = Rows(heard.table, KEY, self.ledger.settings.spelling)
        return heard


class _Heard(Curator):
    tape: Tape

    def _noise(self, law: Noise, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.tape.noise(law, values, lambda: super(_Heard, self)._noise(law, values))


@dataclass(frozen=True)
class Lived:
    """One life of a mechanism: what met, what was spent, and all that somebody may see."""

    tape: Tape
    spent: Fraction
    seen: list[Any]


def live(
    mechanism: Mechanism,
    stream: Stream,
    *,
    growing: str,
    max_rows: int,
    budget: Budget,
    kind: type[ReplayedBlocks] = ReplayedBlocks,
    script: Tape | None = None,
    seed: int = 0,
) -> Lived:
    """Run a mechanism on a stream of blocks, by a script if there is one."""
    names = Names()
    with seeded(seed):
        table = kind.make(":memory:", DOMAIN, budget, growing=growing, unit="u", max_rows=max_rows)
        assert isinstance(table, ReplayedBlocks)
        table.tape = Tape(script=script)
        blocks = ({"u": [u for u, _ in rows], "a": [a for _, a in rows]} for rows in stream)
        try:
            result = spelled(mechanism(table, blocks), names)
        except Exception as error:  # what it says must be the same on both streams
            result = [("error", names.spell(f"{type(error).__name__}: {error}"))]
    lines = [names.spell(str((e.kind, e.account, e.cost, e.spent, e.profile, e.scope, e.request)))
             for e in table.ledger.replay(None)]  # fmt: skip
    return Lived(table.tape, table.ledger.spent().amount, [*(("line", line) for line in lines), *result])


def worth(one: Lived, two: Lived, currency: str) -> Fraction:
    """What all meetings were worth to whoever wants to tell two streams apart, in the ledger's currency."""
    total = Fraction(0)
    for (law, here), (_, there) in zip(one.tape.met, two.tape.met, strict=False):
        moves = [abs(int(m)) for m in (here - there).ravel()]
        if law.family == "gaussian":
            total += Fraction(sum(m * m for m in moves)) / (2 * law.scale**2)
        else:
            epsilon = Fraction(sum(moves)) / law.scale
            total += epsilon if currency == "epsilon" else epsilon**2 / 2
    return total


def wrong(one: Lived, two: Lived, budget: Budget) -> list[str]:
    """What tells two lives apart beyond what was paid for."""
    if len(one.tape.met) != len(two.tape.met) or len(one.seen) != len(two.seen):
        return ["the same history leads elsewhere: rows decide what is done"]
    found = worth(one, two, budget.currency)
    said = []
    if found > one.spent:
        said.append(f"the history was worth {float(found):.4g}, and {float(one.spent):.4g} was spent")
    for (path, here), (_, there) in zip(one.seen, two.seen, strict=True):
        if not same(here, there):
            said.append(f"what is seen differs although the same was said: {path}")
            break
    return said


def streams(max_rows: int, blocks: int, seed: int) -> Iterator[tuple[Stream, Stream]]:
    """Streams with and without one unit: one in every block, in all from some block on, or in some."""
    random, number = Random(seed), 0
    while True:
        everywhere, begins = number % 3 == 0, number // 3 % blocks
        number += 1
        rows: list[list[tuple[int, int]]] = [[] for _ in range(blocks)]
        for unit in range(1, random.choice((2, 4, 8))):
            for block in rows:
                if random.random() < 0.4:
                    block += [(unit, random.randrange(3))] * random.randint(1, 2 * max_rows)
        one = [list(block) for block in rows]
        for place, block in enumerate(one):
            if place >= begins if everywhere else random.random() < 0.6:
                block[:0] = [(99, 0 if everywhere else random.randrange(3))] * random.randint(
                    max_rows if everywhere else 1, 2 * max_rows
                )
        yield tuple(map(tuple, one)), tuple(map(tuple, rows))


def replay_growing(
    mechanism: Mechanism,
    *,
    growing: str = "confined",
    max_rows: int = 2,
    blocks: int = 4,
    neighbours: int = 30,
    budget: Budget | None = None,
    kind: type[ReplayedBlocks] = ReplayedBlocks,
    seed: int = 0,
) -> list[str]:
    """What is wrong with a mechanism on growing data, on so many pairs of streams; nothing if it is sound.

    Args:
        mechanism: takes a table that grows and its blocks to come; appends them and asks as it likes.
        growing: how blocks are charged, as in `Growing.make`.
        max_rows: rows of a unit that count.
        blocks: how many there are.
        neighbours: how many pairs of streams are tried.
        budget: what may be spent; rho 1 if None.
        kind: the table's class; for planting mistakes.
        seed: other streams for another number.
    """
    budget = budget or Budget(rho=1, delta=1e-6)
    how: dict[str, Any] = {
        "growing": growing,
        "max_rows": max_rows,
        "budget": budget,
        "kind": kind,
        "seed": seed,
    }
    for number, (one, two) in enumerate(streams(max_rows, blocks, seed)):
        if number >= neighbours:
            return []
        first = live(mechanism, one, **how)
        if found := wrong(first, live(mechanism, two, script=first.tape, **how), budget):
            return found
    return []
