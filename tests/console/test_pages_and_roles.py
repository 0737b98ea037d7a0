"""Who sees which page, and what no page may hold: secrets, private drafts, names that become markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from hedgerow.serve.console.pages import PAGES
from hedgerow.serve.console.rendering import content
from hedgerow.serve.http.app import application
from hedgerow.service.host import make_token
from services.server import hosted

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")
RANK = {"nobody": 0, "reader": 1, "analyst": 2, "owner": 3}
NEEDS = {"anybody": 0, "reader": 1, "analyst": 2, "owner": 3}
HERE = {"Sec-Fetch-Site": "same-origin"}
EVIL = "<img src=x onerror=alert(1)>"
SAYS = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    made, _ = hosted(tmp_path_factory.mktemp("console") / "one")
    yield made
    made.close(1.0)


def person(host, role):
    """A browser that came in with a new token of a role; the owner's comes by link."""
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    if role == "owner":
        client.get(f"/login?link={host.visits.new_link()}", headers={"Sec-Fetch-Site": "none"})
    elif role != "nobody":
        _, text = make_token(host.state, f"one-{role}", role, ("people",), False, None)
        assert client.post("/login", content=f"token={text}").status_code == 303
    return client


@pytest.fixture(scope="module")
def people(host):
    return {role: person(host, role) for role in RANK}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: f"{p.method} {p.path}")
def test_every_page_is_closed_to_every_role_below_its_own(host, people, page):
    path = page.path.format(dataset="people", id="none", file="console.css")
    for role, rank in RANK.items():
        reply = people[role].request(page.method, path, content="" if page.method == "POST" else None)
        assert reply.status_code < 500, reply.text
        if rank < NEEDS[page.whom]:
            assert reply.status_code == (401 if role == "nobody" else 403), (role, page)
            assert "<table" not in reply.text
        else:
            assert reply.status_code not in (401, 403), (role, reply.text)


@pytest.mark.parametrize("page", [p for p in PAGES if p.method == "POST"], ids=lambda p: p.path)
def test_no_form_of_another_site_does_anything(host, people, page):
    path = page.path.format(dataset="people", id="none")
    for elsewhere in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
    ):
        reply = people["owner"].post(path, content="reason=x&do=freeze&epsilon=9", headers=elsewhere)
        assert reply.status_code == 403, reply.text
    assert host.datasets["people"].state == "ready"


def test_a_dataset_of_others_is_refused_whether_it_is_there_or_not(host):
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    _, text = make_token(host.state, "stranger", "analyst", ("elsewhere",), False, None)
    client.post("/login", content=f"token={text}")
    there, nowhere = client.get("/d/people/budget"), client.get("/d/unheard/budget")
    assert there.status_code == nowhere.status_code == 403
    assert there.text == nowhere.text
    assert "people" not in client.get("/").text


def test_pages_have_a_strict_policy_and_nothing_inline(host, people):
    tails = ("", "?sql=SELECT+sex,+COUNT(*)+AS+n+FROM+t+GROUP+BY+sex", "/explore", "/budget", "/releases")
    for path in (
        "/",
        "/people",
        "/new",
        "/d/people/ledger?verify=1",
        *(f"/d/people{tail}" for tail in tails),
    ):
        reply = people["owner"].get(path)
        assert reply.status_code == 200, path
        assert not re.search(
            r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=\"/static/)", reply.text
        )
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["cache-control"] == "no-store"
        assert len(reply.content) < 300_000


@pytest.mark.parametrize(
    "path",
    [
        "/d/people?sql={evil}",
        "/d/people?sql=SELECT+COUNT(*)+AS+%22{evil}%22+FROM+t",
        "/d/people?sql=SELECT+COUNT(*)+FROM+t+WHERE+sex+%3D+%27{evil}%27",
        "/d/people?sql=SELECT+%22{evil}%22+FROM+t",
        "/d/people?build=1&m={evil}&of={evil}&by={evil}&fc=sex&fo=%3D&fv={evil}",
        "/d/people?within={evil}",
        "/d/people/price?sql=SELECT+%22{evil}%22+FROM+t",
        "/d/people/explore?f={evil}:0",
        "/d/people/explore?f=sex:{evil}",
        "/d/people/setup?unit={evil}&epsilon={evil}",
        "/d/{evil}",
        "/login?link={evil}",
    ],
)
def test_what_somebody_types_is_shown_as_text(host, people, path):
    reply = people["owner"].get(path.format(evil=EVIL))
    assert reply.status_code < 500
    assert EVIL not in reply.text


def test_history_and_approvals_show_text_of_others_as_text(host, people):
    sql = f'SELECT COUNT(*) AS "{EVIL}" FROM t'
    assert people["analyst"].get("/d/people", params={"sql": sql}).status_code == 200
    form = {"sql": sql, "reason": EVIL, "within": "500"}
    assert people["analyst"].post("/d/people/approvals", data=form).status_code == 303
    for path in ("/d/people/history", "/d/people/approvals"):
        text = people["owner"].get(path).text
        assert EVIL not in text
        assert "onerror" in text


def test_compose_is_plain_text_and_no_page(host, people):
    reply = people["analyst"].get("/d/people/compose", params={"build": "1", "by": EVIL})
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_page_that_is_shared_never_spends(host, people):
    ledger = host.datasets["people"].opened.ledger
    before = ledger.newest
    sql = {"sql": "SELECT COUNT(*) AS n FROM people", "within": "60"}
    shown = people["owner"].get("/d/people", params=sql)
    assert "Spend up to" in shown.text
    for tail in ("/price", "/answer"):
        people["owner"].get(f"/d/people{tail}", params=sql)
    assert ledger.newest == before


def test_what_is_spent_is_at_most_what_the_button_said(host, people):
    ledger = host.datasets["people"].opened.ledger
    before = ledger.newest
    form = {"sql": "SELECT COUNT(*) AS n FROM people", "within": "40", "most": "0.000001", "request": "r1"}
    assert people["owner"].post("/d/people", data=form).status_code == 402
    assert people["owner"].post("/d/people", data=form | {"most": ""}).status_code == 400
    assert people["analyst"].post("/d/people", data=form | {"most": "9"}).status_code == 403
    assert ledger.newest == before


def test_a_token_is_on_one_page_once_and_in_no_address(host, people):
    made = people["owner"].post("/people", data={"name": "new", "role": "analyst"})
    (text,) = set(re.findall(r"hr_[a-z0-9]+_[a-z0-9]+", made.text))
    assert "location" not in made.headers
    assert text not in people["owner"].get("/people").text
    assert host.state.token(text, datetime.now(UTC)) is not None


def test_who_comes_in_goes_back_to_a_page_of_this_server_only(host):
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    _, text = make_token(host.state, "back", "reader", ("people",), False, None)
    good = "/d/people/budget"
    for there in (good, "//evil.example", "https://x.y", "/\\evil.example"):
        goes = there if there == good else "/"
        reply = client.post("/login", data={"token": text, "next": there})
        assert (reply.status_code, reply.headers["location"]) == (303, goes)


def test_a_visit_that_ended_says_so_and_asks_to_come_in_again(host):
    client = person(host, "owner")
    visit = client.cookies["hedgerow"]
    client.post("/logout")
    client.cookies.set("hedgerow", visit)
    reply = client.get("/d/people/budget")
    assert reply.status_code == 401
    assert "Your visit has ended" in reply.text
    assert 'name="next" value="/d/people/budget"' in reply.text


def test_who_was_never_in_is_told_how_to_come_in_and_not_that_a_visit_ended(host):
    reply = person(host, "nobody").get("/d/people/budget")
    assert reply.status_code == 401
    assert "Come in first" in reply.text
    assert "<h1>Your visit has ended" not in reply.text
    assert "hedgerow token create" in reply.text
    assert 'name="next" value="/d/people/budget"' in reply.text


def test_an_address_that_is_none_is_a_page_for_people_and_data_for_programs(host, people):
    looks = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for role in ("nobody", "reader", "owner"):
        page = people[role].get("/nonsense", headers=looks)
        assert page.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        assert "There is no such page" in page.text
        assert 'href="/"' in page.text
        assert page.headers["content-security-policy"]
        for path, headers in (("/nonsense", {"accept": "*/*"}), ("/v1/nonsense", looks)):
            data = people[role].get(path, headers=headers)
            assert data.status_code == 404
            assert data.json()["error"]["code"] == "not_found"
    assert (
        people["reader"].post("/nonsense", headers=looks, content="").json()["error"]["code"] == "not_found"
    )


def test_only_who_holds_all_of_a_token_is_told_how_it_ended(host):
    """A page says that a token was ended, or ran out, to its own browser; a guess at it says nothing."""
    token, text = make_token(host.state, "gone", "reader", ("people",), False, None)
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    client.post("/login", data={"token": text})
    host.state.revoke(token.id)
    assert "The owner has ended your token" in client.get("/d/people").text
    whole = client.cookies["hedgerow"]
    for guess in (
        whole[:-1] + ("0" if whole[-1] != "0" else "1"),
        f"hr_{token.id}_{'0' * 48}",
        text,
        "hr_",
        "",
    ):
        client.cookies.clear()
        client.cookies.set("hedgerow", guess)
        page = client.get("/d/people").text
        assert "ended your token" not in page
        assert "Your visit has ended" in page
    assert "ended this token on" in client.post("/login", data={"token": text}).text
    assert "This is no token that is good" in client.post("/login", data={"token": text[:-1] + "_"}).text


def test_styles_and_scripts_are_kept_by_browsers_and_nothing_else_is(host, people):
    for name in ("console.css", "console.js", "leaf.svg"):
        reply = people["nobody"].get(f"/static/{name}")
        assert reply.headers.get_list("cache-control") == ["public, max-age=86400"]
        assert "http://" not in reply.text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in reply.text
    for name in ("pages.py", "..%2fpages.py", "base.html.jinja"):
        assert people["nobody"].get(f"/static/{name}").status_code == 404


def test_an_address_that_is_none_of_ours_is_no_fault_of_ours(host, people):
    for index in ("²", "9" * 5000, "-1", "٣", ""):
        assert people["reader"].get(f"/d/people/explore?f=sex:{index}").status_code == 400
    for within in ("nan", "inf", "-1", "1e400", "²"):
        reply = people["reader"].get(f"/d/people?sql=SELECT%20COUNT(*)%20FROM%20t&within={within}")
        assert 400 <= reply.status_code < 500


def test_long_statements_hold_nobody_else_up(host, people):
    """What a statement says, and what could be asked instead, is looked at by readers' threads."""
    import threading

    from hedgerow.service import clicked, offers

    where = []
    for module, name in ((clicked.Clicked, "read"), (offers, "nearest")):
        inner = getattr(module, name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                module,
                name,
                lambda *a, inner=inner: where.append(threading.current_thread().name) or inner(*a),
            )
            people["reader"].get("/d/people/price?sql=SELECT%20COUNT(*)%20FROM%20t%20WHERE%20sexx%20=%201")
    assert len(where) == 2
    assert all(name.startswith("reader") for name in where)


def test_a_release_that_is_sent_twice_is_begun_once_and_says_what_it_spends(host, people, monkeypatch):
    began = []
    monkeypatch.setattr(
        host.jobs, "_waiting", type("Never", (), {"put": lambda self, id: began.append(id)})()
    )
    owner = people["owner"]
    (fresh,) = re.findall(r'name="job" value="([0-9a-f]{16})"', owner.get("/d/people/releases").text)
    body = f"kind=release&epsilon=0.1&workload=marginals:1&job={fresh}"
    for _ in range(3):
        assert owner.post("/d/people/releases", content=body).status_code == 303
    assert began == [fresh]
    for wrong in ("kind=release&workload=marginals:1", "kind=release&epsilon=0.1&job=../../etc"):
        assert owner.post("/d/people/releases", content=wrong).status_code == 400
    assert began == [fresh]
    del host.jobs._jobs[fresh]


def test_no_text_of_a_csv_file_is_a_formula_to_a_spreadsheet(host, people):
    sql = "SELECT '=1%2B1' AS \"@a\", COUNT(*) AS n FROM t"
    text = people["reader"].get(f"/d/people/answer?as=csv&sql={sql}").text
    assert text.startswith('"\'@a","n"')
    assert '"\'=1+1"' in text


def test_numbers_are_legible_on_every_shade_of_a_heat_map():
    """Which shades a page has depends on noise: all of them must do, in the light and in the dark."""
    style = content("console.css").decode()
    light, dark = ({}, {})
    for name, colour in re.findall(r"--(s[0-8]|ink|soft)\s*:\s*(#[0-9a-f]{6})", style):
        (dark if name in light else light)[name] = colour
    on_light = [*[light["ink"]] * 4, *["#10150f"] * 2, *["#ffffff"] * 3]
    on_dark = [*[dark["ink"]] * 4, *["#ffffff"] * 2, *["#0b0f0c"] * 3]
    for colours, text in ((light, on_light), (dark, on_dark)):
        assert len(colours) == 11
        assert all(contrast(colours[f"s{n}"], text[n]) >= 4.5 for n in range(9))
        assert all(contrast(colours[f"s{n}"], colours["soft"]) >= 4.5 for n in (0, 1))
    rules = (
        ".s4 { background: var(--s4); color: #10150f; }",
        ".s6 { background: var(--s6); color: #fff; }",
        ".s4, .s5 { color: #fff; } .s6, .s7, .s8 { color: #0b0f0c; }",
    )
    for rule in rules:
        assert rule in style


def contrast(one: str, other: str) -> float:
    """As WCAG 2 counts it."""
    parts = ([int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in (one, other))
    bright = [[v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in p] for p in parts]
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in bright)
    return (high + 0.05) / (low + 0.05)
