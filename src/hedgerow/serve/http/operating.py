"""For whoever runs the server: is it alive, is it ready, what does it do."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from hedgerow.errors import HedgerowError
from hedgerow.serve.call import Call, failed, reply
from hedgerow.service import wire

_LOOK = 0.2  # seconds between two looks at a job
_BEAT = 15.0  # seconds after which a stream says that it is there

replies: Counter[int] = Counter()
"""How many replies there were, by status."""


async def healthz(call: Call) -> Response:
    """Whether the server is alive."""
    return reply({"ok": True})


async def readyz(call: Call) -> Response:
    """Whether the server takes work."""
    try:
        call.host.refuse_unready()
    except HedgerowError as error:
        return failed(error, None)
    return reply({"ready": True})


async def metrics(call: Call) -> Response:
    """Public numbers, as Prometheus reads them."""
    call.owner()
    return PlainTextResponse("\n".join(await call.read(lambda: _metrics(call))) + "\n")


async def events(call: Call) -> Response:
    """A job's progress, as it is made: server-sent events `progress` and `done`."""
    call.owner()
    id, jobs = call.request.path_params["id"], call.host.jobs
    jobs.get(id)  # refuse before the stream begins

    async def stream() -> AsyncIterator[bytes]:
        told, waited = None, 0.0
        while not call.host.ending:
            try:
                call.known_again().refuse_owners_only()
            except HedgerowError:  # the token ended meanwhile
                return
            job = jobs.get(id)
            over = job["state"] in ("done", "failed", "refused")
            if job != told or over:
                name, told, waited = ("done" if over else "progress"), job, 0.0
                yield f"event: {name}\ndata: {json.dumps(wire.plain(job))}\n\n".encode()
            if over:
                return
            if waited >= _BEAT:
                yield b": still there\n\n"
                waited = 0.0
            await asyncio.sleep(_LOOK)
            waited += _LOOK

    return StreamingResponse(stream(), media_type="text/event-stream")


def _metrics(call: Call) -> list[str]:
    host = call.host
    lines = ["# TYPE hedgerow_replies_total counter"]
    lines += [f'hedgerow_replies_total{{status="{status}"}} {n}' for status, n in sorted(replies.items())]
    lines += ["# TYPE hedgerow_charged_total counter", f"hedgerow_charged_total {host.grid.answered}"]
    lines += [
        "# TYPE hedgerow_grid_overruns_total counter",
        f"hedgerow_grid_overruns_total {host.grid.overruns}",
    ]
    for kind in ("budget", "spent", "remaining"):
        lines.append(f"# TYPE hedgerow_epsilon_{kind} gauge")
        for hosted in host.datasets.values():
            if hosted.state != "setup":
                ledger = hosted.opened.ledger
                whole = ledger.budget
                part = {"budget": whole, "spent": whole.part(ledger.spent())}
                part["remaining"] = whole.part(ledger.remaining())
                lines.append(f'hedgerow_epsilon_{kind}{{dataset="{hosted.name}"}} {part[kind].epsilon:.9g}')
    lines.append("# TYPE hedgerow_dataset_state gauge")
    lines += [
        f'hedgerow_dataset_state{{dataset="{h.name}",state="{h.state}"}} 1' for h in host.datasets.values()
    ]
    return lines
