"""First run: choose a file, look its drafted schema over, say whom to protect and the budget, then learn.

A draft holds what PRIVATE rows hold. It is made for the owner who asks, goes into that one reply, which no
cache may keep, and comes back as a form; this server writes down only what the owner confirms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from hedgerow.errors import BadValue, HedgerowError, SourceError
from hedgerow.serve.call import told_to
from hedgerow.serve.console import rendering
from hedgerow.service import declared, setting_up
from hedgerow.service.declared import ColumnDraft, DeclaredColumn
from hedgerow.service.jobs import new_id

if TYPE_CHECKING:
    from hedgerow.serve.call import Call, Form

STEPS = (("schema", "What is in it"), ("budget", "Whom to protect, and how much"), ("learn", "Learn"))
ENCODINGS = ("latin-1", "cp1252", "iso8859-15", "cp1250", "cp1251", "utf-16")  # that are proposed
_FIRST = 2.0  # epsilon that is proposed
_COLUMNS = 500


async def new(call: Call) -> Response:
    """Add a dataset: a file of this machine, one that is sent, or the demo."""
    call.owner()
    return rendering.page(
        call, "new", found=await call.read(call.host.addable), demo="demo" not in call.host.datasets
    )


async def add(call: Call) -> Response:
    """Serve one more file; nothing of it is read yet."""
    call.owner()
    form = await call.form()
    if form.text("demo"):
        hosted = await call.read(call.host.demo)
    else:
        hosted = await call.read(lambda: call.host.add({"path": form.text("path")}, own_schema=True))
    return RedirectResponse(f"/d/{hosted.name}/setup", 303)


async def setup(call: Call) -> Response:
    """Set a dataset up, step by step; nothing is spent until a button says what it spends."""
    call.owner()
    return await _shown(call)


async def act(call: Call) -> Response:
    """One step of it: draft a schema from PRIVATE rows, confirm one, or give the budget, for good."""
    call.owner()
    form, hosted = await call.form(), call.hosted
    steps = {"draft": _draft, "schema": _keep_schema, "budget": _make_budget}
    if form.text("do") not in steps:
        raise BadValue("a step is to draft, to confirm a schema, or to give a budget")
    if hosted.state not in ("setup", "unlearned"):
        raise BadValue("something was learned under the schema that is there: it stays as it is")
    return await steps[form.text("do")](call, form)


async def _draft(call: Call, form: Form) -> Response:
    """A draft is on this one reply, and nowhere else; what cannot be read is asked for its encoding."""
    hosted, encoding = call.hosted, form.text("encoding") or None
    try:
        if "encoding" in form.fields:
            await call.in_lane(lambda: call.host.read_as(hosted, encoding))
        found = await call.read(lambda: setting_up.proposal(hosted))
    except SourceError as error:
        told, status = told_to(error, call.who)
        return await _shown(call, status, error=told["error"], encoding=encoding or "")
    unit, rows = found.unit or ("", 1)
    about = {"unit": unit, "max_rows": max(rows, 1), "multiline": found.multiline}
    return await _shown(call, proposal=found, drafts=found.columns, **about)


async def _keep_schema(call: Call, form: Form) -> Response:
    """What is confirmed becomes public; who may be named by which column is the draft's word, in no address.

    What is refused comes back on the page as it was left, without what only rows could tell.
    """
    hosted, drafts = call.hosted, _drafts(form)
    people: dict[str, Any] = {"unit": form.text("unit"), "max_rows": _rows_of_each(form)}
    multiline = "multiline" in form.fields
    try:
        csv = hosted.dataset.said | {"multiline": multiline}
        text = declared.text([column for draft in drafts if (column := draft.chosen) is not None], csv)
        await call.in_lane(lambda: call.host.keep_schema(hosted, text, True))
    except HedgerowError as error:
        told, status = told_to(error, call.who)
        return await _shown(call, status, drafts=drafts, **people, multiline=multiline, error=told["error"])
    call.host.settled(hosted)
    return await _shown(call, **people)


def _rows_of_each(form: Form) -> int:
    """How many rows nearly all people have, as the draft said; the owner decides in the next step."""
    said = form.text("max_rows")
    return min(max(int(said), 1), 1_000_000) if said.isascii() and said.isdigit() and len(said) < 8 else 1


async def _make_budget(call: Call, form: Form) -> Response:
    hosted = call.hosted
    asked: dict[str, Any] = {"epsilon": form.real("epsilon")}
    if form.text("protect") == "people":
        rows = form.real("max_rows")
        if not form.text("unit") or rows is None or not rows.is_integer():
            raise BadValue("to protect people, say which column names them, and how many rows of each count")
        asked |= {"unit": form.text("unit"), "max_rows": int(rows)}
    await call.in_lane(lambda: setting_up.give_budget(hosted, asked))
    call.host.settled(hosted)
    return RedirectResponse(f"/d/{hosted.name}/setup", 303)


async def _shown(call: Call, status: int = 200, **given: Any) -> Response:
    hosted, asked = call.hosted, call.request.query_params
    domain, step = await call.read(lambda: setting_up.standing(hosted))
    content: dict[str, Any] = {"step": step, "steps": STEPS, "proposal": None, "drafts": (), "error": None}
    content |= {"unit": asked.get("unit", ""), "buys": [], "chosen": _FIRST, "job": None, "columns": (),
                "fresh": new_id()}  # fmt: skip
    content |= {"encoding": hosted.settings.encoding or "", "encodings": ENCODINGS, "multiline": False}
    content |= {"max_rows": 1} | given
    if asked.get("max_rows"):
        content["max_rows"] = call.number("max_rows", 1, 1, 1_000_000)
    if not content["drafts"] and domain is not None and step != "done":
        content["columns"] = declared.declared(domain)
    if step == "budget" and domain is not None:
        content["chosen"] = _real(asked.get("epsilon")) or _FIRST
        rows, chosen = content["max_rows"], content["chosen"]
        content["buys"] = await call.read(lambda: setting_up.prospects(domain, rows, chosen))
    if step in ("learn", "done"):
        jobs = [j for j in call.host.jobs.of(hosted.name) if j["kind"] == "learn"]
        content["job"] = jobs[0] if jobs else None
        content["budget"] = hosted.opened.ledger.budget
    return rendering.page(call, "setup", status, **content)


def _real(given: str | None) -> float | None:
    try:
        value = float(given or "")
    except ValueError:
        return None
    return value if 0.001 <= value <= 100 else None


def _drafts(form: Form) -> list[ColumnDraft]:
    """The columns as the owner left them, with what each would be as another kind."""
    made = []
    for i in range(_COLUMNS):
        name = (form.texts(f"c{i}.name") or [""])[0]
        if not name:
            break
        kind = form.text(f"c{i}.kind")
        there = [k for k in declared.KINDS if k == kind or f"c{i}.{k}.missing" in form.fields]
        choices = {k: _choice(form, f"c{i}.{k}.", name, k) for k in there}
        made.append(ColumnDraft(name, kind, choices))
    if not made:
        raise BadValue("a schema has at least one column", hint="draft it again")
    return made


def _choice(form: Form, at: str, name: str, kind: str) -> DeclaredColumn:
    """A column as one kind; numbers that were added to others are put in order."""
    raw, kept = form.text(f"{at}values"), form.texts(f"{at}keep")
    if kind == "dates":
        values = tuple(form.text(f"{at}{part}") for part in ("start", "stop", "by"))
    else:
        more = [part.strip() for part in (raw.splitlines() if kind == "levels" else raw.split(","))]
        both = list(dict.fromkeys([*kept, *filter(None, more)]))
        values = declared.in_order(both) if kind == "edges" and kept and raw else tuple(both)
    empty, rest = form.text(f"{at}missing"), form.text(f"{at}other")
    missing: bool | str | tuple[str, ...] = empty if empty == declared.USUAL else bool(empty)
    if empty == "words":
        missing = tuple(form.text(f"{at}words").splitlines())
    extra = tuple((key, form.text(f"{at}{key}")) for key in declared.EXTRAS if form.text(f"{at}{key}"))
    step = form.text(f"{at}step") or None
    other = rest if rest not in ("", "yes") else rest == "yes"
    even = (form.text(f"{at}start"), form.text(f"{at}stop"), form.text(f"{at}width"))
    spaced = even if kind == "edges" and even[2] else None
    return DeclaredColumn(name, kind, values, other, missing, step, extra, spaced)
