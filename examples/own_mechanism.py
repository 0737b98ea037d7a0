"""A mechanism of one's own: the tables of a workload, measured with shares that grow with their size.

Run it with `python examples/own_mechanism.py`; it writes nothing. `docs/extending.md` has the whole story.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import hedgerow as hr
from hedgerow import extending as ext
from hedgerow.testing import contracts


@dataclass(frozen=True)
class SharesBySize(ext.Resumable):
    """Every table of a workload with noise of its own, larger tables for a larger part of the price.

    Privacy: discrete Gaussian or Laplace noise at the table's sensitivity, charged in `Curator.measure`.
    Accuracy: none is proven.
    """

    run: str | None = None

    def release(self, curator: hr.Curator, workload: object) -> hr.Synopsis:
        """Measure, and fit one distribution to everything."""
        domain = ext.finite(curator)
        queries = hr.Workload.of(workload, domain)
        tables = tuple(names for names in queries.cliques if names)
        with self.paying(curator, queries.digest) as purse:
            parts = purse.price.split(*(domain.cells(t) for t in tables))
            found = [
                purse.curator.measure(t, part, request=purse.request(" x ".join(t)))
                for t, part in zip(tables, parts, strict=True)
            ]
        model = ext.DenseHypothesis(domain)
        model.fit(found, total=float(found[0].counts.sum()))
        return ext.DenseSynopsis.of_hypothesis(model, found, self.signed(curator, purse))


def main() -> None:
    """Run the suite that every mechanism of the house passes, then use it."""
    contracts.check_mechanism(SharesBySize)
    sys.stdout.write("the contract of a mechanism holds\n")
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "visits": 4})
    rows = {
        "sex": ["F", "M"] * 1000,
        "age": [i % 90 for i in range(2000)],
        "visits": [i % 4 for i in range(2000)],
    }
    curator = hr.Curator(hr.Table.open(rows, domain), hr.Budget(epsilon=1.0, delta=1e-6), ":memory:")
    released = SharesBySize().release(curator, hr.marginals(domain, 2))
    answer = released.answer("SELECT COUNT(*) FROM t WHERE sex = 'F'")
    sys.stdout.write(f"women: {answer.value:.0f}, from {len(released.measurements)} tables\n")


if __name__ == "__main__":
    main()
