"""The table of pages: what there is, who may see it, and what it does; routes are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from hedgerow.errors import NotFound
from hedgerow.serve.call import Call
from hedgerow.serve.console import (
    approving,
    asking,
    exploring,
    owning,
    rendering,
    reporting,
    setting,
    spending,
)

_DAY = 86_400


@dataclass(frozen=True)
class Page:
    """One page, or one thing that a page's form does.

    Args:
        method, path: where; what is in braces is filled in.
        door: answers it.
        whom: the least role that it takes.
    """

    method: str
    path: str
    door: Callable[[Call], Awaitable[Response]]
    whom: Literal["anybody", "reader", "analyst", "owner"]

    @property
    def words(self) -> str:
        """What it is, in a sentence."""
        return (self.door.__doc__ or "").split("\n")[0]


async def static(call: Call) -> Response:
    """A file of these pages: style, script, mark."""
    name = call.request.path_params["file"]
    if name not in rendering.ASSETS:
        raise NotFound("there is nothing at this address")
    headers = {"cache-control": f"public, max-age={_DAY}"}
    return Response(rendering.content(name), media_type=rendering.ASSETS[name], headers=headers)


_D = "/d/{dataset}"

PAGES = (
    Page("GET", "/static/{file}", static, "anybody"),
    Page("GET", _D, asking.ask_page, "reader"),
    Page("POST", _D, asking.spend, "reader"),
    Page("POST", f"{_D}/saved", asking.save, "reader"),
    Page("GET", f"{_D}/price", asking.price, "reader"),
    Page("GET", f"{_D}/compose", asking.compose, "reader"),
    Page("GET", f"{_D}/answer", asking.download, "reader"),
    Page("GET", f"{_D}/explore", exploring.explore, "reader"),
    Page("GET", f"{_D}/budget", spending.budget, "reader"),
    Page("POST", f"{_D}/budget", spending.enlarge, "owner"),
    Page("GET", f"{_D}/history", asking.history, "reader"),
    Page("GET", f"{_D}/approvals", approving.approvals, "reader"),
    Page("POST", f"{_D}/approvals", approving.put, "analyst"),
    Page("POST", f"{_D}/approvals/{{id}}", approving.decide, "owner"),
    Page("GET", f"{_D}/releases", owning.releases, "owner"),
    Page("POST", f"{_D}/releases", owning.add_job, "owner"),
    Page("GET", f"{_D}/releases/{{id}}", reporting.report, "owner"),
    Page("GET", f"{_D}/releases/{{id}}/{{file}}", owning.release_file, "owner"),
    Page("GET", f"{_D}/ledger", owning.ledger, "owner"),
    Page("POST", f"{_D}/ledger", owning.freeze, "owner"),
    Page("GET", f"{_D}/setup", setting.setup, "owner"),
    Page("POST", f"{_D}/setup", setting.act, "owner"),
    Page("GET", "/new", setting.new, "owner"),
    Page("POST", "/new", setting.add, "owner"),
    Page("GET", "/people", owning.people, "owner"),
    Page("POST", "/people", owning.new_token, "owner"),
    Page("POST", "/people/limits", owning.put_limit, "owner"),
    Page("POST", "/people/{id}/revoke", owning.revoke_token, "owner"),
)
