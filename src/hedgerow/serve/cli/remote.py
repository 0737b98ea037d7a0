"""Asking a server from the command line; nothing but the standard library speaks HTTP here."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib import error as failures
from urllib import request as calls
from urllib.parse import quote, urlsplit

from hedgerow import errors
from hedgerow.errors import HedgerowError, NotPermitted, Unreachable
from hedgerow.serve.cli.terminal import emit, screen
from hedgerow.service.config import secret

if TYPE_CHECKING:
    from hedgerow.service.asking import Ask

_PATIENCE = 120.0


def is_remote(data: str) -> bool:
    """Whether DATA is a dataset at a server."""
    return re.match(r"https?:/", data) is not None


class Remote:
    """A dataset at a server, http://HOST/DATASET.

    Args:
        url: the server's, with the dataset's name at its end.
    """

    def __init__(self, url: str) -> None:
        url = re.sub(r"^(https?):/+", r"\1://", url)  # a path keeps one slash only
        parts = urlsplit(url)
        name = parts.path.strip("/")
        if not parts.netloc or not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise HedgerowError(f"a dataset at a server is http://HOST/DATASET, not {url!r}")
        self._base = f"{parts.scheme}://{parts.netloc}/v1/datasets/{quote(name)}"
        self._token = secret("HEDGEROW_TOKEN")

    def post(self, what: str, data: dict[str, Any]) -> dict[str, Any]:
        """What the server says; its errors are raised as they would be here."""
        call = calls.Request(f"{self._base}/{what}", json.dumps(data).encode(), method="POST")
        call.add_header("Content-Type", "application/json")
        if self._token:
            call.add_header("Authorization", f"Bearer {self._token}")
        opener = calls.build_opener(_NoRedirects)
        try:
            with opener.open(call, timeout=_PATIENCE) as reply:
                told: dict[str, Any] = json.loads(reply.read())
                return told
        except failures.HTTPError as reply:
            raise _raised(reply) from None
        except (failures.URLError, OSError) as error:
            why = getattr(error, "reason", None) or error
            words = (getattr(why, "strerror", None) or str(why)).lower()
            where = self._base.split("/v1/")[0]
            raise Unreachable(f"no server answers at {where}: {words}", hint="see whether it runs") from None
        except ValueError:
            raise Unreachable(f"what answers at {self._base.split('/v1/')[0]} is no Hedgerow") from None


class _NoRedirects(calls.HTTPRedirectHandler):
    """A token is sent to the server that was named, and to no other."""

    def redirect_request(self, *args: Any) -> None:
        return None


_KINDS = {kind.code: kind for kind in reversed(list(vars(errors).values()))
          if isinstance(kind, type) and issubclass(kind, HedgerowError)}  # fmt: skip


def _raised(reply: failures.HTTPError) -> HedgerowError:
    """The error that a reply holds, as the one it would be here."""
    try:
        told = json.loads(reply.read())["error"]
        hint = told["hint"]
        if hint and hint[:1].isupper() and hint[1:2].islower():  # it goes on after another sentence here
            hint = hint[:1].lower() + hint[1:]
        return _KINDS.get(told["code"], Unreachable)(str(told["message"]), hint=hint)
    except (ValueError, KeyError, TypeError):
        kind = NotPermitted if reply.code in (401, 403) else Unreachable
        return kind(f"the server replied {reply.code}")


def ask(url: str, question: Ask, *, explain: bool, json: bool) -> None:
    """Put a question to a server, and print what it says.

    Args:
        url: http://HOST/DATASET.
        question: the question.
        explain: ask only what asking would do.
        json: print the server's own reply.
    """
    sent = {"sql": question.sql, "params": list(question.params), "spend": question.spend, **question.wish}
    sent |= {"max_epsilon": question.max_epsilon, "request": question.request}
    told = Remote(url).post("explain" if explain else "ask", sent)
    if json:
        emit(told)
        return
    to = screen()
    if explain:
        to.print(told["words"])
        return
    to.print(_table(told))
    cost, left = told["cost"], told["remaining"]
    hold = "are meant to hold" if told["source"] == "learned" else "hold"
    to.print(f"Error bounds {hold} with {told['confidence']:.4g} confidence ({told['source']}).")
    to.print("Asking was free." if cost is None else f"Asking cost epsilon {cost['epsilon']:.4g}.")
    to.print(f"Left to spend: epsilon {left['epsilon']:.4g}.")
    for note in told["notes"]:
        to.print(f"Note: {note}")


def _table(told: dict[str, Any]) -> Any:
    from rich.table import Table

    from hedgerow.release.numerals import bound, signed

    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in told["columns"]:
        made.add_column(name)
        if told["rows"] and isinstance(told["rows"][0][name], dict):
            made.add_column("±", style="dim")
    for row in told["rows"]:
        cells: list[str] = []
        for name in told["columns"]:
            cell = row[name]
            if isinstance(cell, dict):
                value, error = (float("nan") if cell[k] is None else cell[k] for k in ("value", "error"))
                cells += [signed(value, error), bound(error)]
            else:
                cells.append(str(cell))
        made.add_row(*cells)
    return made
