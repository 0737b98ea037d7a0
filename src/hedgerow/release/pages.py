"""What is written into files from the cards: the page on which mechanism to use, the front door's stub."""

from __future__ import annotations

import re
from collections.abc import Callable

from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.mechanisms.card import Card
from hedgerow.release.python_page import python_page

_BLOCK = re.compile(r"(<!-- cards: (\w+) -->\n).*?(<!-- end of cards -->)", re.S)


def choosing_page(text: str) -> str:
    """`docs/choosing.md` with its tables of mechanisms as the cards are now."""
    return _BLOCK.sub(lambda m: f"{m[1]}{table(m[2])}{m[3]}", text)


def table(kind: str) -> str:
    """The mechanisms of a kind, as Markdown."""
    some = [card for card in map(cards.own, HOMES) if card.kind == kind]
    by_name = any(card.command for card in some)
    heads = ["mechanism", "what it is", "when", *(["`--mechanism`"] if by_name else [])]
    rows = [[_linked(c), c.words, c.when, *([f"`{c.command}`"] if by_name else [])] for c in some]
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _linked(card: Card) -> str:
    return f"[`{card.name}`]({card.page})" if card.page else f"`{card.name}`"


def stub(text: str) -> str:
    """`__init__.pyi` with the mechanisms of the cards."""
    others = [line for line in text.splitlines() if not line.startswith("from hedgerow.mechanisms.")]
    found = sorted((card.home, card.name) for card in map(cards.own, HOMES))
    lines = [f"from {home} import {name} as {name}" for home, name in found]
    place = next(i for i, line in enumerate(others) if line > lines[0] and line.startswith("from hedgerow."))
    return "\n".join([*others[:place], *lines, *others[place:]]) + "\n"


FILES: dict[str, Callable[[str], str]] = {
    "docs/choosing.md": choosing_page,
    "docs/python.md": python_page,
    "src/hedgerow/__init__.pyi": stub,
}
"""Files that are written, wholly or in part, from cards and docstrings, and how."""
