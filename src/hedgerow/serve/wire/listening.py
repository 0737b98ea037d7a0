"""Listening for PostgreSQL's protocol, beside HTTP."""

from __future__ import annotations

import asyncio
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hedgerow.serve.wire import messages
from hedgerow.serve.wire.line import WireLine
from hedgerow.serve.wire.talk import Talk

if TYPE_CHECKING:
    from hedgerow.service.catalogue import Catalogue
    from hedgerow.service.host import Host

_BUSY = messages.report(
    "E",
    {
        "S": "FATAL",
        "V": "FATAL",
        "C": "53300",
        "M": "Too many connections are open.",
        "H": "Come back later.",
    },
)
_BACKLOG = 1 << 16  # bytes that wait for a slow reader before its connection is no longer written to


class WireServer:
    """All connections that speak PostgreSQL's protocol.

    Args:
        host: everything the server holds.
        listening: a socket that is bound.
        cert, key: files for TLS, if it is spoken.
    """

    def __init__(self, host: Host, listening: socket.socket, cert: str | None, key: str | None) -> None:
        self._host, self._listening = host, listening
        self._readers = ThreadPoolExecutor(2, "wire reader")
        self._lookups = ThreadPoolExecutor(1, "catalogue reader")
        self._talks: dict[tuple[int, int], Talk] = {}
        self._catalogues: dict[str, Catalogue] = {}
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._tls: ssl.SSLContext | None = None
        if cert is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
            self._tls.load_cert_chain(cert, key)

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        name, port = self._listening.getsockname()[:2]
        return str(name), int(port)

    async def start(self) -> None:
        """Begin to accept."""
        self._server = await asyncio.start_server(self._accept, sock=self._listening, limit=_BACKLOG)

    async def end(self, patience: float) -> None:
        """Accept no more, say so to who waits, and give the others a while.

        Args:
            patience: seconds.
        """
        if self._server is not None:
            self._server.close()
        for talk in list(self._talks.values()):
            await talk.end()
        if self._open:
            await asyncio.wait(self._open, timeout=patience)
        for task in self._open:
            task.cancel()
        self._readers.shutdown(wait=False)
        self._lookups.shutdown(wait=False)
        for catalogue in self._catalogues.values():
            catalogue.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._open) >= self._host.config.limits.connections:
            writer.write(_BUSY)
            writer.close()
            return
        self._open.add(task)
        try:
            await Talk(
                self._host,
                WireLine(reader, writer),
                self._readers,
                self._tls,
                self._talks,
                self._catalogues,
                self._lookups,
            ).hold()
        finally:
            self._open.discard(task)
