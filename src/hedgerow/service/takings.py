"""Takings: who took which part of a budget, and when; for its owner.

It follows from the ledger's lines alone. Parts of a budget add up, which epsilons do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import OWNER, grains_from
from hedgerow.service.spendings import Spending, spendings_of

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger

_MOST = 10  # periods
_MINUTE = timedelta(minutes=1)
_LENGTHS = (
    _MINUTE, 5 * _MINUTE, 30 * _MINUTE, 180 * _MINUTE, timedelta(days=1), timedelta(days=7),
    timedelta(days=28), timedelta(days=91), timedelta(days=365), timedelta(days=3650),
)  # fmt: skip


@dataclass(frozen=True)
class Taking:
    """What one person or thing took of a budget.

    Args:
        kind, name: as in `Spending`.
        parts: of the whole budget, in each period; what came back is taken off where it did.
    """

    kind: str
    name: str
    parts: tuple[float, ...]

    @property
    def total(self) -> float:
        """In all periods together."""
        return sum(self.parts)


@dataclass(frozen=True)
class Takings:
    """Who took what, period by period.

    Args:
        starts: when each period begins.
        length: of a period.
        shares: those that took something, the largest first.
    """

    starts: tuple[datetime, ...]
    length: timedelta
    shares: tuple[Taking, ...]

    @classmethod
    def of(cls, ledger: Ledger, now: datetime | None = None) -> Takings:
        """Of a dataset's ledger, up to now."""
        lines = [entry["line"] for entry in ledger.export()["entries"]]
        times = [_time(line["time"]) for line in lines]
        now, since = max(now or datetime.now(UTC), *times), min(times)  # clocks are set back and forth
        length = next((n for n in _LENGTHS if (now - since) / n < _MOST), _LENGTHS[-1])
        first = _floor(since, length)
        count = int((now - first) / length) + 1
        places = {line["seq"]: int((when - first) / length) for line, when in zip(lines, times, strict=True)}
        most, taken = float(ledger.budget.cost.amount), {}
        for line in lines:
            sign = {"charge": 1, "allot": 1, "return": -1}.get(line["kind"], 0) * (line["account"] == OWNER)
            taken[line["seq"]] = sign * float(grains_from(line["cost"]).amount) / most
        spent = spendings_of(lines, Cost.zero(ledger.currency))
        found = [_share(s, taken, places, count) for s in spent if not s.cost.is_zero]
        starts = tuple(first + i * length for i in range(count))
        return cls(starts, length, tuple(sorted(found, key=lambda share: -share.total)))

    def words(self, start: datetime) -> str:
        """A period for people: a day, or a time of day where periods are shorter."""
        day = f"{start.day} {start:%b}"
        if self.length >= timedelta(days=1):
            return f"{day} {start:%Y}" if self.length > timedelta(days=28) else day
        return (
            f"{start:%H:%M}" if self.starts[0].date() == self.starts[-1].date() else f"{day}, {start:%H:%M}"
        )


def _share(spending: Spending, taken: dict[int, float], places: dict[int, int], count: int) -> Taking:
    parts = [0.0] * count
    for seq in spending.lines:
        parts[places[seq]] += taken[seq]
    return Taking(spending.kind, spending.name, tuple(parts))


def _floor(when: datetime, length: timedelta) -> datetime:
    """When the period begins that a time is in: at midnight, on the hour, and so on."""
    midnight = when.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if length >= timedelta(days=1) else when - (when - midnight) % length


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
