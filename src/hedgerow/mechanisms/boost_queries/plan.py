"""The parameters of boosting for queries, from public numbers: samples, rounds, databases, lambda and mu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, lgamma, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Cost, gaussian_sigma
from hedgerow.queries.measurement import Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SAMPLES = np.unique(np.rint(10.0 ** (np.arange(16, 97) / 16.0)))  # 10 .. 10^6
_SIZES = np.unique(np.rint(10.0 ** (np.arange(97) / 16.0)))  # rows of a drawn database: 1 .. 10^6
_ROUNDS = 400
_LEAST, _MOST = 0.01, 0.499  # the smallest eta worth having, and the largest that is counted on
_TRIED = 4  # the best by floats, of which the best by exact prices is taken


@dataclass(frozen=True)
class Setting:
    """What is public about a task.

    Args:
        distinct: how many different questions the workload holds.
        move: the most that one unit moves one answer, in lattice steps.
        l2_squared: the squared L2 sensitivity of all answers together, in lattice steps.
        denominator: lattice steps per row.
        slack: by how many rows the known total may be off.
        synopses: the logarithm of how many answers a generator can give, where that is finite.
        each: what one sampled question adds to the squared L2 sensitivity at most; move^2 if None.
        cells: |X|, where the generator draws a small database; 0 where it does not.
        total: the number of rows, which a drawn database stands for.
    """

    distinct: int
    move: Fraction
    l2_squared: Fraction
    denominator: int = 1
    slack: float = 0.0
    synopses: float = float("inf")
    each: Fraction | None = None
    cells: int = 0
    total: float = 0.0

    def sensitivity(self, samples: int) -> Fraction:
        """The squared L2 sensitivity of so many of the answers, in lattice steps."""
        return min(self.l2_squared, samples * (self.move**2 if self.each is None else self.each))


@dataclass(frozen=True)
class BoostPlan:
    """k, T, alpha, lambda and mu of [DRV10] Fig. 1, and the price of a base run; in lattice steps.

    Args:
        samples, rounds, eta, alpha: k, T, eta and alpha.
        accurate, gap: lambda and mu.
        base, sampling: the price of one base run, and of sampling in all rounds.
        tolerance: how far from noisy answers the generator's fit may be.
        size: n', the rows of the database drawn from the fit; 0 if the fit itself is the synopsis.
        apart: a, how far a drawn database may move a sampled answer, as a fraction of the rows.
        whole: whether every round measures all questions, so that nothing is sampled or generalised.
        proven: whether lambda + mu is a promise.
    """

    samples: int
    rounds: int
    eta: float
    alpha: Fraction
    accurate: int
    gap: int
    base: Cost
    tolerance: float
    sampling: Cost
    size: int = 0
    apart: float = 0.0
    whole: bool = False
    proven: bool = True

    @property
    def error(self) -> int:
        """lambda + mu: how far answers may be off, in lattice steps."""
        return self.accurate + self.gap


@dataclass(frozen=True)
class _Choice:
    """k, n', eta, T and about the best mu."""

    samples: int
    size: int
    eta: float
    rounds: int
    gap: float


def advantage(samples: int, distinct: int, synopses: float, beta: float) -> float:
    """eta: synopses that fit k sampled questions are accurate for 1/2 + eta of the mass, except with beta.

    The better of two bounds. [DRV10] Lemma 5.1: k >= (ln(1/beta) + ln |synopses|) / (1/2 - eta). And the
    missing mass: whatever fits all sampled questions errs at most on those not seen. Of N questions their
    expected mass is at most N p (1 - p)^k at p = 1/(k+1), and it exceeds its mean by e with probability at
    most exp(-k e^2) ([MO03] Thm 16).
    """
    return float(np.maximum(_by_size(samples, synopses, beta), _by_mass(samples, distinct, beta)))


def _by_size(samples: Any, synopses: Any, beta: float) -> Any:
    return 0.5 - (log(1.0 / beta) + synopses) / samples


def _by_mass(samples: Any, distinct: int, beta: float) -> Any:
    p = 1.0 / (samples + 1.0)
    unseen = np.minimum(1.0, distinct * p * (1.0 - p) ** samples)
    return 0.5 - unseen - np.sqrt(log(1.0 / beta) / samples)


def small_database(samples: int, distinct: int, apart: float) -> int:
    """n': so many rows drawn from a distribution may move none of the k sampled answers by more than `apart`.

    By Hoeffding one answer moves further with probability 2 exp(-2 n' a^2), which for all min(k, |Q|) of them
    comes to less than 1 at n' = ln(2 min(k, |Q|)) / (2 a^2): there is such a database ([DRV10] Thm 5.3,
    [BLR08]), and drawing again finds it.

    >>> small_database(100, 1000, 0.1)
    265
    """
    return max(1, ceil(log(2.0 * min(samples, distinct)) / (2.0 * apart * apart)))


def log_databases(cells: int, size: int) -> float:
    """ln C(|X| + n' - 1, n'): how many databases of n' rows there are.

    >>> round(exp(log_databases(4, 2)))
    10
    """
    return lgamma(cells + size) - lgamma(size + 1.0) - lgamma(cells)


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
    """The k, T, n' and mu of least lambda + mu that the price buys.

    Of beta one half is for the base runs' noise, one half for the sampled questions, both shared by rounds;
    all of it is for the noise where every question is measured.

    Args:
        setting: what is public.
        price: what the whole may cost, in rho.
        beta: how often the accuracy may fail.
        samples, rounds, gap: k, T and mu (in rows) where the user wants their own.
    """
    every = samples is not None and samples >= setting.distinct
    found: list[BoostPlan | None] = []
    if every or (samples is None and gap is None):
        found.append(_whole(setting, price, beta, rounds or 1))
    if not every:
        mu = None if gap is None else gap * setting.denominator
        chosen = _choices(setting, float(price.amount), beta, samples, rounds, mu)
        found += [_priced(setting, price, beta, choice) for choice in chosen]
    best = min((made for made in found if made is not None), key=lambda made: made.error, default=None)
    if best is None:
        raise UnsupportedQuery(
            "no number of sampled questions gives boosting an advantage here; give more samples, or none"
        )
    return best


def _choices(
    setting: Setting, price: float, beta: float, samples: int | None, rounds: int | None, gap: float | None
) -> Iterator[_Choice]:
    """The best k and n' by their errors in floats; a user's own k and T run even where they claim nothing."""
    each = beta / 2.0 / (rounds or _ROUNDS)
    k = np.array([float(samples)]) if samples is not None else _SAMPLES[setting.distinct > _SAMPLES]
    sizes = _SIZES if setting.cells else _SIZES[:0]
    eta = np.empty((len(k), 1 + len(sizes)))  # the first column keeps the generator's own table
    eta[:, 0] = np.maximum(_by_size(k, setting.synopses, each), _by_mass(k, setting.distinct, each))
    logs = np.array([log_databases(setting.cells, int(n)) for n in sizes])
    eta[:, 1:] = _by_size(k[:, None], logs, each)
    eta = np.minimum(eta, _MOST)
    told = setting, price, beta, k[:, None], np.r_[0.0, sizes]
    with np.errstate(invalid="ignore", divide="ignore"):
        error, t, mu = _errors(*told, eta, rounds, gap)
        if rounds is not None and not (error < np.inf).any():
            eta = np.maximum(eta, _LEAST if samples is not None else eta)
            error, t, mu = _errors(*told, eta, rounds, gap, proven=False)
            error[:, 1:] = np.inf
    for place in np.argsort(error, axis=None)[:_TRIED]:
        i, j = np.unravel_index(place, error.shape)
        if error[i, j] < np.inf:
            size = int(sizes[j - 1]) if j else 0
            yield _Choice(int(k[i]), size, float(eta[i, j]), int(t[i, j]), float(mu[i, j]))


def _errors(
    setting: Setting,
    price: float,
    beta: float,
    k: Floats,
    size: Floats,
    eta: Floats,
    rounds: int | None,
    gap: float | None,
    proven: bool = True,
) -> tuple[Floats, Floats, Floats]:
    """lambda + mu in lattice steps, T and mu for every k and n'.

    Noise costs A / sqrt(1 - s) of error and mu B / sqrt(s) if sampling takes the share s of the price: least
    where s : 1 - s = B^(2/3) : A^(2/3).
    """
    needed = np.floor(log(setting.distinct) / (-0.5 * np.log(1.0 - 4.0 * eta * eta))) + 1.0
    t = needed if rounds is None else np.full(eta.shape, float(rounds))
    each = float(setting.move**2 if setting.each is None else setting.each)
    l2 = np.minimum(float(setting.l2_squared), k * each)
    deep = np.sqrt(2.0 * np.log(4.0 * k * t / beta))
    noise = 2.0 * deep * np.sqrt(l2 * t / (2.0 * price))
    squares = (t - 1.0) * t * (2.0 * t - 1.0) / 6.0
    alpha = 0.5 * np.log((1.0 + 2.0 * eta) / (1.0 - 2.0 * eta))
    unit = np.sqrt(k * squares * 2.0 / price) * alpha * float(setting.move)
    share = unit ** (2 / 3) / (unit ** (2 / 3) + noise ** (2 / 3)) if gap is None else (unit / gap) ** 2
    mu = np.maximum(unit / np.sqrt(share), 1.0) if gap is None else np.full(eta.shape, gap)
    mu = np.where(t > 1.0, mu, 1.0)
    share = np.where(t > 1.0, share, 0.0)
    apart = np.where(size > 0.0, np.sqrt(np.log(2.0 * k) / (2.0 * np.maximum(size, 1.0))), 0.0)
    error = noise / np.sqrt(1.0 - share) + mu + apart * setting.total * setting.denominator
    fits = (eta >= _LEAST) & (t <= (_ROUNDS if rounds is None else t)) & (share < 1.0)
    if proven:
        fits &= (eta > _LEAST) & (needed <= t)
    return np.where(fits, error, np.inf), t, mu


def _priced(setting: Setting, price: Cost, beta: float, choice: _Choice) -> BoostPlan | None:
    """A choice at exact prices, rounded as the ledger rounds; None if it cannot be paid."""
    k, t, mu = choice.samples, choice.rounds, ceil(choice.gap)
    alpha = Fraction(round(0.5 * log((1 + 2 * choice.eta) / (1 - 2 * choice.eta)) * 10**6), 10**6)
    costs = [k * (4 * alpha * j * setting.move / mu) ** 2 / 8 for j in range(1, t)]
    sampling = sum((Cost("rho", c) for c in costs), Cost.zero("rho"))
    if not sampling <= price:
        return None
    seen = min(k, setting.distinct)
    apart = sqrt(log(2.0 * seen) / (2.0 * choice.size)) if choice.size else 0.0
    base = (price - sampling).share(Fraction(1, t))
    lattice = _lattice(setting, base, beta / 2.0 / t, k, seen)
    if lattice is None:
        return None
    tolerance, width = lattice
    moved = apart * setting.total * setting.denominator
    sure = choice.eta > _LEAST
    lam = ceil(tolerance + width + moved)
    shape = choice.size, apart, False, sure
    return BoostPlan(k, t, choice.eta, alpha, lam, mu, base, tolerance, sampling, *shape)


def _whole(setting: Setting, price: Cost, beta: float, t: int) -> BoostPlan | None:
    """Every question measured in every round: each database is right on all of them, and so is the median."""
    base = price.share(Fraction(1, t))
    lattice = _lattice(setting, base, beta / t, setting.distinct, setting.distinct)
    if lattice is None:
        return None
    tolerance, width = lattice
    free = Cost.zero("rho")
    lam = ceil(tolerance + width)
    return BoostPlan(setting.distinct, t, 0.5, Fraction(0), lam, 0, base, tolerance, free, whole=True)


def _lattice(
    setting: Setting, base: Cost, beta: float, samples: int, seen: int
) -> tuple[float, float] | None:
    """How far from noisy answers the rows' own are at most as a fit, and the noise itself; lattice steps."""
    if base.is_zero:
        return None
    noise = Noise("gaussian", gaussian_sigma(setting.sensitivity(samples), base))
    width = noise.half_width(1.0 - beta, numbers=seen)
    return width + setting.slack * setting.denominator + 1.0, width  # one step for rounding to the lattice


def unreached(plan_made: BoostPlan, distinct: int) -> float:
    """The share of questions that the rounds may leave inaccurate; below 1/|Q| it is none."""
    if plan_made.whole:
        return 0.0
    a, eta = float(plan_made.alpha), plan_made.eta
    shrink = 0.5 * ((exp(a) + exp(-a)) + 2 * eta * (exp(-a) - exp(a)))
    left = shrink**plan_made.rounds
    return 0.0 if left < 1.0 / distinct else left
