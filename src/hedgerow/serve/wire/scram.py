"""SCRAM-SHA-256 (RFC 5802, RFC 7677): a token is proved without being sent, against its verifier.

A name that is unknown goes through the same steps, with a salt that is always the same for that name, and
fails at the end like a wrong token: who is known cannot be told.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from hedgerow.serve.wire.failure import ProtocolViolation

MECHANISM = "SCRAM-SHA-256"
_ROUNDS = 4096


class ScramExchange:
    """One signing in.

    Args:
        verifier: as PostgreSQL writes it; None where the name is unknown.
        name: who says to be there.
        pepper: what salts of unknown names are made with.
    """

    def __init__(self, verifier: str | None, name: str, pepper: bytes) -> None:
        self._known = verifier is not None
        if verifier is None:
            salt = hmac.digest(pepper, name.encode(), "sha256")[:16]
            self._rounds, self._salt = _ROUNDS, salt
            self._stored, self._server = secrets.token_bytes(32), secrets.token_bytes(32)
        else:
            _, rounds, keys = verifier.split("$")
            count, salted = rounds.split(":")
            self._rounds, self._salt = int(count), base64.b64decode(salted)
            self._stored, self._server = (base64.b64decode(key) for key in keys.split(":"))
        self._said, self._nonce, self._header = "", "", b""

    def challenge(self, first: bytes) -> bytes:
        """The reply to the client's first message.

        Args:
            first: that message.
        """
        flag, sep, rest = _text(first).partition(",")
        authorization, also, bare = rest.partition(",")
        if flag not in ("n", "y") or not sep or not also:
            raise ProtocolViolation("channel binding is not offered here")
        nonce = _parts(bare).get("r", "")
        if not nonce:
            raise ProtocolViolation("the first message has no nonce")
        self._header = f"{flag},{authorization},".encode()
        self._nonce = nonce + secrets.token_urlsafe(18)
        salt = base64.b64encode(self._salt).decode()
        reply = f"r={self._nonce},s={salt},i={self._rounds}"
        self._said = f"{bare},{reply}"
        return reply.encode()

    def verdict(self, final: bytes) -> bytes | None:
        """The reply to the client's final message; None if the proof is none.

        Args:
            final: that message.
        """
        said = _text(final)
        without, _, proof = said.rpartition(",p=")
        parts = _parts(without)
        if parts.get("r") != self._nonce or parts.get("c") != base64.b64encode(self._header).decode():
            raise ProtocolViolation("the final message is not of this conversation")
        message = f"{self._said},{without}".encode()
        try:
            given = base64.b64decode(proof, validate=True)
        except ValueError:
            raise ProtocolViolation("the proof is not base64") from None
        signature = hmac.digest(self._stored, message, "sha256")
        key = bytes(a ^ b for a, b in zip(given.ljust(32, b"\0")[:32], signature, strict=True))
        good = hmac.compare_digest(hashlib.sha256(key).digest(), self._stored) and len(given) == 32
        if not (good and self._known):
            return None
        return b"v=" + base64.b64encode(hmac.digest(self._server, message, "sha256"))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolViolation("a message of SCRAM is not text") from None


def _parts(said: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in said.split(",") if "=" in part)
