"""Rendering: pages from templates, which escape all that they are given; who looks, where they can go."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

import hedgerow
from hedgerow.errors import HedgerowError, NotFound
from hedgerow.release.numerals import bound, expected, small
from hedgerow.serve.call import told_to
from hedgerow.serve.console import charts
from hedgerow.serve.visitor import cookie_name

if TYPE_CHECKING:
    from jinja2 import Environment

    from hedgerow.serve.call import Call
    from hedgerow.service.tokens import Token

PACKAGE = "hedgerow.serve.console"
ASSETS = {"console.css": "text/css", "console.js": "text/javascript", "leaf.svg": "image/svg+xml"}
SOURCES = {
    "certified": "A private test on the rows vouches for this error bound.",
    "measured": "Measured on the rows, with noise of its own: the error bound holds.",
    "learned": "Read off what was learned, free of charge; its error is indicative.",
}
_PLACES = (  # path below the dataset, name, for owners only
    ("", "Ask", False),
    ("/explore", "Explore", False),
    ("/budget", "Budget", False),
    ("/history", "History", False),
    ("/approvals", "Approvals", False),
    ("/releases", "Releases", True),
    ("/ledger", "Ledger", True),
)


@cache
def environment() -> Environment:
    """Templates of this package; a name that is not given is an error, and never an empty place."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"small": small, "bound": bound, "brief": charts.brief, "said": charts.said,
                     "told": charts.told, "named": charts.named, "when": when, "ago": ago,
                     "expected": expected}  # fmt: skip
    made.globals |= {"SOURCES": SOURCES, "version": hedgerow.__version__, "query": query, "asset": asset}
    return made


def warm() -> None:
    """Read templates and files once, so that the first visitor does not wait for them."""
    for name in environment().list_templates():
        environment().get_template(name)
    for name in ASSETS:
        _stamp(name)


def page(call: Call, name: str, status: int = 200, **content: Any) -> Response:
    """A page for whoever looks.

    Args:
        call: the request.
        name: the template.
        status: of the reply.
        content: what it shows.
    """
    who = call.__dict__.get("who")
    around = {"who": who, "places": _places(call, who), "dataset": None, "here": call.request.url.path}
    text = environment().get_template(f"{name}.html.jinja").render(around | _dataset(call) | content)
    return HTMLResponse(text, status)


def fragment(name: str, **content: Any) -> Response:
    """A part of a page, which a script puts in its place."""
    return HTMLResponse(environment().get_template(f"{name}.html.jinja").render(content))


def refused(call: Call, error: Exception) -> Response:
    """A page that says why there is nothing else on it."""
    who = call.__dict__.get("who")
    told, status = told_to(error, who)
    if status == 401:
        cookie = call.request.cookies.get(cookie_name(call.request))
        ended = ("first", None) if cookie is None else call.host.visits.farewell(cookie)
        return page(call, "enter", status, ended=ended, error=None, next=safe(call.request.url.path))
    return page(call, "refused", status, error=told["error"], code=status)


def no_page() -> NotFound:
    """The refusal of an address that somebody typed, or followed, and that is none."""
    return NotFound("there is no such page", hint="Look at how the address is spelled, or begin at the list.")


def asset(name: str) -> str:
    """The address of a file of these pages; another one when the file is another one."""
    return f"/static/{name}?v={_stamp(name)}"


@cache
def _stamp(name: str) -> str:
    return sha256(content(name)).hexdigest()[:12]


@cache
def content(name: str) -> bytes:
    """A file of these pages."""
    return files(PACKAGE).joinpath("static", name).read_bytes()


def query(**given: Any) -> str:
    """The part of an address after the question mark; what is None is left out."""
    return urlencode([(k, v) for k, v in given.items() if v is not None], doseq=True)


def safe(path: str) -> str:
    """A path of this server to come back to; the front page if it is none."""
    return path if path.startswith("/") and not path.startswith("//") and "\\" not in path else "/"


def when(time: str | datetime) -> str:
    """A time for people, in UTC."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time.replace("Z", "+00:00"))
    return f"{time.day} {time:%b %Y, %H:%M}"


def ago(time: str) -> str:
    """How long ago something was, about."""
    then = datetime.fromisoformat(time.replace("Z", "+00:00"))
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - then).total_seconds()
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many} {word}{'s' * (many != 1)} ago"
    return "just now"


def _dataset(call: Call) -> dict[str, Any]:
    hosted = call.__dict__.get("hosted")
    return {} if hosted is None else {"dataset": hosted.name, "state": hosted.state}


def _places(call: Call, who: Token | None) -> list[tuple[str, str, bool]]:
    hosted = call.__dict__.get("hosted")
    if who is None or hosted is None:
        return []
    base, path = f"/d/{hosted.name}", call.request.url.path
    shown = [(f"{base}{tail}", name) for tail, name, owners in _PLACES if who.owns or not owners]
    if hosted.state in ("setup", "unlearned") and who.owns:
        shown = [(f"{base}/setup", "Set up"), *(shown if hosted.state == "unlearned" else [])]
    return [(to, name, path == to) for to, name in shown]


def words(error: HedgerowError) -> str:
    """A refusal in a sentence or two."""
    from hedgerow.service.failure import sentence

    return " ".join(sentence(part) for part in (str(error), error.hint) if part)
