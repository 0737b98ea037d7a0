"""Owners in a real browser: first run, approvals from both sides, people, jobs, freezing, restarts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from services.browser import Visit
from services.server import RunningServer
from services.visits import SQL, write_visits

pytestmark = pytest.mark.xdist_group("browser")
expect = pytest.importorskip("playwright.sync_api", reason="pip install playwright").expect
CLOSE = "/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE city = 'Harbour'&within=55"


def test_analysts_see_no_owners_page(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto("/d/people")
    tabs = ann.page.locator("nav.tabs a").all_inner_texts()
    assert tabs == ["Ask", "Explore", "Budget", "History", "Approvals"]
    for path in ("/d/people/ledger", "/d/people/releases", "/people", "/new", "/d/people/setup"):
        assert ann.goto(path) == 403
        assert "Only the dataset's owner may do this." in ann.text()


def test_a_question_waits_is_approved_and_answered(visit, tokens):
    rob, owner = visit(tokens["rob"]), visit(tokens["owner"])
    rob.goto(CLOSE)
    assert "Your token does not spend" in rob.text()
    rob.page.get_by_label("Why do you need it?").fill("for the yearly report")
    rob.page.get_by_role("button", name="Ask the owner").click()
    expect(rob.page.locator("article .state")).to_have_text("waiting")
    owner.goto("/d/people/approvals")
    card = owner.page.locator("article", has_text="for the yearly report")
    assert "Harbour" in card.inner_text()
    card.get_by_label("Because").fill("it is public interest")
    card.get_by_role("button", name="Approve").click()
    expect(card.locator(".state")).to_have_text("approved")
    rob.page.reload()
    assert "it is public interest" in rob.text()
    rob.page.get_by_role("link", name="See the answer").click()
    expect(rob.page.locator(".badge")).to_have_text("measured")


def test_a_token_is_shown_once_and_ends_when_the_owner_says_so(visit, tokens):
    owner = visit(tokens["owner"])
    owner.goto("/people")
    owner.page.get_by_label("Name", exact=True).fill("tess")
    owner.page.get_by_role("button", name="Make a token").click()
    text = owner.page.locator(".secret code").inner_text()
    tess = visit(text)
    tess.goto("/d/people")
    owner.goto("/people")
    assert text not in owner.page.content()
    row = owner.page.locator("tr", has_text="tess")
    row.get_by_role("button", name="End").click()
    expect(owner.page.locator("tr", has_text="tess").locator(".t")).to_have_text("ended")
    tess.page.get_by_label("Your question, in SQL").fill(SQL)  # the page is told while somebody types
    expect(tess.page.locator("#ended")).to_be_visible()
    assert tess.goto("/d/people/budget") == 401
    assert "The owner has ended your token" in tess.text()


def test_a_token_that_runs_out_by_time_ends_the_visit_and_says_since_when(visit, server):
    text = server.new_token("brief", expires=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    brief = visit(text)
    brief.goto("/d/people")
    past = (datetime.now(UTC) - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with closing(sqlite3.connect(server.folder / ".hedgerow" / "server.db", timeout=30)) as db, db:
        id = text.split("_")[1]  # time passes: for the token, and for the visit that was to end with it
        moved = db.execute(
            "UPDATE token SET expires = ? WHERE id = ? OR source = ?", (past, id, f"login {id}")
        )
        assert moved.rowcount == 2
    brief.page.get_by_label("Your question, in SQL").fill(SQL)  # the page that is open is told
    expect(brief.page.locator("#ended")).to_be_visible()
    brief.page.get_by_role("link", name="Come in again").click()
    expect(brief.page.get_by_role("heading", level=1)).to_have_text("Your token has run out")
    assert f"{past[11:16]} UTC" in brief.text()
    brief.page.get_by_label("Your token").fill(text)
    brief.page.get_by_role("button", name="Come in").click()
    expect(brief.page.get_by_role("alert")).to_contain_text(f"This token ran out on {past[:10]}")
    brief.page.get_by_label("Your token").fill(server.new_token("brief"))
    brief.page.get_by_role("button", name="Come in").click()
    expect(brief.page.get_by_role("heading", level=1)).to_have_text("Datasets")


def test_limits_are_set_and_shown_to_both(visit, tokens):
    owner, ann = visit(tokens["owner"]), visit(tokens["ann"])
    owner.goto("/people")
    owner.page.locator("#l-name").select_option("ann")
    owner.page.get_by_label("At most ε").fill("1.5")
    owner.page.get_by_role("button", name="Set the limit").click()
    expect(owner.page.locator("table", has_text="ε 1.5")).to_be_visible()
    ann.goto("/d/people/budget")
    assert "left for you, of ε 1.5" in ann.text()


def test_a_release_shows_its_progress_survives_a_reload_and_others_ask_meanwhile(visit, tokens):
    owner, rea = visit(tokens["owner"]), visit(tokens["rea"])
    owner.goto("/d/people/releases")
    owner.page.get_by_label("Spend ε").fill("0.3")
    owner.page.get_by_role("button", name="Spend ε 0.3 and release").click()
    expect(owner.page.locator("progress")).to_be_visible()
    owner.page.reload()
    rea.goto(f"/d/people?sql={SQL}")
    assert rea.page.locator("table.bars tbody tr").count() == 2
    report = owner.page.get_by_role("link", name="report.html")
    expect(report).to_be_visible(timeout=60_000)
    with owner.page.expect_download() as loaded:
        report.click()
    assert loaded.value.suggested_filename == "people-report.html"
    owner.page.get_by_role("link", name="See its report").click()  # drawn here: the file has scripts
    assert "no result becomes more than" in owner.text()
    assert not owner.hindered()
    assert owner.page.locator("table.mini").count() == 4
    assert owner.page.locator("table.heat tbody td").first.inner_text().count("±") == 1
    owner.page.get_by_role("link", name="sex and city").first.click()
    expect(owner.page.get_by_role("heading", name="sex and city")).to_be_visible()
    assert owner.page.locator("table.heat tbody td").count() == 6
    assert owner.page.locator("script:not([src])").count() == 0


def test_the_ledger_is_in_words_verifies_and_freezing_stops_everybody(visit, tokens):
    owner, ann = visit(tokens["owner"]), visit(tokens["ann"])
    owner.goto("/d/people/ledger")
    assert "The owner gave the dataset a budget of epsilon 4" in owner.text()
    owner.page.get_by_role("link", name="Verify").click()
    assert "The chain and all sums agree." in owner.text()
    try:
        owner.page.get_by_label("Because").fill("a look at something odd")
        owner.page.get_by_role("button", name="Freeze people").click()
        expect(owner.page.locator(".top .state")).to_have_text("frozen")
        assert ann.goto(f"/d/people?sql={SQL}") == 409
        assert "frozen" in ann.text().lower()
    finally:
        owner.goto("/d/people/ledger")
        owner.page.get_by_label("Because").fill("all is well")
        owner.page.get_by_role("button", name="Thaw people").click()
    expect(owner.page.locator(".top .state")).to_have_count(0)
    assert ann.goto(f"/d/people?sql={SQL}") == 200


def test_a_file_that_is_sent_is_drafted_for_the_owner_alone(visit, tokens, server, tmp_path):
    owner = visit(tokens["owner"])
    file = write_visits(tmp_path).rename(tmp_path / "Sent Rows.csv")
    owner.goto("/new")
    owner.page.set_input_files("#upload", file)
    owner.page.get_by_role("button", name="Send it to this server").click()
    owner.page.wait_for_url("**/d/sent_rows/setup")
    owner.page.get_by_role("button", name="Read my rows and draft it").click()
    expect(owner.page.locator(".private")).to_contain_text("Private: for your eyes alone", timeout=30_000)
    assert not owner.hindered()
    assert server.get("/v1/datasets", tokens["ann"]).json()["datasets"][0]["name"] == "people"
    owner.goto("/d/sent_rows/setup")  # nothing was kept: the draft is gone
    assert "Old Town" not in owner.text()
    plain = visit(tokens["owner"], java_script_enabled=False)
    plain.goto("/d/sent_rows/setup")
    plain.page.get_by_role("button", name="Read my rows and draft it").click()
    assert_changes_by_clicking(plain.page)


def assert_changes_by_clicking(page):
    """A draft is changed by clicking: kinds, levels, edges, what was left out; no script is there to help."""
    column = {name: page.locator(f'section.column[aria-label="{name}"]') for name in ("who", "age", "city")}
    expect(column["city"].get_by_role("note")).to_contain_text("Private preview")
    column["city"].get_by_role("checkbox", name="Old Town").uncheck()
    column["city"].get_by_label("more levels").fill("Westhills")
    assert column["age"].locator(".as-edges").is_visible()
    column["age"].get_by_label("even bins by").fill("25")
    column["age"].get_by_label("even bins to").fill("100")
    column["who"].get_by_role("radio", name="levels").check()
    column["who"].get_by_label("its levels").fill("P00001")
    page.locator('section.column[aria-label="sex"]').get_by_role("radio", name="left out").check()
    assert not page.locator('section.column[aria-label="sex"] .as-levels').is_visible()
    page.get_by_role("button", name="Confirm: this becomes public").click()
    page.get_by_text("The schema that you confirmed").click()
    told = page.locator("ul.columns").inner_text()
    for words in ("city Fenland, Harbour, Westhills", "age 0, 25, 50, 75, 100", "who P00001"):
        assert words in told
    assert "sex" not in told


def test_a_page_that_is_open_while_the_server_restarts_says_so_and_goes_on(browser, tmp_path):
    write_visits(tmp_path, rows=300)
    options = ("people.csv", "--epsilon", "2", "--learn", "1", "--wire-port", "off")
    server = RunningServer(tmp_path, options).start()
    owner = Visit(browser, server.url)
    try:
        owner.enter(server.token)
        owner.goto("/d/people")
        server.stop()
        owner.page.get_by_label("Your question, in SQL").fill(SQL)
        expect(owner.page.locator("#offline")).to_be_visible()
        server.port = int(server.url.rsplit(":", 1)[1])
        server.start()
        expect(owner.page.locator("#offline")).to_be_hidden(timeout=30_000)
        expect(owner.page.locator("#price")).to_contain_text("Free.")
        owner.page.get_by_role("button", name="Ask", exact=True).click()
        expect(owner.page.locator("table.bars tbody tr")).to_have_count(2)
    finally:
        owner.context.close()
        server.stop()
