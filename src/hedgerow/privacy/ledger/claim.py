"""Claim: what a charge rests on that nobody here has proven - who says so, why, and how far it goes.

A charge that rests on claims has them in its `details`, so in the chain; the line after it, of the run
`CLAIMS`, says so once more. That one is found by the index on runs, in ledgers of any age: a receipt can name
all such lines without reading the others. Lines without claims are written as they always were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hedgerow.errors import LedgerError

CLAIMS = "hedgerow: claims"
"""The run of the lines that say which charges rest on claims."""


@dataclass(frozen=True)
class Claim:
    """The word of somebody that an act is as private as it is charged for.

    Args:
        author: who says so.
        proof: why, in words that others can check.
        about: what it is about: a statistic, a score, an act.
        facts: what is claimed in numbers, such as norms.

    >>> Claim("Ada", "a row is in one cell", "Corners").words
    'Ada claims for Corners: a row is in one cell'
    """

    author: str
    proof: str
    about: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("author", self.author), ("proof", self.proof)):
            if not isinstance(given, str) or not given.strip() or not given.isprintable():
                raise LedgerError(f"The {name} of a claim is printable text in one line, not {given!r}.")

    @property
    def words(self) -> str:
        """The claim in one line."""
        return f"{self.author} claims for {self.about}: {self.proof}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"facts": dict(self.facts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Claim:
        """The claim that `to_json` wrote."""
        return cls(data["author"], data["proof"], data["about"], data["facts"])


def claims_in(details: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims that a line's details hold."""
    return tuple(Claim.from_json(claim) for claim in details.get("claims", ()))


def said(seq: int, claims: Sequence[Claim]) -> str:
    """What the line after a charge says of the claims that the charge rests on."""
    authors = " and of ".join(dict.fromkeys(claim.author for claim in claims))
    return f"Line {seq} is private if the claim of {authors} is true."


def unsaid(kind: str, details: Mapping[str, Any], run: str | None, before: int | None) -> str | None:
    """What is wrong with a line that follows a charge that rests on claims (its number), or no such one."""
    named = details.get("line") if kind == "note" and run == CLAIMS else None
    if before is not None and named != before:
        return f"line {before} rests on a claim, and this one does not say so"
    if before is None and run == CLAIMS:
        return "it speaks of a claim that the line before it does not have"
    return None
