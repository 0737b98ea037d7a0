"""The exact number that a person means by what they wrote."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

from hedgerow.errors import BadValue

Number = int | float | str | Fraction | Decimal
_LONGEST_NUMERAL = 400


def exact(x: Number) -> Fraction:
    """The rational number a person means by `x`: 0.1 is one tenth, and 1/3 in floats is one third.

    A float means its shortest decimal, except where it is the float of a fraction with a denominator
    up to 64 (1/3, 1/7): then it means that fraction. `float(exact(x)) == x` always holds.

    Args:
        x: an int, float, Fraction, Decimal, or a numeral such as "0.1", "1e-6" or "1/3".

    >>> exact(0.1), exact(1 / 3), exact("1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    if isinstance(x, bool):
        raise BadValue(f"A number is needed here, not {x!r}.")
    if isinstance(x, Integral):
        return Fraction(int(x))
    if isinstance(x, Fraction):
        return x
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    if isinstance(x, str | Decimal):
        return _parse(str(x).strip())
    if isinstance(x, Real):
        return _from_float(float(x))
    raise BadValue(f"A number is needed here, not a {type(x).__name__}.")


def _parse(text: str) -> Fraction:
    """The value of a numeral, with a limit on its size."""
    _, _, exponent = text.lower().partition("e")
    try:
        if len(text) > _LONGEST_NUMERAL or (exponent and abs(int(exponent)) > _LONGEST_NUMERAL):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadValue(f"A finite number is needed here, not {text[:40]!r}.") from None


def _from_float(x: float) -> Fraction:
    """The shortest decimal of a float, or the small fraction whose float it is."""
    if x != x or x in (float("inf"), float("-inf")):
        raise BadValue(f"A finite number is needed here, not {x}.")
    decimal = Fraction(float.__repr__(x))
    if abs(x) < 1024:  # beyond, many small fractions share one float
        simple = decimal.limit_denominator(64)
        if float(simple) == x:
            return simple
    return decimal
