"""Streams of the protocol, and what becomes of them when bytes are changed, moved, doubled or left out."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path

from services.said import FOLDER

REPLIES = "ESTDC123nIZtsNHdcvRK"  # letters that a server may begin a message with


def message(kind: str, content: bytes = b"") -> bytes:
    """One message."""
    return kind.encode() + struct.pack("!i", len(content) + 4) + content


def statements(folder: Path = FOLDER) -> list[str]:
    """What tools sent, and some that ask for what is not there."""
    sent = [
        s["sql"] for path in sorted(folder.glob("*.json")) for s in json.loads(path.read_text())["statements"]
    ]
    odd = [
        "SELECT",
        "SELECT COUNT(*) FROM people WHERE age > $1 AND sex = $2",
        "COPY people TO STDOUT",
        "BEGIN",
    ]
    return [sql for sql in dict.fromkeys([*sent, *odd]) if "pg_sleep" not in sql]


def whole(rng: random.Random, known: list[str]) -> bytes:
    """A few messages, as a client would send them."""
    made = []
    for _ in range(rng.randint(1, 3)):
        sql = rng.choice(known).encode() + b"\0"
        if rng.random() < 0.4:
            made.append(message("Q", sql))
            continue
        name = rng.choice([b"\0", b"s\0"])
        given = rng.choice([b"\0\0", b"\0\1\0\0\0\x0240", b"\0\2\xff\xff\xff\xff\0\0\0\1F"])
        made += [
            message("P", name + sql + b"\0\0"),
            message("D", b"S" + name),
            message(
                "B",
                b"\0"
                + name
                + rng.choice([b"\0\0", b"\0\1\0\1"])
                + given
                + b"\0\1\0"
                + bytes([rng.randrange(2)]),
            ),
            message("E", b"\0" + struct.pack("!i", rng.choice([0, 1, -1]))),
            message("C", b"S" + name),
        ]
    return b"".join(made)


def mutated(rng: random.Random, stream: bytes) -> bytes:
    """The same with some of it changed."""
    made = bytearray(stream)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made)) if made else 0
        way = rng.randrange(5)
        if way == 0 and made:
            made[at] = rng.randrange(256)
        elif way == 1 and made:
            made[at] ^= 1 << rng.randrange(8)
        elif way == 2:
            del made[at : at + rng.randint(1, 20)]
        elif way == 3:
            made[at:at] = made[at : at + rng.randint(1, 40)]
        else:
            made[at : at + 4] = rng.choice(
                [b"\0\0\0\0", b"\0\0\0\4", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]
            )
    return bytes(made)


def streams(seed: int, count: int) -> Iterator[bytes]:
    """So many mutated streams, each ended by a sync; the same ones for the same seed."""
    rng, known = random.Random(seed), statements()
    for _ in range(count):
        yield mutated(rng, whole(rng, known)) + message("S")
