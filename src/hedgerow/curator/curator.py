"""Curator: the one door between private rows and the world. It charges, evaluates, adds noise, returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.curator.forgetting import forgetting
from hedgerow.curator.noise import noise as sampling
from hedgerow.curator.noise.choice import CHOICES, Choice
from hedgerow.curator.noise.noise import Entropy
from hedgerow.curator.opening import open_ledger, scope_of
from hedgerow.curator.refining import mark_of
from hedgerow.curator.rows.table import Rows, Table
from hedgerow.curator.runs.comparison import State, advance
from hedgerow.curator.runs.sparse_vector_plan import RESERVED, SparseVectorPlan, planned
from hedgerow.curator.spender import Spend, Spender, divided
from hedgerow.curator.statistics.claimed import a_score, claims_of
from hedgerow.curator.statistics.statistics import Score, Statistic
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.errors import LedgerError, UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import (
    Budget,
    Cost,
    Privacy,
    gaussian_sigma,
    laplace_scale,
    selection_epsilon,
)
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.privacy.rational import Number
from hedgerow.queries.argument import one_of, text
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement, Noise, pack, unpack
from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.runs.one_sided import OneSidedRun
    from hedgerow.curator.runs.sparse_vector import SparseVectorRun
    from hedgerow.curator.runs.sparse_vector_plan import Method
    from hedgerow.queries.domain.domain import OpenDomain

NoiseChoice = Literal["auto", "laplace", "gaussian"]


class Curator(Spender):
    """The guardian of one table: everything that is learned about its rows passes here and is charged here.

    Args:
        table: the private rows.
        budget: what may be spent in all; needed when the ledger is new, refused when it differs.
        ledger: a path, `postgresql://...`, `":memory:"` for simulation, an open `Ledger`, or a store of
            one's own (`hedgerow.extending.Store`); by default the file beside the data.
        neighbours: `add_remove` (one unit more or less) or `replace` (one unit swapped).
        new_ledger: the reason for a new ledger although another one knows the data; kept in its first line.
        entropy: only for tests, see `hedgerow.testing.seeded`; marks every result as not private.
    """

    def __init__(
        self,
        table: Table,
        budget: Budget | None = None,
        ledger: Ledger | Store | str | Path | LedgerUrl | None = None,
        neighbours: Literal["add_remove", "replace"] | None = None,
        *,
        new_ledger: str | None = None,
        entropy: Entropy | None = None,
        account: str = "owner",
    ) -> None:
        if not isinstance(table, Table):
            raise UnsupportedQuery("a curator guards a Table; see hedgerow.Table.open")
        if not isinstance(budget, Budget | None):
            raise UnsupportedQuery("a budget is given as hedgerow.Budget(epsilon=..., delta=...)")
        if not isinstance(ledger, Ledger | Store | str | PathLike | LedgerUrl | None):
            raise LedgerError("a ledger is an open Ledger, a file, postgresql://..., or ':memory:'")
        self.table = table
        super().__init__(open_ledger(table, budget, ledger, neighbours, new_ledger, account), account)
        self.scope = scope_of(table)
        self._entropy = entropy or sampling.current_entropy()
        settings = self.ledger.settings  # what is kept of them never changes
        self._privacy = settings.privacy
        self._rows = Rows(table, self.ledger.row_key, settings.spelling)

    @property
    def domain(self) -> Domain | OpenDomain:
        """The declared domain."""
        return self.table.domain

    @property
    def privacy(self) -> Privacy:
        """Whom the promise protects; the one source of every sensitivity."""
        return self._privacy

    @property
    def private(self) -> bool:
        """False when results come from test randomness or are charged to a simulated ledger."""
        return self.real_noise and not self.ledger.simulation

    @property
    def real_noise(self) -> bool:
        """Whether noise comes from the operating system's entropy and from nothing else."""
        return type(self._entropy) is sampling.OSEntropy

    @property
    def units(self) -> int | None:
        """The number of protected units where that is public (`replace`), else None."""
        return self._rows.units() if self.privacy.neighbours == "replace" else None

    @property
    def rows(self) -> int | None:
        """The number of rows where that is public (`replace` with one row per unit), else None."""
        return self.units if self.privacy.max_rows == 1 else None

    def same_rows(self, other: Curator) -> bool:
        """Whether another curator guards the same open rows and charges the same ledger."""
        return self._rows is other._rows and self.ledger is other.ledger

    def measure(
        self,
        target: Any,
        spend: Spend = None,
        *,
        noise: NoiseChoice = "auto",
        request: str | None = None,
        note: str = "",
    ) -> Measurement:
        """Measure a question - SQL, a query, attribute names, a workload, a list of these - with fresh noise.

        The measurement holds the noisy counts behind the question; its `reply` puts them together again.

        Privacy: the discrete Laplace mechanism ([GRS09]) or the discrete Gaussian mechanism ([CKS20] Thm 4)
        at the sensitivity that `Privacy` gives; charged in the same ledger transaction that draws the noise.

        Args:
            target: what to measure.
            spend: an epsilon, Budget or Cost; all that remains if None.
            noise: `laplace`, `gaussian`, or the best for the ledger's currency.
            request: an id under which the same answer is returned again, free.
            note: words kept in the ledger.
        """
        return self.measure_all([target], spend, noise=noise, request=request, note=note)[0]

    def measure_all(
        self,
        targets: Sequence[Any],
        spend: Spend = None,
        *,
        shares: Sequence[Any] | None = None,
        noise: NoiseChoice = "auto",
        request: str | None = None,
        note: str = "",
        run: str | None = None,
    ) -> list[Measurement]:
        """Measure several things at once, in one pass over the rows and one line of the ledger.

        Args:
            targets: what to measure.
            spend: the price of everything together.
            shares: how the price is divided; equally if None.
            noise, request, note: as in `measure`.
            run: a label to find this act again by.
        """
        if not isinstance(targets, Iterable) or isinstance(targets, str):
            raise UnsupportedQuery("measure_all takes a list of what `measure` takes one by one")
        unit = self.table.unit.column if self.table.unit else None
        asked = [MeasureTarget.of(t, self.domain, unit) for t in targets]
        stats = [t.statistic for t in asked]
        if not stats:
            raise UnsupportedQuery("there is nothing to measure")
        one_of("noise", noise, "auto", "laplace", "gaussian")
        prices = divided(self.price(spend, request), shares, len(stats))
        laws, acts = zip(*(self._law(s, p, noise) for s, p in zip(stats, prices, strict=True)), strict=True)
        event = acts[0] if len(acts) == 1 else events.Together(acts)
        question = "measure:" + ",".join(s.digest for s in stats) + event_text(event)

        def evaluate() -> list[NDArray[np.int64]]:
            if self._finite:
                self._rows.tables([c for s in stats for c in s.cliques])  # one pass for everything
            return [s.exact(self._rows) for s in stats]

        def draw(exact_values: list[NDArray[np.int64]]) -> list[NDArray[Any]]:
            return [v + self._noise(law, v) for law, v in zip(laws, exact_values, strict=True)]

        known: dict[str, Any] = {"request": request, "note": note, "run": run, "claims": claims_of(*stats)}
        values = self._act(event, evaluate, draw, question, **known)
        return [t.measurement(law, v, self.private) for t, law, v in zip(asked, laws, values, strict=True)]

    def select(
        self,
        score: Score,
        spend: Spend = None,
        *,
        method: Choice = "exponential",
        request: str | None = None,
        note: str = "",
        run: str | None = None,
    ) -> int:
        """Choose a candidate of nearly the highest score.

        Privacy: the exponential mechanism ([MT07] Thm 6; bounded range [DDR20]), permute-and-flip ([MS20] Thm
        1) or report-noisy-max (the theorem of `curator.noise.noisy_max`) at the score's own sensitivity;
        charged in the transaction that draws the choice.

        Args:
            score: one of `hedgerow.primitives`, or a claimed one (`hedgerow.extending`).
            spend: an epsilon, Budget or Cost.
            method: `exponential`; `permute_and_flip` (never worse under pure epsilon); `report_noisy_max`
                (with geometric noise), `report_noisy_max_laplace`.
            request, note, run: as in `measure_all`.
        """
        score = a_score(score, self._domain)
        one_of("method", method, *CHOICES)
        kind, draw = CHOICES[method]
        epsilon = selection_epsilon(self.price(spend, request), bounded_range=kind is events.Exponential)
        sensitivity = self.privacy.sensitivity(score.norms).l1
        event = kind(epsilon)

        def choose(scores: NDArray[np.int64]) -> list[NDArray[Any]]:
            return [np.array(draw(scores, sensitivity, epsilon, self._entropy), dtype=np.int64)]

        question = f"select:{method}:{score.digest}" + event_text(event)
        known: dict[str, Any] = {"request": request, "note": note, "run": run, "claims": claims_of(score)}
        return int(self._act(event, lambda: score.exact(self._rows), choose, question, **known)[0])

    def sparse_vector(
        self,
        threshold: Number,
        spend: Spend = None,
        *,
        method: Method = "above_threshold",
        count: int = 1,
        delta: Number | None = None,
        length: int | None = None,
        allocation: Literal["even", "optimised"] = "optimised",
        denominator: int = ONE,
        run: str | None = None,
        note: str = "",
    ) -> SparseVectorRun:
        """Open a sparse-vector run: any number of "below" answers, `count` "above", charged whole, now.

        Privacy: AboveThreshold, Sparse and NumericSparse ([DR14] Sec. 3.6, discrete noise), Sparse with one
        threshold ([LSL17] Alg. 1), or Gaussian noise with a bounded stream ([ZW20]); the proofs are in
        `curator.runs.comparison`. The noisy threshold is drawn in the transaction that makes the charge.

        Args:
            threshold: T, in rows.
            spend: an epsilon, Budget or Cost for the whole run.
            method: `above_threshold`, `sparse` (a new threshold after each above), `sparse_once` (one
                threshold for all), `numeric_sparse` (values too), `gaussian`.
            count: c, the most "above" before the run closes.
            delta: numeric_sparse: the paper's (epsilon, delta) scales, charged as what they compose to;
                gaussian: what the charge takes of the delta kept for such acts (all that is left if None).
            length: the most questions of a `gaussian` run.
            allocation: how `sparse_once` divides epsilon.
            denominator: lattice steps per row; 1 is enough for counting queries.
            run: the run's label: a run that the ledger knows is continued, with its own threshold, free.
            note: words kept in the ledger.
        """
        from hedgerow.curator.runs.sparse_vector import SparseVectorRun

        made = planned(
            self, threshold, spend, method=method, count=count, delta=delta, length=length,
            allocation=allocation, denominator=denominator, run=run,
        )  # fmt: skip
        return SparseVectorRun(self, made, run, note)

    def one_sided(
        self,
        threshold: Number,
        spend: Spend = None,
        *,
        side: Literal["over", "under"],
        denominator: int = ONE,
        share: Number | None = None,
        run: str | None = None,
        note: str = "",
    ) -> OneSidedRun:
        """Open a one-sided sparse vector: any number of "below", one trip, charged whole, now.

        Privacy: the theorem of `curator.runs.one_sided`; only under `add_remove`. The noisy threshold is
        drawn in the transaction that makes the charge.

        Args:
            threshold: T, in rows.
            spend: an epsilon, Budget or Cost for the whole run.
            side: `over` tests answer - estimate, `under` tests estimate - answer.
            denominator: lattice steps per row; 1 is enough for counting queries.
            share: the part of the loss that the threshold's noise takes; see `one_sided.best_share`.
            run: the run's label: a run that the ledger knows is continued, with its own threshold, free.
            note: words kept in the ledger.
        """
        from hedgerow.curator.runs import one_sided

        made = one_sided.planned(
            self, threshold, spend, side=side, denominator=denominator, share=share, run=run
        )
        return one_sided.OneSidedRun(self, made, run, note)

    def __repr__(self) -> str:
        return f"Curator({self.table!r}, spent={self.spent!r}, remaining={self.remaining!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a curator holds private rows and cannot be pickled")

    # -- inside -------------------------------------------------------------------------------------------

    @property
    def _finite(self) -> bool:
        return isinstance(self.domain, Domain)

    @property
    def _domain(self) -> Domain:
        return self._rows.domain

    def _act(
        self,
        event: Event,
        evaluate: Callable[[], Any],
        draw: Callable[[Any], list[NDArray[Any]]],
        question: str,
        *,
        request: str | None = None,
        note: str = "",
        run: str | None = None,
        claims: Sequence[Claim] = (),
    ) -> list[NDArray[Any]]:
        """The law in one place: refuse, read, then charge and draw in one transaction, then return."""
        for name, given in (("a request id", request), ("a run's label", run), ("a note", note)):
            text(name, given)
        question, note = self.bound(question, note)
        if any((name or "").startswith(RESERVED) for name in (request, run)):
            raise LedgerError(f"names that begin with {RESERVED!r} belong to sparse-vector runs")
        if request is not None:
            known = self.ledger.recall(request, question, analyst=self.account)
            if known is not None and known.answer is not None:
                return unpack(known.answer)
        self.ledger.check(cost_of(event, self.ledger.currency), self.account)
        held: list[Any] = []  # emptied when it is drawn from, and when anything fails
        with forgetting(held):
            held.append(evaluate())
            entry = self.ledger.charge(
                event,
                lambda: (pack(draw(held.pop())), mark_of(self, event, request)),
                account=self.account,
                analyst=self.account,
                request=request,
                question=question,
                note=note,
                run=run,
                claims=claims,
            )
        assert entry.answer is not None
        return unpack(entry.answer)

    def _compare(
        self, plan: SparseVectorPlan, state: State, values: NDArray[np.int64], most: int | None = None
    ) -> tuple[State, NDArray[np.int64], NDArray[np.int64], int]:
        """Where the exact differences of a sparse vector meet noise; the run has been charged already."""
        return advance(plan, state, values, self._entropy, most)

    def bound(self, question: str, note: str) -> tuple[str, str]:
        """What a request id is bound to: the question, the domain, and whether the noise is real.

        An answer drawn from test randomness must not pass for a private one when it is replayed.
        """
        about = self.domain.fingerprint if isinstance(self.domain, Domain) else repr(self.domain)
        about += "" if self.scope is None else f" of blocks {self.table._engine!r}"
        if self.real_noise:
            return f"{question}@{about}", note
        return f"{question}@{about}:test randomness", f"NOT PRIVATE, test randomness. {note}".strip()

    def _law(self, stat: Statistic, price: Cost, choice: NoiseChoice) -> tuple[Noise, Event]:
        """The noise that a price buys for a statistic, and the event that says so."""
        sensitivity = self.privacy.sensitivity(stat.norms)
        if choice == "laplace" or (choice == "auto" and self.ledger.currency == "epsilon"):
            scale = laplace_scale(sensitivity.l1, price)
            return Noise("laplace", scale, stat.denominator), events.Laplace(sensitivity.l1, scale)
        sigma = gaussian_sigma(sensitivity.l2_squared, price)
        return Noise("gaussian", sigma, stat.denominator), events.Gaussian(sensitivity.l2_squared, sigma)

    def _noise(self, law: Noise, values: NDArray[np.int64]) -> NDArray[np.int64]:
        sample = sampling.discrete_laplace if law.family == "laplace" else sampling.discrete_gaussian
        return sample(law.scale, values.size, self._entropy).reshape(values.shape)


def event_text(event: Event) -> str:
    """An event as text, so that a request id is bound to the price too."""
    return repr(event.to_json())
