"""Asking over HTTP: ask, many at once, explain, and what waits for the owner's approval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import BadValue, NotPermitted
from hedgerow.serve.call import Call, reply
from hedgerow.service import frames
from hedgerow.service.asking import Ask

if TYPE_CHECKING:
    from hedgerow.service.asking import Answered

_MANY = 1000  # questions of one request


async def ask(call: Call) -> Response:
    """One question, one answer."""
    _ = call.who, call.hosted
    return _shown(call, await call.turn.ask(Ask.of(await call.json())))


async def ask_batch(call: Call) -> Response:
    """Many questions, priced and refused as a whole."""
    who, hosted, turn = call.who, call.hosted, call.turn
    asks, request = _many(await call.json())
    call.host.refuse_haste(who, len(asks))
    for question in asks:
        hosted.refuse_spending(question, who)

    async def answers() -> dict[str, Any]:
        free = await turn.read(lambda: [hosted.free(question, who) for question in asks])
        given = free if None not in free else await turn.charge(lambda: hosted.ask_all(asks, who))
        return {"answers": [turn.noted(answered) for answered in given]}

    return reply(await turn.once(request, repr([question.bound for question in asks]), answers))


async def explain(call: Call) -> Response:
    """What asking would do, from public things only; spends nothing and reads no rows."""
    who, turn = call.who, call.turn
    data = await call.json()
    if isinstance(data, dict) and "questions" in data:
        asks, _ = _many(data)
        call.host.refuse_haste(who, len(asks))
        return reply({"explanations": [await turn.explain(question) for question in asks]})
    call.host.refuse_haste(who)
    return reply(await turn.explain(Ask.of(data)))


async def put_approval(call: Call) -> Response:
    """A question that waits for the owner."""
    who, hosted = call.who, call.hosted
    call.host.refuse_haste(who)
    if who.role == "reader":
        raise NotPermitted(
            "readers ask for what was learned only", hint="ask the owner for a token to ask more"
        )
    question, reason = call.host.approvals.read(await call.json())
    cost = (await call.turn.explain(question))["cost"]
    item = call.host.approvals.put(hosted.name, who, question, reason, cost)
    return reply(item, 202)


async def approvals(call: Call) -> Response:
    """What waits, and what was decided."""
    found = call.host.approvals.of(call.hosted.name, call.who)
    return reply({"approvals": found})


async def decide(call: Call) -> Response:
    """The owner's decision; what is approved is asked, and paid by the owner."""
    who, queue = call.owner(), call.host.approvals
    state, reason = queue.decision(await call.json())
    id = call.request.path_params["id"]
    hosted = call.hosted = call.host.dataset(queue.get(id)["dataset"], who)
    turn = call.turn

    def carry_out(question: Ask) -> Answered:
        given = hosted.ask(question, who)
        turn.noted(given)
        return given

    return reply(await turn.charge(lambda: queue.decide(id, state, reason, carry_out)))


def _many(data: Any) -> tuple[list[Ask], str | None]:
    questions = data.get("questions") if isinstance(data, dict) else None
    if not isinstance(questions, list) or not 0 < len(questions) <= _MANY:
        raise BadValue(f'many questions are sent as {{"questions": [...]}}, up to {_MANY}')
    if unknown := sorted(map(str, data.keys() - {"questions", "request"})):
        raise BadValue(f"many questions have no {unknown[0]!r}")
    request = data.get("request")
    if request is not None and not (isinstance(request, str) and request and request.isprintable()):
        raise BadValue("a request id is printable text")
    asks = [Ask.of(question) for question in questions]
    if request is None:
        return asks, None
    return [replace(question, request=f"{request} / {i}") for i, question in enumerate(asks)], request


def _shown(call: Call, answer: dict[str, Any]) -> Response:
    media = frames.accepted(call.request.headers.get("accept", ""))
    if media is None:
        return reply(answer)
    return Response(frames.encoded(frames.table(answer), media), media_type=media)
