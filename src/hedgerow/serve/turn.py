"""Turn: somebody's question to one dataset, whatever the door - free if it can be, else in its turn.

What needs no row is read by the readers, who share no lock with charged work; what may be charged goes
through the dataset's lane, and comes back at a point of the grid. A request id binds its question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
        self.host.refuse_unready()
        self.host.refuse_haste(self.who)
        self.hosted.refuse_spending(question, self.who)
        log, key = self.host.log, (self.hosted.name, self.who.name)
        if question.request is not None:
            known = log.bind(*key, question.request, question.bound)
            if known is not None:
                self.hosted.refuse_frozen()
                return known | {"cached": True, "cost": None}
        told = self._noted(await self._answered(question))
        if question.request is not None:
            log.answered(*key, question.request, wire.plain(told))
        return told

    async def explain(self, question: Ask) -> dict[str, Any]:
        """What asking would do, from what is public.

        Args:
            question: what would be asked.
        """
        self.host.refuse_haste(self.who)
        found = await self.read(lambda: self.hosted.foretell(question))
        if found is None:
            return wire.explained(await self.charge(lambda: self.hosted.explain(question, self.who)))
        return wire.explained(found) | {"needs_rows": False}

    async def read(self, work: Callable[[], Any]) -> Any:
        """Do something that needs no row, in a thread of the readers."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.host.config.limits.statement_seconds):
                return await loop.run_in_executor(self.readers, work)
        except TimeoutError:
            raise RangeTooLarge("this takes longer than a statement may", hint="ask for less") from None

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
            await asyncio.sleep(max(0.0, self.host.grid.wait(loop.time() - began)))

    async def _answered(self, question: Ask) -> Answered:
        given = self.hosted.again(question, self.who)
        if given is None:
            given = await self.read(lambda: self.hosted.free(question, self.who))
        if given is None:
            given = await self.charge(lambda: self.hosted.ask(question, self.who))
        return given

    def _noted(self, given: Answered) -> dict[str, Any]:
        told = wire.answered(given)
        item = {name: told[name] for name in ("sql", "source", "cost", "request")}
        self.host.log.note(self.hosted.name, self.who.name, item)
        return told
