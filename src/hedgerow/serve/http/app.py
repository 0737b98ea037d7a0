"""The application: routes made from the table of endpoints, one shape of error, headers on every reply."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.errors import BadValue
from hedgerow.serve.call import Call, failed, nowhere, reply
from hedgerow.serve.console.pages import PAGES, Page
from hedgerow.serve.console.rendering import no_page, refused
from hedgerow.serve.http import openapi, operating
from hedgerow.serve.http.endpoints import ENDPOINTS, Endpoint
from hedgerow.service.host import Host

_READERS = 2  # they share one interpreter: more only wait for each other

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_MAY_DIFFER = {b"cache-control"}
_HSTS = (b"strict-transport-security", b"max-age=31536000")


def application(host: Host) -> ASGIApp:
    """The application of a server that holds `host`."""
    readers = ThreadPoolExecutor(_READERS, "reader")
    described = openapi.description()

    def route(endpoint: Endpoint) -> Route:
        async def serve(request: Request) -> Response:
            call = Call(request, host, readers)
            try:
                if endpoint.whom != "anybody":
                    _ = call.who
                    host.refuse_unready()
                return await endpoint.door(call)
            except HTTPException:
                raise
            except Exception as error:  # one shape for all of them
                return failed(error, call.__dict__.get("who"))

        return Route(endpoint.path, serve, methods=[endpoint.method])

    def page_route(page: Page) -> Route:
        async def serve(request: Request) -> Response:
            call = Call(request, host, readers)
            try:
                if page.whom != "anybody":
                    call.owner() if page.whom == "owner" else call.who
                    host.refuse_unready()
                return await page.door(call)
            except HTTPException:
                raise
            except Exception as error:  # one page for all of them
                return refused(call, error)

        return Route(page.path, serve, methods=[page.method])

    async def describe(request: Request) -> Response:
        return reply(described)

    routes = [route(endpoint) for endpoint in ENDPOINTS]

    async def lost(request: Request, error: Exception) -> Response:
        if not _wants_a_page(request):
            return failed(nowhere(), None)
        call = Call(request, host, readers)
        with suppress(Exception):  # whoever is known keeps their name above the page
            _ = call.who
        return refused(call, no_page())

    handlers: Any = {404: lost, 405: _no_method}
    app = Starlette(
        routes=[*routes, Route("/openapi.json", describe), *map(page_route, PAGES)],
        exception_handlers=handlers,
    )
    app.router.redirect_slashes = False
    return _Headed(app)


def _wants_a_page(request: Request) -> bool:
    """Whether a person looks, with a browser; programs get data, below /v1 always."""
    path, takes = request.url.path, request.headers.get("accept", "")
    return "text/html" in takes and request.method in ("GET", "HEAD") and not path.startswith("/v1")


async def _no_method(request: Request, error: Exception) -> Response:
    headers = getattr(error, "headers", None) or {}
    hint = f"use {headers['Allow']}" if "Allow" in headers else None
    made = failed(BadValue(f"{request.method} is not for this address", hint=hint), None)
    made.status_code = 405
    made.headers.update(headers)
    return made


class _Headed:
    """Puts the headers of security on every reply, and counts replies."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [*_RAW, _HSTS] if scope.get("scheme") == "https" else _RAW
                own = {name for name, _ in message.get("headers", [])} & _MAY_DIFFER
                kept = [header for header in more if header[0] not in own]
                message["headers"] = [*message.get("headers", []), *kept]
                operating.replies[message["status"]] += 1
            await send(message)

        await self._app(scope, receive, headed)
