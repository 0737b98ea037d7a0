"""The page that shows every attribute and every pair at a glance; a click on a level filters all of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import BadValue
from hedgerow.serve.console import charts, rendering
from hedgerow.service.glance import MOST_FILTERS, Glance, Single

if TYPE_CHECKING:
    from hedgerow.serve.call import Call

_INDEX = re.compile("[0-9]{1,9}")


async def explore(call: Call) -> Response:
    """Explore: every attribute and every pair from what was learned, free; a click filters."""
    who, hosted = call.who, call.hosted
    if hosted.state in ("setup", "unlearned"):
        return rendering.page(call, "waiting", words=None)
    chosen = _chosen(call)
    call.host.refuse_haste(who, len(hosted.domain))
    seen: Glance = await call.read(lambda: Glance.of(hosted, who, chosen))
    singles = [_drawn(s, chosen) for s in seen.singles]
    shades = {pair: round(charts.SHADES * strength) for pair, strength in seen.pairs.items()}
    where = " AND ".join(level.condition for level in seen.chosen)
    without = [(level, _query([c for c in chosen if c[0] != level.attribute])) for level in seen.chosen]
    return rendering.page(
        call, "explore", singles=singles, names=seen.names, pairs=seen.pairs, shades=shades, without=without,
        where=where,
    )  # fmt: skip


def _drawn(single: Single, chosen: list[tuple[str, int]]) -> dict[str, Any]:
    """One attribute as bars, each with where a click on it leads."""
    links = [_with(chosen, single.name, i) if can else None for i, can in enumerate(single.choosable)]
    marks = None if single.answer is None else charts.marks(single.answer, "n")
    widths = None if single.answer is None else charts.widths(single.answer)
    return {"name": single.name, "marks": marks, "links": links, "widths": widths}


def _chosen(call: Call) -> list[tuple[str, int]]:
    """Levels that were chosen, as the address says: f=NAME:NUMBER."""
    found: dict[str, int] = {}
    for given in call.request.query_params.getlist("f"):
        name, _, index = given.rpartition(":")
        if not _INDEX.fullmatch(index):
            raise BadValue("a level is chosen as f=NAME:NUMBER")
        found[name] = int(index)
    return list(found.items())[:MOST_FILTERS]


def _with(chosen: list[tuple[str, int]], name: str, index: int) -> str | None:
    return None if len(chosen) >= MOST_FILTERS else _query([*chosen, (name, index)])


def _query(chosen: list[tuple[str, int]]) -> Any:
    return "?" + rendering.query(f=[f"{name}:{index}" for name, index in chosen])
