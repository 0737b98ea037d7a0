"""The command line's reference page, from the commands.

`python -m hedgerow.serve.cli.reference` writes it, the page of settings, and what is written from the cards.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from hedgerow.release.pages import FILES
from hedgerow.service import config_page

PAGE = "docs/cli.md"

_HEAD = """\
# Command line

Every command takes `--json` and then prints exactly one JSON object on standard output. A result says when it
began (`time`, UTC), how many seconds it took (`duration`) and which `version` says so. Progress and warnings
go to standard error. An error is one sentence there; with `--json` it is also an object with `error`,
`exit_code`, `code` and `hint` on standard output. Nothing is charged for bad input.

| exit code | means | `code` |
| --- | --- | --- |
| 0 | done | |
| 1 | refuted: a claim, a ledger, a schema that does not fit; or an error of Hedgerow's own | `internal` |
| 2 | bad input or configuration: mend it | all others |
| 3 | refused by the budget | `budget_refused` |
| 4 | may pass, try again: a disk is full or away, or another process holds the ledger | `..._unavailable` |
| 5 | not permitted by the system: change who may read or write the file | `not_permitted` |
| 130 | interrupted by Ctrl-C, SIGTERM or SIGHUP; what was charged is in the ledger | `interrupted` |

Codes of 2 are `bad_input`, `too_large`, `data_changed`, `request_reused`, `not_learned` and `not_printed`
(all is done and paid for, and only standard output had no room: not to be given again), and of SQL `bad_sql`,
`unsupported_sql`, `unknown_column`, `unknown_level`, `unknown_table` and `cuts_bin`; those of 4 are
`ledger_unavailable` and `storage_unavailable`. A reader that leaves a pipe early (`head`) is no error. Files
are written beside their name and take it when all of them is on the disk, so a full disk leaves what was
there. [Running it for a year](operate.md) uses these codes. `hedgerow --install-completion` sets up
completion for your shell.

This page is written from the commands (`python -m hedgerow.serve.cli.reference`); a test fails when it is
stale.
"""


def reference() -> str:
    """The page as Markdown."""
    from typer.main import get_command

    from hedgerow.serve.cli.commands import app

    return _HEAD + "".join(_command(path, command) for path, command in _walk("hedgerow", get_command(app)))


def _walk(path: str, command: Any) -> list[tuple[str, Any]]:
    """All commands that do something, with their full names, in the order of registration."""
    below = getattr(command, "commands", None)
    if below is None:
        return [(path, command)]
    return [found for name, sub in below.items() for found in _walk(f"{path} {name}", sub)]


def _command(path: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    places = [_place(p) if p.required else f"[{_place(p)}]" for p in arguments]
    usage = " ".join([path, *places, "[options]"])
    text = inspect.cleandoc(command.help or "")
    rows = [f"| `{_place(p)}` | {_help(p)} |" for p in arguments]
    rows += [f"| `{', '.join([*p.opts, *p.secondary_opts])}` | {_help(p)} |" for p in options]
    return f"\n## `{path}`\n\n    {usage}\n\n{text}\n\n| | |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _place(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _help(param: Any) -> str:
    said = (param.help or "").replace("|", "\\|")
    default = param.default
    if param.param_type_name == "option" and param.required:
        return f"{said} Required."
    if default is None or isinstance(default, bool) or default is ... or callable(default):
        return said
    return f"{said} Default: `{default}`."


if __name__ == "__main__":
    Path(PAGE).write_text(reference(), encoding="utf-8")
    Path(config_page.PAGE).write_text(config_page.config_page(), encoding="utf-8")
    for path, written in FILES.items():
        Path(path).write_text(written(Path(path).read_text("utf-8")), encoding="utf-8")
