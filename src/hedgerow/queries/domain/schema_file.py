"""Schema files: YAML or JSON read strictly, because a name written twice would silently lose one meaning."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow.errors import DomainMismatch, of_system


def read_schema(path: str | Path) -> Any:
    """What a schema file holds, as plain data; one sentence when it cannot be read."""
    import yaml

    if not isinstance(path, str | PathLike):
        raise DomainMismatch("a schema is read from the path of a file")
    name = repr(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DomainMismatch(f"there is no schema file {name}") from None
    except IsADirectoryError:
        raise DomainMismatch(f"{name} is a folder, and a schema is a file") from None
    except PermissionError as error:
        raise of_system(error, f"the schema file {name} cannot be read") from None
    except (OSError, UnicodeDecodeError):
        raise DomainMismatch(f"the schema file {name} cannot be read as UTF-8 text") from None
    try:
        if str(path).endswith(".json"):
            return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, name))
        return _from_yaml(text, name)
    except (yaml.YAMLError, json.JSONDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else getattr(error, "lineno", "?")
        raise DomainMismatch(f"the schema file {name} is malformed near line {line}") from None
    except ValueError as error:  # a date or number by its form that is none, such as the 13th month
        raise DomainMismatch(f"the schema file {name} has a value that is none: {error}") from None
    except RecursionError:
        raise DomainMismatch(f"the schema file {name} is nested too deeply") from None


def _from_yaml(text: str, name: str) -> Any:
    """The one document of a text; its mappings are checked before they are built."""
    import yaml

    loader = yaml.SafeLoader(text)
    root = loader.get_single_node()
    left, seen = [] if root is None else [root], set()
    while left:
        node = left.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _once([(key.value, None) for key, _ in node.value if isinstance(key, yaml.ScalarNode)], name)
            _spelled([key for key, _ in node.value], name)
            left += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            _spelled(node.value, name)
            left += node.value
        else:
            _possible(loader, node, name)
    return None if root is None else loader.construct_document(root)


def _possible(loader: Any, node: Any, name: str) -> None:
    """Refuse a date or number by its form that is none, such as the 13th month."""
    try:
        loader.construct_object(node)
    except ValueError as error:
        raise DomainMismatch(
            f"the schema file {name} has {node.value} in line {node.start_mark.line + 1}, which cannot be: "
            f"{error}"
        ) from None


def _spelled(nodes: list[Any], name: str) -> None:
    """Refuse names and levels such as a bare `no`: YAML reads a truth value where the data holds a word."""
    for node in nodes:
        if node.tag == "tag:yaml.org,2002:bool" and node.value not in ("true", "false"):
            raise DomainMismatch(
                f"the schema file {name} has a bare {node.value} in line {node.start_mark.line + 1}, which "
                f'YAML reads as a truth value: put it into quotes ("{node.value}"), or write true or false'
            )


def _once(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DomainMismatch(f"the schema file {name} has {twice!r} twice in one place")
    return made
