"""Public populations of a schema's shape, made up, on which mechanisms are tried before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.release.population import Population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.attribute import Attribute

    Codes = dict[str, NDArray[np.int64]]

_CLASSES = 12
_SEED = 20240607


@dataclass(frozen=True)
class Crowd:
    """A made-up population: level codes per attribute, and its name."""

    name: str
    domain: Domain
    codes: dict[str, Any]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(next(iter(self.codes.values())))

    def table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The exact table of some attributes: these rows are public."""
        shape = self.domain.shape_of(names)
        if not names:
            return np.array(float(self.rows))
        flat = np.ravel_multi_index([self.codes[a] for a in names], shape)
        return np.bincount(flat, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def shadow(domain: Domain) -> Domain:
    """A domain of the same names, sizes and orders whose values are the level codes."""
    return Domain(
        {a: bins(0, x.size, 1) if x.ordered else Categorical(range(x.size)) for a, x in domain.items()}
    )


def crowds(domain: Domain, rows: int) -> list[Crowd]:
    """Independent columns, latent classes, and the demo's people where the schema is (part of) the demo's."""
    here = shadow(domain)
    found = [
        Crowd("independent", here, independent(domain, rows)),
        Crowd("correlated", here, correlated(domain, rows)),
    ]
    known = Population.domain()
    if all(a in known and known[a] == domain[a] for a in domain):
        columns = Population(rows).columns
        codes = {a: _coded(domain[a], columns[a]) for a in domain}
        found.append(Crowd("demo", here, codes))
    return found


def _coded(attribute: Attribute, column: NDArray[Any]) -> NDArray[np.int64]:
    """Level codes of a column; every value is read once, however often it comes."""
    rows = column.tolist()
    distinct = list(dict.fromkeys(rows))
    code = dict(zip(distinct, attribute.encode(distinct).tolist(), strict=True))
    return np.array([code[value] for value in rows], dtype=np.int64)


def _zipf(random: Generator, levels: int) -> NDArray[np.float64]:
    """A margin that falls like a power of the rank, its power drawn, its levels shuffled."""
    p = 1.0 / np.arange(1, levels + 1) ** random.uniform(0.4, 1.8)
    return np.asarray(random.permutation(p / p.sum()))


def independent(domain: Domain, rows: int) -> Codes:
    """Every column on its own, with Zipf margins."""
    random = Generator(PCG64(_SEED))
    return {
        a: random.choice(x.size, size=rows, p=_zipf(random, x.size)).astype(np.int64)
        for a, x in domain.items()
    }


def correlated(domain: Domain, rows: int) -> Codes:
    """A few kinds of people: each kind tilts every attribute's margin, so that all columns hang together."""
    random = Generator(PCG64(_SEED + 1))
    weights = random.dirichlet(np.full(_CLASSES, 1.5))
    kind = random.choice(_CLASSES, size=rows, p=weights)
    out: Codes = {}
    for a, x in domain.items():
        base, strength = _zipf(random, x.size), random.uniform(0.3, 2.0)
        tilts = random.standard_normal((_CLASSES, x.size)) * strength
        if x.ordered and x.size > 3:  # neighbouring levels go together
            centre = random.uniform(0, x.size, (_CLASSES, 1))
            tilts = -strength * 4.0 * ((np.arange(x.size) - centre) / x.size) ** 2 * 4.0
        p = base * np.exp(tilts)
        ends = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
        ends[:, -1] = 1.0
        draws = random.random(rows)
        codes = np.empty(rows, dtype=np.int64)
        for c in range(_CLASSES):
            here = kind == c
            codes[here] = np.searchsorted(ends[c], draws[here], side="right")
        out[a] = codes
    return out


def names(rows: int, *, even: bool) -> list[str]:
    """Rows of an open domain: names that are all about as frequent, or Zipf's."""
    random = Generator(PCG64(_SEED + 2 + even))
    many = max(rows // 10, 10)
    ranks = np.arange(1, many + 1, dtype=np.float64)
    p = np.ones(many) if even else 1.0 / ranks
    drawn = random.choice(many, size=rows, p=p / p.sum())
    return [f"n{i}" for i in drawn]
