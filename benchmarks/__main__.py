"""`python -m benchmarks [name ..]`: run benchmarks and write their rows into docs/benchmarks.md."""

from __future__ import annotations

import importlib
import pkgutil
import platform
import re
import sys
from pathlib import Path
from typing import Any

import benchmarks

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench` (one section: `python -m benchmarks counting`). Ratios are taken within one run, on the
machine of the run, which may be shared; absolute numbers only say what kind of machine that was. A line that
does not reach its bar stays here, marked.
"""
TABLE = "| benchmark | ours | peer | ratio | bar | |\n| --- | --- | --- | --- | --- | --- |\n"


def modules() -> list[str]:
    """All benchmarks, in order of name."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cells = [_short(row.get(k)) for k in ("name", "ours", "peer", "ratio", "bar")]
    mark = {True: "ok", False: "**not reached**"}.get(row.get("passed"), "")
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
    return f"## {name}\n\n{said}\n\n{TABLE}" + "\n".join(rows) + f"\n\nRun on {machine}.\n"


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all, and put their sections into the page."""
    text = PAGE.read_text() if PAGE.exists() else HEAD
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    sections = {name: f"## {name}\n{body.rstrip()}\n" for name, body in parts.items() if name in modules()}
    for name in names or modules():
        sections[name] = section(name)
        PAGE.write_text(HEAD + "\n" + "\n".join(sections[n] for n in sorted(sections)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
