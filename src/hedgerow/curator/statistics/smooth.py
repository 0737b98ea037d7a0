"""Lazy smoothing: sample rows by capped weights and let an exponential mechanism choose a weak hypothesis.

Boosting for people in its sound form ([DRV10] Fig. 2 with the smoothing of [BCS20]). Every round starts again
from the released hypotheses: u_i = U(c_i) for the row's margin c_i = y_i sum_j h_j(x_i), capped to
v_i = min(u_i / w, 1) with sum v = l for a public l. Neither w nor any earlier cap is released or kept.

Privacy, under `replace` with one row per unit. Swap row j, so that w' >= w (else exchange the two). For i not
j, u_i is the same, so v'_i <= v_i; as sum v = sum v' = l, the distributions D = v / l overlap in at least
sum_(i != j) v'_i / l = 1 - v'_j / l >= 1 - 1/l: their statistical distance is at most 1/l, whatever U is. By
the theorem of `privacy.sampled` a choice from k independent samples that is eps_base-DP in each of them makes
the round k ln(1 + (e^eps_base - 1) / l)-DP. ([DRV10] Lemma 6.5 has 4 eps_base k / l, for eps_base <= 1/2.)

U is a public decreasing table of whole numbers, so the weights are whole numbers too and are sampled exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise import selection
from hedgerow.curator.noise.noise import Entropy, uniform_below
from hedgerow.curator.statistics.statistics import fingerprint
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.privacy.sampled import sampled_loss
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.column import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.rows.table import Rows

MOST_ROUNDS = 1 << 11

Held = tuple[list["NDArray[Any]"], "NDArray[np.int64]", "NDArray[np.int64]"]


@dataclass(frozen=True, eq=False)
class SmoothRound:
    """One round of boosting for people: everything about it that is public.

    Args:
        label: the attribute that holds the class.
        sides: 1 for levels of the class that is learned, 0 for the others.
        votes: the sum of the hypotheses so far, -1 or 1 each, over the levels of the attributes they look at.
        penalties: U for the margins -t, ..., t after t hypotheses: whole numbers >= 1, none larger than the
            one before.
        candidates: for every feature the hypotheses it offers: arrays of -1 and 1, one row per hypothesis.
        cap: l, how many rows' worth of weight there is.
        samples: k.
        epsilon_base: of the choice from the samples.
    """

    label: str
    sides: NDArray[np.int64]
    votes: Mapping[str, NDArray[np.int64]]
    penalties: tuple[int, ...]
    candidates: Mapping[str, NDArray[np.int64]]
    cap: int
    samples: int
    epsilon_base: Fraction

    def __post_init__(self) -> None:
        """Copy, check and freeze what the proof rests on."""
        set_ = object.__setattr__
        set_(self, "sides", whole(self.sides))
        set_(self, "votes", {a: whole(v) for a, v in self.votes.items()})
        set_(self, "candidates", {a: whole(c) for a, c in self.candidates.items()})
        set_(self, "penalties", tuple(int(u) for u in self.penalties))
        if not all(np.isin(c, (-1, 1)).all() and c.ndim == 2 for c in self.candidates.values()):
            raise UnsupportedQuery("a hypothesis says -1 or 1 for every level")
        if self.sides.ndim != 1 or not np.isin(self.sides, (0, 1)).all() or not self.candidates:
            raise UnsupportedQuery("a round needs hypotheses, and a side for every class")
        u = self.penalties
        if not u or len(u) % 2 == 0 or min(u) < 1 or any(a < b for a, b in pairwise(u)):
            raise UnsupportedQuery(
                "penalties are whole numbers of at least 1 that never rise with the margin"
            )
        if type(self.cap) is not int or type(self.samples) is not int or min(self.cap, self.samples) < 1:
            raise UnsupportedQuery("the cap and the number of samples are whole numbers of at least 1")
        if type(self.epsilon_base) is not Fraction or not 0 < self.epsilon_base <= 100:
            raise UnsupportedQuery("a choice needs an epsilon_base above 0, and at most 100")

    @property
    def event(self) -> events.Event:
        """What the round costs: the theorem of `privacy.sampled` at statistical distance 1/l."""
        distance = Fraction(1, self.cap)
        return events.Pure(sampled_loss(self.epsilon_base, Fraction(0), self.samples, distance)[0])

    @property
    def digest(self) -> str:
        """A fingerprint of the round."""
        votes = [p for a, v in self.votes.items() for p in (a, v.tobytes())]
        offered = [p for a, c in self.candidates.items() for p in (a, c.shape, c.tobytes())]
        numbers = (self.penalties, self.cap, self.samples, self.epsilon_base)
        return fingerprint("smooth", self.label, self.sides.tobytes(), numbers, len(votes), *votes, *offered)

    def exact(self, rows: Rows) -> Held:
        """The coded rows, the side of each, and its margin's place among the penalties."""
        domain = rows.domain
        shapes = [(self.label, self.sides.shape), *((a, v.shape) for a, v in self.votes.items())]
        shapes += [(a, c.shape[1:]) for a, c in self.candidates.items()]
        for attribute, shape in shapes:
            if shape != (domain[attribute].size,):
                raise UnsupportedQuery(f"{attribute!r} needs one number for each of its levels")
        _, codes = rows.records()
        side = self.sides[codes[domain.index(self.label)]]
        votes = np.zeros(len(side), dtype=np.int64)
        for attribute, table in self.votes.items():
            votes += table[codes[domain.index(attribute)]]
        most = len(self.penalties) // 2
        margin = np.clip(np.where(side == 1, votes, -votes), -most, most)
        return [codes[domain.index(a)] for a in self.candidates], side, margin + most

    def draw(self, held: Held, one: Fraction, entropy: Entropy) -> int:
        """Sample rows by their capped weights, then choose by how many of them a hypothesis gets right."""
        columns, side, place = held
        sample = self._sample(place, entropy)
        scores = []
        for column, offered in zip(columns, self.candidates.values(), strict=True):
            right = [
                np.bincount(column[sample[side[sample] == s]], minlength=offered.shape[1]) for s in (0, 1)
            ]
            scores.append((offered == 1) @ right[1] + (offered == -1) @ right[0])
        return selection.exponential(np.concatenate(scores).astype(np.int64), one, self.epsilon_base, entropy)

    def _sample(self, place: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """k rows, each exactly with probability D_t[i]: first the margin, then a row of that margin."""
        if not len(place):
            return np.zeros(0, dtype=np.int64)
        counts = np.bincount(place, minlength=len(self.penalties))
        weights = smoothed(counts.tolist(), self.penalties, self.cap)
        ladder = list(accumulate(w * n for w, n in zip(weights, counts.tolist(), strict=True)))
        order, starts = np.argsort(place, kind="stable"), np.cumsum(counts) - counts
        picked = np.array([bisect_right(ladder, x) for x in _below(ladder[-1], self.samples, entropy)])
        out = np.empty(self.samples, dtype=np.int64)
        for group in np.unique(picked):
            here = np.flatnonzero(picked == group)
            out[here] = order[starts[group] + uniform_below(int(counts[group]), len(here), entropy)]
        return out


def smoothed(counts: Sequence[int], penalties: Sequence[int], cap: int) -> list[int]:
    """Whole numbers proportional to v = min(u/w, 1), sum v = cap, for rows counted by their u (none rising).

    With the first g groups capped, N rows, and S = the sum of u over the others, w = S / (cap - N); times
    S > 0 the weights are S for capped rows and u (cap - N) for the others, and sum to cap * S.

    >>> smoothed([1, 3], [4, 1], 2)
    [3, 1]
    """
    capped, rest = 0, sum(n * u for n, u in zip(counts, penalties, strict=True))
    if sum(counts) <= cap:
        return [1] * len(counts)
    for g, (n, u) in enumerate(zip(counts, penalties, strict=True)):
        if u * (cap - capped) <= rest:
            return [rest] * g + [v * (cap - capped) for v in penalties[g:]]
        capped, rest = capped + n, rest - n * u
    raise AssertionError("more rows than the cap always leave some uncapped")


def _below(total: int, size: int, entropy: Entropy) -> list[int]:
    """Independent uniform whole numbers below a total of any size, by rejection."""
    width = (total.bit_length() + 7) // 8
    out: list[int] = []
    shift = 8 * width - total.bit_length()
    while len(out) < size:
        need = size - len(out)
        data = entropy.bytes(width * need)
        drawn = (int.from_bytes(data[i * width : (i + 1) * width], "big") >> shift for i in range(need))
        out += [x for x in drawn if x < total]
    return out


def weak_hypothesis(curator: Curator, round_: SmoothRound, *, note: str = "") -> tuple[str, int]:
    """A weak hypothesis of one round, as a feature and the number of its candidate; charged like any act.

    Privacy: the argument at the head of this file; the charge is made in `Curator._act`.
    """
    if type(round_) is not SmoothRound:  # only this class's own price and law are proven
        raise UnsupportedQuery("a weak hypothesis is chosen in a SmoothRound")
    round_ = replace(round_)  # checked again, and held by nobody else
    privacy = curator.privacy
    if privacy.neighbours != "replace" or privacy.max_rows != 1:
        raise UnsupportedQuery(
            "boosting for people in theorem mode needs neighbours='replace' and one row per unit"
        )
    if round_.cap > max(curator.rows or 0, 1):  # the number of rows is public here
        raise UnsupportedQuery("the cap l is at most the number of rows")
    one = privacy.sensitivity(Norms.query(1)).l1
    chosen = curator._act(
        round_.event,
        lambda: round_.exact(curator._rows),
        lambda held: [np.array(round_.draw(held, one, curator._entropy), dtype=np.int64)],
        f"smooth:{round_.digest}",
        note=note,
    )
    place = int(chosen[0])
    for attribute, offered in round_.candidates.items():
        if place < len(offered):
            return attribute, place
        place -= len(offered)
    raise AssertionError("the choice is one of the candidates")
