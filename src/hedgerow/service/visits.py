"""Visits: how a browser is let in - by a link that works once, or by a token - and how it is known again.

A visit is a token of its own, made when somebody comes in and good for half a day, as a cookie only. It can
do what the token can that it was begun with, and ends with it. Nothing of it is kept but its digest.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from hedgerow.errors import NoToken
from hedgerow.service import tokens
from hedgerow.service.tokens import Secret, Token

if TYPE_CHECKING:
    from hedgerow.service.state import ServerState

Ending = Literal["unknown", "over", "ran_out", "revoked"]
HOURS = 12  # that a visit lasts
_LINK = 3600.0  # seconds in which a link can be used


class Visits:
    """The visits of a server.

    Args:
        state: where they are kept.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._link: bytes | None = None
        self._made = 0.0

    def new_link(self) -> str:
        """The secret of a link that lets an owner in, once; an earlier one ends."""
        code = secrets.token_hex(24)
        self._link, self._made = tokens.digest(code), time.monotonic()
        return code

    def by_link(self, code: str) -> str:
        """Begin an owner's visit by the link; its cookie. Whatever is tried, a good link works once."""
        good = self._link is not None and hmac.compare_digest(tokens.digest(code), self._link)
        if not good or time.monotonic() - self._made > _LINK:
            raise NoToken(
                "this link was used already, or is too old",
                hint="come in with a token, or start the server again for a new link",
            )
        self._link = None
        return self._begin(Token("", "owner", "owner", tokens.ALL, True, source="link"), None)

    def by_token(self, text: str) -> str:
        """Begin a visit with a token; its cookie."""
        now = datetime.now(UTC)
        found = self._state.token(text.strip(), now)
        if found is None:
            raise self._no_token(text.strip())
        return self._begin(replace(found, source=f"login {found.id}"), found.expires)

    def _no_token(self, text: str) -> NoToken:
        """Whoever holds all of a token is told when it ended; nobody else is told anything."""
        held = self._state.held(text)
        if held is None or held.visits:
            return NoToken(
                "this is no token that is good", hint="ask the owner for one, or paste all of it: hr_..."
            )
        how = "the owner ended this token" if held.revoked else "this token ran out"
        return NoToken(f"{how} on {(held.revoked or held.expires)[:10]}", hint="ask the owner for a new one")

    def farewell(self, cookie: str | None) -> tuple[Ending, str | None]:
        """Why a browser is not known any more, and since when: of its token, if that ended too.

        Args:
            cookie: what it sent; nothing is told to one that does not hold a whole visit.
        """
        visit = None if cookie is None else self._state.held(cookie)
        if visit is None or not visit.visits:
            return "unknown", None
        ids = {token.id: token for token in self._state.tokens()}
        token = ids.get((visit.source or "").removeprefix("login "))
        if token is not None and token.revoked is not None:
            return "revoked", token.revoked
        if token is not None and not token.lives(datetime.now(UTC)):
            return "ran_out", token.expires
        return "over", visit.revoked or visit.expires

    def end(self, visit: Token) -> None:
        """End a visit now."""
        self._state.revoke(visit.id)

    def _begin(self, like: Token, until: str | None) -> str:
        made, now = Secret.passing(), datetime.now(UTC)
        ends = tokens.stamp(now + timedelta(hours=HOURS))
        ends = ends if until is None else min(ends, until)
        token = replace(like, id=made.id, made=tokens.stamp(now), expires=ends, used=None, revoked=None)
        self._state.keep_token(made, token)
        return made.text
