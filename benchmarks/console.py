"""The console's pages on this machine: how long the server takes for each, and how large they are.

A made-up population of 8,000 rows and 10 attributes, learned; every answer is a learned one. A page's time is
from the request to the last byte, over loopback, by a browser's cookie: the median of some visits, of the
slowest page. First visits come right after a start, and while a release runs it has a process of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

TIMES = int(os.environ.get("HEDGEROW_BENCH_VISITS", "15"))
SECONDS = 2  # until somebody has opened what a server prints when it is ready
MS, KB = 100.0, 300.0
_ASK = "/d/people?sql="
_ANSWERS = {
    "a number": "SELECT COUNT(*) AS n, AVG(age) AS age FROM people WHERE sex = 'female'",
    "bars": "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
    "a heat map": "SELECT age, work, COUNT(*) AS n FROM people GROUP BY age, work",
    "a line": "SELECT moved_in, COUNT(*) AS n FROM people GROUP BY moved_in",
    "a table": "SELECT sex, region, work, COUNT(*) AS n FROM people GROUP BY sex, region, work",
}
PAGES = {
    "home": "/",
    "ask": "/d/people",
    **{name: _ASK + quote(sql) for name, sql in _ANSWERS.items()},
    "a refusal": _ASK + quote("SELECT COUNT(*) AS n FROM people WHERE agee >= 30"),
    "explore": "/d/people/explore",
    "explore, filtered": "/d/people/explore?f=sex:0&f=age:3",
    "budget": "/d/people/budget",
    "history": "/d/people/history",
    "approvals": "/d/people/approvals",
    "releases": "/d/people/releases",
    "ledger": "/d/people/ledger",
    "people": "/people",
}


class Visiting:
    """`hedgerow serve` in a folder, and a browser's cookie at it."""

    def __init__(self, folder: Path, token: str = "") -> None:
        command = [sys.executable, "-m", "hedgerow", "serve", "people.csv", "--epsilon", "4", "--learn", "1"]
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--wire-port", "off", "--json"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        event = json.loads(self.process.stdout.readline())
        self.address, self.token = urlsplit(event["url"]).netloc, event["owner_token"] or token
        body = urlencode({"token": self.token})
        reply, _, _ = self.send("POST", "/login", {"Sec-Fetch-Site": "same-origin"}, body)
        self.cookie = str(reply.getheader("set-cookie")).split(";")[0]

    def send(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> Any:
        """One request on a connection of its own: the reply, its bytes, and milliseconds."""
        connection = HTTPConnection(self.address, timeout=60)
        connection.connect()
        began = time.perf_counter()
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        held = reply.read()
        took = 1000 * (time.perf_counter() - began)
        connection.close()
        return reply, held, took

    def page(self, path: str) -> tuple[float, float]:
        """One page: milliseconds, and kB."""
        headers = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        reply, held, took = self.send("GET", path, headers)
        assert reply.status in (200, 422), (path, reply.status)
        return took, len(held) / 1000

    def owner(self, path: str, data: Any = None) -> Any:
        """One request of the API, as the owner."""
        body = None if data is None else json.dumps(data)
        headers = {"Authorization": f"Bearer {self.token}"}
        return json.loads(self.send("GET" if data is None else "POST", path, headers, body)[1])

    def ready(self) -> None:
        """Wait until what is learned is learned."""
        while self.owner("/v1/datasets")["datasets"][0]["state"] != "ready":
            time.sleep(0.1)

    def processor(self) -> float:
        """Milliseconds of processor time that it has used."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return 1000 * (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)


def row(name: str, ours: float, bar: float, unit: str) -> dict[str, Any]:
    """A line that has a bar."""
    return {"name": name, "ours": ours, "bar": f"< {bar:g} {unit}", "passed": ours < bar}


def slowest(times: dict[str, float]) -> tuple[str, float]:
    """The page that takes longest."""
    return max(times.items(), key=lambda item: item[1])


def first_visits(server: Visiting) -> Iterator[dict[str, Any]]:
    """Each page for the first time since the start."""
    taken, used = {}, {}
    for name, path in PAGES.items():
        before = server.processor()
        taken[name] = server.page(path)[0]
        used[name] = server.processor() - before
    name, took = slowest(taken)
    yield row(f"first visits, {SECONDS} s after a start: ms of the slowest page, {name}", took, MS, "ms")
    name, took = slowest(used)
    yield row(f"... the server's processor ms for the page that takes most, {name}", took, MS, "ms")


def middles(server: Visiting) -> tuple[dict[str, float], dict[str, float]]:
    """Of each page the median, and the server's processor ms."""
    taken, used = {}, {}
    for name, path in PAGES.items():
        before = server.processor()
        taken[name] = statistics.median(server.page(path)[0] for _ in range(TIMES))
        used[name] = (server.processor() - before) / TIMES
    return taken, used


def beside(server: Visiting) -> Iterator[dict[str, Any]]:
    """Pages while a release is made, as often as they fit into it."""
    job = server.owner(
        "/v1/datasets/people/jobs", {"kind": "release", "epsilon": 1, "workload": "marginals:3"}
    )
    taken: dict[str, list[float]] = {name: [] for name in PAGES}
    while server.owner(f"/v1/jobs/{job['id']}")["state"] in ("queued", "running"):
        for name, path in PAGES.items():
            taken[name].append(server.page(path)[0])
    name, took = slowest({name: statistics.median(held) for name, held in taken.items()})
    rounds = len(taken["home"])
    yield row(f"while a release runs ({rounds} rounds): ms of the slowest page, {name}", took, MS, "ms")


def run() -> Iterator[dict[str, Any]]:
    """All lines."""
    from hedgerow.release.population import Population

    with tempfile.TemporaryDirectory() as folder:
        place, people = Path(folder), Population(8000)
        people.write(place / "people.csv")
        people.domain().save(place / "schema.yaml")
        server = Visiting(place)
        server.ready()
        token = server.token
        server.end()
        server = Visiting(place, token)
        try:
            server.ready()
            time.sleep(SECONDS)
            first = list(first_visits(server))
            found, used = middles(server)
            name, took = slowest(found)
            yield row(f"ms of the slowest page, {name}", took, MS, "ms")
            yield {"name": "ms of a page, the median of all", "ours": statistics.median(found.values())}
            name, took = slowest(used)
            yield row(f"the server's processor ms for the page that takes most, {name}", took, MS, "ms")
            yield from first
            sizes = {name: server.page(path)[1] for name, path in PAGES.items()}
            rest = sum(len(server.send("GET", f"/static/{f}", {})[1]) for f in ("console.css", "console.js"))
            name, large = slowest(sizes)
            whole = large + rest / 1000
            yield row(f"kB of the largest page, {name}, with style and script", whole, KB, "kB")
            yield from beside(server)
        finally:
            server.end()
