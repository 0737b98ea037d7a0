"""All sentences that Hedgerow refuses with, to be read aloud: `python scripts/messages.py`.

Each line: where a sentence stands, as which error it is raised, the sentence, and the hint that goes with it
as `[...]`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src" / "hedgerow"


@dataclass(frozen=True)
class Message:
    """One place where an error is raised.

    Args:
        place: file and line.
        error: the class that is raised, or the function that makes it.
        text: the sentence as it is written, what is filled in as {...}; empty if it comes from elsewhere.
        hint: what to do, likewise.
    """

    place: str
    error: str
    text: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.place} {self.error}: {self.text}" + (f" [{self.hint}]" if self.hint else "")


def messages(root: Path = ROOT) -> Iterator[Message]:
    """Every `raise` of a class with a sentence, in the order of files and lines."""
    for path in sorted(root.rglob("*.py")):
        found = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Raise))
        for node in sorted(found, key=lambda n: n.lineno):
            if isinstance(node.exc, ast.Call):
                said = [_text(a) for a in node.exc.args]
                hints = [_text(k.value) for k in node.exc.keywords if k.arg == "hint"]
                place = f"{path.relative_to(root)}:{node.lineno}"
                yield Message(place, ast.unparse(node.exc.func), " ".join(filter(None, said)), *hints[:1])


def _text(node: ast.expr) -> str:
    """What is written in a text, with {...} for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(p) if isinstance(p, ast.Constant) else "{...}" for p in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return ""


if __name__ == "__main__":
    for message in messages():
        sys.stdout.write(f"{message}\n")
