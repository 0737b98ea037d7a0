"""PeopleCounts: how many distinct people have a row of each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.queries.form import Factor, GroupAxis, LinearForm
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain


@statistic
@dataclass(frozen=True, eq=False)
class PeopleCounts:
    """How many distinct units have a row of each group: COUNT(DISTINCT unit), always measured."""

    form: LinearForm
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Norms are read off the form: only a real one has them, with arrays that nobody else holds."""
        form = self.form
        real = type(form) is LinearForm and all(type(f) is Factor for f in form.factors)
        if not real or any(type(a) is not GroupAxis for a in form.axes):
            raise UnsupportedQuery("people are counted by a LinearForm")
        factors = tuple(replace(f, weights=np.array(f.weights)) for f in form.factors)
        axes = tuple(replace(a, parent=np.array(a.parent, dtype=np.intp)) for a in form.axes)
        object.__setattr__(self, "form", replace(form, factors=factors, axes=axes))

    def check(self, domain: Domain) -> None:
        """Refuse a form that was made for another domain: whether it meets a level there must not tell."""
        form, shape_of = self.form, domain.shape_of
        fits = all(f.weights.shape == shape_of(f.attributes) for f in form.factors)
        fits &= all(a.parent.shape == shape_of((a.attribute,)) for a in form.axes)
        if not fits or not all(0 <= a.parent.min() <= a.parent.max() < a.size for a in form.axes):
            raise DomainMismatch("this count of people was made for another domain")

    @property
    def norms(self) -> Norms:
        """A unit counts at most once in each group, however many rows it has."""
        return Norms.people(self.form.groups)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """No tables are needed."""
        return ()

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        form = self.form
        factors = [(f.attributes, f.weights.tobytes()) for f in form.factors]
        return fingerprint(
            "people", *factors, *((a.attribute, a.parent.tobytes(), a.size) for a in form.axes)
        )

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The numbers of units, one per group."""
        owners, columns = rows.records()
        code = dict(zip(rows.domain, columns, strict=True))
        keep = np.ones(len(owners), dtype=np.bool_)
        for factor in self.form.factors:
            keep &= factor.weights[tuple(code[a] for a in factor.attributes)].astype(np.bool_)
        cells = [axis.parent[code[axis.attribute]] for axis in self.form.axes]
        sizes = [axis.size for axis in self.form.axes]
        group = np.ravel_multi_index(cells, sizes) if cells else np.zeros(len(owners), dtype=np.int64)
        pairs = np.unique(np.stack([group[keep], owners[keep]]), axis=1)
        return np.bincount(pairs[0].astype(np.int64), minlength=self.form.groups).astype(np.int64)
