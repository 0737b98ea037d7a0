"""Curves of the reproductions: points kept as numbers, drawn on log-log paper, described by their slopes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, floor, log, log10
from pathlib import Path

from pictures import BERRY, INK, LEAF, SOFT, Frame, line, svg, text

FOLDER = Path(__file__).parents[1] / "docs" / "pictures" / "curves"
PAGE = FOLDER.parents[1] / "reproductions.md"


@dataclass(frozen=True)
class Series:
    """One line: what it is, its points, and whether it is a proof's promise or was measured."""

    name: str
    ys: list[float]
    promise: bool = False

    def slope(self, xs: Sequence[float]) -> float:
        """The least-squares slope of log y against log x."""
        a, b = [log(x) for x in xs], [log(y) for y in self.ys]
        at, to = sum(a) / len(a), sum(b) / len(b)
        return sum((x - at) * (y - to) for x, y in zip(a, b, strict=True)) / sum((x - at) ** 2 for x in a)


@dataclass(frozen=True)
class Curve:
    """Error against one quantity, everything else held."""

    name: str
    across: str
    up: str
    setting: str
    xs: list[float]
    series: list[Series] = field(default_factory=list)

    def of(self, measured: Mapping[str, list[float]], promised: Mapping[str, list[float]]) -> Curve:
        """The curve with its lines: what was measured, then what proofs promise for it."""
        lines = [Series(name, ys) for name, ys in measured.items()]
        return replace(self, series=lines + [Series(name, ys, True) for name, ys in promised.items()])

    def save(self) -> None:
        """The points, for whoever wants to draw them again."""
        (FOLDER / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, name: str) -> Curve:
        """A curve that was saved."""
        kept = json.loads((FOLDER / f"{name}.json").read_text())
        return cls(**{**kept, "series": [Series(**s) for s in kept["series"]]})

    def table(self) -> str:
        """What the page says below the picture."""
        escaped = self.across.replace("|", r"\|")
        lines = [
            f"| | {escaped} = {_short(self.xs[0])} | {_short(self.xs[-1])} | slope |",
            "| --- | --- | --- | --- |",
        ]
        for s in self.series:
            lines.append(f"| {s.name} | {s.ys[0]:.3g} | {s.ys[-1]:.3g} | {s.slope(self.xs):.2f} |")
        return "\n".join([f"![{self.up} against {self.across}](pictures/curves/{self.name}.svg)", "", *lines])

    def draw(self) -> str:
        """The picture: promises dashed, measured points with marks."""
        ys = [y for s in self.series for y in s.ys]
        low, high = floor(log10(min(ys)) * 2) / 2, ceil(log10(max(ys)) * 2) / 2
        left, right = log10(self.xs[0]), log10(self.xs[-1])
        frame = Frame(lambda x: (log10(x) - left) / (right - left), lambda y: (log10(y) - low) / (high - low))
        marks = [10**e for e in range(ceil(low), floor(high) + 1)]
        if len(marks) < 3:
            tens = range(floor(low), ceil(high) + 1)
            marks = [m * 10**e for e in tens for m in (1, 2, 5) if low <= log10(m * 10**e) <= high]
        steps = max(1, round(len(self.xs) / 6))
        parts = frame.axes(
            [(x, _short(x)) for x in self.xs[::steps]], [(y, f"{y:g}") for y in marks], self.across, self.up
        )
        for i, s in enumerate(self.series):
            colour = (LEAF, BERRY, "#b07d1a", "#38618c", SOFT)[i % 5]
            points = [frame.at(x, y) for x, y in zip(self.xs, s.ys, strict=True)]
            drawn = line(points, colour, 2 if s.promise else 2.5)
            parts.append(drawn.replace("/>", ' stroke-dasharray="6 4"/>') if s.promise else drawn)
            if not s.promise:
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
            key = 356 + 20 * i
            parts.append(line([(70, key), (104, key)], colour, 2.5))
            if s.promise:
                parts[-1] = parts[-1].replace("/>", ' stroke-dasharray="6 4"/>')
            parts.append(text(112, key + 4, f"{s.name} (slope {s.slope(self.xs):.2f})", fill=INK))
        return svg(
            660, 370 + 20 * len(self.series), f"{self.up} against {self.across}: {self.setting}", parts
        )


def _short(x: float) -> str:
    """A number of an axis: 1,000 as 1,000 and a million as 10^6."""
    if x < 10_000:
        return f"{x:,.4g}"
    power = log10(x)
    if abs(power - round(power)) < 1e-9:
        return f"10^{round(power)}"
    return f"{x / 10 ** floor(power):.2g}·10^{floor(power)}"


def write(names: Sequence[str]) -> None:
    """Pictures of curves that were saved, and their tables into the page."""
    page = PAGE.read_text()
    for name in names:
        curve = Curve.load(name)
        (FOLDER / f"{name}.svg").write_text(curve.draw())
        opened, closed = f"<!-- curve: {name} -->\n", "<!-- end of curve -->"
        if opened in page:
            before, rest = page.split(opened, 1)
            page = before + opened + curve.table() + "\n" + closed + rest.split(closed, 1)[1]
    PAGE.write_text(page)
