"""Pictures of every page and state of the console, for people to look at: `make screens` writes out/screens/.

A made-up population is served twice, once ready and once to be set up; each page is taken wide, narrow and
dark, and some as they are printed. A page that is wider than its window, or says something to the browser's
console, is told. `make screens ONLY=budget` takes the pages that are ready and called so.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from hedgerow.release.population import Population  # noqa: E402
from services.browser import Visit, chromium  # noqa: E402
from services.patience import eventually  # noqa: E402
from services.server import RunningServer  # noqa: E402

OUT = ROOT / "out" / "screens"
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 860}},
    "phone": {"viewport": {"width": 360, "height": 740}},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "paper": {"viewport": {"width": 700, "height": 990}, "color_scheme": "dark"},
}
ONLY = os.environ.get("ONLY", "")
PRINTED = (
    "answer-number",
    "answer-bars",
    "answer-heat",
    "answer-line",
    "answer-table",
    "explore",
    "budget",
    "report",
    "ledger",
)
ASK = "/d/people?sql="
READY = {
    "home": "/",
    "ask": "/d/people",
    "answer-number": f"{ASK}SELECT COUNT(*) AS n, AVG(age) AS age FROM people WHERE sex = 'female'",
    "answer-bars": f"{ASK}SELECT region, COUNT(*) AS n FROM people GROUP BY region",
    "answer-heat": f"{ASK}SELECT age, work, COUNT(*) AS n FROM people GROUP BY age, work",
    "answer-line": f"{ASK}SELECT moved_in, COUNT(*) AS n FROM people GROUP BY moved_in",
    "answer-table": f"{ASK}SELECT sex, region, work, COUNT(*) AS n FROM people GROUP BY sex, region, work",
    "refused-word": f"{ASK}SELECT COUNT(*) AS n FROM people WHERE agee >= 30",
    "refused-cut": f"{ASK}SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 33 AND 57",
    "costs": f"{ASK}SELECT COUNT(*) AS n FROM people WHERE age >= 30&within=150",
    "costs-too-much": f"{ASK}SELECT COUNT(*) AS n FROM people WHERE age >= 30&within=3",
    "explore": "/d/people/explore",
    "explore-filtered": "/d/people/explore?f=sex:0&f=age:3",
    "budget": "/d/people/budget",
    "history": "/d/people/history",
    "approvals": "/d/people/approvals",
    "releases": "/d/people/releases",
    "ledger": "/d/people/ledger?verify=1",
    "people": "/people",
    "new": "/new",
    "nothing-here": "/d/nowhere",
}


class Album:
    """Takes pictures of one look."""

    def __init__(self, look: str) -> None:
        self.look = look
        OUT.mkdir(parents=True, exist_ok=True)

    def take(self, visit: Visit, name: str) -> None:
        """One picture of the whole page."""
        if self.look == "paper":
            visit.page.emulate_media(media="print")
        visit.page.wait_for_load_state("load")
        visit.page.wait_for_timeout(700)  # what scripts add
        over = visit.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            sys.stdout.write(f"{name} ({self.look}) is {over} wider than its window\n")
        visit.page.screenshot(path=OUT / f"{name}.{self.look}.png", full_page=True)


def printed(browser: Any, server: RunningServer, tokens: dict[str, str], album: Album) -> None:
    """Some pages as they come out of a printer, for somebody whose screen is dark."""
    owner = Visit(browser, server.url, **LOOKS["paper"]).enter(tokens["owner"])
    for name in PRINTED:
        if ONLY in name:
            owner.goto(READY[name])
            album.take(owner, name)
    owner.context.close()


def ran_out(server: RunningServer, name: str) -> Callable[[Visit], None]:
    """Makes a visit's token one that ran out a while ago."""
    text = server.new_token(name, "analyst", datasets=["people"])

    def passes(visit: Visit) -> None:
        visit.enter(text)
        with closing(sqlite3.connect(server.folder / ".hedgerow" / "server.db", timeout=30)) as db, db:
            id = text.split("_")[1]
            over = ("2026-01-31T12:00:00Z", id, f"login {id}")
            db.execute("UPDATE token SET expires = ? WHERE id = ? OR source = ?", over)

    return passes


def ready(browser: Any, server: RunningServer, tokens: dict[str, str], album: Album) -> None:
    """All pages of a dataset that is served, for its owner and for others."""
    look = LOOKS[album.look]
    if ONLY:
        owner = Visit(browser, server.url, **look).enter(tokens["owner"])
        for name, path in READY.items():
            if ONLY in name:
                owner.goto(path)
                album.take(owner, name)
        owner.context.close()
        return
    late = Visit(browser, server.url, **look)
    ran_out(server, f"late-{album.look}")(late)
    late.goto("/d/people/budget")
    album.take(late, "ran-out")
    late.context.close()
    nobody = Visit(browser, server.url, **look)
    nobody.goto("/login")
    album.take(nobody, "enter")
    nobody.page.fill("#token", "hr_wrong_wrong")
    nobody.page.click("main button")
    album.take(nobody, "enter-refused")
    nobody.goto("/d/people/budget")
    album.take(nobody, "ended")
    rob = Visit(browser, server.url, **look).enter(tokens["rob"])
    rob.goto(READY["costs"])
    album.take(rob, "costs-analyst")
    if "yearly" not in (rob.goto("/d/people/approvals"), rob.text())[1]:
        rob.goto(READY["costs"])
        rob.page.fill("#reason", "the yearly report waits for it")
        rob.page.get_by_role("button", name="Ask the owner").click()
    album.take(rob, "approvals-analyst")
    rob.goto("/people")
    album.take(rob, "not-yours")
    owner = Visit(browser, server.url, **look).enter(tokens["owner"])
    for name, path in READY.items():
        owner.goto(path)
        album.take(owner, name)
    if album.look == "wide":  # as docs/console.png has it
        owner.page.set_viewport_size({"width": 1120, "height": 690})
        owner.goto(READY["answer-bars"])
        owner.page.screenshot(path=OUT / "console.png")
        owner.page.set_viewport_size(look["viewport"])
    owner.goto("/people")
    owner.page.fill("#name", f"sue-{album.look}")
    owner.page.get_by_role("button", name="Make a token").click()
    album.take(owner, "people-token")
    for one in (nobody, rob, owner):
        one.context.close()
        if one.wrong:
            sys.stdout.write(f"{album.look}: {one.wrong}\n")


def first_run(browser: Any, start: Callable[[], RunningServer], album: Album) -> None:
    """Setting up, step by step, and a server that goes away."""
    server = start()
    owner = Visit(browser, server.url, **LOOKS[album.look])
    page = owner.page
    try:
        page.goto(server.event["owner_link"])
        album.take(owner, "home-setup")
        owner.goto("/d/people/setup")
        album.take(owner, "setup-1")
        page.get_by_role("button", name="Read my rows and draft it").click()
        page.wait_for_selector(".column", timeout=60_000)
        album.take(owner, "setup-2-draft")
        page.get_by_label("age: even bins by").fill("wide")
        page.get_by_role("radio", name="left out").first.check()
        page.get_by_role("button", name="Confirm: this becomes public").click()
        page.wait_for_selector(".refusal")
        album.take(owner, "setup-2-refused")
        page.get_by_label("age: even bins by").fill("10")
        page.get_by_role("radio", name="levels").first.check()
        page.get_by_role("button", name="Confirm: this becomes public").click()
        page.wait_for_selector("table.buys")
        album.take(owner, "setup-3-budget")
        page.get_by_label("Each row.").check()
        page.get_by_role("button", name="Make a budget of this size").click()
        album.take(owner, "setup-4-learn")
        owner.goto("/d/people")
        album.take(owner, "unlearned")
        owner.goto("/d/people/setup")
        page.get_by_role("button", name="and learn").click()
        page.wait_for_selector("progress")
        page.screenshot(path=OUT / f"setup-5-learning.{album.look}.png", full_page=True)
        page.wait_for_url("**/d/people", timeout=120_000)
        owner.goto("/d/people/setup")
        album.take(owner, "setup-6-done")
        owner.goto("/d/people/ledger")
        page.get_by_label("Because").fill("a look at something odd")
        page.get_by_role("button", name="Freeze people").click()
        owner.goto(READY["answer-bars"])
        album.take(owner, "frozen")
        owner.goto("/d/people/releases")
    finally:
        server.stop()
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    page.wait_for_selector("#offline:not([hidden])")
    page.screenshot(path=OUT / f"offline.{album.look}.png", full_page=True)
    owner.context.close()


def spend(server: RunningServer) -> None:
    """Two people ask what costs something, and a release is made."""
    server.ask(sql="SELECT COUNT(*) AS n FROM people", within_count=100, spend=True)
    for name, age in (("ann", 40), ("bob", 60)):
        token = server.new_token(name, "analyst", datasets=["people"], may_spend=True)
        sql = f"SELECT COUNT(*) AS n FROM people WHERE age >= {age}"
        server.ask(token, sql=sql, within_count=age, spend=True)
    job = server.post("/v1/datasets/people/jobs", {"kind": "release", "epsilon": 0.5}).json()["id"]
    eventually(lambda: server.get(f"/v1/jobs/{job}").json()["state"] == "done", 300)
    READY["report"] = f"/d/people/releases/{job}"


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder)
        (place / "ready").mkdir()
        people = Population(8000)
        people.write(place / "ready" / "people.csv")
        people.domain().save(place / "ready" / "schema.yaml")
        options = ("people.csv", "--epsilon", "3", "--learn", "1", "--wire-port", "off")
        server = RunningServer(place / "ready", options).start(learned=False)
        eventually(lambda: server.state() == "ready", 300)
        tokens = {"owner": server.token, "rob": server.new_token("rob", "analyst", datasets=["people"])}
        spend(server)
        try:
            for look in LOOKS:
                (printed if look == "paper" else ready)(browser, server, tokens, Album(look))
        finally:
            server.stop()
        if ONLY:
            return

        def start(look: str) -> RunningServer:
            there = place / look
            there.mkdir()
            people.write(there / "people.csv")
            return RunningServer(there, ("people.csv", "--wire-port", "off")).start(learned=False)

        for look in ("wide", "phone", "dark"):
            first_run(browser, partial(start, look), Album(look))
    sys.stdout.write(f"{len(list(OUT.glob('*.png')))} pictures are in {OUT}\n")


if __name__ == "__main__":
    main()
