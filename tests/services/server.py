"""A running server for tests: a process of its own on a free port of this machine."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def write_people(folder: Path, rows: int = 3000, seed: int = 3) -> Path:
    """people.csv with `sex` and `k`, and its schema, in a folder."""
    rng = np.random.default_rng(seed)
    people = zip(rng.choice(["F", "M"], rows), rng.integers(0, 3, rows), strict=True)
    data = folder / "people.csv"
    data.write_text("sex,k\n" + "".join(f"{sex},{k}\n" for sex, k in people))
    (folder / "schema.yaml").write_text("attributes:\n  sex: [F, M]\n  k: [0, 1, 2]\n")
    return data


def hosted(folder: Path, rows: slice = slice(None), **more: Any) -> tuple[Any, Any]:
    """A host in this process, learned, of some of the people, and an analyst at it."""
    from starlette.testclient import TestClient

    from hedgerow.serve.http.app import application
    from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
    from hedgerow.service.host import Host, make_token
    from hedgerow.service.learning import Learning

    folder.mkdir()
    data = write_people(folder)
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join([lines[0], *lines[1:][rows]]))
    settings = DatasetSettings(str(data), epsilon=2, **more)
    host = Host(Config(ServerSettings(grid_ms=1), Limits(body_bytes=20_000), (settings,)))
    host.start()
    curator = host.datasets["people"].opened.curator
    host.datasets["people"].in_lane(lambda: Learning("1").open(curator).close()).result()
    host.datasets["people"].reopen()
    host.ready = True
    _, token = make_token(host.state, "ann", "analyst", ("people",), False, None)
    return host, TestClient(application(host), headers={"Authorization": f"Bearer {token}"})


@dataclass
class RunningServer:
    """`hedgerow serve` in a folder; `start` again after `kill` goes on with what is there."""

    folder: Path
    options: tuple[str, ...] = ("people.csv", "--epsilon", "2", "--learn", "1")
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    program: Path | None = None  # `hedgerow` of another environment, which sees nothing of this one's path
    process: Any = None
    url: str = ""
    token: str = ""
    event: dict[str, Any] = field(default_factory=dict)
    certificate: Path | None = None
    port: int = 0

    def start(self, *, learned: bool = True) -> RunningServer:
        """Start it, and wait until it is ready, and until what it learns is learned."""
        own = [sys.executable, "-m", "hedgerow"] if self.program is None else [str(self.program)]
        path = {"PYTHONPATH": os.pathsep.join(sys.path) if self.program is None else ""}
        environment = os.environ | path | self.environment
        listen = ("--port", str(self.port), "--json")
        self.process = subprocess.Popen(
            [*self.prefix, *own, "serve", *self.options, *listen],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True,
            stderr=(self.folder / "stderr.txt").open("a"),
        )  # fmt: skip
        line = self.process.stdout.readline()
        assert line, (self.folder / "stderr.txt").read_text()
        self.event = json.loads(line)
        self.url = self.event["url"]
        self.token = self.event["owner_token"] or self.token
        if learned:
            self.wait("ready")
        return self

    def wait(self, state: str, dataset: str = "people") -> None:
        """Wait until a dataset is in a state."""
        deadline = time.monotonic() + 60
        while (found := self.state(dataset)) != state:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def state(self, dataset: str = "people") -> str:
        """The state of a dataset, as its owner sees it."""
        told = self.get("/v1/datasets").json()["datasets"]
        return next(d["state"] for d in told if d["name"] == dataset)

    def client(self, token: str | None = None) -> httpx.Client:
        """A client with a token; the owner's unless said."""
        token = self.token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        trusted: Any = False  # without TLS there is nothing to verify, and reading certificates takes time
        if self.certificate is not None:
            trusted = ssl.create_default_context(cafile=str(self.certificate))
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, verify=trusted)

    def call(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        """One request."""
        with self.client(token) as client:
            return client.request(method, path, **more)

    def get(self, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        """One GET."""
        return self.call("GET", path, token, **more)

    def post(self, path: str, data: Any, token: str | None = None, **more: Any) -> httpx.Response:
        """One POST of JSON."""
        return self.call("POST", path, token, json=data, **more)

    def ask(self, token: str | None = None, dataset: str = "people", **question: Any) -> httpx.Response:
        """One question."""
        return self.post(f"/v1/datasets/{dataset}/ask", {"sql": SQL} | question, token)

    def new_token(self, name: str, role: str = "analyst", **more: Any) -> str:
        """Somebody's new token."""
        made = self.post("/v1/tokens", {"name": name, "role": role, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        return int(code)
