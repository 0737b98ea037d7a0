"""`python -m benchmarks [name ..]`: run benchmarks and write their rows into docs/benchmarks.md.

`python -m benchmarks --page` runs none, and puts the page together again from what it says.
"""

from __future__ import annotations

import importlib
import pkgutil
import platform
import re
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import benchmarks

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench` (one section: `python -m benchmarks counting`). Ratios are taken within one run, on the
machine of the run, which may be shared; absolute numbers only say what kind of machine that was. A line that
does not reach its bar stays here, marked. A section's day is that on which its lines were written down.
"""
MARKS = {True: "ok", False: "**not reached**"}
FOLD = "<details markdown>\n<summary>Lines, bars, how it was run</summary>\n"
HEADS = ("| benchmark |", "| --- |")
COUNTS = "| section | what is measured | reached | not | day |\n| --- | --- | --- | --- | --- |\n"
MISSED = "## Bars that are not reached\n"
MISSES = "| benchmark | ours | peer | ratio | bar |\n| --- | --- | --- | --- | --- |\n"
TABLE = "| benchmark | ours | peer | ratio | bar | |\n| --- | --- | --- | --- | --- | --- |\n"


def modules() -> list[str]:
    """All benchmarks, in order of name."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cells = [_short(row.get(k)) for k in ("name", "ours", "peer", "ratio", "bar")]
    mark = MARKS.get(row.get("passed"), "")
    return f"| {' | '.join(cells)} | {mark} |"


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def section(name: str) -> str:
    """One benchmark's part of the page, run now."""
    module = importlib.import_module(f"benchmarks.{name}")
    said = (module.__doc__ or "").strip().split("\n\n")[0]
    rows = []
    for row in module.run():
        rows.append(line(row))
        sys.stdout.write(rows[-1] + "\n")
        sys.stdout.flush()
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    when = f"{date.today():%d %B %Y}".lstrip("0")
    return f"## {name}\n\n{said}\n\n{TABLE}" + "\n".join(rows) + f"\n\nRun on {machine}, {when}.\n"


def page(sections: dict[str, str]) -> str:
    """All sections, each folded; before them how many of their lines reach their bars, and which do not."""
    counts, missed, reached = [], [], 0
    for name in sorted(sections):
        lines = _whole(
            x for x in sections[name].splitlines() if x.startswith("| ") and not x.startswith(HEADS)
        )
        good = sum(x.endswith("| ok |") for x in lines)
        bad = [x.removesuffix(f" {MARKS[False]} |") for x in lines if x.endswith(f"| {MARKS[False]} |")]
        said = " ".join(sections[name].split("\n", 1)[1].split("\n| ")[0].split())
        first = re.split(r"(?<=[.;:])\s", said, maxsplit=1)[0].rstrip(";:.").replace("|", "\\|")
        when = re.findall(r"^Run on .*?(\d+ \w+ \d{4})", sections[name], re.M)[-1:]
        counts.append(f"| [{name}](#{name}) | {first} | {good} | {len(bad) or ''} | {''.join(when)} |")
        reached += good
        if bad:
            missed.append((name, bad))
    folded = []
    for name in sorted(sections):
        title, body = sections[name].split("\n", 1)
        folded.append(f"{title}\n\n{FOLD}\n{body.strip()}\n\n</details>\n")
    lines = reached + sum(len(bad) for _, bad in missed)
    summary = f"**{reached} of {lines} bars are reached.**\n\n{COUNTS}" + "\n".join(counts) + "\n"
    return "\n".join([HEAD, summary, MISSED, *(_misses(*one) for one in missed), *folded])


def _misses(name: str, bad: list[str]) -> str:
    """What one section does not reach, folded."""
    title = f"<details markdown>\n<summary>{name}: {len(bad)}</summary>\n"
    return f"{title}\nIn [{name}](#{name}).\n\n{MISSES}" + "\n".join(bad) + "\n\n</details>\n"


def _whole(lines: Iterable[str]) -> list[str]:
    """Lines that go on with the subject of the one before, with that subject."""
    found, subject = [], ""
    for one in lines:
        if one.startswith("| ... "):
            found.append(f"| {subject}: {one[6:]}")
        else:
            subject = re.split(r": | \||, eps|, pairs|, triples", one[2:], maxsplit=1)[0]
            found.append(one)
    return found


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all, and put their sections into the page."""
    text = PAGE.read_text() if PAGE.exists() else HEAD
    text = re.sub(r"^</?details.*\n|^<summary>.*\n", "", text, flags=re.M)
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    sections = {name: f"## {name}\n\n{body.strip()}\n" for name, body in parts.items() if name in modules()}
    if names == ["--page"]:
        PAGE.write_text(page(sections))
        return 0
    for name in names or modules():
        sections[name] = section(name)
        PAGE.write_text(page(sections))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
