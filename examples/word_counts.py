"""Word counts over a universe without end: nobody lists the words, and any word may be asked about.

Run it with `python examples/word_counts.py`; it writes nothing.
"""

from __future__ import annotations

import sys

import hedgerow as hr

TEXT = "the hedge and the row and the hedge by the row of oak and ash and elm"


def main() -> None:
    """A noisy projection of all words, asked about some."""
    words = TEXT.split() * 300  # every word here is a row of somebody
    table = hr.Table.open(words, hr.OpenDomain())
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1.0, delta=1e-6), ledger=":memory:")
    released = hr.SparseProject().release(curator)
    for asked in (["the"], ["oak"], ["oak", "ash", "elm"], ["cypress"]):
        answer = released.answer(hr.SparseQuery.of(dict.fromkeys(asked, 1)))
        sys.stdout.write(f"{' or '.join(asked)}: {answer.value:.0f} ± {answer.error:.0f}\n")


if __name__ == "__main__":
    main()
