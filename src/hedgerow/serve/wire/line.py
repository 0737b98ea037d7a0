"""Line: the two ways of one connection, message by message."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hedgerow.serve.wire import messages
from hedgerow.serve.wire.failure import ProtocolViolation


@dataclass
class WireLine:
    """One connection.

    Args:
        reader, writer: its two ways.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def message(self) -> tuple[str, bytes]:
        """The next message: its letter and its content; one that is too long is refused."""
        kind = (await self.reader.readexactly(1)).decode("latin-1")
        size = int.from_bytes(await self.reader.readexactly(4))
        if not 4 <= size <= messages.MOST:
            raise ProtocolViolation(f"a message may have up to {messages.MOST:,} bytes")
        return kind, await self.reader.readexactly(size - 4)

    async def first(self) -> bytes:
        """A message that comes before signing in, and has no letter."""
        size = int.from_bytes(await self.reader.readexactly(4))
        if not 8 <= size <= 10_000:
            raise ProtocolViolation("the first message is none")
        return await self.reader.readexactly(size - 4)

    async def reply(self, wanted: str) -> bytes:
        """What is sent is sent; the content of the message that must come now."""
        await self.writer.drain()
        kind, data = await self.message()
        if kind != wanted:
            raise ProtocolViolation("signing in was broken off")
        return data
