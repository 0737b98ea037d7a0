"""What tools sent, by the server's own log: read from it, kept as fixtures, and replayed without a server.

`HEDGEROW_RECORD=1 python -m pytest tests/wire` writes `tests/fixtures/wire/TOOL.json` anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.serve.wire import failure
from hedgerow.serve.wire.plans import plan
from hedgerow.service.catalogue import Catalogue

RECORD = "HEDGEROW_RECORD"
FOLDER = Path(__file__).parents[1] / "fixtures" / "wire"
TOOLS = ("adbc", "asyncpg", "connectorx", "duckdb", "odbc", "pandas", "pgjdbc", "polars", "psql", "psycopg",
         "r", "sqlalchemy", "superset")  # fmt: skip


def heard(log: Path) -> Iterator[dict[str, Any]]:
    """Who sent which statement with which values, in order."""
    for line in log.read_text().splitlines():
        words = json.loads(line)["message"] if line.startswith("{") else ""
        if words.startswith("said {"):
            yield json.loads(words.removeprefix("said "))


def replayed(sql: str, values: Sequence[Any], domain: Any, catalogue: Catalogue) -> dict[str, Any]:
    """What becomes of a statement: its kind, its columns with their types, the rows of the catalogue's."""
    try:
        found = plan(sql, "people", domain)
        held = found.tree if found.kind == "copy" else found
        if held.kind == "catalogue":
            columns, rows = catalogue.run(held.tree, values, "ann")
            return {"kind": found.kind, "columns": [list(c) for c in columns], "rows": len(rows)}
        columns = [(name, kind) for name, kind, _ in found.columns or ()]
        return {"kind": found.kind, "columns": [list(c) for c in columns]}
    except HedgerowError as error:
        return {"refused": failure.fields(error, owner=False)["C"]}


def record(log: Path) -> None:
    """Write down what every tool sent, each statement once, with what became of it."""
    by_tool: dict[str, dict[str, dict[str, Any]]] = {}
    for line in heard(log):
        known = by_tool.setdefault(line["who"], {})
        if line["sql"] not in known or (line["values"] and not known[line["sql"]]["values"]):
            known[line["sql"]] = {"sql": line["sql"], "values": line["values"]}
    for tool in sorted(set(TOOLS) & by_tool.keys()):
        write(tool, list(by_tool[tool].values()))


def write(tool: str, statements: list[dict[str, Any]]) -> None:
    """Keep the statements of one tool."""
    import tempfile

    from services import wire_people

    with tempfile.TemporaryDirectory() as folder:
        domain = wire_people.domain(Path(folder))
    catalogue = Catalogue("people", domain)
    for said in statements:
        said["became"] = replayed(said["sql"], said["values"], domain, catalogue)
    catalogue.close()
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"tool": tool, "statements": statements}, indent=1, ensure_ascii=False)
    (FOLDER / f"{tool}.json").write_text(text + "\n")
