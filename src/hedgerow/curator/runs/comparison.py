"""Comparison: the law of a sparse vector - noisy integers against a noisy threshold - and why it is private.

Setting: integers throughout. Delta = the most that one unit moves any question, T = the public threshold,
rho and nu_i = independent integer noise, "above" iff q_i(D) + nu_i >= T + rho.

**Discrete Laplace** (`SparseVector`; [DR14] Sec. 3.6, W3's proof, [LSL17] Alg. 1). For noise of scale b,
P(z) <= e^(s/b) P(z + t) for all integers z and |t| <= s. Fix neighbours D, D' and an output with c "above".
    P_D = sum_z P(rho = z) prod_below P(q_i(D) + nu_i < T + z) prod_above P(q_i(D) + nu_i >= T + z).
Put z - Delta for z: the integers are mapped onto themselves because Delta is an integer (this is all that the
discrete case needs). Then P(rho = z - Delta) <= e^(Delta/b1) P(rho = z); each "below" factor grows when D
becomes D', as q_i(D) + Delta >= q_i(D'); each "above" factor asks nu_i to pass a bound that moved by at most
2 Delta, hence grows by e^(2 Delta/b2) at most. So P_D <= e^(Delta/b1 + 2 c Delta/b2) P_D', however many
"below". With a new rho after every "above", each is a run of its own: c (Delta/b1 + 2 Delta/b2). A value
released after "above" has its own fresh noise and costs Delta/b3 more. Questions may depend on all outputs:
the sums above are conditional on them.

**Discrete Gaussian** (`GaussianSparseVector`; [ZW20] Thm 8 at gamma = infinity), c = 1, at most L questions.
Let k be the place of "above" (L + 1: none), A_k(z) the product of the "below" factors before k, B_k(z) the
"above" factor (1 for k = L + 1), primes for D'. As before P(k) <= sum_z P(rho = z - Delta) A'_k(z) C_k(z)
with C_k = B_k after the move. (x, y) -> x^a y^(1-a) is convex and homogeneous, so for a > 1
    sum_k P(k)^a P'(k)^(1-a) <= sum_z P(rho = z - Delta)^a P(rho = z)^(1-a) sum_k A'_k(z) C_k^a B'_k^(1-a).
C_k and B'_k are one event's probabilities under nu moved by at most 2 Delta: C^a B'^(1-a) <=
e^((a-1) a (2 Delta)^2 / 2 b2^2) [CKS20, Thm 4]; A'_k <= 1 leaves a factor of L + 1; the sum over z is
e^((a-1) a Delta^2 / 2 b1^2). So the divergence of order a is at most
    a (Delta^2 / 2 b1^2 + 2 Delta^2 / b2^2) + ln(1 + L) / (a - 1),
and c times that for c of them [M17]. It is (epsilon, delta)-DP by [CKS20, Cor. 13] with delta / (1 + L)^c.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.noise import noise
from hedgerow.curator.noise.noise import Entropy
from hedgerow.curator.runs.sparse_vector_plan import Family, SparseVectorPlan
from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.failure import RESTORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STATE = 72  # bytes of a state: three integers, as long whatever they are
_CHUNK = 1 << 16  # questions compared at once: changes speed, not the distribution
_FIRST_CHUNK = 1 << 11  # and at first, when it may stop soon


_SAMPLERS: dict[Family, Callable[[Fraction, int, Entropy], NDArray[np.int64]]] = {
    "laplace": noise.discrete_laplace,
    "gaussian": noise.discrete_gaussian,
    "geometric": noise.geometric,
}


@dataclass(frozen=True)
class State:
    """What a run carries from one question to the next: secret, kept in the ledger."""

    threshold: int
    above: int = 0
    asked: int = 0

    def to_bytes(self) -> bytes:
        """The state as a ledger line keeps it."""
        return json.dumps([self.threshold, self.above, self.asked]).encode().ljust(_STATE)

    @classmethod
    def from_bytes(cls, data: bytes | None) -> State:
        """The inverse of `to_bytes`."""
        if data is None:
            raise LedgerError("The ledger has lost the state of a sparse-vector run.", hint=RESTORE)
        return cls(*json.loads(data))


def begin(plan: SparseVectorPlan, entropy: Entropy) -> State:
    """The state of a new run: a freshly drawn noisy threshold."""
    return State(_noisy_threshold(plan, entropy))


def advance(
    plan: SparseVectorPlan, state: State, values: NDArray[np.int64], entropy: Entropy, most: int | None = None
) -> tuple[State, NDArray[np.int64], NDArray[np.int64], int]:
    """Compare exact integers in order: new state, places of "above", released values, how many answered.

    With `most` it stops after that many "above": the rest may then be asked in another way.
    """
    threshold, above, asked = state.threshold, state.above, 0
    places: list[int] = []
    released: list[int] = []
    limit = values.size if plan.length is None else min(values.size, plan.length - state.asked)
    last = plan.count if most is None else min(plan.count, above + most)
    start, chunk = 0, _CHUNK if most is None else _FIRST_CHUNK
    while start < limit:
        exact = values[start : min(start + chunk, limit)]
        noisy = exact + _noise(plan.question_family, plan.query_scale, exact.size, entropy)
        at = 0
        while at < exact.size and above < last:
            hits = noisy[at:] >= threshold
            step = int(hits.argmax())
            if not hits[step]:
                at = exact.size
                break
            at += step + 1
            places.append(start + at - 1)
            above += 1
            if plan.value_scale:  # fresh noise: the comparison's own noise is not independent of "above"
                released.append(
                    int(exact[at - 1]) + int(_noise(plan.family, plan.value_scale, 1, entropy)[0])
                )
            if plan.refreshed and above < plan.count:
                threshold = _noisy_threshold(plan, entropy)
        asked = start + at
        if above == last:
            break
        start, chunk = start + exact.size, min(2 * chunk, _CHUNK)
    new = State(threshold, above, state.asked + asked)
    return new, np.array(places, dtype=np.int64), np.array(released, dtype=np.int64), asked


def _noisy_threshold(plan: SparseVectorPlan, entropy: Entropy) -> int:
    return plan.threshold + int(_noise(plan.family, plan.threshold_scale, 1, entropy)[0])


def _noise(family: Family, scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return _SAMPLERS[family](scale, size, entropy)
