"""The table of endpoints: what there is, who may use it, and how it is described; routes are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import Response

from hedgerow.serve.call import Call
from hedgerow.serve.http import asking, operating, owning, reading, visiting
from hedgerow.service import frames

Door = Callable[[Call], Awaitable[Response]]
Whom = Literal["anybody", "reader", "analyst", "owner"]

ASK = {"sql": "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex", "request": "monday-1"}
CLOSE = {"sql": "SELECT COUNT(*) AS n FROM t", "within_count": 100, "spend": True}
REASON = {"reason": "what the board decided"}


@dataclass(frozen=True)
class Endpoint:
    """One thing that can be asked for.

    Args:
        method, path: where; what is in braces is filled in.
        door: answers it.
        whom: the least role that it takes: anybody (no token), reader, analyst, owner.
        body: an example of what is sent; None where nothing is.
        status: of success.
        query: parameters after the question mark.
        media: of the reply.
    """

    method: str
    path: str
    door: Door
    whom: Whom
    body: Any = None
    status: int = 200
    query: tuple[str, ...] = ()
    media: str = "application/json"

    @property
    def words(self) -> str:
        """What it is, in a sentence."""
        return (self.door.__doc__ or "").split("\n")[0]


_D = "/v1/datasets/{dataset}"
_BYTES = "application/octet-stream"
_ROWS = f"{frames.CSV}, {frames.PARQUET}"

ENDPOINTS = (
    Endpoint("GET", "/", visiting.front_page, "anybody", media="text/html"),
    Endpoint("GET", "/login", visiting.enter_page, "anybody", query=("link",), media="text/html"),
    Endpoint("POST", "/login", visiting.enter, "anybody", "token=hr_...", 303, media="text/html"),
    Endpoint("POST", "/logout", visiting.leave, "anybody", "", 303, media="text/html"),
    Endpoint("GET", "/healthz", operating.healthz, "anybody"),
    Endpoint("GET", "/readyz", operating.readyz, "anybody"),
    Endpoint("GET", "/metrics", operating.metrics, "owner", media="text/plain"),
    Endpoint("GET", "/v1/datasets", reading.datasets, "reader"),
    Endpoint("POST", "/v1/datasets", owning.add_dataset, "owner", {"path": "people.csv"}, 201, ("name",)),
    Endpoint("GET", f"{_D}/schema", reading.schema, "reader"),
    Endpoint("PUT", f"{_D}/schema", owning.put_schema, "owner", {"yaml": "attributes: ...", "confirm": True}),
    Endpoint("POST", f"{_D}/ask", asking.ask, "reader", ASK),
    Endpoint("POST", f"{_D}/ask/batch", asking.ask_batch, "reader", {"questions": [ASK]}),
    Endpoint("POST", f"{_D}/explain", asking.explain, "reader", CLOSE),
    Endpoint("GET", f"{_D}/budget", reading.budget, "reader", query=("series",)),
    Endpoint("POST", f"{_D}/budget", owning.make_budget, "owner", {"epsilon": 2, "delta": 1e-9}, 201),
    Endpoint("GET", f"{_D}/history", reading.history, "reader", query=("after", "limit")),
    Endpoint("GET", f"{_D}/sample", reading.sample, "reader", query=("rows", "format"), media=_ROWS),
    Endpoint("GET", f"{_D}/synopsis", reading.synopsis, "reader", media=_BYTES),
    Endpoint("POST", f"{_D}/approvals", asking.put_approval, "analyst", CLOSE | REASON, 202),
    Endpoint("GET", f"{_D}/approvals", asking.approvals, "reader"),
    Endpoint("POST", "/v1/approvals/{id}", asking.decide, "owner", {"decision": "approved"} | REASON),
    Endpoint("POST", f"{_D}/jobs", owning.add_job, "owner", {"kind": "learn", "epsilon": 1}, 202),
    Endpoint("GET", "/v1/jobs/{id}", owning.job, "owner"),
    Endpoint("GET", "/v1/jobs/{id}/events", operating.events, "owner", media="text/event-stream"),
    Endpoint("POST", f"{_D}/draft", owning.draft, "owner", {}),
    Endpoint("POST", f"{_D}/blocks", owning.append, "owner", {"path": "march.csv", "day": "2026-03-31"}, 201),
    Endpoint("POST", f"{_D}/raise", owning.raise_budget, "owner", {"epsilon": 3} | REASON),
    Endpoint("POST", f"{_D}/freeze", owning.freeze, "owner", REASON),
    Endpoint("POST", f"{_D}/thaw", owning.thaw, "owner", REASON),
    Endpoint("POST", f"{_D}/same-rows", owning.same_rows, "owner", REASON),
    Endpoint("GET", f"{_D}/ledger", owning.ledger, "owner", query=("export",)),
    Endpoint("GET", f"{_D}/verify", owning.verify, "owner"),
    Endpoint("POST", "/v1/tokens", owning.new_token, "owner",
             {"name": "ann", "role": "analyst", "datasets": ["people"], "may_spend": True}, 201),
    Endpoint("GET", "/v1/tokens", owning.tokens, "owner"),
    Endpoint("DELETE", "/v1/tokens/{id}", owning.revoke_token, "owner"),
    Endpoint("PUT", "/v1/analysts/{name}/limits/{dataset}", owning.put_limit, "owner", {"epsilon": 0.5}),
)  # fmt: skip
