"""Work: one job of a server in a process of its own, so that asking stays fast while it learns or releases.

It reads what to do as JSON from its standard input, and writes how far it is as lines of JSON. It ends when
the server does: what was charged by then is in the ledger, and doing the same job again goes on with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from hedgerow.service.dataset import Dataset, Step

_SESSIONS = r"ask( \d+)?"  # names of the sessions that doors share


def learn(dataset: Dataset, job: dict[str, Any], step: Step, tell: Callable[[dict[str, Any]], None]) -> Any:
    """Learn what rows look like, once for each job, however often it is begun.

    Args:
        dataset: the rows, their schema and their ledger.
        job: with `epsilon`, and `anew` where something was learned before.
        step: told what is being done.
        tell: told what must be known if the job is begun again.
    """
    from hedgerow.mechanisms.session.core import begun_sessions
    from hedgerow.service import wire
    from hedgerow.service.learning import Learning

    epsilon = None if job.get("epsilon") is None else str(job["epsilon"])
    step("Reading rows", None)
    known, table = dataset.open(dataset.domain, None, step)
    dataset.refuse_put_back()
    with dataset.curator(table, known) as curator:
        begun, anew = len(begun_sessions(curator, _SESSIONS)), bool(job.get("anew"))
        tell({"begun": job.get("begun", begun)})
        if begun > job.get("begun", begun) or (begun and not anew):
            return {"learned": True, **wire.budget(curator.ledger)}  # by an earlier process, or already
        step("Learning", None)
        Learning(epsilon, anew).open(curator).close()
        return {"learned": True, **wire.budget(curator.ledger)}


def release(dataset: Dataset, job: dict[str, Any], step: Step, out: Path) -> Any:
    """Release a synopsis with its files; one that was begun is gone on with."""
    from hedgerow.service import wire
    from hedgerow.service.publication import Publication

    options = {name: job[name] for name in ("workload", "mechanism", "rows") if job.get(name) is not None}
    made = Publication(dataset, out, job.get("epsilon"), force=True, step=step, **options).publish()
    return wire.published(made)


def refuse_frozen(dataset: Dataset) -> None:
    """Refuse a job that was asked for before its dataset was frozen, and comes to be done only then."""
    from hedgerow.service import freezing
    from hedgerow.service.places import open_ledger

    with open_ledger(dataset.data, dataset.ledger) as ledger:
        if freezing.is_frozen(ledger):
            raise freezing.frozen()


def main() -> None:
    """Do the job that the first line of standard input tells."""
    from hedgerow.service import wire
    from hedgerow.service.config import DatasetSettings

    told = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_server, daemon=True).start()
    lock = threading.Lock()

    def tell(news: dict[str, Any]) -> None:
        with lock:
            sys.stdout.write(json.dumps(wire.plain(news), default=str) + "\n")
            sys.stdout.flush()

    def step(words: str, part: float | None) -> None:
        tell({"words": words, "part": part})

    dataset, job = DatasetSettings(**told["settings"]).dataset(), told["job"]
    try:
        refuse_frozen(dataset)
        kind = job["kind"]
        done = (
            learn(dataset, job, step, tell)
            if kind == "learn"
            else release(dataset, job, step, Path(told["out"]))
        )
        tell({"result": done})
    except HedgerowError as error:
        tell({"error": wire.error(error)["error"]})
    except Exception as error:  # its words might quote a row
        tell({"error": wire.error(error)["error"]})


def _end_with_server() -> None:
    """The server holds the other end of standard input: when it is gone, so is this process."""
    sys.stdin.read()
    os._exit(130)


if __name__ == "__main__":
    main()
