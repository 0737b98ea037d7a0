"""Nonsense, crowds, slow readers: no crash, no hang, no growing memory, nothing that depends on a row."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from pathlib import Path

import pytest

from services import streams
from services.patience import eventually
from services.server import hosted
from services.wire_client import WireClient, state

pytestmark = pytest.mark.xdist_group("wire")
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
SEED = 20261117
GROWN = 48 << 20  # bytes: a statement that was kept of each stream would be more


def signed_in(place, token, user="ann"):
    client = WireClient(place)
    client.sign_in(user, token)
    return client


def replies(client, stream):
    """Send a stream and no more; all messages until the server has ended."""
    found = []
    with contextlib.suppress(OSError):
        client.socket.sendall(stream)
        client.socket.shutdown(socket.SHUT_WR)
        while (message := client.read()) is not None:
            found.append(message)
    client.close()
    return found


def memory(pid):
    """Bytes that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_streams_of_nonsense_end_or_are_refused_and_harm_nobody(server, place, tool, size):
    token = tool("fuzzer")
    count, before = size(2000, 20_000), 0
    for i, stream in enumerate(streams.streams(SEED, count)):
        if i == count // 2:
            before = memory(server.process.pid)
        found = replies(signed_in(place, token, "fuzzer"), stream)
        assert all(kind in streams.REPLIES for kind, _ in found)
    assert memory(server.process.pid) - before < GROWN
    assert server.process.poll() is None
    assert "a fault of our own" not in (server.folder / "stderr.txt").read_text()
    assert "a connection failed" not in (server.folder / "stderr.txt").read_text()
    assert state(signed_in(place, token, "fuzzer").query(SQL)) is None


def test_what_comes_before_signing_in_may_be_anything(place, token, size):
    rng = random.Random(7)
    for _ in range(size(60, 2000)):
        client = WireClient(place)
        client.socket.sendall(rng.randbytes(rng.randint(0, 40)))
        client.close()
    threads = [threading.Thread(target=lambda: _asks(place, token)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state(signed_in(place, token).query("SELECT 1")) is None


def _asks(place, token):
    client = signed_in(place, token)
    for _ in range(5):
        assert state(client.query(SQL)) is None
    client.close()


def test_two_hundred_are_served_and_one_more_is_told_so(place, tool):
    token = tool("crowd")
    held: list[WireClient] = []
    try:
        while len(held) < 201:
            client = WireClient(place)
            client.begin("crowd", "people")
            kind, content = client.read()
            if kind == "E":
                assert b"C53300" in content.split(b"\0")
                client.close()
                break
            client.close()
            held.append(signed_in(place, token, "crowd"))
        assert 180 < len(held) <= 200  # others of this run may hold some
        for client in held:
            client.send("Q", SQL.encode() + b"\0")
        assert all(state(client.until()) is None for client in held)
    finally:
        for client in held:
            client.close()
    eventually(lambda: _answers(place, token))


def _answers(place, token):
    client = WireClient(place)
    client.begin("crowd", "people")
    kind, _ = client.read()
    client.close()
    return kind == "R"


def test_who_reads_slowly_keeps_nobody_waiting_and_gets_all_of_it(place, token):
    slow, asked = signed_in(place, token), 150
    rows = b"SELECT * FROM people LIMIT 1000\0"
    for _ in range(asked):  # some 6 MB that are not read
        slow.send("Q", rows)
    other = signed_in(place, token)
    for _ in range(5):
        assert state(other.query(SQL)) is None
    other.close()
    seen = [sum(kind == "D" for kind, _ in slow.until()) for _ in range(asked)]
    assert seen == [1000] * asked
    slow.close()


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """Two servers in this process, learned, of tables that differ by one person."""
    from hedgerow.serve.wire.listening import WireServer
    from hedgerow.service.host import make_token

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made, hosts = [], []
    for name, rows in (("all", slice(None)), ("one less", slice(1, None))):
        host, _ = hosted(tmp_path_factory.mktemp("neighbours") / name, rows)
        _, token = make_token(host.state, "bob", "analyst", ("people",), False, None)
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        tools = WireServer(host, listening, None, None)
        asyncio.run_coroutine_threadsafe(tools.start(), loop).result()
        hosts.append((host, tools))
        made.append((tools.place, token))
    yield made
    for host, tools in hosts:
        asyncio.run_coroutine_threadsafe(tools.end(1.0), loop).result()
        host.close(patience=1.0)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def shape(messages):
    """What of some replies may not depend on a row: all of it, but for the numbers and synthetic rows."""
    return [
        (kind, content[:2]) if kind == "D" else (kind, len(content) > 0) if kind in "dK" else (kind, content)
        for kind, content in messages
    ]


def test_no_reply_but_its_numbers_depends_on_a_row(neighbours, size):
    for stream in streams.streams(SEED + 1, size(250, 3000)):
        one, two = (shape(replies(signed_in(place, token, "bob"), stream)) for place, token in neighbours)
        assert one == two, stream
