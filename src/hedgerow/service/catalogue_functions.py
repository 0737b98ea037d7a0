"""Functions of the catalogue: what a call in a statement about it becomes.

Some are words that are known, some are true, false or nothing here, some are passed on to the engine; any
other is refused. So what can be called is on the lists of this file, whatever the engine has.
"""

from __future__ import annotations

import csv
from typing import Any

import sqlglot
from sqlglot import exp

import hedgerow
from hedgerow.errors import BadSQL, UnsupportedSQL
from hedgerow.queries.sql.printing import printed
from hedgerow.service.catalogue_tables import TYPES

ROWS = 10_000  # of a result, and of a series
VERSION = f"15.0 (Hedgerow {hedgerow.__version__})"
_TRUE_OF = "pg_has_role"
_FALSE_OF = "pg_is_in_recovery pg_relation_is_publishable pg_is_other_temp_schema row_security_active"
_NULL_OF = """
json_build_object pg_advisory_unlock_all pg_get_function_identity_arguments pg_get_functiondef
pg_get_function_sqlbody pg_postmaster_start_time pg_conf_load_time pg_listening_channels
pg_get_expr obj_description col_description shobj_description pg_get_constraintdef pg_get_indexdef
pg_get_viewdef pg_get_partkeydef pg_get_ruledef pg_get_triggerdef pg_get_serial_sequence
pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size pg_database_size
pg_stat_get_numscans inet_server_addr inet_server_port inet_client_addr pg_get_statisticsobjdef_columns
pg_tablespace_location pg_get_function_result pg_get_function_arguments pg_my_temp_schema
"""
_PASS_OF = """
replace regexp_replace round floor ceil pg_get_keywords
coalesce nullif count sum min max avg lower upper length substring trim concat concat_ws position
strpos array_to_string string_agg array_agg row_number rank greatest least cast exists any all in
generate_series unnest split_part starts_with left right abs mod if case regexp_like now
current_timestamp and or not any_value array group_concat is_null like str_position list_contains
array_contains array_length array_size date_trunc explode
exploding_generate_series logical_and logical_or bool_and bool_or dense_rank
"""
_NUMBER_OF = "array_upper array_lower array_position to_regtype to_regclass to_regproc to_regnamespace"
_ONE_OF = "pg_backend_pid txid_current"
_READS = ("select", "usage", "connect")
_TRUE, _FALSE, _NULL, _PASS, _NUMBER, _ONE = (
    frozenset(words.split()) for words in (_TRUE_OF, _FALSE_OF, _NULL_OF, _PASS_OF, _NUMBER_OF, _ONE_OF)
)


def function(node: exp.Func, table: str, user: str) -> exp.Expr:
    """What a call becomes.

    Args:
        node: the call.
        table: the dataset's name, which is the database's too.
        user: who asks.
    """
    named = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    name = named.lower().removeprefix("pg_catalog.")
    said = {
        "current_version": f"PostgreSQL {VERSION}", "version": f"PostgreSQL {VERSION}",
        "current_database": table, "current_catalog": table,
        "current_schema": "public", "current_user": user, "session_user": user,
        "pg_get_userbyid": "owner", "pg_encoding_to_char": "UTF8", "current_role": user,
    }  # fmt: skip
    if name in said:
        return exp.Literal.string(said[name])
    if name.endswith("_privilege"):
        return _may(node)
    if name in _TRUE or name.endswith("_is_visible"):
        return exp.true()
    if name in _FALSE:
        return exp.false()
    if name in _NUMBER:
        return exp.cast(exp.Null(), "BIGINT")
    if name in _NULL or name == "current_setting":
        return exp.cast(exp.Null(), "VARCHAR")
    if name in _ONE:
        return exp.Literal.number(1)
    if isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
        return _bounded(node)
    if (made := _shaped(name, node)) is not None:
        return made
    if name not in _PASS:
        raise UnsupportedSQL(f"the function {name} is not known here")
    return node


def _shaped(name: str, node: exp.Func) -> exp.Expr | None:
    """What a call becomes that is neither a word nor passed on as it is."""
    if name == "generate_subscripts" and node.expressions:
        return sqlglot.parse_one(f"unnest(range(1, len({printed(node.expressions[0])}) + 1))", read="duckdb")
    if name == "_pg_expandarray":  # of the columns of keys, and there are none
        return sqlglot.parse_one("CAST(NULL AS STRUCT(x BIGINT, n BIGINT))", read="duckdb")
    if name == "format_type" and node.expressions:
        return _format(node.expressions[0])
    if name == "current_schemas":
        return exp.array("'pg_catalog'", "'public'", dialect="duckdb")
    if name in ("quote_ident", "pg_client_encoding"):
        return node.expressions[0] if node.expressions else exp.Literal.string("UTF8")
    return None


def array(words: str | None) -> exp.Expr:
    """The array that PostgreSQL writes as {a,b}.

    >>> array('{r,"a b"}').sql("duckdb")
    "['r', 'a b']"
    """
    if words is None:
        return exp.cast(exp.Null(), "VARCHAR[]", dialect="duckdb")
    inner = words.strip().removeprefix("{").removesuffix("}")
    try:
        cells = next(csv.reader([inner], skipinitialspace=True, escapechar="\\"), []) if inner else []
    except csv.Error:
        raise BadSQL("an array is written as {a,b}") from None
    literal = exp.Literal.number if all(c.isascii() and c.isdigit() for c in cells) else exp.Literal.string
    made = exp.Array(expressions=[literal(cell) for cell in cells])
    return exp.cast(made, "VARCHAR[]", dialect="duckdb") if not cells else made


def _may(node: exp.Func) -> exp.Expr:
    """Whether somebody may do something: read, and nothing else."""
    asked = [part for part in node.find_all(exp.Literal) if part.is_string]
    words = asked[-1].name.lower() if asked else "select"
    return exp.true() if any(word in words for word in _READS) else exp.false()


def _format(number: exp.Expr) -> exp.Expr:
    made = exp.Case(this=number.copy())
    for oid, (_, long, _, _) in TYPES.items():
        made = made.when(exp.Literal.number(oid), exp.Literal.string(long))
    return made


def _bounded(node: exp.Func) -> exp.Expr:
    """A series that is short, or empty."""
    end = node.args.get("end")
    if isinstance(end, exp.Cast):
        end = end.this
    if isinstance(end, exp.Null) or (isinstance(end, exp.Literal) and end.is_int and int(end.name) <= ROWS):
        return node
    raise UnsupportedSQL(f"a series here ends with a number of up to {ROWS:,}")


def operator(node: exp.Operator) -> exp.Expr:
    """What OPERATOR(pg_catalog.~) becomes."""
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
