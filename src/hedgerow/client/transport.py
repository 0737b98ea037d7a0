"""Transport: requests to one server over HTTP, by the standard library alone.

A connection is kept open for each thread. What may be tried again is: a reply that says "later" (429, 503),
and a server that was not reached, for requests that cannot be charged twice - those that read, and those
with a request id.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hedgerow.client.address import Address
from hedgerow.client.failure import refusal
from hedgerow.errors import HedgerowError, Unreachable

_LATER = (429, 503)
_LONGEST = 10.0  # seconds between two tries


class HttpReply(NamedTuple):
    """What a server replied: its body, and the media type."""

    body: bytes
    media: str

    def json(self) -> Any:
        """The body as plain data."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise Unreachable("what answers at this address is no Hedgerow") from None


class Transport:
    """Requests to a server.

    Args:
        address: where it is.
        patience: seconds that one try may take.
        tries: how often something is tried, if that is safe.
    """

    def __init__(self, address: Address, patience: float = 120.0, tries: int = 5) -> None:
        self.address, self._patience, self._tries = address, patience, max(1, tries)
        self._threads = threading.local()
        self._open: set[HTTPConnection] = set()

    def send(
        self, method: str, path: str, data: Any = None, *, accept: str = "application/json", safe: bool = True
    ) -> HttpReply:
        """One request and its reply; a refusal is raised as the error it is.

        Args:
            method, path: of the request.
            data: sent as JSON.
            accept: the media type that is wanted.
            safe: whether it may be tried again without being done twice.
        """
        body = None if data is None else json.dumps(data, allow_nan=False).encode()
        for last in (i == self._tries - 1 for i in range(self._tries)):
            try:
                response = self._once(method, path, body, accept)
                told = response.read()
            except (OSError, HTTPException) as error:
                self._drop()
                if last or not safe:
                    raise self._lost(error, done=not safe) from None
                wait = 0.1
            else:
                if response.status < 300:
                    return HttpReply(told, response.headers.get_content_type())
                if last or response.status not in _LATER:
                    raise refusal(response.status, told)
                wait = _seconds(response)
            time.sleep(
                wait * (1 + secrets.randbelow(500) / 1000)
            )  # so that many who wait do not come back at once
        raise AssertionError("the last try ends the loop")

    def stream(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Server-sent events of a path, until the server ends them: their names and what they hold."""
        connection = self._connect()
        with closing(connection):
            try:
                connection.request("GET", path, headers=self._headers("text/event-stream"))
                response = connection.getresponse()
                if response.status != 200:
                    raise refusal(response.status, response.read())
                yield from _events(response)
            except (OSError, HTTPException) as error:
                raise self._lost(error) from None

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            self._open.pop().close()
        self._threads = threading.local()

    def _once(self, method: str, path: str, body: bytes | None, accept: str) -> HTTPResponse:
        connection = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self._connect()
            self._open.add(connection)
        headers = self._headers(accept) | ({} if body is None else {"Content-Type": "application/json"})
        connection.request(method, path, body, headers)
        response: HTTPResponse = connection.getresponse()
        return response

    def _headers(self, accept: str) -> dict[str, str]:
        token = self.address.token
        return {"Accept": accept} | ({"Authorization": f"Bearer {token}"} if token else {})

    def _connect(self) -> HTTPConnection:
        parts = urlsplit(self.address.server)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self._patience)

    def _drop(self) -> None:
        connection = self._threads.__dict__.pop("connection", None)
        if connection is not None:
            self._open.discard(connection)
            connection.close()

    def _lost(self, error: Exception, *, done: bool = False) -> HedgerowError:
        why = str(error) or type(error).__name__
        hint = "it may have been done: look at the history before you repeat it" if done else None
        return Unreachable(f"no server answers at {self.address.server}: {why}", hint=hint)


def _seconds(response: HTTPResponse) -> float:
    """How long a server asks to wait."""
    try:
        return min(_LONGEST, max(0.0, float(response.headers.get("Retry-After") or 1)))
    except ValueError:
        return 1.0


def _events(response: HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    name, data = "message", ""
    for raw in response:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and data:
            yield name, json.loads(data)
            name, data = "message", ""
