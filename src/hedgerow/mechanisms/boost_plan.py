"""The parameters of boosting for queries, from public numbers: samples, rounds, lambda and mu."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp, log, sqrt

from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Cost, gaussian_sigma
from hedgerow.queries.measurement import Noise

_SAMPLES = [round(10 ** (j / 16)) for j in range(16, 97)]  # 10 .. 10^6
_ROUNDS = 400
_LEAST = 0.01  # the smallest eta worth having


@dataclass(frozen=True)
class Setting:
    """What is public about a task.

    Args:
        distinct: how many different questions the workload holds.
        synopses: the logarithm of how many answers a generator can give, where that is finite.
        move: the most that one unit moves one answer, in lattice steps.
        l2_squared: the squared L2 sensitivity of all answers together, in lattice steps.
        denominator: lattice steps per row.
        slack: by how many rows the known total may be off.
    """

    distinct: int
    move: Fraction
    l2_squared: Fraction
    denominator: int = 1
    slack: float = 0.0
    synopses: float = float("inf")


@dataclass(frozen=True)
class BoostPlan:
    """k, T, alpha, lambda and mu of [DRV10] Fig. 1, and the price of a base run; in lattice steps."""

    samples: int
    rounds: int
    eta: float
    alpha: Fraction
    accurate: int
    gap: int
    base: Cost
    tolerance: float
    sampling: Cost
    proven: bool = True

    @property
    def error(self) -> int:
        """lambda + mu."""
        return self.accurate + self.gap


def advantage(samples: int, distinct: int, synopses: float, beta: float) -> float:
    """eta: synopses that fit k sampled questions are accurate for 1/2 + eta of the mass, except with beta.

    The better of two bounds. [DRV10] Lemma 5.1: k >= (ln(1/beta) + ln |synopses|) / (1/2 - eta). And the
    missing mass: whatever fits all sampled questions errs at most on those not seen. Of N questions their
    expected mass is at most N p (1 - p)^k at p = 1/(k+1), and it exceeds its mean by e with probability at
    most exp(-k e^2) ([MO03] Thm 16).
    """
    by_size = 0.5 - (log(1.0 / beta) + synopses) / samples
    p = 1.0 / (samples + 1.0)
    unseen = min(1.0, distinct * p * (1.0 - p) ** samples)
    by_mass = 0.5 - unseen - sqrt(log(1.0 / beta) / samples)
    return max(by_size, by_mass)


def rounds_needed(eta: float, distinct: int) -> int:
    """T with (1 - 4 eta^2)^(T/2) below 1/|Q|: then no question is left behind ([DRV10] Claim 4.3)."""
    return int(log(distinct) / (-0.5 * log(1.0 - 4.0 * eta * eta))) + 1


def plan(
    setting: Setting,
    price: Cost,
    beta: float,
    *,
    samples: int | None = None,
    rounds: int | None = None,
    gap: float | None = None,
) -> BoostPlan:
    """The k, T and mu of least lambda + mu that the price buys.

    Of beta one half is for the base runs' noise, one half for the sampled questions, both shared by rounds.

    Args:
        setting: what is public.
        price: what the whole may cost, in rho.
        beta: how often the accuracy may fail.
        samples, rounds, gap: k, T and mu (in rows) where the user wants their own.
    """
    found = [
        made
        for k in ([samples] if samples is not None else _SAMPLES)
        if (made := _with(setting, price, beta, k, rounds, gap, samples is None)) is not None
    ]
    if not found:
        raise UnsupportedQuery(
            "no number of sampled questions gives boosting an advantage here; give more samples, or none"
        )
    return min(found, key=lambda made: made.error)


def _with(
    setting: Setting,
    price: Cost,
    beta: float,
    k: int,
    rounds: int | None,
    gap: float | None,
    samples_chosen: bool,
) -> BoostPlan | None:
    each = beta / 2.0 / (rounds or _ROUNDS)
    eta = min(advantage(k, setting.distinct, setting.synopses, each), 0.499)
    proven = eta > _LEAST
    if not proven and (rounds is None or samples_chosen):
        return None
    eta = max(eta, _LEAST)  # k and T are the user's: it runs, and claims nothing
    t = rounds or rounds_needed(eta, setting.distinct)
    if t > _ROUNDS:
        return None
    alpha = Fraction(round(0.5 * log((1 + 2 * eta) / (1 - 2 * eta)) * 10**6), 10**6)
    squares = sum(j * j for j in range(1, t))
    unit = k * squares * (4.0 * float(alpha) * float(setting.move)) ** 2 / 8.0  # rho of sampling, times mu^2
    options = [gap * setting.denominator] if gap is not None else _gaps(unit, float(price.amount))
    made = [m for g in options if (m := _priced(setting, price, beta, k, t, eta, alpha, g)) is not None]
    best = min(made, key=lambda m: m.error, default=None)
    return replace(best, proven=proven) if best else None


def _gaps(unit: float, amount: float) -> list[float]:
    """mu such that sampling takes a share of the price."""
    return [max(sqrt(unit / (share * amount)), 1.0) for share in (0.2, 0.35, 0.5, 0.65, 0.8)]


def _priced(
    setting: Setting, price: Cost, beta: float, k: int, t: int, eta: float, alpha: Fraction, gap: float
) -> BoostPlan | None:
    mu = ceil(gap)
    costs = [k * (4 * alpha * j * setting.move / mu) ** 2 / 8 for j in range(1, t)]
    sampling = sum((Cost("rho", c) for c in costs), Cost.zero("rho"))  # rounded as the ledger rounds
    if not sampling <= price:
        return None
    base = (price - sampling).share(Fraction(1, t))
    if base.is_zero:
        return None
    noise = Noise("gaussian", gaussian_sigma(setting.l2_squared, base))
    width = noise.half_width(1.0 - beta / 2.0 / t, numbers=setting.distinct)
    slack = setting.slack * setting.denominator
    tolerance = width + slack + 1.0  # one step for rounding to the lattice
    return BoostPlan(k, t, eta, alpha, ceil(tolerance + width), mu, base, tolerance, sampling)


def unreached(plan_made: BoostPlan, distinct: int) -> float:
    """The share of questions that the rounds may leave inaccurate; below 1/|Q| it is none."""
    a, eta = float(plan_made.alpha), plan_made.eta
    shrink = 0.5 * ((exp(a) + exp(-a)) + 2 * eta * (exp(-a) - exp(a)))
    left = shrink**plan_made.rounds
    return 0.0 if left < 1.0 / distinct else left
