"""Identifiers: which names of columns say that their values tell rows or people apart."""

from __future__ import annotations

import re

_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|key)([\W_]|$))|[a-z]I[dD]$")
_PERSON = re.compile(
    r"(?i)(person|pers|patient|pat|customer|cust|client|user|member|subject|respondent|participant|citizen|student|"
    r"employee|mitglied|kunden?)([\W_]?(nr|no|num|number|nummer|code|key|hash))?|mrn|mbr|nhs[\W_]?(no|number)"
)
"""Names of columns that name people without saying `id`; `person_age` is none."""

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


def ends_in_id(name: str) -> bool:
    """Whether the last word of a name runs into `id`, and is none that just ends so.

    >>> [ends_in_id(name) for name in ("unitid", "hh_schoolid", "idcode", "totpaid", "covid", "sex")]
    [True, True, True, False, False, False]
    """
    last = _PARTS.split(name.rstrip("0123456789"))[-1].lower()
    return _RUN_ON.fullmatch(last) is not None and _WORDS.fullmatch(last) is None
