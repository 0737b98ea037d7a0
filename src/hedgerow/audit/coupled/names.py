"""The replay's word on frequent names: what the theorem of `frequent_names` asks, from what met and was said.

Written a second time. One table alone: every count has one fresh draw of the sigma that was paid for, and
what was said are the names above the threshold. Two neighbours: names in both have counts within the declared
squared distance, and those of one table alone are all held back but with probability delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import Any

from hedgerow.curator.statistics.frequent_names import FrequentNames, NameCounts
from hedgerow.privacy import events


def unlawful_names(event: events.ZCDP, met: NameCounts, said: list[Any], draws: list[Any]) -> Iterator[str]:
    """Sentences about one act."""
    act = met.act
    if event.rho < act.squared / (2 * act.sigma**2) or event.delta != act.delta:
        yield "the charge is not that of the noise and the delta"
    if len(draws) != 1 or draws[0].law != "gaussian" or draws[0].about[0] != act.sigma:
        yield f"gaussian noise of sigma {act.sigma} was declared, and not drawn once"
        return
    noise = draws[0].about[1]
    if noise.size != met.counts.size:
        yield f"{met.counts.size} counts were released with {noise.size} draws"
        return
    noisy = {n: int(c) + int(z) for n, c, z in zip(met.names, met.counts, noise, strict=True)}
    shown = {bytes(t).rstrip(b"\0").decode(): int(c) for t, c in zip(*said, strict=True) if c}
    if any(noisy.get(name) != count or count < act.threshold for name, count in shown.items()):
        yield "what was said is not a name above the threshold with its exact count and its own draw"


def distant_names(event: events.ZCDP, here: NameCounts, there: NameCounts) -> Iterator[str]:
    """Sentences about two neighbouring tables."""
    act: FrequentNames = here.act
    one, two = (dict(zip(m.names, m.counts.tolist(), strict=True)) for m in (here, there))
    both = one.keys() & two.keys()
    found = sum((one[n] - two[n]) ** 2 for n in both)
    if found > act.squared:
        yield f"squared L2 distance {found} of names in both tables, {act.squared} was declared"
    for alone in ([c for n, c in a.items() if n not in both] for a in (one, two)):
        shown = sum(exp(-(max(act.threshold - c, 0) ** 2) / (2 * float(act.sigma) ** 2)) for c in alone)
        if shown > float(event.delta) * (1 + 1e-9):
            told = f"are shown with probability {shown:.2g}, {event.delta} was declared"
            yield f"names of one table alone {told}"
    if here.act != there.act:
        yield "another act on the other table"
