"""SQLAlchemy's dialect: `create_engine("hedgerow://:TOKEN@HOST:PORT/DATASET?spend=on&tls=off")`.

The catalogue comes from the declared schema: one table, its columns, no keys. There is nothing to write.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import types
from sqlalchemy.engine import default, reflection
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.sql import compiler

from hedgerow import dbapi
from hedgerow.client.dbapi_failure import raised

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NUMBERS = ("within", "within_count", "confidence", "max_epsilon")


class HedgerowCompiler(compiler.SQLCompiler):
    """Statements as Hedgerow's SQL has them: a limit is a number, not a parameter."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """LIMIT and OFFSET, written out."""
        said = ""
        for word, clause in (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause)):
            if clause is not None:
                said += f"\n {word} " + self.process(clause.render_literal_execute(), **kw)
        return said


class HedgerowDialect(default.DefaultDialect):
    """What SQLAlchemy has to know about Hedgerow."""

    name = "hedgerow"
    driver = "http"
    default_paramstyle = "qmark"
    statement_compiler = HedgerowCompiler
    supports_statement_cache = True
    supports_alter = supports_sequences = supports_default_values = supports_empty_insert = False
    supports_native_boolean = supports_native_decimal = True
    supports_sane_rowcount = supports_sane_multi_rowcount = False
    postfetch_lastrowid = insert_returning = False
    requires_name_normalize = False
    max_identifier_length = 255

    @classmethod
    def import_dbapi(cls) -> Any:
        """The module of PEP 249."""
        return dbapi

    def create_connect_args(self, url: Any) -> Any:
        """What `dbapi.connect` is called with.

        Args:
            url: hedgerow://:TOKEN@HOST:PORT/DATASET.
        """
        host, said = url.host or "127.0.0.1", dict(url.query)
        tls = _switch(said, "tls", default=host not in _LOOPBACK)
        place = f"[{host}]" if ":" in host else host
        server = f"{'https' if tls else 'http'}://{place}:{url.port or (443 if tls else 8765)}"
        options: dict[str, Any] = {name: _switch(said, name, default=False) for name in ("spend", "errors")}
        for name in _NUMBERS:
            if name in said:
                options[name] = _number(name, said.pop(name))
        if said:
            raise ArgumentError(f"an address of Hedgerow's has no {min(said)!r}")
        token = url.password or (url.username if str(url.username or "").startswith("hr_") else None)
        return ([server, token, url.database], options)

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the server still answers; costs nothing."""
        with raised():
            dbapi_connection.client.datasets()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether the server was lost."""
        return getattr(e, "code", None) == "unreachable"

    @reflection.cache
    def get_table_names(self, connection: Any, schema: Any = None, **kw: Any) -> list[str]:
        """The dataset, which is one table."""
        return [] if schema not in (None, "public") else [_client(connection).dataset]

    def get_view_names(self, connection: Any, schema: Any = None, **kw: Any) -> list[str]:
        """None."""
        return []

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """The one there is."""
        return ["public"]

    def has_table(self, connection: Any, table_name: str, schema: Any = None, **kw: Any) -> bool:
        """Whether a name is the dataset's."""
        return table_name in self.get_table_names(connection, schema)

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: Any = None, **kw: Any) -> Any:
        """The declared columns."""
        self._refuse(connection, table_name, schema)
        with raised():
            told = _client(connection).schema()["attributes"]
        return [
            {"name": a["name"], "type": _type(a), "nullable": bool(a["missing"]), "default": None}
            for a in told
        ]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: Any = None, **kw: Any) -> Any:
        """No keys: rows are private."""
        self._refuse(connection, table_name, schema)
        return {"constrained_columns": [], "name": None}

    def _none(self, connection: Any, table_name: str, schema: Any = None, **kw: Any) -> Any:
        """Nothing of the kind is declared."""
        self._refuse(connection, table_name, schema)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _none

    def get_table_comment(self, connection: Any, table_name: str, schema: Any = None, **kw: Any) -> Any:
        """What the table is."""
        self._refuse(connection, table_name, schema)
        return {"text": "private rows: aggregates are answered with noise, from one budget"}

    def _get_server_version_info(self, connection: Any) -> Any:
        return None

    def _get_default_schema_name(self, connection: Any) -> str:
        return "public"

    def _refuse(self, connection: Any, table: str, schema: Any) -> None:
        if not self.has_table(connection, table, schema):
            raise NoSuchTableError(table)


def _client(connection: Any) -> Any:
    return connection.connection.dbapi_connection.client


def _type(attribute: dict[str, Any]) -> Any:
    if attribute["kind"] == "date":
        return types.Date()
    if attribute["kind"] == "bins":
        return types.Integer() if attribute["step"] == 1 else types.Float()
    whole = attribute["levels"] and all(isinstance(level, int) for level in attribute["levels"])
    return types.Integer() if whole else types.String()


def _switch(said: dict[str, Any], name: str, *, default: bool) -> bool:
    word = said.pop(name, None)
    if word is None:
        return default
    if word not in ("on", "off"):
        raise ArgumentError(f"`{name}` is on or off, not {word!r}")
    return bool(word == "on")


def _number(name: str, word: Any) -> float:
    try:
        return float(word)
    except (TypeError, ValueError):
        raise ArgumentError(f"`{name}` is a number, not {word!r}") from None
