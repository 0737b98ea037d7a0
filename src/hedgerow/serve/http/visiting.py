"""For browsers: coming in by a link or a token, leaving, and a plain first page; no script, no style."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, RedirectResponse, Response

import hedgerow
from hedgerow.errors import BadValue, HedgerowError
from hedgerow.serve.http.call import STATUS, Call
from hedgerow.serve.http.visitor import forget, refuse_other_sites, set_cookie
from hedgerow.service.failure import sentence
from hedgerow.service.tokens import Token

_FORM = 4096  # bytes


async def front_page(call: Call) -> Response:
    """What this is and how to ask it; who came in sees their datasets."""
    url = escape(str(call.request.base_url).rstrip("/"), quote=True)
    try:
        who = call.who
    except HedgerowError:
        return _page(_WELCOME + _ENTER + _ASKING.format(url=url))
    return _page(_inside(call, who) + _ASKING.format(url=url))


async def enter_page(call: Call) -> Response:
    """Come in by the owner's link, which works once; without one, a form for a token."""
    code = call.request.query_params.get("link")
    if code is None:
        return _page(_ENTER)
    early = "prefetch" in call.request.headers.get("sec-purpose", "")
    if early or call.request.method != "GET":  # nobody has clicked yet
        return Response(status_code=204)
    try:
        refuse_other_sites(call.request)
        return _entered(call, call.host.visits.by_link(code))
    except HedgerowError as error:
        return _refused(error)


async def enter(call: Call) -> Response:
    """Come in with a token, sent by the form."""
    try:
        refuse_other_sites(call.request)
        try:
            sent = parse_qs((await call.body(_FORM)).decode(), max_num_fields=10)
        except ValueError:
            raise BadValue("a token is sent by the form") from None
        return _entered(call, call.host.visits.by_token(sent.get("token", [""])[0]))
    except HedgerowError as error:
        return _refused(error)


async def leave(call: Call) -> Response:
    """End the visit."""
    try:
        refuse_other_sites(call.request)
        if call.who.visits:
            call.host.visits.end(call.who)
    except HedgerowError as error:
        return _refused(error)
    made = RedirectResponse("/", 303)
    forget(made, call.request)
    return made


def _entered(call: Call, text: str) -> Response:
    made = RedirectResponse("/", 303)
    set_cookie(made, call.request, text)
    return made


def _refused(error: HedgerowError) -> Response:
    words = " ".join(sentence(part) for part in (str(error), error.hint) if part)
    return _page(f"<p>{escape(words)}</p>{_ENTER}", STATUS.get(error.code, 400))


def _page(body: str, status: int = 200) -> Response:
    return HTMLResponse(_FRAME.format(version=hedgerow.__version__, body=body), status)


def _inside(call: Call, who: Token) -> str:
    rows = "".join(
        f"<tr><td>{escape(hosted.name)}</td><td>{hosted.state}</td></tr>" for hosted in call.host.seen(who)
    )
    return _INSIDE.format(name=escape(who.name), role=who.role, rows=rows)


_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hedgerow</title>
<meta name="viewport" content="width=device-width"></head>
<body>
<h1>Hedgerow {version}</h1>
{body}
</body></html>
"""
_WELCOME = """<p>This server answers statistical questions about private rows, from one privacy budget for
each dataset. It needs a token. Every answer says how far off it may be, where it came from and what it
cost.</p>
"""
_ENTER = """<form method="post" action="/login">
<label>Token <input type="password" name="token" autocomplete="off" required></label>
<button>Come in</button>
</form>
"""
_INSIDE = """<p>You are {name}, {role}.</p>
<form method="post" action="/logout"><button>Leave</button></form>
<table><tr><th>dataset</th><th>state</th></tr>{rows}</table>
"""
_ASKING = """<pre>
export HEDGEROW_TOKEN=hr_...
curl -H "Authorization: Bearer $HEDGEROW_TOKEN" {url}/v1/datasets
curl -H "Authorization: Bearer $HEDGEROW_TOKEN" {url}/v1/datasets/NAME/schema
curl -H "Authorization: Bearer $HEDGEROW_TOKEN" {url}/v1/datasets/NAME/ask \\
  -d '{{"sql": "SELECT COUNT(*) AS n FROM t"}}'
</pre>
<p>All that can be asked for is described in <a href="/openapi.json">/openapi.json</a>.</p>"""
