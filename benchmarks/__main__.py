"""`python -m benchmarks [name ..]`: run benchmarks and write docs/benchmarks.md."""

from __future__ import annotations

import importlib
import pkgutil
import platform
import sys
from pathlib import Path
from typing import Any

import benchmarks

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench`. Ratios are taken within one run, on the machine of the run; absolute numbers only say what kind of
machine that was. A line that does not reach its bar stays here, marked.

| benchmark | ours | peer | ratio | bar | |
| --- | --- | --- | --- | --- | --- |
"""


def modules() -> list[str]:
    """All benchmarks, in order of name."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cells = [_short(row.get(k, "")) for k in ("name", "ours", "peer", "ratio", "bar")]
    mark = {True: "ok", False: "**not reached**"}.get(row.get("passed"), "")
    return f"| {' | '.join(cells)} | {mark} |"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(names: list[str]) -> int:
    """Run, show, and write the page when everything was run."""
    rows = []
    for name in names or modules():
        for row in importlib.import_module(f"benchmarks.{name}").run():
            rows.append(line(row))
            sys.stdout.write(rows[-1] + "\n")
            sys.stdout.flush()
    if not names:
        machine = f"\n{platform.machine()}, Python {platform.python_version()}, {platform.system()}.\n"
        PAGE.write_text(HEAD + "\n".join(rows) + "\n" + machine)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
