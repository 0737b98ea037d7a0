"""The command line's reference page, from the commands: `python -m hedgerow.serve.reference`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

PAGE = "docs/cli.md"

_HEAD = """\
# Command line

Every command takes `--json` and then prints one JSON object. Errors are one sentence on standard error; with
`--json` there is also an object with `error` and `exit_code` on standard output. Exit codes: 0 done, 1
refuted by an audit or an error of Hedgerow's own, 2 bad input, 3 refused by the budget, 130 interrupted.
Nothing is charged for bad input. `hedgerow --install-completion` sets up completion for your shell.

This page is written from the commands (`python -m hedgerow.serve.reference`); a test fails when it is stale.
"""


def reference() -> str:
    """The page as Markdown."""
    from typer.main import get_command

    from hedgerow.serve.commands import app

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
    rows += [f"| `{', '.join(p.opts)}` | {_help(p)} |" for p in options]
    return f"\n## `{path}`\n\n    {usage}\n\n{text}\n\n| | |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _place(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _help(param: Any) -> str:
    said = (param.help or "").replace("|", "\\|")
    default = param.default
    if param.param_type_name == "option" and param.required:
        return f"{said} Required."
    if default is None or default is False or default is ... or callable(default):
        return said
    return f"{said} Default: `{default}`."


if __name__ == "__main__":
    Path(PAGE).write_text(reference(), encoding="utf-8")
