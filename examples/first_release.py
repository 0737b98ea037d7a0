"""A first release: a small table in, noisy tables, answers and synthetic rows out.

Run it with `python examples/first_release.py`; it writes nothing.
"""

from __future__ import annotations

import sys

import hedgerow as hr


def main() -> None:
    """Release all pair tables of a made-up clinic and ask two questions."""
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "visits": 4})
    rows = {
        "sex": ["F" if i % 3 else "M" for i in range(3000)],
        "age": [(7 * i) % 95 for i in range(3000)],
        "visits": [i % 4 for i in range(3000)],
    }
    table = hr.Table.open(rows, domain)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1.0, delta=1e-6), ledger=":memory:")
    synopsis = hr.GaussianBaseline().release(curator, hr.marginals(domain, 2))
    for text in ("SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 60", "SELECT AVG(age) FROM t"):
        sys.stdout.write(f"{text}: {synopsis.answer(hr.sql(domain, text))}\n")
    sys.stdout.write(f"{synopsis}\nremaining: {curator.remaining}\n")


if __name__ == "__main__":
    main()
