"""A client of the protocol for tests: signs in, sends whatever it is told, reads what comes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import struct


class WireClient:
    """One connection; `sent` keeps the bytes of a sign-in for who wants to break them."""

    def __init__(self, place: tuple[str, int], source: str = "") -> None:
        self.socket = socket.create_connection(place, timeout=30, source_address=(source, 0))
        self.file = self.socket.makefile("rb")

    def send(self, kind: str, content: bytes = b"") -> None:
        self.socket.sendall(kind.encode("latin-1") + struct.pack("!i", len(content) + 4) + content)

    def read(self) -> tuple[str, bytes] | None:
        """The next message; None where the server has ended."""
        kind = self.file.read(1)
        if not kind:
            return None
        (size,) = struct.unpack("!i", self.file.read(4))
        return kind.decode(), self.file.read(size - 4)

    def until(self, last: str = "Z") -> list[tuple[str, bytes]]:
        """All messages up to one of a kind, or to the end."""
        found: list[tuple[str, bytes]] = []
        while (message := self.read()) is not None:
            found.append(message)
            if message[0] == last:
                break
        return found

    def begin(self, user: str, database: str, **more: str) -> None:
        said = {"user": user, "database": database} | more
        content = (
            struct.pack("!i", 3 << 16) + b"".join(f"{k}\0{v}\0".encode() for k, v in said.items()) + b"\0"
        )
        self.socket.sendall(struct.pack("!i", len(content) + 4) + content)

    def sign_in(
        self, user: str, token: str, database: str = "people", **more: str
    ) -> list[tuple[str, bytes]]:
        self.begin(user, database, **more)
        assert self.read()[0] == "R"
        nonce = base64.b64encode(os.urandom(12)).decode()
        bare = f"n=,r={nonce}"
        first = f"n,,{bare}".encode()
        self.send("p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
        challenge = self.read()[1][4:].decode()
        parts = dict(part.split("=", 1) for part in challenge.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c=biws,r={parts['r']}"
        signed = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{challenge},{without}".encode(), "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signed, strict=True))).decode()
        self.send("p", f"{without},p={proof}".encode())
        return self.until()

    def query(self, sql: str) -> list[tuple[str, bytes]]:
        self.send("Q", sql.encode() + b"\0")
        return self.until()

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def state(messages: list[tuple[str, bytes]]) -> str | None:
    """The SQLSTATE of the error among some messages."""
    for kind, content in messages:
        if kind == "E":
            fields = {part[:1]: part[1:] for part in content.split(b"\0") if part}
            return fields[b"C"].decode()
    return None
