"""Report-noisy-max on integers has its definition's law and keeps its epsilon; half its noise does not."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.curator.noise import noisy_max
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.noise.noisy_max import NoisyMaxLaw, report_noisy_max
from hedgerow.privacy.accountant import cost
from hedgerow.privacy.event import Exponential, ReportNoisyMax

LAWS = get_args(NoisyMaxLaw)
TOP, BOTTOM = np.iinfo(np.int64).max, np.iinfo(np.int64).min
HALF = Fraction(1, 2)


def worst(law: NoisyMaxLaw, epsilon: Fraction, levels: int) -> float:
    """The largest true epsilon over all neighbours of three scores whose moves are -1, 0 or 1."""

    @cache
    def choice(scores: tuple[int, ...]) -> exact.Law:
        return exact.report_noisy_max(scores, Fraction(1), epsilon, law)

    found = 0.0
    for scores in product(range(levels), repeat=3):
        for moves in product((-1, 0, 1), repeat=3):
            moved = [u + m for u, m in zip(scores, moves, strict=True)]
            pair = ([u - max(s) for u in s] for s in (scores, moved))  # only differences matter
            found = max(found, exact.epsilon_between(*(choice(tuple(s)) for s in pair)))
    return found


@pytest.mark.parametrize("law", LAWS)
def test_by_enumeration_of_all_small_neighbours_it_keeps_its_epsilon(law: NoisyMaxLaw, size: Any) -> None:
    for epsilon in size((Fraction(4),), (Fraction(1), Fraction(4))):
        assert worst(law, epsilon, size(2, 4)) <= epsilon + exact.SLACK


@pytest.mark.parametrize("law", LAWS)
def test_half_the_noise_is_refuted_by_the_same_enumeration(
    law: NoisyMaxLaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = noisy_max.noisy_max_scale
    monkeypatch.setattr(exact, "noisy_max_scale", lambda s, e: whole(s, e) / 2)
    assert worst(law, Fraction(4), 2) > 4.5


def test_its_loss_is_not_of_bounded_range() -> None:
    """Between one pair of data sets the losses of two outcomes lie further apart than epsilon."""
    epsilon = Fraction(1)
    p, q = (exact.report_noisy_max(s, Fraction(1), epsilon) for s in ([0, 0, 0, 0, 0], [1, -1, -1, -1, -1]))
    losses = [float(exact.D.ln(exact.D.divide(p[i], q[i]))) for i in p]
    assert max(losses) - min(losses) > 1.05
    assert cost(ReportNoisyMax(epsilon), "rho").amount == HALF
    assert cost(Exponential(epsilon), "rho").amount == Fraction(1, 8)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "case",
    [
        ([0, 1, 2, 4], Fraction(1), Fraction(3)),
        ([3, 3, 0, 3], Fraction(1), Fraction(4)),
        ([TOP, TOP - 1, BOTTOM], Fraction(1), Fraction(2)),
        ([BOTTOM, BOTTOM + 3], Fraction(3, 2), Fraction(1)),
        ([7], Fraction(1), Fraction(1)),
    ],
)
def test_draws_have_the_law_of_the_definition(case: Any, law: NoisyMaxLaw, size: Any) -> None:
    """Chi-squared against the enumerated law; false alarm 1e-6."""
    scores, sensitivity, epsilon = case
    draws, given = size(2_000, 20_000), np.array(scores, dtype=np.int64)
    seen = [report_noisy_max(given, sensitivity, epsilon, os_entropy, law) for _ in range(draws)]
    near = [max(u, max(scores) - 1_000) - max(scores) for u in scores]  # the same choice but for e^-333
    expected = np.array([float(p) for p in exact.report_noisy_max(near, sensitivity, epsilon, law).values()])
    counts = np.bincount(seen, minlength=len(scores))
    likely = expected * draws > 5
    assert (counts[expected * draws < 1e-9] == 0).all()
    if likely.sum() > 1:
        f = expected[likely] / expected[likely].sum() * counts[likely].sum()
        assert stats.chisquare(counts[likely], f).pvalue > 1e-8  # a false alarm below 1e-6: counts are few


def test_the_curator_charges_it_as_what_it_is() -> None:
    domain = hr.Domain({"k": 4})
    table = hr.Table.open({"k": [3] * 60 + [1] * 5}, domain)
    for budget, spent in ((hr.Budget(epsilon=3), "epsilon"), (hr.Budget(epsilon=3, delta=1e-6), "rho")):
        curator = hr.Curator(table, budget, ":memory:", "replace")
        choose = [
            hr.primitives.report_noisy_max(
                curator, hr.primitives.LevelCounts("k"), 1, noise=noise, request=noise
            )
            for noise in LAWS * 2
        ]
        assert choose == [3, 3, 3, 3]
        lines = [e["line"] for e in curator.ledger.export()["entries"]]
        kinds = [line["event"]["kind"] for line in lines if line["event"]["kind"] != "nothing"]
        assert kinds == ["report_noisy_max"] * 2  # the second time each is free
        assert curator.ledger.currency == spent
    with pytest.raises(hr.UnsupportedQuery, match="noise"):
        hr.primitives.report_noisy_max(curator, hr.primitives.LevelCounts("k"), 1, noise="gaussian")  # type: ignore[arg-type]
