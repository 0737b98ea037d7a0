"""Recover a secret column from exact and from rounded answers, and fail to from noisy ones.

Run it with `python examples/reconstruct_rows.py`; it needs `pip install 'hedgerow[lp]'` and writes nothing.
"""

from __future__ import annotations

import sys

import numpy as np

from hedgerow.theory import reconstruction


def main(people: int = 100, answers: int = 400) -> None:
    """How many of the people's bits an analyst knows after asking about random halves of them."""
    hidden = reconstruction.Hidden.of(people=people, answers=answers, seed=1)
    epsilon = 1.0
    noise = np.random.default_rng().laplace(scale=answers / epsilon, size=answers)
    for words, said, within in (
        ("exact answers", hidden.exact, 0.0),
        ("rounded to tens", 10.0 * np.round(hidden.exact / 10), 5.0),
        ("epsilon 1 for all answers", hidden.exact + noise, 0.0),
    ):
        bits = reconstruction.recover(hidden.sets, said, within)
        sys.stdout.write(f"{words}: {np.mean(bits == (hidden.bits == 1)):.0%} of the bits\n")
    sys.stdout.write(
        f"a coin: 50%; the most that epsilon 1 allows on average: {1 / (1 + np.exp(-epsilon)):.0%}\n"
    )


if __name__ == "__main__":
    main()
