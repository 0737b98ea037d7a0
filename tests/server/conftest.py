"""One server for all tests that do not end or change it."""

from __future__ import annotations

import pytest

from services.server import RunningServer, write_people


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with people.csv, learned, a budget of 2 and half of it left."""
    folder = tmp_path_factory.mktemp("server")
    write_people(folder)
    running = RunningServer(folder).start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def own_server(tmp_path):
    """Makes servers for one test, and ends them."""
    made = []

    def make(*options, people=True, **more):
        if people:
            write_people(tmp_path)
        running = RunningServer(tmp_path, options, **more) if options else RunningServer(tmp_path, **more)
        made.append(running)
        return running

    yield make
    for running in made:
        if running.process is not None and running.process.poll() is None:
            running.process.kill()
            running.process.wait(10)


@pytest.fixture
def hedgerow(monkeypatch):
    """The command line in a folder: exit code, stdout, stderr."""
    from typer.testing import CliRunner

    from hedgerow.serve.cli.commands import app

    def run(folder, *args, **environment):
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            done = CliRunner().invoke(app, [str(a) for a in args], env=environment)
        return done.exit_code, done.stdout, done.stderr

    return run
