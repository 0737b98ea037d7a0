"""What a private learner costs whose k samples come from distributions that neighbours hardly change.

**Theorem.** Let A and B be laws of a row with statistical distance at most sigma, and let M take k rows and
be (eps, delta)-DP when one of them is replaced. With e' = ln(1 + sigma (e^eps - 1)), the laws M(A^k) and
M(B^k) are within k e' and delta sigma (e^(k e') - 1) / (e^e' - 1) of each other, both ways.

Proof. Hybrids: let H_j draw its first j rows from B and the others from A. H_(j-1) and H_j differ in the law
of row j alone. Write A = (1 - sigma) C + sigma A', B = (1 - sigma) C + sigma B'. Given all other rows, what M
says is (1 - sigma) m_C + sigma m_A' against (1 - sigma) m_C + sigma m_B', and each two of these three are
(eps, delta)-close, as M is and mixtures are. Advanced joint convexity ([BBG18] Thm 2): with
alpha' = 1 + sigma (alpha - 1), the divergence of order alpha' of the mixtures is sigma times that of order
alpha = e^eps of m_A' from a mixture of m_C and m_B', hence at most sigma delta. So each step is
(e', sigma delta)-close; k steps in a row are (k e', sigma delta (1 + e^e' + .. + e^((k-1) e')))-close.

[DRV10] Lemma 6.5 says (4 eps sigma k, delta (1 + e^(2 eps sigma k))) for eps <= 1/2. Its delta is wrong: the
proof charges delta once for r replaced rows, where group privacy has delta (1 + e^eps + .. + e^((r-1) eps)).
With M = "yes" with chance delta per row that is 1, A = 0 always and B = 1 with chance sigma: eps = 0, and the
laws are sigma k delta apart, more than the lemma's 2 delta once sigma k > 2. The theorem is tight there.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor

_D = Context(prec=80)
_UP = Fraction(10**50 + 1, 10**50)  # a handful of operations at 80 digits err by far less
_FINE, _COARSE = 1 << 100, 1 << 40


def sampled_loss(
    epsilon: Fraction, delta: Fraction, samples: int, distance: Fraction
) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of such a learner, rounded up.

    Args:
        epsilon, delta: of the learner, when one sample is replaced.
        samples: k.
        distance: sigma, above 0 and at most 1.

    >>> loss, miss = sampled_loss(Fraction(1, 2), Fraction(0), 10, Fraction(1, 8))
    >>> round(float(loss), 4), miss
    (0.7797, Fraction(0, 1))
    """
    if epsilon < 0 or not 0 <= delta < 1 or samples < 1 or not 0 < distance <= 1:
        raise ValueError("a learner has an epsilon, a delta below 1, samples, and a distance of at most 1")
    x = (_exp(epsilon) * _UP - 1) * distance if epsilon else Fraction(0)
    step = Fraction(_D.ln(_decimal(1 + x))) * _UP + (Fraction(1, 10**60) if x else 0)
    loss = Fraction(ceil(samples * step * _FINE), _FINE)
    if not delta:
        return loss, Fraction(0)
    grown = Fraction(_D.power(_decimal(1 + x), samples)) * _UP
    many = (grown - 1) / x if x > Fraction(1, 10**15) else samples * grown
    return loss, min(Fraction(1), Fraction(ceil(delta * distance * many * _UP * _FINE), _FINE))


def sampled_base(epsilon: Fraction, samples: int, distance: Fraction) -> Fraction:
    """The largest epsilon of a pure learner, rounded down, that `samples` of it cost at most `epsilon` with.

    >>> sampled_loss(sampled_base(Fraction(1), 10, Fraction(1, 8)), Fraction(0), 10, Fraction(1, 8))[0] <= 1
    True
    """
    inside = 1 + (_exp(epsilon / samples) - 1) / distance
    base = Fraction(floor(Fraction(_D.ln(_decimal(inside))) * _COARSE), _COARSE)
    while base > 0 and sampled_loss(base, Fraction(0), samples, distance)[0] > epsilon:
        base -= Fraction(1, _COARSE)
    return base


def _exp(x: Fraction) -> Fraction:
    return Fraction(_D.exp(_decimal(x)))


def _decimal(x: Fraction) -> Decimal:
    return _D.divide(Decimal(x.numerator), Decimal(x.denominator))
