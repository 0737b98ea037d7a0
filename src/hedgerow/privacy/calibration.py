"""From what may be spent to how much noise, and between rho and epsilon; always rounded against the user."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, fsum, inf, isqrt, lcm, log, log1p, nextafter
from typing import TYPE_CHECKING

from hedgerow.errors import BadValue, RangeTooLarge, UnknownEvent
from hedgerow.privacy.rational import Number, exact

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost

GRAIN: int = lcm(*range(1, 65)) * 10**24
"""Ledger amounts are whole multiples of 1/GRAIN: tenths, thirds, sevenths ... are exact, sums never grow."""

ROUNDING = 2.0**-50  # relative room for the rounding of a handful of float operations
_SMALL, _LARGE, _BITS = 2**20, 2**45, 44  # what the vectorised samplers take
_DIGITS = Context(prec=60, rounding=ROUND_HALF_EVEN)
_SLACK = Decimal("1e-50")  # the dozen operations at 60 digits err by far less, relative to their largest term


def grain_down(x: Fraction) -> Fraction:
    """The largest multiple of 1/GRAIN that is at most x."""
    return Fraction(floor(x * GRAIN), GRAIN)


def grain_up(x: Fraction) -> Fraction:
    """The smallest multiple of 1/GRAIN that is at least x."""
    return Fraction(ceil(x * GRAIN), GRAIN)


def float_up(x: Fraction) -> float:
    """The smallest float that means at least x (a float means `exact` of it)."""
    y = float(x)
    return y if exact(y) >= x else nextafter(y, inf)


def float_down(x: Fraction) -> float:
    """The largest float that means at most x (a float means `exact` of it)."""
    y = float(x)
    return y if exact(y) <= x else nextafter(y, -inf)


# ---- rho <-> (epsilon, delta) ----------------------------------------------------------------------------
#
# [CKS20, Cor. 13]: rho-zCDP gives (epsilon, delta)-DP whenever alpha rho + h(alpha) <= epsilon for some
# alpha > 1, where h(alpha) = (ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha) / (alpha-1).
# Every alpha gives a true statement, so floats may look for a good one; its value is then computed to 60
# digits and pushed to the safe side. Both searches are unimodal: with a = alpha - 1, the condition reads
# a ((1+a) rho - epsilon) + a ln a - (1+a) ln(1+a) <= ln delta, whose left side is convex in a.


def excess(log_a: float, log_inverse_delta: float) -> float:
    """h(1 + a) in floats, given ln a."""
    rise = log1p(exp(-log_a))  # ln alpha - ln a, without cancellation for large orders
    return (log_inverse_delta - (log_a + rise)) / exp(log_a) - rise


def excess_above(order: float, delta: Fraction) -> Fraction:
    """h(1 + a), rounded up."""
    d, a = _DIGITS, Decimal(order)
    log_inverse_delta = d.minus(d.ln(d.divide(Decimal(delta.numerator), Decimal(delta.denominator))))
    log_alpha, log_a = d.ln(d.add(1, a)), d.ln(a)
    terms = [d.divide(log_inverse_delta, a), d.minus(d.divide(log_alpha, a)), log_a, d.minus(log_alpha)]
    total = d.add(d.add(terms[0], terms[1]), d.add(terms[2], terms[3]))
    slack = d.multiply(_SLACK, max(abs(term) for term in terms) + 1)
    return Fraction(d.add(total, slack))


def best_order(objective: Callable[[float], float]) -> float:
    """The a = alpha - 1 that minimises a unimodal function of ln a, by golden sections."""
    golden, low, high = 0.6180339887498949, -60.0, 300.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = objective(left), objective(right)
    while high - low > 1e-9:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = objective(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = objective(right)
    return exp((low + high) / 2)


def _conversion_delta(delta: Number) -> Fraction:
    d = exact(delta)
    if not 0 <= d < 1:
        raise BadValue(f"Delta must be at least 0 and below 1, not {delta}.")
    return d


@lru_cache(maxsize=4096, typed=True)
def rho_of(epsilon: Number, delta: Number) -> Fraction:
    """The largest rho (rounded down to the grain) whose zCDP promises (epsilon, delta)-DP [CKS20, Cor. 13].

    Args:
        epsilon: at least 0.
        delta: at least 0 and below 1; 0 allows no rho at all.

    >>> float(rho_of(1, 1e-6))  # doctest: +ELLIPSIS
    0.02435...
    """
    eps, d = exact(epsilon), _conversion_delta(delta)
    if eps < 0:
        raise BadValue(f"Epsilon must not be negative, not {epsilon}.")
    if d == 0:
        return Fraction(0)
    e, big = float(eps), log_inverse(d)
    # rho(alpha) = (epsilon - h(alpha)) / alpha, to be maximised.
    a = best_order(lambda log_a: (excess(log_a, big) - e) / (1 + exp(log_a)))
    rho = max(Fraction(0), grain_down((eps - excess_above(a, d)) / (1 + Fraction(a))))
    while rho and exact(epsilon_of(rho, d)) > eps:  # what is spent must never read as more than was meant
        rho = grain_down(rho * (1 - Fraction(1, 2**50)))
    return rho


@lru_cache(maxsize=4096, typed=True)
def epsilon_of(rho: Number, delta: Number) -> float:
    """The smallest epsilon (rounded up) for which rho-zCDP promises (epsilon, delta)-DP [CKS20, Cor. 13].

    Args:
        rho: at least 0.
        delta: at least 0 and below 1; 0 gives infinity unless rho is 0.

    >>> epsilon_of(0.02, 1e-6)  # doctest: +ELLIPSIS
    0.89993...
    """
    r, d = exact(rho), _conversion_delta(delta)
    if r < 0:
        raise BadValue(f"Rho must not be negative, not {rho}.")
    if r == 0 or d == 0:
        return 0.0 if r == 0 else inf
    x, big = float(r), log_inverse(d)
    a = best_order(lambda log_a: (1 + exp(log_a)) * x + excess(log_a, big))
    bound = max(Fraction(0), (1 + Fraction(a)) * r + excess_above(a, d))
    y = float_up(bound)
    return y if Fraction(y) >= bound else nextafter(y, inf)


def log_inverse(delta: Fraction) -> float:
    """ln(1/delta) in floats, for a delta of any size."""
    d = float(delta)
    return -log(d) if d > 1e-300 else log(delta.denominator) - log(delta.numerator)


# ---- Renyi divergences of order alpha = 1 + a, rounded up ----------------------------------------------


def renyi_of_laplace(epsilon: float, step: float, a: float) -> float:
    """Discrete Laplace noise: epsilon = sensitivity / scale, step = 1 / scale.

    Summing P^alpha Q^(1-alpha) over the lattice gives A e^(a eps) + (1 - A) e^(-alpha eps) with
    A = (1 - p r)/((1 + p)(1 - r)), p = e^(-step), r = p^(2 alpha - 1). The continuous curve [Mir17, Prop. 6]
    is its limit for step -> 0 and is too small for every real lattice. A whole vector of L1 sensitivity s
    obeys the curve of one coordinate moved by s: g(s + t) - g(s) g(t) is A (1 - A) times a product of two
    nonnegative factors. With step = epsilon it is randomised response, the worst of all pure acts.
    """
    alpha = 1 + a
    both = (1 + exp(-step)) * -expm1(-(2 * alpha - 1) * step)
    A = -expm1(-2 * alpha * step) / both
    B = exp(-step) * -expm1(-2 * a * step) / both  # 1 - A, without cancellation
    if a * epsilon < 1:
        rise, fall = A * expm1(a * epsilon), -B * expm1(-alpha * epsilon)
        value = (log1p(max(0.0, rise - fall)) + 8 * ROUNDING * (rise + fall)) / a
    else:
        value = epsilon + log(A + B * exp(-(2 * alpha - 1) * epsilon)) / a + ROUNDING * (1 + 1 / a)
    return min(value, epsilon, alpha * epsilon**2 / 2 * (1 + ROUNDING))


def renyi_of_bounded_range(epsilon: float, a: float) -> float:
    """Bounded range: the largest E_Q[e^(alpha Z)] over losses Z in [t - eps, t] with E_Q[e^Z] = 1.

    By convexity Z has two values; the best t has u = e^(t - eps) = a (e^(alpha eps) - 1) / (alpha
    (e^(alpha eps) - e^eps)), and the value is u^a (e^(alpha eps) - 1) / (alpha (e^eps - 1)). [DDR20]
    """
    alpha = 1 + a
    simple = alpha * epsilon**2 / 8 * (1 + ROUNDING)  # [CR21]
    if a * epsilon < 1e-12:  # nothing but cancellation is left of the formula
        return min(simple, epsilon)
    tops = [log(-expm1(-alpha * epsilon)), -log(-expm1(-epsilon)), -log(alpha)]
    logs = [log(a), -log(alpha), log(-expm1(-alpha * epsilon)), -log(-expm1(-a * epsilon))]
    value = epsilon + fsum(tops) / a + fsum(logs)
    return min(simple, epsilon, value + 4 * ROUNDING * (1 + fsum(map(abs, tops)) / a + fsum(map(abs, logs))))


# ---- noise scales ----------------------------------------------------------------------------------------


def laplace_scale(l1: Number, cost: Cost) -> Fraction:
    """The scale of discrete Laplace noise that costs at most `cost`, rounded up to a small rational.

    Args:
        l1: the L1 sensitivity in lattice steps.
        cost: what may be spent; from rho, epsilon is sqrt(2 rho).

    >>> from hedgerow.privacy.budget import Cost
    >>> laplace_scale(1, Cost("epsilon", "1/10"))
    Fraction(10, 1)
    """
    s, amount = _positive("sensitivity", l1), _affordable(cost)
    return _root_up((s / amount) ** 2 if cost.currency == "epsilon" else s**2 / (2 * amount))


def gaussian_sigma(l2_squared: Number, cost: Cost) -> Fraction:
    """The sigma of discrete Gaussian noise that costs at most `cost`, rounded up to a small rational.

    Args:
        l2_squared: the squared L2 sensitivity in lattice steps.
        cost: what may be spent, in rho.

    >>> from hedgerow.privacy.budget import Cost
    >>> gaussian_sigma(1, Cost("rho", "1/200"))
    Fraction(10, 1)
    """
    if cost.currency != "rho":
        raise UnknownEvent("Gaussian noise has no pure epsilon: it needs a budget with a delta above 0.")
    return _root_up(_positive("sensitivity", l2_squared) / (2 * _affordable(cost)))


def selection_epsilon(cost: Cost, bounded_range: bool) -> Fraction:
    """The epsilon of a private choice that costs at most `cost`, rounded down to a small rational.

    Args:
        cost: what may be spent.
        bounded_range: True for the exponential mechanism (rho = eps^2/8), False for others (eps^2/2).

    >>> from hedgerow.privacy.budget import Cost
    >>> selection_epsilon(Cost("rho", "1/8"), bounded_range=True)
    Fraction(1, 1)
    """
    amount = _affordable(cost)
    if cost.currency == "epsilon":
        return _root_down(amount**2)
    return _root_down((8 if bounded_range else 2) * amount)


def _positive(name: str, value: Number) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise BadValue(f"Noise is calibrated to a positive {name}, not {value}.")
    return number


def _affordable(cost: Cost) -> Fraction:
    if cost.amount <= 0:
        raise RangeTooLarge(
            "Nothing may be spent here, and no finite noise costs nothing: give an epsilon above 0."
        )
    return cost.amount


def _exact_root(square: Fraction) -> Fraction | None:
    """The root, if it is a rational that the samplers take as it is."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        return None
    a, b = root.numerator, root.denominator
    small, dyadic = max(a, b) < _SMALL, b & (b - 1) == 0 and max(a, b) < _LARGE
    return root if small or dyadic else None


def _shift(square: Fraction) -> int:
    """How many binary places leave the root below 2^44 when counted in them."""
    return max(0, min(_BITS, _BITS - isqrt(floor(square)).bit_length()))


def _root_up(square: Fraction) -> Fraction:
    """A small or dyadic rational a/b, a and b < 2^45, that is at least the root."""
    root = _exact_root(square)
    if root is not None:
        return root
    k = _shift(square)
    a = 1 + isqrt(ceil(square * 4**k) - 1)  # ceil(sqrt(x)) = 1 + isqrt(ceil(x) - 1)
    if a >= _LARGE:
        raise RangeTooLarge(f"A noise scale of {float(a >> k):.3g} lattice steps cannot be drawn exactly.")
    return Fraction(a, 1 << k)


def _root_down(square: Fraction) -> Fraction:
    """A small or dyadic rational a/b, a and b < 2^45, that is at most the root and positive."""
    root = _exact_root(square)
    if root is not None:
        return root
    k = _shift(square)
    a = isqrt(floor(square * 4**k))
    if not 0 < a < _LARGE:
        raise RangeTooLarge(
            "This epsilon is too small or too large for an exact private choice: give one nearer to 1."
        )
    return Fraction(a, 1 << k)
