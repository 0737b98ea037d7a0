"""Snapshots: what a session learned and did, in files beside its ledger: nobody need fit or read it again.

It is only a cache: what is in it follows from released values, and whoever deletes it waits longer and gets
the same answers. It is used when this version wrote it for this session, and the ledger still has the line
after which it was written; that line's hash vouches for all lines before it. The file is sealed with a key
that is in the ledger: who may write the folder but not read the ledger cannot make one. Anything else -
broken, cut off, older, of another ledger - is passed over, and written again.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.mechanisms.session.dense_belief import DenseBelief
from hedgerow.mechanisms.session.factored_belief import FactoredBelief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.queries.domain.domain import Domain

_FORMAT = 4  # raised, too, where fits make something else of the same measurements
_SEAL = 32  # bytes at the head of the file
_KINDS: dict[str, type[Belief]] = {cls.kind: cls for cls in (DenseBelief, FactoredBelief)}
_MOST = 1 << 29  # bytes: larger ones are neither written nor read


@dataclass(frozen=True)
class SealedFile:
    """Where something that follows from a session's lines is kept.

    Args:
        ledger: the session's; one in memory has no place for it.
        session: the session's name in the ledger.
        what: is kept there.
    """

    ledger: Ledger
    session: str
    what: str

    @property
    def path(self) -> Path | None:
        """The file, whether it is there or not."""
        folder = self.ledger.cache
        digest = hashlib.sha256(self.session.encode()).hexdigest()[:24]
        return None if folder is None else folder / f"{digest}.{self.what}.npz"

    def load(self) -> Held | None:
        """What is kept, with arrays that are read when they are looked up; None if there is none to use."""
        with suppress(OSError):
            sealed = self._read()
            seal, rest = sealed[:_SEAL], memoryview(sealed)[_SEAL:]
            if not hmac.compare_digest(self._seal(rest), seal):
                return None
            file = io.BytesIO(sealed)
            file.seek(_SEAL)
            arrays = np.load(file, allow_pickle=False)
            about = json.loads(arrays["about"].tobytes())
            data = about.pop("data", None)
            if about.get("line") is not None and about == self._about(about["seq"]):
                return Held(about["seq"], data, arrays)
        return None

    def save(self, data: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Write what follows from all lines up to the newest; a folder that cannot be written does without.

        Args:
            data: as JSON.
            arrays: with plain names.
        """
        path, about = self.path, {**self._about(self.ledger.newest), "data": data}
        out = io.BytesIO()
        np.savez(out, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        rest = out.getbuffer()
        if path is not None and rest.nbytes + _SEAL <= _MOST:
            with suppress(OSError):
                path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _write(path, self._seal(rest), rest)

    def _read(self) -> bytes:
        """The whole file; nothing of what is too large, or no file."""
        if self.path is None:
            return b""
        handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            return file.read() if S_ISREG(status.st_mode) and status.st_size <= _MOST else b""

    def _seal(self, data: Any) -> bytes:
        """Keyed by a secret of the ledger; the key of its rows is not used for anything else."""
        key = hashlib.blake2b(b"session snapshot", key=self.ledger.row_key).digest()
        return hashlib.blake2b(data, key=key, digest_size=_SEAL).digest()

    def _about(self, seq: int) -> dict[str, Any]:
        import hedgerow

        version, line = hedgerow.__version__, self.ledger.hash_at(seq)
        named = {"format": _FORMAT, "version": version, "session": self.session, "what": self.what}
        return {**named, "seq": seq, "line": line}


@dataclass(frozen=True, eq=False)
class Held:
    """What a file holds: the number of the line after which it was written, plain data, and arrays."""

    seq: int
    data: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def belief(self, domain: Domain) -> Belief:
        """What was learned by then.

        Args:
            domain: the session's.
        """
        return _KINDS[self.data["kind"]].unpack(domain, self.data, self.arrays)


def _write(path: Path, *parts: Any) -> None:
    """Whole or not at all; not flushed to the disk: what a power cut leaves of it has no seal."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".snapshot-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines(parts)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
