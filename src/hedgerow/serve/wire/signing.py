"""Signing in: TLS, the first message, and a token proved by SCRAM."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from hedgerow.errors import NotFound, NoToken
from hedgerow.serve.wire import messages
from hedgerow.serve.wire.failure import ProtocolViolation
from hedgerow.serve.wire.line import WireLine
from hedgerow.serve.wire.messages import Parts
from hedgerow.serve.wire.scram import MECHANISM, ScramExchange

if TYPE_CHECKING:
    from hedgerow.service.host import Host
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.tokens import Token

_NOT_SETTINGS = ("user", "database", "options", "replication")


async def begin(line: WireLine, tls: ssl.SSLContext | None) -> dict[str, str] | tuple[int, int]:
    """The settings of the first message, or the numbers of a connection that is to be cancelled.

    Args:
        line: the connection.
        tls: what TLS is spoken with, if it is.
    """
    asked: set[int] = set()
    while True:
        parts = Parts(await line.first())
        code = parts.int32()
        if code in (messages.TLS, messages.GSS):
            if code in asked or line.writer.get_extra_info("ssl_object") is not None:
                raise ProtocolViolation("TLS was asked for already")
            asked.add(code)
            await _secure(line, tls if code == messages.TLS else None)
        elif code == messages.CANCEL:
            return parts.int32(), parts.int32()
        elif code >> 16 == messages.VERSION:
            return _settings(line, parts, code & 0xFFFF)
        else:
            raise ProtocolViolation("only version 3 of the protocol is spoken")


async def sign_in(
    line: WireLine, host: Host, said: dict[str, str], tls: ssl.SSLContext | None
) -> tuple[Token, Hosted, bytes]:
    """Whose token it is and which dataset is asked, and the server's own proof.

    Args:
        line: the connection.
        host: everything the server holds.
        said: the settings of the first message.
        tls: what TLS is spoken with, if it is: then nothing else is.
    """
    if tls is not None and line.writer.get_extra_info("ssl_object") is None:
        raise NoToken("this server speaks TLS only: say sslmode=require")
    with host.attempts.of((line.writer.get_extra_info("peername") or (None,))[0]):
        who, proof = await _proved(line, host, said.get("user", ""))
    host.refuse_unready()
    database = (said.get("database") or said.get("user", "")).partition("?")[0]
    hosted = host.datasets.get(database) if who.sees(database) else None
    if hosted is None:
        raise NotFound("this token reaches no such database", hint="the database is the dataset's name")
    return who, hosted, proof


async def _proved(line: WireLine, host: Host, name: str) -> tuple[Token, bytes]:
    """Whose token was proved, and the server's own proof."""
    found = host.state.verifier(name, datetime.now(UTC))
    exchange = ScramExchange(None if found is None else found[1], name, host.state.pepper)
    line.writer.write(messages.authentication(10, messages.text(MECHANISM) + b"\0"))
    first = Parts(await line.reply("p"))
    if first.text() != MECHANISM:
        raise ProtocolViolation(f"only {MECHANISM} is spoken")
    line.writer.write(messages.authentication(11, exchange.challenge(first.take(first.int32()))))
    proof = exchange.verdict(await line.reply("p"))
    if proof is None or found is None:
        raise NoToken("no good token was proved", hint="the user is the token's id, the password the token")
    return found[0], proof


def options(said: dict[str, str]) -> list[tuple[str, str]]:
    """Settings that a connection begins with: its own, those of `options=-c name=value`, the database's.

    Where a tool lets nobody type options, the name of the database takes them: people?spend=on&within=0.01.

    >>> options({"user": "ann", "options": "-c hedgerow.spend=on", "application_name": "psql"})
    [('application_name', 'psql'), ('hedgerow.spend', 'on')]
    >>> options({"user": "ann", "database": "people?spend=on&within=0.01"})
    [('hedgerow.spend', 'on'), ('hedgerow.within', '0.01')]
    """
    found = [(name, value) for name, value in said.items() if name not in _NOT_SETTINGS]
    words = said.get("options", "").replace("\\ ", "\0").split()
    for before, word in pairwise(["", *words]):
        bare = word if before == "-c" else word[2:] if word.startswith(("-c", "--")) else ""
        name, sep, value = bare.replace("\0", " ").partition("=")
        if sep:
            found.append((name, value))
    asked = said.get("database", "").partition("?")[2]
    for part in filter(None, asked.split("&")):
        name, _, value = part.partition("=")
        found.append((f"hedgerow.{name}", value))
    return [(name, value) for name, value in found if not name.startswith("_pq_.")]


async def _secure(line: WireLine, tls: ssl.SSLContext | None) -> None:
    """Go over to TLS, or say that it is not spoken."""
    if getattr(line.reader, "_buffer", b""):
        raise ProtocolViolation("something came before it was said whether TLS is spoken")
    line.writer.write(b"N" if tls is None else b"S")
    await line.writer.drain()
    if tls is not None:
        await line.writer.start_tls(tls)


def _settings(line: WireLine, parts: Parts, minor: int) -> dict[str, str]:
    said: dict[str, str] = {}
    while parts.more:
        name = parts.text()
        if not name:
            break
        said[name] = parts.text()
    unknown = [name for name in said if name.startswith("_pq_.")]
    if minor > 0 or unknown:
        words = b"".join(messages.text(name) for name in unknown)
        line.writer.write(messages.message("v", messages.int32(0), messages.int32(len(unknown)), words))
    return said
