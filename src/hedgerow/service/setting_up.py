"""Setting up a dataset at a server: a draft of its schema, the schema that its owner confirms, its budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue
from hedgerow.release.schema import Schema, proposal_text
from hedgerow.release.writing import whole
from hedgerow.service import budgeting, inspecting

if TYPE_CHECKING:
    from hedgerow.service.hosted import Hosted

_LEAST = 20  # rows that carry a value which is proposed


def schema_path(hosted: Hosted) -> Path:
    """Where a dataset's schema is, or will be."""
    return hosted.dataset.schema or hosted.dataset.data.parent / "schema.yaml"


def draft(hosted: Hosted) -> dict[str, Any]:
    """A schema read off PRIVATE rows, as text for the owner to change; nothing is kept."""
    told: list[str] = []
    reading: dict[str, Any] = {"encoding": None, "delimiter": None, "multiline": False}
    found = inspecting.propose(hosted.dataset.data, _LEAST, reading, lambda words, part: None, told.append)
    assert found.domain is not None
    path = schema_path(hosted)
    notes = inspecting.owner_notes(found, path)
    text = proposal_text(found.domain, path.name)
    return {"yaml": text, "confirmed": False, "words": told, "notes": notes}


def keep_schema(hosted: Hosted, text: Any, confirm: Any) -> None:
    """Write the schema file, confirmed or not; what was learned belongs to its schema, which then stays.

    Args:
        hosted: the dataset, in its lane.
        text: YAML; what is there already if None.
        confirm: whether the owner stands by it.
    """
    if not isinstance(confirm, bool) or not isinstance(text, (str, type(None))):
        raise BadValue("a schema is sent as `yaml`, a text, and `confirm`, true or false")
    if hosted.state not in ("setup", "unlearned"):
        raise BadValue("something was learned under the schema that is there: it stays as it is")
    path = schema_path(hosted)
    if text is not None:
        with whole(path) as new:
            new.write_text(text, encoding="utf-8")
            Schema.load(new)  # refuse what cannot be read before it takes the place of another
    schema = Schema.load(path)
    if confirm and not schema.confirmed:
        schema.confirm()
    hosted.reopen_here()


def give_budget(hosted: Hosted, asked: dict[str, Any]) -> None:
    """Give a dataset its budget, for good; in its lane."""
    epsilon = asked.get("epsilon")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, str)):
        raise BadValue("a budget has an `epsilon`, a number")
    if asked.get("neighbours") not in (None, "add_remove", "replace"):
        raise BadValue("`neighbours` is add_remove or replace")
    max_rows, unit = asked.get("max_rows"), asked.get("unit")
    if not (max_rows is None or (type(max_rows) is int and max_rows > 0)) or not isinstance(unit, str | None):
        raise BadValue("`unit` is the name of a column, and `max_rows` a whole number")
    names = ("delta", "unit", "max_rows", "neighbours")
    given = {name: asked[name] for name in names if asked.get(name) is not None}
    promised = replace(hosted.dataset, **given)
    budgeting.begin(promised, str(epsilon)).close()
    hosted.dataset = promised
    hosted.reopen_here()


def enlarge(hosted: Hosted, asked: dict[str, Any]) -> list[str]:
    """Raise a budget for a recorded reason; says what that costs. In the dataset's lane."""
    epsilon, delta, reason = asked.get("epsilon"), asked.get("delta"), asked.get("reason")
    for given in (epsilon, 0 if delta is None else delta):
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise BadValue("a budget is raised to an `epsilon`, a number, for a `reason`")
    if not isinstance(reason, str) or not reason.strip():
        raise BadValue("a budget is raised for a `reason`, which is kept")
    try:
        return budgeting.enlarge(
            hosted.opened.ledger, str(epsilon), None if delta is None else str(delta), reason
        )
    finally:
        hosted.forget()
