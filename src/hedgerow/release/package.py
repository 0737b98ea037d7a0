"""A data package: what the files and columns of a release's folder are, as portals read it (Frictionless)."""

from __future__ import annotations

import datetime as dt
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hedgerow
from hedgerow.queries.domain.domain import Domain
from hedgerow.release.numerals import amount

if TYPE_CHECKING:
    from hedgerow.synopsis import Synopsis

NAME = "datapackage.json"
_MAKER = "hedgerow release"
_MOST = 1000  # levels that are listed
_MEDIA = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".html": "text/html",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
    ".hedgerow": "application/octet-stream",
}
_TABLES = [
    {"name": "table", "type": "string", "description": "which table a line belongs to"},
    *({"name": f"{what}_{i}", "type": "string"} for i in (1, 2) for what in ("column", "level")),
    {"name": "count", "type": "number", "description": "released count; noise may make it negative"},
    {"name": "low", "type": "number", "description": "lower end of its bound, 95% or more"},
    {"name": "high", "type": "number", "description": "upper end of its bound, 95% or more"},
]


def is_ours(path: Path) -> bool:
    """Whether the file may be written: there is none, or a release wrote it."""
    try:
        return _MAKER in path.open(encoding="utf-8").readline()
    except FileNotFoundError:
        return True
    except (OSError, UnicodeError):
        return False


def write_package(synopsis: Synopsis, data: str, folder: Path, files: list[str]) -> None:
    """Describe the files of a folder; reads nothing but what is public.

    Args:
        synopsis: the release.
        data: what to call it.
        folder: where the files are.
        files: their names.
    """
    settings = synopsis.receipt.settings
    described = {
        "maker": f"{_MAKER} {hedgerow.__version__}",  # on the first line, by which the file is known again
        "profile": "data-package",
        "name": re.sub(r"[^a-z0-9._-]+", "-", data.lower()).strip("-.") or "release",
        "title": f"A release of {data} with differential privacy",
        "description": f"Released by {synopsis.provenance.mechanism} at a cost of "
        f"{amount(synopsis.cost, settings.budget)}; every number carries noise."
        + ("" if synopsis.private else " NOT PRIVATE: made with test randomness or a simulated ledger."),
        "created": f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}",
        "keywords": ["differential privacy", "synthetic data", "statistics"],
        "sources": [{"title": line} for line in synopsis.citation().splitlines()],
        "resources": [_resource(synopsis, folder / name) for name in files],
    }
    text = json.dumps(described, indent=1, ensure_ascii=False)
    (folder / NAME).write_text("{" + text[1:].lstrip() + "\n", "utf-8")


def _resource(synopsis: Synopsis, path: Path) -> dict[str, Any]:
    """One file: where, how large, its digest and, of tables, its columns."""
    held = path.read_bytes()
    found: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9]+", "-", path.name.lower()),
        "path": path.name,
        "format": path.suffix.removeprefix("."),
        "mediatype": _MEDIA.get(path.suffix, "application/octet-stream"),
        "bytes": len(held),
        "hash": f"sha256:{sha256(held).hexdigest()}",
    }
    if path.suffix == ".csv":
        fields = _TABLES if path.stem == "tables" else _fields(synopsis)
        found |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
        found["schema"] = {"fields": fields, "missingValues": [""]}
    return found


def _fields(synopsis: Synopsis) -> list[dict[str, Any]]:
    """The columns of synthetic rows, with their declared levels."""
    from hedgerow.release.rows import arrow_schema

    fields: list[dict[str, Any]] = []
    domain = synopsis.domain
    for field in arrow_schema(synopsis):
        kind = str(field.type)
        words = {"double": "number", "date32[day]": "date", "bool": "boolean"}
        one: dict[str, Any] = {"name": field.name, "type": words.get(kind, "string")}
        one["type"] = "integer" if kind.startswith(("int", "uint")) else one["type"]
        if isinstance(domain, Domain) and one["type"] == "string" and domain[field.name].size <= _MOST:
            levels = domain[field.name].decode(range(domain[field.name].size)).tolist()
            one["constraints"] = {"enum": [str(v) for v in levels if v is not None]}
        fields.append(one)
    return fields
