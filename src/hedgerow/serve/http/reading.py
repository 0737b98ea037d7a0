"""What everybody may read over HTTP: datasets, schema, budget, history, synthetic rows, a synopsis."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from starlette.responses import Response

from hedgerow.errors import BadValue
from hedgerow.serve.call import Call, reply
from hedgerow.service import frames, wire
from hedgerow.service.burn import Burn

if TYPE_CHECKING:
    from hedgerow.service.hosted import Hosted

_MOST_ROWS = 1_000_000
_ROWS_A_QUESTION = 100  # synthetic rows that count as one question towards the rate
_SYNOPSIS = 100  # questions that a download counts as


async def datasets(call: Call) -> Response:
    """The datasets that a token reaches."""
    who = call.who
    seen = [
        {
            "name": h.name,
            "state": h.state,
            "may_spend": who.spends,
            **({"words": h.words} if who.owns else {}),
        }
        for h in call.host.seen(who)
    ]
    return reply({"datasets": seen})


async def schema(call: Call) -> Response:
    """What may be asked about, and whom the budget protects."""
    hosted = call.hosted
    return reply(await call.read(lambda: wire.schema(hosted.domain, hosted.opened.ledger.settings)))


async def budget(call: Call) -> Response:
    """What may be spent, is spent and is left, and what that buys; with ?series=1 also what was left when."""
    hosted, who = call.hosted, call.who
    account = None if who.owns else who.name
    told = await call.read(lambda: wire.budget(hosted.opened.ledger, account))
    if call.request.query_params.get("series"):
        burn: Burn = await call.read(lambda: Burn.of(hosted.opened.ledger))
        told |= {"series": burn.to_json(), "lasts": burn.ends}
    return reply(told)


async def history(call: Call) -> Response:
    """What was asked: one's own questions, or everybody's for the owner."""
    who, hosted = call.who, call.hosted
    after, limit = call.number("after", -1, -1, 1 << 62), call.number("limit", 100, 1, 1000)
    items = await call.read(
        lambda: call.host.log.history(hosted.name, None if who.owns else who.name, after, limit)
    )
    return reply(wire.history(items, after, limit))


async def sample(call: Call) -> Response:
    """Synthetic rows, drawn from what was learned."""
    hosted, rows = call.hosted, call.number("rows", 1000, 1, _MOST_ROWS)
    kind = call.request.query_params.get("format", "csv")
    if kind not in ("csv", "parquet"):
        raise BadValue("`format` is csv or parquet")
    media = frames.CSV if kind == "csv" else frames.PARQUET
    call.host.refuse_haste(call.who, max(1, rows // _ROWS_A_QUESTION))
    made = await call.read(lambda: _sample(hosted, rows, media))
    return Response(made, media_type=media, headers=_named(f"{hosted.name}.{kind}"))


async def synopsis(call: Call) -> Response:
    """All that was learned, as a file that Hedgerow reads."""
    hosted = call.hosted
    call.host.refuse_haste(call.who, _SYNOPSIS)
    made = await call.read(lambda: _synopsis(hosted))
    return Response(made, media_type="application/octet-stream", headers=_named(f"{hosted.name}.hedgerow"))


def _sample(hosted: Hosted, rows: int, media: str) -> bytes:
    import pyarrow as pa

    drawn = hosted.synopsis().sample(rows)
    columns = {name: pa.array([str(v) for v in drawn[name].tolist()]) for name in drawn}
    return frames.encoded(pa.table(columns), media)


def _synopsis(hosted: Hosted) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "synopsis.hedgerow"
        hosted.synopsis().save(file)
        return file.read_bytes()


def _named(file: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{file}"'}
