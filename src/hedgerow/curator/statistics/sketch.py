"""Sketches of an open domain's counts: a public matrix of signs times the private vector, and its length."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.rows.name_sums import NamedRows, SketchSum, SquaredCounts
from hedgerow.curator.statistics.statistics import fingerprint, statistic
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy import events
from hedgerow.privacy.budget import gaussian_sigma
from hedgerow.queries.domain.domain import OpenDomain
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.sketch_matrix import SketchMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.rows.table import Rows
    from hedgerow.curator.spender import Spend


@statistic
@dataclass(frozen=True)
class SketchOf:
    """A D: every row adds its name's column of signs."""

    matrix: SketchMatrix
    denominator: ClassVar[int] = 1
    cliques: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def __post_init__(self) -> None:
        """Only the library's own matrix has columns whose length is known."""
        if type(self.matrix) is not SketchMatrix:
            raise UnsupportedQuery("a sketch is made with a SketchMatrix")

    @property
    def norms(self) -> Norms:
        """One row adds one column."""
        return self.matrix.norms

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("sketch", self.matrix.digest)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The sketch, in whole numbers."""
        return rows.summed_names(SketchSum(self.matrix))[0]


@statistic
@dataclass(frozen=True)
class LengthOfCounts:
    """floor(|D|_2) of the vector of all names' counts.

    A row more moves |D|_2 by at most 1 (triangle inequality) and k rows by at most k; if a <= b <= a + k then
    floor(b) <= floor(a) + k. A swap is one of each.
    """

    denominator: ClassVar[int] = 1
    cliques: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @property
    def norms(self) -> Norms:
        """One number that a row moves by at most 1 and a swap by at most 2."""
        return Norms(1, 1, 2, 4)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("length of counts")

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """The length, rounded down in exact arithmetic."""
        found = rows.summed_names(SquaredCounts())
        return np.array(isqrt(SquaredCounts.number(found)), dtype=np.int64)


@statistic
@dataclass(frozen=True)
class RowsOfNames:
    """The number of rows of an open domain."""

    denominator: ClassVar[int] = 1
    cliques: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @property
    def norms(self) -> Norms:
        """Those of one count: a row moves it by one."""
        return Norms.query(1)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("rows of names")

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """How many rows there are, whatever they name."""
        return rows.summed_names(NamedRows())[0]


def open_domain(curator: Curator) -> OpenDomain:
    """The curator's open domain, or a refusal."""
    if not isinstance(curator.domain, OpenDomain):
        raise UnsupportedQuery(
            "a sketch is made of names: open the table with hr.OpenDomain(), or use a marginal release"
        )
    return curator.domain


def measure_sketch(
    curator: Curator,
    matrix: SketchMatrix,
    spend: Spend,
    *,
    noise: Literal["gaussian", "laplace"] = "gaussian",
    request: str | None = None,
    note: str = "",
) -> Measurement:
    """A D plus noise on every coordinate, charged with the draw.

    Privacy, for every fixed matrix: Gaussian noise at the L2 sensitivity sqrt(`column`) ([CKS20] Thm 4); or,
    in the paper's form, discrete Laplace noise of one scale b on each of the T coordinates, each of which
    moves by at most k (2k under `replace`): T mechanisms of epsilon k/b, composed as the ledger composes
    ([BR11] Thm 4.5 uses [DRV10] Thm 3.3; in rho this is T (k/b)^2 / 2).

    Args:
        curator: guards rows of an open domain.
        matrix: public, chosen without looking at rows.
        spend: an epsilon, Budget or Cost.
        noise: `gaussian`, or `laplace` for the paper's form.
        request, note: as in `Curator.measure`.
    """
    open_domain(curator)
    if noise == "gaussian":
        return curator.measure(SketchOf(matrix), spend, noise="gaussian", request=request, note=note)
    stat = SketchOf(matrix)
    step = curator.privacy.sensitivity(Norms(1, 1, 2, 4)).l1  # of one coordinate
    scale = gaussian_sigma(matrix.size * step * step, curator.price(spend))  # T (step/b)^2 / 2 = rho
    event = events.Repeat(events.Laplace(step, scale), matrix.size)
    law = Noise("laplace", scale)

    def draw(exact: NDArray[np.int64]) -> list[NDArray[Any]]:
        return [exact + curator._noise(law, exact)]

    question = f"sketch:{stat.digest}:{event.to_json()!r}"
    values = curator._act(
        event, lambda: stat.exact(curator._rows), draw, question, request=request, note=note
    )
    return Measurement((), values[0], law, None, curator.private)
