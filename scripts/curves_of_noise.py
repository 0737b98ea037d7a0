"""Curves of what measures and does not learn from question to question: noise, choices, projections, sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from curve_worlds import BETA, cells, curator, late, off, skewed, subsets
from curves import Curve, Series

import hedgerow as hr
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector_plan import plan
from hedgerow.privacy.budget import Cost

theory = hr.theory


def laplace() -> Curve:
    """[W3] Thm 3.8: independent Laplace noise of scale k/epsilon on k counts."""
    ks, domain, epsilon = [2**i for i in range(0, 11, 2)], cells(64), 1.0
    rows = skewed(1000, 64)
    table = hr.Table.open(rows, domain)
    measured = []
    for k in ks:  # every question counts the first cell, so that a row of it moves all k answers
        masks = np.random.default_rng(9).integers(0, 2, (k, 64))
        masks[:, 0] = 1
        questions = hr.Workload.of([hr.Query.of(domain, ("x",), mask) for mask in masks])
        truth = questions.truth(rows, domain)

        def draw(seed: int, questions: Any = questions, truth: Any = truth) -> float:
            c = curator(table, domain, epsilon, seed=seed, neighbours="add_remove")
            return off(hr.LaplaceBaseline().release(c, questions).answer(questions), truth)

        measured.append(late(draw))
    bound = [theory.w3.thm_3_8(k, k / epsilon, BETA) for k in ks]
    return Curve("laplace", "k", "largest error of k counts, in rows", "epsilon 1, a row moves all k", ks).of(
        {"measured": measured}, {"[W3] Thm 3.8": bound}
    )


def response() -> Curve:
    """[W3]: randomised response on whole rows."""
    ns, size, k = [10**3, 10**4, 10**5, 10**6], 8, 100
    domain = cells(size)
    questions, measured = subsets(domain, k), []
    for n in ns:
        rows = skewed(n, size)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)

        def draw(seed: int, n: int = n, table: Any = table, truth: Any = truth) -> float:
            released = hr.RandomizedResponse(by="row").release(
                curator(table, domain, 1.0, seed=seed), questions
            )
            return off(released.answer(questions), truth) / n

        measured.append(late(draw))
    bound = [theory.w3.randomized_response(k, n, size, 1.0, BETA) / n for n in ns]
    return Curve(
        "randomized-response", "n", "largest error of 100 queries, part of n", "|X| = 8, epsilon 1", ns
    ).of({"measured": measured}, {"[W3], Hoeffding": bound})


def histogram() -> Curve:
    """[W3]: Laplace noise on every cell."""
    sizes, k, n = [2**i for i in range(4, 15, 2)], 100, 10_000
    measured, bound = [], []
    for size in sizes:
        domain = cells(size)
        rows, questions = skewed(n, size), subsets(cells(size), k)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)

        def draw(seed: int, d: Any = domain, t: Any = table, q: Any = questions, v: Any = truth) -> float:
            return off(
                hr.HistogramRelease(noise="laplace").release(curator(t, d, 1.0, seed=seed), q).answer(q), v
            )

        measured.append(late(draw))
        bound.append(theory.w3.histogram(k, size / 2, 2.0, BETA, laplace=True))
    return Curve(
        "histogram", "|X|", "largest error of 100 queries, in rows", "epsilon 1, rows may be swapped", sizes
    ).of({"measured": measured}, {"[W3]": bound})


def sparse_vector() -> Curve:
    """[DR14] Thm 3.28: NumericSparse, with and without delta, against the number of updates."""
    counts, k, series = [1, 3, 10, 30, 100, 300], 10_000, []
    for delta in (0.0, 1e-6):
        bound = [theory.dr14.thm_3_28(k, c, BETA, 1.0, delta) for c in counts]
        measured = [_margin(k, c, delta, alpha) for c, alpha in zip(counts, bound, strict=True)]
        words = "delta 1e-6" if delta else "delta 0"
        series += [Series(f"measured, {words}", measured), Series(f"Thm 3.28, {words}", bound, True)]
    return Curve(
        "sparse-vector", "c", "accuracy alpha, in rows", "k = 10,000 questions, epsilon 1", counts, series
    )


def _margin(k: int, c: int, delta: float, alpha: float) -> float:
    """The least alpha that would have been kept: how far on the wrong side an outcome was, or a value off."""
    made = plan("numeric_sparse", Cost("epsilon", 1), Fraction(1), 0, 1, count=c, epsilon=1, delta=delta)

    def draw(seed: int) -> float:
        entropy = hr.testing.seeded(seed)
        rng = np.random.default_rng(seed)
        values = rng.integers(
            -round(1.5 * alpha), -round(alpha / 4), k
        )  # most questions are below, some nearly not
        values[rng.choice(k, c, replace=False)] = round(1.5 * alpha)
        _, places, released, asked = advance(made, begin(made, entropy), values.astype(np.int64), entropy)
        low = np.maximum(0, -values[places]).max(initial=0)  # said "above", was below by so much
        below = np.delete(values[:asked], places)
        return float(max(low, below.max(initial=0), np.abs(released - values[places]).max(initial=0)))

    return late(draw)


def small_db() -> Curve:
    """[DR14] Prop. 4.4 and Thm 4.5: SmallDB at the alpha that is best for n."""
    ns, domain, measured, own = [100, 300, 1000, 3000], cells(4), [], []
    questions = hr.Workload.of(
        [hr.Query.of(domain, ("x",), [(mask >> i) & 1 for i in range(4)]) for mask in range(1, 15)]
    )
    for n in ns:
        rows = skewed(n, 4)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)
        said: list[float] = []

        def draw(seed: int, n: int = n, t: Any = table, v: Any = truth, said: list[float] = said) -> float:
            answer = hr.SmallDB().release(curator(t, domain, 1.0, seed=seed), questions).answer(questions)
            said.append(float(np.max(answer.error)) / n)
            return off(answer, v) / n

        measured.append(late(draw))
        own.append(max(said))
    bound = [theory.dr14.thm_4_5(n, 4, 14, 1.0, BETA) for n in ns]
    return Curve("small-db", "n", "largest error of 14 queries, part of n", "|X| = 4, epsilon 1", ns).of(
        {"measured": measured}, {"stated, Prop. 4.4": own, "Thm 4.5": bound}
    )


def projection() -> Curve:
    """[NTZ13]: projected noise stops growing with k; unprojected noise does not."""
    ks, size, n = [16, 64, 256, 1024, 4096], 64, 3000
    domain = cells(size)
    rows = skewed(n, size)
    table = hr.Table.open(rows, domain)
    plain, projected, bound = [], [], []
    for k in ks:
        questions = subsets(domain, k)
        truth = questions.truth(rows, domain)

        def rms(mechanism: Any, seed: int, q: Any = questions, v: Any = truth) -> float:
            released = mechanism.release(curator(table, domain, 1.0, 1e-6, seed, "add_remove"), q)
            return float(np.sqrt(np.mean((np.asarray(released.answer(q).value) - v) ** 2)))

        plain.append(late(lambda s, rms=rms: rms(hr.GaussianBaseline(), s), 5))
        projected.append(late(lambda s, rms=rms: rms(hr.Projection(), s), 5))
        rho = float(hr.Budget(epsilon=1.0, delta=1e-6).rho)
        column = float(np.sqrt(max(np.sum([q.weights / 2**20 for q in questions], axis=0))))
        bound.append(theory.ntz_projection(n, k, size, column / (2 * 0.95 * rho) ** 0.5, column, BETA))
    return Curve(
        "projection", "k", "root mean square error, in rows", "|X| = 64, n = 3,000, epsilon 1", ks
    ).of({"Gaussian noise alone": plain, "measured, projected": projected}, {"[NTZ13] with constants": bound})


def factorization() -> Curve:
    """Prefixes of an ordered attribute: noise on cells grows as the root of |X|, factorised as its log."""
    sizes = [16, 32, 64, 128, 256, 512]
    cellwise, measured, stated = [], [], []
    for size in sizes:
        domain = cells(size)
        rows, questions = skewed(5000, size), hr.prefixes(cells(size), 1)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)

        def run(mechanism: Any, seed: int, t: Any = table, d: Any = domain, q: Any = questions) -> Any:
            return mechanism.release(curator(t, d, 1.0, 1e-6, seed, "add_remove"), q).answer(q)

        cellwise.append(late(lambda s, run=run, v=truth: off(run(hr.HistogramRelease(), s), v)))
        measured.append(late(lambda s, run=run, v=truth: off(run(hr.Factorization(), s), v)))
        spread = float(np.max(run(hr.Factorization(), 0).error)) / 1.96
        stated.append(theory.gaussian_union(size, spread, BETA))
    return Curve(
        "factorization", "|X|", "largest error of all prefixes, in rows", "epsilon 1, delta 1e-6", sizes
    ).of(
        {"noise on cells": cellwise, "measured, factorised": measured},
        {"union bound, exact variances": stated},
    )


def composition() -> Curve:
    """[DRV10] Thm 3.3: what k acts of epsilon 0.1 cost together."""
    ks, each, slack = [1, 3, 10, 30, 100, 300, 1000, 3000], 0.1, 1e-6
    zcdp = []
    for k in ks:
        acts = theory.accountants.RenyiAccountant()
        acts.compose(theory.events.Laplace(1, 10), times=k)
        zcdp.append(acts.epsilon(slack))
    return Curve(
        "composition", "k", "epsilon of all acts together", "Laplace acts of epsilon 0.1, delta 1e-6", ks,
        [
            Series("sum, Thm 3.1", [theory.drv10.thm_3_1(each, 0, k)[0] for k in ks], True),
            Series("advanced, Thm 3.3", [theory.drv10.thm_3_3(each, 0, k, slack)[0] for k in ks], True),
            Series("Rényi, as accounted", zcdp),
        ],
    )  # fmt: skip


def experts() -> Curve:
    """[W12] Thm 12.4: regret of linear weights, and of Hedge, against a sequence that hurts the leader."""
    rounds, number = [50, 100, 300, 1000, 3000, 10_000], 16
    linear, hedge = [], []
    for t in rounds:
        gamma = theory.w12.thm_12_4_rate(number, t)
        linear.append(_regret(theory.experts.LinearWeights(number, gamma), t))
        hedge.append(_regret(theory.experts.Hedge(number, gamma), t))
    bound = [theory.w12.thm_12_4(number, t) for t in rounds]
    return Curve(
        "experts", "T", "regret, largest of ten sequences", "16 experts, losses of 1 and -1", rounds
    ).of({"linear weights": linear, "Hedge": hedge}, {"[W12] Thm 12.4": bound})


def _regret(make: Any, rounds: int) -> float:
    """How much more was lost than by the best expert, when losses are fair coins."""
    worst, start = 0.0, make._logs.copy()
    for seed in range(10):
        make._logs = start.copy()
        losses = np.random.default_rng(seed).choice([-1.0, 1.0], (rounds, start.size))
        lost = 0.0
        for row in losses:
            lost += float(make.distribution @ row)
            make.learn(row)
        worst = max(worst, lost - float(losses.sum(axis=0).min()))
    return worst


def running_totals() -> Curve:
    """Construction C: running totals by the square root of the summing matrix, against the horizon."""
    days = [10, 30, 100, 365, 1000]
    rho = float(hr.Budget(epsilon=1.0, delta=1e-6).rho)
    alone = (1 / (2 * rho)) ** 0.5
    each = [alone * t**0.5 for t in days]
    promised = [alone * theory.running_factor(t, t) for t in days]
    return Curve(
        "running-totals",
        "T",
        "standard deviation of the last day's total, rows",
        "epsilon 1, delta 1e-6",
        days,
    ).of({"every day measured anew": each}, {"square root of the sums": promised})
