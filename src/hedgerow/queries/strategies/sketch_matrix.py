"""SketchMatrix: a public random matrix of signs, one column per name, known by its seed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED_BYTES = 32
LARGEST = 1 << 24  # coordinates
TAG = 40  # bits of a name in the field of dense columns; 24 are left for the coordinate

FIELDS = {4: 0b0011, 5: 0b00101, 8: 0x1B, 16: 0x2B, 32: 0x8D, 64: 0x1B}
"""Low terms of an irreducible polynomial of each degree: the field GF(2^s) is built modulo t^s + these."""

Columns = Literal["blocks", "signs"]


@dataclass(frozen=True)
class SketchMatrix:
    """A matrix A of 0, +1 and -1 with `size` rows and a column for every name there could ever be.

    `signs`: every entry is +-1, the lowest bit of a random polynomial over GF(2^64) ([BR11] Remark 4.4), so
    entries are `independence`-wise independent. `blocks`: one +-1 in each of `blocks` disjoint parts, its
    place and sign from a polynomial modulo 2^61 - 1. E[A^T A] = `column` times the identity in both.

    Args:
        size: T, the number of coordinates.
        seed: 32 public bytes, chosen without looking at rows.
        columns: `blocks` or `signs`.
        blocks: nonzero entries of a column (`blocks` only).
        independence: r, the number of the polynomial's coefficients.

    >>> a = SketchMatrix(64, bytes(32), blocks=4)
    >>> int(abs(a.apply(["oak"], [3])).sum())
    12
    """

    size: int
    seed: bytes
    columns: Columns = "blocks"
    blocks: int = 8
    independence: int = 4

    def __post_init__(self) -> None:
        """Refuse what has no such matrix."""
        if self.columns == "blocks" and (type(self.blocks) is not int or self.blocks < 1):
            raise UnsupportedQuery("the number of blocks is a whole number above 0")
        if type(self.size) is not int or not 1 <= self.size <= LARGEST:
            raise UnsupportedQuery(f"a sketch has between 1 and {LARGEST:,} coordinates")
        if type(self.seed) is not bytes or len(self.seed) != SEED_BYTES:
            raise UnsupportedQuery(f"the seed of a sketch is {SEED_BYTES} bytes")
        if self.columns not in ("blocks", "signs"):
            raise UnsupportedQuery("the columns of a sketch are 'blocks' or 'signs'")
        if type(self.independence) is not int or not 2 <= self.independence <= 4096:
            raise UnsupportedQuery("independence is a whole number between 2 and 4096")
        if self.columns == "blocks" and self.size % self.blocks:
            raise UnsupportedQuery("the number of blocks divides the number of coordinates")

    @property
    def column(self) -> int:
        """The squared length of every column, and its L1 length: the number of its entries."""
        return self.size if self.columns == "signs" else self.blocks

    @property
    def norms(self) -> Norms:
        """Entries are +-1 in disjoint places: |a|_1 = |a|^2 = `column`, and |a - b| is at most twice |a|."""
        return Norms.signed(self.column, self.column)

    @cached_property
    def coefficients(self) -> NDArray[np.uint64]:
        """The polynomials, one per block, expanded from the seed."""
        rows = 1 if self.columns == "signs" else self.blocks
        stream = hashlib.shake_256(b"hedgerow sketch" + self.seed).digest(8 * 2 * rows * self.independence)
        halves = np.frombuffer(stream, dtype="<u8").reshape(rows, self.independence, 2)
        if self.columns == "signs":
            return np.ascontiguousarray(halves[:, :, 0])
        wide = halves.astype(object)
        prime = (1 << 61) - 1  # 128 bits modulo p: uniform to 2^-67
        return np.asarray((wide[:, :, 0] + (wide[:, :, 1] << 64)) % prime, dtype=np.uint64)

    def points(self, names: Iterable[str]) -> NDArray[np.uint64]:
        """The field elements of some names, by a hash that begins with the seed."""
        seed, hashed = self.seed, hashlib.blake2b
        data = b"".join([hashed(seed + name.encode(), digest_size=8).digest() for name in names])
        found = np.frombuffer(data, dtype="<u8").astype(np.uint64)
        return found >> np.uint64(64 - TAG) if self.columns == "signs" else found

    def apply(self, names: Iterable[str], weights: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """A times the vector that has `weights` at `names`, exactly."""
        from hedgerow.queries.strategies import hash_kernels as kernels

        out = np.zeros(self.size, dtype=np.int64)
        values = np.ascontiguousarray(weights if isinstance(weights, np.ndarray) else list(weights), np.int64)
        points = self.points(names)
        if len(points) != len(values):
            raise UnsupportedQuery("a sketch needs one weight for each name")
        if self.columns == "signs":
            low = np.uint64(FIELDS[64])
            kernels.add_signs(points, values, self.coefficients[0], 64, low, 64 - TAG, out)
        else:
            kernels.add_blocks(points, values, self.coefficients, self.size // self.blocks, out)
        return out

    def read(
        self,
        names: Iterable[str],
        weights: NDArray[np.int64],
        vector: NDArray[np.float64],
        scratch: NDArray[np.int64],
    ) -> tuple[float, float, float]:
        """<A w, vector>, |A w|^2 and the largest |entry| of A w; `scratch` holds zeros before and after."""
        from hedgerow.queries.strategies import hash_kernels as kernels

        if self.columns == "signs":
            column = self.apply(names, weights).astype(np.float64)
            return float(column @ vector), float(column @ column), float(np.abs(column).max(initial=0.0))
        width = self.size // self.blocks
        found = kernels.read_blocks(self.points(names), weights, self.coefficients, width, vector, scratch)
        return float(found[0]), float(found[1]), float(found[2])

    @property
    def digest(self) -> str:
        """A fingerprint of the matrix."""
        parts = (self.size, self.seed, self.columns, self.blocks, self.independence)
        return hashlib.sha256(repr(parts).encode()).hexdigest()
