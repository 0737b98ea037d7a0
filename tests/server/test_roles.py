"""Who may do what: every endpoint tried by everybody, and tokens that are not good."""

from __future__ import annotations

import base64
import hashlib
import hmac
import sqlite3
from contextlib import closing

import pytest

from hedgerow.serve.http.endpoints import ENDPOINTS
from hedgerow.service import tokens
from services.server import SQL

pytestmark = pytest.mark.xdist_group("server")
RANK = {"nobody": 0, "reader": 1, "analyst": 2, "owner": 3}
NEEDS = {"anybody": 0, "reader": 1, "analyst": 2, "owner": 3}
HARMLESS = {  # bodies with which an owner's success changes nothing that other tests rely on
    "/v1/datasets": {"path": "nowhere.csv"},
    "/v1/datasets/{dataset}/schema": {"yaml": None, "confirm": False},
    "/v1/datasets/{dataset}/budget": {"epsilon": 1},
    "/v1/datasets/{dataset}/raise": {"epsilon": 0.1, "reason": "less is refused"},
    "/v1/datasets/{dataset}/blocks": {"path": "nowhere.csv"},
    "/v1/datasets/{dataset}/freeze": {},
    "/v1/datasets/{dataset}/thaw": {},
    "/v1/datasets/{dataset}/same-rows": {},
    "/v1/datasets/{dataset}/jobs": {"kind": "nothing"},
    "/v1/analysts/{name}/limits/{dataset}": {"epsilon": -1},
    "/v1/tokens": {"name": "??", "role": "analyst"},
}


@pytest.fixture(scope="module")
def people(server):
    """A token of each role, and one that reaches no dataset that there is."""
    return {
        "nobody": "",
        "reader": server.new_token("roles-reader", "reader", datasets=["people"]),
        "analyst": server.new_token("roles-analyst", "analyst", datasets=["people"], may_spend=True),
        "owner": server.token,
        "stranger": server.new_token("roles-stranger", "analyst", datasets=["other"]),
    }


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: f"{e.method} {e.path}")
def test_every_endpoint_is_closed_to_every_role_below_its_own(server, people, endpoint):
    path = endpoint.path.format(dataset="people", id="none", name="roles-analyst")
    body = HARMLESS.get(endpoint.path, endpoint.body)
    for role, rank in RANK.items():
        reply = server.call(endpoint.method, path, people[role], json=body)
        if endpoint.path in ("/login", "/logout"):  # who sends no form of this server's pages stays outside
            assert reply.status_code in (200, 401, 403), reply.text
        elif rank >= NEEDS[endpoint.whom]:
            assert reply.status_code not in (401, 403), (role, reply.text)
        else:
            assert reply.status_code == (401 if role == "nobody" else 403), (role, reply.text)
            assert "rows" not in reply.json()
        assert reply.status_code < 500, reply.text


@pytest.mark.parametrize(
    "endpoint", [e for e in ENDPOINTS if "{dataset}" in e.path], ids=lambda e: f"{e.method} {e.path}"
)
def test_a_dataset_that_one_may_not_see_is_as_closed_as_one_that_is_not_there(server, people, endpoint):
    def tried(name):
        path = endpoint.path.format(dataset=name, id="none", name="roles-analyst")
        reply = server.call(endpoint.method, path, people["stranger"], json=endpoint.body)
        return reply.status_code, reply.text

    assert tried("people") == tried("nothing_there")
    assert tried("people")[0] == 403


def test_strangers_see_no_dataset_and_owners_learn_that_one_is_not_there(server, people):
    assert server.get("/v1/datasets", people["stranger"]).json() == {"datasets": []}
    assert server.get("/v1/datasets/nothing/schema").status_code == 404


def test_who_may_not_spend_is_refused_before_anything_is_looked_at(server, people):
    poor = server.new_token("roles-poor", "analyst")
    for token in (people["reader"], poor):
        reply = server.ask(token, within_count=100, spend=True)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "not_permitted")
        assert server.ask(token).status_code == 200


def test_forged_truncated_and_foreign_tokens_are_refused_alike(server):
    good = server.new_token("forged")
    _, id, secret = good.split("_", 2)
    bad = [good[:-1], good + "0", f"hr_{id}_{'0' * len(secret)}", f"hr_{id}_", id, secret, "hr__", "x" * 4000]
    bad += [good.upper(), f"hr_other_{secret}"]
    told = {server.call("GET", "/v1/datasets", token).text for token in bad}
    assert len(told) == 1
    assert '"no_token"' in told.pop()
    for header in (good, f"Basic {good}", f"Token {good}"):
        with server.client("") as client:
            assert client.get("/v1/datasets", headers={"Authorization": header}).status_code == 401


def test_a_revoked_token_ends_at_once(server):
    token = server.new_token("revoked")
    assert server.get("/v1/datasets", token).status_code == 200
    assert server.call("DELETE", f"/v1/tokens/{token.split('_')[1]}").status_code == 200
    assert server.get("/v1/datasets", token).status_code == 401
    assert server.call("DELETE", "/v1/tokens/none").status_code == 404


def test_tokens_are_made_only_as_they_may_be(server):
    for wrong in (
        {"name": "a b", "role": "analyst"},
        {"name": "x", "role": "king"},
        {"name": "x", "role": "reader", "may_spend": True},
        {"name": "owner", "role": "analyst"},
        {"name": "x", "role": "analyst", "expires": "2020-01-01"},
        {"name": "x", "role": "analyst", "expires": "2999-01-01"},
        {"name": "x", "role": "analyst", "expires": True},
        {"name": "x", "role": "analyst", "datasets": "people"},
        {"name": "x", "role": "analyst", "more": 1},
        [],
    ):
        assert server.post("/v1/tokens", wrong).status_code == 400, wrong


def test_lists_of_tokens_show_no_secret(server):
    token = server.new_token("listed")
    text = server.get("/v1/tokens").text
    assert token.split("_")[1] in text
    assert token.split("_")[2] not in text


def test_an_expired_token_is_refused(server):
    from datetime import UTC, datetime, timedelta

    token = server.new_token("brief", expires=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    assert server.get("/v1/datasets", token).status_code == 200
    past = tokens.stamp(datetime.now(UTC) - timedelta(seconds=1))
    with closing(sqlite3.connect(server.folder / ".hedgerow" / "server.db", timeout=30)) as db, db:
        db.execute("UPDATE token SET expires = ? WHERE id = ?", (past, token.split("_")[1]))
    assert server.get("/v1/datasets", token).status_code == 401


def test_the_command_makes_lists_and_revokes_tokens_beside_a_running_server(server, hedgerow):
    def run(*args):
        return hedgerow(server.folder, "token", *args, "--state", ".hedgerow")[:2]

    code, text = run("create", "cli-owner", "--role", "owner")
    token = text.strip()
    assert code == 0
    assert server.get("/v1/tokens", token).status_code == 200
    id = token.split("_")[1]
    assert id in run("list")[1]
    assert run("revoke", id)[0] == 0
    assert server.get("/v1/tokens", token).status_code == 401
    assert run("revoke", "none")[0] == 2


def test_a_verifier_is_what_scram_computes_from_the_password():
    token = tokens.Secret.new()
    _, _, rest = token.verifier.partition("$")
    counted, keys = rest.split("$")
    rounds, salt = counted.split(":")
    stored, server_key = (base64.b64decode(part) for part in keys.split(":"))
    salted = hashlib.pbkdf2_hmac("sha256", token.text.encode(), base64.b64decode(salt), int(rounds))
    client = hmac.digest(salted, b"Client Key", "sha256")
    assert hashlib.sha256(client).digest() == stored
    assert hmac.digest(salted, b"Server Key", "sha256") == server_key


def test_an_analyst_beyond_their_limit_waits_for_the_owner_who_pays(server):
    ann = server.new_token("waiting", may_spend=True)
    server.call("PUT", "/v1/analysts/waiting/limits/people", json={"epsilon": 0.05})
    question = {"sql": SQL.replace("sex", "k"), "within_count": 160}
    refused = server.ask(ann, **question, spend=True)
    assert (refused.status_code, refused.json()["error"]["code"]) == (402, "limit_refused")
    put = server.post("/v1/datasets/people/approvals", question | {"reason": "for the report"}, ann)
    assert (put.status_code, put.json()["state"]) == (202, "waiting")
    assert put.json()["cost"]["epsilon"] > 0
    id = put.json()["id"]
    assert (
        server.post(f"/v1/approvals/{id}", {"decision": "approved", "reason": "yes"}, ann).status_code == 403
    )
    other = server.new_token("other-waiting")
    assert server.get("/v1/datasets/people/approvals", other).json() == {"approvals": []}
    done = server.post(f"/v1/approvals/{id}", {"decision": "approved", "reason": "yes"})
    assert (done.status_code, done.json()["state"]) == (200, "approved"), done.text
    mine = server.ask(ann, **question).json()
    assert (mine["cached"], mine["cost"]) == (True, None)
    assert mine["rows"] == done.json()["answer"]["rows"]
    yours = server.get("/v1/datasets/people/budget", ann).json()["yours"]
    assert yours["spent"]["epsilon"] == 0
    assert server.post(f"/v1/approvals/{id}", {"decision": "refused", "reason": "no"}).status_code == 400
