"""A dataset's life at a server: set up, learned, frozen, raised, changed; and the server's own."""

from __future__ import annotations

import json
import signal
import socket
import time
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from services.server import SQL, write_people

pytestmark = pytest.mark.xdist_group("server")
D = "/v1/datasets/people"
CLOSE = {"sql": "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'", "within_count": 150, "spend": True}


def finished(server, job):
    deadline = time.monotonic() + 60
    while (told := server.get(f"/v1/jobs/{job['id']}").json())["state"] in ("queued", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return told


def test_a_dataset_goes_from_nothing_to_answers_over_http_and_only_owners_move_it(own_server, tmp_path):
    data = write_people(tmp_path)
    (tmp_path / "schema.yaml").unlink()
    server = own_server(str(data), people=False).start(learned=False)
    ann = server.new_token("ann", may_spend=True)
    assert server.state() == "setup"
    assert server.ask(ann).json()["error"]["code"] == "not_learned"
    assert server.get(f"{D}/schema", ann).status_code == 409  # a proposal would be private
    yaml = server.post(f"{D}/draft", {}).json()["yaml"]
    assert "confirmed: false" in yaml
    assert server.call("PUT", f"{D}/schema", json={"yaml": yaml, "confirm": False}).json()["state"] == "setup"
    assert server.call("PUT", f"{D}/schema", json={"yaml": "nonsense: [", "confirm": True}).status_code == 400
    assert server.call("PUT", f"{D}/schema", json={"yaml": yaml, "confirm": True}).json()["state"] == "setup"
    made = server.post(f"{D}/budget", {"epsilon": 2, "delta": 1e-9})
    assert (made.status_code, made.json()["state"]) == (201, "unlearned")
    for question in ({}, CLOSE, {"within": 0.1, "spend": True}):
        refused = server.ask(ann, **question)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_learned")
    assert server.get(f"{D}/budget").json()["spent"]["epsilon"] == 0
    job = server.post(f"{D}/jobs", {"kind": "learn", "epsilon": 1})
    assert job.status_code == 202
    assert job.json().keys() == {"id", "kind", "state", "part", "words", "result"}
    with server.client() as client, client.stream("GET", f"/v1/jobs/{job.json()['id']}/events") as stream:
        names = [line for line in stream.iter_lines() if line.startswith("event: ")]
    assert names[-1] == "event: done"
    assert server.state() == "ready"  # whoever is told that it is done can ask
    assert finished(server, job.json())["state"] == "done"
    assert server.ask(ann).json()["source"] == "learned"
    assert server.get(f"{D}/budget").json()["spent"]["epsilon"] == pytest.approx(1, rel=1e-6)
    nothing = server.post(f"{D}/jobs", {"kind": "release"})
    assert nothing.status_code == 400, "a release without a price would spend all that is left"
    much = finished(server, server.post(f"{D}/jobs", {"kind": "release", "epsilon": 5}).json())
    assert much["state"] == "refused"
    assert much["result"]["error"]["code"] == "budget_refused"


def test_freezing_stops_all_questions_and_thawing_lets_them_go_on(own_server):
    server = own_server().start()
    ann = server.new_token("ann", may_spend=True)
    assert server.post(f"{D}/freeze", {}).status_code == 400
    assert server.post(f"{D}/freeze", {"reason": "an incident"}).json()["state"] == "frozen"
    for token in (ann, server.token):
        for question in ({}, CLOSE):
            refused = server.ask(token, **question)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "frozen")
    assert server.get(f"{D}/sample", ann).status_code == 409
    assert server.stop() == 0
    server.start(learned=False)
    assert server.state() == "frozen"  # the ledger remembers
    assert server.post(f"{D}/thaw", {"reason": "it was nothing"}).json()["state"] == "ready"
    assert server.ask(ann).status_code == 200
    assert "an incident" in server.get(f"{D}/ledger").text

    # raising, and a limit that the budget's rest cuts short
    told = server.post(f"{D}/raise", {"epsilon": 3, "reason": "the board agreed"})
    assert told.json()["budget"]["epsilon"] == pytest.approx(3, rel=0.01), told.text
    assert server.post(f"{D}/raise", {"epsilon": 2.5, "reason": "less"}).status_code == 400
    limit = server.call("PUT", "/v1/analysts/ann/limits/people", json={"epsilon": 0.4}).json()
    assert limit["yours"]["limit"]["epsilon"] == pytest.approx(0.4, rel=1e-6)

    # the file changes under the server: what was learned is answered, with a note, and nothing is charged
    before = server.get(f"{D}/budget").json()["spent"]
    write_people(server.folder, 3100, 5)
    time.sleep(1.1)
    server.wait("data_changed")
    told = server.ask(ann).json()
    assert told["source"] == "learned"
    assert any("changed" in note for note in told["notes"])
    refused = server.ask(ann, **CLOSE)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "data_changed")
    assert server.get(f"{D}/budget").json()["spent"] == before
    assert server.stop() == 0
    server.start(learned=False)
    assert server.state() == "data_changed"  # also when it starts
    assert server.ask(ann).json()["source"] == "learned"
    assert server.ask(ann, **CLOSE).status_code == 409
    assert server.post(f"{D}/same-rows", {"reason": "sorted anew"}).json()["state"] == "ready"
    assert server.ask(ann, **CLOSE).status_code == 200


def test_sigterm_during_a_job_ends_in_time_and_the_next_server_goes_on_paying_once(own_server, hedgerow):
    server = own_server().start(learned=False)
    time.sleep(0.3)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 15
    server.start()
    assert server.get(f"{D}/budget").json()["spent"]["epsilon"] == pytest.approx(1, rel=1e-6)
    assert server.event["owner_token"] is None
    assert server.get(f"{D}/verify").json()["ok"]

    # what was said under a request id before a kill is said again after it
    first = server.ask(request="before", **CLOSE).json()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    server.start()
    again = server.ask(request="before", **CLOSE).json()
    assert (again["rows"], again["cached"], again["cost"]) == (first["rows"], True, None)

    # a backup while it runs, and putting an old one back
    code, out, _ = hedgerow(server.folder, "backup", "people.csv", "--out", "copy.zip", "--json")
    assert (code, json.loads(out)["file"]) == (0, "copy.zip")
    assert server.ask(**CLOSE | {"within_count": 140}).status_code == 200
    assert server.stop() == 0
    assert hedgerow(server.folder, "restore", "copy.zip", "people.csv")[0] == 2  # the ledger there knows more
    ledger = server.folder / "people.csv.hedgerow.db"
    for file in server.folder.glob("people.csv.hedgerow.db*"):
        file.unlink()
    code, _, words = hedgerow(server.folder, "restore", "copy.zip", "people.csv")
    assert (code, "older than what was charged" in words) == (2, True)
    code, _, words = hedgerow(
        server.folder, "restore", "copy.zip", "people.csv", "--older-than-receipt", "the disk was lost"
    )
    assert code == 0, words
    assert ledger.stat().st_mode & 0o777 == 0o600
    server.start()
    assert server.get(f"{D}/verify").json()["ok"]
    assert "Spent by lines that were lost" in server.get(f"{D}/ledger").text


def test_the_command_line_asks_a_server_and_its_exit_codes_say_what_went_wrong(server, hedgerow):
    there = f"{server.url}/people"
    code, out, _ = hedgerow(".", "ask", there, SQL, "--json", HEDGEROW_TOKEN=server.token)
    assert (code, json.loads(out)["source"]) == (0, "learned")
    code, out, _ = hedgerow(".", "ask", there, SQL, HEDGEROW_TOKEN=server.token)
    assert (code, "Asking was free." in out) == (0, True)
    cases = (
        (5, there, {}, []),
        (5, there, {"HEDGEROW_TOKEN": server.new_token("cli", datasets=[])}, []),
        (3, there, {"HEDGEROW_TOKEN": server.token}, ["--within-count", "1"]),
        (2, f"{server.url}/nothing", {"HEDGEROW_TOKEN": server.token}, []),
        (4, "http://127.0.0.1:9/people", {"HEDGEROW_TOKEN": server.token}, []),
    )
    for expected, url, environment, more in cases:
        code, out, words = hedgerow(".", "ask", url, SQL, *more, "--json", **environment)
        assert (code, json.loads(out)["exit_code"]) == (expected, expected), words


def test_configuration_is_checked_strictly_and_nothing_but_loopback_goes_without_tls(tmp_path, hedgerow):
    write_people(tmp_path)
    file = tmp_path / "hedgerow.toml"
    good = '[server]\nport = 0\n[[dataset]]\npath = "people.csv"\nepsilon = 2\n'
    file.write_text(good)
    assert hedgerow(tmp_path, "serve", "--config", "hedgerow.toml", "--check")[0] == 0
    for wrong, words in (
        (good + "learns = 1\n", "'learns'"),
        (good.replace("port", "prt"), "'prt'"),
        (good.replace("port = 0", 'port = "0"'), "port is a number"),
        (good + good.split("\n", 2)[2], "Two datasets"),
        (good.replace("people.csv", "none.csv"), "no file"),
        (good + "[limits]\nconnections = 0\n", "above 0"),
        (good + "learn = 3\n", "more than the budget"),
        ("[nonsense]\n", "means nothing"),
    ):
        file.write_text(wrong)
        code, _, said = hedgerow(tmp_path, "serve", "--config", "hedgerow.toml", "--check")
        assert (code, words in said) == (2, True), said
    code, _, said = hedgerow(tmp_path, "serve", "people.csv", "--host", "0.0.0.0", "--check")
    assert (code, "--insecure" in said) == (2, True)
    assert hedgerow(tmp_path, "serve", "people.csv", "--host", "0.0.0.0", "--insecure", "--check")[0] == 0
    assert not (tmp_path / ".hedgerow").exists()


def test_an_owner_token_from_a_file_is_used_and_not_printed(own_server, tmp_path, hedgerow):
    token = "hr_mine_" + "a1" * 12
    (tmp_path / "token.txt").write_text(token + "\n")
    server = own_server("people.csv", environment={"HEDGEROW_OWNER_TOKEN_FILE": "token.txt"})
    server.token = token
    server.start(learned=False)
    assert server.event["owner_token"] is None
    assert server.get("/v1/tokens").status_code == 200
    environ = Path(f"/proc/{server.process.pid}/cmdline")
    with suppress(OSError):
        assert token.encode() not in environ.read_bytes()
    newer = server.folder / ".hedgerow" / "server.db"
    assert server.stop() == 0
    import sqlite3

    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version=99")
    code, _, words = hedgerow(server.folder, "token", "list", "--state", ".hedgerow")
    assert (code, "newer Hedgerow" in words) == (2, True)


def test_a_server_that_ends_refuses_new_work(own_server):
    server = own_server("people.csv").start(learned=False)
    with server.client() as client:
        assert client.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        with suppress(httpx.HTTPError):
            for _ in range(100):
                assert client.get("/v1/datasets").status_code in (200, 503)
    assert server.process.wait(15) == 0


def test_a_reply_is_sent_at_once_and_does_not_wait_for_the_other_side():
    """asyncio switches Nagle's algorithm off only for sockets that know their protocol."""
    from hedgerow.serve.http.running import _bound

    with closing(_bound("127.0.0.1", 0, "--port")) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with (
            closing(socket.create_connection(listening.getsockname())),
            closing(listening.accept()[0]) as side,
        ):
            assert side.proto == socket.IPPROTO_TCP
