"""Plans: what a statement is - a setting, a transaction, the catalogue, a question - before it runs.

Routing goes from what is answered without thought to what is asked of the dataset. Columns and types are
known before anything runs, so that describing a statement asks, and costs, nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from hedgerow.errors import BadSQL, UnknownTable, UnsupportedSQL
from hedgerow.serve.wire import spelling, values, wrapped
from hedgerow.serve.wire.failure import ReadOnly
from hedgerow.service.catalogue import kind_of, parsed, printed, tables_of

ROWS = 1000  # of a preview
_WRITES = (
    "insert update delete merge create drop alter truncate grant revoke vacuum analyze comment lock call do"
)
_SLEEP = re.compile(r"select\s+(?:pg_catalog\.)?pg_sleep\s*\(\s*(\d{1,4}(?:\.\d{1,6})?)\s*\)", re.I)
_PARTS = ("dp_low", "dp_high", "dp_error", "dp_source")

Column = tuple[str, int, int]


@dataclass(frozen=True)
class StatementPlan:
    """What is done for a statement.

    Args:
        kind: empty, transaction, set, show, reset, nothing, sleep, catalogue, explain, preview, question.
        tag: what is said when it is done.
        columns: names, types and sizes; None if it has no rows, or if they are known only after it ran.
        sql: what is asked.
        tree: the same, taken apart.
        words: what else the kind needs.
        picks: for each column, of which column of the answer it is which part.
        copy: how rows are written, for COPY.
    """

    kind: str
    tag: str = "SELECT"
    columns: tuple[Column, ...] | None = None
    sql: str = ""
    tree: Any = field(default=None, repr=False)
    words: tuple[str, ...] = ()
    picks: tuple[tuple[str, str], ...] = ()
    copy: str | None = None


def plan(sql: str, table: str, domain: Any) -> StatementPlan:
    """What a statement is.

    Args:
        sql: one statement.
        table: the name of the dataset.
        domain: its declared columns.
    """
    text = re.sub(r"^(\s|--[^\n]*(\n|$)|/\*.*?\*/)+", "", sql, flags=re.S).rstrip().rstrip(";").rstrip()
    if not text:
        return StatementPlan("empty", "")
    word = re.split(r"[\s(;]", text, maxsplit=1)[0].lower()
    if (found := _canned(word, text)) is not None:
        return found
    if word in _WRITES.split():
        raise ReadOnly("nothing is written here: ask with SELECT")
    if word == "copy":
        return _copy(text, table, domain)
    if word == "explain":
        inner = re.sub(r"^explain\s*(\([^)]*\)|analyze|verbose|\s)*", "", text, flags=re.I)
        _question(inner, table, domain)
        return StatementPlan("explain", "EXPLAIN", (("QUERY PLAN", values.TEXT, -1),), inner)
    if word not in ("select", "with", "values", "table", "("):
        raise BadSQL(f"{word.upper()[:40]} begins no statement that can be read; ask with SELECT")
    return _question(text, table, domain)


def _canned(word: str, text: str) -> StatementPlan | None:
    rest = [*text.split(None, 1), ""][1]
    if word in ("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"):
        tags = {"start": "BEGIN", "end": "COMMIT", "abort": "ROLLBACK"}
        to = word in ("rollback", "abort") and re.search(r"\bto\b", rest, re.I) is not None
        return StatementPlan("transaction", tags.get(word, word.upper()), words=("to" if to else "",))
    if word == "set":
        found = re.fullmatch(r'(session\s+|local\s+)?"?([\w.]+)"?\s*(?:=|\bto\b)\s*(.*)', rest, re.I | re.S)
        if found is None:
            if "hedgerow" in rest.lower():
                raise BadSQL("a setting is set by SET hedgerow.NAME = VALUE")
            return StatementPlan("nothing", "SET")
        value, local = found[3].strip(), (found[1] or "").strip().lower()
        bare = value[1:-1].replace("''", "'") if value[:1] == "'" and value[-1:] == "'" else value.strip('"')
        kind = "reset" if bare.lower() == "default" else "set"
        return StatementPlan(kind, "SET", words=(found[2], bare, local))
    if word == "show":
        name = rest.strip().strip('"')
        return StatementPlan("show", "SHOW", ((name.lower(), values.TEXT, -1),), words=(name,))
    if word == "reset":
        return StatementPlan("reset", "RESET", words=(rest.strip(),))
    if word == "discard":
        return StatementPlan("discard", "DISCARD ALL")
    if word in ("deallocate", "close", "unlisten"):
        return StatementPlan("nothing", {"close": "CLOSE CURSOR"}.get(word, word.upper()))
    return None


def _copy(text: str, table: str, domain: Any) -> StatementPlan:
    found = re.fullmatch(r"copy\s*\((.*)\)\s*to\s+stdout\s*(.*)", text, re.I | re.S)
    if found is None:
        if re.search(r"\bfrom\b", text, re.I) and not re.search(r"\bto\s+stdout\b", text, re.I):
            raise ReadOnly("nothing is written here: COPY (SELECT ...) TO STDOUT reads")
        raise UnsupportedSQL(
            "rows are never shown; COPY (SELECT ... GROUP BY ...) TO STDOUT copies an answer"
        )
    options = found[2].lower()
    form = "csv" if "csv" in options else "binary" if "binary" in options else "text"
    inner = _question(found[1], table, domain)
    header = "header" in options
    return StatementPlan(
        "copy", "COPY", inner.columns, words=("header" if header else "",), tree=inner, copy=form
    )


def _question(text: str, table: str, domain: Any) -> StatementPlan:
    if (nap := _SLEEP.fullmatch(text.strip())) is not None:
        return StatementPlan("sleep", columns=(("pg_sleep", values.TEXT, -1),), words=(nap[1],))
    tree = parsed(text)
    real = list(tables_of(tree))
    system = [t for t in real if _is_system(t)]
    if len(system) == len(real):
        return StatementPlan("catalogue", sql=text, tree=tree)
    if system:
        raise UnsupportedSQL("a question is about the dataset or about the catalogue, not about both")
    names = {table, "t", *(name.lower() for name in (*domain.lookups, *domain.tables))}
    for named in real:
        known = named.name.lower() in names and named.db.lower() in ("", "public")
        if not known or named.catalog.lower() not in ("", table):
            raise UnknownTable(f"there is no table {printed(named, 'postgres')!r}; there is {table!r}")
    if isinstance(tree, exp.Select) and _is_preview(tree):
        return _preview(tree, table, domain)
    return _asked(text, tree, table, domain)


def _is_system(table: exp.Table) -> bool:
    """Whether it is a table of the catalogue, or a function in a table's place."""
    if not isinstance(table.this, exp.Identifier):
        return True
    name, schema = table.name.lower(), table.db.lower()
    return schema in ("pg_catalog", "information_schema") or (not schema and name.startswith("pg_"))


def _is_preview(tree: exp.Select) -> bool:
    """Whether it asks for rows, as tools do to look at a table."""
    if tree.args.get("group") or tree.args.get("distinct"):
        return False
    if tree.find(exp.AggFunc, exp.Window, exp.Subquery) is not None:
        return False
    return all(
        isinstance(c, exp.Star) or isinstance(c.unalias(), exp.Column | exp.Boolean | exp.Literal)
        for c in tree.selects
    )


def _preview(tree: exp.Select, table: str, domain: Any) -> StatementPlan:
    kinds = {name: kind_of(attribute) for name, attribute in domain.items()}
    limit = tree.args.get("limit")
    number = limit.expression.name if limit is not None and limit.expression is not None else ""
    where = tree.args.get("where")
    said = "" if where is None else printed(where.this, "").replace(" ", "").lower()
    never = said in ("1=0", "0=1", "false", "1<>1")
    if said not in ("", "true", "1=1") and not never:
        raise UnsupportedSQL(
            "rows are never shown, and synthetic ones are not filtered; ask for counts instead"
        )
    if not never and (not number.isdigit() or int(number) > ROWS):
        raise UnsupportedSQL(
            f"rows are never shown; with LIMIT {ROWS} or less synthetic ones are, or ask "
            f"SELECT ..., COUNT(*) FROM {table} GROUP BY ..."
        )
    picked: list[tuple[str, str]] = []
    if never and all(isinstance(column.unalias(), exp.Boolean | exp.Literal) for column in tree.selects):
        columns = [_typed(_name(column), column.unalias(), domain) for column in tree.selects]
        return StatementPlan("preview", columns=tuple(columns), words=("0",))  # whether it may be read at all
    for column in tree.selects:
        if column.is_star:
            picked += [(name, name) for name in kinds]
        else:
            picked.append((column.unalias().name, column.alias_or_name))
    for name, _ in picked:
        if not name:
            raise UnsupportedSQL("rows are never shown; ask for counts, sums or averages")
        if name not in kinds:
            raise UnsupportedSQL(f"there is no column {name!r}")
    columns = [(label, kinds[name], values.SIZES.get(kinds[name], -1)) for name, label in picked]
    columns.append(("dp_source", values.TEXT, -1))
    rows = "0" if never else number
    return StatementPlan("preview", columns=tuple(columns), words=(rows, *(name for name, _ in picked)))


def _asked(text: str, tree: exp.Expr, table: str, domain: Any) -> StatementPlan:
    """A question; errors and sources asked for beside a number are taken out of it, and put back."""
    if not isinstance(tree, exp.Query):
        raise UnsupportedSQL("ask with SELECT ... FROM ...")
    plain = spelling.plainly(tree, domain)
    tree = tree if plain is None else plain
    if any(map(_is_part, tree.find_all(exp.Anonymous))):
        return _with_parts(wrapped.peeled(wrapped.pruned(tree, _is_part), _name), domain)
    if plain is not None or _rewritten(tree):
        return _with_parts(tree, domain)
    return _plain(text, tree, domain)


def _plain(text: str, tree: exp.Query, domain: Any) -> StatementPlan:
    """A question whose columns are those of its answer, in order."""
    if any(c.is_star for c in tree.selects):
        raise UnsupportedSQL("name the columns of the inner statement instead of *")
    names = [column.alias_or_name or printed(column, "") for column in tree.selects]
    if len(set(names)) < len(names):
        raise UnsupportedSQL("two columns have one name: give them names of their own with AS")
    columns = tuple(_typed(_name(c), wrapped.meant(tree, c.unalias()), domain) for c in tree.selects)
    picks = tuple((str(number), "value") for number in range(len(columns)))
    return StatementPlan("question", columns=columns, sql=text, tree=tree, picks=picks)


def _rewritten(tree: exp.Query) -> bool:
    """Whether it is printed anew first: two columns of one name, or a star for those of an inner one."""
    names = [column.alias_or_name or printed(column, "") for column in tree.selects]
    if isinstance(tree, exp.Select) and any(c.is_star for c in tree.selects):
        return wrapped.inner(tree) is not None
    return len(set(names)) < len(names)


def _is_part(node: exp.Expr) -> bool:
    """Whether it asks for a part of a number: its ends, its error, its source."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _PARTS


def _with_parts(tree: exp.Query, domain: Any) -> StatementPlan:
    tree = tree.copy()
    if not isinstance(tree, exp.Select):
        if any(map(_is_part, tree.find_all(exp.Anonymous))):
            raise UnsupportedSQL(
                "dp_low, dp_high, dp_error and dp_source stand in one SELECT, not in a UNION"
            )
        return _plain(printed(tree), tree, domain)
    wrapped.spell_out(tree, _name)
    wrapped.ordinals(tree)
    kept: list[exp.Expr] = []
    labels: dict[str, int] = {}
    columns, picks = [], []
    for column in tree.selects:
        inner, part = column.unalias(), "value"
        if isinstance(inner, exp.Anonymous) and _is_part(inner):
            part, name = inner.name.lower().removeprefix("dp_"), column.alias or inner.name.lower()
            if len(inner.expressions) != 1:
                raise UnsupportedSQL(f"{inner.name} is asked of one number, such as {inner.name}(COUNT(*))")
            inner = inner.expressions[0]
            inner = _aliased(tree, inner)
            kind = values.TEXT if part == "source" else values.FLOAT8
            columns.append((name, kind, values.SIZES.get(kind, -1)))
        else:
            columns.append(_typed(_name(column), wrapped.meant(tree, inner), domain))
        key = printed(inner, "")
        if key not in labels:
            labels[key] = len(kept)
            label = column.alias if part == "value" and column.alias else f"dp_column_{len(kept)}"
            plain = isinstance(inner, exp.Column) and not column.alias
            kept.append(inner.copy() if plain else exp.alias_(inner.copy(), label))
        picks.append((str(labels[key]), part))
    tree.set("expressions", kept)
    if any(map(_is_part, tree.find_all(exp.Anonymous))):
        raise UnsupportedSQL("dp_low, dp_high, dp_error and dp_source stand among the selected columns only")
    return StatementPlan("question", columns=tuple(columns), sql=printed(tree), tree=tree, picks=tuple(picks))


def _aliased(tree: exp.Select, inner: exp.Expr) -> exp.Expr:
    """What a name stands for, if it is that of another selected column."""
    for column in tree.selects:
        if isinstance(inner, exp.Column) and column.alias and column.alias == inner.name:
            return column.unalias()
    return inner


def _name(column: exp.Expr) -> str:
    if column.alias:
        return column.alias
    inner = column.unalias()
    while isinstance(inner, (exp.Cast, exp.Paren)):
        inner = inner.this
    if isinstance(inner, exp.Column):
        return inner.name
    if isinstance(inner, exp.Func) and not isinstance(inner, exp.Binary):
        return (inner.name if isinstance(inner, exp.Anonymous) else inner.sql_name()).lower()
    return "?column?"


def _typed(name: str, inner: exp.Expr, domain: Any) -> Column:
    kind = _kind(inner, domain)
    return name, kind, values.SIZES.get(kind, -1)


def _kind(inner: exp.Expr, domain: Any) -> int:
    """The type of a column: counts are whole, sums numeric, other numbers floats, groups texts."""
    if isinstance(inner, exp.Cast):
        return {"TEXT": values.TEXT, "VARCHAR": values.TEXT, "INT": values.INT4, "BIGINT": values.INT8}.get(
            printed(inner.to, "").upper(), _kind(inner.this, domain)
        )
    if isinstance(inner, exp.Paren):
        return _kind(inner.this, domain)
    if isinstance(inner, exp.Filter):
        return _kind(inner.this, domain)
    if isinstance(inner, (exp.Count, exp.RowNumber)):
        return values.INT8
    if isinstance(inner, exp.Sum):
        return values.NUMERIC
    if isinstance(inner, exp.Window):
        return _kind(inner.this, domain)
    if inner.find(exp.AggFunc, exp.Window) is not None or isinstance(inner, (exp.Binary, exp.Literal)):
        return values.TEXT if isinstance(inner, exp.Literal) and inner.is_string else values.FLOAT8
    return values.TEXT
