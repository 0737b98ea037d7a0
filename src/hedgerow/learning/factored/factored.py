"""FactoredHypothesis: a product of potentials on small tables, for domains of any size.

After updates on attribute sets S_1 .. S_t a multiplicative-weights hypothesis is an exponential family: a
product of potentials on those sets. Answering is inference on a junction tree, so 10^18 cells are as good as
10^5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.learning.experts import update_bound
from hedgerow.learning.factored.belief import Beliefs
from hedgerow.learning.factored.consistency import Target, combined, consistent, measured_total
from hedgerow.learning.factored.dual import Dual, minimise
from hedgerow.learning.factored.junction_tree import Graph, WholeGraph
from hedgerow.learning.factored.pairs import PairWalk
from hedgerow.learning.factored.resolution import Node, Resolutions
from hedgerow.learning.factored.rows import draw_rows
from hedgerow.learning.hypothesis import Fit, multiplicative_weights
from hedgerow.queries.argument import once
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.strategies.coarse import GroupBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]
    Nodes = tuple[Node, ...]

CELLS = 4_000_000
"""Cells of all cliques together that a hypothesis may have unless it is told otherwise."""
_WRITTEN = 1 << 16  # product queries over more cells are answered without their table
_EXACT = 1e-2  # a table without noise is taken to have this standard deviation
_WRONG = 4.0  # one-way tables this many noise variances off mean that the fit failed
_STEEPEST = 100.0  # a potential of 1 moves a cell by this part of its noise at least
_MATTERS = 0.01  # if that is also more than this part of all rows
_SLACKS = (1.0, 10.0, 0.1)  # what is tried then
_SWEEPS = 4  # over the tables of single attributes that a model is brought to
_NONE = 1e-15  # of all rows: no cell has less


@dataclass(frozen=True, eq=False)
class Zeros:
    """Combinations that cannot occur: False in `possible`, an array over the table of some attributes."""

    attributes: tuple[str, ...]
    possible: NDArray[np.bool_]


class FactoredHypothesis:
    """A distribution over a domain of any size, as potentials on a junction tree.

    Args:
        domain: the declared attributes.
        total: how many rows the distribution stands for.
        resolutions: nested groupings of levels, when tables over groups are to be fitted.
        zeros: combinations that the hypothesis never fills.
        cells: refuse trees with more cells than this.
        whole: hold all cells of the domain as one table: the dense hypothesis, in the same code.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"sex": ["F", "M"], "age": 5})
    >>> hypothesis = FactoredHypothesis(domain)
    >>> young = Query.where(domain, {"age": [0, 1]})
    >>> hypothesis.update(young, value=0.6, eta=0.5)
    1
    >>> round(hypothesis.answer(young), 3)
    0.524
    """

    def __init__(
        self,
        domain: Domain,
        *,
        total: float = 1.0,
        resolutions: Resolutions | None = None,
        zeros: Sequence[Zeros] = (),
        cells: float = CELLS,
        whole: bool = False,
    ) -> None:
        self.domain, self.whole = domain, whole
        self.total = total
        self.cells = cells
        self.zeros = tuple(zeros)
        self.potentials: dict[Nodes, Floats] = {}
        self.fixed: dict[Nodes, Floats] = {}
        self._beliefs: Beliefs | None = None
        self._start(resolutions or Resolutions.full(domain.shape))

    def _start(self, resolutions: Resolutions) -> None:
        self.resolutions = resolutions
        for z in self.zeros:
            if z.possible.shape != self.domain.shape_of(z.attributes):
                raise DomainMismatch(f"the zeros of {' x '.join(z.attributes)} have the wrong shape")
        self._begun = [*(self._full(z.attributes) for z in self.zeros), *self.fixed, *self.potentials]
        self._graph: Graph | WholeGraph | None = None
        self._beliefs = None

    @property
    def graph(self) -> Graph | WholeGraph:
        """Which tables there are; made when needed: what is read from a file may be asked without it."""
        if self._graph is None:
            self._graph = WholeGraph(self.resolutions) if self.whole else Graph(self.resolutions)
            for nodes in self._begun:
                self._graph.add(nodes)
        return self._graph

    def __repr__(self) -> str:
        return f"FactoredHypothesis({self.domain!r}, {len(self.potentials)} tables, total={self.total:.6g})"

    def _full(self, attributes: Sequence[str]) -> Nodes:
        return tuple((self.domain.index(a), 0) for a in attributes)

    def refine(self, resolutions: Resolutions) -> None:
        """Take new coarser resolutions; only full-resolution potentials are kept."""
        self.potentials = {n: t for n, t in self.potentials.items() if all(r == 0 for _, r in n)}
        self._start(resolutions)

    def hold(self, nodes: Nodes, potential: Floats) -> None:
        """A public potential that fits leave alone: what is believed before anything is measured."""
        self.fixed[nodes] = potential
        self.graph.add(nodes)
        self._beliefs = None

    # -- answering ----------------------------------------------------------------------------------------

    @property
    def beliefs(self) -> Beliefs:
        """The calibrated junction tree."""
        if self._beliefs is None:
            self._beliefs = self._build([*self.potentials, *self.fixed])
            theta = [*self.potentials.values(), *self.fixed.values()]
            normaliser = self._beliefs.calibrate(np.concatenate(theta) if theta else np.zeros(0))
            if not np.isfinite(normaliser):
                raise UnsupportedQuery("the declared impossible combinations leave nothing possible")
        return self._beliefs

    def _build(self, tables: Sequence[Nodes]) -> Beliefs:
        zeros = [(self._full(z.attributes), z.possible) for z in self.zeros]
        return Beliefs(self.graph.tree(self.cells), tables, zeros)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """The table over some attributes, axes in the given order; sums to 1."""
        once(attributes)
        return np.ascontiguousarray(self.beliefs.table(self._full(attributes)))

    def table(self, nodes: Nodes) -> Floats:
        """The table over some attributes at some resolutions; sums to 1."""
        return self.beliefs.table(nodes)

    def pairs(self, nodes: Sequence[Node]) -> dict[tuple[Node, Node], Floats]:
        """The tables of all pairs of some nodes, each sums to 1."""
        return PairWalk(self.beliefs, nodes).run()

    def answer(self, query: Query) -> float:
        """The fraction of rows, each weighted by the query."""
        if query.factors is not None and prod(query.shape) > _WRITTEN:
            return self.expectation(query)
        return float(query.apply(self.marginal(query.attributes)))

    def expectation(self, query: Query, power: int = 1) -> float:
        """The mean weight of a product query, or of a power of it; its table is never written out."""
        assert query.factors is not None
        if self.domain.shape_of(query.attributes) != query.shape:
            raise DomainMismatch("the query was made for another domain")
        factors = {self.domain.index(a): f for a, f in zip(query.attributes, query.factors, strict=True)}
        scaled = {a: (f / max(int(f.max()), 1)) ** power for a, f in factors.items()}
        largest = prod(int(f.max()) for f in factors.values()) / ONE if factors else 1.0
        return self.beliefs.expectation(scaled) * largest**power

    # -- learning -----------------------------------------------------------------------------------------

    def update(self, query: Query, value: float, eta: float) -> int:
        """One step of the MW rule towards `value`; -1 if the answer was lowered, +1 if it was raised."""
        return multiplicative_weights(self, query, value, eta)

    def update_bound(self, alpha: float) -> float:
        """[DR14] Thm 4.10: how many true distinguishing updates there can be, with eta = alpha/2."""
        return update_bound(self.domain.size, alpha)

    def tilt(self, query: Query, step: float) -> None:
        """Multiply every weight by exp(step * query's weight), up to normalisation."""
        nodes = self._full(query.attributes)
        if not nodes:
            return
        if nodes not in self.potentials:
            if not self.whole and self.graph.cost(nodes, self.cells) > self.cells:
                raise RangeTooLarge(
                    f"the hypothesis would need more than {int(self.cells):,} cells: name fewer attributes"
                )
            self.graph.add(nodes)
        before = self.potentials.get(nodes, np.zeros(prod(query.shape)))
        self.potentials[nodes] = before + step * (query.weights.reshape(-1) / ONE)
        self._beliefs = None

    def fit(self, measurements: Sequence[Measurement], **options: Any) -> Fit:
        """Fit noisy tables, plain or grouped, starting from what the hypothesis already believes."""
        return self.fit_targets([self.target(m) for m in measurements], **options)

    def target(self, measurement: Measurement) -> Target:
        """A measured table in terms of this hypothesis's nodes."""
        sigma = max(float(np.sqrt(measurement.noise.variance)), _EXACT)
        counts = measurement.counts.reshape(-1)
        if measurement.workload is None:
            if not measurement.attributes:
                return Target((), counts, sigma)
            names = self.domain.order(measurement.attributes)
            axes = [measurement.attributes.index(a) for a in names]
            return Target(self._full(names), measurement.counts.transpose(axes).reshape(-1), sigma)
        blocks = measurement.workload.blocks
        if len(blocks) != 1 or not isinstance(blocks[0], GroupBlock):
            raise UnsupportedQuery("a factored hypothesis fits whole tables, not single answers")
        return Target(
            tuple(self._node(*g) for g in zip(blocks[0].attributes, blocks[0].groups, strict=True)),
            counts,
            sigma,
        )

    def _node(self, attribute: str, groups: NDArray[np.int64]) -> Node:
        a = self.domain.index(attribute)
        for r, known in enumerate(self.resolutions.maps[a]):
            if np.array_equal(known, groups):
                return (a, r)
        raise DomainMismatch(f"the hypothesis does not know this grouping of {attribute!r}")

    def fit_targets(
        self,
        targets: Sequence[Target],
        *,
        total: float | None = None,
        iterations: int = 200,
        slack: float = 1.0,
        guard: bool = True,
        agreed: bool = False,
    ) -> Fit:
        """Fit noisy tables; refits with another slack when the one-way tables come out wrong.

        Args:
            targets: the measured tables.
            total: the number of rows, when it is public.
            iterations: of L-BFGS.
            slack: how cheaply a cell may differ from what was measured.
            guard: whether to look at the one-way tables and refit.
            agreed: whether the tables have the same margins already, and each is there once.
        """
        self.total = max(measured_total(targets) if total is None else total, 1.0)
        known = list(targets)
        if not agreed:
            known = consistent(self.resolutions, combined([t for t in targets if t.nodes]), self.total)
        for t in known:
            if t.nodes not in self.potentials:
                self.potentials[t.nodes] = np.zeros(len(t.counts))
                self.graph.add(t.nodes)
        fit, wrong = self._descend(known, iterations, slack)
        if not guard or wrong <= _WRONG:
            return fit
        tried = [(wrong, fit, dict(self.potentials))]
        for other in _SLACKS:
            self.potentials = {n: np.zeros_like(t) for n, t in self.potentials.items()}
            fit, wrong = self._descend(known, max(iterations, 100), slack * other)
            tried.append((wrong, fit, dict(self.potentials)))
            if wrong <= _WRONG:
                break
        _, fit, self.potentials = min(tried, key=lambda t: t[0])
        self._beliefs = None
        return fit

    def _descend(self, targets: Sequence[Target], iterations: int, slack: float) -> tuple[Fit, float]:
        """Minimise the dual; how it went, and how many noise variances the one-way tables are off."""
        if not targets:
            return Fit(0, 0.0, self.total), 0.0
        free = [t.nodes for t in targets]
        rest = [n for n in self.potentials if n not in set(free)]
        beliefs = self._build([*free, *rest, *self.fixed])
        cut = int(beliefs.starts[len(free)])
        # No cell holds more than all rows: a count beyond that would push its potential out of all bounds.
        y = np.minimum(np.concatenate([t.counts for t in targets]), self.total)
        sigma = np.concatenate([np.full(len(t.counts), t.sigma) for t in targets])
        # The price of a deviation: a cell of count c with noise sigma knows its potential up to sigma / c. It
        # has a least, so that tables that no rows could have do not push potentials without end.
        each = np.concatenate([np.full(len(t.counts), slack * t.slack) for t in targets])
        price = each * np.maximum(sigma**2 / np.maximum(y, sigma), sigma / _STEEPEST)
        still = [*(self.potentials[n] for n in rest), *self.fixed.values()]
        held = np.concatenate(still) if still else np.zeros(0)
        theta = np.concatenate([self.potentials[n] for n in free])
        function = Dual(beliefs, y, price, self.total, held)
        function(theta)
        scale = 1.0 / (np.maximum(np.maximum(self.total * beliefs.projected[:cut], y), sigma / 2.0) + price)
        theta, steps = minimise(function, theta, scale, iterations, tolerance=1e-7 * self.total)
        for i, n in enumerate(free):
            self.potentials[n] = theta[beliefs.starts[i] : beliefs.starts[i + 1]].copy()
        self._beliefs = beliefs
        gap = self.total * beliefs.project()[:cut] - y
        wrong = 0.0
        for i, n in enumerate(free):
            here = slice(beliefs.starts[i], beliefs.starts[i + 1])
            if len(n) == 1 and np.abs(gap[here]).sum() > _MATTERS * self.total:
                wrong = max(wrong, float(((gap[here] / sigma[here]) ** 2).mean()))
        return Fit(steps, float(((gap / sigma) ** 2).mean()), self.total), wrong

    def brought(self, margins: Mapping[str, Floats]) -> FactoredHypothesis:
        """The same with these tables of single attributes, and its own of the others that were fitted.

        Iterative proportional fitting: each step is the nearest distribution, by relative entropy, that has
        the table.

        Args:
            margins: by attribute, in rows.
        """
        made, wanted = self.restored(), {self._full((a,)): table for a, table in margins.items()}
        for nodes, table in wanted.items():
            made.potentials.setdefault(nodes, np.zeros(table.size))
            made.graph.add(nodes)
        alone = [n for n in made.potentials if len(n) == 1 and n[0][1] == 0]
        goals = {n: wanted[n] / wanted[n].sum() if n in wanted else made.table(n) for n in alone}
        beliefs = made.beliefs
        for _ in range(_SWEEPS):
            for nodes, goal in goals.items():
                now = np.maximum(made.table(nodes), _NONE)
                step = np.log(np.maximum(goal, _NONE) / now).reshape(-1)
                made.potentials[nodes] = made.potentials[nodes] + step
                beliefs.calibrate(np.concatenate([*made.potentials.values(), *made.fixed.values()]))
        return made.restored()

    def restored(self) -> FactoredHypothesis:
        """The same as from a file: answers must not depend on how it was fitted."""
        return FactoredHypothesis.restore(
            self.domain, self.resolutions, self.potentials, self.fixed, total=self.total, cells=self.cells,
            whole=self.whole, zeros=self.zeros,
        )  # fmt: skip

    # -- rows and files -----------------------------------------------------------------------------------

    def sample(self, rows: int, *, seed: int | None = None) -> dict[str, NDArray[np.int64]]:
        """Level codes of made-up rows, one column per attribute; cells in proportion, rounded systematically.

        Args:
            rows: how many.
            seed: for the same rows again; what is public may be drawn from any seed.
        """
        columns = draw_rows(self.beliefs, rows, seed)
        return {name: columns[a] for a, name in enumerate(self.domain)}

    @classmethod
    def restore(
        cls,
        domain: Domain,
        resolutions: Resolutions,
        potentials: Mapping[Nodes, Floats],
        fixed: Mapping[Nodes, Floats],
        **options: Any,
    ) -> FactoredHypothesis:
        """The hypothesis with a given state; equal states give equal answers."""
        made = cls(domain, resolutions=resolutions, **options)
        made.fixed, made.potentials = dict(fixed), dict(potentials)
        made._start(resolutions)
        return made
