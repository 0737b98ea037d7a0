"""The page of a budget: what is left, how it was used up, how long it lasts, what it buys, who spent it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from hedgerow.serve.console import charts, rendering
from hedgerow.service import setting_up, wire
from hedgerow.service.burn import Burn
from hedgerow.service.forecast import Forecast
from hedgerow.service.spendings import spendings
from hedgerow.service.takings import Takings

if TYPE_CHECKING:
    from hedgerow.serve.call import Call

_PART = 1000


async def budget(call: Call) -> Response:
    """Budget: what is left, its burn-down with a forecast, and who spent what, for owners."""
    who, hosted = call.who, call.hosted
    if hosted.state == "setup":
        return rendering.page(call, "waiting", words=None)
    ledger = hosted.opened.ledger

    def found() -> dict[str, Any]:
        told = wire.budget(ledger, None if who.owns else who.name)
        spent = [s.to_json(ledger.budget) for s in spendings(ledger)] if who.owns else []
        return {"told": told, "burn": Burn.of(ledger), "spendings": spent,
                "buys": Forecast.of_ledger(ledger).words,
                "shares": Takings.of(ledger) if who.owns else None}  # fmt: skip

    seen = await call.read(found)
    burn, now = seen["burn"], datetime.now(UTC)
    stairs = [charts.stairs([(t, p) for t, _, p in burn.points], now, burn.lasts, w) for w in (1000, 340)]
    told = seen["told"]
    used = [s for s in seen["spendings"] if s["kind"] != "budget"]
    most = max((s["epsilon"] or 0.0 for s in used), default=0.0)
    for s in used:
        s["part"] = round(_PART * (s["epsilon"] or 0.0) / most, 1) if most else 0
    return rendering.page(
        call, "budget", told=told, burn=burn, stairs=stairs, spendings=used, buys=seen["buys"],
        part=part(told), yours=told["yours"], shares=seen["shares"], shade=_shade,
    )  # fmt: skip


def _shade(part: float) -> int:
    """How strong a part of a budget is drawn: all of it from a fifth on."""
    return round(charts.SHADES * min(max(part, 0.0) * 5, 1.0))


def part(told: dict[str, Any]) -> float:
    """How much of a bar of a thousand is used up."""
    return round(_PART * float(told["used"]), 1)


async def enlarge(call: Call) -> Response:
    """Give the dataset a larger budget, for a reason that is kept."""
    call.owner()
    form, hosted = await call.form(), call.hosted
    asked = {"epsilon": form.real("epsilon"), "reason": form.text("reason")}
    await call.in_lane(lambda: setting_up.enlarge(hosted, asked))
    return RedirectResponse(f"/d/{hosted.name}/budget", 303)
