"""Burn: how a budget was used up over time, and how long what is left will last at that pace.

It follows from the ledger's lines alone: their times, and the total after each. Whoever may see what is
spent may see this; who spent it is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.ledger import Ledger

_MOST = 120  # points of a series
_LEAST = timedelta(hours=1)  # less is no pace
_FAR = timedelta(days=3650)


@dataclass(frozen=True)
class Burn:
    """What was spent by when.

    Args:
        budget: all that may be spent, as an epsilon.
        points: times, and what was spent by then: as an epsilon, and as a part of what may be spent, which is
            what adds up.
        lasts: when all of it would be spent at the pace so far; None where there is no pace, or no end.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> pace(((noon, 0.0), (noon + timedelta(hours=2), 0.5)), 0.25, noon + timedelta(hours=2)).isoformat()
    '2026-01-01T15:00:00+00:00'
    """

    budget: float
    points: tuple[tuple[datetime, float, float], ...]
    lasts: datetime | None

    @classmethod
    def of(cls, ledger: Ledger, now: datetime | None = None) -> Burn:
        """Of a dataset's ledger."""
        whole, shares = ledger.budget, _steps(ledger)
        most = float(whole.cost.amount)
        points = [(t, whole.part(cost).epsilon, float(cost.amount) / most) for t, cost in shares]
        parts = [(when, float(cost.amount)) for when, cost in shares]
        left = float(ledger.remaining().amount)
        now = now or datetime.now(UTC)
        return cls(whole.epsilon, tuple(points), pace(tuple(parts), left, now))

    @property
    def ends(self) -> str | None:
        """When it will be used up, as programs read it."""
        return None if self.lasts is None else _stamp(self.lasts)

    def to_json(self) -> list[dict[str, Any]]:
        """The series as plain data."""
        return [{"time": _stamp(t), "epsilon": epsilon, "part": part} for t, epsilon, part in self.points]


def pace(points: tuple[tuple[datetime, float], ...], left: float, now: datetime) -> datetime | None:
    """When what is left will be spent, if it goes on as since the first line.

    Args:
        points: times, and what was spent by then, in what the ledger adds up.
        left: the rest, in the same.
        now: the present.
    """
    if len(points) < 2:
        return None
    took, spent = now - points[0][0], points[-1][1] - points[0][1]
    if took < _LEAST or spent <= 0 or left <= 0:
        return None
    more = took.total_seconds() * left / spent
    return None if more > _FAR.total_seconds() else now + timedelta(seconds=more)


def _steps(ledger: Ledger) -> list[tuple[datetime, Cost]]:
    """Times and totals that differ, of at most so many lines: no more are read of a ledger of any length."""
    newest = ledger.newest
    found: list[tuple[datetime, Cost]] = []
    for seq in sorted({newest * i // _MOST for i in range(_MOST + 1)}):
        line = ledger.total(seq)
        if not found or line.spent != found[-1][1]:
            found.append((_time(line.time), line.spent))
    return found


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _stamp(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
