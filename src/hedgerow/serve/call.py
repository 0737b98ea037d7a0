"""Call: one request over HTTP - whose it is, what it holds - and how failures are replied."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, Response

from hedgerow.errors import (
    BadValue,
    HedgerowError,
    NotFound,
    RangeTooLarge,
)
from hedgerow.serve.turn import Turn, read
from hedgerow.serve.visitor import cookie_name, refuse_other_sites
from hedgerow.service import wire
from hedgerow.service.failure import OWN_FAULT, for_others, owners_only

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from starlette.requests import Request

    from hedgerow.service.config import Limits
    from hedgerow.service.host import Host
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.tokens import Token

log = logging.getLogger("hedgerow.http")

STATUS = {
    "bad_input": 400,
    "no_token": 401,
    "budget_refused": 402,
    "limit_refused": 402,
    "not_permitted": 403,
    "not_found": 404,
    "not_learned": 409,
    "request_reused": 409,
    "data_changed": 409,
    "frozen": 409,
    "too_large": 413,
    "bad_sql": 422,
    "unsupported_sql": 422,
    "cuts_bin": 422,
    "unknown_column": 422,
    "unknown_level": 422,
    "unknown_table": 422,
    "rate_limited": 429,
    "internal": 500,
    "starting": 503,
    "ledger_unavailable": 503,
}
"""The status of each error's code; there are no others."""

_FIELDS = 20_000  # of a form; a draft of many columns has that many
_SLOW = 10.0  # seconds for the whole of a body


@dataclass(frozen=True)
class Form:
    """What a page's form holds: texts by name."""

    fields: dict[str, list[str]]

    def text(self, name: str) -> str:
        """One field; empty if it is not there."""
        return self.fields.get(name, [""])[0].strip()

    def texts(self, name: str) -> list[str]:
        """All fields of a name."""
        return self.fields.get(name, [])

    def real(self, name: str) -> float | None:
        """A number; None if the field is empty."""
        given = self.text(name).replace(",", "")
        try:
            return float(given) if given else None
        except ValueError:
            raise BadValue(f"{self.text(name)!r} is no number") from None


@dataclass
class Call:
    """One request.

    Args:
        request: as it came.
        host: everything the server holds.
        readers: the threads that read what was learned.
    """

    request: Request
    host: Host
    readers: ThreadPoolExecutor

    @cached_property
    def who(self) -> Token:
        """Whose request it is; refused without a good token."""
        return self.known_again()

    def known_again(self) -> Token:
        """The same, looked up again: for replies that last."""
        header = self.request.headers.get("authorization")
        cookie = None if header is not None else self.request.cookies.get(cookie_name(self.request))
        if cookie is not None:
            refuse_other_sites(self.request)
        return self.host.who(header, cookie)

    @property
    def limits(self) -> Limits:
        """What the server takes."""
        return self.host.config.limits

    @cached_property
    def hosted(self) -> Hosted:
        """The dataset that the path names, if whoever asks may see it."""
        return self.host.dataset(self.request.path_params["dataset"], self.who)

    def owner(self) -> Token:
        """Whose request it is; refused unless they are an owner."""
        self.who.refuse_owners_only()
        return self.who

    async def body(self, most: int | None = None) -> bytes:
        """The request's body; one that is too long, or too slow, is refused."""
        most, parts, size = most or self.limits.body_bytes, [], 0
        refusal = RangeTooLarge(f"a request may have up to {most:,} bytes")
        if int(self.request.headers.get("content-length") or 0) > most:
            raise refusal
        try:
            async with asyncio.timeout(_SLOW):
                async for part in self.request.stream():
                    size += len(part)
                    if size > most:
                        raise refusal
                    parts.append(part)
        except TimeoutError:
            raise BadValue(f"the request's body took longer than {_SLOW:.0f} seconds") from None
        return b"".join(parts)

    async def json(self) -> Any:
        """The request's body as JSON."""
        body = await self.body()
        try:
            data = json.loads(body or b"null")
            if b"\\ud" in body.lower():  # half a character is no text, and cannot be written anywhere
                json.dumps(data, ensure_ascii=False).encode()
            return data
        except (ValueError, RecursionError):
            raise BadValue("the request's body is not JSON") from None

    async def form(self, most: int | None = None) -> Form:
        """The fields of a page's form, as they were sent."""
        try:
            return Form(
                parse_qs((await self.body(most)).decode(), keep_blank_values=True, max_num_fields=_FIELDS)
            )
        except ValueError:
            raise BadValue("this is sent by the forms of this server's pages") from None

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number of the query string."""
        given = self.request.query_params.get(name, str(default))
        try:
            value = int(given)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise BadValue(f"`{name}` is a whole number between {least} and {most}")
        return value

    @property
    def turn(self) -> Turn:
        """How the dataset is asked."""
        return Turn(self.host, self.hosted, self.who, self.readers)

    async def read(self, work: Callable[[], Any]) -> Any:
        """Do something that needs no row, in a thread of the readers."""
        return await read(self.host, self.readers, work)

    async def in_lane(self, work: Callable[[], Any]) -> Any:
        """Do what an owner does with a dataset, in its lane; owners see rows anyway, and wait for no grid."""
        return await asyncio.shield(asyncio.wrap_future(self.hosted.in_lane(work)))


def failed(error: Exception, who: Token | None) -> Response:
    """An error as a reply of the API."""
    told, status = told_to(error, who)
    return reply(told, status)


def told_to(error: Exception, who: Token | None) -> tuple[dict[str, Any], int]:
    """An error as plain data, and its status; what the system or the file said is for the owner and the log.

    Args:
        error: what went wrong.
        who: who is told; None if nobody knows.
    """
    if owners_only(error):
        log.error("cannot be used: %s", error)
        if who is None or not who.owns:
            error = for_others()
    told = wire.error(error)
    code = told["error"]["code"]
    if not isinstance(error, HedgerowError):
        log.error("a fault of our own: %s", told["error"]["message"])
        if who is None or not who.owns:
            told["error"]["message"] = OWN_FAULT
    if code not in STATUS:
        code = told["error"]["code"] = "ledger_unavailable" if code == "storage_unavailable" else "bad_input"
    return told, STATUS[code]


def reply(data: Any, status: int = 200) -> Response:
    """Plain data as JSON."""
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(wire.plain(data), status, headers)


def nowhere() -> NotFound:
    """The refusal of a path that is none."""
    return NotFound("there is nothing at this address", hint="see /openapi.json for what there is")
