"""Where compiled loops are kept between processes: one file for each signature, named by it and holding it.

Numba numbers the files of a function's signatures by an index that each process reads, adds to and writes.
Two processes that compile at the same time take the same number for two signatures, and a third one then runs
the machine code of another type: at best it is refused, at worst numbers are read as what they are not.
A name made from the signature needs no index, and what a file says it is for is compared before it is used.
"""

# mypy: disallow-any-unimported=False, disallow-subclassing-any=False

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError, loads
from typing import Any

from numba.core.caching import IndexDataCacheFile

from hedgerow.compiled import about_to_compile


class SignatureFiles(IndexDataCacheFile):
    """The files of one function, without an index."""

    def flush(self) -> None:
        """Forget every signature."""
        for path in Path(self._cache_path).glob(self._name("*")):
            path.unlink(missing_ok=True)

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled for a signature; where a disk is full it is compiled anew the next time."""
        with suppress(OSError):
            self._save_data(self._name(_short(key)), (self._stamp, str(key), data))

    def load(self, key: Any) -> Any:
        """What was compiled for a signature from this very source; None if nothing readable was."""
        try:
            stored = (Path(self._cache_path) / self._name(_short(key))).read_bytes()
            stamp, of, data = loads(stored)
        except (OSError, EOFError, ValueError, TypeError, UnpicklingError):
            stamp = of = data = None
        if (stamp, of) == (self._stamp, str(key)):
            return data
        about_to_compile()
        return None

    @property
    def _stamp(self) -> Any:
        return self._version, self._source_stamp

    def _name(self, short: str) -> str:
        return f"{self._index_name.removesuffix('.nbi')}.{short}.nbc"


def keep_apart(dispatcher: Any) -> Any:
    """The same compiled function, its signatures kept in files of their own."""
    numbered = dispatcher._cache._cache_file
    numbered.__class__ = SignatureFiles
    return dispatcher


def _short(key: Any) -> str:
    return sha256(str(key).encode()).hexdigest()[:24]
