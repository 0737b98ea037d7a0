"""Talk: one connection, from its first byte to its last.

Nothing that comes is trusted: a message has a largest size, signing in has a time, and every error is one of
PostgreSQL's with a sentence. A transaction is a word only: nothing is written, and what was spent stays spent
when it is rolled back or cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import ssl
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, Starting
from hedgerow.serve.wire import failure, messages, parameters, results, signing, values
from hedgerow.serve.wire.failure import Cancelled, FailedTransaction, NoCursor, NoStatement, ProtocolViolation
from hedgerow.serve.wire.line import WireLine
from hedgerow.serve.wire.messages import Parts
from hedgerow.serve.wire.plans import StatementPlan
from hedgerow.serve.wire.results import StatementResult
from hedgerow.serve.wire.split import statements_of
from hedgerow.serve.wire.statements import Statements
from hedgerow.service.failure import owners_only

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hedgerow.service.catalogue import Catalogue
    from hedgerow.service.host import Host

log = logging.getLogger("hedgerow.wire")
_SIGN_IN = 20.0  # seconds
_MOST_HELD = 100  # statements and portals of one connection


@dataclass
class PreparedStatement:
    """A statement that was parsed: its text, its plan, the types of its parameters."""

    sql: str
    plan: StatementPlan
    kinds: list[int]


@dataclass
class Portal:
    """A statement with its values: what it gave is kept while it is fetched in parts."""

    statement: PreparedStatement
    given: list[Any]
    forms: list[int]
    result: StatementResult | None = None
    at: int = 0


@dataclass
class Talk:
    """One connection.

    Args:
        host: everything the server holds.
        line: the connection.
        readers: the threads that read what was learned.
        tls: what TLS is spoken with, if it is.
        talks: all connections, by the numbers that cancel them.
        catalogues: those of datasets that were looked up, by name.
        lookups: the one thread that looks them up.
    """

    host: Host
    line: WireLine
    readers: Executor
    tls: ssl.SSLContext | None
    talks: dict[tuple[int, int], Talk]
    catalogues: dict[str, Catalogue]
    lookups: Executor
    key: tuple[int, int] = field(
        default_factory=lambda: (secrets.randbelow(1 << 31), secrets.randbelow(1 << 31))
    )
    statements: Any = None
    state: str = "I"
    skipping: bool = False
    work: asyncio.Task[Any] | None = None
    prepared: dict[str, PreparedStatement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    async def hold(self) -> None:
        """Talk until one of both ends it."""
        try:
            async with asyncio.timeout(_SIGN_IN):
                said = await signing.begin(self.line, self.tls)
                if isinstance(said, tuple):
                    if said in self.talks:
                        self.talks[said].cancel()
                    return
                await self._begin(said)
            self.talks[self.key] = self
            while await self._turn():
                await self.line.writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError):
            pass
        except HedgerowError as error:
            await self._end(error)
        except Exception as error:  # a fault of our own ends this connection, and no other
            log.exception("a connection failed")
            await self._end(error)
        finally:
            self.talks.pop(self.key, None)
            self.line.writer.close()

    def cancel(self) -> None:
        """Stop waiting for what is being asked; what was charged stays charged."""
        if self.work is not None:
            self.work.cancel()

    async def end(self) -> None:
        """Say that the server ends."""
        if self.work is None:
            with contextlib.suppress(ConnectionError):
                fields = failure.fields(Starting("the server is ending"), False, severity="FATAL") | {
                    "C": "57P01"
                }
                self.line.writer.write(messages.report("E", fields))
                self.line.writer.close()

    async def _begin(self, said: dict[str, str]) -> None:
        """Sign in, and say what the settings are."""
        who, hosted, proof = await signing.sign_in(self.line, self.host, said, self.tls)
        self.statements = Statements(self.host, hosted, who, self.readers, self.catalogues, self.lookups)
        for name, value in signing.options(said):
            self.statements.settings.set(name, value)
        self.line.writer.write(messages.authentication(12, proof) + messages.authentication(0))
        for name, value in self.statements.settings.reported.items():
            self.line.writer.write(messages.setting(name, value))
        self.line.writer.write(messages.message("K", *map(messages.int32, self.key)) + messages.ready("I"))
        await self.line.writer.drain()

    # -- messages -------------------------------------------------------------------------------------------

    async def _turn(self) -> bool:
        """Read one message and reply to it; whether the talk goes on."""
        kind, data = await self.line.message()
        if kind == "X":
            return False
        if kind == "S":
            self.skipping = False
            if self.state == "I":
                self.portals.clear()
            self.line.writer.write(messages.ready(self.state))
            return True
        if self.skipping or kind == "H":  # after an error all is skipped until Sync, also a simple query
            return True
        if kind == "Q":
            await self._query(Parts(data).text())
            self.line.writer.write(messages.ready(self.state))
            return True
        doors = {"P": self._parse, "B": self._bind, "D": self._describe, "E": self._execute, "C": self._close}
        if kind not in doors:
            raise ProtocolViolation("a message came that is not spoken here")
        try:
            await doors[kind](Parts(data))
        except ProtocolViolation:
            raise
        except Exception as error:
            self._failed(error)
            self.skipping = True
        return True

    async def _query(self, sql: str) -> None:
        """The simple way: statements, each with its rows, until one fails."""
        text = sql
        try:
            parts = statements_of(sql)
            if not parts:
                self.line.writer.write(messages.message("I"))
            for part in parts:
                text = part
                planned = await self._planned(part)
                text = (planned.tree.sql if planned.kind == "copy" else planned.sql) or part
                result = await self._run(planned, (), part)
                if planned.kind == "copy":
                    self.line.writer.write(
                        results.copied(result, planned.copy or "text", planned.words[0] == "header")
                    )
                elif result.columns is not None:
                    written = results.forms((), len(result.columns))
                    self.line.writer.write(messages.columns(result.columns, written))
                    self.line.writer.write(results.sent(result.columns, result.rows, written))
                self._done(planned, result)
                await self.line.writer.drain()
        except ConnectionError:
            raise
        except Exception as error:
            self._failed(error, sql, text)

    async def _parse(self, parts: Parts) -> None:
        name, sql = parts.text(), parts.text()
        kinds = [parts.int32() for _ in range(parts.int16())]
        found = statements_of(sql)
        if len(found) > 1:
            raise ProtocolViolation("one statement is prepared at a time")
        if len(self.prepared) >= _MOST_HELD:
            raise HedgerowError("too many statements are prepared: close some")
        text = found[0] if found else ""
        planned = await self._planned(text)
        kinds = parameters.kinds(planned, text, kinds, self.statements.hosted.domain)
        self.prepared[name] = PreparedStatement(text, planned, kinds)
        self.line.writer.write(messages.message("1"))

    async def _bind(self, parts: Parts) -> None:
        portal, name = parts.text(), parts.text()
        if name not in self.prepared:
            raise NoStatement("there is no such prepared statement")
        statement = self.prepared[name]
        written = [parts.int16() for _ in range(parts.int16())]
        given = []
        for i in range(parts.int16()):
            size = parts.int32()
            data = None if size < 0 else parts.take(size)
            form = written[i] if i < len(written) and len(written) > 1 else written[0] if written else 0
            given.append(values.read(data, statement.kinds[i] if i < len(statement.kinds) else 0, form))
        forms = [parts.int16() for _ in range(parts.int16())]
        if len(self.portals) >= _MOST_HELD:
            raise HedgerowError("too many portals are open: close some")
        self.portals[portal] = Portal(statement, given, forms)
        self.line.writer.write(messages.message("2"))

    async def _describe(self, parts: Parts) -> None:
        kind, name = parts.take(1), parts.text()
        self.statements.refuse_ended()
        if kind == b"S":
            if name not in self.prepared:
                raise NoStatement("there is no such prepared statement")
            statement = self.prepared[name]
            kinds = statement.kinds
            self.line.writer.write(
                messages.message("t", messages.int16(len(kinds)), *map(messages.int32, kinds))
            )
            columns = statement.plan.columns
            if columns is None and statement.plan.kind == "catalogue":
                columns = (await self._run(statement.plan, [None] * len(kinds), statement.sql)).columns
            self._say(None if statement.plan.kind == "copy" else columns, ())
            return
        portal = self._portal(name)
        columns = portal.statement.plan.columns
        if columns is None and portal.statement.plan.kind == "catalogue":
            portal.result = await self._run(portal.statement.plan, portal.given, portal.statement.sql)
            columns = portal.result.columns
        self._say(None if portal.statement.plan.kind == "copy" else columns, portal.forms)

    def _say(self, columns: Sequence[Any] | None, forms: Sequence[int]) -> None:
        if columns is None:
            self.line.writer.write(messages.message("n"))
        else:
            self.line.writer.write(messages.columns(columns, results.forms(forms, len(columns))))

    async def _execute(self, parts: Parts) -> None:
        portal, most = self._portal(parts.text()), parts.int32()
        planned = portal.statement.plan
        if planned.kind == "empty":
            self.line.writer.write(messages.message("I"))
            return
        if portal.result is None:
            portal.result = await self._run(planned, portal.given, portal.statement.sql)
        result = portal.result
        if planned.kind == "copy":
            self.line.writer.write(
                results.copied(result, planned.copy or "text", planned.words[0] == "header")
            )
        elif result.columns is not None:
            end = len(result.rows) if most <= 0 else min(len(result.rows), portal.at + most)
            written = results.forms(portal.forms, len(result.columns))
            self.line.writer.write(results.sent(result.columns, result.rows[portal.at : end], written))
            portal.at = end
            if end < len(result.rows):
                self.line.writer.write(messages.message("s"))
                return
        self._done(planned, result)

    async def _close(self, parts: Parts) -> None:
        kind, name = parts.take(1), parts.text()
        (self.prepared if kind == b"S" else self.portals).pop(name, None)
        self.line.writer.write(messages.message("3"))

    def _portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise NoCursor("there is no such portal")
        return self.portals[name]

    # -- carrying out ----------------------------------------------------------------------------------------

    async def _planned(self, sql: str) -> StatementPlan:
        self._note(sql)
        found: StatementPlan = await self._waited(self.statements.plan(sql))
        self._refuse_failed(found)
        return found

    def _note(self, sql: str, given: Sequence[Any] = ()) -> None:
        """Write what a tool sent into the log, where whoever runs the server wants to see it."""
        if log.isEnabledFor(logging.DEBUG):
            said = {"who": self.statements.who.name, "sql": sql, "values": list(given)}
            log.debug("said %s", json.dumps(said, default=str))

    def _refuse_failed(self, planned: StatementPlan) -> None:
        if self.state == "E" and planned.kind != "transaction":
            raise FailedTransaction("a statement of this transaction failed: say ROLLBACK")

    async def _run(self, planned: StatementPlan, given: Sequence[Any], sql: str) -> StatementResult:
        """Carry out a plan."""
        self._refuse_failed(planned)
        self._note(sql, given)
        result: StatementResult = await self._waited(self.statements.run(planned, given))
        if result.notice is not None:
            self.line.writer.write(
                messages.report("N", {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": result.notice})
            )
        return result

    async def _waited(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Wait for something that another connection can cancel."""
        self.work = asyncio.ensure_future(what)
        try:
            return await self.work
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise Cancelled("cancelled as asked; what was charged stays charged") from None
        finally:
            self.work = None

    def _done(self, planned: StatementPlan, result: StatementResult) -> None:
        tag = result.tag
        if planned.kind == "transaction":
            if tag == "COMMIT" and self.state == "E":
                tag = "ROLLBACK"
            self.state = "T" if tag in ("BEGIN", "SAVEPOINT", "RELEASE") or planned.words[0] == "to" else "I"
            if self.state == "I":
                self.statements.settings.end()
        if planned.kind == "discard":
            self.prepared.clear()
            self.portals.clear()
        if planned.kind == "set":
            name = planned.words[0]
            for held, value in self.statements.settings.reported.items():
                if held.lower() == name.lower():
                    self.line.writer.write(messages.setting(held, value))
        self.line.writer.write(messages.message("I") if planned.kind == "empty" else messages.complete(tag))

    def _failed(self, error: Exception, sql: str = "", text: str = "") -> None:
        """Say what failed; where in what was sent, if what was asked stands there as it was asked."""
        owner = self.statements.who.owns
        if owners_only(error):
            log.error("cannot be used: %s", error)
        elif not isinstance(error, HedgerowError):
            log.error("a fault of our own: %s", type(error).__name__)
        self.line.writer.write(messages.report("E", failure.fields(error, owner, sql, text)))
        self.state = "E" if self.state in "TE" else "I"

    async def _end(self, error: Exception) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            owner = self.statements is not None and self.statements.who.owns
            self.line.writer.write(messages.report("E", failure.fields(error, owner, severity="FATAL")))
            await self.line.writer.drain()
