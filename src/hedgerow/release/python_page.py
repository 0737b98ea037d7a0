"""The reference of the Python names, written from their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_HEAD = """\
# Python

All names of `import hedgerow as hr`, from their docstrings. (`python -m hedgerow.serve.cli.reference` writes
this page; a test fails when it is stale.) Names that begin with an underscore, and modules that are not named
here, may change in any version.
"""
_ROOMS = {
    "queries": "Schemas, questions, workloads",
    "curator": "Rows",
    "privacy": "Budgets and ledgers",
    "mechanisms": "Mechanisms",
    "release": "Planning",
    "synopsis": "What is released",
    "client": "Servers",
    "errors": "Errors",
    "": "Modules",
}
_INHERITED = (object, Exception, ValueError, tuple, dict)


def python_page(_: str = "") -> str:
    """The page as Markdown."""
    import hedgerow

    rooms: dict[str, list[tuple[str, Any]]] = {room: [] for room in _ROOMS}
    for name in hedgerow.__all__:
        if not name.startswith("__"):
            thing = getattr(hedgerow, name)
            room = "" if isinstance(thing, ModuleType) else thing.__module__.split(".")[1]
            rooms[room].append((name, thing))
    parts = [_HEAD]
    for room, title in _ROOMS.items():
        parts += [f"\n## {title}\n", *(_entry(name, thing) for name, thing in sorted(rooms[room], key=_low))]
    return "".join(parts)


def _low(entry: tuple[str, Any]) -> str:
    return entry[0].lower()


def _entry(name: str, thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return f"\n### hr.{name}\n\n{_words(thing)}\n\n{_listed(thing)}"
    return f"\n### hr.{name}\n\n```pycon\n{_called(name, thing)}\n```\n\n{_words(thing)}\n{_methods(thing)}"


def _listed(module: ModuleType) -> str:
    names = getattr(module, "__all__", [])
    return f"Names: {', '.join(f'`{n}`' for n in sorted(names, key=str.lower))}.\n" if names else ""


def _called(name: str, thing: Any) -> str:
    """How it is called: one line, or one for each parameter."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    shown = [p for p in signature.parameters.values() if not p.name.startswith("_") and p.name != "self"]
    each = [_parameter(p) for p in shown]
    if any(p.kind is p.KEYWORD_ONLY for p in shown) and not any(p.kind is p.VAR_POSITIONAL for p in shown):
        each.insert(next(i for i, p in enumerate(shown) if p.kind is p.KEYWORD_ONLY), "*")
    plain = f"{name}({', '.join(each)})"
    return plain if len(plain) <= 100 else f"{name}(\n" + "".join(f"    {one},\n" for one in each) + ")"


def _parameter(p: inspect.Parameter) -> str:
    stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    kind = "" if p.annotation is p.empty else f": {str(p.annotation).strip(chr(39))}"
    default = "" if p.default is p.empty else f" = {p.default!r}" if kind else f"={p.default!r}"
    return f"{stars}{p.name}{kind}{default}".replace("<factory>", "...")


def _words(thing: Any) -> str:
    """A docstring as Markdown: arguments as a list, examples as code."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(
        r"(?:^>>> .*\n?(?:^(?!\n).+\n?)*)", lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", text, flags=re.M
    )
    text = re.sub(r"^(Args|Returns|Raises):\n((?: {4}.*\n?|\n(?= {4}))+)", _arguments, text, flags=re.M)
    return text.strip()


def _arguments(match: re.Match[str]) -> str:
    lines = re.sub(r"\n {8,}", " ", match[2]).splitlines()
    items = [re.sub(r"^ {4}([\w, *]+):", r"* `\1`:", line) for line in lines]
    return f"**{match[1]}**\n\n" + "\n".join(items) + "\n"


def _methods(thing: Any) -> str:
    """The public methods and properties of a class, its own and what it inherits from ours."""
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return ""
    return "".join(f"\n{line}" for line in _each_method(thing)) + "\n"


def _each_method(kind: type) -> Iterator[str]:
    seen: set[str] = set()
    for owner in kind.__mro__:
        if owner in _INHERITED or not owner.__module__.startswith("hedgerow."):
            continue
        for name, value in vars(owner).items():
            inner = getattr(value, "__func__", value)
            said = inspect.getdoc(getattr(inner, "fget", None) or getattr(inner, "func", None) or inner)
            known = callable(inner) or isinstance(value, property) or hasattr(value, "func")
            if name.startswith("_") or name in seen or not known or not said:
                continue
            seen.add(name)
            called = _called(name, inner) if inspect.isfunction(inner) else name
            yield f"* `{' '.join(called.split())}` - {' '.join(said.split(chr(10) * 2)[0].split())}"
