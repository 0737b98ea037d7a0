"""The residual strategy for a workload of tables, ranges and their products: what each residual weighs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import Residual, ResidualStrategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.privacy.budget import Privacy
    from hedgerow.queries.block import Axis, ProductBlock
    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

NUMBERS = 1 << 27
"""More measured numbers than this are refused."""

_SUBSETS = 1 << 20
_TOLERANCES = (1e-3, 1e-2, 1e-1)  # of the contrasts' scales: the first whose whole numbers fit
_FLOORS = (16, 4, 1)  # the least whole weight: the smaller, the coarser the shares

Attributes = tuple[str, ...]


@dataclass(frozen=True)
class Moments:
    """What one attribute's questions ask of its contrasts (by class, for unit weights) and of the total."""

    contrasts: Floats
    total: float


@dataclass(frozen=True)
class Demand:
    """What a workload asks of residuals: its variance is the sum of `need / weight^2` over their classes."""

    axes: Mapping[str, Contrasts]
    needs: Mapping[Attributes, Floats]
    tables: tuple[tuple[Attributes, float], ...]

    @classmethod
    def of(
        cls, domain: Domain, blocks: Sequence[ProductBlock], weights: Sequence[float], tolerance: float
    ) -> Demand:
        """Sum every block's needs over the subsets of its attributes."""
        _refuse_large(domain, blocks)
        graded = {
            a
            for b in blocks
            for a, x in zip(b.attributes, b.axes, strict=True)
            if x.kind in ("ranges", "prefixes")
        }
        names = domain.order({a for b in blocks for a in b.attributes})
        axes = {
            a: Contrasts.close(domain[a].size, "depth" if a in graded else "even", tolerance) for a in names
        }
        kinds = {(a, x) for b in blocks for a, x in zip(b.attributes, b.axes, strict=True)}
        moments = {(a, x): _moments(axes[a], x) for a, x in kinds}
        needs: dict[Attributes, Floats] = {}
        for block, weight in zip(blocks, weights, strict=True):
            asked = {a: moments[a, x] for a, x in zip(block.attributes, block.axes, strict=True)}
            for s in _subsets([a for a in block.attributes if domain[a].size > 1]):
                need = np.array(weight * prod(m.total for a, m in asked.items() if a not in s))
                for a in s:
                    need = np.multiply.outer(need, asked[a].contrasts)
                needs[s] = needs[s] + need if s in needs else need
        return cls(axes, needs, tuple((b.attributes, w) for b, w in zip(blocks, weights, strict=True)))

    def column(self, s: Attributes) -> Floats:
        """The largest squared column of a residual at unit weights, by class."""
        out = np.array(1.0)
        for a in s:
            out = np.multiply.outer(out, self.axes[a].columns.max(axis=1).astype(np.float64))
        return out

    def shares(self, swap: Sequence[float] | None = None) -> dict[Attributes, Floats]:
        """The closed-form optimum: minimise sum need/w^2 at a given sum of w^2 column, by Cauchy-Schwarz.

        Args:
            swap: how much dearer than its column each residual is under `replace`.
        """
        dearer = [1.0] * len(self.needs) if swap is None else swap
        return {
            s: (need / (self.column(s) * c)) ** 0.25
            for (s, need), c in zip(self.needs.items(), dearer, strict=True)
        }

    def plain(self) -> dict[Attributes, Floats]:
        """The weights at which residuals tell what the plain tables tell, column by column.

        The table over t is the sum of its residuals S, each times prod 1/d over t without S, as quadratic
        forms. So the sensitivity is that of the plain tables under any relation, and least squares is no
        worse than reading each table off itself.
        """
        out = dict.fromkeys(self.needs, 0.0)
        for t, _ in self.tables:
            real = [a for a in t if self.axes[a].levels > 1]
            for s in _subsets(real):
                out[s] += prod(1.0 / self.axes[a].levels for a in real if a not in s)
        return {s: np.sqrt(w / self._length(s)) for s, w in out.items()}

    def _length(self, s: Attributes) -> Floats:
        """The squared length that a scaled contrast has, for one that should have 1."""
        out = np.array(1.0)
        for a in s:
            axis = self.axes[a]
            lengths = axis.scales.astype(np.float64) ** 2 * axis.tree.squares
            each = np.bincount(axis.class_of, lengths) / np.bincount(axis.class_of)
            out = np.multiply.outer(out, each)
        return out

    def build(self, shares: Mapping[Attributes, Floats], floor: int) -> ResidualStrategy:
        """Whole weights in these proportions, the least of them `floor`."""
        unit = floor / min(float(w.min()) for w in shares.values())
        parts = [Residual(s, np.maximum(np.rint(w * unit), 1.0).astype(np.int64)) for s, w in shares.items()]
        return ResidualStrategy({a: x for a, x in self.axes.items() if x.levels > 1}, tuple(parts))

    def variance(self, strategy: ResidualStrategy) -> float:
        """The sum of all answers' variances, for noise of variance 1 on every measured number."""
        return float(
            sum(
                (self.needs[r.attributes] / r.weights.astype(np.float64) ** 2).sum()
                for r in strategy.residuals
            )
        )


@dataclass(frozen=True)
class StrategyPlan:
    """A strategy and the sum of all answers' variances in units of (unit's sensitivity)^2 / (2 rho)."""

    strategy: ResidualStrategy
    variance: float


def plan(
    domain: Domain,
    blocks: Sequence[ProductBlock],
    weights: Sequence[float],
    privacy: Privacy,
    *,
    total_is_public: bool = False,
) -> StrategyPlan:
    """The best residual strategy whose whole numbers fit into 64 bits.

    Under add_remove the shares are the closed-form optimum [XHZK23]. Under `replace` no closed form is known:
    three allocations are compared, one of which is never worse than plain noise on every table.
    """
    for tolerance in _TOLERANCES:
        demand = Demand.of(domain, blocks, weights, tolerance)
        for floor in _FLOORS:
            try:
                found = [
                    _priced(demand, demand.build(shares, floor), privacy)
                    for shares in _allocations(demand, privacy, total_is_public)
                ]
            except RangeTooLarge:
                continue
            return min(found, key=lambda p: p.variance)
    raise RangeTooLarge("tables of so many attributes need a strategy whose numbers pass 64-bit integers")


def plain_variance(blocks: Sequence[ProductBlock], weights: Sequence[float], privacy: Privacy) -> float:
    """What independent noise on every table comes to, in the units of `StrategyPlan`; infinite for others."""
    if not all(b.is_table for b in blocks):
        return inf
    tables = len({b.attributes for b in blocks})
    cells = sum(len(b) * w for b, w in zip(blocks, weights, strict=True))
    table = Norms.table() if any(b.attributes for b in blocks) else Norms.query(1)
    return tables * cells * float(privacy.sensitivity(table).l2_squared)


def _priced(demand: Demand, strategy: ResidualStrategy, privacy: Privacy) -> StrategyPlan:
    return StrategyPlan(
        strategy, demand.variance(strategy) * float(privacy.sensitivity(strategy.norms).l2_squared)
    )


def _allocations(
    demand: Demand, privacy: Privacy, total_is_public: bool
) -> Iterator[dict[Attributes, Floats]]:
    """Candidate shares; a public total need not be measured."""

    def measured(shares: dict[Attributes, Floats]) -> dict[Attributes, Floats]:
        if total_is_public and len(shares) > 1:
            shares.pop(())
        return shares

    yield measured(demand.shares())
    if privacy.neighbours == "replace":
        yield measured(demand.shares([_swap(demand, s) for s in demand.needs]))
        yield measured(demand.plain())


def _swap(demand: Demand, s: Attributes) -> float:
    """How much dearer than its column a residual is when a row is swapped, in the ideal geometry."""
    sizes = [demand.axes[a].levels for a in s]
    own = prod(1.0 - 1.0 / d for d in sizes)
    least = min(
        (prod(1.0 / d for d in sizes) * (-1.0) ** len(s), -own / (min(sizes, default=2) - 1)), default=0.0
    )
    return max(2.0 * (own - least) / own, 1e-3) if s else 1.0


def _moments(axis: Contrasts, questions: Axis) -> Moments:
    """Sums over an attribute's questions q of <q, h>^2 / (|h|^4 scale^2) by class, and of (<q, 1>/d)^2."""
    t, n = axis.tree, axis.levels
    if questions.kind in ("cells", "literals"):
        twice = 2 if questions.rows > n else 1
        asked = twice * t.squares.astype(np.float64)
        total = (n + (n * (n - 1) ** 2 if twice == 2 else 0)) / n**2
    else:
        asked = np.array(
            [
                _runs(questions.kind, *split, n)
                for split in zip(t.low, t.middle, t.high, t.left, t.right, strict=True)
            ]
        )
        upto = np.arange(n + 1, dtype=np.float64)
        total = float(
            (upto**2).sum() * (n + 1) - upto.sum() ** 2 if questions.kind == "ranges" else (upto**2).sum()
        )
        total /= n**2
    each = asked / (t.squares.astype(np.float64) ** 2 * axis.scales.astype(np.float64) ** 2)
    sums = np.bincount(axis.class_of, each, minlength=axis.classes)
    return Moments(sums.astype(np.float64, copy=False), total)


def _runs(kind: str, low: int, middle: int, high: int, left: int, right: int, n: int) -> float:
    """The sum of squares of a contrast's sums over all prefixes, or over all runs (their differences)."""
    up = np.arange(1, middle - low + 1, dtype=np.float64) * right
    sums = np.concatenate([up, up[-1] - np.arange(1, high - middle + 1) * float(left)])
    squares = float((sums**2).sum())
    return squares if kind == "prefixes" else (n + 1) * squares - float(sums.sum()) ** 2


def _subsets(names: Sequence[str]) -> Iterator[Attributes]:
    return chain.from_iterable(combinations(names, k) for k in range(len(names) + 1))


def _refuse_large(domain: Domain, blocks: Sequence[ProductBlock]) -> None:
    sets = {s for s in {b.attributes for b in blocks} if len(s) <= 20}
    if sum(1 << len(b.attributes) for b in blocks) > _SUBSETS or len(sets) < len(
        {b.attributes for b in blocks}
    ):
        raise RangeTooLarge(f"the workload's tables have more than {_SUBSETS:,} subsets of attributes")
    numbers = sum(prod(max(domain[a].size - 1, 1) for a in s) for s in {x for t in sets for x in _subsets(t)})
    if numbers > NUMBERS:
        raise RangeTooLarge(
            f"the strategy has {numbers:,} numbers to measure, more than {NUMBERS:,}; ask for smaller tables"
        )
