"""One server for all that speak PostgreSQL's protocol."""

from __future__ import annotations

import pytest

from services.server import RunningServer, write_people


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with people.csv, learned, a budget of 2 and half of it left."""
    folder = tmp_path_factory.mktemp("wire")
    write_people(folder)
    running = RunningServer(folder).start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def place(server):
    """Host and port of the protocol."""
    return server.event["wire"]["host"], server.event["wire"]["port"]


@pytest.fixture(scope="session")
def token(server):
    """An analyst's, who may spend."""
    return server.new_token("ann", may_spend=True)
