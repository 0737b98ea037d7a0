"""Browsers: a link that works once, cookies that only browsers of this server send, nothing inline."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from hedgerow.serve.http.app import application
from hedgerow.service.attempts import Attempts
from hedgerow.service.host import make_token
from services.server import hosted

HERE = {"Sec-Fetch-Site": "same-origin"}
ELSEWHERE = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    made, _ = hosted(tmp_path_factory.mktemp("visits") / "one")
    yield made
    made.close(1.0)


@pytest.fixture
def browser(host):
    return TestClient(application(host), base_url="http://testserver", follow_redirects=False)


def entered(host, browser):
    reply = browser.get(f"/login?link={host.visits.new_link()}", headers={"Sec-Fetch-Site": "none"})
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    return reply


def test_the_link_lets_an_owner_in_once(host, browser):
    code = host.visits.new_link()
    assert browser.get("/login?link=wrong").status_code == 401
    assert browser.get(f"/login?link={code}", headers={"Sec-Purpose": "prefetch"}).status_code == 204
    assert browser.head(f"/login?link={code}").status_code == 204
    assert browser.get(f"/login?link={code}", headers=ELSEWHERE[0]).status_code == 403
    first = browser.get(f"/login?link={code}")
    assert first.status_code == 303
    assert "You are owner" in browser.get("/").text
    assert browser.get("/v1/tokens").status_code == 200
    other = TestClient(application(host))
    assert other.get(f"/login?link={code}").status_code == 401
    assert other.get("/v1/tokens").status_code == 401


def test_a_link_that_is_too_old_lets_nobody_in(host, browser):
    code = host.visits.new_link()
    host.visits._made -= 3601
    assert browser.get(f"/login?link={code}").status_code == 401


def test_cookies_are_hidden_from_scripts_and_from_other_sites(host, browser):
    cookie = entered(host, browser).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    safe = TestClient(application(host), base_url="https://testserver", follow_redirects=False)
    cookie = entered(host, safe).headers["set-cookie"]
    assert cookie.startswith("__Host-hedgerow=")
    assert "secure" in cookie.lower()
    assert safe.get("/").headers["strict-transport-security"]


def test_what_another_site_makes_a_browser_send_is_refused(host, browser):
    entered(host, browser)
    token = {"name": "by-browser", "role": "reader"}
    for headers in (*ELSEWHERE, {}):
        assert browser.post("/v1/tokens", json=token, headers=headers).status_code == 403
    assert browser.get("/v1/tokens", headers=ELSEWHERE[0]).status_code == 403
    assert browser.post("/v1/tokens", json=token, headers=HERE).status_code == 201
    own = {"Origin": "http://testserver"}
    assert browser.post("/v1/tokens", json=token, headers=own).status_code == 201
    assert browser.get("/v1/tokens").status_code == 200


def test_a_visit_is_no_better_than_its_token_and_ends_with_it(host, browser):
    token, text = host.new_token({"name": "visitor", "role": "reader", "datasets": ["people"]})
    assert browser.post("/login", data={"token": text}, headers=ELSEWHERE[2]).status_code == 403
    assert browser.post("/login", data={"token": text[:-1]}, headers=HERE).status_code == 401
    assert browser.post("/login", data={"token": text}, headers=HERE).status_code == 303
    assert browser.get("/v1/datasets").status_code == 200
    assert browser.get("/v1/tokens").status_code == 403
    host.state.revoke(token.id)
    assert browser.get("/v1/datasets").status_code == 401


def test_a_cookie_is_no_bearer_token_and_a_token_no_cookie(host, browser):
    cookie = entered(host, browser).cookies["hedgerow"]
    other = TestClient(application(host))
    assert other.get("/v1/datasets", headers={"Authorization": f"Bearer {cookie}"}).status_code == 401
    _, text = host.new_token({"name": "no-cookie", "role": "reader"})
    assert other.get("/v1/datasets", headers={"Cookie": f"hedgerow={text}"}).status_code == 401


def test_leaving_ends_the_visit_for_good(host, browser):
    cookie = entered(host, browser).cookies["hedgerow"]
    assert browser.post("/logout", headers=ELSEWHERE[0]).status_code == 403
    assert browser.post("/logout", headers=HERE).status_code == 303
    assert browser.get("/v1/tokens").status_code == 401
    assert TestClient(application(host), cookies={"hedgerow": cookie}).get("/v1/tokens").status_code == 401


def test_pages_have_nothing_inline_and_a_policy_that_allows_none(host, browser):
    entered(host, browser)
    for path in ("/", "/login"):
        reply = browser.get(path)
        assert not re.search(r"<script(?! src=\"/static/)|<style|style=|onclick|javascript:", reply.text)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_what_a_page_shows_is_escaped(host, browser):
    assert "<b>" not in browser.get("/login?link=<b>").text
    host.datasets["people"].name, kept = "<b>", host.datasets["people"].name
    try:
        entered(host, browser)
        assert "&lt;b&gt;" in browser.get("/").text
    finally:
        host.datasets["people"].name = kept


def test_after_many_wrong_tokens_an_address_waits_and_nobody_else_does(host, monkeypatch):
    monkeypatch.setattr(host, "attempts", Attempts(clock=lambda: 5.0))
    monkeypatch.setattr(host.attempts, "_key", bytes(16))  # under it these two do not share a place
    here, there = (
        TestClient(application(host), follow_redirects=False, client=(address, 1))
        for address in ("192.0.2.1", "198.51.100.2")
    )
    text = make_token(host.state, "wen", "analyst", ("people",), False, None)[1]
    for i in range(20):
        assert here.post("/login", data={"token": f"hr_{i}"}, headers=HERE).status_code == 401
    waits = here.post("/login", data={"token": text}, headers=HERE)
    assert waits.status_code == 429
    assert "too many attempts" in waits.text.lower()
    assert here.get(f"/login?link={host.visits.new_link()}").status_code == 429
    assert there.post("/login", data={"token": text}, headers=HERE).status_code == 303
    assert here.get("/v1/datasets", headers={"Authorization": f"Bearer {text}"}).status_code == 200
