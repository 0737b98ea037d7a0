"""Rewriting: looking for statements inside a syntax tree, and copies of it with other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp


def has_query(node: Any) -> bool:
    """Whether a SELECT has another one inside, elsewhere than in FROM."""
    parts = [value for key, value in node.args.items() if key not in ("from_", "joins", "with_")]
    flat = [
        n for part in parts for n in (part if isinstance(part, list) else [part]) if isinstance(n, exp.Expr)
    ]
    return any(isinstance(n, exp.Query) for part in flat for n in part.walk())


def rewritten(node: Any, replaced: Callable[[Any], Any]) -> Any:
    """A copy in which some nodes are replaced; what replaces one is not looked into again."""
    new = replaced(node)
    if new is not node:
        return new
    args: dict[str, Any] = {}
    for key, value in node.args.items():
        if isinstance(value, list):
            args[key] = [rewritten(v, replaced) if isinstance(v, exp.Expr) else v for v in value]
        else:
            args[key] = rewritten(value, replaced) if isinstance(value, exp.Expr) else value
    return type(node)(**args)
