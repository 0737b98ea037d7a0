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

import hedgerow
from hedgerow.errors import BadSQL, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.sql.stages.engine import ReleasedEngine
from hedgerow.service.catalogue_tables import TABLE, TYPES, tables

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain

ROWS, CELLS, COLUMNS, SECONDS = 10_000, 100_000, 200, 2.0  # of a result; how long it may take
VERSION = f"15.0 (Hedgerow {hedgerow.__version__})"
_TRUE_OF = "pg_has_role"
_FALSE_OF = "pg_is_in_recovery pg_relation_is_publishable pg_is_other_temp_schema row_security_active"
_NULL_OF = """
json_build_object
pg_get_expr obj_description col_description shobj_description pg_get_constraintdef pg_get_indexdef
pg_get_viewdef pg_get_partkeydef pg_get_ruledef pg_get_triggerdef pg_get_serial_sequence
pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size pg_database_size
pg_stat_get_numscans inet_server_addr inet_server_port inet_client_addr pg_get_statisticsobjdef_columns
pg_tablespace_location pg_get_function_result pg_get_function_arguments pg_my_temp_schema
"""
_PASS_OF = """
coalesce nullif count sum min max avg lower upper length substring trim concat concat_ws position
strpos array_to_string string_agg array_agg row_number rank greatest least cast exists any all in
generate_series unnest split_part starts_with left right abs mod if case regexp_like now
current_timestamp and or not any_value array group_concat is_null like str_position list_contains
array_contains array_length array_size date_trunc explode
exploding_generate_series logical_and logical_or bool_and bool_or dense_rank
"""
_FUNCTIONS = ("typreceive", "typsend", "typinput", "typoutput")
_CLASSES = {"pg_class": 1259, "pg_namespace": 2615, "pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255}
_TRUE, _FALSE, _NULL, _PASS = (
    frozenset(words.split()) for words in (_TRUE_OF, _FALSE_OF, _NULL_OF, _PASS_OF)
)


class Catalogue:
    """The catalogue of one dataset.

    Args:
        name: the dataset's, which is its table's.
        domain: its declared columns.
    """

    def __init__(self, name: str, domain: Domain) -> None:
        self._name, self.domain = name, domain
        self._engine = ReleasedEngine()
        self._tables: set[str] = set()
        columns = [(label, kind_of(a), bool(a.missing)) for label, a in domain.items()]
        for table, (kinds, rows) in tables(name, columns).items():
            self._tables.add(table)
            self._engine.run(f"CREATE TABLE {table} ({kinds})")
            for row in rows:
                self._engine.run(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", list(row))

    def close(self) -> None:
        """Let go of it."""
        self._engine.close()

    def run(
        self, sql: str | exp.Expr, values: Sequence[Any] = (), user: str = "owner"
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Names and rows of a statement about the catalogue, or about nothing.

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
        rows = self._engine.run(tree.sql(dialect="duckdb"), seconds=SECONDS)
        if len(rows) > most:
            raise RangeTooLarge(f"a statement about the catalogue may have up to {most:,} rows")
        if rows and len(rows[0]) != len(names):
            names = [f"column{i + 1}" for i in range(len(rows[0]))]
        return names, rows

    # -- what may stand in a statement ---------------------------------------------------------------------

    def _allowed(self, node: exp.Expr, values: Sequence[Any], user: str) -> exp.Expr:
        if isinstance(node, exp.Dot):
            if node.this.name.lower() != "pg_catalog":
                raise UnsupportedSQL(f"{node.sql()!r} is not known here")
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
            return _operator(node)
        if isinstance(node, exp.Func) and not isinstance(node, (exp.Connector, exp.Predicate)):
            return self._function(node, user)
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
            raise UnsupportedSQL("a function stands for no table here")
        name, schema = node.name.lower(), node.db.lower()
        made = {"": name, "pg_catalog": name, "information_schema": f"information_schema_{name}"}.get(schema)
        if node.catalog or made is None or (made not in self._tables and not self._is_cte(node, name)):
            if name.startswith("pg_") or schema in ("pg_catalog", "information_schema"):
                raise UnsupportedSQL(
                    f"the catalogue has no {node.sql()!r}: there is nothing of the kind here"
                )
            raise UnsupportedSQL(f"{node.sql()!r} is no table of the catalogue")
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
        to = node.to.sql(dialect="postgres").lower().removeprefix("pg_catalog.").strip('"')
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
        known = {short: long for short, long, _, _ in TYPES.values()}
        return exp.cast(node.this, known[to].upper()) if to in known else node

    def _function(self, node: exp.Func, user: str) -> exp.Expr:
        named = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        name = named.lower().removeprefix("pg_catalog.")
        said = {
            "current_version": f"PostgreSQL {VERSION}", "version": f"PostgreSQL {VERSION}",
            "current_database": self._name, "current_catalog": self._name,
            "current_schema": "public", "current_user": user, "session_user": user,
            "pg_get_userbyid": "owner", "pg_encoding_to_char": "UTF8", "current_role": user,
        }  # fmt: skip
        if name in said:
            return exp.Literal.string(said[name])
        if name in _TRUE or name.endswith(("_is_visible", "_privilege")):
            return exp.true()
        if name in _FALSE:
            return exp.false()
        if name in (
            "array_upper",
            "array_lower",
            "array_position",
            "to_regtype",
            "to_regclass",
            "to_regproc",
        ):
            return exp.cast(exp.Null(), "BIGINT")
        if isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
            return _bounded(node)
        if name == "generate_subscripts" and node.expressions:
            return sqlglot.parse_one(
                f"unnest(range(1, len({node.expressions[0].sql('duckdb')}) + 1))", read="duckdb"
            )
        if name in _NULL:
            return exp.cast(exp.Null(), "VARCHAR")
        if name == "format_type" and node.expressions:
            return self._format(node.expressions[0])
        if name == "current_schemas":
            return exp.array("'pg_catalog'", "'public'", dialect="duckdb")
        if name in ("quote_ident", "pg_client_encoding"):
            return node.expressions[0] if node.expressions else exp.Literal.string("UTF8")
        if name in ("pg_backend_pid", "txid_current"):
            return exp.Literal.number(1)
        if name == "current_setting":
            return exp.cast(exp.Null(), "VARCHAR")
        if name not in _PASS:
            raise UnsupportedSQL(f"the function {name} is not known here")
        return node

    def _format(self, number: exp.Expr) -> exp.Expr:
        made = exp.Case(this=number.copy())
        for oid, (_, long, _, _) in TYPES.items():
            made = made.when(exp.Literal.number(oid), exp.Literal.string(long))
        return made


_REFUSED = (exp.DDL, exp.DML, exp.Command, exp.Set, exp.Pragma, exp.Attach, exp.Copy, exp.Use, exp.Into)


def kind_of(attribute: Any) -> int:
    """The number of the type that a declared column has for tools."""
    if isinstance(attribute, Dates):
        return 1082
    if isinstance(attribute, Bins):
        return 20 if getattr(attribute, "whole", False) else 701
    return 25


def parsed(sql: str) -> exp.Expr:
    """The tree of one statement in PostgreSQL's SQL."""
    try:
        found = [tree for tree in sqlglot.parse(sql, read="postgres") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        words = str(error).splitlines()[0].split(". Line")[0]
        raise BadSQL(f"this is not SQL that can be read: {words}") from None
    except RecursionError:
        raise BadSQL("this statement is too deep") from None
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
            inner.this.name
            if isinstance(inner.this, exp.Column)
            else inner.to.sql(dialect="postgres").lower()
        )
    if isinstance(inner, exp.Func):
        name = inner.name if isinstance(inner, exp.Anonymous) else inner.sql_name()
        return "version" if name == "CURRENT_VERSION" else name.lower()
    return "?column?"


def _value(node: exp.Expr, values: Sequence[Any]) -> exp.Expr:
    held = node.this.name if isinstance(node.this, exp.Expr) else str(node.this or "")
    number = int(held) if held.isascii() and held.isdigit() else 1
    if not 0 < number <= len(values):
        return exp.Null()
    value = values[number - 1]
    return exp.Null() if value is None else exp.convert(value)


def _bounded(node: exp.Func) -> exp.Expr:
    """A series that is short, or empty."""
    end = node.args.get("end")
    if isinstance(end, exp.Cast):
        end = end.this
    if isinstance(end, exp.Null) or (isinstance(end, exp.Literal) and end.is_int and int(end.name) <= ROWS):
        return node
    raise UnsupportedSQL(f"a series here ends with a number of up to {ROWS:,}")


def _operator(node: exp.Operator) -> exp.Expr:
    sign = str(node.args.get("operator")).rsplit(".", 1)[-1]
    kinds: dict[str, Any] = {
        "~": exp.RegexpLike,
        "~~": exp.Like,
        "=": exp.EQ,
        "<>": exp.NEQ,
        "!~": exp.RegexpLike,
    }
    if sign not in kinds:
        raise UnsupportedSQL(f"the operator {sign} is not known here")
    made: exp.Expr = kinds[sign](this=node.this, expression=node.expression)
    return exp.Not(this=exp.Paren(this=made)) if sign == "!~" else made
