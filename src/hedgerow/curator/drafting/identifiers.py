"""Identifiers: which names of columns say that their values tell rows or people apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|key)([\W_]|$))|[a-z]I[dD]$")
_PERSON = re.compile(
    r"(?i)(person|pers|patient|pat|customer|cust|client|user|member|subject|respondent|participant|citizen|student|"
    r"employee|mitglied|kunden?)([\W_]?(nr|no|num|number|nummer|code|key|hash))?|mrn|mbr|nhs[\W_]?(no|number)"
)
"""Names of columns that name people without saying `id`; `person_age` is none."""

_CALLED = re.compile(
    r"(?i)(^|[\W_])(name|surname|(first|last|full)_?name|e?mail|phone|address|street|ssn|comment|note)s?([\W_]|$)"
)
_MAIL = re.compile(r"\s*[^@\s]+@[^@\s]+\.[^@\s.]+\s*")
_TWO_WORDS = re.compile(r"\s*(?:(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau)\.? )?[^\W\d_]['\w.-]+,? [^\W\d_]['\w.-]+\s*")
_MOSTLY, _SOME = 0.9, 20  # of the values; so many at least look like names

_RUN_ON = re.compile(r"[a-z]+id|id(code|num|number|no|nr)")
_WORDS = re.compile(
    r"[abdklm]id|.*(paid|said|laid|raid|maid|caid|acid|grid|void|covid|solid|valid|fluid|liquid|rapid|hybrid|humid|"
    r"rigid|lipid|roid|poid|pioid|noid|moid|morbid|pyramid|orchid|carotid|squid|madrid|david|overbid|underbid)"
)
_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


def called_id(name: str) -> bool:
    """Whether a name says `id`, or names people.

    >>> [called_id(name) for name in ("person_id", "userId", "PatNr", "person_age", "unitid")]
    [True, True, True, False, False]
    """
    return _ID.search(name) is not None or _PERSON.fullmatch(name) is not None


def called_name(name: str) -> bool:
    """Whether a column is called like names, contacts or free text.

    >>> [called_name(name) for name in ("last_name", "E-Mail", "notes", "renamed")]
    [True, True, True, False]
    """
    return _CALLED.search(name) is not None


def are_mails(values: Mapping[str, int]) -> bool:
    """Whether nearly all values are e-mail addresses; by how often each is there."""
    return sum(n for v, n in values.items() if _MAIL.fullmatch(v)) >= _MOSTLY * sum(values.values()) > 0


def like_names(levels: Collection[Any]) -> bool:
    """Whether nearly all of many levels are a first and a last word that begin with capitals.

    >>> like_names([f"Anna {c}uster" for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"])
    True
    >>> like_names(["New York", "Boston"] * 20)
    False
    """
    words = [v for v in levels if isinstance(v, str) and _TWO_WORDS.fullmatch(v) and v.title() == v]
    return len(levels) >= _SOME and len(words) >= _MOSTLY * len(levels)


def ends_in_id(name: str) -> bool:
    """Whether the last word of a name runs into `id`, and is none that just ends so.

    >>> [ends_in_id(name) for name in ("unitid", "hh_schoolid", "idcode", "totpaid", "covid", "sex")]
    [True, True, True, False, False, False]
    """
    last = _PARTS.split(name.rstrip("0123456789"))[-1].lower()
    return _RUN_ON.fullmatch(last) is not None and _WORDS.fullmatch(last) is None
