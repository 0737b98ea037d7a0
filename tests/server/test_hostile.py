"""Hostile requests: huge, slow, broken and odd ones, and what neighbouring data could be told apart by."""

from __future__ import annotations

import json
import random
import socket
import time
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.testclient import TestClient

from hedgerow.serve.http.app import application
from hedgerow.serve.http.endpoints import ENDPOINTS
from hedgerow.service.host import make_token
from services.patience import eventually
from services.server import SQL, hosted

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.filterwarnings("ignore:Using `httpx`")]
D = "/v1/datasets/people"
ASK_FIELDS = ("params", "within", "within_count", "confidence", "spend", "max_epsilon", "request")
PIECES = """SELECT COUNT(*) COUNT(DISTINCT\tsex)
SUM(k) AVG(k) MIN(k) sex k l FROM people t WHERE GROUP\tBY LIMIT
ORDER\tBY HAVING AND OR NOT = < >= IN ('F') 'F' 'X' 1 0 -1 1e308 NULL IS BETWEEN ( ) , * ; -- /* */ \x00 é 🜁
AS n "sex" CASE WHEN THEN ELSE END UNION JOIN read_csv('/etc/passwd') CAST( :: % || EXISTS WITH x () $1 ?
99999999999999999999999999999999 CURRENT_TIMESTAMP random()""".replace("\n", " ").split(" ")
SEEDS = [
    SQL,
    "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND k >= 1",
    "SELECT k, AVG(k) AS a FROM people WHERE sex IN ('F', 'M') GROUP BY k ORDER BY a DESC LIMIT 2",
    "SELECT sex, k, COUNT(*) AS n, SUM(k) AS s FROM people GROUP BY sex, k HAVING COUNT(*) > 10",
    "SELECT AVG(CASE WHEN k = 2 THEN 1 ELSE 0 END) AS p FROM people",
]


def mutated(rng: random.Random) -> str:
    """A statement with some of its pieces changed, doubled, moved or lost."""
    words = rng.choice(SEEDS).split(" ")
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(words) + 1)
        kind = rng.random()
        if kind < 0.5:
            words.insert(at, rng.choice(PIECES))
        elif kind < 0.75 and len(words) > 1:
            words.pop(min(at, len(words) - 1))
        elif words:
            words[min(at, len(words) - 1)] = rng.choice(PIECES)
    text = " ".join(words)
    return text[: rng.randrange(1, len(text) + 1)] if rng.random() < 0.1 else text


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """An analyst who may spend and an owner, at a host that nobody else uses."""
    host, _ = hosted(tmp_path_factory.mktemp("odd") / "host", slice(200))
    people = (("sue", "analyst"), ("own", "owner"))
    tokens = [make_token(host.state, name, role, ("*",), True, None)[1] for name, role in people]
    app = application(host)
    yield [TestClient(app, headers={"Authorization": f"Bearer {token}"}) for token in tokens], "none"
    host.close(0)


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """Two hosts whose data differ in one person."""
    folder = tmp_path_factory.mktemp("neighbours")
    made = [hosted(folder / name, rows) for name, rows in (("one", slice(None)), ("other", slice(1, None)))]
    yield [client for _, client in made]
    for host, _ in made:
        host.close(0)


def test_no_mutated_statement_gets_a_500_or_a_message_that_depends_on_rows(neighbours, size):
    rng = random.Random(20261117)
    refused = 0
    for _ in range(size(200, 20_000)):
        asked = {"sql": mutated(rng)} | ({"within_count": 10} if rng.random() < 0.1 else {})
        one, other = (client.post(f"{D}/ask", json=asked) for client in neighbours)
        assert one.status_code == other.status_code < 500, (asked, one.text, other.text)
        if one.status_code == 200:
            assert one.json()["columns"] == other.json()["columns"]
            continue
        refused += 1
        assert one.json()["error"]["message"] == other.json()["error"]["message"], asked
    assert refused > 50


def test_explanations_and_sizes_do_not_depend_on_rows(neighbours):
    for sql in (SEEDS[0], SEEDS[1], SEEDS[4]):
        one, other = (
            c.post(f"{D}/explain", json={"sql": sql, "within_count": 300}).json() for c in neighbours
        )
        # What is offered besides goes by bars of what was learned, which differ by their own noise.
        said = [told["words"].split("; within ")[0].rstrip(".") for told in (one, other)]
        assert said[0] == said[1]
        assert one["cost"] == other["cost"]
    one, other = (c.post(f"{D}/ask", json={"sql": SEEDS[0]}).json() for c in neighbours)
    assert [row["sex"] for row in one["rows"]] == [row["sex"] for row in other["rows"]]
    for path in ("schema", "budget"):
        one, other = (c.get(f"{D}/{path}").json() for c in neighbours)
        assert {**one, "ledger": 0} == {**other, "ledger": 0}


def test_bodies_that_are_too_long_or_no_json_are_refused(neighbours):
    client = neighbours[0]
    long = client.post(f"{D}/ask", json={"sql": "x" * 30_000})
    assert (long.status_code, long.json()["error"]["code"]) == (413, "too_large")

    def parts():
        for _ in range(100):
            yield b"x" * 1000

    assert client.post(f"{D}/ask", content=parts()).status_code == 413  # without saying how long it is
    for body in (b"{", b"\xff\xfe", b"[" * 10_000, b'{"sql": 1e999}', b"null", b'"sql"'):
        assert client.post(f"{D}/ask", content=body).status_code == 400, body[:20]
    assert client.post(f"{D}/ask/batch", json={"questions": [{"sql": SQL}] * 1001}).status_code in (400, 413)
    for wrong in ("after=x", "limit=0", "limit=99999", "after=1e9"):
        assert client.get(f"{D}/history?{wrong}").status_code == 400
    for wrong in ("rows=0", "rows=999999999", "format=exe"):
        assert client.get(f"{D}/sample?{wrong}").status_code == 400


ODD = [None, True, [], {}, "", "x", "nan", "inf", "1e999", -1, 0, 10**400, 1e308, float("nan"), float("inf"),
       "\ud800",
       "x" * 5000, "0x10", "１", [[]], {"a": 1}]  # fmt: skip


@pytest.mark.parametrize(
    "endpoint",
    [e for e in ENDPOINTS if isinstance(e.body, dict) and e.body],
    ids=lambda e: f"{e.method} {e.path}",
)
def test_odd_values_get_no_500_from_anybody(odd, endpoint, size):
    clients, ids = odd
    path = endpoint.path.format(dataset="people", id=ids, name="ann")
    fields = dict.fromkeys([*endpoint.body, *(ASK_FIELDS if "sql" in endpoint.body else ())])
    for field in fields:
        for value in size(ODD[::3], ODD):
            body = json.dumps(endpoint.body | {field: value}).encode()
            for client in clients:
                reply = client.request(endpoint.method, path, content=body)
                assert reply.status_code < 500 or reply.status_code == 503, (field, value, reply.text)


def test_paths_lead_nowhere_else(neighbours):
    client = neighbours[0]
    for path in ("/v1/datasets/../tokens", "/v1/datasets/people/../../tokens", "/v1/datasets/%2e%2e/schema"):
        assert client.get(path).status_code in (401, 403, 404)
    assert client.get(f"{D}/schema/").status_code == 404


def test_whoever_asks_too_fast_is_told_to_wait(tmp_path):
    host, client = hosted(tmp_path / "fast", slice(None))
    host.rate._most = 5
    said = [client.post(f"{D}/ask", json={"sql": SQL}) for _ in range(8)]
    assert [reply.status_code for reply in said].count(429) >= 2
    assert said[-1].headers["retry-after"]
    assert said[-1].json()["error"]["code"] == "rate_limited"
    host.close(0)


def test_an_error_of_our_own_or_of_the_system_tells_an_analyst_nothing(tmp_path, monkeypatch):
    from hedgerow.errors import LedgerError, SourceError
    from hedgerow.service.hosted import Hosted

    host, client = hosted(tmp_path / "broken", slice(None))
    for raised, status, code in (
        (ZeroDivisionError("row 17 of /data/people.csv"), 500, "internal"),
        (SourceError("line 17 of /data/people.csv"), 503, "ledger_unavailable"),
        (LedgerError("the ledger /data/people.csv.hedgerow.db"), 503, "ledger_unavailable"),
        (OSError(28, "no space", "/data/people.csv"), 503, "ledger_unavailable"),
    ):

        def fail(*args, raised=raised):
            raise raised

        monkeypatch.setattr(Hosted, "free", fail)
        reply = client.post(f"{D}/ask", json={"sql": SQL})
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
        assert "17 of" not in reply.text
        assert "/data" not in reply.text
    host.close(0)


def test_slow_heads_are_cut_off_and_too_many_connections_are_refused(server):
    where = urlsplit(server.url)
    address = (where.hostname, where.port)
    with socket.create_connection(address, timeout=30) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-")
        began = time.monotonic()
        assert slow.recv(100) == b""  # closed
        assert time.monotonic() - began < 25
    crowd = [socket.create_connection(address, timeout=10) for _ in range(205)]

    def refused() -> bool:
        with socket.create_connection(address, timeout=1) as late:
            try:
                return b"503" in late.recv(1000)
            except TimeoutError:  # the crowd was not let in yet: this one waits as they do
                return False

    eventually(refused)
    for one in crowd:
        one.close()

    def healthy() -> bool:
        with suppress(httpx.HTTPError):  # some of the crowd may still be there
            return server.get("/healthz").status_code == 200
        return False

    eventually(healthy)
