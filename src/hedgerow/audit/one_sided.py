"""The one-sided sparse vector, enumerated exactly on its real lattice; and what it becomes when done wrong.

With y = e^(-z/b2) the chance of "below" before k and "above" at k, given z, is a polynomial in y, and the sum
over z of e^(-z/b1) y^j is geometric: no term is left out, however fine the lattice. Signs alternate, so that
digits are lost: no more than one for each question and each power of ten in a scale; that many more are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from hedgerow.audit.exact import SLACK, Law
from hedgerow.audit.finding import Finding
from hedgerow.audit.neighbours import DOMAIN
from hedgerow.audit.rehearsal import World
from hedgerow.curator.runs.exact_answers import questions_of
from hedgerow.curator.runs.one_sided import _differences, _guesses
from hedgerow.curator.runs.one_sided_plan import OneSidedPlan, Side, plan
from hedgerow.privacy.budget import Budget, Cost, Privacy
from hedgerow.privacy.sparse_vector_event import OneSidedSparseVector
from hedgerow.queries.query import Norms, Query

_D = Context(prec=60, rounding=ROUND_HALF_EVEN)
_NONE, _ALL = Decimal(0), Decimal(1)
LONGEST = 48
LawOf = Callable[[Sequence[int], OneSidedPlan], Law]
Stream = Sequence[tuple[Query, float]]


def law(values: Sequence[int], made: OneSidedPlan) -> Law:
    """The law of the place of the first "above" (the stream's length: none)."""
    if len(values) > LONGEST:
        raise ValueError(f"a stream of more than {LONGEST} questions is not enumerated")
    return dict(enumerate(_law(tuple(int(v) for v in values), made)))


@lru_cache(maxsize=1 << 14)
def _law(values: tuple[int, ...], made: OneSidedPlan) -> tuple[Decimal, ...]:
    scale = max(made.threshold_scale, made.query_scale)
    c = _context(80 + len(values) * (3 + len(str(int(scale)))))
    below, start, places = [_ALL], 0, []  # the polynomial in y of all "below" so far, for z >= start
    for v in values:
        gap = made.threshold - v  # "above" iff nu >= gap + z; for gap + z <= 0 it is certain
        factor = _power(gap, made.query_scale, c.prec)
        cut = max(start, -gap)
        certain = c.subtract(_sum(below, start, 0, made, c), _sum(below, cut, 0, made, c))
        places.append(c.add(certain, c.multiply(factor, _sum(below, cut, 1, made, c))))
        start = max(start, 1 - gap)
        pairs = zip([*below, _NONE], [_NONE, *below], strict=True)
        below = [c.subtract(a, c.multiply(factor, b)) for a, b in pairs]
    return (*places, _sum(below, start, 0, made, c))


def _sum(polynomial: Sequence[Decimal], start: int, shift: int, made: OneSidedPlan, c: Context) -> Decimal:
    """The sum over z >= start of P(z) y^shift times a polynomial in y."""
    p1, p2 = (_power(1, b, c.prec) for b in _scales(made))
    head, y = (_power(start, b, c.prec) for b in _scales(made))
    total, ratio, first = _NONE, c.multiply(p1, c.power(p2, shift)), c.multiply(head, c.power(y, shift))
    for coefficient in polynomial:
        term = c.divide(first, c.subtract(_ALL, ratio))
        total = c.add(total, c.multiply(coefficient, term))
        ratio, first = c.multiply(ratio, p2), c.multiply(first, y)
    return c.multiply(c.subtract(_ALL, p1), total)


def _scales(made: OneSidedPlan) -> tuple[Fraction, Fraction]:
    """(b1, b2) in lattice steps."""
    return made.threshold_scale, made.query_scale


@lru_cache(maxsize=1 << 10)
def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN)


@lru_cache(maxsize=1 << 14)
def _power(steps: int, scale: Fraction, digits: int) -> Decimal:
    """e^(-steps/scale)."""
    c = _context(digits)
    return c.exp(c.divide(Decimal(-steps * scale.denominator), Decimal(scale.numerator)))


def losses(p: Law, q: Law) -> tuple[float, float]:
    """The smallest and the largest privacy loss ln(p/q) of any outcome."""
    ratios = []
    for outcome, one in p.items():
        two = q[outcome]
        if one <= 0 or two <= 0:
            raise ValueError("an outcome has no chance at all")
        ratios.append(_D.ln(_D.divide(one, two)))
    return float(min(ratios)), float(max(ratios))


def width(p: Law, q: Law) -> float:
    """The length of the shortest interval that holds the privacy loss."""
    low, high = losses(p, q)
    return high - low


def renyi(p: Law, q: Law, order: int) -> float:
    """The Renyi divergence of a whole order above 1."""
    total = _NONE
    for outcome, one in p.items():
        ratio = _D.power(_D.divide(one, q[outcome]), order - 1)
        total = _D.add(total, _D.multiply(one, ratio))
    return float(_D.divide(_D.ln(total), Decimal(order - 1)))


# ---- neighbours --------------------------------------------------------------------------------------------


def values_of(world: World, stream: Stream, made: OneSidedPlan) -> list[int]:
    """The exact differences that a run compares, through the curator's own evaluation."""
    curator = world.curator(Budget(epsilon=1))
    questions = questions_of([q for q, _ in stream], world.domain, made.denominator)
    guesses = _guesses([h for _, h in stream], len(stream), made.denominator)
    moved = _differences(questions, guesses, curator, made.denominator)
    return [int(v) for v in (moved if made.side == "over" else -moved)]


def worst_stream(
    person: tuple[int, int], rows: int, side: Side, swapped: tuple[int, int] | None = None
) -> Stream:
    """Questions that use all of the loss on a person with so many rows: around the threshold, T = 3 rows.

    First one that the person moves, far below: its trip is the loss at one end. Then many that the person
    moves, near the threshold, which press the noisy threshold up. Last one that the person does not move (or
    that whoever is swapped in moves the other way): its trip is the loss at the other end.
    """
    with_person = Query.where(DOMAIN, {"a": person[0], "b": person[1]})
    other = swapped or (1 if person[0] != 1 else 0, person[1])
    without = Query.where(DOMAIN, {"a": other[0], "b": other[1]})
    sign = 1 if side == "over" else -1
    far, near = sign * 40.0 * rows, -sign * 5.0 * rows
    return [(with_person, far), *[(with_person, near)] * 38, (without, far)]


def _claim(rows: int, relation: str = "add_remove", side: Side = "over") -> OneSidedPlan:
    """A run of range 1 with a threshold of 3 rows, for people with so many rows, as the curator plans it."""
    sensitivity = Privacy(relation, rows).sensitivity(Norms.query(1)).l1  # type: ignore[arg-type]
    return plan(Cost("rho", Fraction(1, 8)), sensitivity, 3, 1, side=side)


def _widest(pairs: Iterator[tuple[list[int], list[int]]], made: OneSidedPlan, of: LawOf = law) -> float:
    return max(width(of(p, made), of(q, made)) for p, q in pairs)


def _people(rows: int, side: Side, relation: str = "add_remove") -> Iterator[tuple[list[int], list[int]]]:
    """Neighbours of `worst_stream`: a person with all rows in one cell comes, or comes in another's place."""
    made = _claim(rows, relation, side)
    crowd, here, there = [(0, 0), (1, 1), (2, 0), (1, 1)], (0, 0), (2, 1)
    swap = relation == "replace"
    stream = worst_stream(here, rows, side, there if swap else None)
    changed = [there] * rows if swap else []
    before, after = (
        World.of(DOMAIN, crowd, who, relation, rows)  # type: ignore[arg-type]
        for who in (changed, [here] * rows)
    )
    yield values_of(before, stream, made), values_of(after, stream, made)


# ---- findings ----------------------------------------------------------------------------------------------


def finding(name: str, made: OneSidedPlan, found: float) -> Finding:
    """Claimed and found length of the interval that holds the privacy loss."""
    assert isinstance(made.event, OneSidedSparseVector)
    claimed = float(made.event.range)
    words = f"The privacy loss lies in an interval of length {found:.4f}; {claimed:.4f} was paid for."
    return Finding(name, claimed, found, found > claimed + SLACK, 0.0, "exact", words)


def honest(rows: int, side: Side) -> Finding:
    """The run as it is, for people with so many rows."""
    name = f"one_sided, {side}, {rows} rows each"
    return finding(name, _claim(rows), _widest(_people(rows, side), _claim(rows)))


def noise_halved() -> Finding:
    """Both scales are half of what was paid for."""
    made = _claim(1)
    e = made.event
    assert isinstance(e, OneSidedSparseVector)
    half = replace(made, event=OneSidedSparseVector(e.sensitivity, e.threshold_scale / 2, e.query_scale / 2))
    return finding("one-sided: noise halved", made, _widest(_people(1, "over"), half))


def max_rows_forgotten() -> Finding:
    """A person has up to three rows and the noise is that of one."""
    return finding("one-sided: max_rows forgotten", _claim(1), _widest(_people(3, "under"), _claim(1)))


def run_under_replace() -> Finding:
    """A person comes in another's place: answers move both ways."""
    made = _claim(1, "replace")
    return finding("one-sided: run under replace", made, _widest(_people(1, "over", "replace"), made))


def trip_not_paid() -> Finding:
    """After a trip the run goes on with a new noisy threshold at no charge."""
    made = _claim(1)
    pairs = ((_thinned(p), _thinned(q)) for p, q in _people(1, "over"))
    return finding("one-sided: trip not paid again", made, _widest(pairs, made, _twice))


def _thinned(values: list[int]) -> list[int]:
    """The same stream with fewer questions in the middle."""
    return [values[0], *values[-10:]]


def _twice(values: Sequence[int], made: OneSidedPlan) -> Law:
    """Two trips; the stream is asked again from its beginning after the first."""
    first = law(values, made)
    both: dict[Hashable, Decimal] = {}
    for i, p in first.items():
        if i == len(values):
            both[i] = p
            continue
        for j, q in first.items():
            both[i, j] = _D.multiply(p, q)
    return both


@dataclass(frozen=True)
class Mistake:
    """One way of doing it wrong, which the audit must refute."""

    name: str
    run: Callable[[], Finding]


MISTAKES = (
    Mistake("one-sided: noise halved", noise_halved),
    Mistake("one-sided: max_rows forgotten", max_rows_forgotten),
    Mistake("one-sided: trip not paid again", trip_not_paid),
    Mistake("one-sided: run under replace", run_under_replace),
)
