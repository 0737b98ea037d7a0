"""Selects: what a SELECT of rows and one of released tables share, and both printed for the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.node import only, refuse
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.relation import LOST, THERE, Released, Sources, listed
from hedgerow.queries.sql.stages.term import Term, made
from hedgerow.queries.sql.stages.windows import AGGREGATES, Ordering, ReleasedExpressions

Subquery = Callable[[exp.Expr], Released]
_MOST = 10**9


def is_aggregate(node: Any) -> bool:
    """Whether a node is a call of an aggregate."""
    return type(node) in (exp.Filter, exp.WithinGroup) or (
        isinstance(node, exp.AggFunc) and not isinstance(node, exp.Window)
    )


def has_aggregate(node: Any) -> bool:
    """Whether an expression has an aggregate of its own: not in a subquery, nor of a window."""
    if isinstance(node, exp.Query):
        return False
    if type(node) is exp.Window:
        inner = node.this.this if type(node.this) is exp.Filter else node.this
        parts = [*inner.iter_expressions(), *(c for c in node.iter_expressions() if c is not node.this)]
        return any(has_aggregate(p) for p in parts)
    return is_aggregate(node) or any(has_aggregate(c) for c in node.iter_expressions())


def named(node: Any) -> tuple[exp.Expr, str, bool]:
    """An entry of the SELECT list, its name, and whether that is an alias."""
    if type(node) is exp.Alias:
        only(node, "this", "alias")
        return node.this, node.args["alias"].name, True
    return node, node.name if type(node) is exp.Column else title(node), False


def title(node: Any) -> str:
    """The name of an output column without an alias: its SQL."""
    return printed(node)[:200]


def whole(node: Any, clause: str, least: int) -> int:
    """The whole number of LIMIT or OFFSET."""
    number = node.expression
    if type(number) is exp.Literal and not number.args.get("is_string") and number.this.isdecimal():
        value = min(int(number.this[:12]), _MOST)
        if value >= least:
            return value
    raise UnsupportedSQL(f"{clause} needs a whole number of at least {least}")


class Select(ReleasedExpressions):
    """A SELECT that is printed for the engine.

    Args:
        tree: the parser's node.
        subquery: reads a SELECT inside it.
    """

    def __init__(self, tree: exp.Expr, subquery: Subquery) -> None:
        super().__init__()
        self.tree, self.subquery = tree, subquery
        for window in tree.args.get("windows") or ():
            self.windows[window.name.casefold()] = window
        self.items: list[tuple[exp.Expr, str, bool]] = []
        self.apart = False  # whether no two rows are alike
        self.held = False  # whether what is selected from depends on which rows are there

    def other(self, node: Any) -> Term:
        """Windows and subqueries."""
        if type(node) is exp.Window:
            return self.window(node)
        if isinstance(node, exp.Query):
            return self._scalar(node)
        if type(node) is exp.Exists:
            raise UnsupportedSQL("EXISTS is not supported; compare counts instead")
        refuse(node, "here")

    def _scalar(self, node: Any) -> Term:
        """A subquery as one value."""
        relation = self.subquery(node)
        self.merged = self.merged or relation.merged
        if len(relation.columns) != 1 or not relation.single:
            raise UnsupportedSQL(
                "a subquery that stands for one value has one column and one row: aggregate it"
            )
        out = relation.columns[0]
        texts = [f"(SELECT {c} FROM ({relation.text}) AS q)" for c in ("c0", "c0_low", "c0_high")]
        if not relation.steady or not (out.sure or out.bounded):
            return Term(texts[0], sure=False)
        if out.sure:
            return Term(texts[0])
        return Term(texts[0], texts[1], texts[2], sure=False, smooth=out.smooth)

    def _in(self, node: Any) -> Term:
        query = node.args.get("query")
        if query is None:
            return super()._in(node)
        only(node, "this", "query")
        relation, left = self.subquery(query), self.term(node.this)
        if len(relation.columns) != 1:
            raise UnsupportedSQL("a subquery after IN has one column")
        text = f"({left.text} IN (SELECT c0 FROM ({relation.text}) AS q))"
        steady = relation.steady and relation.columns[0].sure
        return made(text, [left]) if steady else Term(text, sure=False)

    def entry(self, node: Any) -> Term:
        """An entry of the list, and whether it depends on which of the rows are there."""
        before, self.merged = self.merged, self.held
        term = self.term(node)
        mine, self.merged = self.merged, self.merged or before
        return replace(term, merged=mine)

    def item_of(self, node: Any) -> int | None:
        """Which entry of the SELECT list an entry of GROUP BY or ORDER BY names, by position or alias."""
        if type(node) is exp.Literal and not node.args.get("is_string"):
            if node.this.isdecimal() and 1 <= int(node.this[:9]) <= len(self.items):
                return int(node.this[:9]) - 1
            raise UnsupportedSQL(f"{node.this[:40]!r} is no position in the SELECT list")
        if type(node) is exp.Column and node.args.get("table") is None:
            for i, (_, name, alias) in enumerate(self.items):
                if alias and name.casefold() == node.name.casefold():
                    return i
        return None

    def ordered(self, terms: Sequence[tuple[str, Term]]) -> list[Ordering]:
        """ORDER BY of the whole SELECT; an entry of its list goes by our own name for it."""
        order = self.tree.args.get("order")
        if order is None:
            return []
        only(order, "expressions")
        out: list[Ordering] = []
        for node in order.expressions:
            if type(node) is not exp.Ordered:
                refuse(node, "in ORDER BY")
            flags = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
            if type(node.this) is exp.Var and node.this.name.upper() == "ALL":
                every = (Term(f"c{i}", sure=t.sure) for i, (_, t) in enumerate(terms))
                out += [Ordering(one, *flags) for one in every]
                continue
            place = self.item_of(node.this)
            if place is None:
                out += self.orderings([node])
                continue
            out.append(Ordering(Term(f"c{place}", sure=terms[place][1].sure), *flags))
        return out

    def finished(
        self, terms: Sequence[tuple[str, Term]], source: str, *, single: bool, steady: bool
    ) -> Released:
        """The printed SELECT: list, source, QUALIFY, ORDER BY, LIMIT.

        Args:
            terms: the list, by name.
            source: FROM and what follows it, printed.
            single: whether there is one row at most.
            steady: whether the rows are the same with the true numbers.
        """
        distinct = self.tree.args.get("distinct")
        if distinct is not None:
            only(distinct)
            if not all(
                t.sure for _, t in terms
            ):  # equal numbers with unequal bounds are one row, without a statement
                terms, steady = [(n, Term(t.text, sure=t.sure)) for n, t in terms], False
        qualify = self.tree.args.get("qualify")
        if qualify is not None:
            condition = self.term(qualify.this)
            source, steady = f"{source} QUALIFY {condition.text}", steady and condition.sure
        orderings = self.ordered(terms)
        if orderings:
            source += f" ORDER BY {', '.join(o.text for o in orderings)}"
        limit, offset = self.tree.args.get("limit"), self.tree.args.get("offset")
        most = None if limit is None else whole(limit, "LIMIT", 0)
        if limit is not None or offset is not None:
            steady = steady and all(o.term.sure for o in orderings)
            source += f" LIMIT {most}" if most is not None else ""
            source += f" OFFSET {whole(offset, 'OFFSET', 0)}" if offset is not None else ""
        what, columns = listed(terms)
        there = LOST if self.there and distinct is not None and not self.apart else self.there
        if there not in ("", LOST):
            what, there = f"{what}, {there} AS {THERE}", THERE
        text = f"SELECT {'DISTINCT ' if distinct is not None else ''}{what}{source}"
        return Released(text, columns, steady, single or most in (0, 1), merged=self.merged, there=there)


class SelectReleased(Select):
    """A SELECT from released relations, or from none.

    Args:
        tree, subquery: as in `Select`.
        sources: what FROM names.
        source: FROM, printed.
        steady: whether the join gives the same rows with the true numbers.
    """

    def __init__(
        self, tree: exp.Expr, subquery: Subquery, sources: Sources, source: str, steady: bool
    ) -> None:
        super().__init__(tree, subquery)
        self.sources, self.source, self.steady = sources, source, steady
        self.merged = self.held = sources.merged
        self.there = sources.there

    def column(self, node: Any) -> Term:
        """A column of a released relation."""
        only(node, "this", "table")
        table = node.args.get("table")
        return self.sources.column(node.name, None if table is None else table.name)

    def other(self, node: Any) -> Term:
        """Aggregates of released numbers too."""
        if type(node) is exp.Filter or type(node) in AGGREGATES:
            return self.aggregate(node)
        return super().other(node)

    def released(self) -> Released:
        """The printed SELECT."""
        tree, source = self.tree, self.source
        self.items = [named(node) for node in tree.expressions]
        where = tree.args.get("where")
        if where is not None:
            condition = self.term(where.this)
            source, self.steady = f"{source} WHERE {condition.text}", self.steady and condition.sure
        having, keys = tree.args.get("having"), self._keys()
        inside = [node for node, _, _ in self.items] + ([having.this] if having is not None else [])
        grouped = keys is not None or any(has_aggregate(node) for node in inside)
        if grouped:
            if keys:
                source += f" GROUP BY {', '.join(k.text for k in keys)}"
                self.steady = self.steady and all(k.sure for k in keys)
            if having is not None:
                condition = self.term(having.this)
                source += f" HAVING {condition.text}"
        terms = self._terms()
        if grouped and self.there not in ("", LOST):
            self.there = f"bool_or({self.there})" if keys else ""
        if having is not None:
            self.steady = self.steady and condition.sure
        return self.finished(
            terms, source, single=(grouped and not keys) or not self.sources.found, steady=self.steady
        )

    def _keys(self) -> list[Term] | None:
        group = self.tree.args.get("group")
        if group is None:
            return None
        if group.args.get("all"):
            return [self.term(node) for node, _, _ in self.items if not has_aggregate(node)]
        only(group, "expressions")
        out = []
        for node in group.expressions:
            place = self.item_of(node)
            out.append(self.term(node if place is None else self.items[place][0]))
        return out

    def _terms(self) -> list[tuple[str, Term]]:
        out: list[tuple[str, Term]] = []
        kept: list[tuple[exp.Expr, str, bool]] = []
        for node, name, alias in self.items:
            star = node if type(node) is exp.Star else node.this if type(node) is exp.Column else None
            if type(star) is exp.Star:
                only(star)
                table = node.args.get("table")
                every = list(self.sources.all(None if table is None else table.name))
                every = [(name, replace(term, merged=self.held)) for name, term in every]
                out += every
                kept += [(exp.Column(this=exp.to_identifier(n)), n, True) for n, _ in every]
            else:
                out.append((name, self.entry(node)))
                kept.append((node, name, alias))
        self.items = kept
        return out
