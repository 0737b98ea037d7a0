"""RowCache: rows of a CSV file as the schema codes them, kept beside the file so that it is parsed once.

What is kept are rows, so it stays where the rows are: in DATA.hedgerow.cache, beside the file that links lead
to, readable by the file's owner alone; nobody else's process makes one. It is named after everything that
decided what it holds - which file it is and in which state, schema, unit, how CSV text and ids are read, the
version - and used for exactly that. It is written under another name, brought to disk and renamed, and every
block has a checksum that is looked at before the first row is used: a file that is torn, or two writers at a
time, cost time and nothing else. It may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hedgerow.curator.rows.coding import Coded
from hedgerow.curator.rows.files import is_csv, is_settled
from hedgerow.curator.rows.unit import Unit
from hedgerow.curator.rows.values import binned
from hedgerow.errors import SourceError
from hedgerow.privacy.ledger.entry import SPELLING
from hedgerow.privacy.ledger.nearby import cache_folder, ledger_path
from hedgerow.privacy.ledger.place import file_identity
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.domain.encoding import ENCODING

if TYPE_CHECKING:
    from numpy.typing import NDArray

SWITCH = "HEDGEROW_ROW_CACHE"
LEAST_BYTES = 1 << 22
"""Files below this are parsed in no time."""

_MAGIC = b"HRROWS01"
_BLOCK = struct.Struct("<IIQ")  # rows, checksum, bytes
_SUFFIX = ".rows"


@dataclass(frozen=True)
class RowCache:
    """Where the coded rows of one file, in one state, under one schema, are kept.

    Args:
        data: the file.
        state: which file it is, and in which state.
        key: names all that decided what is kept.
        sizes: how many levels each attribute has.
        numbers: the attributes whose rows have numbers of their own, in order.
        named: whether rows have unit ids.
    """

    data: Path
    state: tuple[Any, ...]
    key: str
    sizes: tuple[int, ...]
    numbers: tuple[str, ...]
    named: bool

    @classmethod
    def of(cls, source: Any, domain: Any, unit: Unit | None, reading: dict[str, Any]) -> RowCache | None:
        """The place for a CSV file; None where nothing is kept: small files, others' files, switched off.

        Args:
            source: the file, or what else rows come from: of that nothing is kept.
            domain: the declared domain; of an open one nothing is kept.
            unit: whose rows are bounded.
            reading: how the CSV text is read.
        """
        if not isinstance(source, (str, Path)) or not is_csv(source):
            return None
        if not isinstance(domain, Domain) or not is_switched_on():
            return None
        try:
            data = Path(source).resolve(strict=True)
            status = data.stat()
            if not S_ISREG(status.st_mode) or status.st_size < LEAST_BYTES or not _is_owners(status.st_uid):
                return None
            state = _state(data)
        except OSError:
            return None
        import hedgerow

        whom = None if unit is None else [unit.column, unit.type, SPELLING]
        about = [_MAGIC.decode(), hedgerow.__version__, ENCODING, domain.fingerprint, whom, reading, state]
        key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return cls(data, state, key, domain.shape, tuple(binned(domain)), unit is not None)

    @property
    def path(self) -> Path:
        """The file, whether it is there or not."""
        return folder_of(self.data) / f"{self.key[:32]}{_SUFFIX}"

    @property
    def is_current(self) -> bool:
        """Whether the data file is still the one, in the state, that this is about."""
        with suppress(OSError):
            return _state(self.data) == self.state
        return False

    @property
    def is_settled(self) -> bool:
        """Whether the data file was last changed so long ago that any later change shows in its times."""
        return is_settled(self.data.stat())

    def read(self) -> Iterator[Coded] | None:
        """All rows, a block at a time; None if there are none that can be used."""
        with suppress(OSError), self._folder() as folder:
            handle = os.open(self.path.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
            file = open(handle, "rb")  # noqa: SIM115 - closed below, or when the last row was read
            if self._is_private(os.fstat(handle)) and self._is_whole(file):
                return self._blocks(file)
            file.close()
        return None

    def write(self, rows: Iterator[Coded]) -> Iterator[Coded]:
        """The same rows, kept on the way; whatever the disk says, they go on, and half of them is nothing."""
        half = f"{self.key[:32]}.{os.getpid()}.{os.urandom(4).hex()}.half"
        with ExitStack() as held:
            folder, out = -1, None
            with suppress(OSError):
                folder = held.enter_context(self._folder(make=True)) if self.is_settled else -1
                out = self._begun(folder, half) if folder >= 0 else None
            try:
                for some in rows:
                    if out is not None and not self._added(out, some):
                        _dropped(out)
                        out = None
                    yield some
                if out is not None:
                    with suppress(OSError):
                        self._published(out, folder, half)
            finally:
                if out is not None:
                    _dropped(out)
                with suppress(OSError):
                    os.unlink(half, dir_fd=folder)

    # -- the file -------------------------------------------------------------------------------------------

    @contextmanager
    def _folder(self, *, make: bool = False) -> Iterator[int]:
        """The folder, held open: root works in it whatever somebody makes of its name meanwhile."""
        place, owner = self.path.parent, self.data.stat()
        if make:
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if status.st_uid not in (os.geteuid(), owner.st_uid):
                raise PermissionError
            if make and S_IMODE(status.st_mode) & 0o077:
                os.fchmod(handle, 0o700)
            if make and status.st_uid != owner.st_uid and not os.listdir(handle):  # root has just made it
                os.fchown(handle, owner.st_uid, owner.st_gid)
            yield handle
        finally:
            os.close(handle)

    def _begun(self, folder: int, half: str) -> BinaryIO:
        owner = self.data.stat()
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(half, how, 0o600, dir_fd=folder)
        if os.geteuid() == 0:
            os.fchown(handle, owner.st_uid, owner.st_gid)
        out = open(handle, "wb", buffering=1 << 20)  # noqa: SIM115 - closed when it is whole or dropped
        out.write(_MAGIC + bytes.fromhex(self.key))
        return out

    def _is_private(self, status: os.stat_result) -> bool:
        """Whether a file is what `write` makes: one that anybody else made, or may read, is not used."""
        mine = status.st_uid == self.data.stat().st_uid
        return S_ISREG(status.st_mode) and not S_IMODE(status.st_mode) & 0o077 and mine

    def _added(self, out: BinaryIO, rows: Coded) -> bool:
        with suppress(OSError):
            parts = _packed(rows, self.numbers, named=self.named)
            checksum = 0
            for part in parts:
                checksum = zlib.crc32(part, checksum)
            out.write(_BLOCK.pack(rows.codes.shape[1], checksum, sum(len(part) for part in parts)))
            for part in parts:
                out.write(part)
            return True
        return False

    def _published(self, out: BinaryIO, folder: int, half: str) -> None:
        """Bring it to disk, give it its name, and remove those of other states of the data."""
        out.write(_BLOCK.pack(0, 0, 0))
        out.flush()
        os.fsync(out.fileno())
        if not self.is_current:
            return
        os.replace(half, self.path.name, src_dir_fd=folder, dst_dir_fd=folder)
        for other in os.listdir(folder):
            if other.endswith(_SUFFIX) and other != self.path.name:
                with suppress(OSError):
                    os.unlink(other, dir_fd=folder)

    def _is_whole(self, file: BinaryIO) -> bool:
        """Whether all blocks are there, as they were written."""
        if file.read(len(_MAGIC) + 32) != _MAGIC + bytes.fromhex(self.key):
            return False
        while len(head := file.read(_BLOCK.size)) == _BLOCK.size:
            rows, checksum, size = _BLOCK.unpack(head)
            if not rows:
                return size == 0 and not file.read(1)
            found = 0
            while size:
                piece = file.read(min(size, 1 << 22))
                if not piece:
                    return False
                found, size = zlib.crc32(piece, found), size - len(piece)
            if found != checksum:
                return False
        return False

    def _blocks(self, file: BinaryIO) -> Iterator[Coded]:
        with file:
            file.seek(len(_MAGIC) + 32)
            while True:
                rows, _, size = _BLOCK.unpack(file.read(_BLOCK.size))
                if not rows:
                    return
                data = bytearray(file.read(size))  # loops are compiled for arrays that may be written
                yield _unpacked(data, rows, self.sizes, self.numbers, named=self.named)


def _state(data: Path) -> tuple[Any, ...]:
    status = data.stat()
    return file_identity(data), status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_switched_on() -> bool:
    """Whether rows are kept: unless HEDGEROW_ROW_CACHE says `off`."""
    return os.environ.get(SWITCH, "").lower() not in ("off", "0", "no", "false")


def folder_of(data: Path) -> Path:
    """DATA.hedgerow.cache."""
    return cache_folder(ledger_path(data))


def files_of(data: Path) -> list[Path]:
    """What is kept of a data file's rows, and what was left half-written."""
    folder = folder_of(data.resolve())
    if folder.is_symlink():  # nothing is ever kept behind one
        return []
    return sorted(file for pattern in (f"*{_SUFFIX}", "*.half") for file in folder.glob(pattern))


def clear(data: Path) -> int:
    """Remove what is kept of a data file's rows; how many files that were."""
    count = 0
    for file in files_of(data):
        with suppress(FileNotFoundError):
            file.unlink()
            count += 1
    return count


def _is_owners(uid: int) -> bool:
    return os.geteuid() in (uid, 0)


def _dropped(out: BinaryIO) -> None:
    with suppress(OSError):
        out.close()


def _packed(rows: Coded, numbers: tuple[str, ...], *, named: bool) -> list[bytes]:
    """Codes, numbers, then ids as offsets, marks of those that are missing, and bytes."""
    import pyarrow as pa

    parts = [bytes([rows.codes.dtype.itemsize]), rows.codes.tobytes()]
    parts += [rows.numbers[name].astype(np.int32).tobytes() for name in numbers]
    if named:
        assert rows.ids is not None
        ids = rows.ids.fill_null(b"").cast(pa.large_binary())
        ids = pa.concat_arrays([ids])  # an offset of 0
        held = ids.buffers()
        offsets = np.frombuffer(held[1] or bytes(8), dtype=np.int64)[: len(ids) + 1]
        body = bytes(held[2] or b"")[int(offsets[0]) : int(offsets[-1])]
        missing = np.asarray(rows.ids.is_null(), dtype=np.uint8)
        parts += [(offsets - offsets[0]).tobytes(), missing.tobytes(), body]
    return parts


def _unpacked(
    data: bytearray, rows: int, sizes: tuple[int, ...], numbers: tuple[str, ...], *, named: bool
) -> Coded:
    import pyarrow as pa

    at = 1

    def taken(dtype: Any, count: int) -> NDArray[Any]:
        nonlocal at
        found = np.frombuffer(data, dtype=dtype, count=count, offset=at)
        at += found.nbytes
        return found

    kind = {1: np.uint8, 2: np.uint16, 4: np.int32}[data[0]]
    codes = taken(kind, len(sizes) * rows).reshape(len(sizes), rows)
    if (codes.max(axis=1) >= np.array(sizes)).any() or codes.min() < 0:  # loops count without looking
        raise SourceError("coded rows beside the data are not its own: remove them, `hedgerow cache --clear`")
    own = {name: taken(np.int32, rows) for name in numbers}
    ids = None
    if named:
        offsets, missing = taken(np.int64, rows + 1), taken(np.uint8, rows)
        present = pa.py_buffer(np.packbits(missing == 0, bitorder="little"))
        buffers = [present, pa.py_buffer(offsets), pa.py_buffer(bytes(data[at:]))]
        ids = pa.Array.from_buffers(pa.large_binary(), rows, buffers)
    return Coded(codes, own, ids)
