"""From `pip install` to a plotted GROUP BY: two commands, and then a browser."""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import pytest

from services.browser import Visit
from services.installing import installed
from services.server import RunningServer
from services.visits import write_visits

pytestmark = pytest.mark.xdist_group("browser")
expect = pytest.importorskip("playwright.sync_api", reason="pip install playwright").expect


def test_from_pip_install_to_a_plotted_group_by_in_two_commands(browser, tmp_path, capsys, record_property):
    """The first command installs, the second serves, the rest is clicked; how long each took is told.

    The whole of it has the time that one test may take in `make test`: two minutes.
    """
    write_visits(tmp_path)
    (tmp_path / "schema.yaml").unlink()
    times = [time.monotonic()]
    program = installed(tmp_path)
    times.append(time.monotonic())
    server = RunningServer(tmp_path, ("people.csv", "--wire-port", "off"), program=program)
    server.start(learned=False)
    times.append(time.monotonic())
    owner = Visit(browser, server.url)
    try:
        clicks_to_a_picture(owner, server)
        owner.close()
    finally:
        server.stop()
    times.append(time.monotonic())
    parts = [after - before for before, after in pairwise(times)]
    told = "installed in {:.0f} s, served {:.0f} s later, plotted {:.0f} s later".format(*parts)
    record_property("first run", told)
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\n")


def clicks_to_a_picture(owner, server):
    """What somebody does who has never heard of epsilon: the link, the draft, the budget, a question."""
    page = owner.page
    page.goto(server.event["owner_link"])
    page.get_by_role("link", name="people", exact=True).click()
    page.get_by_role("button", name="Read my rows and draft it").click()
    expect(page.locator(".column")).to_have_count(5, timeout=60_000)
    assert "it has 3,000 different values" in page.locator('.column[aria-label="who"]').inner_text()
    page.get_by_role("checkbox", name="Fenland").uncheck()
    page.get_by_role("button", name="Confirm: this becomes public").click()
    expect(page.locator("table.buys")).to_contain_text("1,000 ±")
    page.get_by_label("Each row.").check()
    page.get_by_role("button", name="Make a budget of this size, for good").click()
    assert server.get("/v1/datasets/people/budget").json()["used"] == 0
    page.get_by_role("button", name="Spend ε 1 and learn").click()
    page.wait_for_url("**/d/people", timeout=90_000)
    page.get_by_label("Group 1").select_option("city")
    sql = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
    expect(page.get_by_label("Your question, in SQL")).to_have_value(sql)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("table.bars tbody th")).to_have_text(["Harbour", "Old Town", "other"])
    assert page.locator("table.bars line.w").count() == 3
    assert "link=" not in page.url
