"""For browsers: coming in by a link or a token, leaving, and the first page."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from hedgerow.errors import HedgerowError
from hedgerow.serve.call import STATUS, Call, Form
from hedgerow.serve.console import rendering, spending
from hedgerow.serve.visitor import forget, refuse_other_sites, set_cookie
from hedgerow.service import wire

_FORM = 4096  # bytes


async def front_page(call: Call) -> Response:
    """What this is and how to ask it; who came in sees their datasets."""
    try:
        who = call.who
    except HedgerowError:
        return _enter(call)
    url = str(call.request.base_url).rstrip("/")
    hosted = call.host.seen(who)
    shown = await call.read(lambda: [_card(h, who.owns) for h in hosted])
    return rendering.page(call, "home", shown=shown, url=url)


async def enter_page(call: Call) -> Response:
    """Come in by the owner's link, which works once; without one, a form for a token."""
    code = call.request.query_params.get("link")
    if code is None:
        return _enter(call)
    early = "prefetch" in call.request.headers.get("sec-purpose", "")
    if early or call.request.method != "GET":  # nobody has clicked yet
        return Response(status_code=204)
    try:
        refuse_other_sites(call.request)
        with call.host.attempts.of(_address(call)):
            return _entered(call, call.host.visits.by_link(code))
    except HedgerowError as error:
        return _refused(call, error)


async def enter(call: Call) -> Response:
    """Come in with a token, sent by the form."""
    try:
        refuse_other_sites(call.request)
        sent: Form = await call.form(_FORM)
        with call.host.attempts.of(_address(call)):
            return _entered(call, call.host.visits.by_token(sent.text("token")), sent.text("next") or "/")
    except HedgerowError as error:
        return _refused(call, error)


async def leave(call: Call) -> Response:
    """End the visit."""
    try:
        refuse_other_sites(call.request)
        if call.who.visits:
            call.host.visits.end(call.who)
    except HedgerowError as error:
        return _refused(call, error)
    made = RedirectResponse("/", 303)
    forget(made, call.request)
    return made


def _address(call: Call) -> str | None:
    """Whence a request comes; behind a proxy all come from there."""
    return None if call.request.client is None else call.request.client.host


def _entered(call: Call, text: str, there: str = "/") -> Response:
    made = RedirectResponse(rendering.safe(there), 303)
    set_cookie(made, call.request, text)
    return made


def _refused(call: Call, error: HedgerowError) -> Response:
    call.__dict__.pop("who", None)
    return _enter(call, STATUS.get(error.code, 400), rendering.words(error))


def _enter(call: Call, status: int = 200, error: str | None = None) -> Response:
    return rendering.page(call, "enter", status, ended=None, error=error, next="/")


def _card(hosted: Any, owns: bool) -> dict[str, Any]:
    """A dataset on the first page: its state in words, and what is left."""
    words = {
        "ready": "can be asked",
        "unlearned": "nothing was learned yet",
        "setup": "not set up yet",
        "frozen": "nobody asks it just now",
        "data_changed": "the file was written again",
    }
    card: dict[str, Any] = {"name": hosted.name, "state": hosted.state, "words": words[hosted.state]}
    card |= {"budget": None, "spent": None, "left": None, "part": 0}
    if hosted.state != "setup":
        told = wire.budget(hosted.opened.ledger)
        card |= {"budget": told["budget"]["epsilon"], "spent": told["spent"]["epsilon"]}
        card |= {"left": told["remaining"]["epsilon"], "part": spending.part(told)}
    return card
