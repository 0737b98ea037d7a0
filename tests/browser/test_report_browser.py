"""The report in a real browser: every chart is drawn, nothing is fetched, nothing fails."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

import hedgerow as hr
import services
from hedgerow.release.population import UNIT, Population
from hedgerow.release.report.report import Report
from hedgerow.serve.cli.demo import ask_all
from services.browser import chromium

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
]

pytestmark = pytest.mark.xdist_group("browser")


def browse(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A fresh browser that opens one page and leaves."""
    browser = services.program("chromium", "chromium-browser", "google-chrome", package="chromium")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    people = Population(3000)
    table = hr.Table.open(people.columns, people.domain(), unit=UNIT, max_rows=2)
    # Which pairs are shown, and so how many bars there are, depends on the noise: always the same one.
    curator = hr.Curator(table, hr.Budget(epsilon=1, delta=1e-9), ":memory:", entropy=hr.testing.seeded(1))
    synopsis = hr.GaussianBaseline().release(curator, hr.marginals(people.domain(), 2))
    path = tmp_path_factory.mktemp("report") / "report.html"
    Report(synopsis, "people", ask_all(synopsis, people)).write(path)
    return path


@pytest.fixture(scope="module")
def drawn(report, tmp_path_factory) -> tuple[str, str]:
    """The page's elements after its script ran, and what the browser said meanwhile."""
    profile = tmp_path_factory.mktemp("profile")
    done = browse(
        report, profile, "--enable-logging=stderr", "--v=0", "--dump-dom", "--window-size=1280,1000"
    )
    return done.stdout, done.stderr


def test_every_chart_is_drawn(drawn):
    dom, _ = drawn
    assert 'data-charts="15"' in dom  # ten attributes, the overview, the chosen pair, three examples
    assert dom.count("<svg") >= 15
    text = re.sub(r"<script.*?</script>", "", dom, flags=re.S)
    for label in ("Mill Valley", "postgraduate", "10,000–20,000", "self-employed", "earlier"):
        assert f">{label}</text>" in text
    assert len(re.findall(r'aria-roledescription="bar"', text)) >= 195
    assert len(re.findall(r'aria-roledescription="rule mark"', text)) >= 195  # the error bars


def test_the_strongest_pair_is_shown_first_and_all_can_be_chosen(drawn):
    dom, _ = drawn
    assert len(re.findall(r"<option ", dom)) == 45


def test_the_page_breaks_nothing_and_asks_for_nothing(drawn):
    _, said = drawn
    console = [line for line in said.splitlines() if "CONSOLE" in line]
    assert not console, console


def test_the_page_is_wide_enough_for_a_phone_and_a_screen(report, tmp_path):
    for width in (500, 1280):
        picture = tmp_path / f"{width}.png"
        browse(report, tmp_path / f"p{width}", f"--window-size={width},1600", f"--screenshot={picture}")
        data = picture.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (width, 1600)
        assert len(data) > 30_000  # a blank page is far smaller


def test_no_chart_is_cut_off_or_left_out_on_paper(report):
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 690, "height": 1000})
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-charts]")
        page.emulate_media(media="print")
        sides = page.evaluate("""() => [...document.querySelectorAll(".chart svg")].map((drawn) => {
            const box = drawn.getBoundingClientRect(); return [box.left, box.right]; })""")
    assert len(sides) == 15
    assert all(0 <= left < right <= 690 for left, right in sides)
