"""Data that grow: a block of rows a day, and totals so far published every day for one price.

Run it with `python examples/growing_data.py`; it writes nothing.
"""

from __future__ import annotations

import sys

import hedgerow as hr


def main(days: int = 5) -> None:
    """Visits of people who come again."""
    domain = hr.Domain({"sex": ["F", "M"], "ward": ["a", "b", "c"]})
    budget = hr.Budget(epsilon=1.0, delta=1e-9)
    growing = hr.Growing.make(":memory:", domain, budget, growing="shared", unit="id", max_rows=3)
    totals = None
    for day in range(1, days + 1):
        people = range(day * 100, day * 100 + 400)
        visits = {
            "id": list(people),
            "sex": ["FM"[i % 2] for i in people],
            "ward": ["abc"[i % 3] for i in people],
        }
        growing.append(visits, day=f"2026-03-{day:02d}")
        totals = totals or hr.RunningTotals(horizon=30, epsilon=0.5).open(growing, ["sex"])
        totals.update()
        women, men = totals.answer(day=day).value
        sys.stdout.write(f"up to day {day}: {women:.0f} visits of women, {men:.0f} of men\n")


if __name__ == "__main__":
    main()
