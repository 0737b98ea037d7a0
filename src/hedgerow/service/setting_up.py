"""Setting up a dataset at a server: a draft of its schema, the schema that its owner confirms, its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, DomainMismatch, NotPermitted
from hedgerow.privacy.budget import Privacy
from hedgerow.queries.workload import marginals
from hedgerow.release.numerals import meaning
from hedgerow.release.schema import Schema, proposal_text
from hedgerow.release.writing import whole
from hedgerow.service import budgeting, inspecting
from hedgerow.service.dataset import make_budget
from hedgerow.service.declared import Proposal
from hedgerow.service.prospect import Prospect

if TYPE_CHECKING:
    from hedgerow.curator.drafting.draft import Draft
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.service.hosted import Hosted

_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
_LEAST = 20  # rows that carry a value which is proposed


def schema_path(hosted: Hosted) -> Path:
    """Where a dataset's schema is, or will be."""
    return hosted.dataset.schema or hosted.settings.folder / "schema.yaml"


def draft(hosted: Hosted) -> dict[str, Any]:
    """A schema read off PRIVATE rows, as text for the owner to change; nothing is kept."""
    found, told = _proposed(hosted)
    assert found.domain is not None
    path = schema_path(hosted)
    notes = inspecting.owner_notes(found, path)
    text = proposal_text(found.domain, path.name, found.csv)
    return {"yaml": text, "confirmed": False, "words": told, "notes": notes}


def proposal(hosted: Hosted) -> Proposal:
    """The same column by column, with how many rows do not fit: PRIVATE, for the owner; nothing is kept."""
    found, told = _proposed(hosted, look=True)
    assert found.domain is not None
    fit = inspecting.fit(found.domain, hosted.dataset.data, None, found.csv, _quietly)
    return Proposal.of(found, fit, told)


def _proposed(hosted: Hosted, *, look: bool = False) -> tuple[Draft, list[str]]:
    if hosted.dataset.database is not None:
        raise BadValue(
            "a schema is drafted from a file, and these rows are in a database",
            hint="write the schema, and send it or put it where the server looks for it",
        )
    told: list[str] = []
    data = hosted.dataset.data
    return inspecting.propose(data, _LEAST, hosted.dataset.said, _quietly, told.append, look=look), told


def _quietly(words: str, part: float | None) -> None:
    """Nobody watches."""


def standing(hosted: Hosted) -> tuple[Domain | None, str]:
    """How far a dataset is set up: what was declared and confirmed, and what comes next.

    Next is `schema`, `budget`, `learn` or `done`.
    """
    path = schema_path(hosted)
    schema = Schema.load(path) if path.is_file() else None
    if schema is None or not schema.confirmed:
        return None, "schema"
    if not hosted.dataset.has_ledger or hosted.state == "setup":
        return schema.domain, "budget"
    return schema.domain, "learn" if hosted.state == "unlearned" else "done"


def prospects(domain: Domain, max_rows: int, chosen: float | None = None) -> list[dict[str, Any]]:
    """What budgets would buy on a schema, from public numbers: half of each is spent on learning.

    Args:
        domain: what was declared.
        max_rows: of one person.
        chosen: one more epsilon to show.
    """
    privacy, pairs = Privacy(max_rows=max_rows), marginals(domain, min(2, len(domain)))
    told = []
    for epsilon in sorted({*_EPSILONS, *([chosen] if chosen else [])}):
        half = make_budget(repr(epsilon / 2)).cost
        found = Prospect.of(domain, pairs, privacy, half, None)
        told.append({"epsilon": epsilon, "error": found.ones, "good_from": found.needed,
                     "words": meaning(make_budget(repr(epsilon)))})  # fmt: skip
    return told


def keep_schema(hosted: Hosted, text: Any, confirm: Any, folders: Sequence[Path]) -> None:
    """Write the schema file, confirmed or not; what was learned belongs to its schema, which then stays.

    Args:
        hosted: the dataset, in its lane.
        text: YAML; what is there already if None.
        confirm: whether the owner stands by it.
        folders: where files that a schema which is sent joins to the data may lie.
    """
    if not isinstance(confirm, bool) or not isinstance(text, (str, type(None))):
        raise BadValue("a schema is sent as `yaml`, a text, and `confirm`, true or false")
    if hosted.state not in ("setup", "unlearned"):
        raise BadValue("something was learned under the schema that is there: it stays as it is")
    path = schema_path(hosted)
    if text is not None:
        with whole(path) as new:
            new.write_text(text, encoding="utf-8")
            try:
                _refuse_far(Schema.load(new), folders)  # refused before it takes the place of another
            except DomainMismatch as error:
                raise DomainMismatch(str(error).replace(str(new), path.name)) from None
    schema = Schema.load(path)
    if confirm and not schema.confirmed:
        schema.confirm()
    hosted.reopen_here()


def _refuse_far(schema: Schema, folders: Sequence[Path]) -> None:
    """Refuse a schema that joins files of folders that the server was not given."""
    for table in schema.tables:
        file = Path(table.source).resolve()
        if not any(file.is_relative_to(folder) for folder in folders):
            raise NotPermitted(
                f"the table {table.name!r} lies in a folder that the server was not given",
                hint="put its file beside the data, or name its folder in [server] folders",
            )


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
