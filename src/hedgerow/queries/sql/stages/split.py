"""Split: a statement as first stages, which ask rows, and one SELECT over the tables that they release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import BadSQL, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.sql.node import only, refuse
from hedgerow.queries.sql.predicate import Scope
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.centres import Centres
from hedgerow.queries.sql.stages.first import FirstStage
from hedgerow.queries.sql.stages.hours import in_hours
from hedgerow.queries.sql.stages.inner import Inner
from hedgerow.queries.sql.stages.levels import ends_of_levels, literal
from hedgerow.queries.sql.stages.lookups import NOT_JOINED, as_released, declared, with_lookup
from hedgerow.queries.sql.stages.relation import Output, Released, RowsOf, Sources, aligned, of_both
from hedgerow.queries.sql.stages.rewriting import as_union, has_query, rewritten, unaliased, without_tuples
from hedgerow.queries.sql.stages.select_rows import ROWS_ARE_NOT_SHOWN, SelectRows
from hedgerow.queries.sql.stages.selects import SelectReleased, has_aggregate, named

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.domain.lookup import Lookup

Relation = Released | RowsOf
Values = Sequence[Sequence[Any]]
Names = dict[str, Callable[[], Relation]]
_LONGEST = 200_000
_CLAUSES = (
    *("expressions", "from_", "where", "group", "having", "order", "limit", "offset"),
    *("joins", "with_", "distinct", "qualify", "windows"),
)
_SETS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


class Split:
    """Reads one statement.

    Args:
        domain, unit: as in `hedgerow.sql`.
        values: what the inner statements gave, as far as that is known, in their order; each a list.
        stand_in: in place of released numbers that are not known yet.
        centres: from where on products are counted, as far as that was released.
    """

    def __init__(
        self,
        domain: Domain,
        unit: str | None,
        values: Values = (),
        stand_in: float = 0,
        centres: Mapping[str, str] | None = None,
    ) -> None:
        self.domain, self.unit, self.values, self.stand_in = domain, unit, values, stand_in
        self.centres = Centres(centres or {})
        self.stages: list[FirstStage] = []
        self.inner: list[Inner] = []
        self._by_words: dict[str, FirstStage] = {}
        self._known: dict[str, int] = {}
        self._touched: list[set[str]] = [set()]
        self._aliases = 0
        self._table: str | None = None
        self._lookups = {name.casefold(): one for name, one in domain.lookups.items()}
        self._names = [*Scope(domain).names, *([unit] if unit else [])]

    def statement(self, tree: exp.Expr) -> Released:
        """The whole statement; one that shows rows is refused."""
        relation = self.query(tree, {})
        if isinstance(relation, RowsOf):
            raise UnsupportedSQL(ROWS_ARE_NOT_SHOWN)
        return relation

    # -- queries ------------------------------------------------------------------------------------------

    def query(self, node: Any, names: Names) -> Relation:
        """Any SELECT: plain, with CTEs, in parentheses, or several put together."""
        clause = node.args.get("with_")
        if clause is not None:
            only(clause, "expressions")
            names = dict(names)
            for cte in clause.expressions:
                only(cte, "this", "alias")
                alias = cte.args["alias"]
                only(alias, "this")
                names[alias.name.casefold()] = self._later(cte.this, dict(names))
        if type(node) is exp.Subquery:
            only(node, "this", "alias", "with_")
            return self.query(node.this, names)
        if type(node) in _SETS:
            return self._set(node, names)
        if type(node) is not exp.Select:
            refuse(node, "as a statement")
        only(node, *_CLAUSES)
        if not node.expressions:
            raise BadSQL("the SELECT list is empty")
        if (union := as_union(node)) is not None:
            return self.query(union, names)
        return self._select(node, names)

    def _later(self, node: Any, names: Names) -> Callable[[], Relation]:
        """A common table expression: read when it is used, once; what nobody uses is not asked."""
        found: list[tuple[Relation, set[str]]] = []

        def read() -> Relation:
            if not found:
                self._touched.append(set())
                relation = self.query(node, names)
                found.append((relation, self._touched.pop()))
            self._touched[-1] |= found[0][1]
            return found[0][0]

        return read

    def _set(self, node: Any, names: Names) -> Released:
        """UNION, EXCEPT, INTERSECT: columns by place, named by the first."""
        only(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
        both = [self.query(node.args[k], names) for k in ("this", "expression")]
        left, right = (self._shown(r) for r in both)
        if len(left.columns) != len(right.columns):
            raise UnsupportedSQL("both sides of a set operation need the same number of columns")
        pairs = list(zip(left.columns, right.columns, strict=True))
        sure = [a.sure and b.sure for a, b in pairs]
        keeps = type(node) is exp.Union and not node.args.get("distinct")
        bounded = [keeps and (a.sure or a.bounded) and (b.sure or b.bounded) for a, b in pairs]
        word = _SETS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        there = of_both(left, right, keeps=keeps)
        text = " ".join((aligned(left, bounded, sure, there), word, aligned(right, bounded, sure, there)))
        smooth = [all(out.sure or out.smooth for out in pair) for pair in pairs]
        columns = tuple(
            Output(a.name, s, b and not s, smooth=m and b and not s, merged=a.merged or o.merged)
            for (a, o), s, b, m in zip(pairs, sure, bounded, smooth, strict=True)
        )
        steady = left.steady and right.steady and (keeps or all(sure))
        made = Released(text, columns, steady, False, merged=left.merged or right.merged, there=there)
        return self._arranged(node, made)

    def _arranged(self, node: Any, relation: Released) -> Released:
        """ORDER BY and LIMIT of a set operation, by its output columns."""
        if all(node.args.get(k) is None for k in ("order", "limit", "offset")):
            return relation
        alias = self._alias()
        tree = exp.Select(
            expressions=[exp.Star()], **{k: node.args.get(k) for k in ("order", "limit", "offset")}
        )
        sources = Sources()
        sources.add(alias, alias, relation)
        return SelectReleased(
            tree, self._subquery({}), sources, f" FROM ({relation.text}) AS {alias}", relation.steady
        ).released()

    def _shown(self, relation: Relation) -> Released:
        if isinstance(relation, RowsOf):
            raise UnsupportedSQL(ROWS_ARE_NOT_SHOWN)
        if len(relation.text) > _LONGEST:
            raise RangeTooLarge(f"written out, the statement has more than {_LONGEST:,} characters")
        return relation

    def _alias(self) -> str:
        self._aliases += 1
        return f"r{self._aliases}"

    def _subquery(self, names: Names) -> Callable[[exp.Expr], Released]:
        return lambda node: self._shown(self.query(node, names))

    # -- FROM ---------------------------------------------------------------------------------------------

    def _select(self, node: Any, names: Names) -> Relation:
        joins = node.args.get("joins") or []
        clause = node.args.get("from_")
        node = without_tuples(node)
        if clause is None:
            return SelectReleased(node, self._subquery(names), Sources(), "", steady=True).released()
        only(clause, "this")
        name, relation = self._source(clause.this, names)
        if isinstance(relation, Released) and joins and self._swaps(clause.this, joins[0], names):
            first = exp.Join(**{**joins[0].args, "this": clause.this})  # JOIN is the same either way
            name, relation, joins = *self._source(joins[0].this, names), [first, *joins[1:]]
        if isinstance(relation, Released):
            sources, source, steady = self._joined(name, relation, joins, names)
            return SelectReleased(node, self._subquery(names), sources, source, steady).released()
        rows = replace(relation, names=(name, *relation.names))
        rows = replace(rows, own=tuple(self._names)) if joins else rows
        for join in joins:
            rows = with_lookup(join, rows, self._lookup(join.this, names))
        return self._rows(node, rows, names)

    def _lookup(self, node: Any, names: Names) -> tuple[str, Lookup]:
        """The public lookup that a join names, and what it is called; rows are joined with nothing else."""
        own = node.this.name if type(node) is exp.Table and type(node.this) is exp.Identifier else ""
        found = self._lookups.get(own.casefold()) if own.casefold() not in names else None
        if found is None:
            raise UnsupportedSQL(NOT_JOINED)
        alias = node.args.get("alias")
        return alias.name if alias is not None else own, found

    def _swaps(self, node: Any, join: Any, names: Names) -> bool:
        """Whether a lookup stands first, and rows are joined to it."""
        tables = [n.this.name.casefold() if type(n) is exp.Table else "" for n in (node, join.this)]
        public = [t in self._lookups and t not in names for t in tables]
        return public[0] and not public[1] and tables[1] not in ("", *names) and not join.args.get("side")

    def _source(self, node: Any, names: Names) -> tuple[str, Relation]:
        """What an entry of FROM names, and what it is called."""
        alias = node.args.get("alias")
        if alias is not None:
            only(alias, "this")
        if type(node) is exp.Subquery:
            only(node, "this", "alias", "with_")
            return alias.name if alias is not None else self._alias(), self.query(node, names)
        if type(node) is not exp.Table:
            refuse(node, "in FROM")
        only(node, "this", "alias")
        if type(node.this) is not exp.Identifier:
            refuse(node.this, "in FROM")
        own = node.this.this
        called = alias.name if alias is not None else own
        if own.casefold() in names:
            return called, names[own.casefold()]()
        if own.casefold() in self._lookups:
            return called, as_released(self._lookups[own.casefold()])
        if self._table is not None and self._table != own.casefold():
            raise UnsupportedSQL(f"there is one table here: {self._table[:60]!r} and {own[:60]!r} are two")
        self._table = own.casefold()
        return called, RowsOf((), None, (called,))

    def _joined(
        self, name: str, relation: Released, joins: Sequence[Any], names: Names
    ) -> tuple[Sources, str, bool]:
        """Released relations side by side."""
        sources, alias = Sources(), self._alias()
        sources.add(name, alias, relation)
        source, steady = f" FROM ({relation.text}) AS {alias}", True
        for join in joins:
            only(join, "this", "on", "using", "kind", "side", "method")
            kind, side = (str(join.args.get(k) or "").upper() for k in ("kind", "side"))
            if (
                kind not in ("", "INNER", "CROSS", "OUTER")
                or side not in ("", "LEFT")
                or join.args.get("method")
            ):
                raise UnsupportedSQL(
                    f"a join of the kind {side} {kind} is not supported; use JOIN, LEFT JOIN or CROSS JOIN"
                )
            other, right = self._source(join.this, names)
            if isinstance(right, RowsOf):
                raise UnsupportedSQL(NOT_JOINED)
            alias = self._alias()
            conditions = self._using(join, sources, other, alias, right)
            on = join.args.get("on")
            sources.add(other, alias, right)
            texts = [f"{a} = {b}" for a, b, _ in conditions]
            sure = all(s for _, _, s in conditions)
            if on is not None:
                found = SelectReleased(exp.Select(), self._subquery(names), sources, "", steady=True).term(on)
                texts, sure = [*texts, found.text], sure and found.sure
            steady = steady and sure
            words = ("LEFT JOIN" if side else "JOIN") if texts else "CROSS JOIN"
            source += f" {words} ({right.text}) AS {alias}" + (f" ON {' AND '.join(texts)}" if texts else "")
        return sources, source, steady and sources.steady

    def _using(
        self, join: Any, sources: Sources, name: str, alias: str, right: Released
    ) -> list[tuple[str, str, bool]]:
        """JOIN ... USING (columns): equal columns, of which the first is shown."""
        out = []
        for column in join.args.get("using") or ():
            mine = sources.column(column.name, None)
            alone = Sources()
            alone.add(name, alias, right)
            theirs = alone.column(column.name, None)
            place = [o.name.casefold() for o in right.columns].index(column.name.casefold())
            sources.hidden.add((alias, place))
            out.append((mine.text, theirs.text, mine.sure and theirs.sure))
        return out

    # -- rows ---------------------------------------------------------------------------------------------

    def _rows(self, node: Any, rows: RowsOf, names: Names) -> Relation:
        """A SELECT from rows: by groups it is released, without them it is rows again."""
        own = set(map(str.casefold, self._names)) if rows.columns is None else set(rows.columns)
        node = unaliased(node, own | set(rows.public))
        if rows.columns is None and (ends := ends_of_levels(node, self.domain)):
            return self.query(ends, names)
        having = node.args.get("having")
        parts = [*node.expressions, *([having.this] if having is not None else [])]
        if (
            node.args.get("group") is None
            and node.args.get("distinct") is None
            and not any(map(has_aggregate, parts))
        ):
            return self._narrowed(node, rows, names)
        made = SelectRows(
            node,
            self._subquery(names),
            rows,
            lambda part, among: self._grounded(part, among, names),
            partial(self._stage, alone=bool(self.inner) or has_query(node)),
            self.centres.of,
            self._alias(),
            self._names,
        )
        return made.released()

    def _narrowed(self, node: Any, rows: RowsOf, names: Names) -> RowsOf:
        """Rows with fewer or other columns, and more conditions."""
        for clause in ("order", "limit", "offset", "qualify", "having"):
            if node.args.get(clause) is not None:
                raise UnsupportedSQL(ROWS_ARE_NOT_SHOWN)
        where = node.args.get("where")
        kept = (*rows.where, *([self._grounded(where.this, rows, names)] if where is not None else []))
        columns: dict[str, exp.Expr] | None = {}
        for entry in node.expressions:
            inner, name, _ = named(entry)
            star = inner if type(inner) is exp.Star else inner.this if type(inner) is exp.Column else None
            if type(star) is exp.Star:
                only(star)
                if len(node.expressions) == 1 and not rows.beside:
                    columns = rows.columns
                    break
                mine = rows.columns or {
                    n.casefold(): exp.Column(this=exp.to_identifier(n, quoted=True)) for n in self._names
                }
                columns = (columns or {}) | rows.public | mine
                continue
            if type(inner) is exp.Window:
                raise UnsupportedSQL("a window function over rows is not supported; group the rows first")
            assert columns is not None
            columns[name.casefold()] = self._grounded(inner, rows, names)
        return RowsOf(kept, columns, rows.names if columns is None else ())

    def _stage(self, where: Sequence[exp.Expr], keys: Sequence[exp.Expr], *, alone: bool) -> FirstStage:
        """The first stage of these conditions and keys: the same ones are asked together.

        But alone where released values may stand in it: it must not be asked before those are known.
        """
        words = repr([[printed(n) for n in nodes] for nodes in (where, keys)])
        words += f" {len(self.stages)}" if alone else ""
        if words not in self._by_words:
            made = FirstStage(self.domain, self.unit, f"s{len(self.stages)}", where, keys)
            self._by_words[words] = made
            self.stages.append(made)
        self._touched[-1].add(self._by_words[words].name)
        return self._by_words[words]

    def _grounded(self, node: exp.Expr, rows: RowsOf, names: Names) -> exp.Expr:
        """An expression in the table's own columns, with released values in place of inner statements."""

        def replaced(part: Any) -> Any:
            if type(part) is exp.Column:
                return rows.meant(part)
            if (hour := in_hours(self.domain, part, rows.meant)) is not None:
                return hour
            if type(part) is exp.In and part.args.get("query") is not None:
                left = self._grounded(part.this, rows, names)
                found = self._constants(part.args["query"], names, beside=left)
                found = declared(self.domain, left, found)
                return exp.In(this=left, expressions=found) if found else exp.Boolean(this=False)
            if isinstance(part, exp.Query):
                return self._constants(part, names)[0]
            return part

        made: exp.Expr = rewritten(node, replaced)
        return made

    def _constants(self, node: Any, names: Names, beside: exp.Expr | None = None) -> list[exp.Expr]:
        """The released values of an inner statement, as literals; a stand-in while they are not known."""
        words, many = printed(node), beside is not None
        if words not in self._known:
            self._touched.append(set())
            relation = self._shown(self.query(node, names))
            if len(relation.columns) != 1 or not (many or relation.single):
                raise UnsupportedSQL(
                    "a subquery that is compared with rows has one column" + ("" if many else " and one row")
                )
            self.inner.append(Inner(words, relation, frozenset(self._touched.pop()), many))
            self._known[words] = len(self.inner) - 1
        place = self._known[words]
        if place < len(self.values):
            return [literal(value) for value in self.values[place]]
        return [self._stand_in(self.inner[place].relation.columns[0], beside)]

    def _stand_in(self, out: Output, beside: exp.Expr | None) -> exp.Expr:
        """What a question costs does not depend on what rows are compared with: any value will do."""
        if not out.sure:
            return literal(self.stand_in)
        if type(beside) is not exp.Column:
            return exp.Null()
        levels = Scope(self.domain).column(beside).values
        return literal(next((v for v in levels if v is not None), None))
