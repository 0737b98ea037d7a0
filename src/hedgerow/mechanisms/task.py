"""Task: everything public that a mechanism is chosen for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Budget, Cost, Neighbours, Privacy
from hedgerow.queries.asked import asked_names
from hedgerow.queries.block import Block, ProductBlock
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.query import Norms
from hedgerow.queries.workload import Workload

TABLES = 60
"""Errors are simulated on so many blocks of a workload, chosen in proportion to their queries."""

MOST_ROWS = 10**12


@dataclass(frozen=True)
class Task:
    """What is known before any row is read.

    Args:
        domain: the declared schema, or an `OpenDomain`.
        rows: about how many rows there are.
        workload: what is to be answered; None for an open domain described by `sparsity` and `queries`.
        budget: what may be spent.
        privacy: whom it protects.
        sparsity: open domains: the most names in a query.
        queries: how many queries.
        beta: how often a theorem's bound may fail.
        within: the error, as a part of the rows, that `rows needed` is stated for.
    """

    domain: Domain | OpenDomain
    rows: int
    workload: Workload | None
    budget: Budget
    privacy: Privacy
    sparsity: int
    queries: int
    beta: float = 0.05
    within: float = 0.1

    @classmethod
    def of(
        cls,
        domain: Any,
        rows: Any,
        workload: Any,
        budget: Any,
        neighbours: Neighbours = "add_remove",
        max_rows: int = 1,
        sparsity: int | None = None,
        queries: int | None = None,
    ) -> Task:
        """A task from what a user gives; refuses in one sentence what makes none."""
        if not isinstance(domain, (Domain, OpenDomain)):
            raise UnsupportedQuery("a plan is made for a Domain or an OpenDomain; see Domain.load")
        if isinstance(rows, bool) or not isinstance(rows, int) or not 0 < rows <= MOST_ROWS:
            raise UnsupportedQuery(f"the number of rows is a whole number from 1 to {MOST_ROWS:,}")
        if not isinstance(budget, Budget):
            raise UnsupportedQuery("a plan needs a budget, for example hr.Budget(epsilon=1, delta=1e-9)")
        if budget.cost.is_zero or not budget.cost.amount:
            raise UnsupportedQuery("a plan needs a budget that is not nothing")
        try:
            privacy = Privacy(neighbours, max_rows)
        except ValueError as error:
            raise UnsupportedQuery(str(error)) from None
        for name, value in (("sparsity", sparsity), ("queries", queries)):
            if value is not None and (type(value) is not int or value < 1):
                raise UnsupportedQuery(f"{name} is a whole number, 1 or more")
        if isinstance(domain, OpenDomain):
            m, k = _sparse(workload, sparsity, queries)
            return cls(domain, rows, None, budget, privacy, m, k)
        if sparsity is not None:
            raise UnsupportedQuery("sparsity is for an OpenDomain; a schema's queries come as a workload")
        if workload is None:
            raise UnsupportedQuery("a plan needs a workload, for example hr.marginals(domain, 2)")
        asked = Workload.of(workload, domain)
        return cls(domain, rows, asked, budget, privacy, 0, queries or len(asked))

    @property
    def price(self) -> Cost:
        """All of the budget, as a ledger would hold it."""
        return self.budget.cost

    @property
    def amount(self) -> float:
        """Epsilon or rho, as the currency says."""
        return float(self.price.amount)

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon."""
        return self.budget.currency == "epsilon"

    @property
    def total_is_public(self) -> bool:
        """Whether the number of rows need not be measured."""
        return self.privacy.neighbours == "replace" and self.privacy.max_rows == 1

    @property
    def row(self) -> float:
        """How far one unit moves a count."""
        return float(self.privacy.sensitivity(Norms.query(1)).l1)

    @property
    def open_ended(self) -> bool:
        """Whether rows are names without end."""
        return isinstance(self.domain, OpenDomain)

    @property
    def finite(self) -> Domain:
        """The declared schema."""
        assert isinstance(self.domain, Domain)
        return self.domain

    @property
    def asked(self) -> Workload:
        """The workload of a schema."""
        assert self.workload is not None
        return self.workload

    @property
    def selection_epsilon(self) -> float:
        """The epsilon of one exponential mechanism that costs everything."""
        return self.amount if self.pure else float((8.0 * self.amount) ** 0.5)

    def with_budget(self, budget: Budget) -> Task:
        """The same task for another budget."""
        return replace(self, budget=budget)

    def with_rows(self, rows: int) -> Task:
        """The same task for another number of rows."""
        return replace(self, rows=rows)

    def with_blocks(self, number: int) -> Task:
        """The same task for some of the workload's blocks, spread evenly over it."""
        blocks = self.asked.blocks
        places = sorted({int((i + 0.5) * len(blocks) / number) for i in range(number)})
        some = Workload([blocks[i] for i in places], name=f"{len(places)} blocks of {self.asked.name}")
        return replace(self, workload=some, queries=len(some))

    @cached_property
    def sample(self) -> tuple[tuple[Block, float], ...]:
        """Blocks that errors are taken over and their weights: all of a few, else in proportion to size."""
        blocks = self.asked.blocks
        if len(blocks) <= TABLES:
            return tuple((b, float(len(b))) for b in blocks)
        ends = np.cumsum([len(b) for b in blocks])
        points = (np.arange(TABLES) + 0.5) * (ends[-1] / TABLES)
        places, times = np.unique(np.searchsorted(ends, points, side="right"), return_counts=True)
        return tuple((blocks[i], float(t)) for i, t in zip(places, times, strict=True))

    @property
    def counting(self) -> bool:
        """Whether every query counts rows (weights 0 and 1)."""
        return all(isinstance(b, ProductBlock) or b.denominator == 1 for b in self.asked.blocks)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        epsilon = self.budget.epsilon
        return {
            "rows": self.rows,
            "domain_cells": str(self.domain.size),
            "workload": None if self.workload is None else self.workload.name,
            "queries": self.queries,
            "sparsity": self.sparsity or None,
            "epsilon": epsilon if isfinite(epsilon) else None,
            "rho": None if self.pure else self.budget.rho,
            "delta": self.budget.delta,
            "neighbours": self.privacy.neighbours,
            "max_rows": self.privacy.max_rows,
            "beta": self.beta,
            "within": self.within,
        }


def _sparse(workload: Any, sparsity: int | None, queries: int | None) -> tuple[int, int]:
    """m and k of an open domain's task."""
    if workload is None:
        if sparsity is None or queries is None:
            raise UnsupportedQuery(
                "an open domain needs sparse queries as its workload, or sparsity= and queries="
            )
        return sparsity, queries
    listed = asked_names(workload)
    widest, many = max(len(q.texts) for q in listed), len(listed)
    if (sparsity or widest) < widest or (queries or many) < many:
        raise UnsupportedQuery(
            f"the workload has {many:,} queries of up to {widest:,} names: sparsity= and queries= are no less"
        )
    return sparsity or widest, queries or many
