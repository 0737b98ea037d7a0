"""Findings: what an audit claims to have found, as a row, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal

from hedgerow.release.writing import whole

_WIDTH, _LEFT, _ROW = 760, 300, 26


@dataclass(frozen=True)
class Finding:
    """The outcome of one audit.

    Args:
        name: what was audited.
        claimed: the epsilon it claims.
        found: the epsilon it certainly has (statistical), truly has (exact), or should have paid (ledger).
        refuted: whether `found` is above the claim.
        delta: the delta of the claim.
        method: how it was found.
        evidence: the event or the mismatch, in words.
        samples: how many outputs were drawn from each data set.
        seconds: how long it took.
        ratio: the plain estimate behind the bound, for people.
        reach: the largest epsilon that so many outputs could have refuted, had all of them been telling.
    """

    name: str
    claimed: float
    found: float
    refuted: bool
    delta: float = 0.0
    method: Literal["statistical", "sequential", "exact", "ledger", "replay"] = "statistical"
    evidence: str = ""
    samples: int = 0
    seconds: float = 0.0
    ratio: float = 0.0
    reach: float = inf

    @property
    def blind(self) -> bool:
        """Whether there were too few outputs to refute anything: not refuted, and it could not have been."""
        return not self.refuted and self.reach <= self.claimed

    def to_json(self) -> dict[str, Any]:
        """A row of plain data."""
        return {
            "name": self.name,
            "claimed": self.claimed,
            "found": _plain(self.found),
            "refuted": self.refuted,
            "delta": self.delta,
            "method": self.method,
            "evidence": self.evidence,
            "samples": self.samples,
            "seconds": round(self.seconds, 3),
            "could_refute": not self.blind,
        }

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        if self.blind:
            verdict = (
                f"could not have refuted it: {self.samples} outputs show epsilon {self.reach:.2f} at most"
            )
        claim = f"epsilon {self.claimed:g}" + (f", delta {self.delta:g}" if self.delta else "")
        return f"{self.name}: claims {claim}; found epsilon >= {self.found:.3f}; {verdict}. {self.evidence}"

    def plot(self, path: str | Path) -> None:
        """Write the picture of this one finding."""
        plot([self], path)


def table(findings: Sequence[Finding]) -> str:
    """Findings as a table for a terminal."""
    width = max([4, *(len(f.name) for f in findings)])
    head = f"{'claimed':>8}  {'delta':>7}  {'found':>7}  {'method':<11}  {'outputs':>7}"
    lines = [f"{'name':<{width}}  {head}  verdict"]
    for f in findings:
        verdict = "REFUTED" if f.refuted else "too few outputs to refute" if f.blind else "ok"
        numbers = f"{f.claimed:>8.4g}  {f.delta:>7.2g}  {_found(f):>7}"
        lines.append(f"{f.name:<{width}}  {numbers}  {f.method:<11}  {f.samples or '':>7}  {verdict}")
    return "\n".join(lines)


def _found(f: Finding) -> str:
    """Three decimals; what is smaller in as many digits as its claim, lest rounding put it above."""
    return f"{f.found:.4g}" if 0 < f.found < 0.1 else f"{f.found:.3f}"


def plot(findings: Sequence[Finding], path: str | Path) -> None:
    """Write claimed and found epsilon, one line each, as an SVG picture."""
    with whole(Path(path)) as draft:
        draft.write_text(svg(findings), encoding="utf-8")


def svg(findings: Sequence[Finding]) -> str:
    """The picture: a bar up to what was found, a tick at the claim; refuted bars pass their tick."""
    shown = [(f, min(max(f.found, 0.0), 1e3)) for f in findings]
    top = max([1e-9, *(f.claimed for f in findings), *(x for _, x in shown)]) * 1.1
    height = _ROW * len(findings) + 70
    room = _WIDTH - _LEFT - 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" role="img">',
        "<title>Claimed and found epsilon</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="22" font-size="14">Found epsilon (bar) against the claim (tick)</text>',
    ]
    for i, (f, found) in enumerate(shown):
        y = 40 + i * _ROW
        colour = "#c0392b" if f.refuted else "#2e7d5b"
        tick = _LEFT + room * f.claimed / top
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(f.name[:46])}</text>',
            f'<rect x="{_LEFT}" y="{y + 2}" width="{max(1.0, room * found / top):.1f}" height="14" '
            f'fill="{colour}"/>',
            f'<line x1="{tick:.1f}" x2="{tick:.1f}" y1="{y - 2}" y2="{y + 20}" stroke="#111111" '
            'stroke-width="2"/>',
            f'<text x="{_LEFT + room * max(found, f.claimed) / top + 6:.1f}" y="{y + 13}" fill="{colour}">'
            f"{f.found:.2f}{' refuted' if f.refuted else ''}</text>",
        ]
    parts.append(_axis(top, room, height))
    return "\n".join([*parts, "</svg>", ""])


def _axis(top: float, room: float, height: int) -> str:
    y = height - 26
    marks = [top * k / 4 / 1.1 for k in range(5)]
    labels = "".join(
        f'<text x="{_LEFT + room * m / top:.1f}" y="{y + 16}" text-anchor="middle">{m:.2g}</text>'
        for m in marks
    )
    return f'<line x1="{_LEFT}" x2="{_LEFT + room}" y1="{y}" y2="{y}" stroke="#999999"/>{labels}'


def _plain(x: float) -> float | None:
    return round(x, 6) if isfinite(x) else (None if x != inf else 1e9)
