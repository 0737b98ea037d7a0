"""One server for all that speak PostgreSQL's protocol; its log holds what each of them sent."""

from __future__ import annotations

import os

import pytest

from services import said, wire_people
from services.server import RunningServer


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with people.csv, learned, a budget of 2 and half of it left."""
    folder = tmp_path_factory.mktemp("wire")
    wire_people.write(folder)
    running = RunningServer(folder, environment={"HEDGEROW_DEBUG": "1"}).start()
    yield running
    assert running.stop() == 0
    if os.environ.get(said.RECORD):
        said.record(folder / "stderr.txt")


@pytest.fixture(scope="session")
def place(server):
    """Host and port of the protocol."""
    return server.event["wire"]["host"], server.event["wire"]["port"]


@pytest.fixture(scope="session")
def token(server):
    """An analyst's, who may spend."""
    return server.new_token("ann", may_spend=True)


@pytest.fixture(scope="session")
def tool(server):
    """The token of an analyst who is called as a tool is, so that the log says which tool sent what."""
    made: dict[str, str] = {}

    def token_of(name: str) -> str:
        if name not in made:
            made[name] = server.new_token(name)
        return made[name]

    return token_of
