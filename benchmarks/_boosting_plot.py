"""A line chart as SVG text: a share against epsilon, or another number, one line per method."""

from __future__ import annotations

from math import log10
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 330, 60, 40, 210, 45
COLOURS = ("#1f6f43", "#c0392b", "#8e6bbf", "#c98b1b", "#555555")
Series = dict[str, dict[float, float]]


def chart(
    title: str,
    lines: Series,
    low: float,
    high: float,
    flat: tuple[str, float] | None = None,
    axis: str = "epsilon",
) -> str:
    """The chart; `flat` is a named level without epsilon, and what is below `low` is drawn there."""
    epsilons = sorted({e for line in lines.values() for e in line})
    left, right = log10(epsilons[0]), log10(epsilons[-1])
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(epsilon: float, value: float) -> tuple[float, float]:
        x = LEFT + across * (log10(epsilon) - left) / (right - left)
        return x, TOP + down * (high - max(value, low)) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f'<title>{title}</title>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="14">{title}</text>',
    ]
    for i in range(6):
        value = low + (high - low) * i / 5
        y = place(epsilons[0], value)[1]
        out.append(f'<line x1="{LEFT}" x2="{LEFT + across}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for epsilon in epsilons:
        x = place(epsilon, low)[0]
        out.append(f'<text x="{x:.1f}" y="{TOP + down + 18}" text-anchor="middle">{epsilon:g}</text>')
    out.append(f'<text x="{LEFT + across / 2}" y="{HEIGHT - 8}" text-anchor="middle">{axis}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour, points = COLOURS[number % len(COLOURS)], [place(e, line[e]) for e in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        out.append(
            f'<text x="{LEFT + across + 14}" y="{TOP + 14 + 20 * number}" fill="{colour}">{name}</text>'
        )
    if flat:
        y = place(epsilons[0], flat[1])[1]
        dash = 'stroke="#111111" stroke-dasharray="5 4"'
        out.append(f'<line x1="{LEFT}" x2="{LEFT + across}" y1="{y:.1f}" y2="{y:.1f}" {dash}/>')
        out.append(
            f'<text x="{LEFT + across + 14}" y="{TOP + 14 + 20 * len(lines)}">{flat[0]} (dashed)</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def write(path: Path, text: str) -> None:
    """Put a chart into a file."""
    path.write_text(text)
