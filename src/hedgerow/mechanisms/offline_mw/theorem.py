"""Offline multiplicative weights as the theorem has it: [W12] Alg. 6."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from math import log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics.statistics import QueryErrors
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.dense.tables import tables_of
from hedgerow.mechanisms.account import Purse
from hedgerow.mechanisms.progress import Progress
from hedgerow.privacy.bounds import cor_12_5
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import ONE, Norms, Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.dense import Guarantee, settled
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain

TOTAL = Fraction(1, 20)  # of the price, for the number of rows where it is private
_CONFIDENCE = 0.95
# A choice of epsilon_0 costs epsilon_0^2/8 of rho, a Laplace measurement epsilon_0^2/2.
_SPLIT = {"epsilon": (1, 1), "rho": (1, 4)}


def play(
    purse: Purse,
    domain: Domain,
    queries: Workload,
    alpha: float,
    watch: Callable[[Progress], None],
) -> tuple[Learned, Guarantee, dict[str, Any]]:
    """The algorithm box, in counts, against a number of rows that is public or measured."""
    clock, account = time.process_time(), purse.curator
    total, left, noisy = purse.rows(TOTAL, "offline-mw: total", "laplace")
    rows = float(total)
    rounds = cor_12_5(domain.size, alpha)
    choice, measurement = divided(left, rounds)
    eta = sqrt(log(max(domain.size, 2)) / rounds)
    p = DenseHypothesis(domain, total=rows)
    measured: list[Measurement] = []
    stopped = False
    for t in range(rounds):
        watch(Progress(t, rounds, None, domain.size, time.process_time() - clock))
        tables = tables_of(p, queries.cliques)
        estimates = rows * np.asarray(queries.evaluate(tables.__getitem__), dtype=np.float64)
        chosen = account.select(
            QueryErrors(queries, estimates),
            choice,
            request=purse.request(f"choose {t}"),
            note="offline-mw: choose",
        )
        f: Query = queries[chosen]
        m = account.measure(
            f,
            measurement,
            noise="laplace",
            request=purse.request(f"measure {t}"),
            note="offline-mw: measure",
        )
        measured.append(m)
        y = float(estimates[chosen]) - float(m.counts[0])
        if abs(y) <= 2.0 * alpha * rows:
            stopped = True
            break
        _update(p, f, eta * float(np.sign(y)))
    epsilon = float(selection_epsilon(choice, bounded_range=True))
    row = float(account.privacy.sensitivity(Norms.query(1)).l1)
    law = None if noisy is None else noisy.noise
    laws = tuple(dict.fromkeys(m.noise for m in measured))
    held = Guarantee(alpha, rounds, stopped, epsilon, row, laws, law, rows, queries)
    bound = held.bound(_CONFIDENCE) / rows
    facts = {
        "alpha": alpha,
        "rounds": len(measured),
        "most_rounds": rounds,
        "stopped": stopped,
        "bound_as_fraction": bound,
        "bound_is_vacuous": bound >= 1.0,
    }
    hypothesis: Any = settled(p)
    return Learned(hypothesis, (*([noisy] if noisy else []), *measured), 0.0), held, facts


def divided(price: Cost, rounds: int) -> tuple[Cost, Cost]:
    """What a choice and a measurement of each round may cost."""
    choice, measurement = price.share(Fraction(1, rounds)).split(*_SPLIT[price.currency])
    return choice, measurement


def _update(p: DenseHypothesis, f: Query, step: float) -> None:
    """p_i proportional to p_i (1 - step f_i), the linear rule; step <= alpha / 2 <= 1/2 in size."""
    if f.counts:
        p.tilt(f, log1p(-step))
    else:
        p.scale(f.attributes, np.log1p(-step * f.weights / ONE))
