"""What response times tell about one person: two servers whose data differ in that person, asked in turn.

Each distinguisher is fitted to the first half of the times and tried on the other half. Its advantage is how
much oftener it says "the person is missing" of the server where that is so: 0 is nothing, 1 is all. The bound
holds for the best of them with 99%. Charged questions are asked before padding (a grid of 1 ms) and after it;
a leak of some milliseconds that is planted on purpose must be found before padding. Two servers of the same
data show what is told of processes, and not of people.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from math import log
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

LEARNED = int(os.environ.get("HEDGEROW_BENCH_LEARNED", "10000"))
CHARGED = int(os.environ.get("HEDGEROW_BENCH_CHARGED", "400"))
_ALARM = 0.01
_LEAK = 0.015  # seconds
_ROWS = 5000
_PLANTED = f"""
import sys, time
from hedgerow.service.hosted import Hosted
honest = Hosted._asked
def asked(self, desk, ask, who):
    time.sleep({_LEAK} * (sum(1 for _ in open("people.csv")) % 2))  # slower if the one is there
    return honest(self, desk, ask, who)
Hosted._asked = asked
from hedgerow.serve.cli.commands import app
app(sys.argv[1:])
"""
Times = NDArray[np.float64]


def write(folder: Path, missing: int) -> None:
    """Some people, without the last few of them."""
    rng = np.random.default_rng(11)
    columns = rng.choice(["F", "M"], _ROWS), rng.integers(0, 100, _ROWS), rng.integers(0, 8, _ROWS)
    lines = [f"{sex},{age},r{region}\n" for sex, age, region in zip(*columns, strict=True)]
    folder.mkdir()
    (folder / "people.csv").write_text("sex,age,region\n" + "".join(lines[: _ROWS - missing]))
    levels = ", ".join(f"r{i}" for i in range(8))
    schema = f"attributes:\n  sex: [F, M]\n  age: {{bins: [0, 100, 5]}}\n  region: [{levels}]\n"
    (folder / "schema.yaml").write_text(schema)


class Served:
    """One server on one of the two, and a connection that is kept open."""

    def __init__(self, folder: Path, missing: int, grid_ms: int, *, planted: bool) -> None:
        write(folder, missing)
        dataset = '[[dataset]]\npath = "people.csv"\nepsilon = 8\nlearn = 1\n'
        (folder / "hedgerow.toml").write_text(f"[server]\nport = 0\ngrid_ms = {grid_ms}\n{dataset}")
        code = ["-c", _PLANTED] if planted else ["-m", "hedgerow"]
        self.process = subprocess.Popen(
            [sys.executable, *code, "serve", "--config", "hedgerow.toml", "--json"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        event = json.loads(self.process.stdout.readline())
        self._token, self._address = event["owner_token"], urlsplit(event["url"]).netloc
        self._connection = http.client.HTTPConnection(self._address, timeout=60)
        while self.call("GET", "/v1/datasets")["datasets"][0]["state"] != "ready":
            time.sleep(0.2)

    def call(self, method: str, path: str, data: Any = None) -> Any:
        """One request."""
        headers = {"Authorization": f"Bearer {self._token}"}
        self._connection.request(method, path, None if data is None else json.dumps(data), headers)
        return json.loads(self._connection.getresponse().read())

    def timed(self, question: dict[str, Any]) -> float:
        """How long an answer takes, in ms."""
        began = time.perf_counter()
        told = self.call("POST", "/v1/datasets/people/ask", question)
        took = 1000 * (time.perf_counter() - began)
        assert "rows" in told, told
        return took

    def end(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)


def times(servers: list[Served], questions: list[dict[str, Any]]) -> tuple[Times, Times]:
    """The times of both servers, each question asked of both, in an order drawn by chance."""
    taken: tuple[list[float], list[float]] = ([], [])
    draw = random.Random(3)
    for question in questions:
        for which in draw.sample((0, 1), 2):
            taken[which].append(servers[which].timed(question))
    return np.array(taken[0]), np.array(taken[1])


# -- distinguishers: fitted to two samples, they say 1 or 0 of each time -------------------------------------


def _threshold(a: Times, b: Times) -> Any:
    """Slower than the best of all thresholds, or quicker."""
    at = np.quantile(np.concatenate([a, b]), np.linspace(0.01, 0.99, 99))
    gap = [(b > t).mean() - (a > t).mean() for t in at]
    best = int(np.argmax(np.abs(gap)))
    return lambda t: (t > at[best]) == (gap[best] > 0)


def _spread(a: Times, b: Times) -> Any:
    """Further from the middle than the best of all distances."""
    middle = np.median(np.concatenate([a, b]))
    far = _threshold(np.abs(a - middle), np.abs(b - middle))
    return lambda t: far(np.abs(t - middle))


def _bins(a: Times, b: Times) -> Any:
    """In a bin that was likelier on the other server: 16 bins of equal weight."""
    edges = np.quantile(np.concatenate([a, b]), np.linspace(0, 1, 17)[1:-1])
    likelier = [
        (np.searchsorted(edges, b) == i).mean() > (np.searchsorted(edges, a) == i).mean() for i in range(16)
    ]
    return lambda t: np.array(likelier)[np.searchsorted(edges, t)]


def _normal(a: Times, b: Times) -> Any:
    """Likelier by two normal laws of log times."""
    laws = [(np.log(x).mean(), np.log(x).std() + 1e-9) for x in (a, b)]

    def likely(t: Times, law: tuple[float, float]) -> Times:
        return -(((np.log(t) - law[0]) / law[1]) ** 2) / 2 - log(law[1])

    return lambda t: likely(t, laws[1]) > likely(t, laws[0])


def _late(a: Times, b: Times) -> Any:
    """At a later point of the grid than the first."""
    first = 1.5 * np.median(np.concatenate([a, b]))
    more = (b > first).mean() > (a > first).mean()
    return lambda t: (t > first) == more


DISTINGUISHERS = {"threshold": _threshold, "spread": _spread, "bins": _bins, "normal": _normal, "late": _late}


def _interval(hits: int, tries: int, alarm: float) -> tuple[float, float]:
    """The exact interval of a frequency (Clopper and Pearson)."""
    from scipy.stats import beta

    low = 0.0 if hits == 0 else float(beta.ppf(alarm / 2, hits, tries - hits + 1))
    high = 1.0 if hits == tries else float(beta.ppf(1 - alarm / 2, hits + 1, tries - hits))
    return low, high


def advantage(a: Times, b: Times) -> tuple[str, float, float, float]:
    """The best distinguisher, its advantage on times it was not fitted to, and bounds for all of them."""
    half, gains, bounds = len(a) // 2, {}, {}
    for name, fit in DISTINGUISHERS.items():
        says = fit(a[:half], b[:half])
        hits = [int(np.sum(says(x[half:]))) for x in (a, b)]
        alarm = _ALARM / (2 * len(DISTINGUISHERS))
        (low_a, high_a), (low_b, high_b) = (_interval(h, len(a) - half, alarm) for h in hits)
        gains[name] = (hits[1] - hits[0]) / (len(a) - half)
        bounds[name] = low_b - high_a, high_b - low_a
    best = max(gains, key=lambda name: gains[name])
    return best, gains[best], bounds[best][0], max(most for _, most in bounds.values())


def _questions(count: int, **more: Any) -> list[dict[str, Any]]:
    where = [f"age >= {5 * a} AND age < {5 * b}" for a in range(20) for b in range(a + 1, 21)]
    asked = [
        f"SELECT COUNT(*) AS n FROM people WHERE {w} AND region = 'r{r}'" for r in range(8) for w in where
    ]
    random.Random(1).shuffle(asked)
    return [{"sql": asked[i % len(asked)], **more} for i in range(count)]


def _measured(grid_ms: int, *, planted: bool, learned: bool, missing: int) -> tuple[Times, Times]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = [Served(folder / str(n), n * missing, grid_ms, planted=planted) for n in (0, 1)]
        for server in servers:
            stack.callback(server.end)
        if learned:
            times(servers, _questions(50))
            return times(servers, _questions(LEARNED))
        times(servers, _questions(5, within_count=500, spend=True))
        return times(servers, _questions(CHARGED + 5, within_count=400, spend=True)[5:])


def run() -> Iterator[dict[str, Any]]:
    """All rows: the advantage of the best distinguisher, and its bound."""
    cases: tuple[tuple[str, int, bool, bool, int], ...] = (
        (f"charged answers before padding, {CHARGED} each", 1, False, False, 1),
        (f"charged answers after padding, {CHARGED} each", 250, False, False, 1),
        ("a planted leak before padding", 1, True, False, 1),
        ("a planted leak after padding", 250, True, False, 1),
        (f"learned answers, {LEARNED} each", 250, False, True, 1),
        (f"learned answers of the same data, {LEARNED} each", 250, False, True, 0),
    )
    for name, grid, planted, learned, missing in cases:
        taken = _measured(grid, planted=planted, learned=learned, missing=missing)
        best, gain, least, most = advantage(*taken)
        found = {"name": f"{name}: advantage of the best ({best})", "ours": gain}
        if planted and grid == 1:
            found |= {"bar": "found: > 0", "peer": least, "passed": least > 0}
        yield found
        yield {"name": f"{name}: its upper bound, 99%", "ours": most}
