"""Term: an expression as it is printed for the engine, and between which two expressions the truth lies.

The rules are interval arithmetic: if all released numbers lie within their bounds, all terms do too. How
sure each of them must be for that is counted here: a term of several released numbers goes over the union of
its parts. Quantiles of continuous, symmetric, log-concave noise would add up without it (its floating bodies
are convex [MR91] [Bob10]), but those of whole numbers do not: at high epsilon the half-width of a discrete
Laplace number is 0, and that of a sum of eight is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_SMOOTH = frozenset({"exp", "cbrt", "coalesce"})  # where what is missing stays so
_LONGEST = 8_000  # bounds of nested products grow; of longer ones there is no end


@dataclass(frozen=True)
class Term:
    """An expression in printed form.

    Args:
        text: the expression.
        low, high: expressions that the truth lies between; None where it is no number, or that is not known.
        sure: whether it depends on no released number at all.
        parts: over how many events the union bound goes.
        linear: whether it is a sum of released sums of rows, with coefficients that are sure.
        smooth: whether it moves smoothly with the released numbers, so that slopes say how far off it is.
        core: where it does not, an expression that does, and
        outer: what is made of that, step by step: functions of one argument that never fall.
        merged: of a whole entry of a list, whether it depends on which of the rows are there at all.
        span: between which two numbers the truth lies whatever was released; None if that is not known.
    """

    text: str
    low: str | None = None
    high: str | None = None
    sure: bool = True
    parts: int = 0
    linear: bool = True
    smooth: bool = False
    core: str | None = None
    outer: tuple[str, ...] = ()
    merged: bool = False
    span: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[str, str] | None:
        """The two ends; of what is sure, itself."""
        if self.sure:
            return self.text, self.text
        return None if self.low is None or self.high is None else (self.low, self.high)


def made(text: str, parts: Sequence[Term], low: str | None = None, high: str | None = None) -> Term:
    """A term of other terms: sure if they are; its bounds, if they are not too long to be stated."""
    if all(p.sure for p in parts):
        return Term(text)
    many = sum(p.parts for p in parts)
    if low is None or high is None:
        return Term(text, sure=False, parts=many, linear=False)
    if len(low) + len(high) > _LONGEST:  # slopes may still say how far off it is
        low, high = "'-inf'::DOUBLE", "'inf'::DOUBLE"
    return Term(text, low, high, sure=False, parts=many, linear=False)


def summed(term: Term, parts: Sequence[Term]) -> Term:
    """A term that is a sum of others with coefficients that are sure."""
    made_ = smoothly(term, parts)
    return made_ if term.sure or not all(p.linear for p in parts) else replace(made_, linear=True)


def smoothly(term: Term, parts: Sequence[Term]) -> Term:
    """A term that moves smoothly with others, and so with released numbers if they do."""
    smooth = not term.sure and all(p.sure or p.smooth for p in parts)
    return replace(term, smooth=True) if smooth else term


def stepwise(term: Term, inner: Term, step: str) -> Term:
    """A term that is made of one other by a function that never falls, but jumps or stands still.

    Args:
        term: the term.
        inner: what it is made of.
        step: the function, {} for its argument; made of literals else.
    """
    if term.sure or not (inner.smooth or inner.core is not None):
        return term
    core = inner.text if inner.core is None else inner.core
    return replace(term, core=core, outer=(*inner.outer, step))


def ends(parts: Sequence[Term]) -> tuple[list[str], list[str]] | None:
    """The lower and the upper ends of several terms; None if one of them has none."""
    found = [p.bounds for p in parts]
    known = [b for b in found if b is not None]
    return ([a for a, _ in known], [b for _, b in known]) if len(known) == len(found) else None


def rising(name: str, parts: Sequence[Term]) -> Term:
    """A function that grows with each of its arguments."""
    text, both = f"{name}({', '.join(p.text for p in parts)})", ends(parts)
    if both is None:
        return made(text, parts)
    found = made(text, parts, f"{name}({', '.join(both[0])})", f"{name}({', '.join(both[1])})")
    if name in _SMOOTH:
        return smoothly(found, parts)
    return stepwise(found, parts[0], f"{name}({{}})") if len(parts) == 1 else found


def above_zero(name: str, a: Term) -> Term:
    """SQRT(a) or LN(a), which the truth has: below zero there is only noise, and no end is no number."""
    text = f"{name}({a.text})"
    if a.bounds is None:
        return made(text, [a])
    return smoothly(made(text, [a], *(f"{name}(greatest({end}, 0))" for end in a.bounds)), [a])


def cast(name: str, a: Term) -> Term:
    """A cast to a type of numbers; an end that does not fit it is none, and what is missing stays so."""
    text = f"try_cast({a.text} AS {name})"
    if a.bounds is None:
        return made(text, [a])
    ends = zip(a.bounds, ("-inf", "inf"), strict=True)
    kept = (f"coalesce(try_cast({end} AS {name}), '{none}'::DOUBLE)" for end, none in ends)
    known = (f"(CASE WHEN {end} IS NOT NULL THEN {x} END)" for end, x in zip(a.bounds, kept, strict=True))
    found = made(text, [a], *known)
    return smoothly(found, [a]) if name == "DOUBLE" else stepwise(found, a, f"try_cast({{}} AS {name})")


def hull(text: str, parts: Sequence[Term]) -> Term:
    """One of several terms, and released numbers decide which."""
    both = ends(parts)
    if both is None:
        return made(text, parts)
    return made(text, parts, f"least({', '.join(both[0])})", f"greatest({', '.join(both[1])})")


def plus(a: Term, b: Term) -> Term:
    """a + b."""
    text, both = f"({a.text} + {b.text})", ends([a, b])
    if both is None:
        return made(text, [a, b])
    return summed(made(text, [a, b], *(f"({x} + {y})" for x, y in both)), [a, b])


def minus(a: Term, b: Term) -> Term:
    """a - b."""
    text, both = f"({a.text} - {b.text})", ends([a, b])
    if both is None:
        return made(text, [a, b])
    (al, bl), (ah, bh) = both
    return summed(made(text, [a, b], f"({al} - {bh})", f"({ah} - {bl})"), [a, b])


def times(a: Term, b: Term) -> Term:
    """a * b."""
    if _positive(a):
        return _scaled(f"({a.text} * ", b, ")")
    if _positive(b):
        return _scaled("(", a, f" * {b.text})")
    found = _corners("times", f"({a.text} * {b.text})", a, b)
    return summed(found, [a, b]) if a.sure or b.sure else smoothly(found, [a, b])


def over(a: Term, b: Term) -> Term:
    """a / b; unbounded where b may be zero."""
    if _positive(b):
        return _scaled("(", a, f" / {b.text})")
    found = _corners("over", f"({a.text} / {b.text})", a, b)
    return summed(found, [a]) if b.sure else smoothly(found, [a, b])


def _positive(a: Term) -> bool:
    """Whether it is a literal above zero: most factors are, and then the ends stay ends."""
    return _NUMBER.fullmatch(a.text) is not None and float(a.text) > 0


def _scaled(before: str, a: Term, after: str) -> Term:
    text, both = f"{before}{a.text}{after}", a.bounds
    if both is None:
        return made(text, [a])
    found = summed(made(text, [a], *(f"{before}{end}{after}" for end in both)), [a])
    return found if found.smooth else stepwise(found, a, f"{before}{{}}{after}")


def _corners(name: str, text: str, a: Term, b: Term) -> Term:
    both = ends([a, b])
    if both is None:
        return made(text, [a, b])
    (al, bl), (ah, bh) = both
    four = f"({al}, {ah}, {bl}, {bh})"
    return made(text, [a, b], f"{name}_low{four}", f"{name}_high{four}")


def inside(a: Term, low: float, high: float) -> Term:
    """What surely lies between two numbers, moved there: that brings it nearer to wherever the truth is."""
    if a.sure:
        return a
    step = f"inside({{}}, {low!r}, {high!r})"
    ends_ = [repr(low), repr(high)]
    if a.bounds is not None:
        pairs = zip(a.bounds, ("low", "high"), strict=True)
        ends_ = [f"inside_{side}({end}, {low!r}, {high!r})" for end, side in pairs]
    found = smoothly(made(step.format(a.text), [a], *ends_), [a])
    return replace(stepwise(found, a, step), span=(low, high))


def distance(a: Term) -> Term:
    """ABS(a)."""
    text = f"abs({a.text})"
    if a.bounds is None:
        return made(text, [a])
    low, high = a.bounds
    return made(text, [a], f"greatest({low}, -({high}), 0)", f"greatest(abs({low}), abs({high}))")


def negative(a: Term) -> Term:
    """-a."""
    text = f"(-{a.text})"
    if a.bounds is None:
        return made(text, [a])
    return summed(made(text, [a], f"(-({a.bounds[1]}))", f"(-({a.bounds[0]}))"), [a])


def unless(a: Term, b: Term) -> Term:
    """NULLIF(a, b); unbounded where noise decides whether there is a number, whatever is made of that."""
    text, both = f"nullif({a.text}, {b.text})", ends([a, b])
    if both is None:
        return made(text, [a, b])
    (al, bl), (ah, bh) = both
    apart = f"({ah} < {bl} OR {al} > {bh})"
    kept = (
        f"(CASE WHEN {end} IS NULL THEN NULL WHEN {apart} THEN {end} ELSE '{none}'::DOUBLE END)"
        for end, none in ((al, "-inf"), (ah, "inf"))
    )
    return smoothly(made(text, [a, b], *kept), [a, b])


def chosen(conditions: Sequence[Term], values: Sequence[Term], otherwise: Term | None) -> Term:
    """CASE: by sure conditions the same choice of bounds, by others the hull of all branches."""
    last = Term("NULL") if otherwise is None else otherwise
    parts = [*conditions, *values, last]
    text = _case(conditions, [v.text for v in values], last.text)
    both = ends([*values, last])
    if both is None:
        return made(text, parts)
    if all(c.sure for c in conditions):
        found = made(text, parts, *(_case(conditions, ends_[:-1], ends_[-1]) for ends_ in both))
        return smoothly(found, [*values, last])
    if otherwise is None:
        return made(text, parts)
    either = hull(text, [*values, last])
    return made(text, parts, either.low, either.high)


def _case(conditions: Sequence[Term], values: Sequence[str], last: str) -> str:
    whens = " ".join(f"WHEN {c.text} THEN {v}" for c, v in zip(conditions, values, strict=True))
    return f"(CASE {whens} ELSE {last} END)"
