"""BinMoments: sums of what numbers are beyond the middles of their bins, by the levels of every attribute.

A release that measures them beside its tables knows sums and averages of rows' own numbers, overall and by
one attribute, up to noise; by several attributes it predicts them from those, and says how far off that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.form import Factor, LinearForm
from hedgerow.queries.measurement import Noise
from hedgerow.queries.number_sums import (
    centre_of,
    lattice_of,
    numbers,
    ranged_numbers,
    scales,
    tailed_numbers,
    usual_of,
)
from hedgerow.queries.query import ONE
from hedgerow.queries.worth import Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.query import Query

    Floats = NDArray[np.float64]
    Tables = Callable[[tuple[str, ...]], Floats]

_INTERACTION = 0.35  # of the effects that single attributes show
_UNSEEN = 0.04  # of a half bin: an effect that no single attribute shows
_CELLS = 1 << 16  # up to here sums are predicted cell by cell


@dataclass(frozen=True, eq=False)
class BinMoments:
    """Measured sums of remainders: for each number with a step, a table over each attribute's levels.

    Args:
        domain: of the rows.
        sums: in the order of numbers and attributes, one after another, in factors of half-steps; in newer
            files the sum of all rows comes before the tables of each number.
        noise: the law of the noise on each.
        ranged: whether for `ranged_numbers` it is the sum of rows' distances from `centre_of` them; in
            files of before it is that of remainders.
        tails: the same sums of `tailed_numbers`, with their noise, where those had an act of their own.
    """

    domain: Domain
    sums: NDArray[np.int64]
    noise: Noise
    ranged: bool = False
    tails: tuple[NDArray[np.int64], Noise] | None = None

    @classmethod
    def of(
        cls, domain: Domain, measured: Measurement, *, ranged: bool = False, tails: Measurement | None = None
    ) -> BinMoments:
        """From what the curator measured."""
        own = None if tails is None else (tails.values, tails.noise)
        return cls(domain, measured.values, measured.noise, ranged, own)

    @cached_property
    def _factors(self) -> dict[str, int]:
        """Of the remainders of each number."""
        if not self.ranged:
            return numbers(self.domain)
        return {name: within for name, (within, _) in scales(self.domain).items()}

    @cached_property
    def tables(self) -> dict[str, dict[str, Floats]]:
        """For each number and each attribute the sums of remainders by level, in the number's own unit."""
        out: dict[str, dict[str, Floats]] = {}
        at = 0
        for name in self._factors:
            unit = self._unit(name)
            out[name] = {}
            at += self._with_totals
            for attribute, body in self.domain.items():
                out[name][attribute] = self.sums[at : at + body.size].astype(np.float64) * unit
                at += body.size
        return out

    @property
    def _with_totals(self) -> bool:
        """Whether the sum of all rows was measured beside the tables."""
        return self.sums.size > len(numbers(self.domain)) * sum(self.domain.shape)

    def deviation(self, name: str) -> float:
        """The standard deviation of the noise on one sum, in the number's own unit."""
        return sqrt(self.noise.variance) * self.noise.denominator * self._unit(name)

    def _unit(self, name: str) -> float:
        return float(lattice_of(self.domain, name).step) / 2 / self._factors[name]

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float, float]]:
        """For each number the centre of its bins, the sum of rows' distances from it, and its deviation."""
        found: list[tuple[str, int, int, int, Noise]] = []
        if self.ranged:
            known, each = ranged_numbers(self.domain), 1 + sum(self.domain.shape)
            firsts = self.sums[::each].tolist()
            for (name, (_, factor)), value in zip(scales(self.domain).items(), firsts, strict=True):
                centre = centre_of(self.domain, name)
                found += [(name, centre, factor, value, self.noise)] if name in known else []
        if self.tails is not None:
            values, noise = self.tails
            for (name, factor), value in zip(
                tailed_numbers(self.domain).items(), values.tolist(), strict=True
            ):
                found.append((name, usual_of(self.domain, name), factor, value, noise))
        out: dict[str, tuple[float, float, float]] = {}
        for name, centre, factor, value, noise in found:
            half = float(lattice_of(self.domain, name).step) / 2
            wide = sqrt(noise.variance) * noise.denominator * half / factor
            out[name] = half * centre, value * half / factor, wide
        return out

    @cached_property
    def totals(self) -> dict[str, tuple[float, float]]:
        """The sum of all remainders of each number, by all tables together, and its variance."""
        out = {}
        for i, name in enumerate(self._factors):
            tables = list(self.tables[name].values())
            if self._with_totals and not (self.ranged and name in ranged_numbers(self.domain)):
                at = i * (1 + sum(self.domain.shape))
                tables.append(self.sums[at : at + 1].astype(np.float64) * self._unit(name))
            weights = [1.0 / t.size for t in tables]
            all_ = sum(weights)
            value = sum(w * float(t.sum()) for w, t in zip(weights, tables, strict=True)) / all_
            out[name] = value, self.deviation(name) ** 2 / all_
        return out

    def to_json(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Plain data; the sums go into `arrays`."""
        arrays["moments"] = self.sums
        told = {"noise": self.noise.to_json()} | ({"ranged": True} if self.ranged else {})
        if self.tails is None:
            return told
        arrays["tails"], noise = self.tails
        return told | {"tails": noise.to_json()}

    @classmethod
    def from_json(
        cls, domain: Domain, data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> BinMoments:
        """The inverse of `to_json`."""
        tails = (arrays["tails"], Noise.from_json(data["tails"])) if "tails" in data else None
        return cls(domain, arrays["moments"], Noise.from_json(data["noise"]), bool(data.get("ranged")), tails)


@dataclass(frozen=True, eq=False)
class WithinBins:
    """What moments say of sums, with the counts of whoever holds tables.

    Args:
        moments: what was measured.
        table: counts over any attributes.
    """

    moments: BinMoments
    table: Tables

    @property
    def heavy(self) -> bool:
        """Whether remainders were measured with Laplace noise, under a pure budget."""
        return self.moments.noise.family == "laplace"

    def of(self, form: LinearForm, counts: Floats, worst: Floats) -> tuple[Floats, Floats] | None:
        """For each group the sum of its rows' remainders, and its standard deviation; None if unknown."""
        signed = next(f for f in form.factors if f.worth is not None)
        assert signed.worth is not None
        value, variance = np.zeros(form.groups), np.zeros(form.groups)
        for name, coefficient in signed.worth.coefficients:
            views = self._views(form, signed, name, coefficient) if name in self.moments.tables else None
            if views is None:
                return None
            times, kept = views
            part, off = self._sum(name, form, kept, counts, worst)
            value, variance = value + times * part, variance + times**2 * off
        return value, np.sqrt(variance)

    def ranged(self, name: str) -> tuple[float, float, float] | None:
        """The centre of a number's bins, the sum of all rows' distances from it, and its deviation."""
        return self.moments.ranges.get(name)

    def adds(self, query: Query) -> float:
        """What remainders add to a sum of rows' own numbers, in rows, where it is a plain one; else nothing.

        An estimate for whoever compares it with the rows: what it says is tested there.
        """
        fine = query.fine
        if fine is None or query.factors is None or len(fine.value.parts) != 1:
            return 0.0
        if fine.value.cuts or fine.value.squares:
            return 0.0
        ((name, often),), value = fine.value.parts, fine.value
        lattice = lattice_of(self.moments.domain, name)
        far = np.abs(often) * np.append(
            lattice.half, np.zeros(often.size - lattice.half.size, dtype=np.int64)
        )
        if value.attributes != (name,) or value.digits[1] < 62 or bool((value.sign * value.base < far).any()):
            return 0.0  # not affine everywhere, or the lower digits of it
        unit = value.sign * value.step / (1 << value.digits[0]) / ONE / (float(lattice.step) / 2)
        masks = dict(zip(query.attributes, fine.masks, strict=True))
        own = (often * masks[name]).astype(np.float64) * unit
        worth = Worth((name,), np.zeros(own.shape), ((name, own),))
        factors = [Factor((a,), m) for a, m in masks.items() if a != name and not m.all()]
        form = LinearForm.of(
            self.moments.domain, [Factor((name,), own, worth), *factors], (), units=False, name="remainders"
        )
        reach, support = form.reach(), form.support()
        assert reach is not None
        assert support is not None
        counts, worst = (np.maximum(f.evaluate(self.table(f.attributes)), 0.0) for f in (support, reach))
        known = self.of(form, counts, worst)
        return 0.0 if known is None else float(np.clip(known[0], -worst, worst)[0])

    def _views(
        self, form: LinearForm, signed: Factor, name: str, coefficient: Floats
    ) -> tuple[float, dict[str, Floats]] | None:
        """How often a number is added, and which levels of single attributes count; None: too involved."""
        bins = len(lattice_of(form.domain, name).low)
        own = signed.attributes.index(name)
        held = np.take(coefficient, np.arange(bins), axis=own)
        depends = [i for i in range(held.ndim) if not bool((held == held.take([0], axis=i)).all())]
        masks: dict[str, Floats] = {}
        if any(len(f.attributes) > 1 for f in form.factors if f is not signed):
            return None
        peak = np.unravel_index(int(np.argmax(np.abs(held))), held.shape)
        times = float(held[peak]) or 1.0
        product = np.full((1,) * held.ndim, times)
        for i in depends:
            line = held[tuple(slice(None) if j == i else peak[j] for j in range(held.ndim))] / times
            product = product * line.reshape([-1 if j == i else 1 for j in range(held.ndim)])
            if i == own:
                line = np.append(line, np.zeros(form.domain[name].size - bins))
            masks[signed.attributes[i]] = line
        if not np.allclose(product, held, rtol=1e-9, atol=1e-9 * abs(times)):
            return None
        for f in form.factors:
            if f is not signed:
                masks[f.attributes[0]] = masks.get(f.attributes[0], 1.0) * f.weights.astype(np.float64)
        for axis in form.axes:
            masks.setdefault(axis.attribute, np.ones(len(axis.parent)))
        return times, masks

    def _sum(
        self, name: str, form: LinearForm, masks: Mapping[str, Floats], counts: Floats, worst: Floats
    ) -> tuple[Floats, Floats]:
        """The sums of one number's remainders, group by group, and their variances."""
        m, groups = self.moments, form.groups
        noise = m.deviation(name) ** 2
        if not masks:
            return np.full(groups, m.totals[name][0]), np.full(groups, m.totals[name][1])
        one = {a: self._by_group(form, a, mask * m.tables[name][a]) for a, mask in masks.items()}
        cells = {a: self._by_group(form, a, mask**2) for a, mask in masks.items()}
        if len(masks) == 1:
            (a,) = masks
            return one[a], noise * cells[a]
        if not all(bool(np.isin(mask, (0.0, 1.0)).all()) for mask in masks.values()):
            return self._cell_by_cell(name, form, masks)
        mean = m.totals[name][0] / max(float(np.asarray(self.table(())).sum()), 1.0)
        rate, variance = np.full(groups, mean), np.zeros(groups)
        half = worst / np.maximum(counts, 1.0)
        for a, mask in masks.items():
            rows = np.maximum(self._by_group(form, a, mask * np.maximum(self.table((a,)), 0.0)), 1.0)
            effect, off = one[a] / rows - mean, noise * cells[a] / rows**2
            sure = np.maximum(0.0, 1.0 - off / np.maximum(effect**2, 1e-300))
            rate = rate + sure * effect
            variance = variance + np.minimum(off, half**2) + (_INTERACTION * sure * effect) ** 2
        variance = variance + (_UNSEEN * half) ** 2
        return counts * rate, counts**2 * variance + counts * half**2 / 3.0

    def _cell_by_cell(
        self, name: str, form: LinearForm, masks: Mapping[str, Floats]
    ) -> tuple[Floats, Floats]:
        """The same where levels count with weights: predicted in each cell of the attributes, then added."""
        names = form.domain.order([*masks, name])
        if form.domain.cells(names) > _CELLS:
            return np.zeros(form.groups), np.full(form.groups, np.inf)
        m, noise = self.moments, self.moments.deviation(name) ** 2
        shape = form.domain.shape_of(names)
        rows = np.maximum(self.table(names), 0.0)
        half = np.zeros(form.domain[name].size)
        half[: len(lattice_of(form.domain, name).low)] = lattice_of(form.domain, name).halves
        weights, halves = np.ones(shape), _along(names, name, half)
        mean = m.totals[name][0] / max(float(np.asarray(self.table(())).sum()), 1.0)
        rate, unsure = np.full(shape, mean), (_UNSEEN * halves) ** 2 + np.zeros(shape)
        for a in names:
            weights = weights * _along(names, a, masks[a]) if a in masks else weights
            each = np.maximum(self.table((a,)), 1.0)
            effect, off = m.tables[name][a] / each - mean, noise / each**2
            sure = np.maximum(0.0, 1.0 - off / np.maximum(effect**2, 1e-300))
            rate = rate + _along(names, a, sure * effect)
            more = _along(names, a, off + (_INTERACTION * sure * effect) ** 2)
            unsure = unsure + np.minimum(more, halves**2)
        weights = np.where(halves > 0, weights, 0.0)
        rate = np.clip(rate, -halves, halves)
        value, wrong, chance = (
            _folded(form, names, array)
            for array in (
                weights * rows * rate,
                np.abs(weights) * rows * np.sqrt(unsure),
                weights**2 * rows * halves**2 / 3.0,
            )
        )
        return value, wrong**2 + chance

    @staticmethod
    def _by_group(form: LinearForm, attribute: str, levels: Floats) -> Floats:
        """The sum of an attribute's levels in each group of a form."""
        shape = [axis.size for axis in form.axes]
        for i, axis in enumerate(form.axes):
            if axis.attribute == attribute:
                parts = np.zeros(axis.size)
                np.add.at(parts, axis.parent, levels)
                spread = parts.reshape([-1 if j == i else 1 for j in range(len(shape))])
                return np.broadcast_to(spread, shape).reshape(-1)
        return np.full(form.groups, float(levels.sum()))


def _along(names: tuple[str, ...], name: str, levels: Floats) -> Floats:
    return np.asarray(levels).reshape([-1 if a == name else 1 for a in names])


def _folded(form: LinearForm, names: tuple[str, ...], cells: Floats) -> Floats:
    """Cells of some attributes added up by the groups of a form."""
    grouped = {axis.attribute: axis for axis in form.axes}
    out = cells
    for i in reversed(range(len(names))):
        axis = grouped.get(names[i])
        if axis is None:
            out = out.sum(axis=i)
        else:
            moved = np.moveaxis(out, i, 0)
            parts = np.zeros((axis.size, *moved.shape[1:]))
            np.add.at(parts, axis.parent, moved)
            out = np.moveaxis(parts, 0, i)
    kept = [n for n in names if n in grouped]
    return np.asarray(out.transpose([kept.index(axis.attribute) for axis in form.axes])).reshape(-1)
