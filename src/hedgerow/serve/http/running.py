"""Running: the server's life - listen, say so once, serve until a signal, end within ten seconds."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hedgerow.errors import HedgerowError
from hedgerow.serve.console import rendering
from hedgerow.serve.http.app import application
from hedgerow.serve.wire.listening import WireServer
from hedgerow.service.failure import DEBUG
from hedgerow.service.host import Host

if TYPE_CHECKING:
    from hedgerow.service.config import Config

WIRE_PORT = 5433  # unless said
GRACE = 10.0  # seconds in which a server ends
_SWITCH = 0.001  # seconds after which a thread that computes lets the one that replies go on
_PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's own: the addresses of proxies whose headers are believed
_HEAD = 10.0  # seconds for the head of a request
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
    b"connection: close\r\n\r\n"
    b'{"error":{"code":"starting","message":"Too many connections are open.","hint":"Come back later.",'
    b'"needed":null,"remaining":null,"affordable":null,"position":null}}'
)


class _Server(uvicorn.Server):
    """A server that leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


class GuardedProtocol(H11Protocol):
    """HTTP with a time for the head of a request, and with only so many connections at once."""

    most = 200
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection too many; begin to wait for a head."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.write(_BUSY)
            transport.close()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """A head that is whole ends the wait; part of another one begins it again."""
        super().data_received(data)
        at_work = self.cycle is not None and not self.cycle.response_complete
        if at_work and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not at_work and self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_HEAD, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


Ready = Callable[[dict[str, Any], list[str]], None]


def serve(config: Config, ready: Ready, *, json_log: bool) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        config: what to serve; checked.
        ready: told once, when all ports accept, with how its datasets stand.
        json_log: write the log as lines of JSON.
    """
    _log(json_log)
    sys.setswitchinterval(_SWITCH)
    listening, wired = _listen(config), _listen_wire(config)
    host = Host(config)
    try:
        host.start()
        asyncio.run(_serve(config, host, listening, wired, ready))
    finally:
        host.close(patience=1.0)
        listening.close()
        if wired is not None:
            wired.close()


async def _serve(
    config: Config, host: Host, listening: socket.socket, wired: socket.socket | None, ready: Ready
) -> None:
    server = _Server(_http(config, host))
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    served = asyncio.ensure_future(server.serve([listening]))
    while not server.started and not served.done():
        await asyncio.sleep(0.01)
    tools = WireServer(host, wired, config.server.tls_cert, config.server.tls_key) if wired else None
    if not served.done():
        host.ready = True
        if tools is not None:
            await tools.start()
        ready(_event(config, host, listening, tools), host.standing())
        loop.run_in_executor(None, rendering.warm)
        waiting = asyncio.ensure_future(over.wait())
        await asyncio.wait([served, waiting], return_when=asyncio.FIRST_COMPLETED)
        host.ending = True
        server.should_exit = True
    if tools is not None:
        await tools.end(GRACE - 6)
    await served


def _http(config: Config, host: Host) -> uvicorn.Config:
    """How HTTP is spoken."""
    return uvicorn.Config(
        application(host),
        http=type("GuardedHttp", (GuardedProtocol,), {"most": config.limits.connections}),
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=_PROXIES in os.environ,  # else anybody on this machine could say whence they come
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(GRACE) - 4,
        ssl_certfile=config.server.tls_cert,
        ssl_keyfile=config.server.tls_key,
    )


def _listen_wire(config: Config) -> socket.socket | None:
    """A socket for PostgreSQL's protocol; where nobody chose its port and that is taken, there is none."""
    port, host = config.server.wire_port, config.server.host
    if port == "off":
        return None
    if port is None and config.server.port == 0:  # any free port for one is any for both
        return _bound(host, 0, "--wire-port")
    try:
        return _bound(host, int(WIRE_PORT if port is None else port), "--wire-port")
    except HedgerowError as error:
        if port is not None:
            raise
        logging.getLogger("hedgerow").warning("PostgreSQL's protocol is not spoken: %s", error)
        return None


def _listen(config: Config) -> socket.socket:
    """A socket for HTTP; where it cannot be bound is said before anything is opened."""
    return _bound(config.server.host, config.server.port, "--port")


def _bound(host: str, port: int, option: str) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol's number asyncio sends at once; without it a reply waits 40 ms for the other side.
        made = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(found[4])
        made.listen(1024)
    except OSError as error:
        why = (error.strerror or "no reason given").lower()
        raise HedgerowError(
            f"cannot listen on {host}:{port}: {why}", hint=f"choose another {option}, or 0 for any free one"
        ) from None
    return made


def _event(config: Config, host: Host, listening: socket.socket, tools: WireServer | None) -> dict[str, Any]:
    """What is said once the server is ready."""
    name, port = listening.getsockname()[:2]
    name = f"[{name}]" if ":" in name else name
    url = f"{'https' if config.server.tls_cert else 'http'}://{name}:{port}"
    return {
        "event": "ready",
        "url": url,
        "wire": None if tools is None else dict(zip(("host", "port"), tools.place, strict=True)),
        "owner_link": f"{url}/login?link={host.visits.new_link()}",
        "owner_token": host.owner_token,
        "datasets": sorted(host.datasets),
        "pid": os.getpid(),
    }


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps(told)


def _log(json_log: bool) -> None:
    """The log goes to stderr; what it says of errors never quotes a value."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if json_log else logging.Formatter("%(levelname)s %(message)s"))
    for name in ("hedgerow", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if name == "uvicorn" else logging.INFO)
    if os.environ.get(DEBUG):  # every statement that a tool sent over PostgreSQL's protocol, with its values
        logging.getLogger("hedgerow.wire").setLevel(logging.DEBUG)
