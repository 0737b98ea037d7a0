"""Ten thousand analysts of one dataset: accounts in one ledger, questions free and charged, and its size.

CPU seconds of one process; a commit that waits for the disk takes longer by the clock. Each analyst has a
limit of their own; every tenth asks two questions, one free and one with an accuracy. The bar is that the
last ones take no more than twice what the first took.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.service import accounts
from hedgerow.service.asking import Ask, Desk

ANALYSTS = int(float(os.environ.get("HEDGEROW_ANALYSTS", "1e4")))
EVERY = int(os.environ.get("HEDGEROW_ANALYSTS_EVERY", "10"))  # of them asks
DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 5), "region": 8, "status": 4, "k": 16})


def timed(work: Callable[[], Any]) -> float:
    """CPU seconds of something."""
    start = time.process_time()
    work()
    return time.process_time() - start


def questions(number: int) -> tuple[Ask, Ask]:
    """What an analyst asks: a table that was learned, and a count that nobody has asked before."""
    k, region, low = number % 16, number // 16 % 8, number // 128 % 16
    free = f"SELECT sex, COUNT(*) FROM t WHERE region = {region} AND k = {k} GROUP BY sex"
    rest = f"age >= {5 * low} AND status <> {number % 4}"
    paid = f"SELECT COUNT(*) FROM t WHERE (k = {k} OR region = {region}) AND {rest}"
    return Ask(free), Ask(paid, within_count=2000.0 + number, spend=True)


def run() -> Iterator[dict[str, Any]]:
    """One ledger, from its first line to its last."""
    rng = np.random.default_rng(1)
    rows = {"sex": rng.choice(["F", "M"], 100_000), "age": rng.integers(0, 100, 100_000)}
    rows |= {name: rng.integers(0, size, 100_000) for name, size in (("region", 8), ("status", 4), ("k", 16))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.hedgerow.db"
        curator = hr.Curator(hr.Table.open(rows, DOMAIN), hr.Budget(10, 1e-9), path)
        session = hr.Session(epsilon=1).open(curator)
        spent: dict[str, list[float]] = {"account": [], "free": [], "charged": []}
        sources: dict[str, int] = {}
        for number in range(ANALYSTS):
            name = f"analyst{number}"
            spent["account"].append(timed(lambda name=name: accounts.limit(curator.ledger, name, 0.01)))
            if number % EVERY:
                continue
            payer = accounts.payer(curator, name)
            desk = Desk(session.share(payer), payer)
            free, paid = questions(number)
            spent["free"].append(timed(lambda desk=desk, free=free: desk.ask(free)))
            start = time.process_time()
            source = desk.ask(paid).answer.source
            spent["charged"].append(time.process_time() - start)
            sources[source] = sources.get(source, 0) + 1
        session.close()
        curator.ledger.close()
        yield from _times(spent)
        told = ", ".join(f"{many:,} {source}" for source, many in sorted(sources.items()))
        yield {"name": f"questions with an accuracy: {told}"}
        yield {"name": f"ledger of {ANALYSTS:,} analysts (MB)", "ours": path.stat().st_size / 1e6}
        with Ledger.open(path, create=False) as ledger:
            yield {"name": "... its lines", "ours": ledger.newest + 1}
            yield {"name": "... all parts listed (CPU s)", "ours": timed(lambda: accounts.parts(ledger))}
            yield {"name": "... verified, line by line (CPU s)", "ours": timed(ledger.verify)}
        yield {
            "name": "... opened again, with its session (CPU s)",
            "ours": timed(lambda: _again(rows, path)),
        }


def _again(rows: Any, path: Path) -> None:
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), None, path)
    hr.Session(epsilon=1).open(curator).close()
    curator.ledger.close()


def _times(spent: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
    words = {
        "account": "an account with a limit is opened (CPU ms)",
        "free": "a free question (CPU ms)",
        "charged": "a question with an accuracy, charged where it must be (CPU ms)",
    }
    for kind, each in spent.items():
        some = max(len(each) // 10, 1)  # the first ones compile loops
        early, late = (1000 * float(np.median(part)) for part in (each[some : 2 * some], each[-some:]))
        yield {
            "name": f"{words[kind]}: the last tenth of {len(each):,}, peer the second",
            "ours": late,
            "peer": early,
            "ratio": late / early,
            "bar": "<= 2",
            "passed": late <= 2 * early,
        }
