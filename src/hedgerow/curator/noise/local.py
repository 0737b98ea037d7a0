"""Local reports: what randomised response sends - noisy records, and how to read them without bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log, prod, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.curator.noise import selection
from hedgerow.curator.noise.noise import Entropy
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.privacy.event import RandomizedRecord
from hedgerow.queries.argument import one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.spender import Spend
    from hedgerow.queries.domain.domain import Domain

_LARGEST = 1 << 31


@dataclass(frozen=True, eq=False)
class LocalReports:
    """Noisy records, `max_rows` from every unit: one code per record, or one per attribute.

    Where a unit may have several rows, each coordinate has one more level, "absent", that pads the records.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    epsilon: Fraction
    max_rows: int
    by: Literal["row", "attribute"]
    codes: NDArray[np.int64]

    @classmethod
    def plan(
        cls, domain: Domain, epsilon: Fraction, max_rows: int, by: Literal["row", "attribute"]
    ) -> LocalReports:
        """The reports before any record is read: sizes and the split of epsilon."""
        if by == "row" and domain.size >= _LARGEST:
            raise RangeTooLarge(
                f"a row is one of {domain.size:,} kinds, more than {_LARGEST:,}; use by='attribute'"
            )
        return cls(domain.names, domain.shape, epsilon, max_rows, by, np.zeros((0, 0), dtype=np.int64))

    def filled(self, codes: NDArray[np.int64]) -> LocalReports:
        """The plan with its reports."""
        return replace(self, codes=codes)

    @property
    def padded(self) -> bool:
        """Whether there is an "absent" level."""
        return self.max_rows > 1

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of possible values of every reported coordinate."""
        sizes = (prod(self.shape),) if self.by == "row" else self.shape
        return tuple(s + self.padded for s in sizes)

    @property
    def epsilon_each(self) -> Fraction:
        """The epsilon of one coordinate of one record."""
        return self.epsilon / (self.max_rows * len(self.levels))

    def estimate(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float
    ) -> tuple[float, float]:
        """An unbiased count of weighted rows and Hoeffding's bound on its error (W3, randomised response).

        Every report y contributes f(y) with E f(y) = weight of its true record, so the sum is unbiased, and
        the reports are independent with f in a public interval.
        """
        f, index = self._decoder(attributes, weights)
        width = float(f.max() - f.min())
        n = self.codes.shape[1]
        bound = width * sqrt(n * log(2.0 / (1.0 - confidence)) / 2.0)
        return float(f.ravel()[index].sum()), bound

    def table(self, attributes: tuple[str, ...]) -> NDArray[np.float64]:
        """The unbiased estimate of a whole table."""
        sizes = [self.shape[self.names.index(a)] for a in attributes]
        if self.by == "row":
            noisy = np.bincount(self.codes[0], minlength=self.levels[0]).astype(np.float64)
            full = _invert(noisy, 0, self.epsilon_each)[: prod(self.shape)].reshape(self.shape)
            kept = [self.names.index(a) for a in attributes]
            small = full.sum(axis=tuple(i for i in range(full.ndim) if i not in kept))
            return np.asarray(small).transpose(np.argsort(np.argsort(kept)))
        if not attributes:
            return np.asarray(self.estimate((), np.array(1.0), 0.95)[0])
        places = [self.names.index(a) for a in attributes]
        levels = [s + self.padded for s in sizes]
        index = np.ravel_multi_index(tuple(self.codes[places]), levels)
        noisy = np.bincount(index, minlength=prod(levels)).astype(np.float64).reshape(levels)
        for axis in range(noisy.ndim):
            noisy = _invert(noisy, axis, self.epsilon_each)
        return noisy[tuple(slice(0, s) for s in sizes)]

    def _decoder(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], Any]:
        """f over the reported levels of the attributes, and each report's place in it."""
        places = [self.names.index(a) for a in attributes]
        if self.by == "row":
            axes = [self.shape[i] if i in places else 1 for i in range(len(self.shape))]
            in_order = weights.transpose(np.argsort(places)) if places else weights
            full = np.broadcast_to(in_order.reshape(axes), self.shape).ravel()
            f = np.append(full, 0.0) if self.padded else full
            return _invert(f, 0, self.epsilon_each), self.codes[0]
        if not places:  # the total: a record is present when its first coordinate is
            f = np.append(np.full(self.shape[0], float(weights)), [0.0] * self.padded)
            return _invert(f, 0, self.epsilon_each), self.codes[0]
        f = np.pad(weights, [(0, int(self.padded))] * weights.ndim)
        for axis in range(f.ndim):
            f = _invert(f, axis, self.epsilon_each)
        return f, np.ravel_multi_index(tuple(self.codes[places]), f.shape)


def _invert(f: NDArray[np.float64], axis: int, epsilon: Fraction) -> NDArray[np.float64]:
    """Undo the channel along one axis: a level is kept with p, becomes any other one with q."""
    size = f.shape[axis]
    e = exp(float(epsilon))
    p, q = e / (e + size - 1.0), 1.0 / (e + size - 1.0)
    return np.asarray((f - q * f.sum(axis=axis, keepdims=True)) / (p - q))


def randomize(
    curator: Curator, spend: Spend = None, *, by: Literal["row", "attribute"] = "row", note: str = ""
) -> LocalReports:
    """Randomise every unit's records on their own, as if each person had done so before sending them.

    Privacy: k-ary randomised response keeps a record with odds e^eps : 1 against each other one, which is
    eps-DP for that record ([W65], [KOV16]); a unit sends exactly `max_rows` records (padded with an
    "absent" record), so its epsilon is divided by `max_rows`, and by the attributes when `by` is
    "attribute". The number of reports publishes the number of units: only under `replace`. Charged in the
    transaction that draws the reports.

    Args:
        curator: the guardian of the rows.
        spend, note: as in `Curator.measure`.
        by: whole rows at once, or every attribute on its own.
    """
    if curator.privacy.neighbours != "replace":
        raise UnsupportedQuery(
            "randomised response publishes the number of units, so it needs neighbours='replace'"
        )
    one_of("by", by, "row", "attribute")
    epsilon = selection_epsilon(curator.price(spend), bounded_range=False)
    plan = LocalReports.plan(curator._domain, epsilon, curator.privacy.max_rows, by)
    event = RandomizedRecord(epsilon)
    reports = curator._act(
        event,
        lambda: curator._rows.records(),
        lambda records: [randomize_records(records, plan, curator._entropy)],
        f"randomize:{by}{event.to_json()!r}",
        note=note,
    )
    return plan.filled(reports[0])


def randomize_records(
    records: tuple[NDArray[np.int64], list[NDArray[Any]]], plan: LocalReports, entropy: Entropy
) -> NDArray[np.int64]:
    """Exact k-ary randomised response on every unit's records, padded to the same number for all."""
    owners, columns = records
    units = int(owners.max(initial=-1)) + 1
    slots = _slots(owners) if plan.padded else np.zeros(len(owners), dtype=np.int64)
    if plan.by == "row":
        flat = np.ravel_multi_index([c.astype(np.int64) for c in columns], plan.shape)
        columns = [np.asarray(flat)]
    out = np.empty((len(columns), units * plan.max_rows), dtype=np.int64)
    for i, (column, levels) in enumerate(zip(columns, plan.levels, strict=True)):
        truth = np.full(units * plan.max_rows, levels - 1, dtype=np.int64)
        truth[owners * plan.max_rows + slots] = column
        out[i] = selection.randomized_response(truth, levels, plan.epsilon_each, entropy)
    # The order of the file is not public (it may be sorted by what is private): release a multiset.
    return np.ascontiguousarray(out[:, np.lexsort(out)])


def _slots(owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, .. for the rows of each unit."""
    order = np.argsort(owners, kind="stable")
    sorted_owners = owners[order]
    first = np.searchsorted(sorted_owners, sorted_owners)
    slots = np.empty(len(owners), dtype=np.int64)
    slots[order] = np.arange(len(owners)) - first
    return slots
