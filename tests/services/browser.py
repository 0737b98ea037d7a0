"""A real browser for tests: the system's chromium, driven over a pipe; it talks to this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import services

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; a visible skip where there is none."""
    path = services.program("chromium", "chromium-browser", "google-chrome", package="chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    playwright.expect.set_options(timeout=30_000)  # however busy the machine is
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A person with a browser of their own: what they see, and whatever goes wrong on their pages."""

    def __init__(self, browser: Any, url: str, **look: Any) -> None:
        self.url = url
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.context = browser.new_context(**look)
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, message: Any) -> None:
        """The browser says of every status from 400 on that it is one; that is no fault of a page."""
        if message.type in ("error", "warning") and "the server responded with a status" not in message.text:
            self.wrong.append(message.text)

    def enter(self, token: str) -> Visit:
        """Come in with a token."""
        self.page.goto(f"{self.url}/login")
        self.page.get_by_label("Your token").fill(token)
        self.page.get_by_role("button", name="Come in").click()
        self.page.wait_for_url(f"{self.url}/")
        return self

    def goto(self, path: str) -> int:
        """Go to a page; its status."""
        return int(self.page.goto(self.url + path).status)

    def text(self) -> str:
        """What the page says."""
        return str(self.page.inner_text("main"))

    def hindered(self) -> list[tuple[str, str]]:
        """What axe calls serious on this page: its rule, and the first place."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
        )
        found = axe.Axe().run(self.page).response["violations"]
        return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]

    def close(self) -> None:
        """Leave; no page may have failed, broken its policy, or asked anybody else."""
        self.context.close()
        assert not self.wrong, self.wrong
        assert all(url.startswith(self.url) for url in self.asked)
