"""Plans of sparse-vector runs: from a price to thresholds and noise scales, exactly as the theorems say.

**Where Gaussian noise is never worth using.** Each "above" of a Gaussian run of L questions pays ln(1 + L) /
(a - 1) at every order a before any noise is paid for, so that delta is used as delta / (1 + L)^c. At a small
epsilon the accuracies stated by `accuracy` at one price have the ratio, Gaussian to restarted Laplace,
    sqrt(2 ln(1/delta) + 2 c ln(1 + L)) (sqrt l1 + 2 sqrt l2) / (l1 + 2 l2)
with l1 = ln(6c/beta), l2 = ln(6L/beta), up to what the exact conversion saves. Computed for c from 1 to 100,
L from 10 to 10^9, delta from 1e-12 to 1e-2, epsilon from 0.001 to 10, Laplace is always more accurate: 1.06
to 15 times where delta <= 1e-6 and beta >= 1e-3, and 1.7 times or more where c >= 10 and beta >= 1e-3.
Gaussian noise wins only with c <= 3 and a delta of 1e-4 or more, or with a beta far below 1e-3. Counting in
Renyi divergences all through, at one (epsilon, delta) for both, does not rescue it: from 1,000 questions on
Laplace is 1.005 to 4 times more accurate where delta <= 1e-6 and beta >= 1e-3. No mechanism opens a Gaussian
run, and so no plan proposes one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import log, sqrt
from typing import TYPE_CHECKING, Literal

from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.bounds.online import numeric_sparse_alpha as numeric_sparse_alpha
from hedgerow.privacy.budget import (
    Budget,
    Cost,
    exact,
    gaussian_sigma,
    laplace_scale,
    rho_of,
    selection_epsilon,
)
from hedgerow.privacy.rational import Number
from hedgerow.privacy.sparse_vector_event import (
    GaussianSparseVector,
    OneSidedSparseVector,
    PairedSparseVector,
    SparseVector,
)
from hedgerow.queries.argument import one_of, text
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.spender import Spend

RESERVED = "sparse-vector:"
"""How the names of sparse-vector runs begin in a ledger; no other act may use such a name."""

Method = Literal["above_threshold", "sparse", "sparse_once", "numeric_sparse", "gaussian"]
Family = Literal["laplace", "gaussian", "geometric"]

_DIGITS = Context(prec=50)
_UP = Fraction(10**40 + 1, 10**40)  # the handful of operations at 50 digits err by far less
_DOWN = 1 - Fraction(1, 2**40)  # room for rho -> epsilon -> rho, each rounded against the user
_LARGEST = 1 << 53


def first_request(run: str | None) -> str | None:
    """The request id by which a ledger knows a labelled run's first line."""
    return None if run is None else f"{RESERVED}{run}#0"


@dataclass(frozen=True)
class SparseVectorPlan:
    """Everything public about a run, in lattice steps; `event` is what it is charged as.

    Args:
        method: the name of the algorithm.
        event: noise scales and counts.
        threshold: T.
        denominator: lattice steps per row.
    """

    method: Method | Literal["one_sided", "paired"]
    event: SparseVector | GaussianSparseVector | OneSidedSparseVector | PairedSparseVector
    threshold: int
    denominator: int

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return isinstance(self.event, GaussianSparseVector)

    @property
    def family(self) -> Family:
        """What kind of noise is drawn."""
        return "gaussian" if self.gaussian else "laplace"

    @property
    def question_family(self) -> Family:
        """What kind of noise is drawn for questions; that of the threshold unless a plan says otherwise."""
        return self.family

    @property
    def threshold_scale(self) -> Fraction:
        """The scale (or sigma) of the threshold's noise."""
        e = self.event
        return e.threshold_sigma if isinstance(e, GaussianSparseVector) else e.threshold_scale

    @property
    def query_scale(self) -> Fraction:
        """The scale (or sigma) of each question's noise."""
        return (
            self.event.query_sigma if isinstance(self.event, GaussianSparseVector) else self.event.query_scale
        )

    @property
    def value_scale(self) -> Fraction:
        """The scale of a released value's noise; 0 when none is released."""
        return self.event.value_scale if isinstance(self.event, SparseVector) else Fraction(0)

    @property
    def count(self) -> int:
        """The most "above" that may be reported."""
        return 1 if isinstance(self.event, OneSidedSparseVector) else int(self.event.count)

    @property
    def refreshed(self) -> bool:
        """Whether every "above" draws a new noisy threshold."""
        return not isinstance(self.event, SparseVector | PairedSparseVector) or bool(self.event.refreshed)

    @property
    def length(self) -> int | None:
        """The most questions that may be asked, None for any number."""
        return int(self.event.length) if isinstance(self.event, GaussianSparseVector) else None

    @property
    def public(self) -> str:
        """The plan as text: what reopening a run must agree with."""
        fields = {"method": self.method, "threshold": self.threshold, "denominator": self.denominator}
        return json.dumps(fields | {"event": self.event.to_json()}, sort_keys=True)

    def accuracy(self, queries: int, beta: float) -> float:
        """An alpha, in rows, that holds for all questions at once with probability 1 - beta.

        Every "below" is at most T + alpha, every "above" at least T - alpha, every value within alpha: by the
        tail P(|Z| >= t) <= 2 e^(-t/b) of discrete Laplace noise, or 2 e^(-t^2/2b^2) of Gaussian noise, with a
        third of beta each for thresholds, questions and values.
        """
        parts = 6.0 / beta
        draws = self.count if self.refreshed else 1
        tails = [log(parts * draws), log(parts * queries), log(parts * self.count)]
        if self.gaussian:
            tails = [sqrt(2 * t) for t in tails]
        b1, b2, b3 = (float(b) for b in (self.threshold_scale, self.query_scale, self.value_scale))
        return max(b1 * tails[0] + b2 * tails[1], b3 * tails[2]) / self.denominator


def plan(
    method: Method,
    price: Cost,
    sensitivity: Fraction,
    threshold: Number,
    denominator: int,
    *,
    count: int = 1,
    allocation: Literal["even", "optimised"] = "optimised",
    epsilon: Number | None = None,
    delta: Number = 0,
    length: int | None = None,
) -> SparseVectorPlan:
    """The plan that a price buys.

    Args:
        method: which algorithm.
        price: what the whole run may cost (ignored by numeric_sparse with a delta, which follows its paper).
        sensitivity: Delta in lattice steps.
        threshold: T in rows.
        denominator: lattice steps per row.
        count: c, the most "above".
        allocation: how sparse_once divides epsilon between threshold and questions.
        epsilon, delta: numeric_sparse's (epsilon, delta) form; delta also for gaussian.
        length: the most questions of a gaussian run.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UnsupportedQuery("a run reports a whole number of above, 1 or more")
    steps = round(exact(threshold) * denominator)
    if abs(steps) > _LARGEST:
        raise UnsupportedQuery("the threshold is too far from any count")
    event: SparseVector | GaussianSparseVector
    if method == "above_threshold":
        event = _restarted(price, sensitivity, 1)
    elif method == "sparse":
        event = _restarted(price, sensitivity, count)
    elif method == "sparse_once":
        event = _once(price, sensitivity, count, allocation)
    elif method == "numeric_sparse":
        d = exact(delta)
        event = (
            _numeric_by_composition(exact(epsilon or 0), d, sensitivity, count)
            if d
            else _numeric(price, sensitivity, count)
        )
    elif method == "gaussian":
        event = _gaussian(price, sensitivity, count, length, exact(delta))
    else:
        raise UnsupportedQuery(f"there is no sparse vector called {method!r}")
    return SparseVectorPlan(method, event, steps, denominator)


def planned(
    curator: Curator,
    threshold: Number,
    spend: Spend,
    *,
    method: Method,
    count: int,
    delta: Number | None,
    length: int | None,
    allocation: Literal["even", "optimised"],
    denominator: int,
    run: str | None,
) -> SparseVectorPlan:
    """The plan that `Curator.sparse_vector` opens; reads no row and charges nothing.

    Args:
        curator: whose unit of privacy and currency count.
        threshold, spend, method, count, delta, length, allocation, denominator, run: as there.
    """
    text("method", method)
    one_of("allocation", allocation, "even", "optimised")
    exact(0 if delta is None else delta)
    if type(denominator) is not int or denominator < 1:
        raise UnsupportedQuery("a run's denominator is a whole number of lattice steps per row, 1 or more")
    paper = method == "numeric_sparse" and delta
    return plan(
        method,
        Cost.zero(curator.ledger.currency) if paper else curator.price(spend, first_request(run)),
        curator.privacy.sensitivity(Norms.query(denominator)).l1,
        threshold,
        denominator,
        count=count,
        allocation=allocation,
        epsilon=spend if paper and not isinstance(spend, Cost | Budget) else None,
        delta=curator.left.delta if delta is None and method == "gaussian" else delta or 0,
        length=length,
    )


def _scale(x: Fraction) -> Fraction:
    """A noise scale, rounded up to what the samplers take."""
    return laplace_scale(x, Cost("epsilon", Fraction(1)))


def _restarted(price: Cost, delta: Fraction, c: int) -> SparseVector:
    """AboveThreshold, c times, each at its share: Lap(2 Delta/e) and Lap(4 Delta/e) ([DR14] Alg. 1, 2)."""
    e = selection_epsilon(price.share(Fraction(1, c)), bounded_range=False)
    b1, b2 = _scale(2 * delta / e), _scale(4 * delta / e)
    return SparseVector(delta, b1, b2, count=Fraction(c))


def _once(price: Cost, delta: Fraction, c: int, allocation: str) -> SparseVector:
    """One noisy threshold for c above: Lap(Delta/e1), Lap(2c Delta/e2), e1 + e2 = e ([LSL17] Alg. 1).

    The optimised allocation e1 : e2 = 1 : (2c)^(2/3) minimises the variance of the difference ([LSL17] 4.2).
    """
    e = selection_epsilon(price, bounded_range=False)
    ratio = 1 if allocation == "even" else Fraction(round((2 * c) ** (2 / 3) * 64), 64)
    e1 = e / (1 + ratio)
    b1, b2 = _scale(delta / e1), _scale(2 * c * delta / (e - e1))
    return SparseVector(delta, b1, b2, count=Fraction(c), refreshed=Fraction(0))


def _numeric(price: Cost, delta: Fraction, c: int) -> SparseVector:
    """NumericSparse with delta = 0: of each e, 8/9 compares and 1/9 pays for the value ([DR14] Alg. 3).

    In pure epsilon e = epsilon/c, so the scales are the book's 2c/eps1, 4c/eps1 and 2c/eps2 with eps1 = 8/9
    epsilon, eps2 = 2/9 epsilon. In rho the same shares of an e with c ((8e/9)^2 + (e/9)^2)/2 = rho.
    """
    if price.currency == "epsilon":
        part = price.share(Fraction(1, c))
    else:  # at c = 1 this is more than the price itself, because the squares of the shares add up to less
        part = Cost("rho", price.amount * Fraction(81, 65 * c) * _DOWN)
    e = selection_epsilon(part, bounded_range=False)
    compare, value = e * Fraction(8, 9), e * Fraction(1, 9)
    scales = _scale(2 * delta / compare), _scale(4 * delta / compare), _scale(delta / value)
    event = SparseVector(delta, *scales, Fraction(c))
    if cost_of(event, price.currency) <= price:
        return event
    return _numeric(Cost(price.currency, price.amount * _DOWN), delta, c)  # its parts were rounded up


def _numeric_by_composition(eps: Fraction, d: Fraction, delta: Fraction, c: int) -> SparseVector:
    """NumericSparse's (epsilon, delta) form: sigma(e) = sqrt(32 c ln(2/d))/e, rounded up ([DR14] Alg. 3)."""
    if eps <= 0 or not 0 < d < 1:
        raise UnsupportedQuery("numeric_sparse with a delta needs an epsilon above 0 and a delta below 1")
    x = _DIGITS
    log_term = x.ln(x.divide(Decimal(2 * d.denominator), Decimal(d.numerator)))
    root = Fraction(x.sqrt(x.multiply(Decimal(32 * c), log_term))) * _UP
    root512 = Fraction(x.sqrt(Decimal(512)))
    eps1, eps2 = eps * root512 / (root512 + 1) / _UP, 2 * eps / (root512 + 1) / _UP
    sigma1, sigma2 = delta * root / eps1, delta * root / eps2
    return SparseVector(delta, _scale(sigma1), _scale(2 * sigma1), _scale(sigma2), Fraction(c))


def _gaussian(price: Cost, delta: Fraction, c: int, length: int | None, d: Fraction) -> GaussianSparseVector:
    """Gaussian noise, half of each above's rho on the threshold and half on the question ([ZW20])."""
    if type(length) is not int or length < 1:
        raise UnsupportedQuery("a sparse vector with Gaussian noise needs a length, the most questions")
    if not 0 < d < 1:
        raise UnsupportedQuery("a sparse vector with Gaussian noise needs a delta above 0 and below 1")
    eps = selection_epsilon(price, bounded_range=False)
    whole = Cost("rho", rho_of(eps, d / (1 + length) ** c) * _DOWN)
    half = whole.share(Fraction(1, 2 * c))
    b1, b2 = gaussian_sigma(delta**2, half), gaussian_sigma(4 * delta**2, half)
    return GaussianSparseVector(delta, b1, b2, Fraction(length), Fraction(c), d)
