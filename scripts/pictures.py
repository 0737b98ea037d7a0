"""The pictures of the documentation that are drawn, not photographed: `python scripts/pictures.py`.

Plain SVG on a paper of its own, so that they are legible on light and dark pages and in print.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import exp, log10
from pathlib import Path

import hedgerow as hr
from hedgerow.privacy.budget import Budget

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
INK, SOFT, LEAF, BERRY, RULE, PAPER, TINT = (
    "#26312b", "#5a655f", "#3f7355", "#8c2f4a", "#e4e1d8", "#fdfcf9", "#e3ebe2",
)  # fmt: skip
NARROW = "<style>@media (max-width: 460px) { text { font-size: 19px } }</style>"  # on a phone
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A picture with a title for screen readers."""
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="{FONT}" font-size="13"><title>{escape(title)}</title>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>\n{inside}\n</svg>\n'
    )


def text(x: float, y: float, words: str, *, fill: str = INK, anchor: str = "start", size: int = 13) -> str:
    """A line of words."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(words)}</text>"
    )


def line(points: Sequence[tuple[float, float]], colour: str, width: float = 2.5) -> str:
    """A curve through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


class Frame:
    """Axes: where a value lies in the picture.

    Args:
        across, up: value to a part of the frame, 0 to 1.
    """

    left, top, width, height = 70, 44, 560, 250

    def __init__(self, across: Callable[[float], float], up: Callable[[float], float]) -> None:
        self.across, self.up = across, up

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        return self.left + self.across(x) * self.width, self.top + (1 - self.up(y)) * self.height

    def axes(
        self, xs: Sequence[tuple[float, str]], ys: Sequence[tuple[float, str]], below: str, beside: str
    ) -> list[str]:
        """Rules, marks and what the axes are."""
        parts = [NARROW]
        for y, words in ys:
            _, here = self.at(xs[0][0], y)
            parts.append(line([(self.left, here), (self.left + self.width, here)], RULE, 1))
            parts.append(text(self.left - 8, here + 4, words, fill=SOFT, anchor="end"))
        bottom = self.top + self.height
        for x, words in xs:
            there, _ = self.at(x, ys[0][0])
            edge = x == xs[-1][0] and len(words) > 5  # a long one would be cut off at the paper's edge
            at, anchor = (there + 26, "end") if edge else (there, "middle")
            parts.append(text(at, bottom + 22, words, fill=SOFT, anchor=anchor))
        parts.append(text(self.left + self.width / 2, bottom + 42, below, anchor="middle"))
        parts.append(text(12, 22, beside))
        return parts


def odds() -> str:
    """How sure somebody can become at most."""
    frame = Frame(lambda e: e / 10, lambda p: p)
    parts = frame.axes(
        [(e, str(e)) for e in range(0, 11, 2)],
        [(p / 4, f"{25 * p}%") for p in range(5)],
        "epsilon",
        "how sure one can be afterwards, at most",
    )
    grid = [i / 20 for i in range(201)]
    for before, colour, words, place in (
        (0.5, LEAF, "from 50% before", (1.55, 0.66)),
        (0.01, BERRY, "from 1% before", (4.95, 0.38)),
    ):
        ratio = before / (1 - before)
        parts.append(line([frame.at(e, (s := ratio * exp(e)) / (1 + s)) for e in grid], colour))
        parts.append(text(*frame.at(*place), words, fill=colour))
    return svg(660, 346, "How sure somebody can become about one person, against epsilon", parts)


def error() -> str:
    """The error of a count at 95%, for the whole of a budget."""
    epsilons = [10 ** (i / 20 - 1) for i in range(41)]
    off = [_off(e) for e in epsilons]
    frame = Frame(lambda e: (log10(e) + 1) / 2, lambda v: log10(v) / 2.2)
    parts = frame.axes(
        [(e, f"{e:g}") for e in (0.1, 0.3, 1, 3, 10)],
        [(v, f"± {v}") for v in (1, 3, 10, 30, 100)],
        "epsilon (delta 1e-9)",
        "error of one count, 95%",
    )
    parts.append(line([frame.at(e, v) for e, v in zip(epsilons, off, strict=True)], LEAF))
    for e in (0.1, 1.0, 10.0):
        x, y = frame.at(e, _off(e))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{LEAF}"/>')
        last = e > 5  # no room to its right
        words = f"1,000 ± {_off(e):.0f}"
        parts.append(
            text(x if last else x + 8, y - (30 if last else 8), words, anchor="end" if last else "start")
        )
    return svg(660, 346, "The error of one count against epsilon", parts)


def _off(epsilon: float) -> float:
    """Two standard deviations of the discrete Gaussian that a whole budget buys for one count."""
    rho = float(Budget(epsilon=epsilon, delta=1e-9).rho)
    return 1.96 * (1 / (2 * rho)) ** 0.5


def box(x: float, y: float, width: float, lines: Sequence[str], fill: str = TINT) -> str:
    """Words in a box; the first line is its name."""
    height = 16 + 18 * len(lines)
    words = [
        text(x + width / 2, y + 22 + 18 * i, w, anchor="middle", fill=INK if i == 0 else SOFT)
        for i, w in enumerate(lines)
    ]
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}"/>' + "".join(words)


def arrow(x: float, y: float, to_x: float, to_y: float, words: str = "") -> str:
    """An arrow, with a word on it."""
    down = to_x == x
    head = (
        f"{to_x - 5},{to_y - 8} {to_x + 5},{to_y - 8} {to_x},{to_y}"
        if down
        else f"{to_x - 8},{to_y - 5} {to_x - 8},{to_y + 5} {to_x},{to_y}"
    )
    said = ""
    if words:
        place = (x + 8, (y + to_y) / 2 + 4) if down else ((x + to_x) / 2, y - 6)
        said = text(*place, words, fill=SOFT, anchor="start" if down else "middle")
    return line([(x, y), (to_x, to_y)], SOFT, 1.3) + f'<polygon points="{head}" fill="{SOFT}"/>' + said


def rooms() -> str:
    """The rooms of the house, and where rows are."""
    names = (
        ("queries", "what is asked"),
        ("privacy", "events, ledger"),
        ("curator", "rows, noise"),
        ("learning", "hypotheses"),
        ("mechanisms", "select, measure, fit"),
        ("release", "plan, report"),
        ("service", "datasets, asking"),
        ("serve", "commands, HTTP, wire"),
    )
    parts = []
    for i, (name, words) in enumerate(names):
        x, y = 24 + (i % 4) * 210, 30 + (i // 4) * 120
        parts.append(box(x, y, 176, [name, words], "#f9ecef" if name == "curator" else TINT))
        if i % 4 < 3:
            parts.append(arrow(x + 178, y + 26, x + 208, y + 26))
    parts.append(text(532, 102, "the only room that rows enter", fill=BERRY, anchor="middle", size=12))
    parts.append(text(24, 142, "what a room uses lies before it, never after", fill=SOFT, size=12))
    return svg(864, 230, "The rooms of Hedgerow, in the order in which they may use each other", parts)


def choice() -> str:
    """Which mechanism, by questions."""
    steps = (
        ("Questions come one by one?", "Session", "(the papers': OnlineMW, SparseMW)"),
        ("Totals every day, as rows arrive?", "RunningTotals", "one price for a horizon"),
        ("A label to predict?", "BoostedClassifier", "scikit-learn, private"),
        ("Names without end (words, codes)?", "SparseProject", "sparse questions"),
        ("Ranges and prefixes?", "Factorization", "exact errors"),
        ("One to a few tables?", "GaussianBaseline", "LaplaceBaseline for pure epsilon"),
    )
    parts = []
    for i, (question, name, words) in enumerate(steps):
        y = 20 + 78 * i
        parts.append(box(24, y, 300, [question], PAPER).replace("<rect", f'<rect stroke="{LEAF}"', 1))
        parts.append(arrow(326, y + 17, 416, y + 17, "yes"))
        parts.append(box(420, y - 9, 290, [name, words]))
        parts.append(arrow(174, y + 36, 174, y + 78, "no"))
    y = 20 + 78 * len(steps)
    parts.append(box(24, y, 300, ["AdaptiveRelease", "tables of many columns: the default"]))
    parts.append(text(420, y + 22, "Not sure? 'hedgerow plan' compares all of them", fill=SOFT))
    parts.append(text(420, y + 40, "on your schema, before anything is spent.", fill=SOFT))
    return svg(780, y + 76, "How to choose a mechanism, question by question", parts)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    pictures = {"epsilon-odds": odds, "epsilon-error": error, "rooms": rooms, "choosing": choice}
    for name, draw in pictures.items():
        (FOLDER / f"{name}.svg").write_text(draw())
    sys.stdout.write(f"{len(pictures)} pictures by Hedgerow {hr.__version__} in {FOLDER}\n")
