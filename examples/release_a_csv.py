"""Release a CSV file: a schema, a budget of epsilon 1, tables of pairs, and what a receiver does.

Run it with `python examples/release_a_csv.py`; it works in a folder of its own and removes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import hedgerow as hr

SCHEMA = """\
attributes:
  sex: [F, M]
  age: {bins: [0, 100, 10]}
  region: [north, south, west]
"""


def main() -> None:
    """From a file to answers, and what is left of the budget."""
    with TemporaryDirectory() as folder:
        data, schema = Path(folder) / "people.csv", Path(folder) / "schema.yaml"
        rows = [f"{'FM'[i % 2]},{7 * i % 90},{('north', 'south', 'west')[i % 7 % 3]}" for i in range(4000)]
        data.write_text("\n".join(["sex,age,region", *rows]) + "\n")
        schema.write_text(SCHEMA)

        domain = hr.Domain.load(schema)
        table = hr.Table.open(data, domain)
        curator = hr.Curator(
            table, budget=hr.Budget(epsilon=1.0, delta=1e-6)
        )  # the ledger is beside the data
        released = hr.GaussianBaseline(epsilon=0.5).release(curator, hr.marginals(domain, 2))
        released.save(Path(folder) / "people.hedgerow")

        taken = hr.Synopsis.load(Path(folder) / "people.hedgerow")  # as whoever receives it would
        for question in (
            "SELECT COUNT(*) FROM t WHERE region = 'north'",
            "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 50",
        ):
            answer = taken.answer(question)
            sys.stdout.write(f"{question}: {answer.value:.0f} ± {answer.error:.0f}\n")
        sys.stdout.write(f"rows to try things out with: {len(taken.sample(100)['sex'])}\n")
        sys.stdout.write(f"left of the budget: epsilon {curator.remaining.epsilon:.2f}\n")


if __name__ == "__main__":
    main()
