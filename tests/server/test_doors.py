"""TLS, rows that are sent, the demo, streams that end; what a server does with them."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time

import httpx
import pytest
from starlette.testclient import TestClient

from hedgerow.release.population import Population
from hedgerow.serve.http.app import application
from hedgerow.service.host import make_token
from services.server import RunningServer, hosted

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.filterwarnings("ignore:Using `httpx`")]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A host in this process, and its owner."""
    host, _ = hosted(tmp_path_factory.mktemp("doors") / "one", slice(300))
    _, token = make_token(host.state, "own", "owner", ("*",), True, None)
    yield host, TestClient(application(host), headers={"Authorization": f"Bearer {token}"})
    host.close(0)


def test_a_demo_under_tls_is_reached_by_https_alone_and_its_cookies_are_secure(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    (tmp_path / "hedgerow-demo").mkdir()
    few = Population(500, 2024)  # a demo that is there is served as it is
    few.write(tmp_path / "hedgerow-demo" / "people.csv")
    few.domain().save(tmp_path / "hedgerow-demo" / "schema.yaml")
    options = ("--demo", "--tls-cert", str(certificate), "--tls-key", str(key))
    server = RunningServer(tmp_path, options, certificate=certificate).start(learned=False)
    try:
        assert server.event["url"].startswith("https://")
        assert server.event["datasets"] == ["people"]
        assert server.state() in ("unlearned", "ready")
        reply = server.get("/v1/datasets/people/schema")
        assert reply.headers["strict-transport-security"]
        with server.client("") as browser:
            entered = browser.get(server.event["owner_link"])
            assert entered.status_code == 303
            assert "secure" in entered.headers["set-cookie"].lower()
            assert "You are owner" in browser.get("/").text
        with pytest.raises(httpx.HTTPError):
            httpx.get(server.url.replace("https", "http"), trust_env=False, timeout=10)
        with pytest.raises(httpx.ConnectError):  # a certificate that nobody vouches for
            httpx.get(server.url, trust_env=False, timeout=10)
        second = subprocess.run(
            [*server.process.args[:-3], "--port", "0"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2
        assert "Another server uses the state folder" in second.stderr
    finally:
        assert server.stop() == 0


def test_rows_that_are_sent_are_kept_for_the_server_alone_and_set_up_over_http(one):
    host, owner = one
    rows = b"colour,n\n" + b"red,1\nblue,2\n" * 50
    kind = {"Content-Type": "text/csv"}
    made = owner.post("/v1/datasets?name=sent", content=rows, headers=kind)
    assert (made.status_code, made.json()["state"]) == (201, "setup")
    (file,) = (host.state.folder / "uploads" / "sent").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == rows
    yaml = owner.post("/v1/datasets/sent/draft", json={}).json()["yaml"]
    assert owner.put("/v1/datasets/sent/schema", json={"yaml": yaml, "confirm": True}).status_code == 200
    assert owner.post("/v1/datasets/sent/budget", json={"epsilon": 1}).json()["state"] == "unlearned"
    for name in ("sent", "../sent", "Sent", "", "a/b"):
        assert (
            owner.post("/v1/datasets", params={"name": name}, content=rows, headers=kind).status_code == 400
        )
    assert owner.post("/v1/datasets?name=empty", content=b"", headers=kind).status_code == 400


def test_an_upload_is_an_owners_act(one):
    host, _ = one
    _, token = make_token(host.state, "no-owner", "analyst", ("*",), True, None)
    analyst = TestClient(application(host), headers={"Authorization": f"Bearer {token}"})
    kind = {"Content-Type": "text/csv"}
    assert analyst.post("/v1/datasets?name=mine", content=b"a\n1\n", headers=kind).status_code == 403
    assert "mine" not in host.datasets


def test_many_synthetic_rows_count_as_many_questions(one, monkeypatch):
    host, owner = one
    monkeypatch.setattr(host.rate, "_most", 30)
    host.rate._left.clear()
    assert owner.get("/v1/datasets/people/sample?rows=2500").status_code == 200  # 25 questions' worth
    assert owner.get("/v1/datasets/people/sample?rows=2500").status_code == 429
    assert owner.get("/v1/datasets/people/synopsis").status_code == 429


def test_a_stream_of_events_ends_when_its_token_does(one):
    host, _ = one
    token, text = make_token(host.state, "watcher", "owner", ("*",), True, None)
    job = {"id": "endless", "dataset": "people", "kind": "learn", "state": "running", "part": 0.1}
    host.jobs._jobs["endless"] = job | {"words": "Learning", "result": None}
    client = TestClient(application(host), headers={"Authorization": f"Bearer {text}"})
    said: list[httpx.Response] = []
    watching = threading.Thread(target=lambda: said.append(client.get("/v1/jobs/endless/events")))
    watching.start()
    time.sleep(0.3)
    host.state.revoke(token.id)
    watching.join(30)
    del host.jobs._jobs["endless"]
    assert not watching.is_alive()
    assert "event: done" not in said[0].text


def test_two_analysts_who_ask_one_thing_at_two_accuracies_pay_for_the_closer_answer(one):
    host, _ = one
    made = [make_token(host.state, name, "analyst", ("*",), True, None)[1] for name in ("wendy", "stan")]
    wendy, stan = (TestClient(application(host), headers={"Authorization": f"Bearer {t}"}) for t in made)
    weak, strong = (
        {
            "sql": "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND k = 1",
            "spend": True,
            "within_count": rows,
        }
        for rows in (120, 80)
    )
    other = strong | {"sql": strong["sql"].replace("'F'", "'M'")}
    path = "/v1/datasets/people"
    assert wendy.post(f"{path}/ask", json=weak).json()["cost"]["epsilon"] > 0
    alone = stan.post(f"{path}/explain", json=other).json()["cost"]["epsilon"]
    foretold = stan.post(f"{path}/explain", json=strong).json()["cost"]["epsilon"]
    told = stan.post(f"{path}/ask", json=strong).json()
    assert told["source"] == "measured"
    assert told["cost"]["epsilon"] == pytest.approx(foretold, rel=1e-3)
    assert foretold < 0.95 * alone
    assert told["rows"][0]["n"]["error"] <= 80
    again = wendy.post(f"{path}/ask", json=weak | {"within_count": 100}).json()
    assert (again["cached"], again["cost"]) == (True, None)


def test_a_body_that_comes_too_slowly_is_refused(one, monkeypatch):
    _, owner = one
    monkeypatch.setattr("hedgerow.serve.call._SLOW", 0.1)

    async def slow():
        yield b'{"sql": '
        await asyncio.sleep(5)
        yield b'"SELECT 1"}'

    async def send():
        transport = httpx.ASGITransport(app=owner.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await client.post("/v1/datasets/people/ask", content=slow(), headers=owner.headers)

    reply = asyncio.run(send())
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_input")
    assert "took longer" in reply.json()["error"]["message"]


def test_whoever_reads_while_a_dataset_is_opened_anew_reads_on(one, monkeypatch):
    from hedgerow.mechanisms.session.reading import SessionReading

    host, owner = one
    dataset, real = host.datasets["people"], SessionReading.free

    def free(self, *args, **wish):
        monkeypatch.setattr(SessionReading, "free", real)
        dataset.reopen()  # as when a job ends
        return real(self, *args, **wish)

    monkeypatch.setattr(SessionReading, "free", free)
    sql = "SELECT COUNT(*) AS n FROM people WHERE k = 2"
    reply = owner.post("/v1/datasets/people/ask", json={"sql": sql})
    assert (reply.status_code, reply.json()["source"]) == (200, "learned"), reply.text
    assert len(dataset._leaving._open) > 0
    dataset._leaving.close()
    assert dataset._leaving._open == []
    assert owner.post("/v1/datasets/people/ask", json={"sql": f"{sql} AND sex = 'F'"}).status_code == 200
