"""AdaptiveRelease: choose the table the hypothesis gets most wrong, measure it, fit, and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.learning.factored.factored import FactoredHypothesis, Zeros
from hedgerow.mechanisms.adaptive.everything import worth_holding
from hedgerow.mechanisms.adaptive.plan import CELL_BYTES
from hedgerow.mechanisms.adaptive.prior import PublicTables
from hedgerow.mechanisms.adaptive.run import Run
from hedgerow.mechanisms.fingerprint import fingerprint
from hedgerow.mechanisms.mechanism import Resumable, finite
from hedgerow.mechanisms.moments import measured_moments
from hedgerow.mechanisms.progress import Progress, unwatched
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAVIEST = 1e12  # a weight: sums of many are still numbers
DENSE_CELLS = 1 << 14
"""Domains of so few cells are held densely unless said otherwise."""
HASTE = 10.0
"""Seconds: who gives less has tables chosen, whose model can be kept as small as that needs."""
DENSE_LIMIT = 1 << 22
"""Larger domains are not held densely."""


@dataclass(frozen=True)
class AdaptiveRelease(Resumable):
    """All tables of a workload at once, or select - measure - fit, with a hypothesis that any domain fits.

    Privacy: what is public is the domain, the workload, these parameters, and everything already released.
    One-way tables are measured by the discrete Gaussian mechanism ([CKS20] Thm 4; under a pure budget by the
    discrete Laplace mechanism [GRS09]) at the sensitivity of a contingency table. Each round chooses by the
    exponential mechanism ([MT07]; bounded range [DDR20]; under a pure budget permute-and-flip [MS20]) among
    public candidates, scored by the L1 distance of the true table to the hypothesis's: a row is in one cell,
    so a score moves by 1 (2 when a row is swapped) times its weight. The chosen table, coarsened by groups
    that follow from released values, is measured as one more table. Where numbers have a step, what they are
    within their bins is measured first (`mechanisms.moments`), and single attributes and the total count
    beside the workload's tables. Where it is expected to be better, all residuals of the workload are
    measured instead, in one act of discrete Gaussian noise on whole numbers at the strategy's exact norms
    ([CKS20] Thm 4; residuals [XHZK23]); of many or noisy triples those of pairs inside them. Which is better
    may be told by one more such act, on the distances of pairs to independence
    (`curator.statistics.distances`), and by another, for sums, which pairs of many levels are worth it; how
    wide the bars of unmeasured tables are by a third, on their distances to what is answered. Where every
    cell is held, residuals may come in several such acts, with acts on the distances of triples to the
    fitted model between them: pairs first, then the triples that stand out, then the rest; before all of
    them, pairs of a number of many levels are measured as grouped tables, in runs of levels (`in_runs`).
    Fitting, groups, number of rounds and size of the model depend on released values only; the number of
    rows is the measured one (public under `replace`). Every act composes under the ledger's filter.
    Accuracy: no bound is proved; answers are `learned` and their error indicative.
    Charged in `Curator.measure_all` and `Curator.select`, from an account set aside for the run.

    Args:
        epsilon: what the release spends; all that remains of the curator's budget if None.
        budget: the same as a `Budget`.
        one_way: the part of it for one-way tables, or more (up to four fifths) where they are mostly noise.
        objective: `mean` lowers the mean error of tables; `max` the largest error of any cell.
        measurements: how many tables to measure; from the signal if None.
        seconds: about how long fitting may take, for models too large otherwise; turned into a limit on
            `cells` by a fixed rate, so that a run is repeatable.
        cells: how many cells the model may have; from the signal if None.
        memory: about how many megabytes the model and the tables it is compared with may take; a limit on
            `cells` and on the tables that are looked at.
        hypothesis: `dense` holds every cell of the domain, `factored` a tree of small tables; `auto` is dense
            where all cells are few.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> AdaptiveRelease(epsilon=1.0).objective
    'mean'
    """

    one_way: float = 0.35
    objective: Literal["mean", "max"] = "mean"
    measurements: int | None = None
    seconds: float | None = None
    cells: float | None = None
    memory: float | None = None
    hypothesis: Literal["auto", "dense", "factored"] = "auto"
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("MT07", "CKS20", "BS16", "DDR20", "XHZK23")
    account_kind: ClassVar[str] = "adaptive"

    def release(
        self,
        curator: Curator,
        workload: AnyQuestion,
        *,
        weights: Sequence[float] | None = None,
        prior: Synopsis | Mapping[str, Any] | None = None,
        zeros: Sequence[tuple[Sequence[str], Any]] = (),
        watch: Callable[[Progress], None] | None = None,
        choose: bool = False,
        sums: bool = False,
    ) -> ModelSynopsis:
        """Release a model of the rows that answers a workload well, and anything else as well as it can.

        Args:
            curator: the guardian of the rows.
            workload: what must be answered well; queries count through the tables behind them.
            weights: how much each block of the workload matters; all the same if None.
            prior: what is public already and a good start: a synopsis, or columns of public rows.
            zeros: pairs (attributes, array over their table, False where a combination cannot occur).
            watch: told how far the release is, and its current estimated error.
            choose: choose tables in any case, and never measure all of the workload at once.
            sums: measure all of it, where that can be, for sums over any levels rather than for cells. With
                `choose` only where noise is small; else tables are chosen, as for triples.
        """
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        self._check(queries, weights)
        believed = None if prior is None else PublicTables.of(domain, prior)
        everything = (sums or not choose) and self._everything(curator, queries, believed, zeros)
        model = self._model(domain, zeros, believed, queries.cliques if everything else ())
        plan = self._plan(domain, curator.account, queries, weights, believed, model.zeros)
        with self._paying(curator, plan) as purse:
            moments, rest = measured_moments(purse, domain)
            run = Run(rest, domain, queries, self, watch or unwatched)
            outcome, facts = run.learn(model, weights, everything_too=everything, sums=sums, choose=choose)
            outcome = replace(outcome, moments=moments)
        said = {"workload": queries.name} | facts | ({} if believed is None else {"prior": believed.digest})
        signed = self._signed(curator, purse.spent, self._own() | said)
        real = signed.private and (not isinstance(prior, Synopsis) or prior.private)
        return ModelSynopsis(domain, replace(signed, private=real), outcome)

    @property
    def most_cells(self) -> float | None:
        """The most cells that the caller lets the model have; None: no limit."""
        limits = [self.cells, None if self.memory is None else self.memory * 1e6 / CELL_BYTES]
        return min((x for x in limits if x is not None), default=None)

    # -- inside -------------------------------------------------------------------------------------------

    def _check(self, queries: Workload, weights: Sequence[float] | None) -> None:
        self._spend()
        if not 0.0 < self.one_way < 1.0:
            raise UnsupportedQuery("`one_way` is a part between 0 and 1")
        for name, known in (("objective", ("mean", "max")), ("hypothesis", ("auto", "dense", "factored"))):
            if getattr(self, name) not in known:
                raise UnsupportedQuery(f"the {name} is {' or '.join(known)}, not {getattr(self, name)!r}")
        for name in ("measurements", "seconds", "cells", "memory"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UnsupportedQuery(f"`{name}` is a positive number")
        if weights is not None and (len(weights) != len(queries.blocks) or not _fair(weights)):
            blocks = f"{len(queries.blocks)} blocks"
            raise UnsupportedQuery(f"there are {blocks} to weigh, each by a number from 0 to 1e12")
        if not any(b.attributes for b in queries.blocks):
            raise UnsupportedQuery("an adaptive release needs questions about at least one attribute")

    def _everything(
        self, curator: Curator, queries: Workload, prior: PublicTables | None, zeros: Sequence[Any]
    ) -> bool:
        """Whether all of the workload may be measured at once: tables, Gaussian noise, nothing declared."""
        plain = self.objective == "mean" and self.measurements is None and self.hypothesis != "factored"
        plain = plain and (self.seconds is None or self.seconds >= HASTE)
        gaussian = curator.ledger.currency == "rho"
        return plain and gaussian and queries.is_tables and prior is None and not zeros

    def _model(
        self,
        domain: Domain,
        zeros: Sequence[tuple[Sequence[str], Any]],
        prior: PublicTables | None,
        tables: Sequence[tuple[str, ...]],
    ) -> FactoredHypothesis:
        """What learns: it knows the declared zeros and the prior; refuses what leaves nothing possible.

        Args:
            domain, zeros, prior: what is declared.
            tables: what may be measured all at once; a larger domain is held densely for it.
        """
        few = domain.size <= min(DENSE_CELLS, self.most_cells or DENSE_CELLS)
        if tables and domain.size <= (self.most_cells or domain.size):
            few = few or worth_holding(domain.shape, tables)
        if self.hypothesis == "dense" and domain.size > DENSE_LIMIT:
            raise RangeTooLarge(
                f"all {domain.size:,} cells are more than the {DENSE_LIMIT:,} of a dense model: "
                "leave `hypothesis` out"
            )
        impossible = [Zeros(domain.order(names), _possible(domain, names, array)) for names, array in zeros]
        whole = self.hypothesis == "dense" or (self.hypothesis == "auto" and few)
        model = FactoredHypothesis(domain, zeros=impossible, cells=4e7, whole=whole)
        if prior is not None:
            prior.hold(model)
        _ = model.beliefs  # refuses here, before anything is charged
        return model

    def _plan(
        self,
        domain: Domain,
        account: str,
        queries: Workload,
        weights: Sequence[float] | None,
        prior: PublicTables | None,
        zeros: Sequence[Zeros],
    ) -> bytes:
        """Everything public that the run depends on."""
        weighed = None if weights is None else [float(w) for w in weights]
        plan = fingerprint(self, queries.digest, weighed, account) + domain.fingerprint
        none = b"".join(
            repr(z.attributes).encode() + np.ascontiguousarray(z.possible).tobytes() for z in zeros
        )
        return plan.encode() + none + (b"" if prior is None else prior.digest.encode())


def _fair(weights: Sequence[float]) -> bool:
    return all(0.0 <= w <= _HEAVIEST for w in weights) and any(w > 0.0 for w in weights)


def _possible(domain: Domain, names: Sequence[str], array: Any) -> NDArray[np.bool_]:
    """An array of what is possible, its axes put into the domain's order."""
    given, order = np.array(array, dtype=np.bool_), domain.order(names)
    if len(order) != len(names) or given.shape != domain.shape_of(names):
        raise DomainMismatch(f"the zeros of {' x '.join(names)} do not have the shape of that table")
    return np.ascontiguousarray(given.transpose([list(names).index(a) for a in order]))
