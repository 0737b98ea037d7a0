"""Owners' pages: people and their tokens and limits, releases, the ledger in words, verifying, freezing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, RedirectResponse, Response

from hedgerow.errors import BadValue, HedgerowError, NotFound
from hedgerow.serve.console import rendering
from hedgerow.service import wire
from hedgerow.service.jobs import new_id

if TYPE_CHECKING:
    from hedgerow.serve.call import Call

_FILES = ("report.html", "synopsis.hedgerow", "synthetic.csv", "synthetic.parquet", "tables.csv",
          "datapackage.json", "receipt.json", "schema.yaml")  # fmt: skip


async def people(call: Call) -> Response:
    """People: tokens, who they are for, and what each person may spend."""
    call.owner()
    return await _people(call)


async def new_token(call: Call) -> Response:
    """Make a token; its text is on this one page and nowhere else."""
    call.owner()
    form = await call.form()
    asked: dict[str, Any] = {
        "name": form.text("name"), "role": form.text("role"), "may_spend": form.text("may_spend") == "yes",
        "datasets": form.texts("datasets") or None,
    }  # fmt: skip
    if form.text("role") == "reader":
        asked["may_spend"] = False
    token, text = call.host.new_token(asked)
    return await _people(call, made=token, text=text)


async def revoke_token(call: Call) -> Response:
    """End a token now, and every visit that was begun with it."""
    call.owner()
    call.host.state.revoke(call.request.path_params["id"])
    return RedirectResponse("/people", 303)


async def put_limit(call: Call) -> Response:
    """Let somebody spend so much of a dataset in all."""
    call.owner()
    form = await call.form()
    name, epsilon = form.text("name"), form.real("epsilon")
    hosted = call.hosted = call.host.dataset(form.text("dataset"), call.who)
    if not any(token.name == name and not token.owns for token in call.host.state.tokens()):
        raise BadValue(f"there is no analyst {name!r}", hint="make them a token first")
    await call.in_lane(lambda: hosted.limit(name, epsilon))
    return RedirectResponse("/people", 303)


async def _people(call: Call, **made: Any) -> Response:
    tokens = [t for t in call.host.state.tokens() if not t.visits]
    names = sorted({t.name for t in tokens if not t.owns and t.revoked is None})
    open_sets = [h for h in call.host.seen(call.who) if h.state != "setup"]

    def limits() -> list[dict[str, Any]]:
        told = [(h.name, n, wire.budget(h.opened.ledger, n)["yours"]) for h in open_sets for n in names]
        return [{"dataset": d, "name": n, **yours} for d, n, yours in told if yours is not None]

    found = await call.read(limits)
    content = {"tokens": tokens, "names": names, "limits": found, "sets": [h.name for h in open_sets],
               "made": None, "text": None, "now": datetime.now(UTC)} | made  # fmt: skip
    return rendering.page(call, "people", **content)


async def releases(call: Call) -> Response:
    """Releases: start one or learn, watch it, take its files."""
    call.owner()
    hosted = call.hosted
    _ = hosted.opened
    jobs = call.host.jobs.of(hosted.name)
    for job in jobs:
        job["files"] = [f for f in _FILES if (folder(call, job["id"]) / f).is_file()]
    told = await call.read(lambda: wire.budget(hosted.opened.ledger))
    return rendering.page(call, "releases", jobs=jobs, told=told, fresh=new_id())


async def add_job(call: Call) -> Response:
    """Start a release, or learn; what it spends was said on the button."""
    call.owner()
    form, hosted = await call.form(), call.hosted
    call.host.refuse_unready()
    hosted.refuse_frozen()
    if hosted.state == "setup":
        raise HedgerowError(hosted.words or "this dataset is not set up yet")
    kind = form.text("kind")
    asked: dict[str, Any] = {"kind": kind, "epsilon": form.real("epsilon")}
    if asked["epsilon"] is None:
        raise BadValue("say how much of the budget it may spend")
    if kind == "release":
        asked["workload"] = form.text("workload") or "marginals:2"
    call.host.jobs.add(hosted.name, asked, form.text("job") or None)  # sent twice, it is begun once
    there = "setup" if form.text("then") == "setup" else "releases"
    return RedirectResponse(f"/d/{hosted.name}/{there}", 303)


async def release_file(call: Call) -> Response:
    """A file of a release, to keep: what a release writes is public."""
    call.owner()
    hosted, id = call.hosted, call.request.path_params["id"]
    name = call.request.path_params["file"]
    if name not in _FILES or id not in [job["id"] for job in call.host.jobs.of(hosted.name)]:
        raise NotFound("there is no such file")
    path = folder(call, id) / name
    if not path.is_file():
        raise NotFound("there is no such file")
    return FileResponse(path, filename=f"{hosted.name}-{name}", content_disposition_type="attachment")


def folder(call: Call, id: str) -> Path:
    """Where the files of a release are."""
    return call.host.state.folder / "releases" / call.hosted.name / id


async def ledger(call: Call) -> Response:
    """Ledger: every line in words; with ?verify=1 its chain and its sums are walked again."""
    call.owner()
    held = call.hosted.opened.ledger
    told = await call.read(lambda: wire.ledger_lines(held))
    found = await call.read(held.verify) if call.request.query_params.get("verify") else None
    return rendering.page(call, "ledger", lines=told["lines"][::-1], checked=found)


async def freeze(call: Call) -> Response:
    """Stop or start answering, for a reason that the ledger keeps."""
    call.owner()
    form, hosted = await call.form(), call.hosted
    frozen, reason = form.text("do") == "freeze", form.text("reason")
    if frozen:
        hosted.stop(reason)
    await call.in_lane(lambda: hosted.freeze(reason, frozen=frozen))
    return RedirectResponse(f"/d/{hosted.name}/ledger", 303)
