"""One browser and one server for all tests of the console; what no page may do is watched on every one."""

from __future__ import annotations

import pytest

from services.browser import Visit, chromium
from services.server import RunningServer
from services.visits import write_visits


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with people.csv, learned, a budget of 4, and a folder of its own that nothing lies in yet."""
    folder = tmp_path_factory.mktemp("console")
    write_visits(folder)
    options = ("people.csv", "--epsilon", "4", "--learn", "1", "--wire-port", "off")
    running = RunningServer(folder, options).start()
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture(scope="module")
def browser():
    """One for a file: while Playwright is there, nothing else in this process can run an event loop."""
    with chromium() as made:
        yield made


@pytest.fixture
def visit(browser, server):
    """Makes visits, and looks at the end of each whether its pages behaved."""
    made = []

    def begin(token=None, *, strict=True, **look):
        one = Visit(browser, server.url, **look)
        made.append((one, strict))
        return one if token is None else one.enter(token)

    yield begin
    for one, strict in made:
        if strict:
            one.close()
        else:
            one.context.close()


@pytest.fixture(scope="session")
def tokens(server):
    """A token of each role; `ann` spends, `rob` does not."""
    return {
        "owner": server.token,
        "ann": server.new_token("ann", "analyst", datasets=["people"], may_spend=True),
        "rob": server.new_token("rob", "analyst", datasets=["people"]),
        "rea": server.new_token("rea", "reader", datasets=["people"]),
    }
