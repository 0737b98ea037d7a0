"""SparseProject: a noisy random projection of the data, for sparse questions over an unbounded universe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, log, sqrt
from typing import Any, ClassVar, Literal

from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import current_entropy
from hedgerow.curator.statistics.sketch import LengthOfCounts, RowsOfNames, measure_sketch, open_domain
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.mechanisms.mechanism import Mechanism, guarded
from hedgerow.privacy.bounds import sparse_project_size, thm_4_9_sparse
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.rational import exact
from hedgerow.queries.argument import between, number, one_of, whole
from hedgerow.queries.asked import asked_names
from hedgerow.queries.query import Norms, SparseQuery
from hedgerow.queries.strategies.sketch_matrix import LARGEST, SEED_BYTES, SketchMatrix
from hedgerow.synopsis.sketch import SketchSynopsis

ASIDE = (Fraction(1, 50), Fraction(1, 100))  # of the price, for |D|_2 and for the number of rows
_SURE = 1e-4  # how often the measured bound on |D|_2 may fail
_SMALLEST = 1 << 10


@dataclass(frozen=True)
class SparseProject(Mechanism):
    """A noisy random projection u = A D and the seed of A: any m-sparse query with error about sqrt(m).

    Privacy, for every seed: see `curator.statistics.sketch.measure_sketch`, where the charge is made.
    `theorem` mode adds Laplace noise ([BR11] Alg. 2, Thm 4.5), `tuned` mode Gaussian noise to a matrix with
    few entries per column; in tuned mode |D|_2 and the number of rows are measured too (3% of the price)
    unless declared.
    Accuracy: [BR11] Thm 4.9 in theorem mode; in tuned mode each answer's noise has the variance of one
    Gaussian of 1/(2 rho) per name asked for, and T is chosen so that the projection's distortion has about
    `distortion` times that standard deviation. Both hold for queries that do not depend on the seed.

    Args:
        mode: `tuned`, or `theorem` for the paper's parameters (epsilon below 1, a handful of rows).
        delta, beta: theorem mode's.
        sparsity: m, the most names a query may weigh; from the workload if None (theorem mode).
        queries: k, how many queries will be asked; from the workload if None (theorem mode).
        rows: a declared bound on the number of rows.
        length: a declared bound on |D|_2, the root of the sum of squared counts.
        size: T, instead of the one that follows.
        distortion: tuned mode's ratio of the projection's error to the noise.
        blocks: entries of a column in tuned mode.
        seed: 32 public bytes that several sites share so that their sketches can be added.
    """

    mode: Literal["tuned", "theorem"] = "tuned"
    delta: float | None = None
    beta: float = 0.05
    sparsity: int | None = None
    queries: int | None = None
    rows: int | None = None
    length: float | None = None
    size: int | None = None
    distortion: float = 0.5
    blocks: int = 8
    seed: bytes | None = None

    citations: ClassVar[tuple[str, ...]] = ("BR11", "CKS20")

    def release(
        self, curator: Curator, workload: SparseQuery | Sequence[SparseQuery] | None = None
    ) -> SketchSynopsis:
        """Release the sketch; in theorem mode the workload says k and m where they are not given."""
        guarded(curator)
        open_domain(curator)
        queries = _sparse_queries(workload)
        self._check(curator)
        return self._theorem(curator, queries) if self.mode == "theorem" else self._tuned(curator)

    def _check(self, curator: Curator) -> None:
        one_of("SparseProject's mode", self.mode, "tuned", "theorem")
        if curator.ledger.currency == "epsilon":
            raise UnsupportedQuery("SparseProject needs a budget with a delta above 0")
        between("beta", self.beta)
        exact(0 if self.delta is None else self.delta)
        for name in ("sparsity", "queries", "rows", "size"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value < 1 << 53):
                raise UnsupportedQuery(f"{name} is a whole number above 0")
        whole("blocks", self.blocks, 1, LARGEST)
        if not 0.0 < number("distortion", self.distortion) < inf:
            raise UnsupportedQuery("distortion is a number above 0")
        if self.length is not None and not 0.0 < number("length", self.length) < inf:
            raise UnsupportedQuery("length is a number above 0")

    # -- tuned --------------------------------------------------------------------------------------------

    def _tuned(self, curator: Curator) -> SketchSynopsis:
        price = self._priced(curator)
        seed = self._seed()
        SketchMatrix(self.blocks * 2, seed, blocks=self.blocks)  # refused before anything is charged
        if self.size is not None:
            SketchMatrix(self.size, seed, blocks=self.blocks)
        known = (self.length is not None, (self.rows or curator.rows) is not None)
        aside = [price.share(s) for s, k in zip(ASIDE, known, strict=True) if not k]
        rest = price
        for part in aside:
            rest = rest - part
        length, miss = self._length(curator, aside[0] if not known[0] else None)
        rows = self._rows(curator, aside[-1] if not known[1] else None)
        size = self.size or self._balanced(curator, length, rest)
        matrix = SketchMatrix(size, seed, blocks=self.blocks)
        vector = measure_sketch(curator, matrix, rest, note=f"SparseProject: {size:,} coordinates")
        signed = self._signed(curator, price)
        signed.parameters.update(size=size, seed=seed.hex(), length=length)
        return SketchSynopsis(curator.domain, signed, matrix, vector, length, miss, rows)  # type: ignore[arg-type]

    def _length(self, curator: Curator, price: Cost | None) -> tuple[float, float]:
        """A bound on |D|_2: declared, or measured and raised by its noise's own tail."""
        if price is None:
            assert self.length is not None
            return float(self.length), 0.0
        found = curator.measure(LengthOfCounts(), price, noise="gaussian", note="SparseProject: |D|_2")
        slack = found.noise.half_width(1.0 - 2.0 * _SURE) + 1.0  # one-sided, and the floor
        return max(float(found.counts) + slack, 1.0), _SURE

    def _rows(self, curator: Curator, price: Cost | None) -> float:
        if price is None:
            return float(self.rows or curator.rows or 0)
        return float(
            curator.measure(RowsOfNames(), price, noise="gaussian", note="SparseProject: rows").counts
        )

    def _balanced(self, curator: Curator, length: float, price: Cost) -> int:
        """T at which the distortion's variance, about |q|^2 |D|^2 / T, is distortion^2 of the noise's."""
        step = float(curator.privacy.sensitivity(Norms.signed(1, 1)).l2_squared)
        noise = step / (2.0 * float(price.amount))  # variance per name asked for
        wanted = length * length / (self.distortion**2 * noise)
        return self.blocks * ceil(min(max(wanted, _SMALLEST), LARGEST - self.blocks) / self.blocks)

    def _seed(self) -> bytes:
        return self.seed if self.seed is not None else current_entropy().bytes(SEED_BYTES)

    # -- theorem ------------------------------------------------------------------------------------------

    def _theorem(self, curator: Curator, workload: tuple[SparseQuery, ...]) -> SketchSynopsis:
        epsilon, delta, n, m, k = self._paper(curator, workload)
        wanted = sparse_project_size(n, m, k, self.beta)
        size = self.size or wanted
        if size > LARGEST:
            raise RangeTooLarge(
                f"the paper's T is {size:,} coordinates for {n:,} rows, not {LARGEST:,}; use mode='tuned'"
            )
        r = 2 * ceil(log(k * size / (2.0 * self.beta)))
        sigma = epsilon / sqrt(8.0 * log(1.0 / delta))
        price = Cost("rho", Fraction(repr(sigma * sigma / 2.0)) * (1 - Fraction(1, 10**12)))
        seed = self._seed()
        matrix = SketchMatrix(size, seed, columns="signs", independence=max(r, 4))
        note = f"SparseProject: {size:,} coordinates, the paper's form"
        vector = measure_sketch(curator, matrix, price, noise="laplace", note=note)
        signed = self._signed(curator, price)
        signed.parameters.update(size=size, seed=seed.hex(), independence=matrix.independence)
        step = float(curator.privacy.sensitivity(Norms.signed(1, 1)).l1)
        bound = thm_4_9_sparse(n, m, k, epsilon, delta, self.beta, size=size, sensitivity=step)
        paper = size >= wanted  # the theorem is about the paper's T
        signed.parameters.update(theorem_error=bound if paper else None, vacuous=bound >= n or not paper)
        rows = float(curator.rows or n)
        return SketchSynopsis(curator.domain, signed, matrix, vector, float(n), 0.0, rows)  # type: ignore[arg-type]

    def _paper(
        self, curator: Curator, workload: tuple[SparseQuery, ...]
    ) -> tuple[float, float, int, int, int]:
        """epsilon, delta, n, m and k, all of them public."""
        epsilon, delta, n = self.epsilon, self.delta, self.rows or curator.rows
        widest = max((len(q.texts) for q in workload), default=0)
        m, k = self.sparsity or widest, self.queries or len(workload)
        needs = {
            "an epsilon strictly between 0 and 1": epsilon is None or not 0.0 < epsilon < 1.0,
            "a delta strictly between 0 and 1": delta is None or not 0.0 < delta < 1.0,
            "rows=, a declared bound on the number of rows": n is None,
            "a workload, or sparsity= and queries=": not m or not k,
        }
        if lacking := [what for what, is_missing in needs.items() if is_missing]:
            raise UnsupportedQuery(f"theorem mode needs {'; '.join(lacking)}")
        assert epsilon is not None
        assert delta is not None
        assert n is not None
        if widest > m or len(workload) > k:
            raise UnsupportedQuery(f"the workload goes beyond {k:,} queries of sparsity {m:,}")
        return epsilon, delta, n, m, k


def _sparse_queries(workload: Any) -> tuple[SparseQuery, ...]:
    if workload is None:
        return ()
    return asked_names(workload)
