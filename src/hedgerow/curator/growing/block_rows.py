"""BlockRows: the accepted rows of some blocks, read as an engine; and where blocks are kept, for good.

A block is one Parquet file of the owner's, written whole before its line is, and never again. Its digest is
in the secret state of that line: a file that is not what was appended is refused.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hedgerow.curator.growing.seen import Seen
from hedgerow.curator.rows.engine import BATCH_ROWS
from hedgerow.curator.rows.parquet_files import _family
from hedgerow.errors import DataChanged, SourceError
from hedgerow.privacy.ledger.sqlite import flush
from hedgerow.queries.domain.encoding import kind_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.privacy.ledger.announcing import RowBlock
    from hedgerow.privacy.ledger.profile import Scope

_UNTYPED = b"hedgerow untyped"
_APPENDED = b"hedgerow appended"


class BlockFiles:
    """Where blocks lie: a folder of the owner's, or memory for a simulation.

    Args:
        folder: the folder; None for memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._held: dict[int, pa.Table] = {}

    def path(self, number: int) -> Path:
        """The file of a block."""
        assert self.folder is not None
        return self.folder / f"block-{number:06d}.parquet"

    def keep(self, number: int, rows: pa.Table, *, untyped: bool) -> bytes:
        """Write a block that was not announced yet, whole and durably; its digest."""
        import pyarrow.parquet as pq

        marks = {**(rows.schema.metadata or {}), _UNTYPED: b"1" if untyped else b"0"}
        marks[_APPENDED] = secrets.token_hex(16).encode()  # the same rows again are another file
        rows = rows.replace_schema_metadata(marks)
        if self.folder is None:
            self._held[number] = rows
            return hashlib.sha256(str(number).encode()).digest()
        if self.path(number).exists():
            raise SourceError(
                f"there is a file {self.path(number).name!r} that the ledger does not tell of: move it away"
            )
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for left in self.folder.glob(f".{self.path(number).name}.*"):  # of an append that did not end
            left.unlink()
        draft = self.folder / f".{self.path(number).name}.{secrets.token_hex(8)}"
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb") as out:
            pq.write_table(rows, out)
            out.flush()
            os.fsync(out.fileno())
        found = file_digest(draft)
        os.replace(draft, self._draft(number, found))
        flush(self.folder)
        return found

    def _draft(self, number: int, digest: bytes) -> Path:
        """A block's file until its line is written: under its own name there are only announced blocks."""
        path = self.path(number)
        return path.with_name(f".{path.name}.{digest.hex()}")

    def announced(self, number: int, digest: bytes) -> None:
        """Give a block its name; one that was announced before a crash gets it when it is next read."""
        if self.folder is None:
            return
        try:
            os.replace(self._draft(number, digest), self.path(number))
        except FileNotFoundError:  # whoever reads a block first may have done it
            if not self.path(number).exists():
                raise
        flush(self.folder)

    def read(self, block: RowBlock) -> pa.Table:
        """The rows of a block, if they are those that were appended."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.folder is None:
            return self._held[block.number]
        digest, _ = Seen.unpacked(block.state)
        try:
            if not self.path(block.number).exists() and self._draft(block.number, digest).exists():
                self.announced(block.number, digest)
            data = self.path(block.number).read_bytes()
        except OSError:
            raise SourceError(f"the file of block {block.number} ({block.name}) cannot be read") from None
        if hashlib.sha256(data).digest() != digest:
            raise DataChanged(
                f"the file of block {block.number} ({block.name}) is not what was appended: put it back, "
                "blocks are never changed"
            )
        return pq.read_table(pa.BufferReader(data))

    def unknown(self, known: int) -> list[Path]:
        """Files of blocks that no line tells of: an older ledger was put back."""
        if self.folder is None or not self.folder.is_dir():
            return []
        expected = {self.path(n) for n in range(1, known + 1)}
        return sorted(p for p in self.folder.glob("block-*.parquet") if p not in expected)


class BlockRows:
    """The rows of some blocks, as an engine.

    Args:
        files: where they are.
        blocks: which ones, one after the other.
        scope: the blocks or years that whoever reads them pays for.
        ledger: the id of the ledger that announced them.
        growing: what they are charged as, see `RowBlock.cell`.
    """

    in_memory = False
    _refuse: Callable[[], NoReturn] | None = None

    def __init__(
        self, files: BlockFiles, blocks: Sequence[RowBlock], scope: Scope, ledger: str, growing: str
    ) -> None:
        self.scope, self.ledger, self.blocks = scope, ledger, tuple(blocks)
        self._files, self._growing = files, growing
        self._first = files.read(blocks[0])
        self.untyped = untyped(self._first)

    def shut(self, refuse: Callable[[], NoReturn], began: bytes | None = None) -> BlockRows:
        """The same blocks, which refuse to be read and have no mark: for what was learned before.

        Args:
            refuse: refuses.
            began: the mark of those that were learned; the lines of the ledger are about them alone.
        """
        made = copy(self)
        made._refuse = refuse
        first, last = (0, 0) if began is None else divmod(int(began), 1 << 32)
        if kept := tuple(block for block in self.blocks if first <= block.number <= last):
            made.blocks = kept
            made.scope = kept[0].cell(self._growing), kept[-1].cell(self._growing)
        return made

    @property
    def written(self) -> int | None:
        """Which blocks these are: a run that began with others does not go on with them."""
        if self._refuse is not None:
            return None
        return (self.blocks[0].number << 32) + self.blocks[-1].number

    def __repr__(self) -> str:
        return f"{self.blocks[0].number} to {self.blocks[-1].number}"

    def schema(self) -> pa.Schema:
        """Names and types of the columns; every block has them."""
        return self._first.schema

    def check(self, columns: Sequence[str]) -> None:
        """Nothing is wrong with a block that was appended: see `refuse_unlike`."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, block by block."""
        if self._refuse is not None:
            self._refuse()
        for block in self.blocks:
            rows = self._files.read(block)
            yield from rows.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


def untyped(rows: pa.Table) -> bool:
    """Whether the cells of a block are text that may hold anything."""
    return bool((rows.schema.metadata or {}).get(_UNTYPED) == b"1")


def refuse_unlike(first: pa.Table, rows: Any, *, text: bool) -> None:
    """Refuse a new block whose columns are not those of the first one: it would read otherwise."""
    if untyped(first) != text:
        raise SourceError("blocks come all from CSV files, or all from sources with types")
    for field in (f for f in first.schema if kind_of(f.type) != "other"):
        place = rows.schema.get_field_index(field.name)
        if place < 0:
            raise SourceError(f"the block has no column {field.name!r}, and earlier blocks have it")
        found, known = _family(rows.schema.field(place).type), _family(field.type)
        if found != known and "null" not in (found, known):
            raise SourceError(f"column {field.name!r} holds {found}, and in earlier blocks {known}")


def file_digest(path: Path) -> bytes:
    """Which content a file has."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
