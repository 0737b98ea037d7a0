"""Visitor: what a browser sends beside its request - its cookie, and which site it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hedgerow.errors import NotPermitted
from hedgerow.service.visits import HOURS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_SAFE = ("GET", "HEAD")


def cookie_name(request: Request) -> str:
    """Under TLS the browser itself sees to it that the cookie is this host's alone."""
    return "__Host-hedgerow" if _is_secure(request) else "hedgerow"


def set_cookie(response: Response, request: Request, text: str) -> None:
    """Let a browser be known again; scripts cannot read it, and other sites cannot make it be sent."""
    response.set_cookie(
        cookie_name(request), text, max_age=HOURS * 3600, path="/", secure=_is_secure(request), httponly=True,
        samesite="strict",
    )  # fmt: skip


def forget(response: Response, request: Request) -> None:
    """Take the cookie away."""
    response.delete_cookie(
        cookie_name(request), path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def refuse_other_sites(request: Request) -> None:
    """Refuse what another site made a browser send.

    Browsers say where a request comes from: by Sec-Fetch-Site, or by Origin where they do not know that one.
    What changes something must say it.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    reading = request.method in _SAFE
    if site is not None:
        good = site == "same-origin" or (reading and site == "none")
    elif origin is not None:
        good = urlsplit(origin).netloc == request.headers.get("host")
    else:
        good = reading
    if not good:
        raise NotPermitted(
            "this request comes from another site, or does not say where it comes from",
            hint="use the pages of this server, or send a token in the Authorization header",
        )


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
