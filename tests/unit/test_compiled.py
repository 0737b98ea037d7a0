"""Compiled loops that several processes keep in one folder."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow.compiled_cache import SignatureFiles, keep_apart
from hedgerow.queries.domain.encoding_kernels import shift


@pytest.fixture
def two_processes(tmp_path):
    """What two processes hold of the files of one function."""
    return [SignatureFiles(str(tmp_path), "loop-1.py311", (1.0, 100)) for _ in range(2)]


def test_two_processes_that_compile_at_once_keep_two_signatures(two_processes, monkeypatch):
    first, second = two_processes
    plain = SignatureFiles._save_data

    def at_the_same_time(self, name, data):
        monkeypatch.setattr(SignatureFiles, "_save_data", plain)
        second.save("int32", "code for int32")  # begun before the first has written anything
        plain(self, name, data)

    monkeypatch.setattr(SignatureFiles, "_save_data", at_the_same_time)
    first.save("int16", "code for int16")
    assert first.load("int32") == second.load("int32") == "code for int32"
    assert first.load("int16") == second.load("int16") == "code for int16"


def test_a_file_of_another_signature_or_source_is_not_used(two_processes, tmp_path):
    files = two_processes[0]
    files.save("int16", "code")
    (of_int16,) = tmp_path.glob("*.nbc")
    files.save("int32", "other")
    (of_int32,) = set(tmp_path.glob("*.nbc")) - {of_int16}
    of_int16.replace(of_int32)
    assert files.load("int32") is None
    files.save("int16", "code")
    assert files.load("int16") == "code"
    assert SignatureFiles(str(tmp_path), "loop-1.py311", (2.0, 100)).load("int16") is None  # edited since


@pytest.mark.parametrize("content", [b"", b"torn", b"\x80\x05"])
def test_a_torn_file_is_compiled_anew(two_processes, tmp_path, content):
    files = two_processes[0]
    files.save("int16", "code")
    for path in tmp_path.glob("*.nbc"):
        path.write_bytes(content)
    assert files.load("int16") is None
    files.flush()
    assert not list(tmp_path.glob("*.nbc"))


def test_a_loop_that_cannot_be_kept_runs_all_the_same(two_processes, monkeypatch):
    def full(self, name, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SignatureFiles, "_save_data", full)
    two_processes[0].save("int16", "code")
    assert two_processes[0].load("int16") is None


def test_every_kept_loop_is_kept_apart():
    shift(np.zeros(1, np.int64), 0, 1, 1, np.zeros(1, np.int32))
    assert type(getattr(shift, "compiled", shift)._cache._cache_file) is SignatureFiles
    with pytest.raises(AttributeError):
        keep_apart(SimpleNamespace())


def test_whoever_wants_to_know_is_told_once_before_something_is_compiled(two_processes, monkeypatch):
    from hedgerow import compiled

    monkeypatch.setattr(compiled, "_TELLS", [])
    files, told = two_processes[0], []
    files.save("int16", "code")
    compiled.before_compiling(lambda: told.append(1))
    assert files.load("int16") == "code"
    assert not told  # it was kept
    assert files.load("int32") is None
    assert files.load("int64") is None
    assert told == [1]
