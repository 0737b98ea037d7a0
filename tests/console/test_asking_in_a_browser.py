"""Asking in a real browser: by SQL, by clicking, by keyboard, without scripts; prices, refusals, pictures."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from services.visits import SQL

pytestmark = pytest.mark.xdist_group("browser")
expect = pytest.importorskip("playwright.sync_api", reason="pip install playwright").expect
PHONE = {"viewport": {"width": 360, "height": 740}}
PAGES = (
    "/",
    "/d/people",
    "/d/people/explore",
    "/d/people/budget",
    "/d/people/history",
    "/d/people/approvals",
)
OWNERS = ("/d/people/releases", "/d/people/ledger?verify=1", "/people", "/new")
HEAT = "/d/people?sql=SELECT sex, city, COUNT(*) AS n FROM people GROUP BY sex, city"


def test_sql_becomes_bars_with_whiskers_and_a_badge(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto("/d/people")
    ann.page.get_by_label("Your question, in SQL").fill(SQL)
    ann.page.get_by_role("button", name="Ask", exact=True).click()
    expect(ann.page.locator(".badge")).to_have_text("learned")
    rows = ann.page.locator("table.bars tbody tr")
    assert rows.count() == 2
    assert re.search(r"F\s+[\d.,]+\s+± [\d.,]+", rows.nth(0).inner_text())
    assert ann.page.locator("table.bars line.w").count() == 2
    link = ann.page.get_by_role("link", name="Link to this question").get_attribute("href")
    ann.goto(link)
    assert rows.count() == 2


def test_choices_become_sql_and_sql_becomes_choices(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto("/d/people")
    sql = ann.page.get_by_label("Your question, in SQL")
    ann.page.get_by_label("Group 1").select_option("city")
    expect(sql).to_have_value("SELECT city, COUNT(*) AS n FROM people GROUP BY city")
    ann.page.get_by_label("Filter 1: column").select_option("age")
    ann.page.get_by_label("Filter 1: comparison").select_option(">=")
    ann.page.get_by_label("Filter 1: value").fill("30")
    expect(sql).to_have_value("SELECT city, COUNT(*) AS n FROM people WHERE age >= 30 GROUP BY city")
    ann.page.get_by_role("button", name="Ask", exact=True).click()
    expect(ann.page.locator("table.bars tbody tr")).to_have_count(3)
    sql = ann.page.get_by_label("Your question, in SQL")
    sql.fill("SELECT sex, AVG(age) AS n FROM people WHERE city = 'Fenland' GROUP BY sex")
    expect(ann.page.get_by_label("What to show")).to_have_value("avg")
    expect(ann.page.get_by_label("Group 1")).to_have_value("sex")
    expect(ann.page.get_by_label("Filter 1: value")).to_have_value("Fenland")


def test_the_price_and_the_error_are_there_before_asking(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto("/d/people")
    expect(ann.page.locator("#price")).to_contain_text(re.compile(r"Free\..*About ± \d", re.S))
    ann.page.get_by_label("No further off than ±").fill("77")
    expect(ann.page.locator("#price")).to_contain_text(re.compile(r"Costs up to ε 0\.\d+.*About ± 77", re.S))


def test_a_question_is_kept_by_a_name_for_whoever_keeps_it(visit, tokens):
    ann, rob = visit(tokens["ann"]), visit(tokens["rob"])
    ann.goto(f"/d/people?sql={SQL}")
    ann.page.get_by_label("Keep it as").fill("Women & <men>")
    ann.page.get_by_role("button", name="Keep", exact=True).click()
    ann.page.get_by_role("link", name="Women & <men>", exact=True).click()
    expect(ann.page.locator("table.bars tbody tr")).to_have_count(2)
    rob.goto("/d/people")
    assert "Women" not in rob.text()
    ann.page.get_by_role("button", name="Keep Women & <men> no more").click()
    expect(ann.page.get_by_role("link", name="Women & <men>", exact=True)).to_have_count(0)


def test_two_groups_are_a_heat_map_and_dates_a_line(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto(HEAT)
    assert ann.page.locator("table.heat tbody td").count() == 6
    assert "±" in ann.page.locator("table.heat tbody td").nth(0).get_attribute("title")
    ann.page.get_by_text("Table with errors").click()
    assert ann.page.locator("table.rows tbody tr").count() == 6
    ann.goto("/d/people?sql=SELECT seen, COUNT(*) AS n FROM people GROUP BY seen")
    assert ann.page.locator("svg.line.broad circle").count() == 4
    assert ann.page.locator("svg.line.broad path.band").count() == 1


def test_an_error_is_under_the_word_and_a_refusal_offers_the_nearest_question(visit, tokens):
    ann = visit(tokens["ann"])
    assert ann.goto("/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE aeg >= 30") == 422
    assert ann.page.locator("mark").inner_text() == "aeg"
    ann.page.get_by_role("link", name="age", exact=True).click()
    expect(ann.page.locator(".facts b")).to_be_visible()
    assert ann.goto("/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE age >= 33") == 422
    ann.page.get_by_role("link", name="age >= 30", exact=True).click()
    expect(ann.page.locator(".facts b")).to_be_visible()
    assert ann.goto("/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 33 AND 57") == 422
    ann.page.get_by_role("link", name="age >= 30 AND age < 60", exact=True).click()
    expect(ann.page.locator(".facts b")).to_be_visible()


def test_answers_are_taken_away_as_files(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto(f"/d/people?sql={SQL}")
    starts = {"CSV": b'"sex","n"', "PARQUET": b"PAR1", "SVG": b"<svg", "PNG": b"\x89PNG"}
    for name, start in starts.items():
        with ann.page.expect_download() as loaded:
            ann.page.get_by_role("link", name=name).click()
        with open(loaded.value.path(), "rb") as file:
            assert file.read(len(start)) == start
    ann.asked = [url for url in ann.asked if "answer" not in url]


def test_spending_is_said_before_falls_from_the_budget_and_moves_the_burn_down(visit, tokens, server):
    ann = visit(tokens["ann"])
    before = server.get("/v1/datasets/people/budget?series=1").json()
    ann.goto("/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE sex = 'F'&within=60")
    ann.page.get_by_role("button", name="Spend up to").click()
    expect(ann.page.locator(".badge")).to_have_text("measured")
    after = server.get("/v1/datasets/people/budget?series=1").json()
    assert after["used"] > before["used"]
    assert len(after["series"]) > len(before["series"])
    ann.goto("/d/people/budget")
    assert f"{100 * after['used']:.3g}% is spent" in ann.text()
    expect(ann.page.locator("svg.line.broad path.l")).to_be_visible()
    ann.page.reload()
    assert server.get("/v1/datasets/people/budget").json()["used"] == after["used"]


def test_the_keyboard_alone_is_enough(visit, tokens):
    ann = visit(tokens["ann"])
    ann.goto("/d/people")
    sql = ann.page.get_by_label("Your question, in SQL")
    for _ in range(40):
        ann.page.keyboard.press("Tab")
        if sql.evaluate("field => field === document.activeElement"):
            break
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("SELECT ci", delay=20)
    expect(ann.page.locator("#complete")).to_be_visible()
    ann.page.keyboard.press("Tab")
    expect(sql).to_have_value("SELECT city")
    ann.page.keyboard.type(", COUNT(*) AS n FROM people GROUP BY city")
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("Control+Enter")
    expect(ann.page.locator("table.bars tbody tr")).to_have_count(3)


def test_without_scripts_answers_still_come(visit, tokens):
    ann = visit(tokens["ann"], java_script_enabled=False)
    ann.goto("/d/people")
    ann.page.fill("#sql", SQL)
    ann.page.click("#go")
    assert ann.page.locator("table.bars tbody tr").count() == 2
    ann.page.select_option("select[name=by] >> nth=0", "city")
    ann.page.get_by_role("button", name="Ask this").click()
    assert ann.page.locator("table.bars tbody tr").count() == 3
    ann.goto("/d/people?sql=SELECT COUNT(*) AS n FROM people WHERE sex = 'M'&within=70")
    ann.page.get_by_role("button", name="Spend up to").click()
    assert ann.page.locator(".badge").inner_text() == "measured"


def test_exploring_filters_by_a_click_and_leads_to_a_pair(visit, tokens):
    rea = visit(tokens["rea"])
    rea.goto("/d/people/explore")
    assert rea.page.locator("table.mini").count() == 4
    rea.page.get_by_role("link", name="Fenland").click()
    assert "Only rows with" in rea.text()
    assert rea.page.locator("table.mini").count() == 3
    rea.page.get_by_role("link", name="Take away city: Fenland").click()
    rea.page.get_by_role("link", name="sex and city").first.click()
    assert rea.page.locator("table.heat").count() == 1


@pytest.mark.parametrize("look", [PHONE, {"color_scheme": "dark"}], ids=["phone", "dark"])
def test_every_page_fits_a_phone_and_is_dark_in_the_dark(visit, tokens, look):
    owner = visit(tokens["owner"], **look)
    for path in (*PAGES, *OWNERS, HEAT):
        assert owner.goto(path) == 200
        assert owner.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        paper = owner.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        dark = sum(map(int, re.findall(r"\d+", paper)[:3])) < 200
        assert dark == ("color_scheme" in look)


def test_a_screen_reader_finds_its_way_on_every_page(visit, tokens):
    """By the tree that readers get: one main heading, no level left out, landmarks and tables with names."""
    owner = visit(tokens["owner"])
    line = "/d/people?sql=SELECT seen, COUNT(*) AS n FROM people GROUP BY seen"
    for path in (*PAGES, *OWNERS, HEAT, f"/d/people?sql={SQL}", line, "/d/people/setup", "/d/nothing"):
        owner.goto(path)
        tree = owner.page.locator("body").aria_snapshot()
        levels = [int(level) for level in re.findall(r"- heading .*\[level=(\d)\]", tree)]
        assert levels.count(1) == 1, path
        assert levels[0] == 1, path
        assert all(after <= before + 1 for before, after in pairwise(levels)), (path, levels)
        for role in ("banner", "main", "contentinfo"):
            assert len(re.findall(rf"^- {role}", tree, re.M)) == 1, (path, role)
        unnamed = re.findall(
            r"- (?:table|region|navigation|img|button|textbox|combobox|checkbox|link)(?::|$)", tree, re.M
        )
        assert not unnamed, (path, unnamed)
        names = re.findall(r"- region \"(.*?)\"", tree)
        assert len(names) == len(set(names)), (path, names)
    assert owner.page.locator("#offline[role=alert], #ended[role=alert]").count() == 2
    owner.goto("/d/people")
    assert owner.page.locator("#price[aria-live=polite]").count() == 1
    assert owner.page.locator("nav [aria-current=page]").inner_text() == "Ask"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(visit, tokens, scheme):
    owner = visit(tokens["owner"], color_scheme=scheme)
    more = (
        "/d/people?sql=SELECT COUNT(*) FROM t WHERE aeg = 1",
        f"/d/people?sql={SQL}",
        "/d/nothing",
        "/d/people/setup",
    )
    for path in (*PAGES, *OWNERS, HEAT, *more):
        owner.goto(path)
        assert not owner.hindered(), path
