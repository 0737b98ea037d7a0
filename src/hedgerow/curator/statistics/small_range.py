"""SmallRange: all small databases over a domain, scored by their worst query; drawn from, never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, lgamma, log, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise.selection import exponential_levels
from hedgerow.curator.statistics import small_range_kernels as kernels
from hedgerow.curator.statistics.statistics import Answers, fingerprint
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.privacy.bounds import range_size
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.privacy.event import Exponential
from hedgerow.queries.complexity import Incidence
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.noise.noise import Entropy
    from hedgerow.curator.rows.table import Rows
    from hedgerow.curator.spender import Spend

VISITS = 10**9
"""Ranges with more databases than this, those that no query tells apart being one, are refused."""
STEPS = 2 * 10**9
"""Ranges that take more steps than this to count, see `steps`, are refused: a few minutes."""

_LONGEST = 1 << 40  # the largest number of rows a small database may stand for
_PAD = 16  # queries are padded to whole vectors
_DIGITS = 40
_KNOWN: dict[tuple[str, str], Incidence] = {}  # public: what queries count follows from them alone
_KEPT = 8


@dataclass(frozen=True, eq=False)
class SmallRange:
    """Candidates are all multisets of `size` places, the score is -max |size F(rows) - total f(candidate)|.

    F is a query's count on the rows and f its count on the candidate, so everything is a whole number; `size`
    times the distance in rows. `total` is public: declared, or measured and then fixed.

    Args:
        workload: counting queries.
        size: places in a candidate.
        total: how many rows a candidate stands for.
    """

    workload: Workload
    size: int
    total: int

    def __post_init__(self) -> None:
        """Refuse sizes and totals that are not whole numbers: the sensitivity is read off them."""
        if type(self.workload) is not Workload:
            raise UnsupportedQuery("small databases are judged by a Workload")
        if type(self.size) is not int or self.size < 1:
            raise UnsupportedQuery("a small database has a whole number of rows, 1 or more")
        if type(self.total) is not int or not 1 <= self.total <= _LONGEST:
            raise UnsupportedQuery("a small database stands for a whole number of rows, 1 or more")

    def check(self, domain: Domain) -> None:
        """Counting queries about this domain, and a range that can be visited."""
        known = self.incidence(domain)
        types = len(known.member)
        if log_range(types, self.size) > log(VISITS) + 1 or range_size(types, self.size) > VISITS:
            apart = f", {said(types, self.size)} that the queries tell apart," if types < domain.size else ""
            raise RangeTooLarge(
                f"the range has {said(domain.size, self.size)} databases of {self.size:,} rows{apart} and no "
                f"more than {VISITS:,} can be visited; use a larger alpha, fewer queries or OfflineMW"
            )
        if (work := steps(types, self.size, domain.size)) > STEPS:
            raise RangeTooLarge(
                f"small databases of {self.size:,} rows over {domain.size:,} cells would take {work:.1e} "
                f"steps to count, more than {STEPS:.0e}; use a larger alpha, fewer queries or AdaptiveRelease"
            )
        if self.size >= 1 << 14:
            raise RangeTooLarge(f"a small database of {self.size:,} rows is not small; use a larger alpha")
        if domain.size >= 1 << 62:
            raise RangeTooLarge(
                f"the domain has {domain.size:,} cells, too many to draw from; use fewer attributes"
            )

    @property
    def norms(self) -> Norms:
        """A row moves a count by one, hence every distance by at most `size`; a swapped row too."""
        return Norms.query(self.size)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("small range", self.workload.digest, self.size, self.total)

    def incidence(self, domain: Domain) -> Incidence:
        """Which cells the queries count; worked out once."""
        if type(domain) is not Domain:
            raise UnsupportedQuery("small databases are over a declared finite domain")
        key = (domain.fingerprint, self.workload.digest)
        if key not in _KNOWN:
            while len(_KNOWN) >= _KEPT:
                _KNOWN.pop(next(iter(_KNOWN)), None)
            _KNOWN[key] = Incidence.of(domain, self.workload)
        return _KNOWN[key]

    def exact(self, rows: Rows) -> Levels:
        """How many candidates have each score: the first pass over the range."""
        known = self.incidence(rows.domain)
        answers = Answers(self.workload).exact(rows)[known.first]
        return Levels.counted(known, [int(a) for a in answers], self.size, self.total)


def choose_database(
    curator: Curator,
    candidates: SmallRange,
    spend: Spend = None,
    *,
    request: str | None = None,
    note: str = "",
) -> NDArray[np.int64]:
    """Choose a small database of nearly the highest score, as its counts in the cells of the range.

    Privacy: the exponential mechanism ([MT07] Thm 6; bounded range [DDR20]) at the score's own sensitivity;
    charged in the transaction that draws the choice.

    Args:
        curator: the guardian of the rows.
        candidates: all small databases.
        spend, request, note: as in `Curator.select`.
    """
    if type(candidates) is not SmallRange:
        raise UnsupportedQuery("a small database is chosen from a SmallRange")
    candidates.check(curator._domain)
    epsilon = selection_epsilon(curator.price(spend), bounded_range=True)
    sensitivity = curator.privacy.sensitivity(candidates.norms).l1
    event = Exponential(epsilon)
    return curator._act(
        event,
        lambda: candidates.exact(curator._rows),
        lambda levels: [levels.draw(sensitivity, epsilon, curator._entropy)],
        f"database:{candidates.digest}{event.to_json()!r}",
        request=request,
        note=note,
    )[0]


class Levels:
    """The range sorted by score, with how many candidates each score has; inside the curator only."""

    def __init__(self, known: Incidence, distances: list[list[int]], size: int) -> None:
        self.known, self.size = known, size
        self.values = sorted({v for row in distances for v in row})
        place = {v: i for i, v in enumerate(self.values)}
        queries = max(1, -(-len(distances) // _PAD) * _PAD)
        kind = np.int16 if max(len(self.values), size + 2) < 1 << 15 else np.int32
        self._ranks = np.zeros((queries, size + 2), dtype=kind)
        for f, row in enumerate(distances):
            self._ranks[f, : size + 1] = [place[v] for v in row]
        self._member = np.zeros((len(known.member), queries), dtype=kind)
        self._member[:, : len(distances)] = known.member
        where, self._counted = np.nonzero(self._member)
        self._starts = np.searchsorted(where, np.arange(len(self._member) + 1)).astype(np.int64)
        self._primes = kernels.primes_for(range_size(sum(known.cells), size).bit_length())
        self._tables, self._residues = kernels.multiset_numbers(list(known.cells), size, self._primes)
        self._firsts = [self._counts((e,)) for e in range(len(known.member))]

    @classmethod
    def counted(cls, known: Incidence, answers: Sequence[int], size: int, total: int) -> Levels:
        """The levels of the distances |size F - total s|, s being how many places a query counts."""
        return cls(known, [[abs(size * a - total * s) for s in range(size + 1)] for a in answers], size)

    @cached_property
    def weights(self) -> list[int]:
        """How many candidates have each score."""
        counts = np.asarray(np.sum([c for c, _ in self._firsts], axis=0, dtype=np.uint64))
        more = np.sum([m for _, m in self._firsts], axis=0, dtype=np.int64)
        return kernels.put_together(counts, more % self._primes, self._primes)

    def draw(self, sensitivity: Fraction, epsilon: Fraction, entropy: Entropy) -> NDArray[np.int64]:
        """One candidate by the exponential mechanism: a level, a multiset of types in it, then its places."""
        weights = self.weights
        best = next(v for v, w in zip(self.values, weights, strict=True) if w)
        gaps = [max(0, v - best) for v in self.values]
        level = exponential_levels(gaps, weights, sensitivity, epsilon, entropy)
        index = uniform(weights[level], entropy)
        prefix: tuple[int, ...] = ()
        for e in range(
            len(self.known.member)
        ):  # how often type e is there: those with it more often come first
            low, high = 0, self.size - len(prefix)
            while low < high:
                times = 1 if low == 0 else (low + high + 1) // 2
                inside = self._inside((*prefix, *[e] * times), level)
                low, high = (times, high) if index < inside else (low, times - 1)
            if low < self.size - len(prefix):
                index -= self._inside((*prefix, *[e] * (low + 1)), level)
            prefix = (*prefix, *[e] * low)
            if len(prefix) == self.size:
                break
        return self._places(prefix, entropy)

    def _inside(self, prefix: tuple[int, ...], level: int) -> int:
        """How many candidates of a level begin with a prefix."""
        counts, more = self._firsts[prefix[0]] if len(prefix) == 1 else self._counts(prefix)
        part = slice(level, level + 1)
        return kernels.put_together(counts[part], more[part], self._primes)[0]

    def _counts(self, prefix: tuple[int, ...]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """How many candidates of each level begin with a prefix, as residues."""
        counts = np.zeros(len(self.values), dtype=np.uint64)
        more = np.zeros((len(self.values), len(self._primes)), dtype=np.int64)
        if len(prefix) == self.size:
            self._whole(prefix, counts, more)
            return counts, more
        start = np.array(prefix, dtype=np.int64)
        places = (self._ranks, self._member, self._counted, self._starts)
        numbers = (self._tables, self._residues, self._primes)
        kernels.count_levels(*places, start, self.size, *numbers, counts, more)
        return counts, more

    def _whole(self, types: tuple[int, ...], counts: NDArray[np.uint64], more: NDArray[np.int64]) -> None:
        """One complete multiset of types, counted like the others."""
        held = self._member[list(types)].sum(axis=0, dtype=np.int64)
        level = int(self._ranks[np.arange(len(held)), held].max())
        times = [(e, types.count(e)) for e in sorted(set(types))]
        counts[level] = prod(int(self._tables[e, c]) for e, c in times) % 2**64
        for j, p in enumerate(self._primes.tolist()):
            more[level, j] = prod(int(self._residues[e, c, j]) for e, c in times) % p

    def _places(self, types: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Uniform cells of the given types, as multisets: positions among the used cells, and beside them."""
        cells, beside = [], []
        for e in sorted(set(types)):
            own = np.flatnonzero(self.known.type_of == e)
            for place in uniform_multiset(self.known.cells[e], types.count(e), entropy):
                cells.append(int(own[place // self.known.beside]))
                beside.append(place % self.known.beside)
        return np.array([cells, beside], dtype=np.int64)


def rows_of(domain: Domain, known: Incidence, drawn: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The level codes of a drawn database, one column per attribute of the domain."""
    others = [a for a in domain if a not in known.attributes]
    used = np.unravel_index(drawn[0], known.shape) if known.attributes else ()
    rest = np.unravel_index(drawn[1], domain.shape_of(others)) if others else ()
    codes: dict[str, Any] = dict(zip(known.attributes, used, strict=True))
    codes |= dict(zip(others, rest, strict=True))
    return {a: np.asarray(codes[a], dtype=np.int64) for a in domain}


def uniform(number: int, entropy: Entropy) -> int:
    """A uniform whole number below `number`, of any length: whole bytes, drawn again while too large."""
    length = (number.bit_length() + 7) // 8
    limit = (1 << 8 * length) // number * number
    while (drawn := int.from_bytes(entropy.bytes(length), "big")) >= limit:
        pass
    return drawn % number


def uniform_multiset(places: int, size: int, entropy: Entropy) -> list[int]:
    """A uniform multiset: a uniform subset of size places among places + size - 1, each less its rank."""
    subset: set[int] = set()
    for top in range(places - 1, places + size - 1):  # Floyd's algorithm
        drawn = uniform(top + 1, entropy)
        subset.add(top if drawn in subset else drawn)
    return [place - i for i, place in enumerate(sorted(subset))]


def log_range(universe: int, size: int) -> float:
    """ln of how many multisets of `size` a universe has."""
    return lgamma(universe + size) - lgamma(size + 1) - lgamma(universe)


def steps(types: int, size: int, universe: int) -> float:
    """About how long counting a range takes, in visits to one database.

    All multisets of up to `size` types are visited, and the weights of complete ones are kept modulo as many
    numbers as their length needs; first the weight of every type is worked out for each number of places.
    """
    numbers = 1.0 + max(0.0, log_range(universe, size) / log(2) - 63.0) / 30.0
    visits = exp(min(log_range(types + 1, size), 700.0))
    return visits * (1.0 + numbers / 8.0) + types * (size + 1.0) * numbers * (15.0 + numbers / 4.0)


def said(universe: int, size: int) -> str:
    """How many multisets of `size` a universe has, exactly: a number, or a binomial when it is very long."""
    digits = log_range(universe, size) / log(10)
    if digits < _DIGITS:
        return f"{range_size(universe, size):,}"
    return f"C({universe + size - 1:,}, {size:,}), about 10^{digits:.0f}"
