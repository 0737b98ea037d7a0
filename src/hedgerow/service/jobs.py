"""Jobs: long work of owners - learning, releasing - one after the other, each in a process of its own.

A job is written down before it begins. A server that ends, or is killed, takes up what was not finished
when it starts again: learning and releases go on where they were, and nothing is paid twice.
"""

from __future__ import annotations

import json
import queue
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, HedgerowError, NotFound
from hedgerow.service import wire
from hedgerow.service.dataset import make_budget

if TYPE_CHECKING:
    from hedgerow.service.config import DatasetSettings
    from hedgerow.service.state import ServerState

KINDS = ("learn", "release")
_TAKES = {
    "learn": {"kind", "epsilon", "anew"},
    "release": {"kind", "epsilon", "workload", "mechanism", "rows"},
}
_REFUSED = ("budget_refused", "limit_refused")
_ID = re.compile("[0-9a-f]{16}")


def new_id() -> str:
    """What no other job is called."""
    return secrets.token_hex(8)


class Jobs:
    """The jobs of a server.

    Args:
        state: where they are written down.
        settings: those of a dataset, by its name.
        done: told the name of a dataset with which a job is done.
    """

    def __init__(
        self, state: ServerState, settings: Callable[[str], DatasetSettings], done: Callable[[str], None]
    ) -> None:
        self._state, self._settings, self._done = state, settings, done
        self._jobs: dict[str, dict[str, Any]] = {}
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._child: subprocess.Popen[str] | None = None
        self._over = False
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Take up what an earlier server did not finish, and wait for more."""
        for job in self._state.jobs():
            self._jobs[job["id"]] = job
            if job["state"] in ("queued", "running"):
                self._keep(job, state="queued", part=0.0, words="Waiting", result=None)
                self._waiting.put(job["id"])
        self._thread.start()

    def add(self, dataset: str, asked: Any, id: str | None = None) -> dict[str, Any]:
        """Write down a job, to be done after the others.

        Args:
            dataset: its name.
            asked: kind, epsilon, and what else that kind takes.
            id: what it is to be called; one that is called so already is that job, and no other is begun.
        """
        if not isinstance(asked, dict) or asked.get("kind") not in KINDS:
            raise BadValue(f"a job has a kind: {' or '.join(KINDS)}")
        if unknown := sorted(map(str, asked.keys() - _TAKES[asked["kind"]])):
            raise BadValue(f"a job to {asked['kind']} has no {unknown[0]!r}")
        if asked.get("epsilon") is not None:
            if isinstance(asked["epsilon"], bool) or not isinstance(asked["epsilon"], (int, float, str)):
                raise BadValue("`epsilon` is a number")
            make_budget(asked["epsilon"])
        elif asked["kind"] == "release":
            raise BadValue("a release says what it may spend", hint="give `epsilon`")
        id = new_id() if id is None else id
        if not _ID.fullmatch(id):
            raise BadValue("a job is called by 16 digits from 0 to f")
        if id in self._jobs:
            if self._jobs[id]["dataset"] != dataset:
                raise BadValue("a job of another dataset is called so")
            return self.get(id)
        job = {"id": id, "dataset": dataset, **asked, "result": None}
        self._keep(job, state="queued", part=0.0, words="Waiting")
        self._waiting.put(job["id"])
        return self.get(job["id"])

    def get(self, id: str) -> dict[str, Any]:
        """A job as doors show it."""
        job = self._jobs.get(id)
        if job is None:
            raise NotFound("there is no job of that id")
        return wire.job(id, job["kind"], job["state"], job["part"], job["words"], job["result"])

    def of(self, dataset: str) -> list[dict[str, Any]]:
        """A dataset's jobs as doors show them, with what they may spend; the newest first."""
        own = [job for job in self._jobs.values() if job["dataset"] == dataset]
        return [self.get(job["id"]) | {"epsilon": job.get("epsilon")} for job in reversed(own)]

    def unfinished(self, dataset: str) -> bool:
        """Whether something is being done, or waits to be done, with a dataset."""
        return any(
            j["dataset"] == dataset and j["state"] in ("queued", "running") for j in self._jobs.values()
        )

    def close(self, patience: float) -> None:
        """Begin nothing more; end what is being done if it takes longer than so many seconds."""
        self._over = True
        self._waiting.put(None)
        child = self._child
        if child is not None:
            try:
                child.wait(patience)
            except subprocess.TimeoutExpired:
                child.kill()
        if self._thread.is_alive():
            self._thread.join(5)

    def _keep(self, job: dict[str, Any], **news: Any) -> None:
        job |= news
        self._jobs[job["id"]] = job
        self._state.keep_job(job["id"], job["dataset"], job["state"], job)

    def _work(self) -> None:
        while not self._over and (id := self._waiting.get()) is not None:
            if self._over:
                return
            job = self._jobs[id]
            try:
                self._run(job)
            except (HedgerowError, OSError) as error:
                self._keep(job, state="failed", words="It could not be begun", result=wire.error(error))
            if job["state"] in ("failed", "refused"):
                self._done(job["dataset"])

    def _run(self, job: dict[str, Any]) -> None:
        """Run a job's process to its end, and follow what it says."""
        settings = asdict(self._settings(job["dataset"]))
        out = self._state.folder / "releases" / job["dataset"] / job["id"]
        told = {"job": job, "settings": settings, "out": str(out)}
        self._keep(job, state="running", words="Beginning", part=0.0)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "hedgerow.service.work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for the server, which tells it
        )
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(told) + "\n")
        child.stdin.flush()
        result = None
        for line in child.stdout:
            news = json.loads(line)
            result = news.get("result", result)
            self._follow(job, news)
        child.wait()
        child.stdin.close()
        self._child = None
        if result is not None and not self._over:
            self._done(job["dataset"])  # whoever is told that it is done can ask
            self._keep(job, state="done", part=1.0, words="Done", result=result)
        if job["state"] == "running" and not self._over:
            self._keep(job, state="failed", words="It ended without saying why; ask for it again")

    def _follow(self, job: dict[str, Any], news: dict[str, Any]) -> None:
        if "result" in news:
            self._keep(job, part=1.0, words="Opening what was made")
        elif "error" in news:
            state = "refused" if news["error"]["code"] in _REFUSED else "failed"
            self._keep(job, state=state, words=news["error"]["message"], result={"error": news["error"]})
        elif "begun" in news:
            self._keep(job, **news)
        elif news["words"] != job["words"]:
            self._keep(job, words=news["words"], part=news["part"] or 0.0)
        else:
            job["part"] = job["part"] if news["part"] is None else news["part"]
