"""Catalogue: what tools ask a PostgreSQL about its tables, answered from the declared schema alone.

Tables of `pg_catalog` and `information_schema` are made for one dataset in a locked database that has never
held a row: names and types of declared columns, no counts, no statistics, no samples. A statement is printed
anew from its tree: its tables are those made here, its functions those of the lists below, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from hedgerow.errors import BadSQL, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.engine import ReleasedEngine
from hedgerow.queries.sql.tables import named as tables_of
from hedgerow.service.catalogue_functions import ROWS, array, function, operator
from hedgerow.service.catalogue_tables import TABLE, TYPES, tables

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain

__all__ = ["Catalogue", "kind_of", "parsed", "printed", "tables_of"]

CELLS, COLUMNS, SECONDS = 100_000, 200, 2.0  # of a result; how long it may take
_FUNCTIONS = ("typreceive", "typsend", "typinput", "typoutput")
_CLASSES = {"pg_class": 1259, "pg_namespace": 2615, "pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255}


class Catalogue:
    """The catalogue of one dataset.

    Args:
        name: the dataset's, which is its table's.
        domain: its declared columns.
    """

    def __init__(self, name: str, domain: Domain) -> None:
        self._name, self.domain = name, domain
        columns = [(label, kind_of(a), bool(a.missing)) for label, a in domain.items()]
        found = tables(name, columns)
        self._tables, filling = set(found), list[tuple[str, Sequence[Any]]]()
        for table, (kinds, rows) in found.items():
            filling.append((f"CREATE TABLE {table} ({kinds})", ()))
            filling += [(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row) for row in rows]
        self._engine = ReleasedEngine(begin=filling)

    def close(self) -> None:
        """Let go of it."""
        self._engine.close()

    def run(
        self, sql: str | exp.Expr, values: Sequence[Any] = (), user: str = "owner"
    ) -> tuple[list[tuple[str, int]], list[tuple[Any, ...]]]:
        """Columns (name, number of the type) and rows of a statement about the catalogue, or about nothing.

        Args:
            sql: the statement.
            values: of its parameters.
            user: who asks.
        """
        tree = parsed(sql) if isinstance(sql, str) else sql.copy()
        names = [_named(column) for column in tree.selects] if isinstance(tree, exp.Query) else []
        for node in reversed(list(tree.walk(bfs=True))):  # the innermost first, so that none is left out
            made = self._allowed(node, values, user)
            if made is not node:
                tree = made if node is tree else tree
                node.replace(made)
        most = min(ROWS, CELLS // max(1, len(names)))
        if len(names) > COLUMNS or most == 0:
            raise RangeTooLarge(f"a statement about the catalogue may have up to {COLUMNS} columns")
        if isinstance(tree, exp.Query) and not tree.args.get("limit"):
            tree = tree.limit(most + 1)
        found, rows = self._engine.described(printed(tree), seconds=SECONDS)
        if len(rows) > most:
            raise RangeTooLarge(f"a statement about the catalogue may have up to {most:,} rows")
        if len(found) != len(names) or "*" in names:
            names = [name for name, _ in found]
        return [(name, _number(kind)) for name, (_, kind) in zip(names, found, strict=True)], rows

    # -- what may stand in a statement ---------------------------------------------------------------------

    def _allowed(self, node: exp.Expr, values: Sequence[Any], user: str) -> exp.Expr:
        if isinstance(node, exp.Dot):
            if isinstance(node.this, exp.Paren) and isinstance(node.expression, exp.Identifier):
                return node  # a part of a value, as in (keys).x
            if node.this.name.lower() not in ("pg_catalog", "information_schema"):
                raise UnsupportedSQL(f"{printed(node, '')!r} is not known here")
            return _expr(node.expression)
        if isinstance(node, exp.Table):
            return self._table(node)
        if isinstance(node, exp.Cast):
            return self._cast(node)
        if isinstance(node, (exp.Parameter, exp.Placeholder)):
            return _value(node, values)
        if isinstance(node, exp.Collate):
            return _expr(node.this)
        if isinstance(node, exp.Column) and (node.db or node.table.lower() == "pg_catalog"):
            return exp.column(node.this, node.table if node.db else None)
        if isinstance(node, exp.Operator):
            return operator(node)
        if isinstance(node, exp.Func) and not isinstance(node, (exp.Connector, exp.Predicate)):
            return function(node, self._name, user)
        if isinstance(node, (exp.EQ, exp.NEQ)) and node.this.name in _FUNCTIONS and node.expression.is_int:
            node.set("expression", exp.Literal.string("-"))  # what PostgreSQL prints for no function
            return node
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in ("current_user", "user"):
            return exp.Literal.string(user)
        if isinstance(node, _REFUSED):
            raise UnsupportedSQL(f"the catalogue is read by SELECT alone, without {type(node).__name__}")
        return node

    def _table(self, node: exp.Table) -> exp.Expr:
        if not isinstance(node.this, exp.Identifier):
            if isinstance(
                node.this, (exp.Explode, exp.Unnest, exp.GenerateSeries, exp.ExplodingGenerateSeries)
            ):
                node.set("db", None)
                return node
            if node.this.name.lower() in self._tables and not node.this.args.get("expressions"):
                return exp.Table(this=exp.to_identifier(node.this.name.lower()), alias=node.args.get("alias"))
            raise UnsupportedSQL("a function stands for no table here")
        name, schema = node.name.lower(), node.db.lower()
        made = {"": name, "pg_catalog": name, "information_schema": f"information_schema_{name}"}.get(schema)
        if node.catalog or made is None or (made not in self._tables and not self._is_cte(node, name)):
            if name.startswith("pg_") or schema in ("pg_catalog", "information_schema"):
                raise UnsupportedSQL(
                    f"the catalogue has no {printed(node, '')!r}: there is nothing of the kind here"
                )
            raise UnsupportedSQL(f"{printed(node, '')!r} is no table of the catalogue")
        if made not in self._tables:
            return node
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
        return exp.Table(this=exp.to_identifier(made), alias=alias, joins=node.args.get("joins"))

    @staticmethod
    def _is_cte(node: exp.Table, name: str) -> bool:
        """Whether a statement around it has a part of that name."""
        above: Any = node.parent
        while above is not None and not node.db:
            held = above.args.get("with_") or above.args.get("with")
            if held is not None and name in {cte.alias.lower() for cte in held.expressions}:
                return True
            above = above.parent
        return False

    def _cast(self, node: exp.Cast) -> exp.Expr:
        to = printed(node.to, "postgres").lower().removeprefix("pg_catalog.").strip('"')
        if to in ("regclass", "regtype", "regproc", "regnamespace"):
            held = node.this
            if to == "regclass" and isinstance(held, exp.Literal) and held.is_string:
                name = held.name.lower().removeprefix("pg_catalog.").removeprefix("public.").strip('"')
                number = TABLE if name == self._name else _CLASSES.get(name)
                return exp.Null() if number is None else exp.Literal.number(number)
            return exp.cast(held, "VARCHAR")
        if to in ("oid", "xid", "cid"):
            return exp.cast(node.this, "BIGINT")
        if to in ("name", "char", "cstring", "aclitem", "text", "information_schema.sql_identifier"):
            return exp.cast(node.this, "VARCHAR")
        if to in ("text[]", "name[]", "varchar[]", "char[]", '"char"[]'):
            held = node.this
            plain = isinstance(held, exp.Literal) and held.is_string
            return array(held.name) if plain else exp.cast(held, "VARCHAR[]", dialect="duckdb")
        known = {short: long for short, long, _, _ in TYPES.values()}
        return exp.cast(node.this, known[to].upper()) if to in known else node


_REFUSED = (exp.DDL, exp.DML, exp.Command, exp.Set, exp.Pragma, exp.Attach, exp.Copy, exp.Use, exp.Into)


def kind_of(attribute: Any) -> int:
    """The number of the type that a declared column has for tools."""
    if isinstance(attribute, Dates):
        return 1082
    if isinstance(attribute, Bins):
        return 20 if attribute.whole or (attribute.step is not None and attribute.step % 1 == 0) else 701
    return 25


_NUMBERS = {
    "BOOLEAN": 16, "BIGINT": 20, "INTEGER": 23, "SMALLINT": 21, "DOUBLE": 701, "FLOAT": 700, "DATE": 1082,
    "TIMESTAMP": 1114, "HUGEINT": 1700, "VARCHAR[]": 1009, "BIGINT[]": 1016, "INTEGER[]": 1007,
}  # fmt: skip


def _number(kind: str) -> int:
    """The number of the type that PostgreSQL has for one of the engine's; text for what it has not."""
    return 1700 if kind.startswith("DECIMAL") else _NUMBERS.get(kind, 25)


def parsed(sql: str) -> exp.Expr:
    """The tree of one statement in PostgreSQL's SQL."""
    try:
        found = [tree for tree in sqlglot.parse(sql, read="postgres") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        words = str(error).splitlines()[0].split(". Line")[0]
        raise BadSQL(f"this is not SQL that can be read: {words}") from None
    except RecursionError:
        raise BadSQL("this statement is too deep") from None
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):  # the parser's own, on nonsense
        raise BadSQL("this is not SQL that can be read") from None
    if len(found) != 1:
        raise BadSQL("one statement at a time")
    return found[0]


def _expr(node: Any) -> exp.Expr:
    """A part of a tree, which is a tree."""
    if not isinstance(node, exp.Expr):
        raise UnsupportedSQL("this statement is not understood")
    return node


def _named(column: exp.Expr) -> str:
    """What PostgreSQL would call a column that was given no name."""
    if column.alias_or_name and not isinstance(column, (exp.Literal, exp.Func)):
        return column.alias_or_name
    inner = column.expression if isinstance(column, exp.Dot) else column
    if isinstance(inner, exp.Cast):
        return (
            inner.this.name if isinstance(inner.this, exp.Column) else printed(inner.to, "postgres").lower()
        )
    if isinstance(inner, exp.Func):
        name = inner.name if isinstance(inner, exp.Anonymous) else inner.sql_name()
        return "version" if name == "CURRENT_VERSION" else name.lower()
    return "?column?"


def _value(node: exp.Expr, values: Sequence[Any]) -> exp.Expr:
    held = node.this.name if isinstance(node.this, exp.Expr) else str(node.this or "")
    number = int(held) if held.isascii() and held.isdigit() else 1
    value = values[number - 1] if 0 < number <= len(values) else None
    above = node.parent.parent if isinstance(node.parent, exp.Paren) else node.parent
    if isinstance(above, exp.Any | exp.All) and (value is None or str(value).startswith("{")):
        return array(None if value is None else str(value))
    return exp.Null() if value is None else exp.convert(value)
