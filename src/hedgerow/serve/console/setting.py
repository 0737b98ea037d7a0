"""First run: choose a file, look its drafted schema over, say whom to protect and the budget, then learn.

A draft holds what PRIVATE rows hold. It is made for the owner who asks, goes into that one reply, which no
cache may keep, and comes back as a form; this server writes down only what the owner confirms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from hedgerow.errors import BadValue
from hedgerow.serve.console import rendering
from hedgerow.service import declared, setting_up
from hedgerow.service.declared import DeclaredColumn
from hedgerow.service.jobs import new_id

if TYPE_CHECKING:
    from hedgerow.serve.call import Call, Form

STEPS = (("schema", "What is in it"), ("budget", "Whom to protect, and how much"), ("learn", "Learn"))
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
    """A draft is on this one reply, and nowhere else."""
    hosted = call.hosted
    found = await call.read(lambda: setting_up.proposal(hosted))
    return await _shown(call, proposal=found, columns=found.columns)


async def _keep_schema(call: Call, form: Form) -> Response:
    """What is confirmed becomes public; which column may name people is the draft's word, in no address."""
    hosted, text = call.hosted, declared.text(_columns(form))
    await call.in_lane(lambda: call.host.keep_schema(hosted, text, True))
    call.host.settled(hosted)
    return await _shown(call, unit=form.text("unit"))


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


async def _shown(call: Call, proposal: Any = None, columns: Any = (), unit: str | None = None) -> Response:
    hosted, asked = call.hosted, call.request.query_params
    domain, step = await call.read(lambda: setting_up.standing(hosted))
    content: dict[str, Any] = {"step": step, "steps": STEPS, "proposal": proposal, "columns": columns}
    content |= {
        "unit": asked.get("unit", "") if unit is None else unit,
        "buys": [],
        "chosen": _FIRST,
        "job": None,
        "fresh": new_id(),
    }
    content["max_rows"] = call.number("max_rows", 1, 1, 1_000_000) if asked.get("max_rows") else 1
    if proposal is None and domain is not None and step != "done":
        content["columns"] = declared.declared(domain)
    if step == "budget" and domain is not None:
        content["chosen"] = _real(asked.get("epsilon")) or _FIRST
        rows, chosen = content["max_rows"], content["chosen"]
        content["buys"] = await call.read(lambda: setting_up.prospects(domain, rows, chosen))
    if step in ("learn", "done"):
        jobs = [j for j in call.host.jobs.of(hosted.name) if j["kind"] == "learn"]
        content["job"] = jobs[0] if jobs else None
        content["budget"] = hosted.opened.ledger.budget
    return rendering.page(call, "setup", **content)


def _real(given: str | None) -> float | None:
    try:
        value = float(given or "")
    except ValueError:
        return None
    return value if 0.001 <= value <= 100 else None


def _columns(form: Form) -> list[DeclaredColumn]:
    """The columns that are kept, as the owner left them."""
    made = []
    for i in range(_COLUMNS):
        name = (form.texts(f"c{i}.name") or [""])[0]
        if not name:
            break
        if not form.text(f"c{i}.keep"):
            continue
        kind = form.text(f"c{i}.kind")
        if kind not in declared.KINDS:
            raise BadValue(f"the column {name!r} has levels, bins or dates")
        if kind == "dates":
            values = tuple(form.text(f"c{i}.{part}") for part in ("start", "stop", "by"))
        else:
            raw = form.text(f"c{i}.values")
            parts = raw.splitlines() if kind == "levels" else raw.split(",")
            values = tuple(part.strip() for part in parts if part.strip())
        empty, rest = form.text(f"c{i}.missing"), _flag(form.text(f"c{i}.other"))
        missing: bool | str = empty if empty == "usual" else bool(empty)
        step = form.text(f"c{i}.step") or None
        made.append(DeclaredColumn(name, kind, values, other=rest, missing=missing, step=step))
    return made


def _flag(given: str) -> bool | str:
    """A level's name, or whether there is one."""
    return given if given not in ("", "yes") else given == "yes"
