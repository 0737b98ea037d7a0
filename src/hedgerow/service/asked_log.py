"""The log of questions: who asked what, when, at what cost; never a number that was answered.

It is personal data of those who ask. It is written in groups by a thread of its own, so that nobody who asks
waits for it: into server.db, where histories are read from, and into asked.jsonl for other programs, which is
put aside at a size and kept a few times. A request id is bound to its question here as well as in the ledger,
with the answer, so that whoever asks again gets the same.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, RequestReused
from hedgerow.service.tokens import stamp

if TYPE_CHECKING:
    from hedgerow.service.state import ServerState

FILE = "asked.jsonl"
_SIZE, _KEEP = 10_000_000, 5  # bytes of a file, and how many old ones are kept
_ROWS = 200_000  # lines of a dataset's history
_PRUNE = 3600.0  # seconds between two looks for what is too old
_WAIT = 0.05  # seconds between groups
_QUEUE = 100_000


class AskedLog:
    """The log of a server.

    Args:
        state: where it is kept.
        size: bytes after which asked.jsonl is put aside.
        days: how long questions, and the answers of request ids, are kept.
    """

    def __init__(self, state: ServerState, size: int = _SIZE, days: int = 365) -> None:
        self._state, self._size, self._days = state, size, days
        self._pruned = -_PRUNE
        self._path = state.folder / FILE
        self._waiting: queue.SimpleQueue[tuple[str, str, dict[str, Any]] | None] = queue.SimpleQueue()
        self._written = threading.Event()
        self._thread = threading.Thread(target=self._write_all, name="asked log", daemon=True)
        self._thread.start()

    def note(self, dataset: str, who: str, item: dict[str, Any]) -> None:
        """Note that somebody asked something: SQL, source, cost, request id."""
        if self._waiting.qsize() < _QUEUE:
            self._waiting.put((dataset, who, {"time": stamp(datetime.now(UTC)), "who": who} | item))

    def history(self, dataset: str, who: str | None, after: int, limit: int) -> list[dict[str, Any]]:
        """Lines of a dataset's history after a number, one more than `limit` if there are more.

        Args:
            dataset: its name.
            who: only this person's, if not None.
            after: the number of the last line that is known.
            limit: the most lines.
        """
        sql = "SELECT seq, item FROM asked WHERE dataset = ? AND seq > ? AND (? IS NULL OR who = ?)"
        rows = self._state.rows(f"{sql} ORDER BY seq LIMIT ?", dataset, after, who, who, limit + 1)
        return [{"seq": seq, **json.loads(item)} for seq, item in rows]

    def latest(self, dataset: str, who: str | None, most: int) -> list[dict[str, Any]]:
        """The last lines of a dataset's history, the newest first.

        Args:
            dataset: its name.
            who: only this person's, if not None.
            most: the most lines.
        """
        sql = "SELECT seq, item FROM asked WHERE dataset = ? AND (? IS NULL OR who = ?)"
        rows = self._state.rows(f"{sql} ORDER BY seq DESC LIMIT ?", dataset, who, who, most)
        return [{"seq": seq, **json.loads(item)} for seq, item in rows]

    def bind(self, dataset: str, who: str, request: str, question: str) -> dict[str, Any] | None:
        """Bind a request id to a question; the answer that it got, or None; refuse another question."""
        with self._state.writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?, NULL, ?)",
                (dataset, who, request, question, stamp(datetime.now(UTC))),
            )
            sql = "SELECT question, answer FROM request WHERE dataset = ? AND who = ? AND request = ?"
            ((bound, answer),) = db.execute(sql, (dataset, who, request)).fetchall()
        if bound != question:
            raise RequestReused(f"the request id {request!r} was already used for another question")
        return json.loads(answer) if answer else None

    def answered(self, dataset: str, who: str, request: str, answer: dict[str, Any]) -> None:
        """Keep the answer that a request got."""
        with self._state.writing() as db:
            db.execute(
                "UPDATE request SET answer = ? WHERE dataset = ? AND who = ? AND request = ?",
                (json.dumps(answer), dataset, who, request),
            )

    def close(self) -> None:
        """Write what is waiting."""
        self._waiting.put(None)
        self._thread.join(5)

    def _write_all(self) -> None:
        over = False
        while not over:
            group = [self._waiting.get()]
            with suppress(queue.Empty):
                self._written.wait(_WAIT)
                while len(group) < 5000:
                    group.append(self._waiting.get_nowait())
            over = None in group
            lines = [line for line in group if line is not None]
            with suppress(HedgerowError, OSError):  # a disk that is full must not end the thread
                self._write(lines)

    def _write(self, lines: list[tuple[str, str, dict[str, Any]]]) -> None:
        with self._state.writing() as db:
            for dataset in {line[0] for line in lines}:
                ((last,),) = db.execute("SELECT MAX(seq) FROM asked WHERE dataset = ?", (dataset,)).fetchall()
                own = [(who, item["time"], json.dumps(item)) for d, who, item in lines if d == dataset]
                numbered = [(dataset, n, *line) for n, line in enumerate(own, (last or 0) + 1)]
                db.executemany("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", numbered)
                db.execute(
                    "DELETE FROM asked WHERE dataset = ? AND seq <= ?", (dataset, numbered[-1][1] - _ROWS)
                )
        self._rotate()
        self._prune()
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with open(handle, "a", encoding="utf-8") as out:
            out.writelines(json.dumps({"dataset": d} | item) + "\n" for d, _, item in lines)

    def _prune(self) -> None:
        """Forget what is older than it may be: it is personal data of those who asked.

        The last line of each dataset stays, so that numbers go on and are never given twice.
        """
        if time.monotonic() - self._pruned < _PRUNE:
            return
        self._pruned = time.monotonic()
        then = datetime.now(UTC) - timedelta(days=self._days)
        with self._state.writing() as db:
            db.execute("DELETE FROM request WHERE made < ?", (stamp(then),))
            db.execute(
                "DELETE FROM asked WHERE made < ? AND seq < "
                "(SELECT MAX(seq) FROM asked AS later WHERE later.dataset = asked.dataset)",
                (stamp(then),),
            )
        for old in self._path.parent.glob(f"{FILE}.*"):
            if old.stat().st_mtime < then.timestamp():
                old.unlink()

    def _rotate(self) -> None:
        """Put a file aside that has its size; the oldest goes."""
        if not self._path.exists() or self._path.stat().st_size < self._size:
            return
        for number in range(_KEEP - 1, -1, -1):
            old = self._path.with_name(f"{FILE}.{number}") if number else self._path
            if old.exists():
                os.replace(old, self._path.with_name(f"{FILE}.{number + 1}"))
