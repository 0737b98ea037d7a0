"""Rewriting: looking for statements inside a syntax tree, and saying the same with other nodes."""

from __future__ import annotations

from collections.abc import Callable, Container
from itertools import combinations
from typing import Any

from sqlglot import exp

from hedgerow.errors import RangeTooLarge
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.printing import printed

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_MOST_SETS = 32


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


def unaliased(tree: Any, own: Container[str]) -> Any:
    """A SELECT in which names of its list stand for what they name, as DuckDB has it: columns go before.

    Args:
        tree: the SELECT.
        own: the names of columns, casefolded.
    """
    known: dict[str, exp.Expr] = {}

    def replaced(part: Any) -> Any:
        if isinstance(part, exp.Query):
            return part.copy()
        if type(part) is exp.Column and part.args.get("table") is None:
            name = part.name.casefold()
            if name in known and name not in own:
                return exp.Paren(this=known[name].copy())
        return part

    made, listed = tree.copy(), []
    for item in tree.expressions:
        new = rewritten(item, replaced)
        listed.append(new)
        if type(new) is exp.Alias:
            known[new.args["alias"].name.casefold()] = new.this
    made.set("expressions", listed)
    for clause in ("where", "having", "qualify"):
        if tree.args.get(clause) is not None:
            made.set(clause, rewritten(tree.args[clause], replaced))
    return made


def as_union(node: Any) -> Any:
    """A SELECT by ROLLUP, CUBE or GROUPING SETS as the UNION ALL that it is; None if it has none of them."""
    group = node.args.get("group")
    if group is None or not any(type(part) in _SETS for part in group.expressions):
        return None
    sets: list[tuple[Any, ...]] = [()]
    for part in group.expressions:
        each = _sets_of(part) if type(part) in _SETS else [(part,)]
        sets = [(*done, *more) for done in sets for more in each]
    if len(sets) > _MOST_SETS:
        raise RangeTooLarge(f"GROUP BY makes {len(sets)} sets of columns, more than {_MOST_SETS}")
    every = {printed(n).casefold() for one in sets for n in one}
    both, *others = [_grouped_by(node, one, every) for one in sets]
    for other in others:
        both = exp.Union(this=both, expression=other, distinct=False)
    for clause in ("order", "limit", "offset"):
        both.set(clause, node.args.get(clause))
    return both


def _sets_of(part: Any) -> list[tuple[Any, ...]]:
    items = [tuple(e.expressions) if type(e) is exp.Tuple else (bare(e),) for e in part.expressions]
    if type(part) is exp.GroupingSets:
        return items
    if type(part) is exp.Rollup:
        return [tuple(n for one in items[:k] for n in one) for k in range(len(items), -1, -1)]
    chosen = [c for k in range(len(items), -1, -1) for c in combinations(items, k)]
    return [tuple(n for one in some for n in one) for some in chosen]


def _grouped_by(node: Any, keys: tuple[Any, ...], every: set[str]) -> Any:
    """The SELECT with these keys; others of the union's are NULL."""
    mine = {printed(n).casefold() for n in keys}

    def replaced(part: Any) -> Any:
        words = printed(part).casefold() if type(part) is not exp.Select else ""
        return exp.Null() if words in every - mine else part

    made = node.copy()
    listed = []
    for entry in node.expressions:
        alias = type(entry) is exp.Alias
        name = entry.args["alias"].name if alias else entry.name if type(entry) is exp.Column else ""
        new = rewritten(entry.this if alias else entry, replaced)
        listed.append(exp.Alias(this=new, alias=exp.to_identifier(name, quoted=True)) if name else new)
    made.set("expressions", listed)
    made.set("group", exp.Group(expressions=[k.copy() for k in keys]) if keys else None)
    for clause in ("order", "limit", "offset"):
        made.set(clause, None)
    return made


def without_tuples(tree: Any) -> Any:
    """The same with (a, b) IN ((1, 2), ...) as comparisons of a and b."""

    def replaced(part: Any) -> Any:
        if type(part) is not exp.In or type(part.this) is not exp.Tuple or part.args.get("query") is not None:
            return part
        left = part.this.expressions
        if not part.expressions or any(
            type(e) is not exp.Tuple or len(e.expressions) != len(left) for e in part.expressions
        ):
            return part
        rows = [exp.paren(exp.and_(*map(_equal, left, e.expressions))) for e in part.expressions]
        return exp.paren(exp.or_(*rows)) if len(rows) > 1 else rows[0]

    return rewritten(tree, replaced)


def _equal(a: Any, b: Any) -> Any:
    return exp.EQ(this=a.copy(), expression=b.copy())
