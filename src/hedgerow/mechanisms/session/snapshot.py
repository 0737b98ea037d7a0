"""Snapshot: what a session has learned, in a file beside its ledger, so that nobody need fit it again.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.mechanisms.session.dense_belief import DenseBelief
from hedgerow.mechanisms.session.factored_belief import FactoredBelief
from hedgerow.privacy.ledger.nearby import cache_folder

if TYPE_CHECKING:
    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.queries.domain.domain import Domain

_FORMAT = 1
_SEAL = 32  # bytes at the head of the file
_KINDS: dict[str, type[Belief]] = {cls.kind: cls for cls in (DenseBelief, FactoredBelief)}
_MOST = 1 << 29  # bytes: larger ones are neither written nor read


@dataclass(frozen=True)
class BeliefFile:
    """Where a session's belief is kept.

    Args:
        ledger: the session's; one in memory has no place for it.
        session: the session's name in the ledger.
    """

    ledger: Ledger
    session: str

    @property
    def path(self) -> Path | None:
        """The file, whether it is there or not."""
        if self.ledger.path is None:
            return None
        return (
            cache_folder(self.ledger.path) / f"{hashlib.sha256(self.session.encode()).hexdigest()[:24]}.npz"
        )

    def load(self, domain: Domain) -> tuple[int, Belief] | None:
        """The belief, and the number of the line after which it was written; None if there is none to use.

        Args:
            domain: the session's.
        """
        with suppress(OSError):
            held = self._read()
            seal, rest = held[:_SEAL], memoryview(held)[_SEAL:]
            if hmac.compare_digest(self._seal(rest), seal):
                return self._unpacked(held, domain)
        return None

    def save(self, belief: Belief) -> None:
        """Write what is believed after the newest line; a folder that cannot be written does without.

        Args:
            belief: follows from the session's lines.
        """
        path = self.path
        if path is None:
            return
        arrays: dict[str, Any] = {}
        data = {**self._about(self.ledger.newest), "belief": belief.pack(arrays)}
        out = io.BytesIO()
        np.savez(out, data=np.frombuffer(json.dumps(data).encode(), np.uint8), **arrays)
        held = out.getbuffer()
        if held.nbytes + _SEAL <= _MOST:
            with suppress(OSError):
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _write(path, self._seal(held), held)

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
        return {"format": _FORMAT, "version": version, "session": self.session, "seq": seq, "line": line}

    def _unpacked(self, sealed: bytes, domain: Domain) -> tuple[int, Belief] | None:
        file = io.BytesIO(sealed)
        file.seek(_SEAL)
        arrays = np.load(file, allow_pickle=False)
        held = json.loads(arrays["data"].tobytes())
        about = {name: held.get(name) for name in ("format", "version", "session", "seq", "line")}
        if about["line"] is None or about != self._about(held["seq"]):
            return None
        return held["seq"], _KINDS[held["belief"]["kind"]].unpack(domain, held["belief"], arrays)


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
