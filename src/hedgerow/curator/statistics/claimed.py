"""Claimed: statistics and scores of somebody else's, which the curator takes on their author's word.

A guest's statistic says which tables it reads, how many numbers it has and how far one row moves them. It is
handed copies of those exact tables and nothing else. What cannot be checked - that its norms are true - is
the author's claim, and is on the ledger's line of every act that rests on it: such an act is private if the
claim is true. What can be checked is, before anything is charged: on made-up rows the numbers are whole, as
many as declared, and move by no more than claimed. `audit.replay_neighbours` looks at thousands more.

No message depends on rows. A guest's code that fails on the real tables, or returns something else than it
declared, has returned zeros, and is charged: its claim is about that function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

import numpy as np

from hedgerow.curator.statistics.statistics import (
    Score,
    fingerprint,
    is_score,
    score,
    statistic,
)
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

Guest = TypeVar("Guest", bound=type)
Result = TypeVar("Result")
Clique = tuple[str, ...]
Tables = Mapping[Clique, "NDArray[np.int64]"]

_LIMIT = 1 << 60  # numbers beyond it are clipped, which moves no number further
_TRIED = 1 << 16  # cells of tables that are made up to try a claim on
_REMEMBERED = 1 << 10  # claims that held, so that nobody waits for the same trial twice
_HELD: set[tuple[type, str, str]] = set()


class GuestStatistic(Protocol):
    """What a statistic or a score of one's own has: a frozen dataclass of public values, and these.

    A statistic may also say in `denominator` how many of its steps make a row; one if it does not.
    """

    @property
    def tables(self) -> Sequence[Clique]:
        """The tables it reads, each named by its attributes in the domain's order."""
        ...

    @property
    def norms(self) -> Norms:
        """How far one row more, or one row swapped, moves all numbers together; of a score, any one."""
        ...

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """How many numbers it has, by the domain alone."""
        ...

    def numbers(self, tables: Tables) -> NDArray[np.int64]:
        """The numbers, whole and exact, for any tables at all; larger scores are better."""
        ...


@dataclass(frozen=True)
class Registered:
    """A guest's class: what kind of thing it is, who claims what, and how an audit makes small ones."""

    kind: type
    word: str
    claim: Claim
    examples: Callable[[Domain], Sequence[Any]] | None


REGISTERED: dict[type, Registered] = {}
"""The guests' classes, by identity."""


def claimed_statistic(
    *, author: str, proof: str, examples: Callable[[Domain], Sequence[Any]] | None = None
) -> Callable[[Guest], Guest]:
    """Enter a class on the list of what may be measured, on its author's word; see `GuestStatistic`.

    Args:
        author: who claims that the norms are true; kept in the ledger.
        proof: why they are, in words; kept in the ledger.
        examples: makes small ones for a domain, for `hedgerow audit` to replay on neighbours.
    """
    return _register("statistic", author, proof, examples)


def claimed_score(
    *, author: str, proof: str, examples: Callable[[Domain], Sequence[Any]] | None = None
) -> Callable[[Guest], Guest]:
    """Enter a class on the list of what a choice may go by, on its author's word; see `claimed_statistic`."""
    return _register("score", author, proof, examples)


def _register(
    word: str, author: str, proof: str, examples: Callable[[Domain], Sequence[Any]] | None
) -> Callable[[Guest], Guest]:
    def enter(kind: Guest) -> Guest:
        frozen = is_dataclass(kind) and getattr(kind, "__dataclass_params__").frozen  # noqa: B009
        if not isinstance(kind, type) or not frozen:
            raise UnsupportedQuery(f"a {word} of one's own is a frozen dataclass of public values")
        REGISTERED[kind] = Registered(kind, word, Claim(author, proof, kind.__name__), examples)
        return kind

    return enter


def welcomed(given: Any, word: str) -> Any:
    """A guest's thing as one of this room's, with its claim; anything else as it is."""
    known = REGISTERED.get(type(given))
    if known is None:
        return given
    if known.word != word:
        raise UnsupportedQuery(f"{known.claim.about} was registered as a {known.word}, not as a {word}")
    return (ClaimedStatistic if word == "statistic" else ClaimedScore)(given, known.claim)


def a_score(given: Any, domain: Domain) -> Score:
    """A score of this room or a guest's, checked against the domain; a refusal for anything else."""
    given = welcomed(given, "score")
    if not is_score(given):
        raise UnsupportedQuery(
            "a score must carry its own sensitivity: see hedgerow.primitives, or hedgerow.extending"
        )
    given.check(domain)
    return given  # type: ignore[no-any-return]


def claims_of(*things: Any) -> tuple[Claim, ...]:
    """What acts on some statistics or scores rest on that nobody here has proven."""
    return tuple(thing.claimed for thing in things if isinstance(thing, Claimed))


@dataclass(frozen=True, eq=False)
class Claimed:
    """What claimed statistics and scores share: the guest's object, and the claim that it is taken on."""

    given: Any
    claim: Claim

    @cached_property
    def norms(self) -> Norms:
        """As claimed; asked for once, so that the noise, the trial and the ledger's line have the same."""
        norms = self.given.norms
        numbers = (norms.l1, norms.l2_squared, norms.replace_l1, norms.replace_l2_squared)
        if type(norms) is not Norms or norms.per_unit or any(type(n) is not int or n < 1 for n in numbers):
            raise UnsupportedQuery(f"the norms of {self.claim.about} are a Norms of whole numbers from 1 on")
        return norms

    @cached_property
    def cliques(self) -> tuple[Clique, ...]:
        """The tables that it declares to read."""
        return tuple(tuple(names) for names in self.given.tables)

    @cached_property
    def claimed(self) -> Claim:
        """The claim as a ledger keeps it: with the norms, and what they are claimed of."""
        facts = {"norms": asdict(self.norms), "denominator": self._steps, "question": self.digest}
        return Claim(self.claim.author, self.claim.proof, self.claim.about, facts)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked, and on whose word."""
        kind = type(self.given)
        parts = [plain(getattr(self.given, f.name)) for f in fields(self.given)]
        said = (self.claim.author, self.claim.proof, repr(self.norms), self._steps, repr(self.cliques))
        return fingerprint("claimed", f"{kind.__module__}.{kind.__qualname__}", *said, *parts)

    @cached_property
    def _steps(self) -> int:
        steps = getattr(self.given, "denominator", 1)
        if type(steps) is not int or steps < 1:
            raise UnsupportedQuery(f"the denominator of {self.claim.about} is a whole number, 1 or more")
        return steps

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain, or is untrue of made-up rows: by public facts alone."""
        _ = self.norms
        for clique in self.cliques:
            if domain.order(clique) != clique:
                raise DomainMismatch("a table is named by its attributes, in the domain's order")
        shape = self.given.shape(domain)
        if not isinstance(shape, tuple) or any(type(n) is not int or n < 1 for n in shape):
            raise UnsupportedQuery(f"the shape of {self.claim.about} is a tuple of whole numbers, 1 or more")
        tried = (type(self.given), self.digest, domain.fingerprint)
        if tried not in _HELD and sum(domain.cells(clique) for clique in self.cliques) <= _TRIED:
            self._try(domain, shape)
            if len(_HELD) >= _REMEMBERED:
                _HELD.clear()
            _HELD.add(tried)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The guest's numbers of the exact tables."""
        held, shape = rows.tables(self.cliques), self.given.shape(rows.domain)
        found = quietly(lambda: self._numbers(held, shape))
        return np.zeros(shape, dtype=np.int64) if found is None else found

    def _numbers(self, held: Tables, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
        """The guest's numbers of some tables, of which it gets copies; None if they are not as declared."""
        with np.errstate(all="ignore"):  # a warning would be a message too
            found = self.given.numbers(MappingProxyType({c: held[c].copy() for c in self.cliques}))
        if not is_whole(found, shape):
            return None
        whole: NDArray[Any] = np.minimum(found, np.uint64(_LIMIT)) if found.dtype == np.uint64 else found
        return np.clip(whole.astype(np.int64), -_LIMIT, _LIMIT)

    def _try(self, domain: Domain, shape: tuple[int, ...]) -> None:
        """Try the claim on a few made-up tables and their neighbours."""
        for base, more, swapped in _made_up(domain, self.cliques):
            numbers = [self._numbers(tables, shape) for tables in (base, more, swapped)]
            if any(found is None for found in numbers):
                raise UnsupportedQuery(
                    f"{self.claim.about} must return whole numbers in an array of shape {shape}, always"
                )
            here, there, other = ([int(n) for n in np.ravel(found)] for found in numbers if found is not None)
            n = self.norms
            self._compare(here, there, n.l1, n.l2_squared, "more")
            self._compare(there, other, n.replace_l1, n.replace_l2_squared, "swapped")

    def _compare(self, one: list[int], two: list[int], l1: int, l2_squared: int, way: str) -> None:
        moves = [abs(a - b) for a, b in zip(one, two, strict=True)]
        together = max(moves, default=0) if isinstance(self, ClaimedScore) else sum(moves)
        squared = 0 if isinstance(self, ClaimedScore) else sum(m * m for m in moves)
        if together > l1 or squared > l2_squared:
            raise UnsupportedQuery(
                f"the claim of {self.claim.author} about {self.claim.about} is not true: one row {way} moves "
                f"made-up numbers by {together} ({squared} squared), and {l1} ({l2_squared}) is claimed"
            )


@statistic
class ClaimedStatistic(Claimed):
    """A statistic of somebody else's, with their claim."""

    @property
    def denominator(self) -> int:
        """Lattice steps per row, as declared."""
        return self._steps


@score
class ClaimedScore(Claimed):
    """A score of somebody else's, with their claim."""

    def check(self, domain: Domain) -> None:
        """Candidates are in a list."""
        super().check(domain)
        if len(self.given.shape(domain)) != 1:
            raise UnsupportedQuery(f"{self.claim.about} has one score for each candidate, in a flat array")


def _made_up(domain: Domain, cliques: Sequence[Clique]) -> Iterator[tuple[Tables, Tables, Tables]]:
    """Tables of made-up rows, the same with one row more, and that with this row swapped for another."""
    sizes = np.array(domain.shape, dtype=np.int64)
    for rows in (0, 1, 2, 5, 40):
        steps = np.arange(1, len(sizes) + 1)
        crowd = (np.arange(rows)[:, None] * steps + np.arange(rows)[:, None] // 2) % sizes
        for row, other in ((0 * sizes, sizes - 1), (sizes - 1, 0 * sizes), (sizes // 2, 0 * sizes)):
            some = (crowd, np.vstack([crowd, row]), np.vstack([crowd, other]))
            here, more, swapped = ({c: _counted(domain, c, made) for c in cliques} for made in some)
            yield here, more, swapped


def _counted(domain: Domain, clique: Clique, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    shape = domain.shape_of(clique)
    places = np.zeros(len(rows), dtype=np.int64)
    for name in clique:
        places = places * domain[name].size + rows[:, domain.index(name)]
    return np.bincount(places, minlength=prod(shape)).reshape(shape)


def plain(value: Any) -> object:
    """A public value as what a digest is made of: all of it, where `repr` leaves out most of a long array."""
    if isinstance(value, np.ndarray):
        return repr((value.dtype.str, value.shape)).encode() + value.tobytes()
    if isinstance(value, (tuple, list, Mapping)):
        held = (
            [part for pair in value.items() for part in pair] if isinstance(value, Mapping) else list(value)
        )
        made = [plain(part) for part in held]
        return value if all(a is b for a, b in zip(held, made, strict=True)) else repr(made)
    return value


def is_whole(found: Any, shape: tuple[int, ...]) -> TypeGuard[NDArray[Any]]:
    """Whether a guest returned whole numbers of a shape, in an array that adds as arrays do."""
    return type(found) is np.ndarray and found.dtype.kind in "iu" and found.shape == shape


def quietly(work: Callable[[], Result]) -> Result | None:
    """What a guest's code returns on real tables; None if it fails, however: no message depends on rows."""
    try:
        return work()
    except KeyboardInterrupt:
        pass  # of whoever waits; what else it may say stays here
    except BaseException:
        return None
    raise KeyboardInterrupt
