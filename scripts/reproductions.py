"""The error curves of the papers, made again: `python scripts/reproductions.py [NAME ...]`.

Each function, here and in `curves_of_noise.py`, runs one algorithm over a range of n, k, |X| or epsilon on
made-up rows and puts what it measured beside what the theorem promises. A measured point is what three
quarters of (mostly) 20 runs stay below: a promise that may fail with probability 5% should lie above it.
Seeds are fixed, so the same command draws the same picture. Rows are public here; no release is made so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import curves_of_noise as noise
import numpy as np
from curve_worlds import BETA, cells, curator, late, off, skewed, subsets
from curves import FOLDER, Curve, Series, write

import hedgerow as hr
from hedgerow.privacy.bounds import idc_rows

theory = hr.theory


def online_mw() -> Curve:
    """[DR14] Thm 4.14 and 4.15: OnlineMW in theorem mode, with and without delta."""
    ns, size, k, series = [10**5, 316_228, 10**6, 3_162_278, 10**7], 16, 64, []
    domain = cells(size)
    questions = subsets(domain, k)
    worlds = [(hr.Table.open(r, domain), questions.truth(r, domain)) for r in (skewed(n, size) for n in ns)]
    for delta in (0.0, 1e-6):
        bound, measured = [], []
        for n, (table, truth) in zip(ns, worlds, strict=True):
            if delta:
                alpha = theory.dr14.thm_4_15(n, size, k, 1.0, delta, BETA)
            else:
                alpha = theory.dr14.thm_4_14(n, size, k, 1.0, BETA)
            alpha *= 1.005  # c is rounded up
            bound.append(3 * alpha)

            def draw(
                seed: int,
                n: int = n,
                alpha: float = alpha,
                delta: float = delta,
                t: Any = table,
                v: Any = truth,
            ) -> float:
                c = curator(t, domain, 1.0, 2 * delta, seed)
                mechanism = hr.OnlineMW(alpha=alpha, queries=k, epsilon=1.0, delta=delta or None, beta=BETA)
                return off(mechanism.open(c).ask(questions), v) / n

            measured.append(late(draw, 5))
        words = ("delta 1e-6", "Thm 4.15") if delta else ("delta 0", "Thm 4.14")
        series += [Series(f"measured, {words[0]}", measured), Series(f"3 alpha, {words[1]}", bound, True)]
    return Curve(
        "online-mw", "n", "largest error of 64 queries, part of n", "|X| = 16, epsilon 1", ns, series
    )


def offline_mw() -> Curve:
    """[W12] Thm 12.6 with its constants, and the tuned mode beside it."""
    ns, size, k = [10**4, 10**5, 10**6, 10**7], 16, 64
    domain = cells(size)
    questions = subsets(domain, k)
    measured, stated, tuned = [], [], []
    for n in ns:
        rows = skewed(n, size)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)

        def play(
            seed: int, alpha: float | None, n: int = n, t: Any = table, v: Any = truth
        ) -> tuple[float, float]:
            c = curator(t, domain, 1.0, 0.0 if alpha else 1e-6, seed)
            answer = hr.OfflineMW(alpha=alpha).release(c, questions).answer(questions)
            return float(np.max(answer.error)) / n, off(answer, v) / n

        alphas = [0.6 * 0.75**i for i in range(12)]
        said, best = min((play(0, a)[0], a) for a in alphas)
        stated.append(said)
        measured.append(late(lambda seed, a=best, play=play: play(seed, a)[1], 5))
        tuned.append(late(lambda seed, play=play: play(seed, None)[1], 5))
    order = [theory.w12.thm_12_6_alpha(n, size, k, 1.0, 1e-6) for n in ns]
    return Curve(
        "offline-mw", "n", "largest error of 64 queries, part of n", "|X| = 16, epsilon 1", ns,
        [
            Series("measured, theorem mode", measured),
            Series("stated, Thm 12.6 with constants", stated, True),
            Series("Thm 12.6, order of", order, True),
            Series("measured, tuned mode (delta 1e-6)", tuned),
        ],
    )  # fmt: skip


def _names(n: int, different: int, seed: int = 3) -> list[str]:
    """Names of a universe that nobody lists."""
    drawn = np.random.default_rng(seed).zipf(1.4, n) % different
    return [f"name-{i}" for i in drawn]


def sparse_mw() -> Curve:
    """[BR11] Thm 3.8: sparse multiplicative weights, against n, whatever the universe is."""
    ns, m, k, epsilon = [10**5, 316_228, 10**6], 4, 50, 4.0
    questions = [hr.SparseQuery.of({f"name-{(7 * i + j) % 60}": 1 for j in range(m)}) for i in range(k)]
    measured, bound, order = [], [], []
    for n in ns:
        names = _names(n, 60)
        counts: dict[str, int] = dict(zip(*np.unique(names, return_counts=True), strict=True))
        truth = np.array([sum(counts.get(str(e), 0) for e in q.weights) for q in questions])
        table = hr.Table.open(names, hr.OpenDomain())
        alpha = _least(n, m, k, epsilon)
        bound.append(3 * alpha)
        order.append(theory.br11.thm_3_8(n, m, k, epsilon, 1e-6, BETA))

        def draw(seed: int, n: int = n, alpha: float = alpha, t: Any = table, v: Any = truth) -> float:
            c = curator(t, None, epsilon, 2e-6, seed)
            mechanism = hr.SparseMW(
                alpha=alpha, queries=k, epsilon=epsilon, delta=1e-6, sparsity=m, beta=BETA
            )
            return off(mechanism.open(c).ask(questions), v) / n

        measured.append(late(draw, 3))
    return Curve(
        "sparse-mw",
        "n",
        "largest error of 50 questions, part of n",
        "4 names each, no universe, epsilon 4",
        ns,
    ).of(
        {"measured": measured},
        {"3 alpha, NumericSparse with Thm 3.5": bound, "[BR11] Thm 3.8, order of": order},
    )


def _least(n: int, m: int, k: int, epsilon: float) -> float:
    """The least alpha at which SparseMW opens on so many rows."""
    low, high = 1e-4, 1.0
    for _ in range(40):
        alpha = (low * high) ** 0.5
        updates = np.ceil(theory.br11.thm_3_5(m, alpha))
        low, high = (low, alpha) if idc_rows(alpha, updates, k, epsilon, 1e-6, BETA) <= n else (alpha, high)
    return high * 1.001


def sparse_project() -> Curve:
    """[BR11] Thm 4.9: the error grows with the root of the names in a question; the universe has no end."""
    sizes, n, k = [1, 4, 16, 64, 256], 5_000, 20
    names = _names(n, 1000)
    table = hr.Table.open(names, hr.OpenDomain())
    counts: dict[str, int] = dict(zip(*np.unique(names, return_counts=True), strict=True))
    releases = [
        hr.SparseProject(seed=bytes([s]) * 32).release(curator(table, None, 1.0, 1e-6, s, "add_remove"))
        for s in range(6)
    ]
    rng, measured, stated = np.random.default_rng(1), [], []
    for m in sizes:
        asked = [
            hr.SparseQuery.of({f"name-{i}": 1 for i in rng.choice(1000, m, replace=False)}) for _ in range(k)
        ]
        truth = [sum(counts.get(str(e), 0) for e in q.weights) for q in asked]

        def draw(seed: int, asked: Any = asked, truth: Any = truth) -> float:
            return max(
                abs(float(releases[seed].answer(q).value) - t) for q, t in zip(asked, truth, strict=True)
            )

        measured.append(late(draw, len(releases)))
        stated.append(max(float(releases[0].answer(q).error) for q in asked))
    proof = [theory.br11.thm_4_9(n, m, k, 0.999, 1e-6, BETA) for m in sizes]
    return Curve(
        "sparse-project",
        "m",
        "largest error of 20 questions, in rows",
        "n = 5,000 names, epsilon 1, delta 1e-6",
        sizes,
    ).of(
        {"measured, tuned mode": measured},
        {"stated, one answer at 95%": stated, "[BR11] Thm 4.9 (T of order n^4)": proof},
    )


def boost_queries() -> Curve:
    """[DRV10] Thm 5.5: boosting for queries."""
    ns, size, k = [316_228, 10**6, 3_162_278, 10**7], 8, 254
    domain = cells(size)
    questions = hr.Workload.of(  # every subset of the universe but none and all
        [
            hr.Query.of(domain, ("x",), [(mask >> i) & 1 for i in range(size)])
            for mask in range(1, 2**size - 1)
        ]
    )
    measured, stated = [], []
    for n in ns:
        rows = skewed(n, size)
        table, truth = hr.Table.open(rows, domain), questions.truth(rows, domain)

        def play(seed: int, n: int = n, t: Any = table, v: Any = truth) -> tuple[float, float]:
            released = hr.BoostQueries(samples=100).release(curator(t, domain, 1.0, 1e-6, seed), questions)
            answer = released.answer(questions)
            return float(np.max(answer.error)) / n, off(answer, v) / n

        runs = [play(seed) for seed in range(3)]
        stated.append(max(r[0] for r in runs))
        measured.append(max(r[1] for r in runs))
    order = [theory.drv10.thm_5_5(n, size, k, 1.0, float(np.log(1 / BETA))) for n in ns]
    return Curve(
        "boost-queries", "n", "largest error of 254 queries, part of n", "|X| = 8, 100 sampled, epsilon 1", ns
    ).of({"measured": measured}, {"stated, lambda + mu": stated, "[DRV10] Thm 5.5, order of": order})


def boost_people() -> Curve:
    """[DRV10] Fig. 2 as mended, and the tuned mode: wrong predictions beyond the best rule, against n."""
    ns, tuned = [300, 1000, 3000, 10_000, 30_000], []
    names = [f"x{i}" for i in range(6)]
    domain = hr.Domain({name: hr.bins(0, 10, 1) for name in names} | {"y": [0, 1]})
    for n in ns:

        def draw(seed: int, n: int = n) -> float:
            rng = np.random.default_rng(seed)
            x = rng.integers(0, 10, (n, 6))
            rows = {name: x[:, i] for i, name in enumerate(names)} | {"y": (x.sum(axis=1) > 27).astype(int)}
            model = hr.BoostedClassifier(1.0, 1e-6, label="y")
            model.fit_curator(curator(rows, domain, 1.0, 1e-6, seed, "add_remove"))
            fresh = rng.integers(0, 10, (4000, 6))
            return float(np.mean(model.predict(fresh) != (fresh.sum(axis=1) > 27)))

        tuned.append(float(np.mean([draw(seed) for seed in range(5)])))
    return Curve("boost-people", "n", "wrong predictions", "six features, epsilon 1", ns).of(
        {"measured": tuned}, {}
    )


CURVES: dict[str, Callable[[], Curve]] = {
    "laplace": noise.laplace,
    "randomized-response": noise.response,
    "histogram": noise.histogram,
    "sparse-vector": noise.sparse_vector,
    "small-db": noise.small_db,
    "online-mw": online_mw,
    "offline-mw": offline_mw,
    "sparse-mw": sparse_mw,
    "sparse-project": sparse_project,
    "boost-queries": boost_queries,
    "projection": noise.projection,
    "factorization": noise.factorization,
    "boost-people": boost_people,
    "composition": noise.composition,
    "experts": noise.experts,
    "running-totals": noise.running_totals,
}


def main(names: Sequence[str]) -> None:
    """Run what is named, or everything, and draw."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or CURVES:
        clock = time.process_time()
        curve = CURVES[name]()
        curve.save()
        sys.stdout.write(f"{name}: {time.process_time() - clock:.0f} CPU s\n{curve.table()}\n\n")
        sys.stdout.flush()
    write(list(names or CURVES))


if __name__ == "__main__":
    main(sys.argv[1:])
