"""What owners do over HTTP: datasets, schemas, budgets, freezing, ledgers, limits, tokens."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from hedgerow.errors import BadValue, HedgerowError
from hedgerow.serve.call import Call, reply
from hedgerow.service import setting_up, wire
from hedgerow.service.appending import append_block

_ROWS = 1 << 30  # bytes of an upload


async def add_dataset(call: Call) -> Response:
    """Serve one more dataset: a file of the server's machine, or rows that are sent."""
    call.owner()
    if "json" in call.request.headers.get("content-type", "json"):
        data = await call.json()
        hosted = await call.read(lambda: call.host.add(data))
    else:
        name, rows = call.request.query_params.get("name", ""), await call.body(_ROWS)
        hosted = await call.read(lambda: call.host.upload(name, rows))
    return reply({"name": hosted.name, "state": hosted.state, "words": hosted.words}, 201)


async def draft(call: Call) -> Response:
    """A schema proposed from PRIVATE rows, for the owner's eyes; nothing is released from it."""
    call.owner()
    hosted = call.hosted
    return reply(await call.read(lambda: setting_up.draft(hosted)))


async def put_schema(call: Call) -> Response:
    """Keep a schema; the dataset is asked only once it is confirmed."""
    call.owner()
    data, hosted = _object(await call.json(), {"yaml", "confirm"}), call.hosted
    text, confirm = data.get("yaml"), data.get("confirm", False)
    await call.in_lane(lambda: call.host.keep_schema(hosted, text, confirm))
    call.host.settled(hosted)
    return _state(call)


async def make_budget(call: Call) -> Response:
    """Give the dataset its budget, for good."""
    call.owner()
    names = {"epsilon", "delta", "unit", "max_rows", "neighbours"}
    data, hosted = _object(await call.json(), names), call.hosted
    await call.in_lane(lambda: setting_up.give_budget(hosted, data))
    call.host.settled(hosted)
    return _state(call, 201)


async def append(call: Call) -> Response:
    """Append a file of the server's machine to data that grow, as a block, for good."""
    call.owner()
    data, hosted = _object(await call.json(), {"path", "day"}), call.hosted
    file = call.host.placed(data.get("path"))
    return reply(await call.in_lane(lambda: append_block(hosted, file, data.get("day"))), 201)


async def raise_budget(call: Call) -> Response:
    """Give the dataset a larger budget, for a recorded reason."""
    call.owner()
    data, hosted = _object(await call.json(), {"epsilon", "delta", "reason"}), call.hosted
    words = await call.in_lane(lambda: setting_up.enlarge(hosted, data))
    ledger = hosted.opened.ledger
    return reply(wire.budget(ledger) | {"words": words})


async def freeze(call: Call) -> Response:
    """Nobody asks the dataset until it is thawed."""
    return await _freeze(call, frozen=True)


async def thaw(call: Call) -> Response:
    """The dataset is asked again."""
    return await _freeze(call, frozen=False)


async def same_rows(call: Call) -> Response:
    """The owner's word that the data file, written again, has the same rows."""
    call.owner()
    data, hosted = _object(await call.json(), {"reason"}), call.hosted
    await call.in_lane(lambda: hosted.same_rows(data.get("reason") or ""))
    return _state(call)


async def ledger(call: Call) -> Response:
    """Every line of the ledger, in words; with ?export=1 as `hedgerow budget verify` reads it."""
    call.owner()
    held = call.hosted.opened.ledger
    if call.request.query_params.get("export"):
        return reply(await call.read(held.export))
    return reply(await call.read(lambda: wire.ledger_lines(held)))


async def verify(call: Call) -> Response:
    """Walk the chain again, and do its sums again."""
    call.owner()
    held = call.hosted.opened.ledger
    found = await call.read(held.verify)
    told = {"ok": found.ok, "entries": found.entries, "problems": list(found.problems)}
    return reply(told | {"words": found.describe(), "receipt": held.receipt().to_json()})


async def new_token(call: Call) -> Response:
    """Make a token; its text is shown once."""
    call.owner()
    token, text = call.host.new_token(await call.json())
    return reply(token.to_json() | {"token": text}, 201)


async def tokens(call: Call) -> Response:
    """All tokens, without their secrets."""
    call.owner()
    return reply({"tokens": [token.to_json() for token in call.host.state.tokens()]})


async def revoke_token(call: Call) -> Response:
    """End a token now."""
    call.owner()
    return reply(call.host.state.revoke(call.request.path_params["id"]).to_json())


async def put_limit(call: Call) -> Response:
    """Let an analyst spend so much in all, under the dataset's cap."""
    call.owner()
    name, hosted = call.request.path_params["name"], call.hosted
    data = _object(await call.json(), {"epsilon"})
    if not any(token.name == name and not token.owns for token in call.host.state.tokens()):
        raise BadValue(f"there is no analyst {name!r}", hint="make them a token first")
    await call.in_lane(lambda: hosted.limit(name, data.get("epsilon")))
    return reply(
        {"analyst": name, "dataset": hosted.name, "yours": wire.budget(hosted.opened.ledger, name)["yours"]}
    )


async def add_job(call: Call) -> Response:
    """Long work: learning, or a release."""
    call.owner()
    hosted, data = call.hosted, await call.json()
    call.host.refuse_unready()
    if hosted.state == "setup":
        raise HedgerowError(hosted.words or "this dataset is not set up yet")
    hosted.refuse_frozen()
    return reply(call.host.jobs.add(hosted.name, data), 202)


async def job(call: Call) -> Response:
    """A job as it stands."""
    call.owner()
    return reply(call.host.jobs.get(call.request.path_params["id"]))


async def _freeze(call: Call, *, frozen: bool) -> Response:
    call.owner()
    data, hosted = _object(await call.json(), {"reason"}), call.hosted
    if frozen:
        hosted.stop(data.get("reason"))
    await call.in_lane(lambda: hosted.freeze(data.get("reason"), frozen=frozen))
    return _state(call)


def _state(call: Call, status: int = 200) -> Response:
    hosted = call.hosted
    return reply({"name": hosted.name, "state": hosted.state, "words": hosted.words}, status)


def _object(data: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise BadValue(f"send an object with {', '.join(sorted(names))}")
    if unknown := sorted(map(str, data.keys() - names)):
        raise BadValue(f"there is no {unknown[0]!r} here; there is {', '.join(sorted(names))}")
    return data
