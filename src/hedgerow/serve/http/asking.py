"""Asking over HTTP: ask, many at once, explain, and what waits for the owner's approval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import BadValue, NotPermitted
from hedgerow.serve.http.call import Call, reply
from hedgerow.service import frames, wire
from hedgerow.service.asking import Ask

if TYPE_CHECKING:
    from hedgerow.service.asking import Answered

_MANY = 1000  # questions of one request


async def ask(call: Call) -> Response:
    """One question, one answer."""
    who, hosted = call.who, call.hosted
    call.host.refuse_haste(who)
    question = Ask.of(await call.json())
    hosted.refuse_spending(question, who)
    bound = _bind(call, question.request, question.bound)
    if bound is None:
        bound = await _answered(call, question)
        _keep(call, question.request, bound)
    return _shown(call, bound)


async def ask_batch(call: Call) -> Response:
    """Many questions, priced and refused as a whole."""
    who, hosted = call.who, call.hosted
    asks, request = _many(await call.json())
    call.host.refuse_haste(who, len(asks))
    for question in asks:
        hosted.refuse_spending(question, who)
    bound = _bind(call, request, repr([question.bound for question in asks]))
    if bound is None:
        free = await call.read(lambda: [hosted.free(question, who) for question in asks])
        given = free if None not in free else await call.charge(lambda: hosted.ask_all(asks, who))
        bound = {"answers": [_noted(call, answered) for answered in given]}
        _keep(call, request, bound)
    return reply(bound)


async def explain(call: Call) -> Response:
    """What asking would do, from public things only; spends nothing and reads no rows."""
    who, _ = call.who, call.hosted
    data = await call.json()
    if isinstance(data, dict) and "questions" in data:
        asks, _ = _many(data)
        call.host.refuse_haste(who, len(asks))
        return reply({"explanations": [await _explained(call, question) for question in asks]})
    call.host.refuse_haste(who)
    return reply(await _explained(call, Ask.of(data)))


async def put_approval(call: Call) -> Response:
    """A question that waits for the owner."""
    who, hosted = call.who, call.hosted
    call.host.refuse_haste(who)
    if who.role == "reader":
        raise NotPermitted(
            "readers ask for what was learned only", hint="ask the owner for a token to ask more"
        )
    question, reason = call.host.approvals.read(await call.json())
    cost = (await _explained(call, question))["cost"]
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

    def carry_out(question: Ask) -> Answered:
        given = hosted.ask(question, who)
        _noted(call, given)
        return given

    return reply(await call.charge(lambda: queue.decide(id, state, reason, carry_out)))


async def _answered(call: Call, question: Ask) -> dict[str, Any]:
    who, hosted = call.who, call.hosted
    given = hosted.again(question, who)
    if given is None:
        given = await call.read(lambda: hosted.free(question, who))
    if given is None:
        given = await call.charge(lambda: hosted.ask(question, who))
    return _noted(call, given)


async def _explained(call: Call, question: Ask) -> dict[str, Any]:
    who, hosted = call.who, call.hosted
    found = await call.read(lambda: hosted.foretell(question))
    if found is None:
        found = await call.charge(lambda: hosted.explain(question, who))
        return wire.explained(found)
    return wire.explained(found) | {"needs_rows": False}


def _noted(call: Call, given: Answered) -> dict[str, Any]:
    """An answer as it is replied, once the log has it."""
    told, hosted = wire.answered(given), call.hosted
    item = {"sql": told["sql"], "source": told["source"], "cost": told["cost"], "request": told["request"]}
    call.host.log.note(hosted.name, call.who.name, item)
    return told


def _bind(call: Call, request: str | None, question: str) -> dict[str, Any] | None:
    """What a request id got before, as it is given again: the same, free."""
    if request is None:
        return None
    known = call.host.log.bind(call.hosted.name, call.who.name, request, question)
    if known is None:
        return None
    call.hosted.refuse_frozen()
    if "answers" in known:
        return {"answers": [a | {"cached": True, "cost": None} for a in known["answers"]]}
    return known | {"cached": True, "cost": None}


def _keep(call: Call, request: str | None, answer: dict[str, Any]) -> None:
    if request is not None:
        call.host.log.answered(call.hosted.name, call.who.name, request, wire.plain(answer))


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
