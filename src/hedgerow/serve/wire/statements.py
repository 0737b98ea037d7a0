"""Statements carried out: a plan and values in, a result out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow.errors import NoToken
from hedgerow.release.numerals import expected
from hedgerow.serve.turn import Turn, read
from hedgerow.serve.wire import results
from hedgerow.serve.wire.plans import StatementPlan, plan
from hedgerow.serve.wire.results import StatementResult
from hedgerow.serve.wire.settings import WireSettings
from hedgerow.service.asking import Ask
from hedgerow.service.catalogue import Catalogue

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hedgerow.service.host import Host
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.tokens import Token


class Statements:
    """What one connection asks of one dataset.

    Args:
        host: everything the server holds.
        hosted: the dataset.
        who: whose token signed in.
        readers: the threads that read what was learned.
        catalogues: those of datasets that were looked up, by name.
        lookups: the one thread that looks them up.
    """

    def __init__(
        self,
        host: Host,
        hosted: Hosted,
        who: Token,
        readers: Executor,
        catalogues: dict[str, Catalogue],
        lookups: Executor,
    ) -> None:
        self.who, self.hosted = who, hosted
        self.settings = WireSettings(who.name)
        self._host, self._turn = host, Turn(host, hosted, who, readers)
        self._catalogues, self._lookups = catalogues, lookups
        self._ways: dict[str, Callable[[StatementPlan, list[Any]], Awaitable[StatementResult]]] = {
            "empty": self._nothing,
            "nothing": self._nothing,
            "discard": self._discard,
            "transaction": self._nothing,
            "set": self._set,
            "reset": self._reset,
            "show": self._show,
            "sleep": self._sleep,
            "catalogue": self._look_up,
            "explain": self._explain,
            "preview": self._preview,
            "copy": self._copy,
            "question": self._question,
        }

    async def plan(self, sql: str) -> StatementPlan:
        """What a statement is; nothing is asked."""
        self.refuse_ended()
        self._host.refuse_haste(self.who)
        found: StatementPlan = await self._turn.read(lambda: plan(sql, self.hosted.name, self.hosted.domain))
        return found

    async def run(self, planned: StatementPlan, given: Sequence[Any] = ()) -> StatementResult:
        """Carry out a plan.

        Args:
            planned: the plan.
            given: the values of its parameters.
        """
        self.refuse_ended()
        return await self._ways[planned.kind](planned, list(given))

    def refuse_ended(self) -> None:
        """Refuse a token that has ended since it signed in."""
        found = self._host.state.verifier(self.who.id, datetime.now(UTC))
        if found is None or found[0].id != self.who.id:
            raise NoToken("the token of this connection has ended", hint="ask the owner for a new one")
        self._host.refuse_unready()

    async def _nothing(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        return StatementResult(None, (), planned.tag)

    async def _set(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        name, value, local = planned.words
        self.settings.set(name, value, local=local == "local")
        return StatementResult(None, (), planned.tag)

    async def _reset(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        self.settings.reset(planned.words[0])
        return StatementResult(None, (), planned.tag)

    async def _discard(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        self.settings.reset("all")
        return StatementResult(None, (), planned.tag)

    async def _show(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        return StatementResult(planned.columns, [[self.settings.show(planned.words[0])]], "SHOW")

    async def _sleep(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        """Wait, as people do to try whether cancelling works; no thread waits, and no longer than any may."""
        self._host.refuse_haste(self.who)
        await asyncio.sleep(min(float(planned.words[0]), self._host.config.limits.statement_seconds))
        return StatementResult(planned.columns, [[""]], "SELECT 1")

    async def _look_up(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        self._host.refuse_haste(self.who)
        work = partial(self._looked_up, planned, given)
        columns, rows = await read(self._host, self._lookups, work)
        return StatementResult(results.sized(columns), rows, f"SELECT {len(rows)}")

    def _looked_up(self, planned: StatementPlan, given: list[Any]) -> Any:
        return self._catalogue().run(planned.tree, given, self.who.name)

    def _catalogue(self) -> Catalogue:
        """One for all who ask about a dataset, made anew when its schema is another."""
        name, domain = self.hosted.name, self.hosted.domain
        known = self._catalogues.get(name)
        if known is None or known.domain is not domain:
            if known is not None:
                known.close()
            known = self._catalogues[name] = Catalogue(name, domain)
        return known

    async def _explain(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        self._host.refuse_haste(self.who)
        told = await self._turn.explain(
            self._ask(plan(planned.sql, self.hosted.name, self.hosted.domain), given)
        )
        cost = told["cost"]
        lines = [
            told["words"],
            f"source: {told['source']}",
            f"expected error: {expected(told['error']) or 'not known'}",
        ]
        lines.append("cost: free" if cost is None else f"cost: at most epsilon {cost['epsilon']:.6g}")
        return StatementResult(planned.columns, [[line] for line in lines], "EXPLAIN")

    async def _preview(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        rows, names = int(planned.words[0]), planned.words[1:]
        self._host.refuse_haste(self.who)
        if rows == 0:
            return StatementResult(planned.columns, (), "SELECT 0")
        drawn = await self._turn.read(lambda: self.hosted.synopsis().sample(rows))
        columns = [[None if v is None else v for v in drawn[name].tolist()] for name in names]
        made = [[*cells, "synthetic"] for cells in zip(*columns, strict=True)]
        return StatementResult(planned.columns, made, f"SELECT {rows}", "these rows are synthetic")

    async def _copy(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        inner = await self.run(planned.tree, given)
        return StatementResult(inner.columns, inner.rows, f"COPY {len(inner.rows)}", inner.notice)

    async def _question(self, planned: StatementPlan, given: list[Any]) -> StatementResult:
        told = await self._turn.ask(self._ask(planned, given))
        rows, notice = results.picked(planned, told), None
        if told["cost"] is not None:
            cost, left = told["cost"], told["remaining"]
            notice = f"cost epsilon={cost['epsilon']:.6g} remaining={left['epsilon']:.6g}"
        return StatementResult(planned.columns, rows, f"SELECT {len(rows)}", notice)

    def _ask(self, planned: StatementPlan, given: list[Any]) -> Ask:
        return Ask(planned.sql, tuple(given), **self.settings.wish)
