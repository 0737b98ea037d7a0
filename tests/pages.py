"""Pages of the documentation, and the examples in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """All blocks of one language in a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)
