"""The page of settings: every key of hedgerow.toml and every variable, from the classes that read them."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from inspect import cleandoc
from typing import Any

from hedgerow.service.config import DatasetSettings, Limits, ServerSettings

PAGE = "docs/config.md"
PARTS: dict[str, Any] = {"[server]": ServerSettings, "[limits]": Limits, "[[dataset]]": DatasetSettings}
VARIABLES = {
    "HEDGEROW_URL": "clients: the server, `http://HOST:PORT` or with a dataset, `http://HOST:PORT/people`",
    "HEDGEROW_TOKEN": "clients: the token",
    "HEDGEROW_CONFIG": "server: where hedgerow.toml is, as `--config`",
    "HEDGEROW_STATE": "server: the state folder, as `--state`",
    "HEDGEROW_OWNER_TOKEN": "server: the owner's token, instead of one that is made and shown once",
    "HEDGEROW_LEDGER": "all commands that open data: the ledger, as `--ledger`",
    "HEDGEROW_REQUIRE_BUDGET": "1: refuse data without a budget instead of making one, as `--require-budget`",
    "HEDGEROW_ROW_CACHE": "off: keep no coded rows of CSV files beside them",
    "HEDGEROW_DEBUG": "1: show where in the code an error came from; for those who mend it",
}

_HEAD = """\
# Settings

`hedgerow serve --config hedgerow.toml` reads three kinds of sections. Options of the [command line](cli.md)
come before the file, and the file before what is said here as usual. A key that means nothing is refused;
`hedgerow serve --config hedgerow.toml --check` says whether a server could start, without starting one. Paths
are relative to the file.

```toml
[server]
port = 8765
state = "state"

[limits]
asks_per_minute = 600

[[dataset]]
path = "people.csv"
schema = "schema.yaml"
epsilon = 2.0
unit = "person_id"
max_rows = 3
```

This page is written from the classes that read the settings (`python -m hedgerow.serve.cli.reference`); a
test fails when it is stale, or when a setting or a variable has no line.
"""


def config_page() -> str:
    """The page as Markdown."""
    parts = [_section(name, kind) for name, kind in PARTS.items()]
    lines = [f"| `{name}` | {words} |" for name, words in VARIABLES.items()]
    variables = "\n## In the environment\n\n| variable | for whom, and what |\n| --- | --- |\n" + "\n".join(
        lines
    )
    more = "\n\n`NAME_FILE` names a file that holds the value of a secret (`HEDGEROW_TOKEN_FILE`).\n"
    return _HEAD + "".join(parts) + variables + more


def _section(name: str, kind: Any) -> str:
    said = described(kind)
    rows = [f"| `{f.name}` | {said[f.name]} | {_usual(f)} |" for f in fields(kind)]
    words = cleandoc(kind.__doc__ or "").partition("\n")[0].partition(": `")[0]
    return (
        f"\n## `{name}`\n\n{words}.\n\n| key | what it says | as usual |\n| --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def described(kind: Any) -> dict[str, str]:
    """What the docstring says of each field; several may share a line."""
    found = {}
    for names, words in re.findall(
        r"^    ([\w, ]+): (.+(?:\n        .+)*)", cleandoc(kind.__doc__ or ""), re.M
    ):
        for name in names.split(", "):
            found[name] = " ".join(words.split()).replace("|", "\\|")
    return found


def _usual(one: Any) -> str:
    if one.default is MISSING:
        return "must be said"
    return "" if one.default in (None, ()) else f"`{one.default}`"
