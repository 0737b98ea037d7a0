"""Tokens: who may do what at a server, without anything by which they could be forged.

A token is `hr_<id>_<secret>`. The secret is shown once and never kept: what is kept is its SHA-256 (it has
192 random bits, so nothing is gained by a slower hash) and a SCRAM-SHA-256 verifier of the whole token,
made when the token is, with which doors that speak SCRAM can check it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hedgerow.errors import BadValue, NotPermitted

ROLES = ("owner", "analyst", "reader")
ALL = ("*",)
DAYS, MOST_DAYS = 90, 366  # how long a token lives unless said, and at most
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_TOKEN = re.compile(r"hr_([A-Za-z0-9-]{1,32})_([A-Za-z0-9_-]{16,128})")
_ROUNDS = 4096


@dataclass(frozen=True)
class Token:
    """What is known of a token; nothing of it is secret.

    Args:
        id: its name in lists, and the second part of the token.
        name: the person or program that it was made for.
        role: owner, analyst or reader.
        datasets: those that it may see, or `("*",)` for all.
        may_spend: whether its questions may cost something.
        made, expires: when, in UTC, to the second.
        used: when it was last used, to the minute; None if never.
        revoked: when it was revoked, if it was.
        source: where it comes from: None if somebody made it, `environment`, or a browser's visit, by `link`
            or by `login` with another token.
    """

    id: str
    name: str
    role: str
    datasets: tuple[str, ...] = ALL
    may_spend: bool = False
    made: str = ""
    expires: str = ""
    used: str | None = None
    revoked: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise BadValue(f"a role is {', '.join(ROLES)}, not {self.role!r}")
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise BadValue("a name is 1 to 64 letters, digits and . _ @ -, and begins with a letter or digit")
        if self.name == "owner" and self.role != "owner":
            raise BadValue("the name 'owner' is the owner's: choose another")
        if self.role == "reader" and self.may_spend:
            raise BadValue("a reader never spends: make an analyst, or leave that out")

    @property
    def owns(self) -> bool:
        """Whether it is an owner's."""
        return self.role == "owner"

    @property
    def visits(self) -> bool:
        """Whether it is a browser's, good as a cookie only."""
        return self.source is not None and self.source != "environment"

    @property
    def spends(self) -> bool:
        """Whether its questions may cost something."""
        return self.owns or self.may_spend

    def sees(self, dataset: str) -> bool:
        """Whether a dataset of that name, there or not, is any of its business."""
        return self.owns or self.datasets == ALL or dataset in self.datasets

    def refuse_owners_only(self) -> None:
        """Refuse what only owners do."""
        if not self.owns:
            raise NotPermitted("only the dataset's owner may do this", hint="ask the owner for it")

    def lives(self, now: datetime) -> bool:
        """Whether it is good at a time."""
        return self.revoked is None and stamp(now) < self.expires

    def to_json(self) -> dict[str, Any]:
        """Plain data, for lists."""
        names = ("id", "name", "role", "may_spend", "made", "expires", "used", "revoked", "source")
        return {name: getattr(self, name) for name in names} | {"datasets": list(self.datasets)}


@dataclass(frozen=True)
class Secret:
    """A new token: the text that is shown once, and what is kept of it.

    Args:
        text: `hr_<id>_<secret>`.
        digest: what the secret is compared with.
        verifier: what SCRAM needs.
    """

    text: str = field(repr=False)
    digest: bytes
    verifier: str

    @classmethod
    def new(cls) -> Secret:
        """With 192 random bits."""
        return cls.of(f"hr_{secrets.token_hex(5)}_{secrets.token_hex(24)}")

    @classmethod
    def passing(cls) -> Secret:
        """Of a browser's visit, which no SCRAM will check."""
        text = f"hr_{secrets.token_hex(5)}_{secrets.token_hex(24)}"
        return cls(text, digest(text), "")

    @classmethod
    def of(cls, text: str) -> Secret:
        """Of a token that somebody chose, such as an owner who starts many servers."""
        if read(text) is None:
            raise BadValue(
                "a token is hr_<id>_<secret>, the secret 16 letters, digits, - and _ or more: "
                "HEDGEROW_OWNER_TOKEN is not such a text"
            )
        return cls(text, digest(text), scram(text))

    @property
    def id(self) -> str:
        """The token's id."""
        return self.text.split("_", 2)[1]


def read(text: str) -> tuple[str, str] | None:
    """The id and the secret of a token; None if it is none."""
    found = _TOKEN.fullmatch(text)
    return (found[1], found[2]) if found else None


def digest(text: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(text.encode()).digest()


def matches(text: str, kept: bytes | None) -> bool:
    """Whether a token is the one that was kept; takes as long where there is none."""
    return hmac.compare_digest(digest(text), kept or bytes(32)) and kept is not None


def scram(password: str, salt: bytes | None = None) -> str:
    """A SCRAM-SHA-256 verifier (RFC 5802, RFC 7677), as PostgreSQL writes it."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    client, server = (hmac.digest(salted, f"{who} Key".encode(), "sha256") for who in ("Client", "Server"))
    parts = [base64.b64encode(p).decode() for p in (salt, hashlib.sha256(client).digest(), server)]
    return f"SCRAM-SHA-256${_ROUNDS}:{parts[0]}${parts[1]}:{parts[2]}"


def stamp(time: datetime) -> str:
    """A time in UTC as it is kept and compared."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def expiry(given: Any, now: datetime) -> str:
    """When a token ends: as said, in days or as a time, and not later than tokens may live."""
    latest = now + timedelta(days=MOST_DAYS)
    if given is None:
        return stamp(now + timedelta(days=DAYS))
    try:
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise ValueError
        if isinstance(given, str):
            end = datetime.fromisoformat(given)
            end = end.replace(tzinfo=UTC) if end.tzinfo is None else end
        else:
            end = now + timedelta(days=given)
    except (ValueError, OverflowError):
        raise BadValue("a token expires at a time such as 2027-01-31T12:00:00Z") from None
    if not now < end <= latest:
        raise BadValue(f"a token expires in the future, at most {MOST_DAYS} days from now")
    return stamp(end)
