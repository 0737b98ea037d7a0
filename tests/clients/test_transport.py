"""What a client does when a server is slow, busy, gone or somebody else's."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.client.address import Address
from hedgerow.client.transport import Transport

ANSWER = {"columns": ["n"], "rows": [{"n": {"value": 3.0, "error": 1.0, "source": "learned"}}]}
ANSWER |= {"source": "learned", "confidence": 0.95, "cost": None, "remaining": {"epsilon": 1, "delta": 0}}


def refused(code: str, **more: Any) -> bytes:
    return json.dumps({"error": {"code": code, "message": "No.", "hint": "Wait."} | more}).encode()


class Scripted:
    """A server that replies what a list says, one after the other; None cuts the connection."""

    def __init__(self, *replies: tuple[int, bytes] | None) -> None:
        self.seen: list[dict[str, Any]] = []
        script, seen = list(replies), self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
                seen.append({"body": body, "headers": dict(self.headers), "path": self.path})
                reply = script.pop(0)
                if reply is None:
                    self.close_connection = True
                    return
                self.send_response(reply[0])
                self.send_header("Content-Length", str(len(reply[1])))
                self.send_header("Retry-After", "0")
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()
                self.wfile.write(reply[1])

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/people"


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    made: list[Scripted] = []

    def make(*replies: Any) -> Scripted:
        made.append(Scripted(*replies))
        return made[-1]

    yield make
    for server in made:
        server.http.shutdown()
        server.http.server_close()


GOOD = (200, json.dumps(ANSWER).encode())


@pytest.mark.parametrize("first", [(503, refused("starting")), (429, refused("rate_limited")), None])
def test_what_may_pass_is_tried_again_with_the_same_request_id(scripted, first):
    server = scripted(first, first, GOOD)
    answer = hr.connect(server.url, "hr_a_b").ask("SELECT COUNT(*) AS n FROM t", spend=True)
    assert answer.value == 3.0
    ids = {seen["body"]["request"] for seen in server.seen}
    assert len(server.seen) == 3
    assert len(ids) == 1
    assert None not in ids


def test_two_questions_have_two_request_ids_and_a_free_one_has_none(scripted):
    server = scripted(GOOD, GOOD, GOOD)
    db = hr.connect(server.url, "hr_a_b")
    for spend in (True, True, False):
        db.ask("SELECT COUNT(*) FROM t", spend=spend)
    first, second, free = (seen["body"]["request"] for seen in server.seen)
    assert first != second
    assert free is None


def test_a_server_that_stays_busy_is_given_up_in_the_end(scripted):
    server = scripted(*[(503, refused("starting"))] * 3)
    with pytest.raises(hr.errors.Starting) as said:
        hr.connect(server.url, "hr_a_b", tries=3).ask("SELECT COUNT(*) FROM t")
    assert said.value.hint == "Wait."
    assert len(server.seen) == 3


def test_what_might_be_done_twice_is_sent_once(scripted):
    server = scripted(None, GOOD)
    with pytest.raises(hr.Unreachable, match="no server answers"):
        hr.connect(server.url, "hr_a_b").job("learn", epsilon=1)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (402, refused("budget_refused", needed={"epsilon": 2, "delta": 0}), hr.BudgetExceeded),
        (402, refused("limit_refused"), hr.errors.LimitExceeded),
        (403, refused("not_permitted"), hr.NotPermitted),
        (409, refused("not_learned"), hr.NotLearned),
        (422, refused("unknown_level", position={"line": 1, "column": 7}), hr.errors.UnknownLevel),
        (500, refused("internal"), hr.Unreachable),
        (404, b"<html>nginx</html>", hr.Unreachable),
        (403, b"<html>nginx</html>", hr.NotPermitted),
        (302, b"", hr.Unreachable),
    ],
)
def test_a_refusal_is_the_error_that_it_would_be_here(scripted, status, body, kind):
    server = scripted((status, body))
    with pytest.raises(kind) as said:
        hr.connect(server.url, "hr_a_b").ask("SELECT COUNT(*) FROM t")
    assert len(server.seen) == 1  # a redirect is not followed: the token is for the server that was named
    if b'"error"' in body:
        assert said.value.code == json.loads(body)["error"]["code"]
        assert said.value.hint == "Wait."
    if status == 422:
        assert said.value.position == (1, 7)
    if b"needed" in body:
        assert said.value.needed.epsilon == 2


def test_what_is_no_hedgerow_is_told_from_one(scripted):
    with pytest.raises(hr.Unreachable, match="no Hedgerow"):
        hr.connect(scripted((200, b"hello")).url, "hr_a_b").ask("SELECT COUNT(*) FROM t")


def test_where_nobody_listens(scripted):
    server = scripted()
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(hr.Unreachable, match="no server answers at http:"):
        hr.connect(server.url, "hr_a_b", tries=2).budget()


def test_the_token_is_sent_as_a_header_and_shown_nowhere(scripted):
    server = scripted(GOOD)
    db = hr.connect(server.url, "hr_a_secret")
    db.ask("SELECT COUNT(*) FROM t")
    assert server.seen[0]["headers"]["Authorization"] == "Bearer hr_a_secret"
    assert "secret" not in server.seen[0]["path"]
    assert "secret" not in repr(db)
    assert "secret" not in repr(db._transport.address)


@pytest.mark.parametrize(
    ("url", "token", "dataset"),
    [
        (None, "hr_a_b", None),
        ("ftp://host/people", "hr_a_b", None),
        ("people.csv", "hr_a_b", None),
        ("http://", "hr_a_b", None),
        ("http://host:many/people", "hr_a_b", None),
        ("http://user:hr_a_b@host/people", None, None),
        ("http://host/people", "hr_a_b", "others"),
        ("http://host/a/b", "hr_a_b", None),
        ("http://host", "hr_a_b", "../tokens"),
        ("http://host", "hr_a\r\nX-Other: 1", "people"),
        (7, "hr_a_b", None),
        ("http://host", b"hr_a_b", None),
    ],
)
def test_an_address_that_is_none_is_refused_in_a_sentence(url, token, dataset, monkeypatch):
    monkeypatch.delenv("HEDGEROW_URL", raising=False)
    with pytest.raises(hr.HedgerowError) as said:
        hr.connect(url, token, dataset)
    assert "hr_a" not in str(said.value)


def test_the_environment_says_what_was_left_out(monkeypatch, tmp_path):
    (tmp_path / "token").write_text("hr_from_file\n")
    monkeypatch.setenv("HEDGEROW_URL", "http://127.0.0.1:1234/people")
    monkeypatch.setenv("HEDGEROW_TOKEN_FILE", str(tmp_path / "token"))
    db = hr.connect()
    assert repr(db) == "<Hedgerow at http://127.0.0.1:1234/people>"
    assert db._transport.address.token == "hr_from_file"


def test_events_of_a_job_are_read_as_they_come(scripted):
    text = b'event: progress\ndata: {"part": 0.5}\n\n: still here\n\nevent: done\ndata: {"part": 1}\n\n'
    transport = Transport(Address.of(scripted((200, text)).url, "hr_a_b"))
    assert list(transport.stream("/v1/jobs/1/events")) == [("progress", {"part": 0.5}), ("done", {"part": 1})]
