"""Bars: how far off the answers of a fitted model seem to be, by what was measured and what was not.

Everything follows from released values and from constants that were found on made-up rows of the benchmarks
(`python -m benchmarks coverage`, other seeds). A bar holds on average over questions of a kind, not for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.residuals.basis import Basis, Names, subsets
from hedgerow.synopsis.quantiles import VARIED, of_count, quantile, together
from hedgerow.synopsis.related import NOTHING, Related, alike
from hedgerow.synopsis.unheld import (
    MOST,
    aligned,
    all_corners,
    conjunction,
    corners,
    of_corners,
    of_weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis.beyond import Beyond

    Floats = NDArray[np.float64]
    Variances = tuple[float, float]
    Parts = tuple[Floats, Floats]

GROWTH = 0.25  # by this power of how many usual cells a count has its variance is more: errors go together
ADDED = 0.05  # by this power of the cells that a count adds up, what is not known of them is in common
COHERENT = 0.5  # more of three attributes or more: what is off in a count's pairs may add up
TALL, LOWEST = 0.7, 0.1  # the same of cells of a pair that was not measured; those of fewer rows are alike
ALONG = 0.3  # of what is not known of a number's table: so much is usually all along the number
LARGER = 0.4  # of the spread of pairs, where tables were chosen: that of larger sets
SMALLEST = 1.0  # row: no bar of what was not measured is meant for less
_SPLIT = 1 << 23  # numbers that weights may be split into
_NONE: Mapping[Names, Any] = {}
_NEAR = 3  # attributes: of so many, tables that were not chosen are off by more in larger counts
_FEW = 6  # attributes: every set of them has its own spread


@dataclass(frozen=True, eq=False)
class Bars:
    """Errors of a model's tables.

    The error of an answer has three parts. What was measured of smaller tables is noisy, and that is handed
    down to the cells of a larger one in proportion. What was not measured differs from the model as rows do
    that were drawn from it and agree with all that was measured (`unheld`), times a spread for what the model
    does not know. Of some sets of attributes that was looked at; others are taken to be like one of those.

    Args:
        basis: coordinates of tables.
        deviations: of every measured residual, the standard deviation of a coordinate.
        ones: released distributions of single attributes.
        spread: the variance of what was not measured, in units of that of rows that were drawn.
        beyond: the same by sets of attributes, where some were looked at.
        chosen: whether some tables were chosen, and what others hold beyond them is not known.
        related: how a number may go together with what it was not measured with.
    """

    basis: Basis
    deviations: Mapping[Names, float]
    ones: Callable[[str], Floats]
    spread: float
    beyond: Beyond | None = None
    chosen: bool = False
    related: Related = NOTHING
    _kept_draws: dict[Names, tuple[float, ...]] = field(default_factory=dict, init=False)
    _kept_spreads: dict[Names, float] = field(default_factory=dict, init=False)

    def variances(self, names: Names, table: Floats, weights: Floats) -> Variances:
        """Of a weighted count: by noise and chance, and by what is not known."""
        names, (table, weights) = self._real(names, table, weights)
        noise = sum(self._handed_down(names, table, weights, s) for s in self._measured(names))
        largest = float(np.abs(weights).max(initial=0.0))
        others = self._others(names)
        if not others or not largest:
            return noise, 0.0
        inside, counted = conjunction(weights), weights**2 * table
        tall = self._tall(names, others, table, counted)
        if inside is None:
            free = of_weights(table, weights, self._places(names, self._largest(names)))
            spread = self._unmeasured(names, weights, tall)
        else:
            chances = [np.asarray(self.ones(a) @ m) for a, m in zip(names, inside, strict=True)]
            free = largest**2 * self._free(names, others, inside, chances, table)
            spread = self._added(names, inside, self._spread(names, others, chances, tall))
            spread += self._related(names, others, inside, chances)
        grown = self._grown(float(counted.sum()) / largest**2, float(table.sum()), names)
        return self._split(noise, free, spread * grown, largest)

    def of_cells(self, names: Names, table: Floats, parts: Parts | None = None) -> tuple[Floats, Floats]:
        """The same of every cell of a table; `parts` of it may be known."""
        real, (counts,) = self._real(names, table)
        shape, back = table.shape, np.argsort(self._order(names))
        noise, free = parts or self.parts(names, table)
        left = np.zeros(counts.shape)
        if others := self._others(real):
            tall = self._tall(real, others, counts)
            spread = self._spread(real, others, list(self._shares(real).values()), tall)
            grown = self._grown(counts, float(counts.sum()), real)
            noise, left = self._split(noise, free, spread * grown, 1.0)
        if not names:  # the total comes as a list of one
            return noise.reshape(shape), left.reshape(shape)
        given = [shape[i] for i in self._order(names)]
        return noise.reshape(given).transpose(back), left.reshape(given).transpose(back)

    def parts(self, names: Names, table: Floats) -> Parts:
        """Of every cell, whatever the spread is: the variance of its noise, and what rows vary by."""
        real, (counts,) = self._real(names, table)
        noise, free = np.zeros(counts.shape), np.zeros(counts.shape)
        shares = self._shares(real)
        for s in self._measured(real):
            out = tuple(i for i, a in enumerate(real) if a not in s)
            inside, sigma = counts.sum(axis=out, keepdims=True), self.deviations[s]
            even = prod((p for a, p in shares.items() if a not in s), start=1.0)
            share = (counts + sigma * even) / np.maximum(inside + sigma, 1.0)
            length = prod(1.0 - 1.0 / self.basis.sizes[a] for a in s)
            noise = noise + sigma**2 * length * share**2
        if others := self._others(real):
            if counts.size * max(2 ** len(real), len(others) ** 2) <= MOST:
                free = of_corners(all_corners(counts), self._places(real, others), len(real))
            else:
                free = counts * self._part(real, list(shares.values()))
        return noise, free

    def _shares(self, names: Names) -> dict[str, Floats]:
        """Released distributions of single attributes, each along its own axis."""
        return {a: self._along(self.ones(a), names, a) for a in names}

    def of_product(
        self, names: Names, weights: list[Floats], count: float, table: Floats | None = None
    ) -> Variances:
        """The same of a product of weights whose table is too large, as if attributes were independent.

        Args:
            names: the attributes.
            weights: of the levels of each, at most 1.
            count: what the product counts.
            table: what is known of the table.
        """
        by = {a: (self.ones(a), w) for a, w in zip(names, weights, strict=True) if a in self.basis.sizes}
        mean = {a: float(p @ w) for a, (p, w) in by.items()}
        square = {a: float(p @ w**2) for a, (p, w) in by.items()}
        length = {a: float((self.basis.residual((a,), w) ** 2).sum()) for a, (_, w) in by.items()}
        total = count / max(prod(mean.values()), 1e-300)
        noise = 0.0
        for s in self._measured(tuple(by)):
            inside, sigma = total * prod(mean[a] for a in s), self.deviations[s]
            share = (count + sigma * prod(mean[a] for a in by if a not in s)) / (inside + sigma)
            noise += (sigma * share) ** 2 * prod(length[a] for a in s)
        real = tuple(by)
        others = self._others(real)
        if not others:
            return noise, 0.0
        squares = count * prod(square[a] / max(mean[a], 1e-300) for a in by)
        chances = [np.asarray(mean[a] ** 2 / max(square[a], 1e-300)) for a in real]
        masks = [w for _, w in by.values()]
        plain = all(set(np.unique(w)) <= {0.0, 1.0} for w in masks)
        if table is not None and len(real) == len(names) and plain:
            free = self._free(real, others, masks, chances, table)
        else:
            free = squares * float(self._part(real, chances))
        spread = self._spread(real, others, chances) * float(self._grown(squares, total, real))
        spread = self._added(real, masks, spread)
        spread += self._related(real, others, masks, chances) if plain else 0.0
        return self._split(noise, free, spread, 1.0)

    def half_width(
        self, names: Names, found: tuple[Any, Any], confidence: float, numbers: int, count: Any = None
    ) -> Any:
        """How far off such a count is, as one of so many; it is given if nobody asks for it as not empty."""
        normally, unknown = found
        draws = self._draws(tuple(a for a in names if a in self.basis.sizes))
        wide = np.sqrt(normally) * quantile(
            unknown / np.maximum(normally, 1e-300), draws, 1.0 - (1.0 - confidence) / numbers
        )
        if count is None or numbers > 1:
            return wide
        return of_count(wide, count, normally, unknown, confidence)

    def _draws(self, names: Names) -> tuple[float, ...]:
        """How far what is not known of single questions is from its mean: parts of it, by chance."""
        if self.beyond is None:
            return VARIED
        if names not in self._kept_draws:
            seen = np.maximum(np.array(self.beyond.draws(names)) - 1.0, 0.0)
            self._kept_draws[names] = together(tuple(seen.tolist())) if seen.max() > 0.0 else VARIED
        return self._kept_draws[names]

    def _split(self, noise: Any, free: Any, spread: Any, largest: float) -> tuple[Any, Any]:
        """What is normal - noise, what rows vary by, the row that a question may be about - and the rest."""
        normally = noise + np.minimum(spread, 1.0) * free + (SMALLEST * largest) ** 2
        return normally, np.maximum(spread - 1.0, 0.0) * free

    def _measured(self, names: Names) -> list[Names]:
        """The measured residuals over some of these attributes."""
        if 1 << len(names) > len(self.deviations):
            kept = set(names)
            return [s for s in self.deviations if kept.issuperset(s)]
        places = {a: i for i, a in enumerate(self.basis.sizes)}
        return [s for s in subsets(sorted(names, key=lambda a: places[a])) if s in self.deviations]

    def _order(self, names: Names) -> list[int]:
        """Where the attributes are that sets are named by, in their order, then those of one level."""
        places = {a: i for i, a in enumerate(self.basis.sizes)}
        return sorted(range(len(names)), key=lambda i: places.get(names[i], len(places)))

    def _real(self, names: Names, *arrays: Floats) -> tuple[Names, list[Floats]]:
        """In their order, without attributes of one level."""
        order = self._order(names)
        kept = tuple(names[i] for i in order if names[i] in self.basis.sizes)
        shape = [self.basis.sizes[a] for a in kept]
        return kept, [(x.transpose(order) if names else x).reshape(shape) for x in arrays]

    @staticmethod
    def _along(values: Floats, names: Names, name: str) -> Floats:
        return values.reshape([-1 if a == name else 1 for a in names])

    @staticmethod
    def _places(names: Names, sets: list[Names]) -> list[tuple[int, ...]]:
        return [tuple(names.index(a) for a in s) for s in sets]

    def _handed_down(self, names: Names, table: Floats, weights: Floats, s: Names) -> float:
        """The variance that the noise of one residual gives a weighted count, each cell its share of it.

        What noise hides in a cell of a smaller table is spread as single attributes are.
        """
        out = tuple(i for i, a in enumerate(names) if a not in s)
        sigma, inside, even = self.deviations[s], table.sum(axis=out), weights
        for i in reversed(out):
            even = np.tensordot(even, self.ones(names[i]), axes=(i, 0))
        moved = ((weights * table).sum(axis=out) + sigma * even) / np.maximum(inside + sigma, 1.0)
        along = self.basis.residual(s, moved) if s else moved
        return sigma**2 * float((along**2).sum())

    def _energies(self, names: Names, sets: list[Names], chances: list[Floats]) -> dict[Names, Any]:
        """Of the variance of a conjunction of independent attributes, the part of each set (Hoeffding)."""
        by = {a: np.clip(p, 1e-9, 1.0 - 1e-9) for a, p in zip(names, chances, strict=True)}
        return {s: prod((1.0 - p if a in s else p for a, p in by.items()), start=1.0) for s in sets}

    def _part(self, names: Names, chances: list[Floats]) -> Any:
        """The part of a conjunction's variance that no measured set holds, by independent attributes."""
        held = sum(self._energies(names, self._measured(names), chances).values())
        return np.clip(1.0 - held, 0.0, 1.0)

    def _free(
        self, names: Names, others: list[Names], inside: list[Floats], chances: list[Floats], table: Floats
    ) -> float:
        """What a conjunction varies by among rows that agree with all that was measured."""
        found = corners(table, inside)
        if len(names) <= _FEW:
            return float(of_corners(found, self._places(names, others), len(names)))
        return float(found.reshape(-1)[0]) * float(self._part(names, chances))

    def _spread(
        self, names: Names, sets: list[Names], chances: list[Floats], tall: Mapping[Names, Any] = _NONE
    ) -> Any:
        """The spread of what was not measured: every set counts by its part of a conjunction's variance."""
        if len(names) > _FEW:
            return self._of(names)
        return self._mean(self._energies(names, sets, chances), tall)

    def _mean(self, energies: dict[Names, Any], tall: Mapping[Names, Any]) -> Any:
        known = sum(self._of(s) * tall.get(s, 1.0) * e for s, e in energies.items())
        return known / np.maximum(sum(energies.values()), 1e-300)

    def _of(self, names: Names) -> float:
        """The spread of one set."""
        if self.beyond is not None:
            if names not in self._kept_spreads:
                self._kept_spreads[names] = self.beyond.of(names)
            return self._kept_spreads[names]
        return max(1.0, LARGER * self.spread) if self.chosen and len(names) > 2 else self.spread

    def _unmeasured(self, names: Names, weights: Floats, tall: Mapping[Names, Any]) -> Any:
        """The same of any weighted count, by its weights' parts in every set (Hoeffding)."""
        if len(names) > _FEW or prod(self.basis.sizes[a] + 1 for a in names) > _SPLIT:
            return self._of(names)
        split, chances = np.asarray(weights, dtype=np.float64), np.array(1.0)
        for i, a in enumerate(names):
            p = self._along(self.ones(a), names, a)
            mean = (split * p).sum(axis=i, keepdims=True)
            split = np.concatenate([mean, split - mean], axis=i)
            chances = np.multiply.outer(chances, np.concatenate([[1.0], self.ones(a)]))
        energy, own, more = split**2 * chances, {}, 0.0
        for s in self._others(names):
            found = energy[tuple(slice(1, None) if a in s else 0 for a in names)]
            own[s] = float(found.sum())
            # what is off of a number's rows goes one way all along it
            along = max(self._of(s) - 1.0, 0.0) * (aligned(found, ALONG) - 1.0) if self.chosen else 0.0
            both = self.related.more(self._of(s), alike(found)) if self.related.holds(s) else 0.0
            more += own[s] * max(along, both)
        return self._mean(own, tall) + more / max(sum(own.values()), 1e-300)

    def _related(self, names: Names, sets: list[Names], inside: list[Floats], chances: list[Floats]) -> float:
        """What is more of the spread of a conjunction, by correlations of numbers that it cuts.

        A single cell has what a look found of its table: nothing adds up in it.
        """
        pairs = [s for s in sets if self.related.holds(s)]
        if not pairs or all(np.count_nonzero(m) == 1 for m in inside):
            return 0.0
        energies, by = self._energies(names, sets, chances), dict(zip(names, inside, strict=True))
        alike = {a: self.related.alike(a, self.ones(a), by[a]) for a in {a for s in pairs for a in s}}
        found = (energies[s] * self.related.more(self._of(s), prod(alike[a] for a in s)) for s in pairs)
        return float(sum(found) / max(float(sum(energies.values())), 1e-300))

    def _grown(self, counts: Any, total: float, names: Names) -> Any:
        """By how much what is not known of a count is more than its share, where tables were chosen.

        What is off in a cell is so in others. It is so of small tables; larger ones have few rows in most
        cells. Where some were looked at, pairs of a larger one that are off may all be so the same way.
        """
        if self.chosen and self.beyond is not None:
            return 1.0 + COHERENT if len(names) > 2 else 1.0
        if not (self.chosen and len(names) <= _NEAR):
            return 1.0
        cells = prod(self.basis.sizes[a] for a in names)
        return np.maximum(counts * cells / max(total, 1.0), 1.0) ** GROWTH

    def _tall(
        self, names: Names, others: list[Names], table: Floats, counted: Floats | None = None
    ) -> dict[Names, Any]:
        """By how much more large cells are off of pairs that were looked at and not measured.

        Which levels go together decides about large cells, chance about small ones.

        Args:
            names: the attributes.
            others: sets of them that were not measured.
            table: the counts.
            counted: what a question counts of each cell; if None, of every cell by itself.
        """
        if self.chosen or self.beyond is None or self.beyond.size != 2:
            return {}
        found: dict[Names, Any] = {}
        for s in (s for s in others if len(s) == 2):
            out = tuple(i for i, a in enumerate(names) if a not in s)
            rows: Any = table.sum(axis=out, keepdims=True)
            if counted is not None:
                own = counted.sum(axis=out, keepdims=True)
                rows = float((own * rows).sum()) / max(float(own.sum()), 1e-300)
            even = float(table.sum()) / prod(self.basis.sizes[a] for a in s)
            found[s] = np.maximum(rows / max(even, 1e-300), LOWEST) ** TALL
        return found

    def _added(self, names: Names, inside: list[Floats], spread: Any) -> Any:
        """The spread of a count of many cells, where those were looked at: what is off in them may add up."""
        if self.beyond is None:
            return spread
        each = [self.ones(a) * m for a, m in zip(names, inside, strict=True)]
        cells = prod(float(x.sum()) ** 2 / max(float((x**2).sum()), 1e-300) for x in each)
        return spread + np.maximum(spread - 1.0, 0.0) * (cells**ADDED - 1.0)

    def _largest(self, names: Names) -> list[Names]:
        """The measured sets of some of these attributes that are in no other."""
        held = self._measured(names)
        return [s for s in held if not any(set(s) < set(t) for t in held)]

    def _others(self, names: Names) -> list[Names]:
        """The sets of these attributes, in their order, that were not measured; all of many as one."""
        if len(names) > _FEW:
            return [] if len(self._measured(names)) == 1 << len(names) else [names]
        return [s for s in subsets(names) if s not in self.deviations]
