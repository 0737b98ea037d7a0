"""Statements about statements: tools wrap what people typed, as SELECT * FROM (SELECT ...) x LIMIT 9."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_CUTS = ("limit", "offset")
_MORE = ("where", "group", "having", "order", "distinct", "windows", "qualify", "with_", "with")


def inner(tree: exp.Select) -> exp.Select | None:
    """The statement in brackets that another is about, where there is one and it names its columns."""
    source = tree.args.get("from_") or tree.args.get("from")
    held = source.this if source is not None and not tree.args.get("joins") else None
    found = held.this if isinstance(held, exp.Subquery) else None
    if not isinstance(found, exp.Select) or any(column.is_star for column in found.selects):
        return None
    return found


def spell_out(tree: exp.Select, name: Callable[[exp.Expr], str]) -> None:
    """Put the columns of the inner statement in the place of a star.

    Args:
        tree: the statement, which is changed.
        name: what a column is called that was given no name.
    """
    about = inner(tree)
    if about is None or not any(column.is_star for column in tree.selects):
        return
    named = [
        column if column.alias or isinstance(column, exp.Column) else exp.alias_(column.copy(), name(column))
        for column in about.selects
    ]
    about.set("expressions", named)
    labels = [c.alias_or_name for c in named]
    columns = [
        exp.column(exp.to_identifier(label, quoted=True)) if column.is_star else column
        for column in tree.selects
        for label in (labels if column.is_star else [""])
    ]
    tree.set("expressions", columns)


def peeled(tree: exp.Query, name: Callable[[exp.Expr], str]) -> exp.Query:
    """The statement in brackets, where the one around it only puts its columns in order and cuts off rows.

    Args:
        tree: the statement, which is left as it is.
        name: what a column is called that was given no name.
    """
    within = inner(tree) if isinstance(tree, exp.Select) else None
    if within is None or any(tree.args.get(part) for part in _MORE) or _cuts_twice(tree, within):
        return tree
    made = within.copy()
    ordinals(made)
    known = {name(column): column.unalias() for column in made.selects}
    wanted = [n for c in tree.selects for n in (known if c.is_star else [name(c)])]
    plain = all(
        c.is_star or (isinstance(c.unalias(), exp.Column) and c.unalias().name == name(c))
        for c in tree.selects
    )
    if not plain or len(known) < len(made.selects) or sorted(wanted) != sorted(known):
        return tree
    made.set("expressions", [exp.alias_(known[n], n, quoted=True) for n in wanted])
    for part in _CUTS:
        if tree.args.get(part) is not None:
            made.set(part, tree.args[part].copy())
    return made


def pruned(tree: exp.Query, is_part: Callable[[exp.Expr], bool]) -> exp.Query:
    """The statement without those columns of an inner one that ask for errors and that it does not use.

    Args:
        tree: the statement, which is left as it is.
        is_part: whether a column asks for an error or a source.
    """
    made = tree.copy()
    within = inner(made) if isinstance(made, exp.Select) else None
    if within is None or any(column.is_star for column in made.selects):
        return tree
    below = {id(node) for node in within.walk()}
    used = {node.name for node in made.find_all(exp.Column) if id(node) not in below}
    kept = [c for c in within.selects if not is_part(c.unalias()) or (c.alias or c.unalias().name) in used]
    within.set("expressions", kept)
    return made


def _cuts_twice(tree: exp.Query, within: exp.Select) -> bool:
    return any(tree.args.get(a) and within.args.get(b) for a in _CUTS for b in _CUTS)


def ordinals(tree: exp.Select) -> None:
    """GROUP BY 1 becomes GROUP BY that column, before columns move."""
    selects = list(tree.selects)
    for clause in ("group", "order"):
        for node in list(tree.args[clause].expressions) if tree.args.get(clause) else []:
            held = node.this if isinstance(node, exp.Ordered) else node
            if isinstance(held, exp.Literal) and held.is_int and 0 < int(held.name) <= len(selects):
                held.replace(selects[int(held.name) - 1].unalias().copy())


def meant(tree: exp.Query, column: exp.Expr) -> exp.Expr:
    """What a column stands for, where a statement within this one worked it out.

    Args:
        tree: the statement.
        column: one of its columns, without its alias.
    """
    if not isinstance(tree, exp.Select) or not isinstance(column, exp.Column):
        return column
    source = tree.args.get("from_") or tree.args.get("from")
    held = source.this if source is not None else None
    about = held.this if isinstance(held, exp.Subquery) else None
    if isinstance(held, exp.Table):
        parts = {cte.alias.lower(): cte.this for cte in tree.ctes}
        about = parts.get(held.name.lower())
    if not isinstance(about, exp.Select):
        return column
    for made in about.selects:
        if made.alias_or_name == column.name:
            return meant(about, made.unalias())
    return column
