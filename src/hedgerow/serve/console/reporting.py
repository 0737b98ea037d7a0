"""The report of a release, drawn by this server: the file beside it has scripts, which no page here runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from hedgerow.errors import NotFound
from hedgerow.serve.console import charts, owning, rendering
from hedgerow.service.reported import NUMBER, Reported

if TYPE_CHECKING:
    from hedgerow.serve.call import Call


async def report(call: Call) -> Response:
    """A release's report: what it promises and cost, every attribute, and a pair that is chosen."""
    call.owner()
    hosted, id = call.hosted, call.request.path_params["id"]
    job = next((job for job in call.host.jobs.of(hosted.name) if job["id"] == id), None)
    path = owning.folder(call, id) / "synopsis.hedgerow"
    if job is None or not path.is_file():
        raise NotFound("there is no such release", hint="see the list of releases")
    found: Reported = await call.read(lambda: Reported.of(path, hosted.name))
    chosen = _chosen(call, found)
    return rendering.page(
        call, "report", job=job, facts=found.facts, names=found.names, pairs=_both(found), chosen=chosen,
        singles={name: charts.marks(answer, NUMBER) for name, answer in found.singles.items()},
        shades={pair: round(charts.SHADES * strength) for pair, strength in _both(found).items()},
        heat=charts.heat(found.tables[chosen]) if chosen else None,
    )  # fmt: skip


def _both(found: Reported) -> dict[tuple[str, str], float]:
    return found.pairs | {(b, a): strength for (a, b), strength in found.pairs.items()}


def _chosen(call: Call, found: Reported) -> tuple[str, str] | None:
    """The pair that the address names, either way round; the strongest if it names none."""
    asked = call.request.query_params
    a, b = asked.get("a", ""), asked.get("b", "")
    return next((pair for pair in ((a, b), (b, a)) if pair in found.tables), found.strongest())
