"""The statistical audit refutes what is wrong, with the stated confidence, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hedgerow import audit
from hedgerow.audit import confidence, controls, statistical
from hedgerow.audit.neighbours import neighbouring_tables
from hedgerow.curator.noise.noise import discrete_laplace, os_entropy


def noisy(scale):
    return lambda x, n: (
        np.asarray(x) + discrete_laplace(Fraction(scale), n * len(x), os_entropy).reshape(n, -1)
    )


@pytest.mark.parametrize(("k", "n"), [(0, 50), (3, 100), (100, 100), (17, 200_000), (50_000, 100_000)])
def test_clopper_pearson_bounds_are_those_of_the_beta_distribution(k, n):
    for alarm in (0.05, 5e-7):
        low = stats.beta.ppf(alarm, k, n - k + 1) if k else 0.0
        high = stats.beta.ppf(1 - alarm, k + 1, n - k) if k < n else 1.0
        assert confidence.lower(k, n, alarm) == pytest.approx(low, rel=1e-6, abs=1e-12)
        assert confidence.upper(k, n, alarm) == pytest.approx(high, rel=1e-6)


def test_the_bound_on_epsilon_takes_the_delta_off_the_larger_side():
    p, q = stats.beta.ppf(5e-7, 600, 401), stats.beta.ppf(1 - 5e-7, 101, 900)
    assert confidence.epsilon_bound(600, 1000, 100, 1000, 0.0, 1e-6) == pytest.approx(np.log(p / q))
    assert confidence.epsilon_bound(600, 1000, 100, 1000, 0.1, 1e-6) == pytest.approx(np.log((p - 0.1) / q))
    assert confidence.epsilon_bound(600, 1000, 100, 1000, 0.7, 1e-6) == -np.inf


def test_honest_noise_is_not_refuted_and_the_bound_comes_close():
    """False alarm 1e-6 for each of the two; the bounds come to 0.97 of the claim, give or take 0.005."""
    for pair, claim in ((([0], [1]), 1.0), (([0, 0], [1, -1]), 2.0)):
        finding = audit.audit(noisy(1), pair, claim, samples=300_000, batch=True)
        assert not finding.refuted
        assert finding.found > 0.85 * claim


def test_noise_that_is_a_little_small_is_refuted():
    assert audit.audit(noisy("4/5"), ([0], [1]), 1.0, samples=200_000, batch=True).refuted


def test_a_delta_in_the_claim_is_respected():
    """Everything is given away with probability 1/20: (0, 0.05)-DP, not (0, 0.01)-DP."""

    def leaks(x, n):
        gone = discrete_laplace(Fraction(1), n, os_entropy) * 0 + np.arange(n) % 20 == 0
        return np.where(gone, x, -1).reshape(-1, 1)

    assert not audit.audit(leaks, (0, 1), 0.5, 0.06, samples=20_000, batch=True).refuted
    assert audit.audit(leaks, (0, 1), 0.5, 0.01, samples=20_000, batch=True).refuted


def test_the_search_finds_the_neighbours_that_break_a_mechanism():
    pairs = audit.neighbouring_answers(4)
    finding = audit.audit(noisy(1), pairs, 1.0, samples=20_000, batch=True)
    assert finding.refuted  # four answers move together: epsilon is 4


def test_the_event_is_chosen_on_samples_that_the_bound_does_not_use():
    """Two equal laws, thousands of events to choose from, a bound that may fail once in five times.

    It fails in 1 of these 60 fixed draws; in 18 or more if it is taken on the samples that chose the event.
    """
    rng, failed = np.random.default_rng(7), 0
    for _ in range(60):
        p, q = rng.normal(size=(2, 400, 12))
        failed += statistical.lower_bound(p, q, 0.0, 0.2)[0] > 0
    assert failed <= 60 * 0.2


def test_neighbours_that_differ_in_nothing_are_not_preferred_on_few_samples():
    """The first pair moves both counts, the second none; the two promises are 14 deviations apart."""
    telling, silent = (
        statistical.promise(*(controls.exact_errors(world, 1500) for world in pair), 0.0)
        for pair in neighbouring_tables("replace")
    )
    assert telling > 0.5 > 0 > silent


def test_any_callable_with_any_output_can_be_audited():
    words = {0: ["yes", None], 1: ["yes", "maybe", 3.5]}
    finding = audit.audit(lambda x: words[x], (0, 1), 1.0, samples=600, name="words")
    assert finding.refuted
    assert "words: claims epsilon 1" in str(finding)


class Clock:
    """Time that passes only when something is drawn."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_time_limit_means_fewer_samples_not_a_longer_wait(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(statistical, "time", clock)

    def slow(x, n):
        clock.now += n / 20_000
        return noisy(1)(x, n)

    finding = audit.audit(slow, ([0], [1]), 1.0, samples=10**7, batch=True, time_limit=2.0)
    assert 1.0 < clock.now < 4.0
    assert finding.seconds == clock.now
    assert 10_000 < finding.samples < 40_000


def test_a_time_limit_holds_for_what_is_slow_to_run_and_has_many_neighbours(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(statistical, "time", clock)

    def slow(x, n):
        clock.now += n / 80
        return noisy(1)(x, n)

    pairs = [([0], [i]) for i in range(1, 6)]
    finding = audit.audit(slow, pairs, 1.0, samples=10**4, batch=True, time_limit=20.0)
    assert 10.0 < clock.now < 26.0
    assert finding.samples > 300


def test_low_bits_of_floats_are_looked_at():
    """Both laws have the same coarse shape; only the last binary digit differs."""

    def sneaky(x, n):
        coarse = discrete_laplace(Fraction(1000), n, os_entropy) * 2.0**-10
        return (coarse + (0.0 if x == 0 else 2.0**-30)).reshape(-1, 1)

    finding = audit.audit(sneaky, (0, 1), 1.0, samples=4000, batch=True)
    assert finding.refuted
    assert "lowest set bit" in finding.evidence or finding.found > 3


def test_findings_become_rows_tables_and_pictures(tmp_path):
    rows = [audit.Finding("a <b>", 1.0, 2.0, True), audit.Finding("fine", 1.0, float("inf"), False)]
    assert set(rows[0].to_json()) >= {"name", "claimed", "found", "refuted"}
    assert "REFUTED" in audit.table(rows)
    audit.plot(rows, tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text()
    assert "a &lt;b&gt;" in text
    assert text.count("<rect") == 3
