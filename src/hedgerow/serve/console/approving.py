"""The queue of questions that wait for the owner, from both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from hedgerow.errors import NotPermitted
from hedgerow.serve.console import asking, rendering
from hedgerow.service import wire

if TYPE_CHECKING:
    from hedgerow.serve.call import Call
    from hedgerow.service.asking import Answered, Ask


async def approvals(call: Call) -> Response:
    """Approvals: what waits for the owner and what was decided; of one's own, or all for owners."""
    who, hosted = call.who, call.hosted
    items = await call.read(lambda: call.host.approvals.of(hosted.name, who))
    items = sorted(items, key=lambda i: (i["state"] != "waiting", i["time"]), reverse=False)
    shown = [item | {"picture": asking.picture(item["answer"]) if item["answer"] else None} for item in items]
    left = None
    if hosted.state != "setup":
        left = (await call.read(lambda: wire.budget(hosted.opened.ledger)))["remaining"]
    return rendering.page(call, "approvals", items=shown, left=left)


async def put(call: Call) -> Response:
    """Put a question to the owner, with a reason."""
    who, hosted = call.who, call.hosted
    call.host.refuse_haste(who)
    if who.role == "reader":
        raise NotPermitted(
            "readers ask for what was learned only", hint="ask the owner for a token to ask more"
        )
    form = await call.form()
    data: dict[str, Any] = {"sql": form.text("sql"), "reason": form.text("reason")}
    if (within := form.real("within")) is not None:
        data["within_count"] = within
    question, reason = call.host.approvals.read(data)
    cost = (await call.turn.explain(question))["cost"]
    call.host.approvals.put(hosted.name, who, question, reason, cost)
    return RedirectResponse(f"/d/{hosted.name}/approvals", 303)


async def decide(call: Call) -> Response:
    """Approve a question, which is then asked and paid, or refuse it."""
    who, queue = call.owner(), call.host.approvals
    form, hosted = await call.form(), call.hosted
    state, reason = queue.decision({"decision": form.text("decision"), "reason": form.text("reason")})
    id, turn = call.request.path_params["id"], call.turn
    if queue.get(id)["dataset"] != hosted.name:
        raise NotPermitted("this question is about another dataset", hint="decide it on its own page")

    def carry_out(question: Ask) -> Answered:
        given = hosted.ask(question, who)
        turn.noted(given)
        return given

    await turn.charge(lambda: queue.decide(id, state, reason, carry_out))
    return RedirectResponse(f"/d/{hosted.name}/approvals", 303)
