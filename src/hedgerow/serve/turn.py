"""Turn: somebody's question to one dataset, whatever the door - free if it can be, else in its turn.

What needs no row is read by the readers, who share no lock with charged work; what may be charged goes
through the dataset's lane, and comes back at a point of the grid. A request id binds its question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.errors import LedgerUnavailable, RangeTooLarge
from hedgerow.service import wire

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hedgerow.service.asking import Answered, Ask
    from hedgerow.service.host import Host
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.tokens import Token


@dataclass(frozen=True)
class Turn:
    """Who asks what of which dataset.

    Args:
        host: everything the server holds.
        hosted: the dataset.
        who: whose token it is.
        readers: the threads that read what was learned.
    """

    host: Host
    hosted: Hosted
    who: Token
    readers: Executor

    async def ask(self, question: Ask) -> dict[str, Any]:
        """The answer as plain data, once the log has it.

        Args:
            question: what is asked.
        """
        self.host.refuse_haste(self.who)
        self.hosted.refuse_spending(question, self.who)

        async def answer() -> dict[str, Any]:
            told: dict[str, Any] = await self._answered(question)
            return told

        return await self.once(question.request, question.bound, answer)

    async def once(
        self, request: str | None, bound: str, answer: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """What a request id got before, free; else what it gets now, which is kept.

        Args:
            request: the id, if there is one.
            bound: what it is bound to.
            answer: asks.
        """
        if request is None:
            return await answer()
        log, key = self.host.log, (self.hosted.name, self.who.name, request)
        known = log.bind(*key, bound)
        if known is not None:
            self.hosted.refuse_frozen()
            again = {"cached": True, "cost": None}
            return {"answers": [a | again for a in known["answers"]]} if "answers" in known else known | again
        told = await answer()
        log.answered(*key, wire.plain(told))
        return told

    async def explain(self, question: Ask) -> dict[str, Any]:
        """What asking would do, from what is public.

        Args:
            question: what would be asked.
        """
        found = await self.read(lambda: self.hosted.foretell(question))
        if found is None:
            return wire.explained(await self.charge(lambda: self.hosted.explain(question, self.who)))
        return wire.explained(found) | {"needs_rows": False}

    async def read(self, work: Callable[[], Any]) -> Any:
        """Do something that needs no row, in a thread of the readers."""
        return await read(self.host, self.readers, work)

    async def charge(self, work: Callable[[], Any]) -> Any:
        """Do something in the dataset's lane, and come back at a point of the grid."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self.host.config.limits.statement_seconds):
                return await asyncio.shield(asyncio.wrap_future(self.hosted.in_lane(work)))
        except TimeoutError:
            raise LedgerUnavailable(
                "the question is still being worked on",
                hint="ask it again with the same request id, which is charged once",
            ) from None
        finally:
            now = loop.time()
            await _wait_until(now + max(0.0, self.host.grid.wait(now - began)))

    async def _answered(self, question: Ask) -> Any:
        """The answer as plain data; what was charged is noted in its turn, whoever waits for it or not."""
        given = self.hosted.again(question, self.who)
        if given is None:
            given = await self.read(lambda: self.hosted.free(question, self.who))
        if given is None:
            return await self.charge(lambda: self.noted(self.hosted.ask(question, self.who)))
        return self.noted(given)

    def noted(self, given: Answered) -> dict[str, Any]:
        """An answer as plain data, once the log has it."""
        told = wire.answered(given)
        item = {name: told[name] for name in ("sql", "source", "cost", "request")}
        self.host.log.note(self.hosted.name, self.who.name, item)
        return told


async def read(host: Host, readers: Executor, work: Callable[[], Any]) -> Any:
    """Do something that needs no row, in a thread of the readers.

    Args:
        host: whose limits it has.
        readers: the threads.
        work: what is done.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(host.config.limits.statement_seconds):
            return await loop.run_in_executor(readers, work)
    except TimeoutError:
        raise RangeTooLarge("this takes longer than a statement may", hint="ask for less") from None


async def _wait_until(time: float) -> None:
    """Wait for a point of the grid; who is cancelled meanwhile is cancelled then, and not a moment sooner."""
    loop, cut = asyncio.get_running_loop(), None
    while (left := time - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError as error:
            cut = error
    if cut is not None:
        raise cut
