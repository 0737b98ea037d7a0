"""Interactive mechanisms whose process is killed in the middle of a stream."""

from __future__ import annotations

import importlib.util
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.curator.runs.comparison import State
from sizes import size

WORKER = Path(__file__).with_name("online_worker.py")
_spec = importlib.util.spec_from_file_location("online_worker", WORKER)
assert _spec is not None
assert _spec.loader is not None
worker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(worker)


def talk(path: Path, start: int, noise: str, die_at: int = 0, patience: float = 0.0) -> list[dict[str, Any]]:
    """What a process was seen to say before it ended, by itself or by SIGKILL from outside."""
    command = [sys.executable, str(WORKER), str(path), str(start), noise, str(die_at)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if patience:
        first = process.stdout.readline()
        time.sleep(patience)
        process.send_signal(signal.SIGKILL)
        out = first + process.communicate(timeout=120)[0]
    else:
        out = process.communicate(timeout=120)[0]
    assert process.returncode in (0, -signal.SIGKILL)
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


def test_a_stream_cut_by_kill_9_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Without noise, whatever is said depends on rows and learning: the answers equal those of one process.

    Deaths come just before a commit (nothing was said, nothing is kept) and just after one (the answer is
    kept, and nobody saw it: the question is then asked again).
    """
    whole = talk(tmp_path / "whole.db", 0, "quiet")
    assert len(whole) == len(worker.stream())
    assert {w["source"] for w in whole} == {"measured", "certified", "learned"}
    pieces: list[dict[str, Any]] = []
    for die_at in size([1, 9, 30], [1, 3, 9, 17, 5, 11] * 3):
        pieces += talk(tmp_path / "cut.db", len(pieces), "quiet", die_at)
    pieces += talk(tmp_path / "cut.db", len(pieces), "quiet")
    assert [p["i"] for p in pieces] == list(range(len(whole)))
    for cut, one in zip(pieces, whole, strict=True):
        assert cut["value"] == pytest.approx(one["value"], rel=1e-6, abs=1e-3)
    curator, session = worker.open_session(str(tmp_path / "cut.db"), "quiet")
    other, twin = worker.open_session(str(tmp_path / "whole.db"), "quiet")
    assert curator.spent == other.spent
    assert twin.updates == 12
    assert session.updates <= 12
    assert curator.ledger.verify().ok


@pytest.mark.slow
def test_whatever_was_seen_is_in_the_log_and_the_spend_never_moves(tmp_path: Path) -> None:
    """With real noise and kills at random moments: the state that decides the rest is the ledger's."""
    path, seen, rng = tmp_path / "ledger.db", [], random.Random(4)
    spent = set()
    for _ in range(size(2, 12)):
        start = seen[-1]["i"] + 1 if seen else 0
        if start >= len(worker.stream()):
            break
        seen += talk(path, start, "real", patience=rng.uniform(0.0, 0.05))
        curator, session = worker.open_session(str(path), "real")
        spent.add(curator.spent.epsilon)
        said = [(a.value[0], a.error[0], a.source) for a in session.transcript()]
        compared = [(s["value"], s["error"], s["source"]) for s in seen if s["source"] != "learned"]
        assert is_subsequence(compared, said)
        lines = list(curator.ledger.replay(f"sparse-vector:{session.label}"))
        assert session._run._state == State.from_bytes(lines[-1].state)
        assert session.updates <= 12
        again = worker.open_session(str(path), "real")[1]
        np.testing.assert_array_equal(session.hypothesis.log_cells(), again.hypothesis.log_cells())
        curator.ledger.close()
    assert len(spent) == 1
    assert max(spent) <= 0.9


def is_subsequence(short: list[Any], long: list[Any]) -> bool:
    """Everything in `short` is in `long`, in the same order."""
    rest = iter(long)
    return all(any(s == item for item in rest) for s in short)
